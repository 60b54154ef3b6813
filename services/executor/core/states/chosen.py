"""The process that a task is carried out as, before its first reply names one."""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from pydantic import JsonValue

from services.executor.core.states.template import Template
from services.executor.core.states.templates import GENERAL

Processes: TypeAlias = Mapping[str, Template]


class Chosen(NamedTuple):
    """``settled``: the task's process is known whatever a model says of it."""

    template: Template
    why: str
    settled: bool = True

    @property
    def process_type(self) -> str:
        return self.template.process_type

    def describe(self) -> dict[str, JsonValue]:
        """As clients and the outcome see it."""
        return {"by": "the request" if self.settled else "model", "why": self.why}


UNDECIDED = Chosen(GENERAL, why="nothing was said yet", settled=False)
