"""One run of the worker drawn from a seed: any model, world, policy, tenant, process, strategy, people and deaths."""

from datetime import time, timedelta
from random import Random
from typing import NamedTuple

from services.executor.core.session.budget import Ceilings
from services.executor.core.session.context import Limits, Ports
from services.executor.core.states.machine import BUILT_IN_TEMPLATES
from services.executor.core.states.prompts import load_prompts
from services.executor.core.turn.worker import Worker
from shared.contracts.task import Principal, TaskRecord, Turn, TurnKind
from shared.contracts.tenant import Connection, QuietHours, TenantRecord
from shared.domain.exact_json import dumps, loads_object
from shared.domain.words import PlanAuditScope, Role, Strategy, TaskState
from tests.doubles.generated_tools import World
from tests.doubles.memory_learned import MemoryLearned
from tests.doubles.memory_turns import Died
from tests.doubles.tape import Heard, Tape
from tests.doubles.unruly_model import UnrulyModel
from tests.doubles.unruly_replies import Offer, Replies
from tests.doubles.unruly_world import NOTICE, UnrulyPolicy, UnrulyServers, WatchedTurns
from tests.unit.executor.stage import CLERK, OneTenant, message, new_record

_LEVELS = ("manager", "hr", "finance", "committee", "legal", "cfo", "ciso")
PEOPLE = tuple(Principal(id=f"boss-{n}", roles=(Role.APPROVER,), levels=_LEVELS) for n in range(3))
SELF = Principal(id=CLERK.id, roles=(Role.CLIENT, Role.APPROVER), levels=_LEVELS)
_LISTS = ("Answer with a JSON list only.", "Return a JSON array.")
_TURNS = 10
_PROMPTS = load_prompts()


class Run(NamedTuple):
    """What a run left: its record and state as stored, what reached the outside, and what it was told to keep to.

    ``applied``: the changes that took effect in the world, each as often as it did.
    """

    seed: int
    turns: WatchedTurns
    tape: Tape
    tokens: int | None
    unruled: str
    deaths: int
    applied: tuple[tuple[str, str], ...] = ()

    @property
    def record(self) -> TaskRecord:
        return self.turns.record


async def any_run(seed: int) -> Run:
    """The run of that seed, to an end or to where only a person can go on; an error that comes out is a fault."""
    random = Random(seed)  # noqa: S311  # a run must come out the same each time
    world, tape = World(seed), Tape()
    text = f"{world.task.text} {random.choice(['', '', *_LISTS])}".strip()
    turns = WatchedTurns(new_record(text))
    tokens = random.choice([*[None] * 7, 2_500, 6_000, 10_000])
    tenant = _tenant(random)
    worker = Worker(_ports(random, world, turns, tape, tenant), _limits(random, tokens), _PROMPTS)
    deaths = random.choice([0, 1, 3, 6])
    left = deaths
    for number in range(_TURNS):
        turn = _next(random, turns, number)
        if turn is None:
            break
        left = await _carried(random, worker, turns, tape, turn, left)
    applied = tuple((tool, dumps(loads_object(given))) for tool, given in world.writes)
    return Run(seed, turns, tape, tokens, tenant.unruled_writes, deaths - left, applied)


def _ports(random: Random, world: World, turns: WatchedTurns, tape: Tape, tenant: TenantRecord) -> Ports:
    trouble = random.choice([0.0, 0.05, 0.1, 0.2])
    names = [connection.id for connection in tenant.connections]
    tools = tuple(_called(name, names) for name in (*(tool.name for tool in world.tools), NOTICE.name))
    replies = Replies(random, Offer(world, (NOTICE,), names, random.choice([*BUILT_IN_TEMPLATES])))
    model = UnrulyModel(random, replies, tape, tools, random.choice([0.0, 0.02, 0.1, 0.3]))
    servers = UnrulyServers(random, world, turns, tape, trouble)
    policy = UnrulyPolicy(random, turns, tape, trouble)
    return Ports(model, servers, policy, OneTenant(tenant), MemoryLearned())


