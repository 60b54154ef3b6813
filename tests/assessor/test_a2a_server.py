"""The assessor as clients meet it: requests as data or text, updates on the way, results, cancel, refusals."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import httpx
import pytest
from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import Task, TaskState, TaskStatus
from structlog.testing import capture_logs

from services.assessor.adapters.proctor_client import ProctorClient
from services.assessor.adapters.recent_tasks import RecentTaskStore
from services.assessor.bootstrap import build
from services.assessor.settings import AssessorSettings, read_older_names
from shared.contracts.assessment.messages import JsonObject
from shared.infra.starting import CannotStart, read_settings
from shared.infra.ues.connection import APIError
from tests.assessor.agents import Gold, reached
from tests.assessor.scenes import SCENE, written
from tests.assessor.stage import ADMIN, simulator
from tests.doubles.scripted_participant import Hanging, ScriptedParticipant
from tests.each_row import each_row
from tests.http_client import open_http, rpc_body
from tests.serving import serving

pytestmark = pytest.mark.promise("assessor.a2a")


def settings(root: Path, **changes: object) -> AssessorSettings:
    given = {"scenarios_dir": root, "anthropic_api_key": "", "anthropic_base_url": "", **changes}
    return AssessorSettings.model_validate(given)


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    written(tmp_path)
    async with simulator() as ues:
        app = build(settings(tmp_path, simulator_url=ues, simulator_admin_key=ADMIN))
        async with serving(app) as url, open_http(base_url=url, timeout=30) as client:
            yield client


def asked(participant: str, as_text: bool = False, method: str = "message/send", **config: object) -> JsonObject:
    request = {"participants": {"personal_assistant": participant}, "config": {"scenario_id": SCENE, **config}}
    part = {"kind": "text", "text": json.dumps(request)} if as_text else {"kind": "data", "data": request}
    return sent(part, method)


def sent(part: object, method: str = "message/send", blocking: bool = True) -> JsonObject:
    message = {"kind": "message", "messageId": "m1", "role": "user", "parts": [part]}
    params = {"message": message, "configuration": {"blocking": blocking}}
    return cast(JsonObject, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


@pytest.mark.parametrize("as_text", [False, True])
async def test_a_request_as_data_or_as_json_text_ends_with_results(http: httpx.AsyncClient, as_text: bool) -> None:
    async with reached(Gold().participant) as participant:
        answer = (await http.post("/", json=asked(participant.url, as_text))).json()

    task = answer["result"]
    (artifact,) = task["artifacts"]
    results = artifact["parts"][0]["data"]
    assert task["status"]["state"] == "completed"
    assert (artifact["name"], results["message_type"]) == ("assessment_results", "assessment_results")
    assert (results["scores"]["overall"]["score"], results["unjudged"]) == (9, ["polite"])


async def test_a_cancelled_assessment_ends_as_canceled_and_takes_its_key_back(http: httpx.AsyncClient) -> None:
    """In mid-turn, without waiting for the agent's answer."""
    hanging = Hanging()
    agent = ScriptedParticipant(hanging)
    async with reached(agent) as participant:
        request = asked(participant.url)
        cast(JsonObject, request["params"])["configuration"] = {"blocking": False}
        task = (await http.post("/", json=request)).json()["result"]
        async with asyncio.timeout(10):
            while len(agent.heard) < 2:
                await asyncio.sleep(0.01)
        body = rpc_body("tasks/cancel", {"id": task["id"]})
        canceled = (await http.post("/", json=body)).json()["result"]
        start = agent.heard[0]
        async with ProctorClient(str(start["ues_url"]), api_key=str(start["api_key"])) as ues:
            with pytest.raises(APIError, match=r"revoked|not found"):
                await ues.chat.get_state()
        hanging.let_go.set()

    assert canceled["status"]["state"] == "canceled"
    assert "artifacts" not in canceled or not canceled["artifacts"]


AGENT = {"a": "http://x"}


@each_row(
    ("part", "said"),
    ({"text": "Please assess my agent."}, "neither data nor a JSON text"),
    ({"data": {"config": {"scenario_id": SCENE}}}, "participants: Field required"),
    ({"data": {"participants": AGENT, "config": {}}}, "config.scenario_id"),
    ({"data": {"participants": {"a": "file:///x"}, "config": {"scenario_id": SCENE}}}, "no http"),
    ({"data": {"participants": AGENT, "config": {"scenario_id": "../x"}}}, "no scenario"),
    ({"data": {"participants": AGENT, "config": {"scenario_id": SCENE, "max_turns": 0}}}, "config.max_turns"),
)
async def test_a_request_that_cannot_be_used_fails_with_the_reason(
    http: httpx.AsyncClient, part: dict[str, object], said: str
) -> None:
    (kind,) = part
    task = (await http.post("/", json=sent({"kind": kind, **part}))).json()["result"]

    assert task["status"]["state"] == "failed"
    text = task["status"]["message"]["parts"][0]["text"]
    assert text.startswith("Assessment failed: ")
    assert said in text


