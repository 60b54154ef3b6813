"""The machine holds whatever a model does: any tool, arguments, order and text, in any world and among any people."""

import pytest

from tests.unit.executor.any_run import any_run
from tests.unit.executor.held import faults

_SAMPLE = 40
_PART, _PARTS = 250, 8
_LONG = 600  # seconds; a part takes about 20 on an idle core


@pytest.mark.promise("any_model.invariants")
@pytest.mark.promise("any_model.ends")
async def test_nothing_that_a_model_does_breaks_a_promise() -> None:
    """Generated servers, policies, tenants, decisions and deaths; every process and strategy: a sample of the seeds."""
    assert await _broken(range(_SAMPLE)) == {}


@pytest.mark.long
@pytest.mark.timeout(_LONG)
@pytest.mark.promise("any_model.invariants")
@pytest.mark.promise("any_model.ends")
@pytest.mark.parametrize("part", range(_PARTS))
async def test_nothing_that_a_model_does_breaks_a_promise_in_many_runs(part: int) -> None:
    first = _SAMPLE + part * _PART
    assert await _broken(range(first, first + _PART)) == {}


async def _broken(seeds: range) -> dict[int, list[str]]:
    """What is wrong, by seed; any_run(seed) shows it again."""
    found = {seed: await faults(await any_run(seed)) for seed in seeds}
    return {seed: wrong for seed, wrong in found.items() if wrong}
