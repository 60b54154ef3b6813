"""The durable queue of deliveries: order, claims, crowds, and every way to die between two steps."""

import asyncio
import random
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import given, settings, strategies as st
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.adapters.redis_sessions import RedisSessions
from services.gateway.a2a.views import build_webhook_body
from services.gateway.features.deliveries.model import (
    HttpPoster,
    NoReceiverAnswer,
    QueuedDelivery,
    ReceiverAnswer,
    StepAfterDelivery,
    UnreadableDelivery,
    WebhookWork,
    list_pending_updates,
)
from services.gateway.features.deliveries.service import DeliveryService
from services.gateway.features.deliveries.store import RedisDeliveryQueue
from services.gateway.features.streams.updates import ArtifactUpdate
from services.gateway.features.webhooks.model import DeliveryProgress, FailingDelivery, SignedPost, TaskWebhook
from services.gateway.features.webhooks.settings import PushSettings, parse_master_secrets
from services.gateway.features.webhooks.store import FailingDeliveries, RedisWebhooks
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import loads_object
from shared.domain.partition import partition_of
from shared.domain.words import A2aVersion, TaskState
from shared.infra import keys
from shared.infra.channel_listener import ChannelListener
from shared.infra.lua import Argument, Scripts
from shared.infra.redis import connect
from shared.infra.secret_cipher import SecretCipher
from shared.infra.task_store import TaskStore
from tests.doubles.redis_tasks import a_record, a_turn
from tests.integration.gateway_stage import at
from tests.integration.state_stage import an_end, begin
from tests.integration.webhook_receiver import SECRET

SEAL = SecretCipher(parse_master_secrets(SECRET).derive_sealing_keys())
HOOK = TaskWebhook(config_id="c1", url="https://hooks.example/a", dialect=A2aVersion.A2A_0_3)


def _notice(number: int, tenant: str = "acme") -> SignedPost:
    return SignedPost(
        tenant=tenant, delivery_id=f"n{number}", subject="an approval", url="https://hooks.example/", body="{}"
    )


async def claim_of(lines: RedisDeliveryQueue, seconds: float = 60) -> QueuedDelivery:
    (claim,) = await lines.claim_deliveries((await lines.list_due(10, 10))[0], seconds)
    return claim


async def _hooked(redis: Redis, store: TaskStore, webhook: TaskWebhook = HOOK) -> TaskRecord:
    record = a_record()
    await store.accept(record, a_turn(record), dedupe=None)
    await RedisWebhooks(redis, SEAL).register_webhook(record, webhook, includes_past=True, limit=3)
    return record


async def _finish(redis: Redis, record: TaskRecord, state: TaskState = TaskState.COMPLETED) -> None:
    begun = await begin(RedisSessions(redis, owner="one", lease_seconds=30), record.session_id)
    end, turn_id = an_end(begun.work, state), begun.work.turn.turn_id
    told = {"answer": f"so it is {state.value}", "turns_done": (*begun.work.record.turns_done, turn_id)}
    await begun.store.finish(end._replace(record=end.record.model_copy(update=told)))


async def test_a_line_is_claimed_once(redis: Redis) -> None:
    lines = RedisDeliveryQueue(redis, SEAL)
    await lines.enqueue(_notice(1))
    due = (await lines.list_due(10, 10))[0]
    both = await asyncio.gather(*(lines.claim_deliveries(due, 60) for _ in range(2)))
    assert sorted(map(len, both)) == [0, 1]
    assert (await lines.list_due(10, 10))[0] == []


async def test_the_next_look_is_due_when_the_claim_ends(redis: Redis) -> None:
    lines = RedisDeliveryQueue(redis, SEAL)
    assert (await lines.list_due(10, 10))[1] is None
    await lines.enqueue(_notice(1))
    await claim_of(lines, 60)
    found = (await lines.list_due(10, 10))[1]
    assert found is not None
    assert 50 < found <= 60


async def test_a_notice_is_kept_once_and_goes_when_it_is_delivered(redis: Redis) -> None:
    lines = RedisDeliveryQueue(redis, SEAL)
    for _ in range(2):
        await lines.enqueue(_notice(1))
    claim = await claim_of(lines)
    work = await lines.read_claimed(claim)
    assert work is not None
    await lines.store_result(claim, work, DeliveryProgress(delivered=1), StepAfterDelivery.DONE, 0)
    assert [name async for name in redis.scan_iter("*")] == []


