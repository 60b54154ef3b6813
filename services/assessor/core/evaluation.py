"""What evaluators are given, and what they answer."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from pydantic import JsonValue

from services.assessor.core.differences import Difference, differences
from services.assessor.ports.simulated_world import SimulatedWorld
from shared.contracts.assessment.messages import AssessmentMessage, JsonObject
from shared.contracts.assessment.results import ActionLogEntry
from shared.ports.models import Model


class EvalResult(AssessmentMessage):
    """An evaluator's result: ``score`` of ``max_score`` points, which the judge scales to the criterion's points."""

    score: float
    max_score: float
    explanation: str = ""
    details: JsonObject | None = None


@dataclass(frozen=True)
class EvalContext:
    """A run as its judges see it. ``action_log`` has reads and refused requests too; ``actions`` only what was done.

    States are as the simulator shows them, by modality; ``time`` is one of them.
    """

    client: SimulatedWorld
    scenario_config: JsonObject
    action_log: tuple[ActionLogEntry, ...]
    initial_state: Mapping[str, JsonValue]
    final_state: Mapping[str, JsonValue]
    user_prompt: str
    llm: Model | None = None

    @property
    def actions(self) -> tuple[ActionLogEntry, ...]:
        return tuple(entry for entry in self.action_log if entry.kind == "action")

    @property
    def changes(self) -> tuple[Difference, ...]:
        """What differs between the world before and after, whoever changed it."""
        return tuple(differences(self.initial_state, self.final_state))

    def get_state(self, modality: str) -> JsonValue:
        """The state at the end; ``None`` for a modality that the world does not have."""
        return self.final_state.get(modality)

    async def get_time(self) -> datetime:
        return (await self.client.time.get_state()).current_time


Evaluator: TypeAlias = Callable[[EvalContext, JsonObject], Awaitable[EvalResult]]
Evaluators: TypeAlias = Mapping[str, Evaluator]
AgentBeatsEvalContext = EvalContext
EvaluatorRegistry = Evaluators
