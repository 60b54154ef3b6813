"""The process machine, its templates, and which class of tool each state lets pass."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.states.machine import (
    PERMITTED,
    READ_ONLY,
    TEMPLATES,
    NoSuchStep,
    ProcessTemplate,
    after_planning,
    is_complex,
    state_after,
    with_gate,
)
from services.executor.core.tools.toolbox import DispatchRefused, require_permitted
from shared.domain.words import FsmState, ToolClass
from shared.domain.words import FsmState as S
from tests.each_row import each_row
from tests.unit.executor_core.makers import tool

TABLE = {
    "expense_approval": "DACPGMX", "procurement": "DACPGMNX", "hr_offboarding": "DAPMNX",
    "incident_response": "DACGMNX",
    "invoice_reconciliation": "DACPMX", "customer_onboarding": "DAMNX", "compliance_audit": "DACPGMNX",
    "dispute_resolution": "DAPGMX", "order_management": "DACGMX", "sla_breach": "DACPMNX",
    "month_end_close": "DACPGMNX",
    "ar_collections": "DACPMNX", "subscription_migration": "DACPGMNX", "payroll": "DACPGMNX", "general": "DACPMX",
}  # fmt: skip
_LETTER = {S.COMPLETE: "X", S.SCHEDULE_NOTIFY: "N"}
_ORDER = [S.DECOMPOSE, S.ASSESS, S.COMPUTE, S.POLICY_CHECK, S.APPROVAL_GATE, S.MUTATE, S.SCHEDULE_NOTIFY, S.COMPLETE]
ALL = tuple(TEMPLATES.values())
SOME = st.sampled_from(ALL)


def _letter(state: S) -> str:
    return {S.APPROVAL_GATE: "G", **_LETTER}.get(state, state.value[0])


@pytest.mark.promise("fsm.templates")
def test_the_fifteen_processes_walk_as_the_table_says() -> None:
    assert {name: "".join(map(_letter, found.states)) for name, found in TEMPLATES.items()} == TABLE


@pytest.mark.promise("fsm.templates")
@each_row("template", ALL)
def test_a_process_decomposes_first_completes_last_and_never_goes_back(template: ProcessTemplate) -> None:
    places = [_ORDER.index(state) for state in template.states]

    assert (template.states[0], template.states[1], template.states[-1]) == (S.DECOMPOSE, S.ASSESS, S.COMPLETE)
    assert all(one < other for one, other in pairwise(places))


@pytest.mark.promise("fsm.templates")
@given(template=SOME)
def test_a_gate_put_in_stands_right_before_writing_and_only_once(template: ProcessTemplate) -> None:
    path = with_gate(template.states)

    assert state_after(path, S.APPROVAL_GATE) is S.MUTATE
    assert [state for state in path if state is not S.APPROVAL_GATE] == [
        state for state in template.states if state is not S.APPROVAL_GATE
    ]
    assert with_gate(path) == path


@pytest.mark.promise("fsm.read_only")
def test_the_read_only_path_reads_and_answers() -> None:
    assert READ_ONLY == (S.DECOMPOSE, S.ASSESS, S.COMPLETE)
    with pytest.raises(NoSuchStep, match="nothing is written"):
        after_planning(READ_ONLY)


@each_row("state", [S.COMPLETE, S.APPROVAL_GATE, S.FAILED])
def test_no_state_follows_the_last_or_one_that_is_not_there(state: S) -> None:
    with pytest.raises(NoSuchStep, match=state.value):
        state_after(TEMPLATES["general"].states, state)


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
    assert set(PERMITTED) == set(FsmState)
    if tool_class in _OPEN.get(state, set()):
        require_permitted(state, asked)
    else:
        with pytest.raises(
            DispatchRefused, match=rf"some_tool .*{tool_class}.*by its name.*{state} permits .* not called"
        ):
            require_permitted(state, asked)


@each_row(("task", "is_stronger"), [("Find the ROOT CAUSE", True), ("reconcile C-1", True), ("a claim", False)])
def test_a_question_is_the_stronger_models_where_its_words_are_complex(task: str, is_stronger: bool) -> None:
    assert is_complex(task) is is_stronger
