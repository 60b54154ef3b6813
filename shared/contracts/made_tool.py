"""A calculator that was made at run time for one tenant."""

from datetime import datetime
from typing import Literal

from pydantic import field_serializer

from shared.contracts.base import Contract


class MadeToolTestCase(Contract):
    """A test case of a made tool: inputs and the expected result; figures are decimal texts."""

    inputs: tuple[str, ...]
    expected: str


class MadeToolReference(Contract):
    """The made tool that computed a figure: its name, its version, and the SHA-256 of the code that ran."""

    name: str
    version: int
    code_sha256: str


class MadeTool(Contract):
    """A calculator written at run time. ``code``: one pure function over decimals; ``cases``: the tests that it passed.

    The last of ``arguments`` ends in ``...`` if the tool takes any number of figures. A removed version keeps its
    number and hash, so that neither is reused, but has no code or cases.
    """

    name: str
    version: int = 0
    purpose: str
    arguments: tuple[str, ...]
    result: Literal["money", "ratio"]
    code: str
    code_sha256: str
    cases: tuple[MadeToolTestCase, ...]
    made_at: datetime
    task_id: str
    removed_at: datetime | None = None
    removed_by: str = ""

    @field_serializer("made_at", "removed_at", when_used="unless-none")
    def _format_time(self, moment: datetime) -> str:
        """The time as text, since checkpoints hold only JSON values."""
        return moment.isoformat()

    @property
    def reference(self) -> MadeToolReference:
        return MadeToolReference(name=self.name, version=self.version, code_sha256=self.code_sha256)

    def copy_as_removed(self, removed_at: datetime, removed_by: str) -> "MadeTool":
        return self.model_copy(update={"code": "", "cases": (), "removed_at": removed_at, "removed_by": removed_by})
