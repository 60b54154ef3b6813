"""Webhooks of the official client of the 0.3 line, in an environment of its own, over both of its transports."""

import json
from pathlib import Path

import pytest
from redis.asyncio import Redis

from tests.contracts.sdk_of_0_3 import PYTHON, make_environment, run
from tests.integration.gateway_stage import at, stage
from tests.integration.webhook_receiver import SOON, receiving

SCRIPT = Path(__file__).with_name("webhooks_of_0_3.py")


@pytest.mark.promise("push.delivered", "push.methods")
@pytest.mark.parametrize("transport", ["JSONRPC", "HTTP+JSON"])
async def test_it_is_told_and_sets_another(redis: Redis, redis_url: str, transport: str) -> None:
    if reason := await make_environment():
        pytest.skip(f"the 0.3 SDK could not be installed: {reason}")
    async with receiving() as receiver, stage(redis, redis_url, **SOON) as play:
        code, out = await run(PYTHON, SCRIPT, play.url, receiver.url, transport)
        assert code == 0, out
        found = json.loads(out)
        taken = await receiver.until(
            lambda taken: any(at(one.json, "status.state") == "input-required" for one in taken)
        )
    assert found == {"push": True, "task": found["task"], "made": "second", "found": [receiver.url, None]}
    assert (taken[-1].json["id"], taken[-1].headers["x-a2a-notification-token"]) == (found["task"], "t0k")
