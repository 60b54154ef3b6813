"""What a message becomes."""

from datetime import UTC, datetime

import pytest

from services.gateway.a2a.schema import read_send
from services.gateway.edge.errors import InvalidField, NoVisibleTask, TaskHasEnded
from services.gateway.features.identity.model import Caller
from services.gateway.features.tasks.message import ClientMessage, read_legacy, read_message
from services.gateway.features.tasks.model import Thread
from services.gateway.features.tasks.submit import Accept, IntakeTime, Join, Signal, take_in
from shared.contracts.task import Principal, TaskRecord
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import Dialect, Role, TaskState

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ANNA = Caller("default", Principal(id="anna"))
BOB = Caller("default", Principal(id="bob"))
BOSS = Caller("default", Principal(id="boss", roles=(Role.APPROVER,)))
NEW = Thread()
VERIFIED_BOB = Caller("default", Principal(id="bob", verified=True))


def _legacy(text: str = "hello", task_id: str = "t1", **metadata: str) -> ClientMessage:
    parts: JsonObject = {"parts": [{"text": text}]}
    return read_legacy({"id": task_id, "message": parts, "metadata": {**metadata}})


def _modern(text: str = "hello", **fields: str) -> ClientMessage:
    message: JsonObject = {"messageId": "m1", "parts": [{"text": text}], **fields}
    return read_message({"message": message}, Dialect.A2A_1_0)


def _accept(
    message: ClientMessage, caller: Caller = ANNA, known: TaskRecord | None = None, thread: Thread = NEW
) -> Accept:
    intake = take_in(message, caller, known, thread, IntakeTime(NOW, "fresh"))
    assert isinstance(intake, Accept)
    return intake


def _known(state: TaskState = TaskState.WORKING, message: ClientMessage | None = None) -> TaskRecord:
    return _accept(message or _legacy()).record.model_copy(update={"state": state})


def test_a_new_legacy_task_keeps_the_id_of_its_client() -> None:
    intake = _accept(_legacy())
    assert (intake.record.task_id, intake.record.session_id) == ("t1", "t1")
    assert intake.record.request.text == intake.turn.text == "hello"
    assert intake.record.history[0].text == "hello"


def test_a_session_that_nobody_named_is_the_same_for_a_resend() -> None:
    first, again = _accept(_modern()), _accept(_modern())
    assert first.record.session_id == again.record.session_id
    assert (first.dedupe, first.turn.turn_id) == (again.dedupe, again.turn.turn_id)


def test_the_same_message_id_of_another_principal_is_another_message() -> None:
    assert _accept(_modern()).dedupe != _accept(_modern(), BOB).dedupe


def test_messages_without_an_id_are_never_taken_for_each_other() -> None:
    params: JsonObject = {"message": {"parts": [{"text": "x"}]}}
    one, two = (
        take_in(read_message(read_send(params), Dialect.A2A_0_3), ANNA, None, Thread(), IntakeTime(NOW, fresh))
        for fresh in ("a", "b")
    )
    assert isinstance(one, Accept)
    assert isinstance(two, Accept)
    assert one.dedupe != two.dedupe


@pytest.mark.promise("gateway.legacy_resend")
def test_legacy_content_is_the_same_turn_until_its_answer_was_given() -> None:
    waiting = _accept(_legacy())
    assert _accept(_legacy()).dedupe == waiting.dedupe
    assert _accept(_legacy("other")).dedupe != waiting.dedupe
    assert _accept(_legacy(policy_doc="1. Never.")).dedupe != waiting.dedupe
    assert _accept(_legacy(), thread=Thread(answered=waiting.turn.turn_id)).dedupe != waiting.dedupe


def test_a_turn_that_is_done_is_joined_and_nothing_stored() -> None:
    first = _accept(_legacy())
    done = first.record.model_copy(update={"state": TaskState.COMPLETED, "turns_done": (first.turn.turn_id,)})
    assert take_in(_legacy(), ANNA, done, Thread(), IntakeTime(NOW, "x")) == Join(done, first.turn.turn_id)


