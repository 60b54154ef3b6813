"""With the rule-based planner in a model's place: it says that it cannot judge, and plays nobody."""

from pathlib import Path

import pytest

from services.assessor.core.assessment import Models
from tests.assessor.agents import Gold, reached
from tests.assessor.scenes import BEN, USER, character
from tests.assessor.stage import staged
from tests.integration.planner_server import model_at, planner_server


@pytest.mark.promise("assessor.judge")
async def test_the_planner_leaves_unjudged_what_needs_a_model(tmp_path: Path) -> None:
    people = {"mia": character("Mia", USER), "ben": character("Ben", BEN)}
    gold = Gold()

    async with (
        planner_server() as url,
        model_at(url) as model,
        reached(gold.participant) as participant,
        staged(tmp_path, Models(model, model, model), changes={"characters": people}) as stage,
    ):
        results = await stage.assessed(participant)

    assert results.unjudged == ("polite",)
    assert (results.costs.calls, results.costs.models) == (2, ("offline-planner-1",))
    assert gold.inbox == ["Friday?"]  # Ben, whom nobody plays, said nothing
