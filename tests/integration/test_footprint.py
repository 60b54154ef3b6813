"""What sessions leave in Redis, and what a long one costs: `purple bench sessions` in small."""

import pytest

from tools.bench.executor.sessions import (
    BOUNDS,
    MORE_BYTES_AT_MOST,
    Left,
    SessionFigures,
    SessionTurns,
    measure_sessions,
)


@pytest.mark.promise("footprint.finished_session", "footprint.long_session")
async def test_a_finished_session_keeps_to_its_bounds_and_a_long_one_reads_no_more_than_its_latest_turns() -> None:
    """Each time something leaves; after a month nothing is left but the streams of the partitions, which all share."""
    figures = await measure_sessions(40, 40)
    sizes = [left.bytes for left in figures.left]
    assert sizes == sorted(sizes, reverse=True)
    assert all(left.bytes <= BOUNDS[left.hours] for left in figures.left[:-1])
    assert sizes[-1] <= figures.kinds["outcomes"] + figures.kinds["server"] + 1  # each is rounded down
    assert figures.last.bytes_read <= figures.first.bytes_read + MORE_BYTES_AT_MOST


@pytest.mark.promise("footprint.finished_session")
def test_each_missed_target_is_named() -> None:
    left = tuple(Left(hours, bound + (hours == 1)) for hours, bound in BOUNDS.items())
    slow = SessionFigures(10, left, {}, 500, SessionTurns(10, 1000), SessionTurns(16, 7001))
    assert [sentence.split(",")[0] for sentence in slow.missed] == [
        "a finished session takes 8193 bytes after 1 hours",
        "turn 500 takes 16 ms",
        "turn 500 takes 7001 bytes read",
    ]
