"""One turn of an assessment: the worker with a scripted model, over the bridge to a world of our own simulator."""

from datetime import UTC, datetime

from pydantic import JsonValue
from typing_extensions import override

from services.executor.core.session.context import Ports
from services.gateway.features.participation import build_practice_run
from services.gateway.features.tasks.views import list_artifacts
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import Json, JsonObject
from tests.unit.assessed.world_stage import WorldStage
from tests.unit.executor.stage import Stage

NOW = datetime(2031, 5, 6, 9, 0, tzinfo=UTC)
WORDS = "Tend my mail."


class TurnStage(Stage):
    """Its tenant has another tool server too, which a turn of an assessment never asks."""

    def __init__(self, world: WorldStage) -> None:
        super().__init__(WORDS)
        self.world = world
        self.turns.record = as_turn(self.turns.record, world.endpoint)
        self.limits = self.limits._replace(tool_seconds=3.0, practice_servers=(f"{world.bridge}/worlds",))
        self.talk.rounds = [[("list_emails", {"folder": "inbox"})]]
        self.talk.parts = [(WORDS, "find out")]
        self.talk.answer = "Nothing was due.\nNext: PT30M"

    @property
    @override
    def ports(self) -> Ports:
        return super().ports._replace(tools=self.world.tools)

    def asks(self, text: str) -> None:
        """What the user asks for."""
        self.change_request(text=text)
        self.talk.parts = [(text, "find out")]

    def plans(self, *calls: tuple[str, JsonObject]) -> None:
        """What it proposes once it has read the mail."""
        self.talk.parts = [(self.turns.record.request.text, "do")]
        self.talk.rounds.append(calls)

    @property
    def reply(self) -> dict[str, JsonValue]:
        """What the assessor is answered with: the one artifact that has data."""
        (found,) = [one.data for one in list_artifacts(self.turns.record) if one.data and "message_type" in one.data]
        return found


def as_turn(record: TaskRecord, endpoint: str, number: int = 1) -> TaskRecord:
    update = {"practice": build_practice_run(number, NOW, NOW), "tools_endpoint": endpoint}
    return record.model_copy(update={"request": record.request.model_copy(update=update)})


def write(tool: str, **arguments: Json) -> tuple[str, JsonObject]:
    """A call of a plan; the bridge says how it is read back."""
    return tool, arguments