@pytest.mark.promise("push.fair")
async def test_a_crowd_too_large_for_one_look_hides_nobody_elses_line_for_long(redis: Redis) -> None:
    """The next looks read on from where the last one ended, and the oldest line is in each of them."""
    partition = keys.partition_keys(0).deliveries
    crowd = {keys.pack_member(keys.NoticeDeliveryMember("acme", f"n{number:05}")): number for number in range(25_000)}
    await redis.zadd(partition, {**crowd, keys.pack_member(keys.NoticeDeliveryMember("other", "n1")): 30_000})
    lines = RedisDeliveryQueue(redis, SEAL)
    looks = [[one.tenant for one in (await lines.list_due(32, 8))[0]] for _ in range(6)]
    assert [look[:8] for look in looks] == [["acme"] * 8] * 6
    assert [look[8:] for look in looks].count(["other"]) == 2


@pytest.mark.promise("push.killed")
async def test_an_event_that_comes_while_a_line_is_held_is_not_missed(redis: Redis, task_store: TaskStore) -> None:
    lines, record = RedisDeliveryQueue(redis, SEAL), await _hooked(redis, task_store)
    claim = await claim_of(lines)
    work = await lines.read_claimed(claim)
    assert isinstance(work, WebhookWork)
    await _finish(redis, record)
    await lines.store_result(
        claim, work, work.progress.model_copy(update={"cursor": work.events[-1][0]}), StepAfterDelivery.DONE, 0
    )
    again = await lines.read_claimed(await claim_of(lines))
    assert isinstance(again, WebhookWork)
    assert [event.kind for _, event in again.events][-1] == "turn_finished"


async def test_a_webhook_that_was_put_off_is_not_hurried_by_news(redis: Redis, task_store: TaskStore) -> None:
    lines, record = RedisDeliveryQueue(redis, SEAL), await _hooked(redis, task_store)
    claim = await claim_of(lines)
    work = await lines.read_claimed(claim)
    assert work is not None
    await lines.store_result(
        claim, work, DeliveryProgress(tries=1, error="it answered 500"), StepAfterDelivery.RETRY, 60
    )
    await _finish(redis, record)
    assert (await lines.list_due(10, 10))[0] == []


async def test_a_webhook_set_anew_is_not_bound_to_what_was_under_way(redis: Redis, task_store: TaskStore) -> None:
    lines, record = RedisDeliveryQueue(redis, SEAL), await _hooked(redis, task_store)
    stale = await claim_of(lines)
    work = await lines.read_claimed(stale)
    assert work is not None
    await RedisWebhooks(redis, SEAL).register_webhook(
        record, HOOK.model_copy(update={"url": "https://b.example/"}), includes_past=True, limit=3
    )
    assert await lines.store_result(stale, work, DeliveryProgress(disabled=True), StepAfterDelivery.DISABLE, 0) == ""
    again = await lines.read_claimed(await claim_of(lines))
    assert isinstance(again, WebhookWork)
    assert (again.webhook.url, again.progress.disabled) == ("https://b.example/", False)


@pytest.mark.promise("push.killed")
@pytest.mark.parametrize("dialect", list(A2aVersion))
async def test_an_end_whose_events_have_left_is_told(redis: Redis, task_store: TaskStore, dialect: A2aVersion) -> None:
    """Details leave an hour after the end, and a receiver may be away for longer."""
    record = await _hooked(redis, task_store, HOOK.model_copy(update={"dialect": dialect}))
    await _finish(redis, record)
    await redis.delete(keys.task_keys(record.tenant, record.session_id, record.task_id).events)
    world = World(redis)
    await world.deliver()
    assert "completed" in world.bodies[HOOK.url][-1].lower()
    assert (await RedisDeliveryQueue(redis, SEAL).list_due(10, 10))[0] == []


