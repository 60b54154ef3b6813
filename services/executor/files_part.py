"""The optional part ``files``: files in messages, archived, and parsed in a separate process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.executor.adapters.kept_files import ArchivingTaskFiles, FileBounds
from services.executor.optional_parts import EquipPorts, ExecutorPartHost
from services.executor.ports.services import NoFiles
from shared.infra.guard import AddressGuard


@asynccontextmanager
async def open_files_part(host: ExecutorPartHost) -> AsyncIterator[EquipPorts]:
    """Yields the function that adds the port for files; without an archive that port is ``NoFiles``."""
    settings = host.settings
    archive = settings.open_file_archive()
    bounds = FileBounds(settings.file_bytes, settings.file_seconds)
    files = (
        NoFiles()
        if archive is None
        else ArchivingTaskFiles(archive, AddressGuard(settings.addresses_for_files), bounds)
    )
    yield lambda ports: ports._replace(files=files)
