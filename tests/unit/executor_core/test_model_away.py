"""When a task asks a model again that is away."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from services.executor.core.turn.ends import compute_next_model_try

pytestmark = pytest.mark.promise("model.away")
BEGAN = datetime(2026, 1, 2, 3, tzinfo=UTC)
seconds = st.floats(0, 10_000)


def pause(tries: int, retry_after: float | None = None, after: float = 0.0, deadline: float = 3600.0) -> float | None:
    """Seconds from now until the next try."""
    now = BEGAN + timedelta(seconds=after)
    at = compute_next_model_try(retry_after, tries, BEGAN, now, deadline)
    return None if at is None else (at - now).total_seconds()


def test_the_pause_doubles_to_a_minute_respects_the_endpoint_and_ends_at_the_deadline() -> None:
    """A shorter wish makes nobody ask sooner; one that ends past the deadline ends the wait."""
    assert [pause(tries) for tries in range(1, 7)] == [5, 10, 20, 40, 60, 60]
    assert (pause(1, retry_after=90.0), pause(3, retry_after=1.0)) == (90, 20)
    assert pause(1, retry_after=4_000.0) is None
    assert pause(1, retry_after=float("inf")) is None
    assert (pause(9, after=3_590), pause(9, after=3_600), pause(1, deadline=0)) == (10, None, None)


@given(st.integers(1, 1_000), st.none() | seconds, seconds, seconds)
def test_a_task_rests_within_its_deadline_and_never_shorter_than_told(
    tries: int, retry_after: float | None, after: float, deadline: float
) -> None:
    rest = pause(tries, retry_after, after, deadline)
    if rest is not None:
        assert 0 < rest <= deadline - after + 1e-5
        assert rest >= (retry_after or 0) - 1e-5
