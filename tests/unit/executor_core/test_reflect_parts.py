"""REFLECT: the answer with its truth, the outcome, and what a turn leaves behind."""

from collections.abc import Mapping
from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from services.executor.core.reflect.outcome import append_writes_to_answer, without_footer
from services.executor.core.reflect.quality import collect_evidence
from services.executor.core.reflect.turn_end import build_ended_run, build_turn_end, build_unchanged_end
from services.executor.core.session.dossier import Dossier, Progress, RunEnd
from services.executor.core.session.journal import Journal
from services.executor.core.states.machine import GENERAL_TEMPLATE
from services.executor.ports.turns import SessionState, TurnEnd, TurnWork
from shared.contracts.ledger import LedgerEntry
from shared.contracts.outcome import Threshold, ThresholdKind
from shared.contracts.task import HistoryMessage, Principal, TaskRecord, TaskRequest, Turn, TurnKind
from shared.domain.protected_values import ProtectedKind
from shared.domain.quality import WEAK_SCORE, compute_quality
from shared.domain.redaction import NO_PROTECTED_VALUES
from shared.domain.words import FsmState, TaskState, ToolClass, WriteStatus
from tests.doubles.memory_turns import MemoryTurns
from tests.each_row import each_row
from tests.unit.executor_core.makers import NOON, call, entry, fact, plan, verdict

FOOTER = "[Process: expense_approval | Policy: PASSED | Quality: 0.90 | Duration: 1234 ms]"
RULE = {"rule_id": "R1", "action": "require_approval", "reason": "over the limit", "policy_id": "p"}
PATH = (FsmState.DECOMPOSE, FsmState.ASSESS)
DONE = Dossier(facts=(fact({"id": "C-1", "a": 17}),), verdict=verdict())
_TURN = {"turn_id": "turn-1", "task_id": "task-1", "principal": Principal(id="clerk"), "received_at": NOON}


def ended(
    *writes: LedgerEntry, state: TaskState = TaskState.COMPLETED, dossier: Dossier = DONE, text: str = "Its a is 17."
) -> RunEnd:
    progress = Progress(path=PATH, visited=PATH, dossier=dossier)
    return RunEnd(state, None, None, text, progress, writes)


def work(kind: TurnKind = TurnKind.MESSAGE, text: str = "Pay it") -> TurnWork:
    record = TaskRecord.model_validate(
        {"tenant": "acme", "task_id": "task-1", "session_id": "s", "dialect": "1.0", "requester": {"id": "clerk"},
         "request": {"text": "Pay it"}, "accepted_at": NOON, "updated_at": NOON}
    )  # fmt: skip
    return TurnWork(Turn.model_validate({**_TURN, "kind": kind, "text": text}), record, 1)


def end_of(work: TurnWork, run: RunEnd, hidden: Mapping[str, ProtectedKind] = NO_PROTECTED_VALUES) -> TurnEnd:
    journal = Journal(MemoryTurns(work.record), (), NOON, 0.0)
    journal.hidden.update(hidden)
    return build_turn_end(work, run, SessionState(), journal)


def turns(end: TurnEnd) -> tuple[tuple[str, str], ...]:
    assert end.session is not None
    return tuple((role, text) for role, text in end.session.turns)


def score(ended: RunEnd) -> float:
    return compute_quality(collect_evidence(build_ended_run(ended, work().record))).value


@pytest.mark.promise("answers.footer", "answers.policy_is_said")
def test_prose_says_what_the_rules_said_and_the_footer_is_one_line_under_everything_that_can_be_taken_off() -> None:
    plain = append_writes_to_answer("All is well.", [entry(WriteStatus.VERIFIED)], verdict())
    footed = append_writes_to_answer("All is well.", [entry(WriteStatus.VERIFIED)], verdict(), FOOTER)
    assert footed == f"{plain}\n\n{FOOTER}"
    assert without_footer(footed) == plain == without_footer(plain)
    assert append_writes_to_answer("Done.", (), verdict()) == "Done."
    assert (
        append_writes_to_answer("Done.", (), verdict(triggered_rules=[RULE]))
        == "Done.\n\nPolicy: passed. R1: over the limit"
    )


@pytest.mark.promise("I4.unverified_is_said")
@each_row("status", list(WriteStatus))
def test_prose_says_of_every_write_what_it_came_to(status: WriteStatus) -> None:
    text = append_writes_to_answer("All is well.", [entry(status)])

    assert text.startswith('All is well.\n\nWrites:\n- approve_claim {"claim_id":"C-1"}: ')
    assert (": verified (" in text) == (status is WriteStatus.VERIFIED)


