"""What the console says: times, values, where it leads after a form."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from services.gateway.features.console.sessions import form_token, is_form_of, place_after
from services.gateway.features.console.views.tasks import dollars
from services.gateway.features.console.views.words import (
    PageClock,
    distance,
    duration_words,
    show_json,
    wall_time,
    zone_named,
)
from shared.domain.exact_json import Json
from tests.each_row import each_row

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
PARIS = PageClock(NOON, ZoneInfo("Europe/Paris"))


@each_row(
    ("at", "words"),
    [
        (NOON, "13:00"),
        (NOON + timedelta(hours=11, minutes=30), "23 Nov 00:30"),
        (NOON - timedelta(days=40), "13 Oct 14:00"),  # summer time
        (NOON + timedelta(days=60), "21 Jan 2027 13:00"),
    ],
)
def test_times_are_those_of_the_readers_clock(at: datetime, words: str) -> None:
    assert wall_time(at, PARIS) == words


@each_row(
    ("seconds", "words"),
    [
        (0.2, "now"),
        (45, "in 45 s"),
        (-90, "1 min ago"),
        (3600, "in 1 h"),
        (-3600 * 47, "47 h ago"),
        (172800, "in 2 days"),
    ],
)
def test_how_far_away_a_time_is(seconds: float, words: str) -> None:
    assert distance(NOON + timedelta(seconds=seconds), NOON) == words


def test_a_span_is_told_in_its_largest_unit() -> None:
    assert [duration_words(timedelta(minutes=minutes)) for minutes in (0.5, 59, 60, 2880)] == [
        "30 s",
        "59 min",
        "1 h",
        "2 days",
    ]


@each_row("name", ["", "Nowhere/At_All", "../../etc/passwd", "x" * 5000, "\x00"])
def test_a_zone_that_there_is_not_is_utc(name: str) -> None:
    assert zone_named(name).key == "UTC"


@each_row(
    ("value", "words"),
    [
        (Decimal("2340.00"), "2340.00"),
        ("EXP-1001", "EXP-1001"),
        (None, "nothing"),
        (True, "yes"),
        (
            {"lines": [{"sku": "A", "price": Decimal("1.10")}], "none": []},
            "lines:\n  -\n    sku: A\n    price: 1.10\nnone: none",
        ),
    ],
)
def test_a_value_keeps_every_digit(value: Json, words: str) -> None:
    assert show_json(value) == words


@each_row(("nanos", "words"), [(0, "$0.00"), (1_234_500_000, "$1.23"), (4_200_000, "$0.0042")])
def test_money_is_told_to_the_cent_or_to_where_it_begins(nanos: int, words: str) -> None:
    assert dollars(nanos) == words


@pytest.mark.promise("console.forms")
@each_row(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example",
        "/console//evil.example",
        "/console/\\evil",
        "javascript:x",
        "",
        "/tasks",
    ],
)
def test_after_a_form_nobody_is_led_away(wanted: str) -> None:
    assert place_after(wanted) == "/console/"


def test_after_a_form_one_goes_on_where_one_was() -> None:
    assert place_after("/console/tasks/a%2Fb?page=2") == "/console/tasks/a%2Fb?page=2"


@pytest.mark.promise("console.forms")
def test_a_forms_token_is_that_of_its_secret_alone() -> None:
    assert is_form_of("s", form_token("s"))
    assert not any(
        is_form_of(secret, token) for secret, token in [("s", form_token("t")), ("s", ""), ("", form_token(""))]
    )
    assert not is_form_of("s", "\u00e9")
