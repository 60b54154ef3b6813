"""The port for files that came with a task's messages: their text, and pictures for the model."""

from typing import Protocol

from typing_extensions import override

from shared.contracts.base import Contract
from shared.contracts.task import SentFile


class ReadFile(Contract):
    """A parsed file. ``media_type`` and ``size`` describe its actual content, not what the sender stated.

    ``text``: its text up to a bound; ``is_cut``: whether there is more. ``picture_id``: the id of a picture for the
    model (``TaskFiles.get_content``); ``picture_tokens``: what it costs. ``problem``: why the file could not be read,
    for clients; then it has neither text nor picture.
    """

    name: str
    media_type: str = ""
    size: int = 0
    file_id: str = ""
    text: str = ""
    is_cut: bool = False
    picture_id: str = ""
    picture_tokens: int = 0
    problem: str = ""


class TaskFiles(Protocol):
    """Fetches, archives and reads the files of tasks' messages."""

    async def fetch_and_parse(self, tenant: str, file: SentFile) -> ReadFile:
        """Reads a file, which is fetched and archived first if it is an address. A failure becomes its ``problem``."""

    async def get_content(self, tenant: str, name: str) -> bytes | None:
        """The bytes of an archived file, or of a picture for the model (a JPEG); None if they no longer exist."""


class NoFiles(TaskFiles):
    """Files for an installation without a file archive, and for a replay, whose journal holds what was read."""

    @override
    async def fetch_and_parse(self, tenant: str, file: SentFile) -> ReadFile:
        return ReadFile(name=file.shown_name, problem="this installation keeps no files")

    @override
    async def get_content(self, tenant: str, name: str) -> bytes | None:
        return None
