"""The machine holds whatever a model does: any tool, arguments, order and text, in any world and among any people."""

import pytest

from tests.unit.executor.any_run import any_run
from tests.unit.executor.archived import replayed
from tests.unit.executor.held import faults

_SAMPLE, _AT_ONCE = 60, 30  # a busy machine takes its time
_REPLAYED = 15
_PART, _PARTS = 250, 8
_LONG = 600  # seconds; a part takes about 30 on an idle core


@pytest.mark.promise("any_model.invariants", "any_model.ends")
@pytest.mark.parametrize("first", range(0, _SAMPLE, _AT_ONCE))
async def test_nothing_that_a_model_does_breaks_a_promise(first: int) -> None:
    """Generated servers, policies, tenants, decisions and deaths; every process and strategy: a sample of the seeds."""
    assert await _broken(range(first, first + _AT_ONCE)) == {}


@pytest.mark.long
@pytest.mark.timeout(_LONG)
@pytest.mark.promise("any_model.invariants", "any_model.ends")
@pytest.mark.parametrize("part", range(_PARTS))
async def test_nothing_that_a_model_does_breaks_a_promise_in_many_runs(part: int) -> None:
    first = _SAMPLE + part * _PART
    assert await _broken(range(first, first + _PART)) == {}


@pytest.mark.promise("replay.same_end")
async def test_whatever_a_model_did_a_replay_does_the_same() -> None:
    """Killed on the way, resumed, asked, corrected: with nobody to call, each ended run comes to its end again."""
    assert await _replayed_otherwise(range(_REPLAYED)) == {}


@pytest.mark.long
@pytest.mark.timeout(_LONG)
@pytest.mark.promise("replay.same_end")
async def test_whatever_a_model_did_a_replay_does_the_same_in_many_runs() -> None:
    assert await _replayed_otherwise(range(_REPLAYED, _REPLAYED + _PART)) == {}


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
