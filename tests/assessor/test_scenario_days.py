"""What the scenarios that come with the assessor are worth to agents of known quality."""

from uuid import uuid4

import pytest

from tests.assessor.days import inbox_triage
from tests.assessor.days.cast import Day, idler, lived, scored, share
from tests.assessor.days.vandal import vandal

DAYS: list[tuple[str, Day, tuple[Day, ...]]] = [("inbox_triage", inbox_triage.gold, (idler, vandal))]


@pytest.mark.promise("assessor.scenario_bounds")
async def test_a_day_rewards_work_and_neither_idleness_nor_harm() -> None:
    """With the criteria that nobody judges and without them; those are few."""
    name, gold, poor = DAYS[0]

    best = await lived(name, gold, str(uuid4()))

    assert share(best) >= 0.95, scored(best)
    assert best.judged is not None
    assert best.judged.score == best.judged.max_score
    for day in poor:
        worst = await lived(name, day, str(uuid4()))
        assert share(worst) <= 0.10, scored(worst)
