"""`purple bench worth --check` on a whole seed: the targets that a perfect model has to meet."""

import pytest

from shared.domain.words import Strategy
from tools.bench.worth.measure import WorthOptions, measure
from tools.bench.worth.plays import ModelKind
from tools.bench.worth.tally import list_missed, tally_plays


@pytest.mark.long
@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_perfect_model_meets_every_target(seed: int, strategy: Strategy) -> None:
    options = WorthOptions((seed,), None, (strategy.value,), (ModelKind.PERFECT,))

    plays = measure(options, lambda played, _: played)

    assert list_missed(plays, tally_plays(plays)) == []