async def test_the_card_says_who_it_is_and_what_it_cannot_judge(http: httpx.AsyncClient) -> None:
    card = (await http.get("/.well-known/agent-card.json")).json()

    assert (card["name"], card["skills"][0]["id"]) == ("UES Green Agent", "ues_assessment")
    assert card["capabilities"]["streaming"] is True
    assert SCENE in card["skills"][0]["description"]
    assert "unjudged" in card["description"]


async def test_whoever_has_no_key_is_not_let_in(tmp_path: Path) -> None:
    app = build(settings(tmp_path, authentication="key", assessor_api_key="secret"))
    async with serving(app) as url, open_http(base_url=url) as http:
        closed = await http.post("/", json={})
        opened = await http.post("/", json={}, headers={"X-API-Key": "secret"})
        health = await http.get("/health")

    assert (closed.status_code, health.status_code) == (401, 200)
    assert opened.status_code != 401


@each_row(
    ("given", "named"),
    ({"host": "192.0.2.1"}, "ASSESSOR_API_KEY"),
    ({"simulator_url": "http://x"}, "SIMULATOR_ADMIN_KEY"),
    ({"port": -1}, "PORT"),
)
def test_a_setting_that_cannot_be_used_stops_the_start(given: dict[str, object], named: str) -> None:
    with pytest.raises(CannotStart, match=named):
        read_settings(AssessorSettings, **given)


def test_settings_are_read_under_their_older_names_too() -> None:
    found = read_older_names({"AGENTBEATS_GREEN_PORT": "8000", "AGENTBEATS_GREEN_HOST": "x", "HOST": "y"})

    assert found == {"port": "8000"}


async def test_only_the_last_tasks_that_ended_are_kept() -> None:
    context, tasks = ServerCallContext(), RecentTaskStore(most=2)
    states = [TaskState.TASK_STATE_WORKING, *[TaskState.TASK_STATE_COMPLETED] * 4]
    for number, state in enumerate(states):
        await tasks.save(Task(id=str(number), status=TaskStatus(state=state)), context)

    assert [bool(await tasks.get(str(number), context)) for number in range(5)] == [True, False, False, True, True]


async def test_clients_of_protocol_1_0_are_answered_in_their_own_words(http: httpx.AsyncClient) -> None:
    request = {"participants": {"a": "file:///x"}, "config": {"scenario_id": SCENE}}
    message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"data": request}]}
    body = rpc_body("SendMessage", {"message": message})

    task = (await http.post("/", json=body, headers={"A2A-Version": "1.0"})).json()["result"]["task"]

    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert task["status"]["message"]["parts"][0]["text"].startswith("Assessment failed: participants")


SECRET = "pa_" + "7f" * 20


@pytest.mark.promise("assessor.agent_key")
@pytest.mark.parametrize(
    ("config", "agent"),
    [
        ({"agent_key": SECRET}, "http://127.0.0.1:9"),
        pytest.param({"agent_headers": {"X": SECRET}}, "http://127.0.0.1:9", marks=pytest.mark.long),
        pytest.param({"extra": [{"Authorization": f"Bearer {SECRET}"}]}, "http://127.0.0.1:9", marks=pytest.mark.long),
        ({}, f"http://somebody:{SECRET}@127.0.0.1:9"),
        pytest.param({}, f"HTTP://127.0.0.1:9/a2a?api_key={SECRET}", marks=pytest.mark.long),
    ],
)
async def test_a_credential_in_a_message_is_refused_and_nothing_of_it_is_kept(
    config: dict[str, object], agent: str, http: httpx.AsyncClient
) -> None:
    request = {"participants": {"agent": agent}, "config": {"scenario_id": SCENE, **config}}
    parts = [{"kind": "text", "text": "Please."}, {"kind": "text", "text": json.dumps(request)}]
    message = {"kind": "message", "messageId": "m1", "role": "user", "parts": parts}
    body = rpc_body("message/send", {"message": message})
    listing = rpc_body("ListTasks", {"historyLength": 99})
    with capture_logs() as logs:
        answer = (await http.post("/", json=body)).json()
    kept = (await http.post("/", json=listing, headers={"A2A-Version": "1.0"})).json()

    assert "belongs into the header X-Agent-Key" in answer["error"]["message"]
    assert kept["result"]["totalSize"] == 0
    assert SECRET not in f"{answer}{logs!r}"
