"""What `purple bench overhead` makes of what processes and Redis have spent."""

import pytest

from tools.bench.overhead.command import OURS, missed_targets
from tools.bench.overhead.load import Measured
from tools.bench.overhead.spending import Costs, OfRedis, Spent, a_task, idle_second

_NAMES = (*OURS, "planner", "company")


def _spent(at: float, cpu_ms: float, reads: int, memory: int) -> Spent:
    return Spent(at, dict.fromkeys(_NAMES, cpu_ms), OfRedis(0, reads, 2 * reads, memory, 0), OfRedis(0, reads, 0, 0, 0))


def _costs(cpu_ms: float) -> Costs:
    return Costs(dict.fromkeys(_NAMES, cpu_ms), 0, 0, 0, 0, 0, 0)


@pytest.mark.promise("bench.overhead")
def test_a_task_costs_what_was_spent_beyond_idleness() -> None:
    """10 idle seconds cost 20 ms and 50 round trips; 5 tasks in 10 seconds 70 ms and 150."""
    start, rested, worked = _spent(0, 0, 0, 0), _spent(10, 20, 50, 0), _spent(20, 90, 200, 5000)

    idle = idle_second(start, rested)
    costs = a_task(rested, worked, idle, 5)

    assert (idle.cpu_ms["gateway"], idle.redis_round_trips) == (2, 5)
    assert (costs.cpu_ms["gateway"], costs.redis_round_trips, costs.redis_memory_bytes) == (10, 20, 1000)


@pytest.mark.promise("bench.overhead")
def test_a_target_that_is_missed_is_named_and_others_costs_do_not_count() -> None:
    dear = _costs(100)
    elsewhere = Costs({name: 0.0 if name in OURS else 9_999.0 for name in _NAMES}, 0, 0, 0, 0, 0, 0)

    missed = missed_targets(Measured(1, 1, _costs(0), {"read": dear, "write": elsewhere}, {}))

    assert [sentence.split(":")[0] for sentence in missed] == ["read"]
