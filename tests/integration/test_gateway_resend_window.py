"""How long a message's id makes it the same message, and which card a client gets that names no version."""

import pytest
from redis.asyncio import Redis

from shared.domain.exact_json import JsonObject, loads_object
from tests.integration.gateway_stage import Stage, at, stage

_NEW = {"A2A-Version": "1.0"}
_CARD = "/.well-known/agent-card.json"


async def _sent(play: Stage) -> str:
    said: JsonObject = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    reply = await play.client.post("/message:send", json={"message": said}, headers=_NEW)
    return str(at(loads_object(reply.text), "task.id"))


@pytest.mark.promise("gateway.message_id_window")
async def test_within_the_window_the_same_id_is_the_same_task(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url, message_id_window=120) as play:
        assert await _sent(play) == await _sent(play)
    keys = [key async for key in redis.scan_iter("*:dedupe:*")]
    assert [0 < await redis.ttl(key) <= 120 for key in keys] == [True]


@pytest.mark.promise("gateway.message_id_window")
async def test_without_a_window_ids_may_repeat(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url, message_id_window=0) as play:
        assert await _sent(play) != await _sent(play)


@pytest.mark.promise("gateway.card")
@pytest.mark.parametrize(
    ("card", "has", "lacks"), [("1.0", "supportedInterfaces", "url"), ("0.3", "url", "supportedInterfaces")]
)
async def test_a_setting_says_which_card_is_the_usual_one(
    redis: Redis, redis_url: str, card: str, has: str, lacks: str
) -> None:
    async with stage(redis, redis_url, a2a_card=card) as play:
        usual = loads_object((await play.client.get(_CARD)).text)
        new = loads_object((await play.client.get(_CARD, headers=_NEW)).text)
    assert has in usual
    assert lacks not in usual
    assert "url" not in new
