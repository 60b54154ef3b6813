"""Bugs that the product must not have, each as a small change to one service's running code.

A bug that no longer finds what it changes stops its process: a test that plants it fails, and cannot pass by mistake.
"""

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from importlib import import_module
from pkgutil import walk_packages
from types import MappingProxyType
from typing import NamedTuple, cast

from shared.domain.exact_json import JsonObject

Planting = Callable[[], None]


class SeededBug(NamedTuple):
    """``service``: the module whose processes have it."""

    service: str
    plant: Planting


class NoSuchCode(Exception):
    """The code that a bug changes is not there any more."""


def plant_bug(name: str, service: str) -> None:
    """Change the running code of this process, if it is one of those that have the bug."""
    bug = BUGS[name]
    if bug.service == service:
        bug.plant()


def _replace_function(package: str, name: str, make: Callable[[Callable[..., object]], Callable[..., object]]) -> None:
    """Replace the one function of that name in a package, wherever it was imported to by name."""
    original = cast("Callable[..., object]", _find(package, name))
    changed = make(original)
    for module in tuple(sys.modules.values()):
        if vars(module).get(name) is original:
            setattr(module, name, changed)


def _find(package: str, name: str) -> object:
    """What one module of a package defines under that name, whichever folder it lies in. Raises ``NoSuchCode``."""
    modules = [import_module(found.name) for found in walk_packages(import_module(package).__path__, f"{package}.")]
    owners = [module for module in modules if getattr(vars(module).get(name), "__module__", None) == module.__name__]
    if len(owners) != 1:
        raise NoSuchCode(f"{len(owners)} modules of {package} define {name}")
    return cast("object", vars(owners[0])[name])


def _change_scripts(changes: Mapping[str, Mapping[str, str]]) -> None:
    """Replace text in Lua scripts; "prelude" stands for the functions that many of them share."""
    from shared.infra import lua

    original = lua.build_script

    def source(name: str, *, is_repeated: bool = False) -> str:
        text = original(name, is_repeated=is_repeated)
        for script in ("prelude", name):
            for before, after in changes.get(script, {}).items():
                if before not in (lua.read_script_file(script) if script == "prelude" else text):
                    raise NoSuchCode(f"{script}.lua has no {before!r}")
                text = text.replace(before, after)
        return text

    lua.build_script = source  # type: ignore[assignment]  # a plain function in place of a cached one


def _leave_intents_unflushed() -> None:
    """An intent is kept in the process's memory, and stored with what came of its call."""
    from services.executor.adapters.redis_turns import RedisTurnStore
    from services.executor.ports.turns import EMPTY_BATCH, JournalBatch, StopState
    from shared.contracts.ledger import LedgerEntry

    stored, settled = RedisTurnStore._store_intent, RedisTurnStore._store_settlement
    kept: dict[str, tuple[LedgerEntry, float, JournalBatch]] = {}

    async def _store_intent(
        self: RedisTurnStore, entry: LedgerEntry, call_seconds: float, batch: JournalBatch
    ) -> tuple[StopState, bool]:
        kept[entry.key] = (entry, call_seconds, batch)
        return await self._scripts.append(EMPTY_BATCH)

    async def _settle(self: RedisTurnStore, entry: LedgerEntry, before: object, batch: JournalBatch) -> StopState:
        if entry.key in kept:
            await stored(self, *kept.pop(entry.key))
        return await settled(self, entry, before, batch)  # type: ignore[arg-type]

    RedisTurnStore._store_intent = _store_intent  # type: ignore[method-assign]
    RedisTurnStore._store_settlement = _settle  # type: ignore[method-assign]


def _check_no_fence() -> None:
    """An executor that was frozen beyond its lease works on by the ledger as it knows it, over what others store."""
    own = "if now_owner == owner and now_fence == fence then"
    _change_scripts(
        {
            "prelude": {"return now_owner == owner and now_fence == fence": "return true"},
            "extend": {own: "if true then"},
            "append": {
                "if now_owner ~= owner or now_fence ~= fence then return {'lost'} end": "",
                "then return {'conflict'} end": "then stored = false end",
                "~= allowed) then": "~= allowed) and false then",
            },
            "finish": {"if now_version ~= version then return {'conflict'} end": ""},
        }
    )


