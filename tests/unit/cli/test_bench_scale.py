"""What `purple bench scale` measures, and what it calls flat."""

import pytest

from tools.bench.scale.command import measure_scale
from tools.bench.scale.growth import Growth


@pytest.mark.promise("bench.scale")
def test_a_fifth_more_is_flat_and_more_is_not() -> None:
    assert Growth("rules", "a verdict", 1, 2, 1.0, 1.2).is_flat
    assert not Growth("rules", "a verdict", 1, 2, 1.0, 1.3).is_flat


@pytest.mark.promise("bench.scale")
async def test_everything_that_grows_is_measured_few_and_many() -> None:
    grown = [one async for one in measure_scale(divided=500, repeats=3)]
    assert len({(one.of, one.doing) for one in grown}) == 9
    assert all(one.small < one.large and one.small_ms > 0 for one in grown)
