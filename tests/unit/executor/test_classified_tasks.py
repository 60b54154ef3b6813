"""Which process a task is carried out as: the one that the model's first reply names, and no other afterwards."""

import pytest
from hypothesis import given, settings, strategies as st

from services.executor.core.states.machine import BUILT_IN_TEMPLATES, GENERAL_TEMPLATE
from services.executor.ports.turns import SessionState
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import FsmState, TaskState
from shared.ports.models import ModelReply, ModelRequest, Tier
from tests.doubles.scripted_model import text_reply
from tests.doubles.scripted_talk import calls_reply, of_conversation, texts_in
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.classified import classification, nobody_answers, stage_of
from tests.unit.executor.deliberating import asked_in
from tests.unit.executor.stage import APPROVE, READ, TASK, Stage


@pytest.mark.promise("prime.classify_model")
async def test_the_first_reply_names_the_process_and_costs_no_call_of_its_own() -> None:
    """It is Haiku's; the choice is told, and its path is walked."""
    stage = stage_of("expense_approval")
    record = await stage.run()
    assert classification(record) == {"by": "model", "process_type": "expense_approval"}
    assert stage.model.requests[0].tier is Tier.SMALL
    states = [state for state in BUILT_IN_TEMPLATES["expense_approval"].states if state is not FsmState.COMPUTE]
    assert record.metadata["states"] == states
    assert record.metadata["model_calls"] == len(stage.model.requests)
    assert (len(of_conversation(stage.model.requests)), len(asked_in(stage, "COVERAGE"))) == (3, 1)


@pytest.mark.promise("prime.classify_free")
@each_row("process_type", ["payroll", "badge_renewal"])
async def test_a_question_takes_the_short_way_whatever_it_is_about(process_type: str) -> None:
    """Nothing is designed for it either."""
    stage = stage_of(process_type, "What is pending of C-1?")
    stage.only_asks()
    record = await stage.ends(TaskState.COMPLETED)
    assert record.metadata["states"] == ["DECOMPOSE", "ASSESS", "COMPLETE"]
    assert asked_in(stage, "NEW PROCESS") == []


@pytest.mark.promise("prime.classify_model")
async def test_a_task_is_understood_from_what_was_said_before_it() -> None:
    stage = stage_of("expense_approval", "Approve the other one, C-1 of 120.50.")
    stage.turns.remembered = SessionState(turns=(("user", "Approve claim C-2"), ("agent", "Which one?")))
    await stage.run()
    assert "Approve claim C-2" in texts_in(stage.model.requests[0])


@pytest.mark.promise("prime.classify_model", "prime.classify_fallback")
@each_row(
    ("named", "process"),
    *((name, "expense_approval") for name in ("Expense Approval", "expense-approval", " expense_approval ")),
    *((name, "general") for name in ("Drop table; --", "unknown", "claim_c_1", "", "process")),
)
async def test_a_name_is_understood_however_it_is_spelt_and_what_names_no_process_is_general(
    named: str, process: str
) -> None:
    stage = stage_of(named)
    assert (await stage.ends(TaskState.COMPLETED)).metadata["process_type"] == process
    assert asked_in(stage, "NEW PROCESS") == []


@pytest.mark.promise("prime.classify_fallback")
@each_row("given", [{"parts": "none"}, {"process": 7, "parts": []}, {}])
async def test_a_first_reply_that_cannot_be_understood_leaves_one_part_of_a_general_task(given: JsonObject) -> None:
    """No further call is made for it; the task is carried out."""
    stage = Stage()
    stage.talk.understands = False
    stage.talk.rounds[0] = [("understand", given), READ]
    record = await stage.run()
    assert (record.metadata["process_type"], record.state) == ("general", TaskState.COMPLETED)
    assert stage.claims.applied == ["C-1"]
    assert len(stage.model.requests) == 3


@pytest.mark.promise("prime.classify_resumed", "prime.classify_replayed")
@each_row("die_before", range(1, 9))
async def test_a_task_keeps_its_process_whenever_its_worker_dies(die_before: int) -> None:
    """Once the first reply is stored, another one changes nothing."""
    stage = stage_of("expense_approval")
    await stage.dies(die_before)
    known = any(entry.kind == "model" for entry in stage.turns.steps.values())
    stage.talk.process = "general"
    record = await stage.run(attempts=2)
    assert record.metadata["process_type"] == ("expense_approval" if known else "general")
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("prime.classify_given")
async def test_a_worker_knows_the_processes_that_it_is_given() -> None:
    """Those alone are offered to the model; what they do not cover is designed."""
    stage = stage_of("payroll")
    stage.talk.helpers["new_process"] = nobody_answers
    stage.processes = {"general": GENERAL_TEMPLATE}
    assert (await stage.run()).metadata["process_type"] == "general"
    understand = next(tool for tool in stage.model.requests[0].tools if tool.name == "understand")
    assert "payroll" not in understand.description


