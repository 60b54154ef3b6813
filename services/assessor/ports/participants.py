"""What an assessment needs from outside, in its own words. The world itself: ``simulated_world``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from pydantic import JsonValue

from shared.contracts.assessment.messages import AssessmentMessage, ErrorType, JsonObject, Update
from shared.contracts.assessment.results import AssessmentResults


class ParticipantFailed(Exception):
    """The participant gave no answer that can be used. ``kind``: timeout, communication_error or protocol_error."""

    def __init__(self, kind: ErrorType, message: str) -> None:
        super().__init__(message)
        self.kind: ErrorType = kind


@dataclass(frozen=True)
class Agent:
    """The address of the agent that is assessed, and the key to send to it, if it wants one."""

    url: str
    key: str = field(default="", repr=False)


class Participant(Protocol):
    """The agent that is measured."""

    @property
    def url(self) -> str: ...

    async def tell(self, message: AssessmentMessage) -> None:
        """Something that needs no answer; one that comes is not read. Raises ``ParticipantFailed``."""

    async def ask(self, message: AssessmentMessage, timeout: float) -> JsonObject:
        """The data of the answer, within so many seconds. Raises ``ParticipantFailed``."""


class Emitter(Protocol):
    """Receives the updates of an assessment."""

    async def emit(self, update: Update) -> None: ...


class Clock(Protocol):
    """The wall's time."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float:
        """Seconds that only grow."""


class Assessments(Protocol):
    """Runs assessments, those of one context one after another."""

    async def run_assessment(
        self,
        context_id: str,
        task_id: str,
        agent: Agent,
        scenario_id: str,
        limits: Mapping[str, JsonValue],
        emitter: Emitter,
    ) -> AssessmentResults:
        """Runs an assessment and returns its results.

        Raises what ends it without results; the text of the error is for people.
        """
