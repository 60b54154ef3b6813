"""The files of a task's message: what they are, what they say, and what they look like."""

from typing import Protocol

from typing_extensions import override

from shared.contracts.base import Contract
from shared.contracts.task import SentFile


class ReadFile(Contract):
    """One file as it was read. ``media_type`` and ``size`` are those of its content, whatever its sender said.

    ``text``: what it says, bounded; ``is_cut``: there is more. ``picture_id``: an image as a model may be shown it,
    which ``TaskFiles.content`` has, and ``picture_tokens`` what that costs. ``problem``: why it could not be read, in
    words for everybody; then there is neither.
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
    async def read(self, tenant: str, file: SentFile) -> ReadFile:
        """Reads a file, which is fetched and kept first if its sender gave an address. A failure is its ``problem``."""

    async def content(self, tenant: str, name: str) -> bytes | None:
        """The bytes of a kept file, or of a picture for the model, a JPEG; None where they can no longer be had."""


class NoFiles(TaskFiles):
    """Files for an installation that keeps none, and for a replay, which has what was read in its journal."""

    @override
    async def read(self, tenant: str, file: SentFile) -> ReadFile:
        return ReadFile(name=file.shown_name, problem="this installation keeps no files")

    @override
    async def content(self, tenant: str, name: str) -> bytes | None:
        return None
