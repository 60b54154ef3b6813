"""Numbers written out are figures like any other: one from nowhere is no amount of a call."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.figures.reading_stage import sources, trace

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


@pytest.mark.promise("I2.provenance.words")
@given(number=st.integers(1, 999_999_999), joint=st.sampled_from([" ", " and "]), title=st.booleans())
def test_every_number_is_read_as_it_is_said(number: int, joint: str, title: bool) -> None:
    said = _said(number, joint)
    task = f"Pay {said.title() if title else said} dollars today."
    assert trace("amount", number, sources(task)).strictness_met


@pytest.mark.promise("I2.provenance.words")
@given(planned=st.integers(10, 10**8), known=st.lists(st.integers(10, 10**8), max_size=3), spelled=st.booleans())
def test_an_amount_passes_exactly_if_the_task_has_it(planned: int, known: list[int], spelled: bool) -> None:
    """Whether it has it in digits or spells it out."""
    task = ". ".join(f"Pay {_said(one) if spelled else one} dollars" for one in known)
    assert trace("amount", planned, sources(task)).strictness_met is (planned in known)


@pytest.mark.promise("I2.provenance.words")
@pytest.mark.parametrize(
    "text", ["one of your orders", "no one", "two reminders at most", "someone often tendered", "the seventh", "atone"]
)
def test_everyday_words_are_no_amounts(text: str) -> None:
    assert not any(trace("amount", number, sources(text)).strictness_met for number in (1, 2, 7, 10))


@pytest.mark.promise("I2.provenance.words")
@pytest.mark.parametrize(("text", "figure"), [("two EUR", 2), ("a hundred dollars", 100)])
def test_small_numbers_with_a_unit_and_round_ones_are_amounts(text: str, figure: int) -> None:
    assert trace("amount", figure, sources(text)).strictness_met


def _said(number: int, joint: str = " ") -> str:
    """A number as people say it."""
    for scale, word in ((1_000_000, "million"), (1_000, "thousand")):
        if number >= scale:
            rest = f" {_said(number % scale, joint)}" if number % scale else ""
            return f"{_said(number // scale, joint)} {word}{rest}"
    if number >= 100:
        rest = f"{joint}{_said(number % 100)}" if number % 100 else ""
        return f"{_SMALL[number // 100]} hundred{rest}"
    if number < 20:
        return _SMALL[number]
    return _TENS[number // 10 - 2] + (f"-{_SMALL[number % 10]}" if number % 10 else "")
