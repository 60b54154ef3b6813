"""What is learned of a tenant, as files."""

from collections.abc import Mapping
from typing import Protocol

from pydantic import JsonValue

from shared.contracts.learning_files import FileReport, LearningFile
from shared.domain.exact_json import Json


class LearningFiles(Protocol):
    """Both may raise ``StoreUnavailable``."""

    async def export(self, tenant: str) -> Mapping[LearningFile, JsonValue]:
        """The content of each file, as it stands."""
        ...

    async def bring(self, tenant: str, file: LearningFile, content: Json, *, dry_run: bool) -> FileReport | None:
        """Have a file imported by the service that keeps what is in it; None if it does not answer in time.

        Repeat it freely.
        """
        ...