def _acknowledge_before_the_effect() -> None:
    """The learner acknowledges what it has read, and learns from it a little later."""
    from services.learner.adapters.redis_outcomes import RedisOutcomes
    from services.learner.ports.outcomes import ClaimedOutcomes

    original = RedisOutcomes.claim_outcomes

    async def claim(self: RedisOutcomes, partitions: Sequence[int]) -> ClaimedOutcomes:
        taken = await original(self, partitions)
        if taken.deliveries:
            await self.settle_outcomes(taken.deliveries, ())
            await asyncio.sleep(2.0)
        return taken

    RedisOutcomes.claim_outcomes = claim  # type: ignore[method-assign, assignment]


def _keep_the_reaper_off() -> None:
    """Nobody looks for sessions whose owner is gone."""
    from services.executor.adapters.redis_upkeep import OverdueWork, Reaper

    async def find_overdue(self: Reaper) -> OverdueWork:
        return OverdueWork()

    Reaper.find_overdue = find_overdue  # type: ignore[method-assign]


def _ignore_cancels() -> None:
    """A cancel is taken in, and nothing comes of it."""
    from services.executor.adapters.redis_turns import TurnScripts
    from services.executor.core.prime.prime import OpenedTurn
    from services.executor.core.session.dossier import RunEnd
    from services.executor.core.turn.worker import Worker
    from shared.contracts.approval import Approval
    from shared.contracts.task import TurnKind

    TurnScripts._find_own_cancel = lambda self, signals: None  # type: ignore[method-assign]
    original = Worker._run_phases

    async def run_phases(self: Worker, opened: OpenedTurn, approval: Approval | None) -> RunEnd:
        turn = opened.work.turn
        kind = TurnKind.MESSAGE if turn.kind is TurnKind.CANCEL else turn.kind
        work = opened.work._replace(turn=turn.model_copy(update={"kind": kind}))
        return await original(self, opened._replace(work=work), approval)

    Worker._run_phases = run_phases  # type: ignore[method-assign]


def _prove_every_write() -> None:
    """Whatever is read back, the write counts as shown."""
    from shared.domain.words import WriteStatus

    def proves(original: Callable[..., object]) -> Callable[..., object]:
        def judge(evidence: object) -> object:
            found = original(evidence)
            return found._replace(status=WriteStatus.VERIFIED, note="read back", contradicted=False)  # type: ignore[attr-defined]

        return judge

    _replace_function("services.executor.core", "judge_answered_write", proves)


def _change_amounts_after_the_approval() -> None:
    """A cent is added on the way to the server."""
    from services.executor.adapters.tool_servers import ConnectedServers

    original = ConnectedServers.call

    async def call(self: ConnectedServers, *words: object) -> object:
        connection, tool, arguments, *rest = words
        sent = dict(cast("JsonObject", arguments))
        if "amount" in sent:
            sent["amount"] = Decimal(str(sent["amount"])) + Decimal("0.01")
        return await original(self, connection, tool, sent, *rest)  # type: ignore[arg-type]

    ConnectedServers.call = call  # type: ignore[method-assign, assignment]


def _hash_part_of_the_plan() -> None:
    """What an approval is bound to are a plan's tools, and neither what they are called with nor what was read."""
    from shared.contracts.plan import WritePlan
    from shared.domain.exact_json import digest

    def hash_(self: WritePlan) -> str:
        return digest([[call.call_id, call.tool] for call in self.calls])

    WritePlan.hash = property(hash_)  # type: ignore[method-assign, assignment]
    _replace_function("services.executor.core", "hash_for_approval", lambda _: lambda verdict: verdict.policy_hash)