@pytest.mark.promise("privacy.nothing_leaves")
async def test_what_a_model_says_of_a_task_brings_no_secret_into_the_outcome() -> None:
    """A card number that a part quotes is in none of the events, nor in the outcome."""
    stage = stage_of("general", f"{TASK}, which was paid with 4111 1111 1111 1111")
    await stage.run()
    outcome = next(end.outcome for end in stage.turns.ends if end.outcome)
    told = str([event.data for event in stage.turns.events]) + outcome.model_dump_json()
    assert "4111 1111" not in told


_WORDS = st.sampled_from(
    [*BUILT_IN_TEMPLATES, "badge_renewal", "Badge Renewal", "unknown", "", "x" * 300, "</task>", "C-1"]
)
_QUOTES = st.sampled_from([TASK, TASK, "approve CLAIM C-1", "C-1", "", " ", "pay the clerk 999.99", "x" * 300])
_PARTS = st.lists(
    st.fixed_dictionaries({"quote": _QUOTES, "kind": st.sampled_from(["do", "do", "find out", "guess"])}), max_size=3
)
_UNDERSTOOD = st.fixed_dictionaries(
    {
        "parts": _PARTS | st.just([{"quote": TASK, "kind": "do"}]),
        "process": st.just("badge_renewal") | _WORDS,
        "answer_form": st.sampled_from(["prose", "list", "table"]),
    },
    optional={"more": st.none()},
)
_STATES = st.lists(st.sampled_from([*FsmState, "WRITE"]), max_size=8).map(lambda some: [str(state) for state in some])
_ORDERED = st.sets(st.sampled_from([*FsmState])).map(lambda some: [str(state) for state in FsmState if state in some])
_DESIGNS = st.fixed_dictionaries(
    {
        "states": _STATES | _ORDERED,
        "risk": st.sampled_from(["low", "high", "none"]),
        "approval_wanted": st.booleans(),
        "instructions": st.just([]),
        "outputs": st.lists(st.text(max_size=12), max_size=2),
    }
)


class _Understanding:
    """Understands as it is told, in each of its first replies, then plays on as ever."""

    def __init__(self, usual: Stage, said: list[JsonObject]) -> None:
        self._usual = usual.talk
        self._said = said
        self._heard = False

    def __call__(self, request: ModelRequest) -> ModelReply:
        reply = self._usual(request)
        if any(use.name == "understand" for use in reply.tool_uses) and not self._heard:
            self._heard = True
            return calls_reply([*(("understand", one) for one in self._said), READ])
        return reply


@pytest.mark.promise("synthesis.validated", "prime.classify_fallback")
@settings(max_examples=40)
@given(said=st.lists(_UNDERSTOOD, max_size=2), design=_DESIGNS, cut=st.none() | st.integers(0, 60))
async def test_any_understanding_and_any_design_end_well(
    said: list[JsonObject], design: dict[str, Json], cut: int | None
) -> None:
    """Twice, not at all, in words that nobody wrote, of kinds that are none; a design cut off or out of order."""
    stage = Stage(TASK, [], [APPROVE])
    stage.talk.helpers["new_process"] = text_reply(dumps(design)[:cut])
    stage.thinks = _Understanding(stage, said)
    record = await stage.run()
    states = record.metadata["states"]
    assert record.state in (TaskState.COMPLETED, TaskState.FAILED, TaskState.INPUT_REQUIRED)
    assert isinstance(states, list)
    if stage.claims.applied:
        assert record.metadata["verdict"]
        assert FsmState.ASSESS in states[: states.index(FsmState.MUTATE)]
    if record.state.is_terminal:
        assert (await replayed(stage)).difference == ""


@pytest.mark.promise("coverage.find_out_only")
@settings(max_examples=20)
@given(kinds=st.lists(st.just("find out"), min_size=1, max_size=2), late=_UNDERSTOOD)
async def test_a_task_that_only_asks_writes_nothing_whatever_is_understood_later(
    kinds: list[str], late: JsonObject
) -> None:
    stage = Stage()
    only_asks: JsonObject = {
        "parts": [{"quote": TASK, "kind": kind} for kind in kinds], "process": "general", "answer_form": "prose"
    }  # fmt: skip
    stage.talk.rounds = [[], [("understand", late), APPROVE], [APPROVE], [APPROVE], [APPROVE], [APPROVE]]
    stage.thinks = _Understanding(stage, [only_asks])
    record = await stage.run()
    assert stage.claims.applied == []
    assert stage.turns.writes == {}
    assert record.state.is_terminal
