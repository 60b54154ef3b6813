"""The durable state on a cluster of three primaries, and on a service that sentinels watch, through a real failover."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import AsyncExitStack, aclosing, contextmanager
from pathlib import Path
from typing import cast

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError
from typing_extensions import override

from services.executor.adapters.redis_learned import RedisLearnedStore
from services.executor.adapters.redis_sessions import RedisSlots
from services.executor.adapters.redis_upkeep import Reaper
from services.executor.ports.turns import DayCharges, JournalEntry
from services.gateway.features.deliveries.model import StepAfterDelivery, WebhookWork
from services.gateway.features.deliveries.store import RedisDeliveryQueue
from services.gateway.features.learning import LearnedData
from services.gateway.features.tasks.store import MessageKey, RedisClientIds
from services.gateway.features.webhooks.model import SignedPost, TaskWebhook
from services.gateway.features.webhooks.store import RedisWebhooks
from services.learner.adapters.redis_learned_files import change_learned_data, hash_stored_list
from services.learner.ports.files import StoredVersions
from shared.contracts.task import TaskRecord
from shared.domain.words import A2aVersion, WriteStatus
from shared.infra import keys
from shared.infra.channel_listener import ChannelListener
from shared.infra.embedded_redis import find_server_program
from shared.infra.lineage import get_lineage
from shared.infra.lua import Scripts
from shared.infra.process import make_parent_death_hook
from shared.infra.redis import connect, make_queue_pool, require_durable_redis
from shared.infra.rpc import RpcQueue
from shared.infra.task_store import TaskStore
from shared.ports.daily_spend import Charge
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import TaskEnded, TenantIsStopped, TooManyWaiting
from tests.doubles.heard_wakes import HeardWakes
from tests.doubles.redis_tasks import a_record, a_turn
from tests.integration.redis_nodes import cluster_url, join_nodes, three_primaries
from tests.integration.redis_pair import PATIENCE, Node, Pair, free_ports, pair_of_servers
from tests.integration.state_stage import NOTE, accepted, an_end, an_entry, begin, sessions_of
from tests.integration.test_webhook_lines import SEAL, claim_of
from tests.redis_server import short_folder


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[Node]]:
    with three_primaries() as nodes:
        yield nodes


@pytest.fixture
async def cluster(nodes: list[Node]) -> AsyncIterator[Redis]:
    """A client of the whole cluster, which is empty."""
    await join_nodes(nodes)
    for node in nodes:
        await node.say("FLUSHALL")
    client = connect(cluster_url(nodes))
    yield client
    await client.aclose()


@pytest.mark.promise("redis.cluster")
async def test_every_step_of_a_turn_touches_one_slot(cluster: Redis) -> None:
    async with ChannelListener(cluster) as live:
        store = TaskStore(cluster, live)
        record = await accepted(store)
        begun = await begin(sessions_of(cluster, "one"))
        await begun.store.append([JournalEntry("k1", "note", "{}")], [NOTE])
        await begun.store.append([], [NOTE], begun.work.record)
        await begun.store.open_write(an_entry(), 1.0)
        await begun.store.settle_write(an_entry(WriteStatus.SENT), WriteStatus.SENDING)
        charges = (DayCharges("2026-03-01", (Charge("a", 7, 70),)),)
        await begun.store.finish(an_end(begun.work)._replace(charges=charges))
        kinds = await _told(store, record.task_id)
        ended = await store.get_record("acme", record.task_id)
    assert kinds[0] == "submitted"
    assert kinds[-1] == "turn_finished"
    assert await cluster.hget(keys.spend_key("acme", "2026-03-01"), "tokens") == "7"  # type: ignore[misc]  # sync or async
    assert ended is not None
    assert ended.state.is_terminal


@pytest.mark.promise("redis.cluster")
async def test_sessions_are_looked_after_there(cluster: Redis) -> None:
    """The reaper looks at all partitions in one round trip, and one heartbeat keeps leases of many partitions."""
    async with ChannelListener(cluster) as live:
        store = TaskStore(cluster, live)
        for number in range(8):
            await accepted(store, f"s{number}")
        sessions = sessions_of(cluster, "one")
        leases = [await sessions.claim("acme", f"s{number}") for number in range(8)]
        kept = [lease for lease in leases if lease is not None]
        assert (await sessions.extend_all(kept)).lost == ()
        assert len(kept) == 8
        async with asyncio.timeout(PATIENCE):
            late = await accepted(store, "late")
            while late.session_id not in {
                one.session_id for one in (await Reaper(cluster, HeardWakes()).find_overdue()).unwoken
            }:
                await asyncio.sleep(0.05)  # until its wake counts as lost


async def test_what_else_the_services_ask_works_there(cluster: Redis) -> None:
    await require_durable_redis(cluster)
    async with ChannelListener(cluster) as live:
        store, key = TaskStore(cluster, live), MessageKey("acme", "c1", "f")
        record = await accepted(store)
        client_ids = RedisClientIds(cluster, store)
        await client_ids.record_task(key, record.task_id)
        assert (await client_ids.find_task(key)).record == record
    assert (await LearnedData(cluster).read_totals("acme")).cases == 0
    assert (await RedisLearnedStore(cluster).recall("acme", "general")).cases == ()


async def test_what_takes_several_commands_works_there(cluster: Redis) -> None:
    """Those of one step go to one node, whoever asks for others in the same moment."""
    slots, queue = RedisSlots(cluster), RpcQueue(cluster, "learner")
    taken = [(await slots.acquire("acme", session, 1, 60.0)).has_slot for session in ("a", "b")]
    first, *_ = await asyncio.gather(
        slots.release("acme", "a", 1), queue.post_request("do it", 30.0), queue.post_request("and that", 60.0)
    )
    left = await cast("Awaitable[int]", cluster.llen(keys.rpc_queue_key("learner")))
    lives = await cluster.ttl(keys.rpc_queue_key("learner"))
    assert (taken, first, left) == ([True, False], ["b"], 2)
    assert 30 < lives <= 60


async def test_what_is_learned_is_changed_in_one_step_there(cluster: Redis) -> None:
    names = keys.learned_keys("acme")
    brought = [("RPUSH", names.cases, ["one", "two"]), ("HSET", names.seeded, ("rows.json", "1"))]
    kept = [
        await change_learned_data(Scripts(cluster), "acme", brought, StoredVersions(cases=hash_stored_list(())))
        for _ in "ab"
    ]
    assert kept == [True, False]
    assert await cast("Awaitable[list[str]]", cluster.lrange(names.cases, 0, -1)) == ["one", "two"]


async def test_a_cluster_that_is_away_says_so() -> None:
    (nobody,) = free_ports(1)
    client = connect(f"redis+cluster://127.0.0.1:{nobody}")
    with pytest.raises(StoreUnavailable):
        await TaskStore(client, ChannelListener(client)).get_record("acme", "t1")
    await client.aclose()


@pytest.mark.promise("redis.cluster")
async def test_webhooks_and_notices_are_kept_claimed_and_settled_there(cluster: Redis) -> None:
    lines, hooks = RedisDeliveryQueue(cluster, SEAL), RedisWebhooks(cluster, SEAL)
    async with ChannelListener(cluster) as live:
        record = await accepted(TaskStore(cluster, live))
        await hooks.register_webhook(
            record,
            TaskWebhook(config_id="c1", url="https://a.example/", dialect=A2aVersion.A2A_1_0),
            includes_past=True,
            limit=3,
        )
        claim = await claim_of(lines)
        work = await lines.read_claimed(claim)
        assert isinstance(work, WebhookWork)
        begun = await begin(sessions_of(cluster, "one"))
        await begun.store.finish(an_end(begun.work))
        await lines.store_result(
            claim, work, work.progress.model_copy(update={"cursor": work.events[-1][0]}), StepAfterDelivery.DONE, 0
        )
        again = await lines.read_claimed(await claim_of(lines))
        await lines.enqueue(
            SignedPost(tenant="acme", delivery_id="n1", subject="an approval", url="https://a.example/", body="{}")
        )
        due = (await lines.list_due(10, 10))[0]
    assert isinstance(again, WebhookWork)
    assert again.events[-1][1].kind == "turn_finished"
    assert len(due) == 1


async def _told(store: TaskStore, task_id: str) -> list[str]:
    kinds: list[str] = []
    async with asyncio.timeout(PATIENCE), aclosing(store.watch("acme", task_id)) as events:
        async for _, event in events:
            kinds.append(event.kind)
            if event.kind == "turn_finished":
                return kinds
    return kinds


async def test_only_a_turn_that_is_accepted_keeps_its_tasks_name_for_good(cluster: Redis) -> None:
    """The name of a task that has left goes after its time, whatever is refused of the task meanwhile."""
    async with ChannelListener(cluster) as live:
        store = TaskStore(cluster, live)
        record = await accepted(store, "named")
        name = keys.task_location_key("acme", record.task_id)
        await cluster.expire(name, 1_000)
        await store.accept(record, a_turn(record), dedupe=None)
        assert await cluster.ttl(name) == -1
        begun = await begin(sessions_of(cluster, "one"), "named")
        await begun.store.finish(an_end(begun.work))
        await cluster.expire(name, 1_000)
        with pytest.raises(TaskEnded):
            await store.accept(record, a_turn(record), dedupe=None)
        assert await cluster.ttl(name) > 0


class OvertakenStore(TaskStore):
    """A store of a gateway that another one overtakes between its two steps, after which the tenant is stopped."""

    def __init__(self, redis: Redis, live: ChannelListener) -> None:
        super().__init__(redis, live)
        self._redis, self._other = redis, TaskStore(redis, live)

    @override
    async def _claim_alias(self, record: TaskRecord) -> bool:
        is_fresh = await super()._claim_alias(record)
        await self._other.accept(record, a_turn(record, text="another message"), dedupe=None)
        await self._redis.set(keys.tenant_stop_key(record.tenant, record.session_id), "1\nstopped")
        return is_fresh


async def test_a_refused_message_does_not_take_the_name_of_a_task_that_another_has_begun(cluster: Redis) -> None:
    record = a_record("named")
    async with ChannelListener(cluster) as live:
        with pytest.raises(TenantIsStopped):
            await OvertakenStore(cluster, live).accept(record, a_turn(record), dedupe=None)
        assert await TaskStore(cluster, live).get_record(record.tenant, record.task_id) is not None


@pytest.mark.promise("gateway.sheds_load")
async def test_more_sessions_than_may_wait_are_refused_there_too(cluster: Redis) -> None:
    async with ChannelListener(cluster) as live:
        store = TaskStore(cluster, live, most_waiting=2)
        for number in range(2):
            await accepted(store, f"s{number}")
        with pytest.raises(TooManyWaiting):
            await accepted(store, "late")


@pytest.mark.promise("gateway.exact_limit")
async def test_of_callers_of_one_moment_as_many_are_let_in_as_may_wait(cluster: Redis, nodes: list[Node]) -> None:
    """No step of a cluster counts all partitions: whoever stores a message counts those who stand ahead, too."""
    async with AsyncExitStack() as held:
        gateways: list[TaskStore] = []
        for _ in range(3):
            client = connect(cluster_url(nodes))
            held.push_async_callback(client.aclose)
            gateways.append(TaskStore(client, await held.enter_async_context(ChannelListener(client)), most_waiting=20))
        callers = (accepted(gateways[number % 3], f"s{number}") for number in range(90))
        told = await asyncio.gather(*callers, return_exceptions=True)
        assert sum(isinstance(one, TooManyWaiting) for one in told) == 70
        assert sum(isinstance(one, TaskRecord) for one in told) == 20
        assert not await cluster.exists(keys.ADMISSION_KEY)
        begun = await begin(
            sessions_of(cluster, "one"), next(one for one in told if isinstance(one, TaskRecord)).session_id
        )
        assert begun
        await accepted(gateways[0], "late")
        with pytest.raises(TooManyWaiting):
            await accepted(gateways[1], "later")


@pytest.mark.promise("gateway.exact_limit")
async def test_a_gateway_that_died_before_it_stored_a_message_keeps_nobody_out_for_long(cluster: Redis) -> None:
    async with ChannelListener(cluster) as live:
        store = TaskStore(cluster, live, most_waiting=1)
        await Scripts(cluster).run("take_place", [keys.ADMISSION_KEY], ["dead", 60_000])
        async with asyncio.timeout(5):  # all of them wait together for who died
            early = (accepted(store, f"early{number}") for number in range(20))
            told = await asyncio.gather(*early, return_exceptions=True)
        assert {type(one) for one in told} == {TooManyWaiting}
        await cluster.zadd(keys.ADMISSION_KEY, {"dead": 1})  # as when its time is over
        await accepted(store, "late")


@pytest.fixture
def pair() -> Iterator[Pair]:
    with pair_of_servers() as servers:
        yield servers


@pytest.fixture
async def sentinel(pair: Pair) -> AsyncIterator[int]:
    """The port of one sentinel that knows the pair as ``orders``."""
    await pair.replicate()
    with _sentinel(pair.first.port) as port:
        watcher = Redis(port=port, decode_responses=True)
        await _until(watcher, "num-slaves", "1")
        yield port
        await watcher.aclose()


def _url(sentinel: int) -> str:
    nobody = free_ports(1)[0]  # a sentinel that is down is passed over
    return f"redis+sentinel://127.0.0.1:{nobody},127.0.0.1:{sentinel}/orders/0"


@pytest.mark.promise("redis.sentinel")
async def test_a_turn_goes_on_through_a_failover(pair: Pair, sentinel: int) -> None:
    """The primary is killed; the sentinel promotes the replica; nothing but the name leads there."""
    client = connect(_url(sentinel))
    async with ChannelListener(client) as live:
        await accepted(TaskStore(client, live))
        begun = await begin(sessions_of(client, "one"))
        await begun.store.append([JournalEntry("k1", "note", "{}")])
        await pair.catch_up()
        pair.first.server.kill()
        async with asyncio.timeout(PATIENCE):
            await begun.store.append([JournalEntry("k2", "note", "{}")])
        keys = [step.key for step in await begun.store.read_journal()]
    assert keys == ["k1", "k2"]
    assert get_lineage(client).failed_over_at is not None
    await client.aclose()


@pytest.mark.promise("redis.sentinel")
async def test_the_queue_is_found_by_name_too(sentinel: int) -> None:
    pool = make_queue_pool(_url(sentinel))
    queue = Redis.from_pool(pool)
    assert await queue.ping()
    await queue.aclose()


async def test_a_service_that_no_sentinel_knows_is_said_by_name(sentinel: int) -> None:
    client = connect(f"redis+sentinel://127.0.0.1:{sentinel}/other/0")
    with pytest.raises(StoreUnavailable, match="no sentinel knows the primary of 'other'"):
        await Scripts(client).execute("PING")
    await client.aclose()


@contextmanager
def _sentinel(primary: int) -> Iterator[int]:
    (port,) = free_ports(1)
    lines = [
        f"port {port}",
        "bind 127.0.0.1",
        f"sentinel monitor orders 127.0.0.1 {primary} 1",
        "sentinel down-after-milliseconds orders 500",
        "sentinel failover-timeout orders 3000",
    ]
    with short_folder() as folder:
        config = Path(folder) / "sentinel.conf"
        config.write_text("\n".join([*lines, f"dir {folder}", ""]))
        process = subprocess.Popen(
            [find_server_program(), str(config), "--sentinel"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            preexec_fn=make_parent_death_hook(),  # noqa: PLW1509  # no other thread runs in the tests
        )
        try:
            yield port
        finally:
            process.kill()
            process.wait()


async def _until(watcher: Redis, field: str, value: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while await _said(watcher, field) != value:
            await asyncio.sleep(0.05)  # between two looks


async def _said(watcher: Redis, field: str) -> str:
    try:
        masters = await watcher.sentinel_masters()  # type: ignore[no-untyped-call]  # redis-py
    except RedisError:  # it has not begun to listen
        return ""
    return str(masters.get("orders", {}).get(field))
