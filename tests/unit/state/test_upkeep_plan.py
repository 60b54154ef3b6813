"""Where the reaper looks: everywhere in each sweep, meanwhile only where something is due or a turn has just ended."""

import asyncio

from services.executor.entrypoints.upkeep_loop import UpkeepPlan
from shared.domain.partition import PARTITIONS, partition_of

EVERYWHERE = list(range(PARTITIONS))


def test_a_sweep_comes_first_and_again_after_its_pause() -> None:
    plan = UpkeepPlan(sweep_seconds=5.0)
    assert list(plan.partitions(100.0)) == EVERYWHERE
    plan.note(EVERYWHERE, {}, 100.0)
    assert (list(plan.partitions(104.9)), list(plan.partitions(105.0))) == ([], EVERYWHERE)


def test_a_partition_in_which_something_falls_due_is_looked_at_then() -> None:
    plan = UpkeepPlan(sweep_seconds=60.0)
    plan.note(EVERYWHERE, {3: 1.5, 9: 30.0}, 100.0)
    assert (list(plan.partitions(101.0)), list(plan.partitions(101.5))) == ([], [3])
    plan.note([3], {}, 101.5)
    assert list(plan.partitions(102.0)) == []
    assert list(plan.partitions(130.0)) == [9]


async def test_where_a_turn_ended_here_is_looked_at_for_a_while() -> None:
    """Its session's release, or its next try, comes after it."""
    plan = UpkeepPlan(sweep_seconds=60.0)
    clock = asyncio.get_running_loop().time()
    plan.note(EVERYWHERE, {}, clock)
    plan.tell("acme", "s1")
    own = partition_of("acme", "s1")
    assert list(plan.partitions(clock + 1)) == [own]
    plan.note([own], {}, clock + 1)
    assert list(plan.partitions(clock + 5)) == [own]
    assert list(plan.partitions(clock + 30)) == []