def _called(tool: str, connections: list[str]) -> str:
    """As a model sees it: by its own name, or with its server's where several have it."""
    return tool if len(connections) == 1 else f"{connections[0]}__{tool}"


def _tenant(random: Random) -> TenantRecord:
    names = random.choice([("office",), ("office",), ("office", "annex")])
    quiet = QuietHours(start=time(0, 0), end=time(23, 59)) if random.random() < 0.2 else None
    return TenantRecord(
        id="acme",
        unruled_writes=random.choice(["allow", "allow", "approve"]),
        quiet_hours=quiet,
        answer_from_ledger=random.random() < 0.2,
        connections=tuple(Connection(id=name, url=f"http://{name}") for name in names),
    )


def _limits(random: Random, tokens: int | None) -> Limits:
    strategies = (random.choice([*Strategy]),) if random.random() < 0.8 else tuple(Strategy)
    return Limits(
        tool_seconds=0.05,
        settle_margin_seconds=0.0,
        task_seconds=random.choice([120.0, 3600.0, 3600.0]),
        iterations=random.choice([4, 14, 14, 14]),
        tool_calls=6,
        plans=random.choice([1, 8]),
        audit=random.choice([*PlanAuditScope]),
        strategies=strategies,
        ceilings=Ceilings(tokens=tokens),
    )


def _next(random: Random, turns: WatchedTurns, number: int) -> Turn | None:
    """What happens to the task next; None where it has ended, or waits for somebody who does not come."""
    record = turns.record
    if number == 0:
        return message(record.request.text)
    turn_id = f"turn-{number + 1}"
    if record.state is TaskState.WORKING:
        timer = turns.ends[-1].timer
        if timer is None:
            raise AssertionError("a task that rests has a timer")
        turns.ahead += max(timedelta(), timer.due - turns.now()) + timedelta(seconds=1)
        return _turn(turns, turn_id, TurnKind.DEADLINE, CLERK, subject=timer.subject)
    if record.state is not TaskState.INPUT_REQUIRED or random.random() < 0.03:
        return None
    return _said(random, turns, turn_id)


def _said(random: Random, turns: WatchedTurns, turn_id: str) -> Turn:
    """A decision of somebody, in time or late; a word that decides nothing; a cancel; a deadline."""
    draw = random.random()
    if draw < 0.66:
        return _turn(turns, turn_id, TurnKind.DECISION, random.choice(PEOPLE), decision="approve")
    if draw < 0.82:
        return _turn(turns, turn_id, TurnKind.DECISION, SELF, decision="approve")
    if draw < 0.86:
        return _turn(turns, turn_id, TurnKind.DECISION, random.choice(PEOPLE), decision="reject")
    if draw < 0.88:
        return _turn(turns, turn_id, TurnKind.CANCEL, CLERK)
    if draw < 0.93:
        return _turn(turns, turn_id, TurnKind.MESSAGE, CLERK)
    turns.ahead += timedelta(hours=30)
    if draw < 0.97:
        return _turn(turns, turn_id, TurnKind.DECISION, random.choice(PEOPLE), decision="approve")
    return _turn(turns, turn_id, TurnKind.DEADLINE, CLERK)


def _turn(turns: WatchedTurns, turn_id: str, kind: TurnKind, who: Principal, **data: str) -> Turn:
    base = {"turn_id": turn_id, "task_id": turns.record.task_id, "kind": kind, "principal": who, "data": data}
    return Turn.model_validate({**base, "received_at": turns.now()})


async def _carried(random: Random, worker: Worker, turns: WatchedTurns, tape: Tape, turn: Turn, left: int) -> int:
    """The turn, its process killed some times on the way; how many deaths are left."""
    attempts = 1
    while True:
        turns.die_before = turns.stored + random.randrange(40) if left else None
        tape.note(Heard(turn))
        try:
            await worker.run(turns.work(turn, attempts), turns)
        except Died:
            left, attempts = left - 1, attempts + 1
            turns.ahead += timedelta(seconds=1)
            continue
        finally:
            turns.die_before = None
        return left
