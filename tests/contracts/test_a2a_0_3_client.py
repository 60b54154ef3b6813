"""The official client of the 0.3 line, in an environment of its own, against the gateway."""

import json
from pathlib import Path

import pytest
from redis.asyncio import Redis

from tests.contracts.sdk_of_0_3 import PYTHON, make_environment, run
from tests.integration.gateway_stage import stage


@pytest.mark.promise("gateway.a2a_0_3")
async def test_it_sends_reads_approves_and_cancels(redis: Redis, redis_url: str) -> None:
    if reason := await make_environment():
        pytest.skip(f"the 0.3 SDK could not be installed: {reason}")
    async with stage(redis, redis_url) as play:
        code, out = await run(PYTHON, Path(__file__).with_name("client_of_0_3.py"), play.url)
    assert code == 0, out
    assert json.loads(out) == {
        "streamed": ["task", "status-update"],
        "protocol": "0.3",
        "streaming": True,
        "states": ["completed", "completed", "input-required", "completed", "canceled"],
        "text": "done: hello",
        "same_task": True,
        "unknown_task": -32001,
    }
