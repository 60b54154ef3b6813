"""Dates and times are read in any usual writing of English, German and French, and told from today."""

from datetime import UTC, date, datetime, timedelta

import pytest
from babel.dates import format_date
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.figures.mentions import find_mentions
from tests.unit.figures.reading_stage import days_in, how_said

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


@pytest.mark.parametrize(
    ("day", "is_said"), [("2026-03-06", True), ("2026-03-09", True), ("2026-03-07", False), ("2025-03-06", False)]
)
def test_a_repetition_says_its_own_days_only(day: str, is_said: bool) -> None:
    how = how_said("Send three reminders, one per working day from Friday", "date", day)
    assert (how is not None) is is_said


@pytest.mark.parametrize(
    "text",
    ["Pay claim C-1 on March 12", "Pay C-1 March 12", "C-1 of March 12, 2026", "EXP_12 on 12 March", "A-3 March 12"],
)
def test_the_number_of_an_identifier_is_no_day_of_the_month_behind_it(text: str) -> None:
    read = find_mentions(text, datetime(2026, 3, 4, tzinfo=UTC))
    assert set(read.days) == {date(2026, 3, 12)}
    assert read.identifiers[0].text == text.removeprefix("Pay ").removeprefix("claim ").split()[0]
