"""What the bench of simulators says, and when a target is missed."""

import json
import subprocess
import sys

import pytest

from tests.each_row import each_row
from tools.bench.simulator.measures import SIZES, SimulatorFigures

pytestmark = pytest.mark.promise("simulator.costs")


def _figures(growth: float = 1.0, posting: float = 6.0, state: float = 1.0) -> SimulatorFigures:
    return SimulatorFigures(
        1.0, 70.0, {size: 0.4 * (growth if size == SIZES[-1] else 1) for size in SIZES}, posting, state
    )


def test_figures_within_their_targets_miss_nothing() -> None:
    assert _figures().missed == []


@each_row(
    ("figures", "said"),
    (_figures(growth=2.6), "an advance costs 2.6 times as much, target 2.5: the logarithm's"),
    (_figures(posting=10.0), "10.0 s of CPU for 10000 events, target under 10.0 s"),
    (_figures(state=5.0), "5.0 ms for email/state at 3000 mails, target 5.0 ms"),
)
def test_a_missed_target_is_said(figures: SimulatorFigures, said: str) -> None:
    assert figures.missed == [said]


@pytest.mark.long
def test_the_bench_measures_what_it_says() -> None:
    """The figures themselves are the machine's."""
    ended = subprocess.run(
        [sys.executable, "-m", "tools.bench.simulator", "--json"], capture_output=True, timeout=110, check=True
    )

    figures = json.loads(ended.stdout)
    assert list(figures["advance_with_nothing_due_cpu_ms"]) == [str(size) for size in SIZES]
    assert 0 < figures["start_seconds"] < 60
    assert figures["advance_growth"] < 10
