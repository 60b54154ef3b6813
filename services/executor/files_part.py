"""The part ``files``: files that come with messages, kept in the archive and read in a process of their own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.executor.adapters.kept_files import FileBounds, KeptFiles
from services.executor.optional_parts import EquipPorts, ExecutorPartHost
from services.executor.ports.files import NoFiles
from shared.infra.guard import Guard


@asynccontextmanager
async def build_files(host: ExecutorPartHost) -> AsyncIterator[EquipPorts]:
    """The port for files; without an archive, one that keeps none."""
    settings = host.settings
    kept = settings.file_archive()
    bounds = FileBounds(settings.file_bytes, settings.file_seconds)
    files = NoFiles() if kept is None else KeptFiles(kept, Guard(settings.files_reach), bounds)
    yield lambda ports: ports._replace(files=files)
