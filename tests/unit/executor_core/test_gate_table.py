"""The gate: which class of tool passes in which state, written out."""

import pytest

from services.executor.core.states.machine import RULES, DispatchRefused, is_complex, require_permitted
from shared.domain.words import FsmState, ToolClass
from tests.each_row import each_row
from tests.unit.executor_core.makers import tool

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

    if tool_class in _OPEN.get(state, set()):
        require_permitted(state, asked)
    else:
        with pytest.raises(
            DispatchRefused, match=rf"some_tool .*{tool_class}.*by its name.*{state} permits .* not called"
        ):
            require_permitted(state, asked)


def test_every_state_has_a_rule() -> None:
    assert set(RULES) == set(FsmState)


@pytest.mark.parametrize(
    ("task", "is_stronger"), [("Find the ROOT CAUSE", True), ("reconcile C-1", True), ("a claim", False)]
)
def test_a_question_is_the_stronger_models_where_its_words_are_complex(task: str, is_stronger: bool) -> None:
    assert is_complex(task) is is_stronger
