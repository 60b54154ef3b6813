"""A calculator that was made at run time for one tenant."""

from datetime import datetime
from typing import Literal

from pydantic import field_serializer

from shared.contracts.base import Contract


class MadeCase(Contract):
    """What one call must come to; figures are decimal texts."""

    inputs: tuple[str, ...]
    expected: str


class MadeBy(Contract):
    """Which made tool worked a figure out: its name, its version, and the SHA-256 of the code that ran."""

    name: str
    version: int
    code_sha256: str


class MadeTool(Contract):
    """``code`` is one pure function over decimals; ``cases`` are those it was accepted by.

    The last of ``arguments`` ends in ``...`` where it takes any number of figures. A removed version keeps its place
    and its hash, so that its number, or the same code, never comes again; its code and cases are gone.
    """

    name: str
    version: int = 0
    purpose: str
    arguments: tuple[str, ...]
    result: Literal["money", "ratio"]
    code: str
    code_sha256: str
    cases: tuple[MadeCase, ...]
    made_at: datetime
    task_id: str
    removed_at: datetime | None = None
    removed_by: str = ""

    @field_serializer("made_at", "removed_at", when_used="unless-none")
    def _as_text(self, at: datetime) -> str:
        """Always: checkpoints hold what JSON holds, and keep figures exact."""
        return at.isoformat()

    @property
    def by(self) -> MadeBy:
        return MadeBy(name=self.name, version=self.version, code_sha256=self.code_sha256)

    def fits(self, number: int) -> bool:
        """Whether it takes so many figures."""
        if self.arguments[-1].endswith("..."):
            return number >= len(self.arguments)
        return number == len(self.arguments)

    def copy_as_removed(self, at: datetime, by: str) -> "MadeTool":
        return self.model_copy(update={"code": "", "cases": (), "removed_at": at, "removed_by": by})
