"""Several gateways deliver from one queue: nothing is lost when one dies, and nothing is told by two of them."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import pytest
from redis.asyncio import Redis
from starlette.responses import Response

from services.gateway.features.deliveries.news import ClaimedDelivery, DeliveryQueue, DeliveryStep
from services.gateway.features.deliveries.store import RedisDeliveryQueue
from services.gateway.features.webhooks.model import HookState, SignedPost
from services.gateway.features.webhooks.secrets import read_secrets
from shared.infra.sealed import Seal
from tests.integration.gateway_process import GatewayProcess, gateway_process
from tests.integration.gateway_stage import at, gateway, stage
from tests.integration.webhook_receiver import SECRET, SOON, Receiver, Taken, receiving
from tools.tcp_proxy import TcpProxy

pytestmark = pytest.mark.promise("push.killed")

OFF = {**SOON, "a2a_push": "off"}


def lines_of(redis: Redis) -> RedisDeliveryQueue:
    return RedisDeliveryQueue(redis, Seal(read_secrets(SECRET).sealing_keys()))


async def claimed(lines: DeliveryQueue, seconds: float) -> ClaimedDelivery:
    """The one line that is due, claimed as a gateway claims it."""
    claims = await lines.claim((await lines.look(10, 10)).due, seconds)
    assert len(claims) == 1
    return claims[0]


def a_notice(url: str, name: str = "n1", tenant: str = "default") -> SignedPost:
    return SignedPost(
        tenant=tenant,
        delivery_id=name,
        subject="an approval",
        url=url,
        body='{"text":"hello"}',
        headers={"X-Kind": "notice"},
    )


def _ended(taken: list[Taken]) -> int:
    return sum(one.json.get("kind") == "task" and at(one.json, "status.state") == "completed" for one in taken)


async def test_replicas_share_the_deliveries_out_and_tell_nothing_twice(redis: Redis, redis_url: str) -> None:
    """All of them hear of each delivery at once."""
    async with AsyncExitStack() as held:
        receiver = await held.enter_async_context(receiving())
        for _ in range(2):
            await held.enter_async_context(gateway(redis_url, **SOON))
        play = await held.enter_async_context(stage(redis, redis_url, **SOON))
        async with asyncio.TaskGroup() as group:
            for number in range(20):
                message = {"messageId": f"m{number}", "role": "user", "parts": [{"kind": "text", "text": "hello"}]}
                told = {"blocking": True, "pushNotificationConfig": {"url": receiver.url}}
                group.create_task(play.rpc("message/send", {"message": message, "configuration": told}))
        taken = await receiver.until(lambda taken: _ended(taken) == 20)
    assert len(taken) == 40
    assert max(Counter(one.delivery_id for one in taken).values()) == 1


async def test_what_a_dead_gateway_had_claimed_another_delivers_when_the_claim_ends(
    redis: Redis, redis_url: str
) -> None:
    async with receiving() as receiver:
        lines = lines_of(redis)
        await lines.enqueue(a_notice(receiver.url))
        claim = await claimed(lines, 0.3)
        work = await lines.read(claim)
        async with gateway(redis_url, **SOON):
            (taken,) = await receiver.has(1)
        assert work is not None
        late = await lines.settle(claim, work, HookState(tries=1), DeliveryStep.RETRY, 60)
    taken.verify()
    assert (taken.delivery_id, taken.headers["x-kind"], taken.body) == ("n1", "notice", b'{"text":"hello"}')
    assert late == ""


@pytest.mark.long
async def test_a_gateway_killed_in_the_middle_of_a_delivery_loses_nothing(redis: Redis, redis_url: str) -> None:
    """The receiver has the first news perhaps twice, with one id, and all that follows in order."""
    dead = asyncio.Event()

    async def hangs(_: Taken) -> Response:
        await dead.wait()
        return Response()

    async with AsyncExitStack() as held:
        receiver = await held.enter_async_context(receiving(hangs))
        play = await held.enter_async_context(stage(redis, redis_url, **OFF))
        victim = await held.enter_async_context(gateway_process(redis_url, **_environ(push_timeout=1)))
        await _send(victim, receiver)
        await receiver.has(1)
        victim.kill()
        dead.set()
        await held.enter_async_context(gateway(redis_url, **SOON))
        taken = await receiver.until(lambda taken: _ended(taken) == 1)
        assert play.worker.seen == ["hello"]
    assert taken[0].delivery_id == taken[1].delivery_id
    assert [at(one.json, "status.state") for one in taken] == ["working", "working", "completed"]


def _environ(**more: object) -> dict[str, str]:
    return {name.upper(): str(value) for name, value in {**SOON, "a2a_push": "on", **more}.items()}


async def _send(victim: GatewayProcess, receiver: Receiver) -> None:
    message = {"messageId": "m1", "role": "user", "parts": [{"kind": "text", "text": "hello"}]}
    told = {"blocking": False, "pushNotificationConfig": {"url": receiver.url}}
    params = {"message": message, "configuration": told}
    call = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params}
    reply = await victim.http.post("/", json=call)
    assert reply.json()["result"]["kind"] == "task"


async def test_a_gateway_that_lost_the_store_goes_on_when_it_is_back(redis: Redis, redis_url: str) -> None:
    """What happened meanwhile, and was published by others, is told then."""
    async with (
        receiving() as receiver,
        TcpProxy(_server_of(redis_url)) as line,
        gateway(f"redis://{line.address}", **SOON),
    ):
        lines = lines_of(redis)
        await lines.enqueue(a_notice(receiver.url, "before"))
        await receiver.has(1)
        await line.refuse()
        await lines.enqueue(a_notice(receiver.url, "meanwhile"))
        await line.accept()
        taken = await receiver.has(2)
    assert [one.delivery_id for one in taken] == ["before", "meanwhile"]


def _server_of(redis_url: str) -> str:
    """As the proxy wants it: with no scheme, if it is not a socket."""
    return redis_url.removeprefix("redis://").partition("/")[0] if redis_url.startswith("redis:") else redis_url
