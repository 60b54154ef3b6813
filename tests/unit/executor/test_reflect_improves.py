"""REFLECT: one improvement of a weak answer, taken only if it keeps to what is known and is better."""

import asyncio
import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import JsonValue

from services.executor.core.reflect.quality import EndedRun
from services.executor.core.reflect.review import why_not_replace_answer
from services.executor.core.session.budget import Ceilings
from services.executor.core.session.context import AnswerRules
from services.executor.core.session.dossier import Dossier, Progress
from shared.contracts.task import SolverRequest, TaskRecord
from shared.domain.exact_json import Json, JsonObject
from shared.domain.quality import QualityFormula
from shared.domain.words import FsmState, TaskState, ToolClass, WriteStatus
from shared.ports.models import ModelReply, ModelRequest, Tier, Usage
from tests.doubles.scripted_model import state_of, text_reply
from tests.each_row import each_row
from tests.unit.executor.archived import assert_replayed, replayed
from tests.unit.executor.classified import nobody_answers
from tests.unit.executor.stage import READ, TASK, Stage
from tests.unit.executor_core.makers import entry, fact

pytestmark = pytest.mark.promise("reflect.improvement")

WEAK = "It is there."  # says nothing that was found
BETTER = "It is there: C-1, an amount of 120.50."
PATH = (FsmState.DECOMPOSE, FsmState.COMPLETE)


def stage(answer: str = WEAK, improved: str = BETTER) -> Stage:
    made = Stage("What is there to say of claim C-1?")
    made.only_asks()
    made.talk.answer = answer
    made.talk.helpers["improve"] = text_reply(improved)
    return made


def doubtful(answer: str, improved: str) -> Stage:
    """A claim whose approval took no hold: the run is weak, whatever its answer says."""
    made = Stage("Approve the expense claim that is open, C-1")
    made.talk.process = "expense_approval"
    made.servers.add("approve_claim", lambda _: {"accepted": True}, ToolClass.CHANGE)
    made.talk.answer = answer
    made.talk.helpers["improve"] = text_reply(improved)
    return made


def asked(one: Stage) -> list[ModelRequest]:
    return [request for request in one.model.requests if state_of(request) == "IMPROVE"]


def told(record: TaskRecord) -> dict[str, JsonValue]:
    review = record.metadata["review"]
    assert isinstance(review, dict)
    improvement = review["improvement"]
    assert isinstance(improvement, dict)
    return improvement


async def test_a_weak_answer_is_improved_once_as_a_part_of_reflect_and_a_resumed_turn_asks_nobody() -> None:
    """Whoever watches sees the phase begin once, before what is asked in it."""
    one, again = stage(), stage(improved="never asked")
    record = await one.run()
    assert record.answer == BETTER
    assert told(record) == {"wanted": ["say what was found, with its figures"], "accepted": True, "why": None}
    assert len(asked(one)) == 1
    assert "say what was found" in str(asked(one)[0].messages)
    assert asked(one)[0].tier.value == "haiku"
    told_of = [(event.kind, event.data.get("phase"), event.data.get("step")) for event in one.turns.events]
    assert [phase for kind, phase, _ in told_of if kind == "phase"] == ["PRIME", "EXECUTE", "REFLECT"]
    asked_at = next(place for place, (_, _, step) in enumerate(told_of) if "improve" in str(step))
    assert told_of.index(("phase", "REFLECT", None)) < asked_at
    again.turns.steps.update(one.turns.steps)  # it died after the improvement was stored
    again.turns.writes.update(one.turns.writes)
    record = await again.run(attempts=2)
    assert (str(record.answer).startswith(BETTER), asked(again)) == (True, [])


async def test_reflect_is_told_once_of_a_task_that_ends_with_a_part_undone_and_never_of_one_that_waits() -> None:
    undone, waiting = Stage(TASK, [READ]), Stage()
    waiting.policy.says = {"requires_approval": True}
    await undone.ends(TaskState.FAILED, [], why="part 1")
    await waiting.ends(TaskState.INPUT_REQUIRED, [])

    told = [[event.data["phase"] for event in one.turns.events if event.kind == "phase"] for one in (undone, waiting)]
    assert told == [["PRIME", "EXECUTE", "REFLECT"], ["PRIME", "EXECUTE"]]


async def test_a_weak_run_is_asked_for_what_its_process_requires_too() -> None:
    one = doubtful("The claim is approved.", "The claim is approved: C-1, an amount of 120.50.")
    record = await one.run()

    assert (record.answer or "").startswith("The claim is approved: C-1, an amount of 120.50.\n\nWrites:\n- approve")
    assert "say the amount" in str(told(record)["wanted"])
    assert record.metadata["missing_outputs"] == ["requester", "reason"]


@pytest.mark.promise("reflect.asked_up_front")
async def test_what_a_good_answer_leaves_out_is_named_and_not_asked_for_again() -> None:
    """Its process's outputs were asked for where it was drafted; a further call is not worth a client's time."""
    one = Stage("Approve the expense claim that is open, C-1")
    one.talk.process, one.talk.answer = "expense_approval", "The claim is approved."
    record = await one.run()
    told_first = next(request for request in one.model.requests if request.tier is Tier.LARGE)

    assert (asked(one), record.metadata["review"]) == ([], {})
    assert record.metadata["missing_outputs"] == ["amount", "requester", "reason"]
    assert '"outputs":["decision","amount","requester","reason"]' in str(told_first.messages)


