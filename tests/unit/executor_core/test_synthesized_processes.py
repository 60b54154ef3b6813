"""A process that a model proposes is followed only if it can be: whatever is proposed, no write comes unchecked."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.process.synthesis import Instruction, ProposedProcess, build_template, read_kept
from services.executor.core.states.machine import BadTemplate, is_end, state_after
from shared.domain.words import FsmState
from tests.each_row import each_row

S = FsmState
EXAMPLE = "Service van V-7 for 120.50, tell jo@example.org"
PATH = (S.DECOMPOSE, S.ASSESS, S.POLICY_CHECK, S.MUTATE, S.COMPLETE)


def _proposed(
    *states: FsmState, risk: str = "low", approval: bool = False, says: str = "", outputs: str = ""
) -> ProposedProcess:
    instructions = (Instruction(state=S.ASSESS, text=says),) if says else ()
    return ProposedProcess.model_validate(
        {
            "states": states or PATH,
            "risk": risk,
            "approval_wanted": approval,
            "instructions": instructions,
            "outputs": (outputs,) if outputs else (),
        }
    )


@pytest.mark.promise("synthesis.validated")
@each_row(
    "states",
    [
        (S.ASSESS, S.COMPLETE), (S.DECOMPOSE, S.ASSESS, S.POLICY_CHECK, S.MUTATE),
        (S.DECOMPOSE, S.MUTATE, S.COMPLETE), (S.DECOMPOSE, S.ASSESS, S.MUTATE, S.COMPLETE),
        (S.DECOMPOSE, S.ASSESS, S.MUTATE, S.POLICY_CHECK, S.COMPLETE),
        (S.DECOMPOSE, S.POLICY_CHECK, S.MUTATE, S.COMPLETE), (S.DECOMPOSE, S.ASSESS, S.SCHEDULE_NOTIFY, S.COMPLETE),
        (S.DECOMPOSE, S.ASSESS, S.ASSESS, S.COMPLETE), (S.DECOMPOSE, S.ASSESS, S.ESCALATE, S.COMPLETE),
        (S.DECOMPOSE,), (S.DECOMPOSE, S.ASSESS, S.COMPLETE), (S.DECOMPOSE, S.ASSESS, S.POLICY_CHECK, S.COMPLETE),
        (S.DECOMPOSE, S.ASSESS, S.POLICY_CHECK, S.SCHEDULE_NOTIFY, S.COMPLETE),
    ],
)  # fmt: skip
def test_a_path_that_cannot_be_walked_is_refused(states: tuple[FsmState, ...]) -> None:
    """Without its ends, out of order, with a write that nothing was read or checked for, or with none at all."""
    with pytest.raises(BadTemplate):
        build_template("fleet_care", _proposed(*states), EXAMPLE)


@pytest.mark.promise("synthesis.validated")
@given(states=st.lists(st.sampled_from(FsmState), max_size=9), risk=st.sampled_from(["low", "medium", "high"]))
def test_whatever_is_proposed_no_write_comes_before_the_rules(states: list[FsmState], risk: str) -> None:
    """What passes walks from DECOMPOSE to COMPLETE; high risk passes APPROVAL_GATE before it writes."""
    try:
        template = build_template("fleet_care", _proposed(*(states or [S.COMPLETE]), risk=risk), EXAMPLE)
    except BadTemplate:
        return
    walked = [template.states[0]]
    while not is_end(walked[-1]):
        walked.append(state_after(template.states, walked[-1]))
    assert (walked[0], walked[-1]) == (S.DECOMPOSE, S.COMPLETE)
    assert S.POLICY_CHECK in walked[: walked.index(S.MUTATE)]
    assert risk != "high" or S.APPROVAL_GATE in walked[: walked.index(S.MUTATE)]


@pytest.mark.promise("synthesis.high_risk_asks")
@each_row(("risk", "approval"), [("high", False), ("low", True)])
def test_high_risk_or_the_wish_for_it_asks_a_person(risk: str, approval: bool) -> None:
    template = build_template("fleet_care", _proposed(risk=risk, approval=approval), EXAMPLE)
    assert template.states == (*PATH[:3], S.APPROVAL_GATE, *PATH[3:])
    assert [(rule.action, rule.level) for rule in template.rules] == [("require_approval", "manager")]


@pytest.mark.promise("synthesis.validated")
@each_row(
    "wrong",
    [
        {"states": ["DECOMPOSE", "GUESS", "COMPLETE"]},
        {"risk": "none"},
        {"approval_wanted": "perhaps"},
        {"instructions": [{"state": "ASSESS", "text": "x" * 601}]},
        {"skip": "the gate"},
    ],
)
def test_a_word_that_nobody_knows_is_no_proposal(wrong: dict[str, object]) -> None:
    given = {"states": [*PATH], "risk": "low", "approval_wanted": False, "instructions": [], "outputs": []}
    with pytest.raises(ValueError, match="validation error"):
        ProposedProcess.model_validate_json(json.dumps({**given, **wrong}))


@pytest.mark.promise("synthesis.general")
@each_row("says", ["Read V-7.", "The amount is 120.50 as always.", "Ask jo@example.org.", "Card 4111 1111 1111 1111"])
def test_a_design_that_speaks_of_its_example_is_refused(says: str) -> None:
    """It is kept for later tasks: nothing of one task, and nothing that the privacy guard marks, is told to them."""
    with pytest.raises(BadTemplate, match="the one task"):
        build_template("fleet_care", _proposed(says=says), EXAMPLE)
    with pytest.raises(BadTemplate, match="the one task"):
        build_template("fleet_care", _proposed(outputs=says), EXAMPLE)


@pytest.mark.promise("synthesis.validated")
@each_row("text", ["", "{}", "no JSON", '{"process_type": "other", "states": [], "synthesized": true}'])
def test_what_is_kept_and_cannot_be_followed_is_refused(text: str) -> None:
    """A spoiled one, another one, one that today's machine would not walk, or a built-in one in disguise."""
    with pytest.raises(BadTemplate):
        read_kept("fleet_care", text)
