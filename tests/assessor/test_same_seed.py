"""Two assessments of one seed tell the same, but for ids, moments of the wall's clock and durations."""

import re
from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from services.assessor.adapters.played_participant import courses_of
from services.assessor.settings import SCENARIOS
from shared.contracts.assessment.results import AssessmentResults
from tests.assessor.days import review_scheduling
from tests.assessor.days.cast import lived, lived_as_written

DIFFER = (
    "assessment_id",
    "participant",  # its address: the port is another one
    "duration_seconds",
    "world/*/changes/*/key",  # the id of a row that was made
    "world/*/changes/*/after/*_id",
    "action_log/*/parameters/*_id",
)
_ALLOWED = re.compile("|".join(one.replace("*_id", r"\w+_ids?(?:/\d+)?").replace("*", r"\d+") for one in DIFFER))


@pytest.mark.promise("assessor.repeatable")
async def test_two_assessments_that_are_played_alike_are_equal_but_for_what_is_listed() -> None:
    gold = courses_of(SCENARIOS / "board_figures")["gold"]

    first, second = [await lived_as_written("board_figures", gold) for _ in range(2)]

    assert _strange(first, second) == []


@pytest.mark.long
@pytest.mark.promise("assessor.repeatable")
async def test_answers_of_characters_and_their_delays_are_the_seeds() -> None:
    first, second = [await lived("review_scheduling", review_scheduling.gold, f"c{run}") for run in range(2)]

    assert _strange(first, second) == []


def _strange(first: AssessmentResults, second: AssessmentResults) -> list[str]:
    """Where the two differ, and the list has nothing of it."""
    return [place for place in _differences(first.wire(), second.wire(), "") if not _ALLOWED.fullmatch(place)]


def _differences(left: JsonValue, right: JsonValue, place: str) -> Iterator[str]:
    if isinstance(left, dict) and isinstance(right, dict):
        for name in sorted({*left, *right}):
            yield from _differences(left.get(name), right.get(name), f"{place}/{name}".strip("/"))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for number, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _differences(one, other, f"{place}/{number}")
    elif left != right:
        yield place
