"""When things happen in a turn."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from services.assessor.core.delays import delay_of
from services.assessor.core.scenario import ResponseTiming
from services.assessor.core.windows import APPLY, arrival_time, clip, window_of_turn
from shared.domain.instants import parse_duration
from tests.each_row import each_row

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
spans = st.timedeltas(timedelta(), timedelta(days=400))
pytestmark = pytest.mark.promise("assessor.two_phases")


@given(step=spans, delay=spans)
def test_an_answer_comes_after_the_first_second_and_by_the_end(step: timedelta, delay: timedelta) -> None:
    within = window_of_turn(START, step)
    at = arrival_time(within, delay, "window")

    assert at > START + APPLY
    assert at <= START + step or step <= APPLY


@each_row("step", [timedelta(), timedelta(seconds=1)])
def test_a_step_of_a_second_or_less_leaves_no_rest(step: timedelta) -> None:
    """What is answered then comes in a later turn."""
    within = window_of_turn(START, step)

    assert within.remainder == timedelta()
    assert arrival_time(within, timedelta(), "window") == START + timedelta(seconds=2)


def test_a_step_never_passes_the_scenarios_end_and_a_delay_lies_between_its_bounds() -> None:
    assert clip(HOUR, START, START + timedelta(minutes=20)) == timedelta(minutes=20)
    assert clip(HOUR, START, START - HOUR) == timedelta()
    timing = ResponseTiming.model_validate({"base_delay": "PT10M", "variance": "PT1H"})

    assert delay_of(timing, 0) == timedelta()
    assert delay_of(timing, 0.5) == timedelta(minutes=35)
    assert delay_of(timing, 1) == timedelta(minutes=70)


@each_row("text", ["", "P1W", "PT1.5H", "PT-5M", "p1d", "P99999999999Y"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|longer"):
        parse_duration(text)
