"""The queue's targets are named when they are missed."""

from tools.bench.executor.queue import QueueFigures

GOOD = QueueFigures(2.0, 9.0, 0.4, 2.5, 9.0, 1000, 2.6, 1700.0, 0.7)


def test_good_figures_miss_nothing() -> None:
    assert GOOD.missed == []


def test_each_missed_target_is_named() -> None:
    missed = GOOD._replace(idle_p50_ms=5.0, busy_p50_ms=7.5, idle_cpu_percent=3.1).missed
    assert ["p50 5.0 ms" in missed[0], "p50 7.5 ms" in missed[1], "CPU 3.1 %" in missed[2]] == [True] * 3


def test_a_heartbeat_that_costs_too_much_is_named() -> None:
    assert "1000 sessions kept alive: CPU 16.2 %" in GOOD._replace(busy_cpu_percent=16.2).missed[0]


def test_a_system_that_shows_no_processor_time_misses_no_target() -> None:
    assert GOOD._replace(idle_cpu_percent=None).missed == []
