"""Processes out of files and of models: what is refused when one is read, and that whatever passes can be walked."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from services.executor.core.process import synthesis
from services.executor.core.process.figures import compute_figures
from services.executor.core.session.context import DispatchRefused, require_tool_permitted
from services.executor.core.states import machine
from services.executor.core.tools.record_tree import NO_RECORD_KEYS
from services.policy.core.prepared import prepare_policies
from shared.contracts.policy import Policy
from shared.domain.words import FsmState, FsmState as S, ToolClass
from tests.each_row import each_row
from tests.unit.executor_core.makers import fact, tool

PLAIN = """
process_type = "visit"
states = ["DECOMPOSE", "ASSESS", "COMPUTE", "POLICY_CHECK", "MUTATE", "COMPLETE"]
"""
_FIGURE = '{name = "left", operation = "difference", operands = ["budget.left", "visit.cost"]}'


@pytest.mark.promise("process.files")
def test_an_executor_starts_with_processes_that_can_be_followed_and_names_every_wrong_thing_at_once() -> None:
    synthesis.refuse_bad_builtin_processes()
    template = machine.ProcessTemplate(process_type=" ", states=(S.ASSESS, S.MUTATE, S.ASSESS))
    with pytest.raises(machine.BadTemplate, match=r"no process_type.*begin with DECOMPOSE.*stands once"):
        synthesis.refuse_bad_template(template)


@pytest.mark.promise("process.files")
@each_row(
    ("more", "why"),
    ('risk = "enormous"', "risk"),
    (f"figures = [{_FIGURE.replace('difference', 'division')}]", "there is no operation division"),
    (f"figures = [{_FIGURE.replace('budget.left', 'budget[][left]')}]", "is no condition"),
    (f"figures = [{_FIGURE.replace('budget.left', 'left_over')}]", "no figure before it is left_over"),
    (f"figures = [{_FIGURE.replace('}', ', remainder = true}')}]", "only a required difference is a remainder"),
    ('routed = "a b"', "is no operand"),
    ('[instructions]\nAPPROVAL_GATE = "Ask."', "instructions for APPROVAL_GATE, where it never is"),
)
def test_what_would_silently_do_nothing_is_refused_when_the_file_is_read(more: str, why: str) -> None:
    with pytest.raises(machine.BadTemplate, match=why):
        synthesis.refuse_bad_template(machine.read_template(f"{PLAIN}{more}\n"))


@pytest.mark.promise("process.files")
def test_the_example_in_the_documentation_is_a_process_that_can_be_followed() -> None:
    page = Path("docs/processes.md").read_text("utf-8")
    template = machine.read_template(page.partition("```toml\n")[2].partition("```")[0])
    synthesis.refuse_bad_template(template)
    grant = fact({"id": "G-1", "total": "500.00", "paid_out": "420.50"}, "f1", "get_grant")

    assert [
        value.value for value in compute_figures(template, (grant,), "Pay 80 of grant G-1", NO_RECORD_KEYS).values
    ] == ["79.50"]
    assert not prepare_policies((Policy(id="process:x", rules=template.rules),)).problems


@pytest.mark.promise("process.walks")
def test_a_process_that_a_model_made_up_checks_the_policy_before_it_writes() -> None:
    """A built-in one may leave that to the check before its gate; one that writes nothing has nothing to check."""
    unchecked = machine.ProcessTemplate(process_type="x", states=(S.DECOMPOSE, S.ASSESS, S.MUTATE, S.COMPLETE))
    reading = machine.ProcessTemplate(process_type="x", states=(S.DECOMPOSE, S.ASSESS, S.COMPLETE))

    assert not [*synthesis.find_template_problems(unchecked)]
    problems = [*synthesis.find_template_problems(unchecked, is_synthesized=True)]
    assert problems == ["it writes without POLICY_CHECK before"]
    assert not [*synthesis.find_template_problems(reading, is_synthesized=True)]


_STATES = st.lists(st.sampled_from(S), max_size=10).map(tuple)
_ORDERED = st.sets(st.sampled_from(S)).map(lambda some: tuple(state for state in S if state in some))


@pytest.mark.promise("process.walks")
@given(states=_STATES | _ORDERED, synthesized=st.booleans())
def test_whatever_passes_the_check_walks_to_its_end_and_never_writes_unread(
    states: tuple[S, ...], synthesized: bool
) -> None:
    template = machine.ProcessTemplate(process_type="x", states=states)
    if [*synthesis.find_template_problems(template, is_synthesized=synthesized)]:
        return
    for path in _paths(template):
        walked = [path[0]]
        while walked[-1] not in (S.COMPLETE, S.ESCALATE):
            walked.append(machine.state_after(path, walked[-1]))
        assert tuple(walked) == path
        writes = [place for place, state in enumerate(walked) if state in (S.MUTATE, S.SCHEDULE_NOTIFY)]
        before = walked[: writes[0]] if writes else [S.ASSESS, S.POLICY_CHECK]
        assert S.ASSESS in before
        assert S.POLICY_CHECK in before or not synthesized


def _paths(template: machine.ProcessTemplate) -> list[tuple[S, ...]]:
    """All that a run may make of the template's states."""
    gated = [machine.with_approval_gate(template.states)] if S.MUTATE in template.states else []
    base = [template.states, *gated]
    return [machine.with_end_state(path, escalated) for path in base for escalated in (False, True)]


