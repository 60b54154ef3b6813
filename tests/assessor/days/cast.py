"""Who lives through a scenario's day in tests: agents that work with the user's key alone."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import NamedTuple

from services.assessor.adapters.played_participant import PlayedParticipant, PlayedScript
from services.assessor.adapters.proctor_client import ProctorClient
from services.assessor.adapters.scenario_folder import ScenarioFolder
from services.assessor.hosting import GreenAgent
from services.assessor.settings import SCENARIOS
from shared.contracts.assessment.messages import JsonObject
from shared.contracts.assessment.results import AssessmentResults
from tests.assessor.agents import Following, reached
from tests.assessor.stage import ADMIN, config, simulator
from tests.doubles.scripted_participant import ScriptedParticipant

DONE: JsonObject = {"message_type": "early_completion", "reason": "All is done."}


class Hour(NamedTuple):
    """A turn as an agent sees it."""

    ues: ProctorClient
    number: int
    now: datetime


Day = Callable[[Hour], Awaitable[str | None]]


async def idler(_: Hour) -> str | None:
    """Does nothing, all day."""
    return "PT4H"


async def lived(scenario_id: str, day: Day, context_id: str) -> AssessmentResults:
    """The scenario with an agent that does ``day`` each turn and answers with the time step, ``None`` when done."""
    loaded = ScenarioFolder(SCENARIOS).load(scenario_id)
    start: JsonObject = {}

    async def turn(said: JsonObject) -> JsonObject:
        start.update(participant.heard[0])
        async with ProctorClient(str(start["ues_url"]), api_key=str(start["api_key"])) as ues:
            now = datetime.fromisoformat(str(said["current_time"]))
            step = await day(Hour(ues, int(str(said["turn_number"])), now))
        return {"message_type": "turn_complete", "time_step": step} if step else DONE

    participant = ScriptedParticipant(turn)
    async with simulator() as url:
        settings = config(simulator_url=url, simulator_admin_key=ADMIN)
        agent = GreenAgent(config=settings, context_id=context_id)
        async with agent, reached(participant) as reaching:
            return await agent.run("t", Following(), loaded.config, loaded.evaluators, reaching, {"max_turns": 20})


async def lived_as_written(scenario_id: str, course: PlayedScript) -> AssessmentResults:
    """The scenario with the requests of a course that is written beside it."""
    loaded = ScenarioFolder(SCENARIOS).load(scenario_id)
    most: JsonObject = {"max_turns": len(course.turns) + 1}
    async with simulator() as url:
        settings = config(simulator_url=url, simulator_admin_key=ADMIN)
        async with GreenAgent(config=settings, context_id=scenario_id) as agent:
            played = PlayedParticipant(course)
            return await agent.run("t", Following(), loaded.config, loaded.evaluators, played, most)


def share(results: AssessmentResults) -> float:
    """Of all points there are, those included that nobody could judge."""
    return results.scores.overall.score / results.scores.overall.max_score


def scored(results: AssessmentResults) -> dict[str, float]:
    return {one.criterion_id: one.score for one in results.criteria_results}
