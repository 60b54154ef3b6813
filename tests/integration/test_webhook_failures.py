"""Receivers that fail or hang and gateways that die: nothing is lost, told out of order, or told by two of them."""

import asyncio
import gzip
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack, aclosing

import pytest
from redis.asyncio import Redis
from starlette.responses import RedirectResponse, Response

from services.gateway.features.console.views.tasks import delivery_badge
from services.gateway.features.deliveries.dispatcher import WebhookHttpClient
from services.gateway.features.deliveries.model import NoReceiverAnswer, QueuedDelivery, StepAfterDelivery
from services.gateway.features.deliveries.store import RedisDeliveryQueue
from services.gateway.features.webhooks.model import DeliveryProgress, RegisteredWebhook, SignedPost
from services.gateway.features.webhooks.settings import parse_master_secrets
from services.gateway.features.webhooks.store import RedisWebhooks
from shared.domain.outgoing import AllowedAddresses, why_url_refused
from shared.infra.guard import AddressGuard
from shared.infra.secret_cipher import SecretCipher
from tests.http_client import rpc_body
from tests.integration.gateway_process import GatewayProcess, gateway_process
from tests.integration.gateway_stage import PATIENCE, Stage, at, gateway, stage
from tests.integration.test_console import Reader
from tests.integration.webhook_receiver import SECRET, SOON, Receiver, Taken, receiving
from tools.tcp_proxy import TcpProxy


async def _told(play: Stage, receiver: Receiver, task_id: str = "T1") -> None:
    message = {"parts": [{"text": "hello"}]}
    await play.rpc("tasks/send", {"id": task_id, "message": message, "pushNotification": {"url": receiver.url}})


async def _list_hooks(play: Stage) -> Sequence[RegisteredWebhook]:
    """Those of the task that was worked on last."""
    await play.worker.has_begun(1)
    hooks = RedisWebhooks(play.redis, SecretCipher(parse_master_secrets(SECRET).derive_sealing_keys()))
    return await hooks.list_webhooks(play.worker.works[-1].record)


async def until_hook(play: Stage, state: str, delivered: int = 0) -> DeliveryProgress:
    """How far the one webhook was told, once it is in this state: delivery goes on beside us, so there is a bound."""
    async with asyncio.timeout(PATIENCE):
        while True:
            (hook,) = await _list_hooks(play)
            if (delivery_badge(hook).text, hook.progress.delivered) == (state, delivered):
                return hook.progress
            await asyncio.sleep(0.01)


def _states(taken: list[Taken]) -> list[object]:
    return [at(one.json, "status.state") for one in taken]


@pytest.mark.promise("push.retried")
async def test_a_receiver_that_fails_gets_the_same_delivery_until_it_takes_it(redis: Redis, redis_url: str) -> None:
    """And only then the next one: one id and one body for all tries of one delivery, in the order of the task."""
    async with receiving(500, 503, 404) as receiver, stage(redis, redis_url, **SOON) as play:
        await _told(play, receiver)
        taken = await receiver.has(5)
        hook = await until_hook(play, "Told", delivered=2)
    assert _states(taken) == ["working"] * 4 + ["completed"]
    assert len({(one.delivery_id, one.body) for one in taken[:4]}) == 1
    assert taken[4].delivery_id != taken[3].delivery_id
    assert (hook.tries, hook.error) == (0, "")


@pytest.mark.promise("push.retried")
async def test_a_receiver_that_hangs_is_left_in_time_and_tried_again(redis: Redis, redis_url: str) -> None:
    async def hangs(_: Taken) -> Response:
        await asyncio.sleep(PATIENCE)
        return Response()

    async with receiving(hangs) as receiver, stage(redis, redis_url, **{**SOON, "push_timeout": 0.2}) as play:
        await _told(play, receiver)
        taken = await receiver.until(lambda taken: "completed" in _states(taken))
    first, again = taken[:2]
    assert first.delivery_id == again.delivery_id
    assert list(dict.fromkeys(map(str, _states(taken)))) == ["working", "completed"]


