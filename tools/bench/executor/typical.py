"""A worker that stores what a usual task with two writes stores, step by step, and asks nobody: for measuring."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import uuid4

from services.executor.core.reflect.turn_end import build_turn_end
from services.executor.core.session.dossier import Dossier, Progress, RunEnd
from services.executor.core.session.journal import Journal
from services.executor.core.session.values import Fact
from services.executor.ports.turns import JournalBatch, JournalEntry, TurnStore, TurnWork
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, ReadBack, WritePlan
from shared.contracts.policy import Verdict
from shared.contracts.task import Principal, TaskEvent, TaskRecord, TaskRequest, Turn, TurnKind
from shared.domain.exact_json import digest, dumps
from shared.domain.words import A2aVersion, FsmState, TaskState, ToolClass, TurnPhase, WriteStatus

# As long as those of the demo's tasks with two writes.
_STEPS, _STEP_CHARACTERS = 16, 1_200
_TELLS, _TELLS_OF_A_WRITE = 26, 3
_PATH = ("DECOMPOSE", "ASSESS", "COMPUTE", "POLICY_CHECK", "MUTATE", "COMPLETE")
_RECORD = {"department": "Operations", "email": "kim.example@company.example", "name": "Kim Example", "title": "Clerk"}
TEXT = "Update the phone of employee EMP-447 to +1 555 2000. Assign asset AST-1721 to employee EMP-447."
_ANSWER = "Done and verified: update employee phone (employee_id EMP-447, phone +1 555 2000)." * 2


class TypicalMessage(NamedTuple):
    """What a gateway accepts: a new task in a session, by a client that has a name of its own for it."""

    record: TaskRecord
    turn: Turn
    client_id: str


class TypicalWorker:
    """Reads, stores and ends as the real worker does, through the same store."""

    async def run(self, work: TurnWork, store: TurnStore) -> None:
        stop_state = await store.get_stop_state()
        await store.read_journal()
        await store.read_approval()
        session = await store.read_session()
        at, plan = stop_state.now, _plan(work.turn.task_id)
        started = work.record.model_copy(update={"state": TaskState.WORKING, "started_at": at, "updated_at": at})
        entries, events = _steps(at)
        await store.append(entries, [_event("phase", at), *events], started)  # what is left does not depend on when
        for call in plan.calls:
            await _store_write(store, plan, call, at)
        writes = tuple((await store.read_ledger()).values())
        ended = RunEnd(TaskState.COMPLETED, FsmState.COMPLETE, None, _ANSWER, _progress(plan), writes)
        journal = Journal(store, (), at, 0.0)
        journal.enter_phase(TurnPhase.REFLECT)
        await store.finish(build_turn_end(work._replace(record=started), ended, session, journal))


def typical_message(tenant: str, session_id: str) -> TypicalMessage:
    now = datetime.now(UTC)
    task_id = str(uuid4())
    caller = Principal(id="bench")
    record = TaskRecord(
        tenant=tenant,
        task_id=task_id,
        session_id=session_id,
        dialect=A2aVersion.LEGACY,
        requester=caller,
        request=TaskRequest(text=TEXT),
        accepted_at=now,
        updated_at=now,
    )
    kind = TurnKind.MESSAGE
    turn = Turn(turn_id=str(uuid4()), task_id=task_id, kind=kind, principal=caller, received_at=now, text=TEXT)
    return TypicalMessage(record, turn, session_id)


def _steps(at: datetime) -> tuple[list[JournalEntry], list[TaskEvent]]:
    entries = [JournalEntry(f"{number}.STEP:model:0", "model", "x" * _STEP_CHARACTERS) for number in range(_STEPS)]
    return entries, [_event("model", at)] * _TELLS


def _event(kind: str, at: datetime) -> TaskEvent:
    return TaskEvent(kind=kind, at=at, data={"step": "2.ASSESS:model:0", "model": "offline-planner-1", "tokens": 308})


async def _store_write(store: TurnStore, plan: WritePlan, call: PlannedCall, at: datetime) -> None:
    entry = _ledger_entry(plan, call, at)
    await store.open_write(entry, 11.0)
    told = JournalBatch(events=(_event("write", at),) * _TELLS_OF_A_WRITE)
    sent = entry.model_copy(update={"status": WriteStatus.SENT, "result_json": dumps(dict(_RECORD))})
    await store.settle_write(sent, WriteStatus.SENDING, told)
    note = "read back: department=Operations, email=kim.example@company.example, name=Kim Example, title=Clerk"
    shown = {"status": WriteStatus.VERIFIED, "proof_json": dumps(dict(_RECORD)), "note": note}
    await store.settle_write(sent.model_copy(update=shown), WriteStatus.SENT, told)


def _ledger_entry(plan: WritePlan, call: PlannedCall, at: datetime) -> LedgerEntry:
    return LedgerEntry(
        key=digest([plan.task_id, call.call_id])[:32],
        call=call,
        arguments_json=call.arguments_json,
        plan_hash=plan.hash,
        status=WriteStatus.SENDING,
        sending_at=at,
        open_until=at + timedelta(seconds=11),
        before_json=dumps(dict(_RECORD)),
    )


def _plan(task_id: str) -> WritePlan:
    calls = tuple(
        PlannedCall(
            call_id=f"c{number}",
            connection_id="default",
            tool="update_employee_phone",
            tool_class=ToolClass.CHANGE,
            arguments_json=dumps({"employee_id": "EMP-447", "phone": "+1 555 2000"}),
            read_back=ReadBack(tool="get_employee", arguments_json=dumps({"employee_id": "EMP-447"})),
        )
        for number in (1, 2)
    )
    return WritePlan(task_id=task_id, calls=calls)


def _progress(plan: WritePlan) -> Progress:
    path = tuple(FsmState(name) for name in _PATH)
    fact = Fact(ref="f1", connection_id="default", tool="get_employee", arguments_json="{}", result_json="{}")
    verdict = Verdict(
        passed=True, binding=True, policy_hash=plan.hash, context_hash=digest(["context"]), plan_hash=plan.hash
    )
    approval = "automatic: no rule and no setting of the tenant asks for an approval"
    dossier = Dossier(facts=(fact,), plan=plan, verdict=verdict, approval_note=approval)
    return Progress(path=path, visited=path, dossier=dossier, tool_calls=5, model_calls=7)