EXAMPLE = "Service van V-7 for 120.50, tell jo@example.org"
PATH = (S.DECOMPOSE, S.ASSESS, S.POLICY_CHECK, S.MUTATE, S.COMPLETE)


def _proposed(
    *states: FsmState, risk: str = "low", approval: bool = False, says: str = "", outputs: str = ""
) -> synthesis.ProposedProcess:
    instructions = (synthesis.StateInstruction(state=S.ASSESS, text=says),) if says else ()
    return synthesis.ProposedProcess.model_validate(
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
    (S.ASSESS, S.COMPLETE),
    (S.DECOMPOSE, S.ASSESS, S.POLICY_CHECK, S.MUTATE),
    (S.DECOMPOSE, S.MUTATE, S.COMPLETE),
    (S.DECOMPOSE, S.ASSESS, S.MUTATE, S.POLICY_CHECK, S.COMPLETE),
    (S.DECOMPOSE, S.POLICY_CHECK, S.MUTATE, S.COMPLETE),
    (S.DECOMPOSE, S.ASSESS, S.ASSESS, S.COMPLETE),
    (S.DECOMPOSE, S.ASSESS, S.ESCALATE, S.COMPLETE),
    (S.DECOMPOSE,),
    (S.DECOMPOSE, S.ASSESS, S.COMPLETE),
    (S.DECOMPOSE, S.ASSESS, S.POLICY_CHECK, S.SCHEDULE_NOTIFY, S.COMPLETE),
)
def test_a_path_that_cannot_be_walked_is_refused(states: tuple[FsmState, ...]) -> None:
    """Without its ends, out of order, with a write that nothing was read or checked for, or with none at all."""
    with pytest.raises(machine.BadTemplate):
        synthesis.build_template("fleet_care", _proposed(*states), EXAMPLE)


@pytest.mark.promise("synthesis.validated")
@given(states=st.lists(st.sampled_from(FsmState), max_size=9), risk=st.sampled_from(["low", "medium", "high"]))
def test_whatever_is_proposed_no_write_comes_before_the_rules(states: list[FsmState], risk: str) -> None:
    """What passes walks from DECOMPOSE to COMPLETE; high risk passes APPROVAL_GATE before it writes."""
    try:
        template = synthesis.build_template("fleet_care", _proposed(*(states or [S.COMPLETE]), risk=risk), EXAMPLE)
    except machine.BadTemplate:
        return
    walked = [template.states[0]]
    while walked[-1] not in machine.END_STATES:
        walked.append(machine.state_after(template.states, walked[-1]))
    assert (walked[0], walked[-1]) == (S.DECOMPOSE, S.COMPLETE)
    assert S.POLICY_CHECK in walked[: walked.index(S.MUTATE)]
    assert risk != "high" or S.APPROVAL_GATE in walked[: walked.index(S.MUTATE)]


