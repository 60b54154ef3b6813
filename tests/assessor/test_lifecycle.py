"""An agent with a simulator process of its own: as published callers use it, and when that process dies."""

import asyncio
import os
import re
import signal
from pathlib import Path

import httpx
import pytest

from services.assessor.adapters.proctor_client import ProctorClient
from services.assessor.adapters.scenario_folder import ScenarioFolder
from services.assessor.hosting import GreenAgent
from shared.contracts.assessment.messages import DEFAULT_ASSESSMENT_INSTRUCTIONS
from shared.infra.ues.connection import APIError
from shared.ports.simulator import SimulatorFailed
from tests.assessor.agents import Following, Gold, reached
from tests.assessor.scenes import SCENE, written
from tests.assessor.stage import config
from tests.doubles.scripted_participant import Hanging, ScriptedParticipant
from tests.http_client import open_http


@pytest.mark.promise("assessor.lifecycle", "assessor.own_process")
async def test_an_agent_runs_assessments_from_startup_to_shutdown(tmp_path: Path) -> None:
    """Six phases: the world is set up, the task stands in its chat, the agent is told to start and works in turns;
    then it is judged, told that it is over, and its key opens nothing any more. Nothing runs after shutdown.
    """
    written(tmp_path)
    loaded, gold, following = ScenarioFolder(tmp_path).load(SCENE), Gold(), Following()
    agent = GreenAgent(ues_port=0, config=config())
    await agent.startup()
    async with reached(gold.participant) as participant:
        results = await agent.run(
            task_id="task-1",
            emitter=following,
            scenario=loaded.config,
            evaluators=loaded.evaluators,
            purple_client=participant,
            assessment_config={"max_turns": 10},
        )
    async with ProctorClient(agent.ues_url, api_key=str(gold.start["api_key"])) as ues:
        with pytest.raises(APIError, match="revoked"):
            await ues.chat.get_state()
    await agent.shutdown()

    heard = gold.participant.heard
    assert [said["message_type"] for said in heard] == [
        "assessment_start",
        "turn_start",
        "turn_start",
        "assessment_complete",
    ]
    assert heard[0]["assessment_instructions"] == DEFAULT_ASSESSMENT_INSTRUCTIONS
    assert heard[0]["ues_url"] == agent.ues_url
    assert re.fullmatch("[0-9a-f]{64}", str(heard[0]["api_key"]))
    assert heard[0]["initial_state_summary"]["email"]["unread"] == 1  # type: ignore[index, call-overload]
    assert [said.get("turn_number") for said in heard[1:3]] == [1, 2]
    assert heard[-1]["reason"] == "early_completion"
    assert len(set(gold.participant.contexts)) == 1
    assert (results.status, results.turns_taken, results.actions_taken) == ("completed", 2, len(results.action_log))
    assert (results.scores.overall.score, results.scores.overall.max_score) == (9, 10)
    assert (results.judged and results.judged.max_score, results.unjudged) == (9, ("polite",))
    assert gold.inbox == ["Re: Friday?", "Friday?"]  # Ben's answer came within the first turn
    with pytest.raises(httpx.ConnectError):
        await open_http().get(f"{agent.ues_url}/health")


@pytest.mark.promise("assessor.errors")
async def test_a_simulator_that_dies_in_mid_turn_ends_the_assessment_at_once(tmp_path: Path) -> None:
    written(tmp_path)
    loaded, hanging, following = ScenarioFolder(tmp_path).load(SCENE), Hanging(), Following()
    participant = ScriptedParticipant(hanging)

    async with GreenAgent(config=config()) as agent, reached(participant) as reaching:
        run = asyncio.ensure_future(agent.run("t", following, loaded.config, loaded.evaluators, reaching))
        async with asyncio.timeout(10):
            while len(participant.heard) < 2:
                await asyncio.sleep(0.01)
        os.kill(_simulator(), signal.SIGKILL)
        with pytest.raises(SimulatorFailed, match="ended"):
            await asyncio.wait_for(run, 10)
        hanging.let_go.set()

    last = following.updates[-1]
    assert (last.message_type, last.to_json()["error_type"]) == ("update_error_occurred", "ues_error")


def _simulator() -> int:
    """The process id of our simulator."""
    here = os.getpid()
    children = Path(f"/proc/{here}/task/{here}/children").read_text().split()
    return next(
        int(child) for child in children if b"services.simulator" in Path(f"/proc/{child}/cmdline").read_bytes()
    )
