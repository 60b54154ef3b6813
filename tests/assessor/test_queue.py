"""More assessments than run at once wait for their turn, in worlds of one simulator."""

import asyncio
from pathlib import Path

import pytest

from services.assessor.contexts import GreenAgents
from services.assessor.core.queue import AssessmentQueue
from services.assessor.ports.participants import Agent
from shared.contracts.assessment.messages import AssessmentQueued
from shared.contracts.assessment.results import AssessmentResults
from tests.assessor.agents import Following, Gold, reached
from tests.assessor.scenes import SCENE, written
from tests.assessor.stage import config

pytestmark = pytest.mark.promise("assessor.queue")
SEVEN = 7


async def test_seven_at_once_all_end_in_one_simulator(tmp_path: Path) -> None:
    """Two at a time; those that wait are told their place, which only falls, and each has a world of its own."""
    written(tmp_path)
    agents = GreenAgents(config(scenarios_dir=tmp_path, ues_base_port=0, assessments_at_once=2))
    following, golds = [Following() for _ in range(SEVEN)], [Gold() for _ in range(SEVEN)]

    async def run(number: int) -> AssessmentResults:
        async with reached(golds[number].participant) as agent:
            return await agents.run_assessment(
                f"c {number}", f"t{number}", Agent(agent.url), SCENE, {}, following[number]
            )

    try:
        async with asyncio.timeout(120):
            results = await asyncio.gather(*[run(number) for number in range(SEVEN)])
    finally:
        await agents.close()

    told = [[up.position for up in one.updates if isinstance(up, AssessmentQueued)] for one in following]
    urls = [str(gold.start["ues_url"]) for gold in golds]
    assert {(one.status, one.scores.overall.score) for one in results} == {("completed", 9.0)}
    assert max(map(max, filter(None, told))) == SEVEN - 2
    assert all(places == sorted(places, reverse=True) for places in told)
    assert (len(set(urls)), len({url.split("/worlds/")[0] for url in urls})) == (SEVEN, 1)


async def test_who_waits_and_gives_up_leaves_the_place_to_others() -> None:
    queue, first = AssessmentQueue(1), asyncio.Event()

    async def hold() -> None:
        async with queue.hold_place(Following()):
            await first.wait()

    holding = asyncio.create_task(hold())
    await asyncio.sleep(0)
    gives_up, patient = asyncio.create_task(hold()), asyncio.create_task(hold())
    await asyncio.sleep(0)
    gives_up.cancel()
    first.set()

    async with asyncio.timeout(10):
        await asyncio.gather(holding, patient)
    assert gives_up.cancelled() or gives_up.cancelling()
