"""The process that a task is carried out as, and how it was found."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from services.executor.core.fsm.template import Template
from services.executor.core.fsm.templates import GENERAL

Processes: TypeAlias = Mapping[str, Template]
FoundBy: TypeAlias = Literal["words", "model", "synthesizer", "synthesized before", "checkpoint"]


class Chosen(NamedTuple):
    """``settled`` is false where the words leave room for another process, and a model is to say which.

    ``problem``: why a model's answer did not count, where one was asked.
    """

    template: Template
    read_only: bool
    why: str
    by: FoundBy = "words"
    confidence: float | None = None  # the model's own, 0 to 1: no amount of money
    problem: str = ""
    model_calls: int = 0
    settled: bool = True

    @property
    def process_type(self) -> str:
        return self.template.process_type

    def told(self) -> dict[str, JsonValue]:
        """As clients and the outcome see it."""
        said: dict[str, JsonValue] = {"by": self.by, "why": self.why}
        if self.confidence is not None:
            said["confidence"] = f"{self.confidence:.2f}"
        return {**said, "problem": self.problem} if self.problem else said


UNDECIDED = Chosen(GENERAL, read_only=False, why="nothing was said yet", settled=False)
