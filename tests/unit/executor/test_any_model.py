"""The machine holds whatever a model does: any tool, arguments, order and text, in any world and among any people."""

import pytest

from tests.unit.executor.any_run import any_run
from tests.unit.executor.archived import replayed
from tests.unit.executor.held import faults

_SAMPLE, _AT_ONCE = 60, 30  # a busy machine takes its time
_REPLAYED = 15
_MANY, _MANY_REPLAYED = 2000, 250


def _more(seeds: range) -> list[object]:
    return [pytest.param(first, marks=pytest.mark.long) for first in seeds]


@pytest.mark.promise("any_model.invariants", "any_model.ends")
@pytest.mark.parametrize("first", [*range(0, _SAMPLE, _AT_ONCE), *_more(range(_SAMPLE, _MANY, _AT_ONCE))])
async def test_nothing_that_a_model_does_breaks_a_promise(first: int) -> None:
    """Generated servers, policies, tenants, decisions and deaths; every process and strategy: a sample of the seeds."""
    assert await _broken(range(first, first + _AT_ONCE)) == {}


@pytest.mark.promise("replay.same_end")
@pytest.mark.parametrize("first", [0, *_more(range(_REPLAYED, _MANY_REPLAYED, _REPLAYED))])
async def test_whatever_a_model_did_a_replay_does_the_same(first: int) -> None:
    """Killed on the way, resumed, asked, corrected: with nobody to call, each ended run comes to its end again."""
    assert await _replayed_otherwise(range(first, first + _REPLAYED)) == {}


async def _broken(seeds: range) -> dict[int, list[str]]:
    """What is wrong, by seed; any_run(seed) shows it again."""
    found = {seed: await faults(await any_run(seed)) for seed in seeds}
    return {seed: wrong for seed, wrong in found.items() if wrong}


async def _replayed_otherwise(seeds: range) -> dict[int, str]:
    found: dict[int, str] = {}
    for seed in seeds:
        run = await any_run(seed)
        if run.record.state.is_terminal:
            done = await replayed(run)
            found[seed] = f"{done.at}: {done.difference}" if done.difference else ""
    return {seed: difference for seed, difference in found.items() if difference}