@pytest.mark.promise("push.retried")
async def test_a_receiver_that_is_not_there_holds_up_nobody_else(redis: Redis, redis_url: str) -> None:
    """Webhooks of the same task go each their own way."""
    async with receiving() as receiver, stage(redis, redis_url, **SOON) as play:
        await play.send("T1", "ask")
        for url in ("http://127.0.0.1:9/", receiver.url):
            params = {"id": "T1", "pushNotificationConfig": {"url": url}}
            await play.rpc("tasks/pushNotification/set", params)
        await play.send("T1", "approve")
        taken = await receiver.until(lambda taken: "completed" in _states(taken))
        states = {delivery_badge(hook).text for hook in await _list_hooks(play)}
    assert _states(taken)[-1] == "completed"
    assert "Told" in states


@pytest.mark.promise("push.disabled")
async def test_gone_means_gone(redis: Redis, redis_url: str) -> None:
    """410 disables a webhook at once; setting it again begins anew, with how the task stands."""
    async with receiving(410) as receiver, stage(redis, redis_url, **SOON) as play:
        await _told(play, receiver)
        hook = await until_hook(play, "Given up")
        assert hook.error == "it answered 410"
        await play.rpc("tasks/pushNotification/set", {"id": "T1", "pushNotificationConfig": {"url": receiver.url}})
        taken = await receiver.has(2)
    assert _states(taken) == ["working", "completed"]


@pytest.mark.promise("push.disabled")
async def test_a_webhook_that_fails_too_often_is_disabled_and_seen_by_its_tenant(redis: Redis, redis_url: str) -> None:
    async with receiving(*[500] * 9) as receiver, stage(redis, redis_url, **SOON, push_tries=3) as play:
        await _told(play, receiver)
        hook = await until_hook(play, "Given up")
        reader = Reader(play.client)
        await reader.sign_in(name="dana")
        failing, task = [(await reader.go(f"/console/{page}")).text for page in ("webhooks", "tasks/T1")]
    assert len(receiver.taken) == hook.tries == 3
    for shown in ("Given up", "127.0.0.1", "it answered 500", "Tried 3 times", "<code>T1</code>"):
        assert shown in failing
    assert "Last error: it answered 500" in task


@pytest.mark.promise("push.guarded")
async def test_a_redirect_is_not_followed(redis: Redis, redis_url: str) -> None:
    """That it leads inside could not be known when the webhook was set."""

    async def elsewhere(one: Taken) -> Response:
        return RedirectResponse("http://169.254.169.254/secret", status_code=307)

    async with receiving(elsewhere, elsewhere) as receiver, stage(redis, redis_url, **SOON, push_tries=2) as play:
        await _told(play, receiver)
        hook = await until_hook(play, "Given up")
    assert [one.path for one in receiver.taken] == ["/hook", "/hook"]
    assert hook.error == "it answered 307; redirects are not followed"


@pytest.mark.promise("push.guarded")
async def test_a_name_that_leads_inside_by_now_is_not_called() -> None:
    """It passed when it was set: its address is looked at once more for each call, and is what is connected to."""

    async def inside(_: str, __: int) -> list[str]:
        return ["10.0.0.1"]

    async with aclosing(WebhookHttpClient(AddressGuard(AllowedAddresses(permits_public=True), inside), 5, 1)) as post:
        assert why_url_refused("https://hooks.example/a", AllowedAddresses(permits_public=True)) is None
        with pytest.raises(NoReceiverAnswer, match="the URL"):
            await post.post("https://hooks.example/a", {}, b"{}")


