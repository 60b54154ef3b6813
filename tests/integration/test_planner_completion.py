"""Whole tasks over HTTP, over generated tool worlds."""

from collections import Counter

import pytest

from shared.infra.anthropic_model import AnthropicModel
from tests.doubles.generated_tools import World
from tests.integration.planner_conversation import Offered, run
from tests.integration.planner_server import model_at, planner_server

_SEEDS = 100
_AT_LEAST = 0.8


@pytest.mark.promise("planner.generalises")
async def test_a_read_a_computation_and_a_write_on_generated_tools(capsys: pytest.CaptureFixture[str]) -> None:
    """Nouns, names, field styles and result shapes come from a seed; the final state is checked, and one write."""
    failed: Counter[str] = Counter()
    async with planner_server() as url, model_at(url) as model:
        for seed in range(_SEEDS):
            failed.update(await _problems(model, World(seed)))
    rate = 1 - failed.total() / _SEEDS
    with capsys.disabled():
        print(f"\nplanner completion over {_SEEDS} generated worlds: {rate:.0%} {dict(failed) or ''}")  # noqa: T201
    assert rate >= _AT_LEAST


async def _problems(model: AnthropicModel, world: World) -> list[str]:
    answer = await run(model, world.task.text, Offered(world.readers, world.writers, world.call))
    return [world.task.kind] if world.problems(answer) else []