@pytest.mark.promise("push.disabled")
async def test_what_no_key_opens_any_more_is_given_up_and_a_notice_leaves(redis: Redis, task_store: TaskStore) -> None:
    """After a change of WEBHOOK_SECRET that forgot the one before."""
    record = await _hooked(redis, task_store)
    await RedisDeliveryQueue(redis, SEAL).enqueue(_notice(1))
    lines = RedisDeliveryQueue(redis, SecretCipher(parse_master_secrets("b3RoZXI" * 8).derive_sealing_keys()))
    found = []
    for claim in await lines.claim_deliveries((await lines.list_due(10, 10))[0], 60):
        work = await lines.read_claimed(claim)
        assert isinstance(work, UnreadableDelivery)
        found.append((work.subject, work.config_id))
        await lines.store_result(
            claim, work, work.progress.model_copy(update={"tries": 12, "disabled": True}), StepAfterDelivery.DISABLE, 0
        )
    assert sorted(found) == [("a notice", "n1"), (record.task_id, "c1")]
    assert await redis.exists(keys.partition_keys(partition_of("acme", "n1")).posts) == 0
    assert (await lines.list_due(10, 10))[0] == []


async def test_a_line_whose_task_has_left_goes(redis: Redis, task_store: TaskStore) -> None:
    record = await _hooked(redis, task_store)
    await redis.delete(keys.task_keys(record.tenant, record.session_id, record.task_id).record)
    await World(redis).deliver()
    assert await redis.zcard(keys.partition_keys_of(record.tenant, record.session_id).deliveries) == 0


class Dies(Exception):
    """The gateway is killed here."""


class World(HttpPoster):
    """Receivers, and gateways that die and fail as ``fates`` say, one at each request to ``HOOK``; then all goes well.

    ``bodies``: what each URL was told, without what its receiver knows by its id.
    """

    def __init__(self, redis: Redis, fates: str = "") -> None:
        self._fates = list(fates)
        self._redis = redis
        self._ids = set[str]()
        self.bodies: dict[str, list[str]] = defaultdict(list)

    @override
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverAnswer:
        fate = self._fates.pop(0) if self._fates and url == HOOK.url else "ok"
        if fate == "d":  # before the request has arrived
            raise Dies
        if fate == "f":
            raise NoReceiverAnswer("no answer")
        if headers["webhook-id"] not in self._ids:
            self._ids.add(headers["webhook-id"])
            self.bodies[url].append(body.decode())
        if fate == "k":  # the receiver has it, and nobody notes it
            raise Dies
        return ReceiverAnswer(200)

    async def deliver(self) -> None:
        """Until nothing waits. Claims end at once, so that nobody has to wait for those of the dead."""
        lines = RedisDeliveryQueue(self._redis, SEAL)
        given, body = PushSettings(webhook_secret=SECRET), partial(build_webhook_body, "")
        patient = given.model_copy(update={"push_first_pause": 0, "push_tries": 1000})
        courier = DeliveryService(lines, self, body, patient, lambda: datetime.now(UTC), random.random)
        while due := (await lines.list_due(10, 10))[0]:
            for claim in await lines.claim_deliveries(due, 60):
                try:
                    await courier.deliver_claimed(claim)
                except Dies:
                    await self._end_of(claim)

    async def _end_of(self, claim: QueuedDelivery) -> None:
        member = keys.unpack_delivery(claim.member)
        assert isinstance(member, keys.WebhookMember)
        place = keys.partition_keys_of(member.tenant, member.session_id).deliveries
        await self._redis.zadd(place, {claim.member: 1})


@pytest.mark.promise("push.killed")
@settings(max_examples=12)
@given(fates=st.text("dkf", max_size=8), waits=st.booleans(), dialect=st.sampled_from(A2aVersion))
def test_whatever_dies_all_is_told_in_order(redis_server: str, fates: str, waits: bool, dialect: A2aVersion) -> None:
    """Of two webhooks of one task, the one that meets with mishaps is told the same as the other."""
    asyncio.run(_same_whatever_dies(redis_server, fates, waits, dialect))


async def _same_whatever_dies(url: str, fates: str, waits: bool, dialect: A2aVersion) -> None:
    redis = connect(url)
    await redis.flushall()
    async with ChannelListener(redis) as live:
        store, world = TaskStore(redis, live), World(redis, fates)
        record = await _hooked(redis, store, HOOK.model_copy(update={"dialect": dialect}))
        twin = HOOK.model_copy(update={"dialect": dialect, "config_id": "c2", "url": "https://twin.example/"})
        await RedisWebhooks(redis, SEAL).register_webhook(record, twin, includes_past=True, limit=3)
        await world.deliver()
        if waits:
            await _finish(redis, record, TaskState.INPUT_REQUIRED)
            await world.deliver()
            await store.accept(record, a_turn(record), dedupe=None)
        await _finish(redis, record)
        await world.deliver()
    await redis.aclose()
    assert world.bodies[HOOK.url] == world.bodies[twin.url] != []


