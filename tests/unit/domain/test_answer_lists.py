"""A list is made of an answer only where it is one, but for its form."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.answer import as_list, is_exact_match

LISTS = st.lists(st.text() | st.integers(), max_size=5)


@pytest.mark.promise("I9.exact_answers")
@given(items=LISTS, indent=st.none() | st.integers(0, 4))
def test_a_list_is_itself_to_the_byte(items: list[object], indent: int | None) -> None:
    text = json.dumps(items, indent=indent)
    assert as_list(text) == text


@pytest.mark.promise("I9.exact_answers")
@given(items=LISTS, word=st.sampled_from(["", "json", "JSON"]))
def test_a_list_in_a_fence_comes_out_of_it_to_the_byte(items: list[object], word: str) -> None:
    text = json.dumps(items)
    assert as_list(f"```{word}\n{text}\n```\n") == text


@pytest.mark.promise("answers.lists")
@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("- INV-1\n- INV-2", '["INV-1", "INV-2"]'),
        ("1. INV-1\n\n2) INV-2\n", '["INV-1", "INV-2"]'),
        ("Refund total: 40.00\n- INV-1\n- INV-2", None),
        ("Decision: rejected, escalated, closed", None),
        ("a, b, c", None),
        ("Rejected. [Reason: policy violation]", None),
        ("```\nnot a list\n```", None),
        ("", None),
    ],
)
def test_lines_that_are_all_items_are_a_list_and_anything_else_is_none(text: str, listed: str | None) -> None:
    """Nothing that an answer says besides its items is ever dropped."""
    assert as_list(text) == listed


@given(text=st.text())
def test_what_is_made_is_an_exact_match(text: str) -> None:
    listed = as_list(text)
    assert listed is None or is_exact_match(listed)
