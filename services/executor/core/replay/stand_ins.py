"""Everything a replayed run talks to: it answers from the archive, and nobody is called."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime

from typing_extensions import override

from services.executor.core.replay.course import Course, StoppedHere, writes_begin
from services.executor.core.session.journal import Bounds, Journal
from services.executor.core.turn.notes import read_session
from services.executor.core.turn.recording import (
    call_name,
    policy_name,
    raise_failure,
    read_experience,
    read_tools,
    read_verdict,
    tools_name,
)
from services.executor.ports.learned import Experience, Learned
from services.executor.ports.models import Model, ModelReply, ModelRequest
from services.executor.ports.policy import PolicyService, PolicyUnavailable, Tenants
from services.executor.ports.tools import Tool, ToolAnswer, ToolServers, ToolUnreachable
from services.executor.ports.turns import NOTHING, JournalEntry, Pulse, SessionState, TurnEnd, TurnStore, Unstored
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.approval import Approval
from shared.contracts.ledger import LedgerEntry
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.task import TaskEvent, TaskRecord
from shared.contracts.tenant import Connection, TenantRecord
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.words import WriteStatus
from shared.ports.store import StoreUnavailable


class ReplayJournal(Journal):
    """Every step is answered from the archive; what is added is compared with it."""

    def __init__(
        self,
        course: Course,
        store: TurnStore,
        entries: Iterable[JournalEntry],
        now: datetime,
        seconds: float,
        bounds: Bounds,
    ) -> None:
        super().__init__(store, entries, now, seconds, bounds)
        self._course = course

    @override
    def get(self, key: str) -> str | None:
        return self._course.peek(key)

    @override
    async def run_step(
        self,
        key: str,
        kind: str,
        step: Callable[[], Awaitable[str]],
        asked: str = "",
        before: Callable[[], Awaitable[None]] | None = None,
    ) -> str:
        if key not in self._course.attempt.steps:
            await asyncio.sleep(0)  # those beside it may have been finished then
            await asyncio.sleep(0)
        unavailable = self._course.unavailable(key)
        if unavailable is not None:
            raise PolicyUnavailable(unavailable)
        if ended := self._course.find_end(key):
            raise ended
        return self._course.take(key, asked).data_json

    @override
    def decide_once(self, key: str, decide: Callable[[], str]) -> str:
        known = self._course.peek(key)
        return decide() if known is None else known

    @override
    def add_together(self, *entries: JournalEntry) -> None:
        for entry in entries:
            self._course.compare(entry.key, entry.kind, entry.data_json)
            if writes_begin(entry.key):
                self._course.ledger.show_all()

    @override
    def record_input(self, name: str, data: str, shared: tuple[str, ...] = ()) -> None:
        return

    @override
    def begins(self, turn_id: str, data: str) -> None:
        return


class ReplayStore(TurnStore):
    """The task as it stood when the attempt began; its writes show their end as the run comes to them."""

    def __init__(self, course: Course, record: TaskRecord, approval: Approval | None) -> None:
        self._course = course
        self._approval = approval
        self.record = record
        self.end: TurnEnd | None = None

    @override
    async def journal(self) -> tuple[JournalEntry, ...]:
        return self._course.so_far()

    @override
    async def ledger(self) -> Mapping[str, LedgerEntry]:
        return self._course.ledger.shown

    @override
    async def approval(self) -> Approval | None:
        return self._approval

    @override
    async def session(self) -> SessionState:
        """PRIME asks for it: what the turn says of the writes before it has been heeded by then."""
        if any(writes_begin(entry.key) for entry in self._course.attempt.before):
            self._course.ledger.show_all()
        found = self._course.attempt.inputs.get("session")
        return SessionState() if found is None else read_session(found)

    @override
    async def pulse(self) -> Pulse:
        return Pulse(self._course.attempt.begun.began)

    @override
    async def append(
        self, entries: Sequence[JournalEntry], events: Sequence[TaskEvent] = (), record: TaskRecord | None = None
    ) -> Pulse:
        self.record = record or self.record
        return await self.pulse()

    @override
    async def open_write(self, entry: LedgerEntry, hold_seconds: float, beside: Unstored = NOTHING) -> Pulse:
        if not self._course.ledger.show(entry.key):
            raise self._course.absent(f"write {entry.call.call_id}", f"{entry.call.tool} would be called; it was not")
        return await self.pulse()

    @override
    async def settle_write(self, entry: LedgerEntry, before: WriteStatus, beside: Unstored = NOTHING) -> Pulse:
        self._course.ledger.show(entry.key)
        return await self.pulse()

    @override
    async def finish(self, end: TurnEnd) -> None:
        self.end = end


class NoModel(Model):
    def __init__(self, course: Course) -> None:
        self._course = course

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        raise self._course.absent("model", "a model would be asked")


class ReplayTools(ToolServers):
    def __init__(self, course: Course) -> None:
        self._course = course

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        return self._recorded_tools(connection)[0]

    @override
    def may_have_unlisted(self, connection: Connection) -> bool:
        return self._recorded_tools(connection)[1]

    @override
    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        """Only writes and their read-backs come here, and the ledger knows what came of them."""
        noted = self._course.attempt.inputs.get(call_name(connection, tool, arguments))
        if noted is not None:
            raise_failure(loads_object(noted))
        if not self._course.attempt.is_last:
            raise StoppedHere
        raise ToolUnreachable("nothing is called in a replay")

    def _recorded_tools(self, connection: Connection) -> tuple[tuple[Tool, ...], bool]:
        return read_tools(
            self._course.recorded_input(tools_name(connection), "its tools were not listed then"), connection
        )


class ReplayPolicy(PolicyService):
    def __init__(self, course: Course) -> None:
        self._course = course
        self._asked: Counter[str] = Counter()

    @override
    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        name = policy_name(request.to_json(), self._asked)
        return read_verdict(self._course.recorded_input(name, "the policy would be asked something else"))

    @override
    async def allowances(self, request: AllowanceRequest) -> Allowances:
        raise self._course.absent("allowances", "the policy would be asked about reads")

    @override
    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        raise self._course.absent("prose", "a prose policy would be checked")


class ReplayTenants(Tenants):
    def __init__(self, course: Course) -> None:
        self._course = course

    @override
    async def get(self, tenant: str) -> TenantRecord:
        return TenantRecord.model_validate_json(
            self._course.recorded_input("tenant", "the tenant's record was not read then")
        )


class ReplayLearned(Learned):
    def __init__(self, course: Course) -> None:
        self._course = course

    @override
    async def recall(self, tenant: str, process_type: str) -> Experience:
        found, recalled = (self._course.attempt.inputs.get(name) for name in ("experience", "recalled"))
        if found is None:
            raise StoreUnavailable("nothing was recalled then")
        return read_experience(found, recalled)

    @override
    async def note_tools(self, tenant: str, names: frozenset[str]) -> None:
        return

    @override
    async def translation(self, tenant: str, key: str) -> str | None:
        raise self._course.absent(key, "a translation would be looked up")

    @override
    async def keep_translation(self, tenant: str, key: str, text: str) -> None:
        return

    @override
    async def process_types(self, tenant: str) -> tuple[str, ...]:
        raise self._course.absent("processes", "synthesized processes would be looked up")

    @override
    async def process(self, tenant: str, process_type: str) -> str | None:
        raise self._course.absent(process_type, "a synthesized process would be looked up")

    @override
    async def keep_process(self, tenant: str, process_type: str, text: str) -> str:
        raise self._course.absent(process_type, "a process would be synthesized")