def test_a_legacy_id_that_has_ended_starts_a_new_task_in_its_session() -> None:
    ended = _known(TaskState.COMPLETED, _legacy(session_id="s1"))
    intake = _accept(_legacy("more"), known=ended)
    assert (intake.record.task_id, intake.record.session_id) == ("fresh", "s1")


def test_an_ended_task_of_the_later_protocols_takes_no_more() -> None:
    ended = _known(TaskState.FAILED, _modern())
    with pytest.raises(TaskHasEnded, match="failed"):
        _accept(_modern("more", taskId=ended.task_id), known=ended, thread=Thread(answered="x"))


def test_an_unknown_task_of_the_later_protocols_is_refused() -> None:
    with pytest.raises(NoVisibleTask):
        _accept(_modern(taskId="t9"))


def test_a_session_that_is_not_the_tasks_is_refused() -> None:
    with pytest.raises(InvalidField, match=r"^message\.contextId: "):
        _accept(_modern("more", taskId="fresh", contextId="other", messageId="m2"), known=_known(message=_modern()))


@pytest.mark.promise("gateway.decision")
@pytest.mark.parametrize("caller", [ANNA, BOSS])
def test_a_bare_word_to_a_waiting_task_is_a_decision(caller: Caller) -> None:
    waiting = _known(TaskState.INPUT_REQUIRED)
    intake = take_in(_legacy(" REJECT "), caller, waiting, Thread(), IntakeTime(NOW, "x"))
    assert isinstance(intake, Signal)
    assert intake.turn.data == {"decision": "reject", "comment": "", "approval_id": None}


@pytest.mark.promise("gateway.decision_names_its_question")
@pytest.mark.parametrize(("named", "kept"), [("q1", "q1"), (None, "q2"), ("", "q2")])
def test_an_answer_is_to_the_question_it_names_or_else_to_the_one_that_stands(named: str | None, kept: str) -> None:
    """The client saw q1; since then the plan changed, and q2 is asked."""
    waiting = _known(TaskState.INPUT_REQUIRED).model_copy(update={"metadata": {"approval_id": "q2"}})
    answer: JsonObject = {"id": "t1", "message": {"parts": [{"data": {"decision": "approve", "approval_id": named}}]}}
    intake = take_in(read_legacy(answer), BOSS, waiting, Thread(), IntakeTime(NOW, "x"))
    assert isinstance(intake, Signal)
    assert intake.turn.data["approval_id"] == kept


@pytest.mark.parametrize("named", [7, ["q1"], "q" * 257])
def test_a_question_that_no_question_can_be_is_refused(named: Json) -> None:
    waiting = _known(TaskState.INPUT_REQUIRED)
    answer: JsonObject = {"id": "t1", "message": {"parts": [{"data": {"decision": "approve", "approval_id": named}}]}}
    with pytest.raises(InvalidField, match=r"data\.approval_id"):
        take_in(read_legacy(answer), BOSS, waiting, Thread(), IntakeTime(NOW, "x"))


def test_a_decision_that_was_handed_on_is_joined() -> None:
    waiting = _known(TaskState.INPUT_REQUIRED)
    signal = take_in(_legacy("approve"), BOSS, waiting, Thread(), IntakeTime(NOW, "x"))
    assert isinstance(signal, Signal)
    at_work = waiting.model_copy(update={"state": TaskState.WORKING})
    again = take_in(_legacy("approve"), BOSS, at_work, Thread(signalled=signal.turn.turn_id), IntakeTime(NOW, "y"))
    assert again == Join(at_work, signal.turn.turn_id)


def test_another_principal_may_not_speak_to_a_task() -> None:
    with pytest.raises(InvalidField, match="belongs to another principal"):
        _accept(_legacy("hi"), BOB, _known())


def test_a_checked_principal_does_not_even_learn_that_the_task_exists() -> None:
    with pytest.raises(NoVisibleTask):
        _accept(_legacy("hi"), VERIFIED_BOB, _known())
