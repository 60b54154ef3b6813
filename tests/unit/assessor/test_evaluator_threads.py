"""A scenario's code that never returns ends by a timeout, and stops nothing else meanwhile."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from services.assessor.adapters.scenario_folder import load_evaluators
from services.assessor.core.evaluation import EvalContext
from services.assessor.core.judge import CriteriaJudge, JudgingLimits
from services.assessor.core.scenario import Criterion
from services.assessor.ports.simulated_world import SimulatedWorld
from shared.contracts.assessment.results import CriterionResult
from tests.assessor.agents import Following

pytestmark = pytest.mark.promise("assessor.judging_ends")
CODE = """
import time
from services.assessor.core.evaluation import EvalContext, EvalResult


async def loops(ctx: EvalContext, params: dict) -> EvalResult:
    while True:
        try:
            sum(range(100))
        except Exception:
            pass


async def asks_the_world(ctx: EvalContext, params: dict) -> EvalResult:
    said = await ctx.client.time.get_state()
    return EvalResult(score=1, max_score=1, explanation=f"{said} on the {ctx.client.name}")


async def raises(ctx: EvalContext, params: dict) -> EvalResult:
    raise SystemExit("enough")


async def waits(ctx: EvalContext, params: dict) -> EvalResult:
    await ctx.client.time.hang()
"""


class Clockwork:
    """Belongs to the loop that it was made in."""

    name = "world"

    def __init__(self) -> None:
        self.time = self
        self._home = asyncio.get_running_loop()

    async def get_state(self) -> str:
        assert asyncio.get_running_loop() is self._home
        return "noon"

    async def hang(self) -> None:
        await asyncio.Event().wait()


async def test_code_that_loops_is_ended_and_its_criterion_unjudged(tmp_path: Path) -> None:
    beats: list[int] = []
    beating = asyncio.create_task(_beat(beats))

    (result,) = await _judge(tmp_path, ["loops"], JudgingLimits(criterion=0.3))

    assert (result.unjudged, result.explanation) == (True, "It was not judged: no answer came within 0.3 seconds.")
    for thread in [one for one in threading.enumerate() if one.name == "evaluator-loops"]:
        thread.join(5)  # it says that it is over a moment before it is
        assert not thread.is_alive()
    beating.cancel()
    assert len(beats) > 1


async def test_what_took_longer_than_the_whole_says_so(tmp_path: Path) -> None:
    (result,) = await _judge(tmp_path, ["waits"], JudgingLimits(whole=0.2))

    assert result.explanation == "It was not judged: the whole judging took longer than 0.2 seconds."


async def test_code_is_answered_by_the_world_and_what_ends_the_process_ends_its_own_criterion_alone(
    tmp_path: Path,
) -> None:
    (result,) = await _judge(tmp_path, ["asks_the_world"])

    assert (result.score, result.explanation) == (10, "noon on the world")
    first, second = await _judge(tmp_path, ["raises", "asks_the_world"])

    assert (first.unjudged, second.score) == (True, 10)
    assert "SystemExit: enough" in first.explanation


async def _beat(beats: list[int]) -> None:
    while True:
        beats.append(1)
        await asyncio.sleep(0.01)


async def _judge(
    folder: Path,
    names: Sequence[str],
    limits: JudgingLimits = JudgingLimits(),  # noqa: B008  it cannot be changed
) -> list[CriterionResult]:
    (folder / "evaluators.py").write_text(CODE)
    fields = {"dimension": "accuracy", "max_score": 10}
    criteria = [
        Criterion.model_validate({**fields, "criterion_id": name, "name": name, "evaluator_id": name}) for name in names
    ]
    judge = CriteriaJudge(None, criteria, load_evaluators(folder), Following(), patience=limits)
    world = cast(SimulatedWorld, Clockwork())
    return await judge.evaluate_all(EvalContext(world, {}, (), {}, {}, "Do it."))
