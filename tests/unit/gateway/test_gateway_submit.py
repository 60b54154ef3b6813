"""What a message becomes, and that a cancel is acknowledged once it is stored."""

import asyncio
from datetime import UTC, datetime

import pytest

from services.gateway.a2a.schema import read_send
from services.gateway.edge.errors import InvalidField
from services.gateway.features.identity.model import Caller
from services.gateway.features.tasks.intake import Accept, IntakeTime, Signal, take_in
from services.gateway.features.tasks.message import ClientMessage, read_legacy, read_message
from services.gateway.features.tasks.model import Thread
from services.gateway.features.tasks.service import Rules, TaskService
from shared.contracts.task import Principal, TaskRecord, TurnKind
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import Dialect, Role, TaskState
from tests.doubles.gateway_doubles import MemoryTasks, MemoryWakes
from tests.doubles.memory_threads import MemoryThreads
from tests.each_row import each_row
from tests.unit.gateway.stream_stage import ANN, NOON, message

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ANNA = Caller("default", Principal(id="anna"))
BOSS = Caller("default", Principal(id="boss", roles=(Role.APPROVER,)))
NEW = Thread()


def _legacy(text: str = "hello", task_id: str = "t1", **metadata: str) -> ClientMessage:
    parts: JsonObject = {"parts": [{"text": text}]}
    return read_legacy({"id": task_id, "message": parts, "metadata": {**metadata}})


def _accept(
    message: ClientMessage, caller: Caller = ANNA, known: TaskRecord | None = None, thread: Thread = NEW
) -> Accept:
    intake = take_in(message, caller, known, thread, IntakeTime(NOW, "fresh"))
    assert isinstance(intake, Accept)
    return intake


def _known(state: TaskState = TaskState.WORKING, message: ClientMessage | None = None) -> TaskRecord:
    return _accept(message or _legacy()).record.model_copy(update={"state": state})


@pytest.mark.promise("gateway.legacy_resend")
def test_no_two_messages_without_an_id_are_one_and_legacy_content_is_the_same_turn_until_its_answer() -> None:
    params: JsonObject = {"message": {"parts": [{"text": "x"}]}}
    one, two = (
        take_in(read_message(read_send(params), Dialect.A2A_0_3), ANNA, None, Thread(), IntakeTime(NOW, fresh))
        for fresh in ("a", "b")
    )
    assert isinstance(one, Accept)
    assert isinstance(two, Accept)
    assert one.dedupe != two.dedupe
    waiting = _accept(_legacy())
    assert _accept(_legacy()).dedupe == waiting.dedupe
    assert _accept(_legacy("other")).dedupe != waiting.dedupe
    assert _accept(_legacy(policy_doc="1. Never.")).dedupe != waiting.dedupe
    assert _accept(_legacy(), thread=Thread(answered=waiting.turn.turn_id)).dedupe != waiting.dedupe


@pytest.mark.promise("gateway.decision")
@each_row("caller", [ANNA, BOSS])
def test_a_bare_word_to_a_waiting_task_is_a_decision(caller: Caller) -> None:
    waiting = _known(TaskState.INPUT_REQUIRED)
    intake = take_in(_legacy(" REJECT "), caller, waiting, Thread(), IntakeTime(NOW, "x"))
    assert isinstance(intake, Signal)
    assert intake.turn.data == {"decision": "reject", "comment": "", "approval_id": None}


@pytest.mark.promise("gateway.decision_names_its_question")
@each_row(("named", "kept"), [("q1", "q1"), (None, "q2"), ("", "q2")])
def test_an_answer_is_to_the_question_it_names_or_else_to_the_one_that_stands(named: str | None, kept: str) -> None:
    """The client saw q1; since then the plan changed, and q2 is asked."""
    waiting = _known(TaskState.INPUT_REQUIRED).model_copy(update={"metadata": {"approval_id": "q2"}})
    answer: JsonObject = {"id": "t1", "message": {"parts": [{"data": {"decision": "approve", "approval_id": named}}]}}
    intake = take_in(read_legacy(answer), BOSS, waiting, Thread(), IntakeTime(NOW, "x"))
    assert isinstance(intake, Signal)
    assert intake.turn.data["approval_id"] == kept


@each_row("named", [7, ["q1"], "q" * 257])
def test_a_question_that_no_question_can_be_is_refused(named: Json) -> None:
    waiting = _known(TaskState.INPUT_REQUIRED)
    answer: JsonObject = {"id": "t1", "message": {"parts": [{"data": {"decision": "approve", "approval_id": named}}]}}
    with pytest.raises(InvalidField, match=r"data\.approval_id"):
        take_in(read_legacy(answer), BOSS, waiting, Thread(), IntakeTime(NOW, "x"))


async def _asked_to_cancel() -> tuple[MemoryTasks, "asyncio.Task[TaskRecord]"]:
    """A task that was just accepted, and its client that waits for the end of it."""
    ids, tasks = iter(f"id-{number}" for number in range(100)), MemoryTasks()
    rules = Rules(cancel_limit=0.2)
    service = TaskService(tasks, MemoryWakes(), MemoryThreads(), lambda: NOON, lambda: next(ids), rules)
    record = (await service.submit(message("pay it"), ANN)).record
    await tasks.turns.get()
    return tasks, asyncio.create_task(service.cancel(record.task_id, ANN))


@pytest.mark.promise("redis.tail_lost")
async def test_a_signal_that_was_lost_while_its_client_waited_is_stored_when_the_cancel_is_acknowledged() -> None:
    tasks, asked = await _asked_to_cancel()
    lost = await tasks.turns.get()  # with the tail of Redis' log: nobody will heed it

    answered = await asked

    assert answered.state is TaskState.SUBMITTED
    again = tasks.turns.get_nowait()
    assert (again.kind, again.turn_id) == (TurnKind.CANCEL, lost.turn_id)


async def test_a_cancel_that_was_heeded_is_signalled_once() -> None:
    tasks, asked = await _asked_to_cancel()
    await tasks.finish(await tasks.turns.get(), TaskState.CANCELED)

    assert (await asked).state is TaskState.CANCELED
    assert tasks.turns.empty()
