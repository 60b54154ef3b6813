"""The assessor as clients meet it: requests as data or text, updates on the way, results, cancel, refusals."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from httpx_sse import aconnect_sse

from services.assessor.bootstrap import build
from services.assessor.settings import Settings
from shared.contracts.assessment.base import JsonObject
from tests.assessor.agents import Gold, reached
from tests.assessor.scenes import SCENE, written
from tests.serving import serving

pytestmark = pytest.mark.promise("assessor.a2a")


def settings(root: Path, **changes: object) -> Settings:
    given = {"scenarios_dir": root, "ues_base_port": 0, "anthropic_api_key": "", "anthropic_base_url": "", **changes}
    return Settings.model_validate(given)


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    written(tmp_path)
    async with serving(build(settings(tmp_path))) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        yield client


def asked(participant: str, as_text: bool = False, method: str = "message/send", **config: object) -> JsonObject:
    request = {"participants": {"personal_assistant": participant}, "config": {"scenario_id": SCENE, **config}}
    part = {"kind": "text", "text": json.dumps(request)} if as_text else {"kind": "data", "data": request}
    message = {"kind": "message", "messageId": "m1", "role": "user", "parts": [part]}
    return json.loads(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}))  # type: ignore[no-any-return]


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


async def test_whoever_follows_is_told_each_step(http: httpx.AsyncClient) -> None:
    kinds, states = [], []
    async with reached(Gold().participant) as participant:
        body = asked(participant.url, method="message/stream")
        async with aconnect_sse(http, "POST", "/", json=body) as stream:
            async for event in stream.aiter_sse():
                result = event.json()["result"]
                states.append(result.get("status", {}).get("state") or result["kind"])
                for part in (result.get("status", {}).get("message") or {}).get("parts", []):
                    kinds.append(part["data"]["message_type"].removeprefix("update_"))

    assert states[-1] == "completed"
    assert "artifact-update" in states
    assert list(dict.fromkeys(kinds)) == [
        "assessment_started",
        "scenario_loaded",
        "turn_started",
        "action_observed",
        "responses_generated",
        "simulation_advanced",
        "turn_completed",
        "evaluation_started",
        "criterion_evaluated",
        "assessment_completed",
    ]
