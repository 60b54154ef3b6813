"""Whole assessments: a simulator process, an agent over HTTP, results."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.assessor.adapters.scenario_folder import ScenarioFolder
from services.assessor.hosting import GreenAgent
from services.assessor.settings import GreenAgentConfig
from shared.contracts.assessment.results import AssessmentResults
from tests.assessor.agents import Following, Gold, reached
from tests.assessor.scenes import SCENE, written


@pytest.fixture
def scenes(tmp_path: Path) -> ScenarioFolder:
    written(tmp_path)
    return ScenarioFolder(tmp_path)


@pytest.fixture
async def agent() -> AsyncIterator[GreenAgent]:
    agent = GreenAgent(ues_port=0, config=GreenAgentConfig(anthropic_api_key="", anthropic_base_url=""))
    await agent.startup()
    yield agent
    await agent.shutdown()


async def test_an_agent_that_does_its_task_earns_what_code_can_judge(scenes: ScenarioFolder, agent: GreenAgent) -> None:
    loaded, gold, following = scenes.load(SCENE), Gold(), Following()

    async with reached(gold.participant) as participant:
        results = await agent.run(
            task_id="task-1",
            emitter=following,
            scenario=loaded.config,
            evaluators=loaded.evaluators,
            purple_client=participant,
            assessment_config={"max_turns": 10},
        )

    print(results.model_dump_json(indent=1))
    print(following.kinds())
    assert isinstance(results, AssessmentResults)
    assert results.scores.overall.score == 9