@pytest.mark.promise("reflect.quality")
def test_a_doubtful_write_costs_a_failed_read_earns_nothing_and_a_notice_needs_no_proof() -> None:
    planned = DONE.model_copy(update={"plan": plan(call({}))})
    verified, doubtful = (ended(entry(s), dossier=planned) for s in (WriteStatus.VERIFIED, WriteStatus.UNVERIFIED))
    unread = ended(dossier=DONE.model_copy(update={"facts": (fact("no", ok=False),)}))
    assert score(verified) > WEAK_SCORE > score(doubtful)
    assert score(unread) < score(ended())
    with_notice = DONE.model_copy(update={"plan": plan(call({}), call({}, "c2", ToolClass.NOTIFY))})
    written = (entry(WriteStatus.VERIFIED), entry(WriteStatus.SENT, ToolClass.NOTIFY, "c2"))
    assert score(ended(*written, dossier=with_notice)) == 1.0


@pytest.mark.promise("state.outcome_once")
@each_row("state", list(TaskState))
def test_exactly_an_ended_task_has_an_outcome(state: TaskState) -> None:
    end = end_of(work(), ended(state=state))

    assert (end.outcome is not None) == state.is_terminal
    assert end.record.state is state
    assert end.events[-1].data["state"] == state.value


def test_the_history_holds_what_was_said_no_timer_speaks_and_a_turn_that_came_too_late_changes_nothing() -> None:
    said = end_of(work(), ended())
    timed = end_of(work(TurnKind.DEADLINE), ended())

    assert [(line.role, line.text) for line in said.record.history] == [("user", "Pay it"), ("agent", "Its a is 17.")]
    assert turns(said) == (("user", "Pay it"), ("agent", "Its a is 17."))
    assert [line.role for line in timed.record.history] == ["agent"]
    assert turns(timed) == ()
    late = build_unchanged_end(work(), SessionState(), NOON)
    assert late.record == work().record.model_copy(update={"turns_done": late.record.turns_done})
    assert (late.outcome, late.events) == (None, ())


@pytest.mark.promise("reflect.history_once")
def test_what_a_client_said_stands_once_in_the_history() -> None:
    """A new task's record has its first message already; a later message comes with its turn, under its own id."""
    first = work(text="Pay it")
    named = first.turn.model_copy(update={"message_id": "m-1"})
    begun = HistoryMessage(role="user", text="Pay it", message_id="m-1", at=NOON)
    record = first.record.model_copy(update={"history": (begun,)})
    ended_once = end_of(TurnWork(named, record, 1), ended()).record
    later = named.model_copy(update={"turn_id": "turn-2", "received_at": NOON + timedelta(minutes=1)})
    ended_twice = end_of(TurnWork(later, ended_once, 1), ended()).record

    assert [line.role for line in ended_once.history] == ["user", "agent"]
    assert [(line.role, line.message_id) for line in ended_twice.history] == [
        ("user", "m-1"),
        ("agent", "turn-1:answer"),
        ("user", "m-1"),
        ("agent", "turn-2:answer"),
    ]


_CARD = "4111 1111 1111 1111"
_SAID = "Kiwi-77-Longbow"  # a password of the task: nothing in it shows what it is
_PLACES = ("fell_back", "insight", "classification", "process_type", "reason", "summary", "tool", "limit", "spend")


@pytest.mark.promise("privacy.nothing_leaves")
@given(
    marked=st.sampled_from([_CARD, _CARD.replace(" ", ""), _SAID]),
    before=st.sampled_from(["", "the value ", '{"limit": "']),
    places=st.sets(st.sampled_from(_PLACES), min_size=1),
)
def test_no_marked_value_is_in_any_field_of_an_outcome(marked: str, before: str, places: set[str]) -> None:
    """Whatever note, detail, tool or threshold carries it."""
    text = f"{before}{marked}"

    def carried(place: str) -> str:
        return text if place in places else "nothing"

    limit = Threshold(
        kind=ThresholdKind.POLICY_LIMIT, name=carried("limit"), sign=">", value=carried("limit"), source=text
    )
    progress = Progress(
        template=GENERAL_TEMPLATE.model_copy(update={"process_type": carried("process_type")}),
        path=PATH,
        visited=PATH,
        dossier=DONE.model_copy(update={"facts": (fact({"a": 1}, tool=carried("tool")),)}),
        fell_back=carried("fell_back"),
        insight={"drafts": [{"of": carried("insight")}]},
        notes={"classification": {"why": carried("classification")}},
        thresholds=(limit,),
    )
    done = ended()._replace(
        progress=progress, reason=carried("reason"), spend={"by": carried("spend")}, answer=carried("summary")
    )
    record = work().record.model_copy(update={"request": TaskRequest(text=carried("summary"))})
    hidden = {_SAID: ProtectedKind.PASSWORD, _CARD: ProtectedKind.CARD}
    end = end_of(work()._replace(record=record), done, hidden)
    assert end.outcome is not None
    told = end.outcome.model_dump_json()

    assert marked not in told
    assert "1111" not in told
