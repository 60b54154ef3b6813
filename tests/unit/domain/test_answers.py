"""Answers that are lists stay as they are to the byte; the fixed words, and the partition of a session."""

import json
import time

import pytest
from hypothesis import given, strategies as st

from shared.domain.answer import is_json_list, parse_list_answer
from shared.domain.partition import PARTITIONS, partition_of
from shared.domain.words import EscalationLevel
from tests.each_row import each_row

LISTS = st.lists(st.text() | st.integers(), max_size=5)


@pytest.mark.promise("I9.exact_answers")
@given(items=LISTS, indent=st.none() | st.integers(0, 4))
def test_a_list_is_itself_to_the_byte(items: list[object], indent: int | None) -> None:
    text = json.dumps(items, indent=indent)
    assert parse_list_answer(text) == text


@pytest.mark.promise("I9.exact_answers")
@given(items=LISTS, word=st.sampled_from(["", "json", "JSON"]))
def test_a_list_in_a_fence_comes_out_of_it_to_the_byte(items: list[object], word: str) -> None:
    text = json.dumps(items)
    assert parse_list_answer(f"```{word}\n{text}\n```\n") == text


@pytest.mark.promise("answers.lists")
@each_row(
    ("text", "listed"),
    ("- INV-1\n- INV-2", '["INV-1", "INV-2"]'),
    ("1. INV-1\n\n2) INV-2\n", '["INV-1", "INV-2"]'),
    ("Refund total: 40.00\n- INV-1\n- INV-2", None),
    ("Decision: rejected, escalated, closed", None),
    ("a, b, c", None),
    ("Rejected. [Reason: policy violation]", None),
    ("```\nnot a list\n```", None),
)
def test_lines_that_are_all_items_are_a_list_and_anything_else_is_none(text: str, listed: str | None) -> None:
    """Nothing that an answer says besides its items is ever dropped."""
    assert parse_list_answer(text) == listed


@each_row("text", ["```\n" + " " * 200_000 + "x", "- a" + " " * 200_000 + "b", "```\n" + "```\n" * 50_000 + "x"])
def test_no_answer_takes_long_to_read(text: str) -> None:
    began = time.process_time()
    parse_list_answer(text)
    assert time.process_time() - began < 2


@given(text=st.text())
def test_what_is_made_is_an_exact_match(text: str) -> None:
    listed = parse_list_answer(text)
    assert listed is None or is_json_list(listed)


JSON = st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=8)


@pytest.mark.promise("I9.exact_answers")
@given(items=st.lists(JSON, max_size=5))
def test_every_json_list_is_an_exact_match(items: list[object]) -> None:
    assert is_json_list(json.dumps(items))


@pytest.mark.promise("I9.exact_answers")
@each_row("text", ["[note] the claim is paid [1]", "[1, 2", "[1] ", "\n[1]", '{"a": [1]}', "[" * 9999 + "]"])
def test_brackets_alone_make_no_exact_match(text: str) -> None:
    assert not is_json_list(text)


def test_an_unknown_level_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'vp'.*manager, hr, finance, committee, legal, cfo, ciso"):
        EscalationLevel.parse("vp")


def test_the_partition_of_a_known_session_never_moves() -> None:
    """Keys written by an older release must be found by a newer one."""
    assert (partition_of("acme", "session-1"), PARTITIONS) == (20, 64)
