"""What `purple bench capacity` makes of a burst's figures."""

import pytest

from tests.each_row import each_row
from tools.bench.capacity.burst import BurstFigures
from tools.bench.capacity.command import missed_targets

WELL = BurstFigures(
    sent=600,
    accepted=600,
    refused=0,
    seconds_to_send=1.0,
    seconds_to_drain=60.0,
    wakes_a_task=1.0,
    slots_used=0.9,
    cores_used=0.2,
    most_waiting=580,
    quiet_tasks=40,
    quiet_begun_median=0.1,
    quiet_begun_most=0.3,
    quiet_ended_most=1.5,
    warnings={},
)


@pytest.mark.promise("bench.capacity")
@each_row(
    ("figures", "named"),
    [
        (WELL, ()),
        (WELL._replace(wakes_a_task=1.3), ("wakes",)),
        (WELL._replace(quiet_begun_most=2.0), ("another tenant",)),
        (WELL._replace(slots_used=0.5), ("slots",)),
        (WELL._replace(slots_used=0.5, cores_used=0.95), ()),
        (WELL._replace(slots_used=0.0, most_waiting=0), ()),
    ],
)
def test_each_missed_target_is_named(figures: BurstFigures, named: tuple[str, ...]) -> None:
    missed = missed_targets(figures)
    assert len(missed) == len(named)
    assert all(word in sentence for word, sentence in zip(named, missed, strict=True))


def test_the_figures_are_json() -> None:
    assert WELL._replace(warnings={"executor-1: mended": 2}).as_json()["warnings"] == {"executor-1: mended": 2}