@each_row(
    ("one", "why"),
    lambda: [
        (stage(improved="Claim C-1 is approved: the amount is 999.00."), "it says what nobody found: 999.00"),
        (stage(improved='["C-1"]'), "it is no prose"),
        (stage(improved=""), "it is no prose"),
        (stage(improved="It is here."), "it is no better"),
        (stage("Claim C-1 is there.", "It is there, an amount of 120.50."), "it drops C-1"),
        (doubtful("The claim is approved.", "The amount is 120.50."), "it drops a required output"),
    ],
)
async def test_what_is_no_improvement_is_refused_and_the_answer_stays(one: Stage, why: str) -> None:
    record = await one.run()
    assert str(record.answer).startswith(one.talk.answer)
    assert (told(record)["accepted"], told(record)["why"]) == (False, why)


async def test_a_good_answer_and_one_that_its_caller_parses_are_left_alone() -> None:
    """One word is what the solver's caller wants; nothing is added under it either."""
    good, one = Stage(), stage()
    record = await good.run()
    assert (asked(good), record.metadata["review"]) == ([], {})
    solver = SolverRequest(expected_format="single")
    one.change_request(solver=solver)
    one.limits = one.limits._replace(answers=AnswerRules(footer=True))
    record = await one.run()
    assert (asked(one), (record.answer or "").partition("\n\nWrites:")[0]) == ([], WEAK)
    assert "[Process:" not in (record.answer or "")


async def test_an_improvement_that_cannot_be_had_or_paid_fails_no_task() -> None:
    """The model is away, or the draft used up everything: the answer is as it was, and the metadata says why."""
    one, poor = stage(), stage()
    one.talk.helpers["improve"] = nobody_answers
    record = await one.ends(TaskState.COMPLETED)
    assert str(record.answer).startswith(WEAK)
    assert told(record)["why"] == "the model did not answer: overloaded"
    poor.thinks = lambda asked: _dear(poor.talk(asked))
    poor.limits = poor.limits._replace(ceilings=Ceilings(tokens=50_000))
    record = await poor.ends(TaskState.COMPLETED)
    assert asked(poor) == []
    assert "TASK_TOKENS" in str(told(record)["why"])
    await assert_replayed(poor)


@each_row("improved", [BETTER, "999"])
async def test_a_replay_takes_the_same_improvement_or_none(improved: str) -> None:
    """And no notice of a footer: how long a run took is no difference."""
    one, footed = stage(improved=improved), stage(improved=improved)
    footed.limits = footed.limits._replace(answers=AnswerRules(footer=True))
    await one.run()
    assert (await replayed(one)).is_same
    assert "[Process: general | Policy: N/A | Quality: " in ((await footed.run()).answer or "")
    assert (await replayed(footed)).is_same


@pytest.mark.promise("I9.exact_answers")
@given(
    items=st.lists(st.text() | st.integers(), max_size=3), formula=st.sampled_from(QualityFormula), footer=st.booleans()
)
@settings(max_examples=25)
def test_a_list_goes_through_the_whole_run_untouched_whatever_is_switched_on(
    items: list[str | int], formula: QualityFormula, footer: bool
) -> None:
    """Weak or not, with writes, rules that spoke, footer, documents of its own: not a byte of it changes."""
    text = json.dumps(items)
    one = stage(text)
    one.talk.form = "list"
    one.limits = one.limits._replace(answers=AnswerRules(formula, footer))
    record = asyncio.run(one.run())
    assert record.answer == text
    assert asked(one) == []


def _run(
    answer: str, result: Json, *statuses: WriteStatus, change: Callable[[EndedRun], EndedRun] = lambda run: run
) -> EndedRun:
    progress = Progress(path=PATH, visited=PATH, dossier=Dossier(facts=(fact(result),)), read_only=True)
    return change(EndedRun(TaskState.COMPLETED, answer, progress, tuple(map(entry, statuses)), "What is C-1?"))


@each_row(
    ("answer", "improved", "statuses", "why"),
    ("Done.", "Done and verified: 17.", [WriteStatus.UNVERIFIED], "it claims a write to be verified that is not"),
    ("The owner could not be found.", "The amount is 17.", [], "it hides what did not work"),
    ("The owner could not be found.", "The owner could not be found; the amount is 17.", [], None),
    ("It is 18.", "It is 17.", [], None),
)
def test_a_claim_of_proof_and_what_hides_a_failure_are_refused_while_a_figure_that_nobody_found_may_go(
    answer: str, improved: str, statuses: list[WriteStatus], why: str | None
) -> None:
    assert why_not_replace_answer(_run(answer, {"id": "C-1", "amount": 17}, *statuses), improved) == why


@pytest.mark.promise("reflect.idle_runs")
async def test_a_task_that_is_rightly_left_undone_is_not_asked_about_again() -> None:
    """No text can prove that nothing had to be done."""
    left: JsonObject = {"part": 1, "because": "it is closed", "ref": "r1"}
    one = Stage(f"{TASK}, if necessary", [READ], [("leave_part", left)], answer="Nothing was written.")
    record = await one.run()
    assert (asked(one), record.metadata["quality"]) == ([], 0.6)


@pytest.mark.promise("privacy.nothing_leaves")
async def test_what_the_guard_marks_is_in_no_outcome_though_a_refusal_quotes_it() -> None:
    card = "4111 1111 1111 1111"
    one = stage(improved=f"The amount of C-1 is 120.50, paid with {card}.")
    record = await one.run()
    outcome = one.outcome
    assert told(record)["accepted"] is False
    assert "1111" not in outcome.model_dump_json()
    assert "1111" not in "".join(event.model_dump_json() for event in one.turns.events)


def _dear(reply: ModelReply) -> ModelReply:
    """An answer that costs all that is left."""
    return reply if reply.tool_uses else reply._replace(usage=Usage(10, 40_000))