def _reserve_no_budget() -> None:
    """A model call is made whether or not it still fits under its task's ceiling."""
    core = "services.executor.core"
    spending, reservation, amount = (
        cast("Callable[..., object]", _find(core, name)) for name in ("TaskSpending", "Reservation", "CallCost")
    )

    def reserve(self: object, key: str, size: object, output: int, *_: object) -> object:
        vars(self)["_reservation_count"] += 1
        return reservation(f"reserve:{vars(self)['_reservation_count']}:{key}", amount(), output)

    setattr(spending, "reserve_cost", reserve)  # noqa: B010  # a class that is found by its name


def _tell_outcomes_twice() -> None:
    """A task's outcome is told once more under another name."""
    from services.executor.adapters.redis_turns import RedisTurnStore
    from services.executor.ports.turns import TurnEnd

    original = RedisTurnStore.finish

    async def finish(self: RedisTurnStore, end: TurnEnd) -> None:
        await original(self, end)
        if end.outcome:
            again = end.outcome.model_copy(update={"event_id": f"{end.outcome.event_id}:again"})
            words = ("id", again.event_id, "o", again.model_dump_json())
            await self._redis.execute("XADD", self._scripts.partition.outcomes, "*", *words)

    RedisTurnStore.finish = finish  # type: ignore[method-assign]


def _judge_by_a_sibling() -> None:
    """A rule sees, in place of the record that a call names, the first one of its kind that was read."""

    def sees_first(original: Callable[..., object]) -> Callable[..., object]:
        def view_of(tool: str, arguments: JsonObject, facts: Sequence[object], *keys: object) -> object:
            named = {key: _first_of_kind(value, facts) for key, value in arguments.items()}
            return original(tool, named, facts, *keys)

        return view_of

    _replace_function("services.executor.core", "build_call_view", sees_first)


def _first_of_kind(value: object, facts: Sequence[object]) -> object:
    """The first identifier with the same beginning that anything read was asked for."""
    if not isinstance(value, str) or "-" not in value:
        return value
    stem = value.rpartition("-")[0]
    asked = [text for fact in facts for text in str(getattr(fact, "arguments_json", "")).split('"')]
    return next((text for text in asked if text.startswith(f"{stem}-")), value)


def _mix_tenants() -> None:
    """A task that the caller's tenant does not have is looked for among those of the others."""
    from shared.contracts.task import TaskRecord
    from shared.infra.task_store import TaskStore

    original = TaskStore.get_record

    async def record(self: TaskStore, tenant: str, task_id: str, session_id: str = "") -> TaskRecord | None:
        for known in (tenant, "default", "north", "south"):
            if found := await original(self, known, task_id, session_id):
                return found
        return None

    TaskStore.get_record = record  # type: ignore[method-assign]


def _let_one_more_wait() -> None:
    """One session more than the limit may wait."""
    _change_scripts({"accept": {"if number >= tonumber(most)": "if number > tonumber(most)"}})


_EXECUTOR, _LEARNER, _GATEWAY = "services.executor", "services.learner", "services.gateway"
BUGS: Mapping[str, SeededBug] = MappingProxyType(
    {
        "intent-unflushed": SeededBug(_EXECUTOR, _leave_intents_unflushed),
        "approval-of-a-part": SeededBug(_EXECUTOR, _hash_part_of_the_plan),
        "no-fence": SeededBug(_EXECUTOR, _check_no_fence),
        "acknowledged-before-effect": SeededBug(_LEARNER, _acknowledge_before_the_effect),
        "reaper-off": SeededBug(_EXECUTOR, _keep_the_reaper_off),
        "cancel-ignored": SeededBug(_EXECUTOR, _ignore_cancels),
        "read-back-always-true": SeededBug(_EXECUTOR, _prove_every_write),
        "argument-changed": SeededBug(_EXECUTOR, _change_amounts_after_the_approval),
        "budget-unreserved": SeededBug(_EXECUTOR, _reserve_no_budget),
        "outcome-twice": SeededBug(_EXECUTOR, _tell_outcomes_twice),
        "tenants-mixed": SeededBug(_GATEWAY, _mix_tenants),
        "admission-off-by-one": SeededBug(_GATEWAY, _let_one_more_wait),
        "rule-by-a-sibling": SeededBug(_EXECUTOR, _judge_by_a_sibling),
    }
)