@pytest.mark.promise("synthesis.high_risk_asks")
@each_row(("risk", "approval"), [("high", False), ("low", True)])
def test_high_risk_or_the_wish_for_it_asks_a_person(risk: str, approval: bool) -> None:
    template = synthesis.build_template("fleet_care", _proposed(risk=risk, approval=approval), EXAMPLE)
    assert template.states == (*PATH[:3], S.APPROVAL_GATE, *PATH[3:])
    assert [(rule.action, rule.level) for rule in template.rules] == [("require_approval", "manager")]


@pytest.mark.promise("synthesis.general")
@each_row("says", ["Read V-7.", "The amount is 120.50 as always.", "Ask jo@example.org.", "Card 4111 1111 1111 1111"])
def test_a_design_that_speaks_of_its_example_is_refused(says: str) -> None:
    """It is kept for later tasks: nothing of one task, and nothing that the privacy guard marks, is told to them."""
    with pytest.raises(machine.BadTemplate, match="the one task"):
        synthesis.build_template("fleet_care", _proposed(says=says), EXAMPLE)
    with pytest.raises(machine.BadTemplate, match="the one task"):
        synthesis.build_template("fleet_care", _proposed(outputs=says), EXAMPLE)


_ORDER = [S.DECOMPOSE, S.ASSESS, S.COMPUTE, S.POLICY_CHECK, S.APPROVAL_GATE, S.MUTATE, S.SCHEDULE_NOTIFY, S.COMPLETE]
ALL = tuple(machine.BUILT_IN_TEMPLATES.values())
SOME = st.sampled_from(ALL)


@pytest.mark.promise("fsm.templates")
@each_row("template", ALL)
def test_a_process_decomposes_first_completes_last_and_never_goes_back(template: machine.ProcessTemplate) -> None:
    places = [_ORDER.index(state) for state in template.states]

    assert (template.states[0], template.states[1], template.states[-1]) == (S.DECOMPOSE, S.ASSESS, S.COMPLETE)
    assert all(one < other for one, other in pairwise(places))


@pytest.mark.promise("fsm.templates")
@given(template=SOME)
def test_a_gate_put_in_stands_right_before_writing_and_only_once(template: machine.ProcessTemplate) -> None:
    path = machine.with_approval_gate(template.states)

    assert machine.state_after(path, S.APPROVAL_GATE) is S.MUTATE
    assert [state for state in path if state is not S.APPROVAL_GATE] == [
        state for state in template.states if state is not S.APPROVAL_GATE
    ]
    assert machine.with_approval_gate(path) == path


@pytest.mark.promise("fsm.read_only")
def test_the_read_only_path_reads_and_answers() -> None:
    assert machine.READ_ONLY_STATES == (S.DECOMPOSE, S.ASSESS, S.COMPLETE)
    assert not set(machine.READ_ONLY_STATES) & set(machine.PLAN_STATES)


_OPEN = {
    FsmState.ASSESS: {ToolClass.READ, ToolClass.COMPUTE},
    FsmState.APPROVAL_GATE: {ToolClass.READ, ToolClass.COMPUTE},
    FsmState.MUTATE: set(ToolClass),
    FsmState.SCHEDULE_NOTIFY: {ToolClass.READ, ToolClass.COMPUTE, ToolClass.NOTIFY},
}


@pytest.mark.promise("I1.gate_table")
@each_row("state", list(FsmState))
@each_row("tool_class", list(ToolClass))
def test_a_class_passes_exactly_where_the_table_opens(state: FsmState, tool_class: ToolClass) -> None:
    asked = tool("some_tool", tool_class)
    assert set(machine.PERMITTED_CLASSES) == set(FsmState)
    if tool_class in _OPEN.get(state, set()):
        require_tool_permitted(state, asked)
    else:
        with pytest.raises(
            DispatchRefused, match=rf"some_tool .*{tool_class}.*by its name.*{state} permits .* not called"
        ):
            require_tool_permitted(state, asked)


@each_row(("task", "is_stronger"), [("Find the ROOT CAUSE", True), ("reconcile C-1", True), ("a claim", False)])
def test_a_question_is_the_stronger_models_where_its_words_are_complex(task: str, is_stronger: bool) -> None:
    assert machine.has_complex_word(task) is is_stronger
