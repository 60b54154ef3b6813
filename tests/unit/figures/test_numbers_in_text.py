"""Every usual writing of numbers, amounts and dates is read, and digits of other things are not."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from babel.dates import format_date
from hypothesis import example, given
from hypothesis import strategies as st

from services.executor.core.figures.mentions import Mention, find_mentions
from services.executor.core.figures.numbers import Number
from tests.each_row import each_row
from tests.unit.figures.reading_stage import days_in, is_said, read, sources, trace

_AMOUNTS = st.decimals(min_value=Decimal("0.01"), max_value=Decimal("9999999.99"), places=2)


def _grouped(amount: Decimal, group: str, point: str) -> str:
    return f"{amount:,.2f}".replace(",", "\0").replace(".", point).replace("\0", group)


@given(
    amount=_AMOUNTS,
    marks=st.sampled_from(
        [(",", "."), (".", ","), (" ", ","), ("\N{NO-BREAK SPACE}", ","), ("'", "."), ("", "."), ("", ",")]
    ),
    around=st.sampled_from(["{}", "EUR {}", "{} EUR", "$ {}", "{}€", "pay {}, please", "(total: {})", "um {} Euro"]),
)
@example(amount=Decimal("1234.00"), marks=(".", ","), around="{}€")
def test_an_amount_is_found_however_it_is_written(amount: Decimal, marks: tuple[str, str], around: str) -> None:
    text = around.format(_grouped(amount, *marks))
    assert amount in read(text).numbers_by_value


@given(st.text(max_size=80))
def test_no_text_is_too_odd_to_read(text: str) -> None:
    found = read(text)
    mentions: list[Mention] = [*found.numbers, *found.dates, *found.times, *found.identifiers]
    assert all(0 <= one.start <= one.end <= len(text) for one in mentions)


_WORDS = "one two hundred and a half third twenty-first next Friday March 4 2026 3rd of in days from mars le .".split()


@given(st.lists(st.sampled_from(_WORDS), max_size=12))
def test_words_of_numbers_and_dates_can_stand_in_any_order(words: list[str]) -> None:
    values: set[Number] = set(read(" ".join(words)).numbers_by_value)
    assert len(values) <= len(words)


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
@each_row(
    "text", ["one of your orders", "no one", "two reminders at most", "someone often tendered", "the seventh", "atone"]
)
def test_everyday_words_are_no_amounts(text: str) -> None:
    assert not any(trace("amount", number, sources(text)).strictness_met for number in (1, 2, 7, 10))


@pytest.mark.promise("I2.provenance.words")
@each_row(("text", "figure"), [("two EUR", 2), ("a hundred dollars", 100)])
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


_DAYS = st.dates(min_value=date(2000, 1, 1), max_value=date(2099, 12, 31))


@given(_DAYS, st.sampled_from(["en", "de", "fr", "es", "it", "pl"]), st.sampled_from(["long", "d MMMM y"]))
def test_a_written_out_day_of_any_known_language_is_found(day: date, language: str, form: str) -> None:
    assert day in days_in(f"({format_date(day, form, locale=language)})")


@given(_DAYS, st.sampled_from(["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d", "%d %b %Y", "%B %d, %Y"]))
def test_a_day_in_digits_is_found(day: date, form: str) -> None:
    assert day in days_in(f"due {day.strftime(form)}.")


@given(st.integers(min_value=1, max_value=400))
def test_days_from_now_are_counted(count: int) -> None:
    assert date(2026, 3, 4) + timedelta(days=count) in days_in(f"in {count} days")


@each_row(("day", "is_own"), [("2026-03-06", True), ("2026-03-09", True), ("2026-03-07", False), ("2025-03-06", False)])
def test_a_repetition_says_its_own_days_only(day: str, is_own: bool) -> None:
    assert is_said("Send three reminders, one per working day from Friday", "date", day) is is_own


@each_row(
    "text",
    ["Pay claim C-1 on March 12", "Pay C-1 March 12", "C-1 of March 12, 2026", "EXP_12 on 12 March", "A-3 March 12"],
)
def test_the_number_of_an_identifier_is_no_day_of_the_month_behind_it(text: str) -> None:
    read = find_mentions(text, datetime(2026, 3, 4, tzinfo=UTC))
    assert set(read.days) == {date(2026, 3, 12)}
    assert read.identifiers[0].text == text.removeprefix("Pay ").removeprefix("claim ").split()[0]
