"""Dates and times are read in any usual writing of English, German and French, and told from today."""

from datetime import date, time, timedelta

import pytest
from babel.dates import format_date
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.figures.date_grammar import Period
from tests.unit.figures.reading_stage import days_in, how_said, read


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("on 2026-03-04T10:00:00Z", "2026-03-04"),
        ("3/4/2026", "2026-04-03"),
        ("3/4/2026", "2026-03-04"),
        ("04.03.26", "2026-03-04"),
        ("am 12.03.", "2026-03-12"),
        ("4 March", "2026-03-04"),
        ("March 4th, 2026", "2026-03-04"),
        ("4th of March 2027", "2027-03-04"),
        ("Wed 11 March at noon", "2026-03-11"),
        ("4. März", "2026-03-04"),
        ("le 1er avril 2026", "2026-04-01"),
        ("4 de marzo de 2026", "2026-03-04"),
        ("2026年3月4日", "2026-03-04"),
        ("today", "2026-03-04"),
        ("tomorrow", "2026-03-05"),
        ("the day after tomorrow", "2026-03-06"),
        ("übermorgen", "2026-03-06"),
        ("après-demain", "2026-03-06"),
        ("next Friday", "2026-03-06"),
        ("next Friday", "2026-03-13"),
        ("nächsten Freitag", "2026-03-13"),
        ("vendredi prochain", "2026-03-06"),
        ("last Tuesday", "2026-03-03"),
        ("Friday next week", "2026-03-13"),
        ("in 30 days", "2026-04-03"),
        ("in two weeks", "2026-03-18"),
        ("in zwei Wochen", "2026-03-18"),
        ("dans trois jours", "2026-03-07"),
        ("two weeks ago", "2026-02-18"),
        ("vor drei Tagen", "2026-03-01"),
        ("il y a 3 jours", "2026-03-01"),
        ("within ten working days", "2026-03-18"),
        ("a week from Monday", "2026-03-16"),
        ("Montag in einer Woche", "2026-03-16"),
        ("two days before 4 March", "2026-03-02"),
        ("end of March", "2026-03-31"),
        ("Ende April", "2026-04-30"),
        ("fin du mois", "2026-03-31"),
        ("the first of next month", "2026-04-01"),
        ("am Ersten des nächsten Monats", "2026-04-01"),
        ("le premier du mois prochain", "2026-04-01"),
        ("the last day of February", "2026-02-28"),
    ],
)
def test_a_day_is_read_in_its_writing(text: str, day: str) -> None:
    assert date.fromisoformat(day) in days_in(text)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("bill for 03/2026", "2026-03-01", "2026-03-31"),
        ("Q3 2026", "2026-07-01", "2026-09-30"),
        ("in March", "2026-03-01", "2026-03-31"),
        ("next week", "2026-03-09", "2026-03-15"),
        ("le mois prochain", "2026-04-01", "2026-04-30"),
        ("from 3 to 7 March", "2026-03-03", "2026-03-07"),
        ("du 3 au 7 mars", "2026-03-03", "2026-03-07"),
        ("from Monday to Friday", "2026-03-09", "2026-03-13"),
    ],
)
def test_a_period_is_read_from_its_first_day_to_its_last(text: str, first: str, last: str) -> None:
    periods = [period for mention in read(text).dates for period in mention.periods]
    assert Period(date.fromisoformat(first), date.fromisoformat(last)) in periods


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("half past nine", time(9, 30)),
        ("at 9 am", time(9)),
        ("9:30 p.m.", time(21, 30)),
        ("14h30", time(14, 30)),
        ("noon", time(12)),
        ("um 9 Uhr", time(9)),
        ("halb zehn", time(9, 30)),
        ("Viertel nach neun", time(9, 15)),
        ("quarter to ten", time(9, 45)),
        ("neuf heures et demie", time(9, 30)),
        ("minuit", time(0)),
    ],
)
def test_a_time_of_day_is_read_in_its_writing(text: str, hour: time) -> None:
    assert hour in read(text).times_of_day


@pytest.mark.parametrize(
    "text", ["You may book a room", "the march of time", "mars is a planet", "no more than two", "it costs 9.30"]
)
def test_words_that_only_look_like_dates_are_none(text: str) -> None:
    assert not read(text).dates
    assert not read(text).times


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
