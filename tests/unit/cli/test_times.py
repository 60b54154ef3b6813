"""Times in tables."""

import re

import pytest

from cli.console import moment
from shared.domain.exact_json import Json


def test_a_time_is_shown_to_the_minute_without_its_zone() -> None:
    """Which hour it is depends on the reader's clock."""
    assert re.fullmatch(r"2026-03-0[456] \d\d:07", moment("2026-03-05T10:07:59.123456+00:00"))


@pytest.mark.parametrize(("value", "shown"), [(None, ""), ("never", "never"), (7, "7")])
def test_what_is_no_time_is_shown_as_it_is(value: Json, shown: str) -> None:
    assert moment(value) == shown
