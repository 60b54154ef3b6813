"""Exact-match answers, the fixed words, and the partition of a session."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.answer import is_exact_match
from shared.domain.partition import PARTITIONS, partition_of
from shared.domain.words import STRICTNESS, Level, TaskState, ToolClass

JSON = st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=8)


@pytest.mark.promise("I9.exact_answers")
@given(items=st.lists(JSON, max_size=5))
def test_every_json_list_is_an_exact_match(items: list[object]) -> None:
    assert is_exact_match(json.dumps(items))


@pytest.mark.promise("I9.exact_answers")
@pytest.mark.parametrize(
    "text",
    ["[note] the claim is paid [1]", "[1, 2", "[1] ", "\n[1]", '{"a": [1]}', "", "[a]", "[1]\n[2]", "[" * 9999 + "]"],
)
def test_brackets_alone_make_no_exact_match(text: str) -> None:
    assert not is_exact_match(text)


def test_a_level_is_read_whatever_its_case_and_space() -> None:
    assert Level.parse(" Cfo ") is Level.CFO
    assert Level.parse("manager").word == "manager"


def test_an_unknown_level_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'vp'.*manager, hr, finance, committee, legal, cfo, ciso"):
        Level.parse("vp")


def test_levels_rise_from_manager_to_ciso() -> None:
    assert sorted(Level, key=int) == list(Level)
    assert max(Level.FINANCE, Level.LEGAL) is Level.LEGAL


def test_only_ended_states_are_terminal() -> None:
    open_states = {TaskState.SUBMITTED, TaskState.WORKING, TaskState.INPUT_REQUIRED}
    assert {state for state in TaskState if not state.is_terminal} == open_states


def test_strictness_orders_every_class_with_change_last() -> None:
    assert sorted(STRICTNESS) == sorted(ToolClass)
    assert STRICTNESS[-1] is ToolClass.CHANGE


@given(tenant=st.text(), session=st.text(), partitions=st.integers(min_value=1, max_value=1024))
def test_a_session_always_has_one_partition(tenant: str, session: str, partitions: int) -> None:
    try:
        number = partition_of(tenant, session, partitions)
    except UnicodeEncodeError:
        return  # half characters never pass the gateway

    assert number == partition_of(tenant, session, partitions)
    assert 0 <= number < partitions


def test_the_partition_of_a_known_session_never_moves() -> None:
    """Keys written by an older release must be found by a newer one."""
    assert (partition_of("acme", "session-1"), PARTITIONS) == (20, 64)