@pytest.mark.promise("push.guarded")
async def test_a_name_that_stands_for_no_host_is_an_address_that_gives_no_answer() -> None:
    url, reach = "https://xn--a.example/hook", AllowedAddresses(permits_public=True)
    assert why_url_refused(url, reach) is None
    async with aclosing(WebhookHttpClient(AddressGuard(reach), 5, 1)) as post:
        with pytest.raises(NoReceiverAnswer, match="no answer: InvalidCodepoint"):
            await post.post(url, {}, b"{}")


@pytest.mark.promise("push.guarded")
async def test_in_production_this_machine_is_called_where_the_operator_says_so(redis: Redis, redis_url: str) -> None:
    closed = {**SOON, "profile": "production", "authentication": "off", "allow_volatile_redis": True}
    async with receiving() as receiver:
        async with stage(redis, redis_url, **closed) as play:
            params = {"id": "T1", "message": {"parts": [{"text": "hello"}]}, "pushNotification": {"url": receiver.url}}
            refused = await play.rpc("tasks/send", params)
        async with stage(redis, redis_url, **closed, webhook_allowed_hosts="127.0.0.1") as play:
            await play.rpc("tasks/send", params)
            await receiver.has(2)
    assert at(refused, "error.code") == -32602
    assert "WEBHOOK_ALLOWED_HOSTS" in str(at(refused, "error.message"))


@pytest.mark.promise("push.walls")
async def test_what_a_receiver_answers_touches_no_other_delivery(redis: Redis, redis_url: str) -> None:
    """No cookie is kept, and nothing is unpacked."""

    async def answers(_: Taken) -> Response:
        packed = gzip.compress(b"0" * 10_000_000)
        return Response(packed, headers={"Content-Encoding": "gzip", "Set-Cookie": "who=acme; Path=/"})

    async with receiving(answers, answers) as receiver, stage(redis, redis_url, **SOON) as play:
        await _told(play, receiver)
        taken = await receiver.has(2)
    assert [one.headers.get("cookie") for one in taken] == [None, None]
    assert taken[0].headers["accept-encoding"] == "identity"


OFF = {**SOON, "a2a_push": "off"}


def lines_of(redis: Redis) -> RedisDeliveryQueue:
    return RedisDeliveryQueue(redis, SecretCipher(parse_master_secrets(SECRET).derive_sealing_keys()))


async def claimed(lines: RedisDeliveryQueue, seconds: float) -> QueuedDelivery:
    """The one line that is due, claimed as a gateway claims it."""
    claims = await lines.claim_deliveries((await lines.list_due(10, 10))[0], seconds)
    assert len(claims) == 1
    return claims[0]


def a_notice(url: str, name: str = "n1", tenant: str = "default") -> SignedPost:
    return SignedPost(tenant=tenant, delivery_id=name, subject="an approval", url=url, body='{"text":"hello"}')


def _ended(taken: list[Taken]) -> int:
    return sum(one.json.get("kind") == "task" and at(one.json, "status.state") == "completed" for one in taken)


@pytest.mark.promise("push.killed")
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


@pytest.mark.promise("push.killed")
async def test_what_a_dead_gateway_had_claimed_another_delivers_when_it_ends(redis: Redis, redis_url: str) -> None:
    async with receiving() as receiver:
        lines = lines_of(redis)
        await lines.enqueue(a_notice(receiver.url))
        claim = await claimed(lines, 0.3)
        work = await lines.read_claimed(claim)
        async with gateway(redis_url, **SOON):
            (taken,) = await receiver.has(1)
        assert work is not None
        late = await lines.store_result(claim, work, DeliveryProgress(tries=1), StepAfterDelivery.RETRY, 60)
    taken.verify()
    assert (taken.delivery_id, taken.body) == ("n1", b'{"text":"hello"}')
    assert late == ""


@pytest.mark.promise("push.killed")
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
    call = rpc_body("message/send", {"message": message, "configuration": told})
    reply = await victim.http.post("/", json=call)
    assert reply.json()["result"]["kind"] == "task"


@pytest.mark.promise("push.killed")
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
