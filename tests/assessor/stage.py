"""Assessments in worlds of a simulator that runs inside the test: no process to wait for."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from uuid import uuid4

from fastapi import FastAPI
from pydantic import JsonValue

from services.assessor.adapters.proctor_client import ProctorClient
from services.assessor.adapters.scenario_folder import LoadedScenario, load_scenario
from services.assessor.core.assessment import Models
from services.assessor.hosting import GreenAgent
from services.assessor.ports.participants import Participant
from services.assessor.settings import GreenAgentConfig
from services.simulator.bootstrap import build
from services.simulator.settings import SimulatorSettings
from shared.contracts.assessment.results import AssessmentResults
from tests.assessor.agents import Following
from tests.assessor.scenes import EVALUATORS, SCENE, written
from tests.serving import serving

ADMIN = "a" * 64


def config(**given: object) -> GreenAgentConfig:
    """Without a model, whatever the environment has."""
    return GreenAgentConfig.model_validate({"anthropic_api_key": "", "anthropic_base_url": "", **given})


@cache
def _built() -> FastAPI:
    """Once for all tests: each has a world of its own, and building takes longer than most of them."""
    return build(SimulatorSettings.model_validate({"ues_admin_key": ADMIN}))


@asynccontextmanager
async def simulator() -> AsyncIterator[str]:
    """The address of one with the admin's key ``ADMIN``."""
    async with serving(_built()) as url:
        yield url


@dataclass
class Stage:
    agent: GreenAgent
    scenario: LoadedScenario
    following: Following
    simulator: str

    async def assessed(self, participant: Participant, **limits: JsonValue) -> AssessmentResults:
        wanted: Mapping[str, JsonValue] = {"max_turns": 5, "turn_timeout": 30, **limits}
        return await self.agent.run(
            "task-1", self.following, self.scenario.config, self.scenario.evaluators, participant, wanted
        )

    def proctor(self) -> ProctorClient:
        return ProctorClient(self.agent.ues_url, api_key=ADMIN)


@asynccontextmanager
async def staged(
    root: Path, models: Models | None = None, evaluators: str = EVALUATORS, changes: Mapping[str, object] | None = None
) -> AsyncIterator[Stage]:
    """``changes``: of the tiny scenario."""
    scenario = load_scenario(written(root, SCENE, evaluators, changes))
    async with simulator() as url:
        agent = GreenAgent(
            config=config(simulator_url=url, simulator_admin_key=ADMIN), models=models, context_id=str(uuid4())
        )
        async with agent:
            yield Stage(agent, scenario, Following(), url)
