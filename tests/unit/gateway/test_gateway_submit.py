"""What a message becomes, and that a cancel is acknowledged once it is stored."""

import asyncio
from datetime import UTC, datetime

import pytest

from services.gateway.a2a.schema import parse_message_0_3
from services.gateway.edge.errors import InvalidField
from services.gateway.features.identity.model import Caller
from services.gateway.features.tasks.intake import (
    TimeAndFreshId,
    TurnToAccept,
    TurnToSignal,
    compute_fingerprint,
    decide_intake,
)
from services.gateway.features.tasks.message import ClientMessage, parse_message
from services.gateway.features.tasks.signals import TaskSignals
from services.gateway.features.tasks.store import FoundTask, MessageKey
from shared.contracts.task import Principal, TaskRecord, Turn, TurnKind
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import A2aVersion, Role, TaskState
from tests.doubles.gateway_doubles import MemoryTasks
from tests.each_row import each_row
from tests.unit.gateway.stream_stage import ANN, Played

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ANNA = Caller("default", Principal(id="anna"))
BOSS = Caller("default", Principal(id="boss", roles=(Role.APPROVER,)))
KEY = MessageKey("default", "t1")


def _legacy(text: str = "hello", **metadata: str) -> ClientMessage:
    parts: JsonObject = {"parts": [{"text": text}]}
    return parse_message({"id": "t1", "message": parts, "metadata": {**metadata}}, A2aVersion.LEGACY)


def _accept(message: ClientMessage, answered: str = "", fresh_id: str = "fresh") -> TurnToAccept:
    key = KEY._replace(fingerprint=compute_fingerprint(message, ANNA))
    intake = decide_intake(message, ANNA, FoundTask(key, answered_turn_id=answered), TimeAndFreshId(NOW, fresh_id))
    assert isinstance(intake, TurnToAccept)
    return intake


def _decide(message: ClientMessage, caller: Caller = BOSS) -> Turn:
    """The message's turn, to a task that asks q2."""
    waits = {"state": TaskState.INPUT_REQUIRED, "metadata": {"approval_id": "q2"}}
    waiting = _accept(_legacy()).record.model_copy(update=waits)
    intake = decide_intake(message, caller, FoundTask(KEY, waiting), TimeAndFreshId(NOW, "x"))
    assert isinstance(intake, TurnToSignal)
    return intake.turn


def _answer(named: Json, name: str = "approval_id") -> ClientMessage:
    answer: JsonObject = {"data": {"decision": "approve", name: named}}
    return parse_message({"id": "t1", "message": {"parts": [answer]}}, A2aVersion.LEGACY)


@pytest.mark.promise("gateway.legacy_resend")
def test_no_two_messages_without_an_id_are_one_and_legacy_content_is_the_same_turn_until_its_answer() -> None:
    params: JsonObject = {"message": {"parts": [{"text": "x"}]}}
    one, two = (
        _accept(parse_message(parse_message_0_3(params), A2aVersion.A2A_0_3), fresh_id=fresh) for fresh in ("a", "b")
    )
    assert one.dedupe != two.dedupe
    waiting = _accept(_legacy())
    assert _accept(_legacy()).dedupe == waiting.dedupe
    assert _accept(_legacy("other")).dedupe != waiting.dedupe
    assert _accept(_legacy(policy_doc="1. Never.")).dedupe != waiting.dedupe
    assert _accept(_legacy(), answered=waiting.turn.turn_id).dedupe != waiting.dedupe


@pytest.mark.promise("gateway.decision")
@each_row("caller", [ANNA, BOSS])
def test_a_bare_word_to_a_waiting_task_is_a_decision(caller: Caller) -> None:
    assert _decide(_legacy(" REJECT "), caller).data == {"decision": "reject", "comment": "", "approval_id": "q2"}


@pytest.mark.promise("gateway.decision_names_its_question")
@each_row(("named", "kept"), [("q1", "q1"), (None, "q2")])
def test_an_answer_is_to_the_question_it_names_or_else_to_the_one_that_stands(named: str | None, kept: str) -> None:
    """The client saw q1; since then the plan changed, and q2 is asked."""
    assert _decide(_answer(named)).data["approval_id"] == kept
    assert _decide(_answer(named, "approvalId")).data["approval_id"] == kept, "as our answers spell it"


@each_row("named", [7, ["q1"], "q" * 257])
def test_a_question_that_no_question_can_be_is_refused(named: Json) -> None:
    with pytest.raises(InvalidField, match=r"data\.approval_id"):
        _decide(_answer(named))


async def _asked_to_cancel() -> tuple[MemoryTasks, "asyncio.Task[TaskRecord]"]:
    """A task that was just accepted, and its client that waits for the end of it."""
    played = Played()
    record = await played.sent()
    await played.tasks.turns.get()
    signals = TaskSignals(played.tasks, played.service(), played.moment, wait_seconds=0.2)
    return played.tasks, asyncio.create_task(signals.cancel_task(record.task_id, ANN))


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
