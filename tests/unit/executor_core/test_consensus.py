"""When two drafts say the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.conversation.strategies import find_difference
from tests.each_row import each_row

FIRST = "Claim EXP-7 of 1,200.00 is approved because the receipt fits its amount."


@pytest.mark.promise("strategy.moa.consensus")
@each_row(
    ("second", "why"),
    [
        ("Claim EXP-7 of $1200 is approved, because its amount fits the receipt.", ""),
        ("Claim EXP-7 of 1,300.00 is approved because the receipt fits its amount.", "figures or identifiers differ"),
        ("Claim EXP-8 of 1,200.00 is approved because the receipt fits its amount.", "figures or identifiers differ"),
        ("Claim EXP-7 of 1,200.00 is not approved because the receipt fits its amount.", "one denies"),
        ("EXP-7, 1,200.00: rejected, budget exhausted, manager informed.", "too few words"),
    ],
)
def test_most_words_and_every_figure_and_identifier_and_denial_must_agree(second: str, why: str) -> None:
    found = find_difference(FIRST, second)
    assert bool(found) is bool(why)
    assert found.startswith(why)


@pytest.mark.promise("strategy.moa.consensus")
def test_seven_of_ten_words_are_enough_and_stop_words_count_for_nothing() -> None:
    same = "alpha beta gamma delta epsilon zeta eta"
    assert not find_difference(f"the {same} theta", f"of {same} iota kappa")
    assert find_difference(f"the {same} theta mu", f"of {same} iota kappa")


@pytest.mark.promise("I9.moa")
@each_row(("first", "second"), [('["a"]', '["a" ]'), ('["a","b"]', '["b","a"]'), ('["a"]', "a")])
def test_lists_agree_only_to_the_byte(first: str, second: str) -> None:
    assert find_difference(first, second)
    assert not find_difference(first, first)


@given(st.text(max_size=80))
def test_a_text_agrees_with_itself(text: str) -> None:
    assert not find_difference(text, text)


@given(st.text(max_size=60), st.text(max_size=60))
def test_consensus_does_not_depend_on_the_order(first: str, second: str) -> None:
    assert bool(find_difference(first, second)) is bool(find_difference(second, first))
