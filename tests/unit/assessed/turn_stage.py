"""One turn of an assessment: the worker with a scripted model, over a world of our own simulator."""

from datetime import UTC, datetime

from pydantic import JsonValue
from typing_extensions import override

from services.executor.core.prompts.texts import load
from services.executor.core.session.context import Ports
from services.executor.core.turn.walk import walk
from services.executor.core.turn.worker import Worker
from shared.contracts.assessment.messages import DEFAULT_ASSESSMENT_INSTRUCTIONS
from shared.contracts.participation import AssessedTurn
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import Json, JsonObject
from tests.doubles.scripted_model import json_reply
from tests.unit.assessed.world_stage import URL, WorldStage
from tests.unit.executor.stage import Stage

NOW = datetime(2031, 5, 6, 9, 0, tzinfo=UTC)


class TurnStage(Stage):
    """Its tenant has another tool server too, which a turn of an assessment never asks."""

    def __init__(self, world: WorldStage) -> None:
        super().__init__(DEFAULT_ASSESSMENT_INSTRUCTIONS)
        self.world = world
        self.turns.record = assessed(self.turns.record)
        self.talk.rounds = [[("list_emails", {"folder": "inbox"})]]
        self.talk.parts = [(DEFAULT_ASSESSMENT_INSTRUCTIONS, "find out")]
        self.talk.answer = "Nothing was due."
        self.talk.helpers["next_turn"] = json_reply(
            {"finished": False, "time_step": "PT30M", "reason": "More may come."}
        )

    @property
    @override
    def worker(self) -> Worker:
        ports = Ports(self.model, self.world.tools, self.policy, self.tenants, self.learned, self.daily)
        return Worker(ports, self.limits._replace(tool_seconds=0.7), load(), walk)

    def plans(self, *calls: tuple[str, JsonObject]) -> None:
        """What it proposes once it has read the mail."""
        self.talk.parts = [(DEFAULT_ASSESSMENT_INSTRUCTIONS, "do")]
        self.talk.rounds.append(calls)

    @property
    def reply(self) -> dict[str, JsonValue]:
        """What the assessor is answered with: the one artifact that has data."""
        (found,) = [one.data for one in self.turns.record.artifacts if one.data and "message_type" in one.data]
        return found


def assessed(record: TaskRecord, number: int = 1) -> TaskRecord:
    turn = AssessedTurn(ues_url=URL, turn_number=number, current_time=NOW)
    return record.model_copy(update={"request": record.request.model_copy(update={"assessment": turn})})


def write(tool: str, **arguments: Json) -> tuple[str, JsonObject]:
    """A call of a plan; the catalogue knows how it is read back."""
    return tool, arguments
