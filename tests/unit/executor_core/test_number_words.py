"""Numbers written out are figures like any other: one from nowhere does not get into a plan."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.authorize.provenance import untraced_arguments
from services.executor.core.figures.numbers import numbers_in_words
from tests.unit.executor_core.makers import call, dossier, fact, plan

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


@pytest.mark.promise("I2.provenance.words")
@given(number=st.integers(1, 999_999_999), joint=st.sampled_from([" ", " and "]), title=st.booleans())
def test_every_number_is_read_as_it_is_said(number: int, joint: str, title: bool) -> None:
    said = _said(number, joint)
    assert numbers_in_words(f"Pay {said.title() if title else said} today.", everyday=True) == [number]


@pytest.mark.promise("I2.provenance.words")
@given(planned=st.integers(10, 10**8), known=st.lists(st.integers(10, 10**8), max_size=3), spelled=st.booleans())
def test_a_number_in_words_passes_exactly_if_it_was_collected(planned: int, known: list[int], spelled: bool) -> None:
    """Whether the source has it in digits or spells it out."""
    collected = dossier(fact({"texts": [_said(one) if spelled else str(one) for one in known]}))
    strange = untraced_arguments(plan(call({"note": f"credit of {_said(planned)}"})), collected, "")
    assert strange == (() if planned in known else (f"c1 {planned}",))


@pytest.mark.promise("I2.provenance.words")
def test_digits_may_stand_for_what_the_task_spells_out() -> None:
    assert (
        untraced_arguments(plan(call({"amount": 500, "seats": "12"})), dossier(), "Pay five hundred for a dozen seats")
        == ()
    )


@pytest.mark.promise("I2.provenance.words")
@pytest.mark.parametrize(
    "text", ["one of your orders", "no one", "two reminders at most", "someone often tendered", "the seventh", "atone"]
)
def test_everyday_words_are_no_figures(text: str) -> None:
    assert untraced_arguments(plan(call({"text": text})), dossier(), "Remind them") == ()


@pytest.mark.promise("I2.provenance.words")
@pytest.mark.parametrize(
    ("text", "figure"), [("five percent off", "5"), ("two EUR", "2"), ("a hundred", "100"), ("Two dozen", "24")]
)
def test_small_numbers_with_a_unit_and_round_ones_are_figures(text: str, figure: str) -> None:
    assert untraced_arguments(plan(call({"text": text})), dossier(), "Remind them") == (f"c1 {figure}",)


def test_this_one_is_no_source_of_a_1() -> None:
    assert untraced_arguments(plan(call({"quantity": 1})), dossier(), "Order this one") == ("c1 1",)


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
