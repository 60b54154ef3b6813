"""Our worker on a task of the bench: its own code, real rules, stores in memory, and a person who approves."""

import json
import re
from datetime import UTC, datetime, time
from typing import NamedTuple, cast

from typing_extensions import override

from services.executor.core.session.context import Limits, Ports
from services.executor.core.states.prompts import Prompts
from services.executor.core.tools.classes import ToolAnnotations, classify_tool
from services.executor.core.turn.worker import Worker
from services.executor.ports.services import Tenants
from services.executor.ports.tools import Tool, ToolAnswer, ToolServers
from services.executor.ports.turns import SessionState
from shared.contracts.policy import Policy
from shared.contracts.task import Principal, TaskRecord, TaskRequest, Turn, TurnKind
from shared.contracts.tenant import CatalogueEntry, Connection, TenantRecord
from shared.domain.exact_json import JsonObject, dumps, loads
from shared.domain.words import A2aVersion, Role, Strategy, TaskState, ToolClass
from shared.ports.daily_spend import UnlimitedSpend
from tests.doubles.local_policy import LocalPolicy
from tests.doubles.memory_learned import MemoryLearned
from tests.doubles.memory_turns import MemoryTurns
from tools.bench.worth.guarded_model import GuardedModel
from tools.bench.worth.judge import RunResult, WorthEnd
from tools.bench.worth.models import PlayingModel
from tools.bench.worth.worlds.data import Json as Value, ServerRefusal
from tools.bench.worth.worlds.task import WorthTask
from tools.bench.worth.worlds.world import ForeignWorld

_LEVELS = ("manager", "hr", "finance", "committee", "legal", "cfo", "ciso")
_CLAIMANT = Principal(id="clerk")
_MANAGER = Principal(id="manager", roles=(Role.APPROVER,), levels=_LEVELS)
_CLASSES = {"read": ToolClass.READ, "notice": ToolClass.NOTIFY, "change": ToolClass.CHANGE}
_ENDS = {
    TaskState.COMPLETED: WorthEnd.COMPLETED,
    TaskState.INPUT_REQUIRED: WorthEnd.INPUT_REQUIRED,
    TaskState.REJECTED: WorthEnd.REJECTED,
}
_MOST_TURNS = 6


_CAVEAT = re.compile(r"\n+Please note: .*accepted by the system, but .*confirmed.*\.$", re.DOTALL)


class WorldServers(ToolServers):
    """One world as a tool server; its tools are classed as any server's are.

    A notice of a change that is only acknowledged gets a sentence from the worker. It is counted and left off, so that
    what the world keeps is what the model wrote.
    """

    def __init__(self, world: ForeignWorld) -> None:
        self._world = world
        self.caveats = 0

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        return tuple(_tool(listed, connection) for listed in self._world.tools)

    @override
    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        given = {name: self._leave_off(value) for name, value in json.loads(dumps(arguments)).items()}
        try:
            return ToolAnswer(loads(json.dumps(self._world.call(tool, given))))
        except ServerRefusal as refusal:
            return ToolAnswer(refusal.text, is_error=True)

    def _leave_off(self, value: Value) -> Value:
        if not isinstance(value, str) or not _CAVEAT.search(value):
            return value
        self.caveats += 1
        return _CAVEAT.sub("", value)


class OneRecord(Tenants):
    def __init__(self, record: TenantRecord) -> None:
        self._record = record

    @override
    async def get(self, tenant: str) -> TenantRecord:
        return self._record


class GuardedRun(NamedTuple):
    """`caveats`: notices that the worker sent with a sentence of its own."""

    result: RunResult
    record: TaskRecord
    caveats: int = 0


async def run_guarded(task: WorthTask, playing: PlayingModel, strategy: Strategy, prompts: Prompts) -> GuardedRun:
    """Play a task on a fresh copy of its world; whoever is asked for an approval gives it."""
    world = task.world.copy()
    model = GuardedModel(task, playing)
    turns = _turns(task)
    servers = WorldServers(world)
    ports = Ports(model, servers, LocalPolicy(), OneRecord(_tenant(world)), MemoryLearned(), UnlimitedSpend())
    worker = Worker(ports, Limits(settle_margin_seconds=0.0, strategies=(strategy,)), prompts)
    turn, asked = _turn(turns, TurnKind.MESSAGE, _CLAIMANT, 1), 0
    for number in range(2, _MOST_TURNS):
        await worker.run(turns.work(turn), turns)
        if turns.record.state is not TaskState.INPUT_REQUIRED or not turns.approvals:
            break
        asked += 1
        turn = _turn(turns, TurnKind.DECISION, _MANAGER, number, decision="approve")
    record = turns.record
    answer = (record.answer or "").partition("\n\nWrites:\n")[0]
    undone = record.state is not TaskState.COMPLETED or re.search("could not|not done", answer, re.I) is not None
    end = _ENDS.get(record.state, WorthEnd.FAILED)
    spent = (model.calls, model.fresh.tokens, asked, undone, model.fresh.own_tokens)
    result = RunResult(end, answer, world.snapshot(), *spent)
    return GuardedRun(result, record, servers.caveats)


def _tool(listed: object, connection: Connection) -> Tool:
    known = cast("tuple[str, str, JsonObject, JsonObject | None]", listed)
    name, description, schema, hints = known
    entry = connection.catalogue.get(name, CatalogueEntry())
    said = ToolAnnotations(
        cast("bool | None", (hints or {}).get("readOnlyHint")),
        cast("bool | None", (hints or {}).get("destructiveHint")),
    )
    found = classify_tool(name, said, entry)
    exact = cast(JsonObject, loads(json.dumps(schema)))
    return Tool(connection.id, name, description, exact, found.tool_class, found.reason, entry)


def _tenant(world: ForeignWorld) -> TenantRecord:
    stated = world.tenant
    catalogue = {name: CatalogueEntry(tool_class=_CLASSES[word]) for name, word in stated["tools"].items()}
    connection = Connection(id=stated["server"], url="http://world", catalogue=catalogue)
    policies = tuple(Policy.model_validate(policy) for policy in stated["policies"])
    return TenantRecord.model_validate(
        {"id": "bench", "unruled_writes": stated["unruled_writes"], "connections": (connection,), "policies": policies}
    )


def _turns(task: WorthTask) -> MemoryTurns:
    now = datetime.combine(task.world.blueprint.today, time(9), UTC)
    record = TaskRecord(
        tenant="bench",
        task_id=task.id,
        session_id="session",
        dialect=A2aVersion.A2A_1_0,
        requester=_CLAIMANT,
        request=TaskRequest(text=task.text),
        accepted_at=now,
        updated_at=now,
    )
    turns = MemoryTurns(record)
    said = tuple((turn.role if turn.role == "user" else "agent", turn.text) for turn in task.earlier)
    turns.remembered = SessionState(turns=said)
    return turns


def _turn(turns: MemoryTurns, kind: TurnKind, who: Principal, number: int, **data: str) -> Turn:
    base = {"turn_id": f"turn-{number}", "task_id": turns.record.task_id, "kind": kind, "principal": who, "data": data}
    return Turn.model_validate({**base, "text": turns.record.request.text, "received_at": turns.now()})