@pytest.mark.promise("push.killed")
async def test_a_result_that_has_gone_takes_no_other_news_with_it(redis: Redis, task_store: TaskStore) -> None:
    """Delivery stops after the question's result; meanwhile the task goes on, and then the question itself is told."""
    record = await _hooked(redis, task_store, HOOK.model_copy(update={"dialect": A2aVersion.A2A_1_0}))
    await _finish(redis, record, TaskState.INPUT_REQUIRED)
    world = World(redis)
    lines = RedisDeliveryQueue(redis, SEAL)
    claim = await claim_of(lines)
    work = await lines.read_claimed(claim)
    assert isinstance(work, WebhookWork)
    first = list_pending_updates(work)[0]
    assert isinstance(first.update, ArtifactUpdate)
    await lines.store_result(claim, work, first.progress, StepAfterDelivery.RETRY, 0)
    await task_store.accept(record, a_turn(record), dedupe=None)
    await _finish(redis, record)
    await world.deliver()
    states = [
        at(loads_object(body), "statusUpdate.status.state") for body in world.bodies[HOOK.url] if "statusU" in body
    ]
    assert states == ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED"]


async def test_what_a_gateway_cannot_read_waits_for_one_that_can(redis: Redis, task_store: TaskStore) -> None:
    """A secret that reaches one replica before the other loses nobody's webhook."""
    record = await _hooked(redis, task_store)
    changed = RedisDeliveryQueue(redis, SecretCipher(parse_master_secrets("bmV3" * 8).derive_sealing_keys()))
    claim = await claim_of(changed, 0)
    closed = await changed.read_claimed(claim)
    assert isinstance(closed, UnreadableDelivery)
    await changed.store_result(
        claim, closed, closed.progress.model_copy(update={"tries": 1}), StepAfterDelivery.RETRY, 0
    )
    await _finish(redis, record)
    world = World(redis)
    await world.deliver()
    assert "completed" in world.bodies[HOOK.url][-1]


async def test_so_many_failures_are_shown_and_no_more(redis: Redis) -> None:
    """One that is noted is kept up to date all the same."""
    failing, notes = (
        FailingDelivery(
            subject="T1", config_id="c1", host="a.example", error="it answered 500", tries=1, disabled=False
        ),
        FailingDeliveries(Scripts(redis)),
    )
    await redis.hset(keys.failing_webhooks_key("acme"), mapping={f"m{n}": _row(failing) for n in range(1000)})  # type: ignore[misc]  # redis-py
    await notes.add_delivery("acme", "one more", failing)
    await notes.add_delivery("acme", "m1", failing.model_copy(update={"tries": 7}))
    found = await notes.list_newest("acme")
    assert (len(found), max(one.tries for one in found)) == (1000, 7)


def _row(failing: FailingDelivery) -> str:
    return failing.model_dump_json()


class SetAnewWhileRead(RedisDeliveryQueue):
    """A queue whose client sets the removed webhook again right after the look at what is to be delivered."""

    def __init__(self, redis: Redis, webhooks: RedisWebhooks, record: TaskRecord) -> None:
        super().__init__(redis, SEAL)
        self._webhooks, self._record, self._look = webhooks, record, self._scripts.execute
        self._scripts.execute = self._look_and_set_again  # type: ignore[method-assign]

    async def _look_and_set_again(self, *command: Argument) -> object:
        reply = await self._look(*command)
        if command[0] == "HGET":
            await self._webhooks.register_webhook(self._record, HOOK, includes_past=True, limit=10)
        return reply


@pytest.mark.promise("push.killed")
async def test_a_webhook_that_is_set_anew_while_a_removed_one_is_cleared_away_stays(
    redis: Redis, task_store: TaskStore
) -> None:
    record, webhooks = a_record(), RedisWebhooks(redis, SEAL)
    await task_store.accept(record, a_turn(record), dedupe=None)
    queue = SetAnewWhileRead(redis, webhooks, record)
    await webhooks.register_webhook(record, HOOK, includes_past=True, limit=10)
    claim = await claim_of(queue)
    await webhooks.delete_webhook(record, HOOK.config_id)
    assert await queue.read_claimed(claim) is None
    assert len(await webhooks.list_webhooks(record)) == 1
