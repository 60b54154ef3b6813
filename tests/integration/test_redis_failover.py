"""A replica takes over: connections follow it, and what it may lack is not taken for never done."""

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.ports.sessions import Lease
from services.executor.ports.turns import LedgerConflict
from services.learner.adapters.redis_memory import RedisMemory
from services.learner.adapters.redis_outcomes import REMEMBERING, RedisOutcomes
from services.learner.core.learner import Learner
from services.learner.core.memory.follower import OutcomeFollower
from services.learner.ports.outcomes import Delivery, Lesson, LessonRefused
from shared.domain.partition import PARTITIONS
from shared.domain.words import WriteStatus
from shared.infra import keys
from shared.infra.lineage import Lineage, lineage_of
from shared.infra.live import Live
from shared.infra.lua import Scripts
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from shared.ports.store import StoreUnavailable
from tests.doubles.redis_tasks import a_record, a_turn
from tests.integration.learner_stage import an_outcome, hash_of, leave, unsettled
from tests.integration.redis_pair import Pair, pair_of_servers
from tests.integration.state_stage import accepted, an_entry, begin, break_lease, sessions_of
from tools.tcp_proxy import TcpProxy


@pytest.fixture(scope="module")
def servers() -> Iterator[Pair]:
    with pair_of_servers() as pair:
        yield pair


@pytest.fixture
async def pair(servers: Pair) -> Pair:
    for node in servers:
        await node.say("REPLICAOF", "NO", "ONE")
        await node.say("FLUSHALL")
    await servers.replicate()
    return servers


@pytest.fixture
async def name(pair: Pair) -> AsyncIterator[TcpProxy]:
    """The name of the primary: it leads to the first server until somebody changes that."""
    async with TcpProxy(f"127.0.0.1:{pair.first.port}") as proxy:
        yield proxy


@pytest.fixture
async def client(name: TcpProxy) -> AsyncIterator[Redis]:
    redis = connect(f"redis://{name.address}/0")
    yield redis
    await redis.aclose()


@pytest.mark.promise("redis.follows_primary")
async def test_a_connection_to_a_server_that_became_a_replica_is_dropped(
    pair: Pair, name: TcpProxy, client: Redis
) -> None:
    """The name leads elsewhere by then, but the connection is still open: only the refusal tells."""
    scripts = Scripts(client, patience=10.0)
    await scripts.command("SET", "a", "1")
    await pair.fail_over()
    name.upstream = f"127.0.0.1:{pair.second.port}"
    await scripts.command("SET", "a", "2")
    assert await pair.second.say("GET", "a") == "2"


@pytest.mark.promise("redis.follows_primary")
async def test_a_script_follows_the_primary_too(pair: Pair, name: TcpProxy, client: Redis) -> None:
    async with Live(client) as live:
        store = TaskStore(client, live)
        await accepted(store)
        begun = await begin(sessions_of(client, "one"))
        await pair.first.say("WAIT", 1, 1000)
        await pair.fail_over()
        name.upstream = f"127.0.0.1:{pair.second.port}"
        await begun.store.append([])
        await begun.store.pulse()


@pytest.mark.promise("redis.failover_noticed")
async def test_a_failover_is_noticed_by_the_next_connection(pair: Pair, name: TcpProxy, client: Redis) -> None:
    await client.set("a", "1")
    await pair.first.say("WAIT", 1, 1000)
    assert lineage_of(client).failed_over is None
    await pair.fail_over()
    name.upstream = f"127.0.0.1:{pair.second.port}"
    name.cut()
    await Scripts(client, patience=10.0).command("SET", "a", "2")
    assert lineage_of(client).failed_over is not None


@pytest.mark.promise("redis.failover_noticed")
async def test_a_process_that_starts_later_knows_of_the_failover(pair: Pair, name: TcpProxy, client: Redis) -> None:
    await client.set("a", "1")
    await pair.fail_over()
    late = [connect(f"redis://127.0.0.1:{pair.second.port}/0") for _ in range(2)]
    for redis in late:
        await redis.ping()
    seen = [lineage_of(redis).failed_over for redis in late]
    for redis in late:
        await redis.aclose()
    assert seen[0] is not None
    assert seen[0] == seen[1]


async def test_a_restart_is_no_failover(pair: Pair) -> None:
    await pair.second.say("REPLICAOF", "NO", "ONE")
    url = pair.first.server.url
    before = connect(url)
    await before.ping()
    await before.aclose()
    pair.first.server.kill()
    pair.first.server.start()
    after = connect(url)
    await after.ping()
    seen: Lineage = lineage_of(after)
    await after.aclose()
    assert seen.failed_over is None


class FailsOverOnceLearned(RedisMemory):
    """What was learned last is lost: the replica that takes over has the outcomes and has not heard of it."""

    def __init__(self, redis: Redis, pair: Pair, name: TcpProxy) -> None:
        super().__init__(redis)
        self._pair, self._name = pair, name

    @override
    async def learn(self, lessons: Sequence[Lesson]) -> Sequence[bool | LessonRefused]:
        if self._name.upstream.endswith(f":{self._pair.second.port}"):
            return await super().learn(lessons)
        await self._pair.second.say("REPLICAOF", "NO", "ONE")
        learned = await super().learn(lessons)
        self._name.upstream = f"127.0.0.1:{self._pair.second.port}"
        self._name.cut()
        return learned


@pytest.mark.promise("learner.counted_once")
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "where the replica has the reader's lock too"])
async def test_what_was_learned_just_before_a_failover_is_learned_again(
    pair: Pair, name: TcpProxy, client: Redis, *, beside: bool
) -> None:
    """An outcome is settled only on the server that has what was learned from it."""
    outcomes = RedisOutcomes(client, "one", 5.0)
    learner = Learner(outcomes, FailsOverOnceLearned(client, pair, name))
    await learner.share()
    if beside:
        await outcomes.take(range(PARTITIONS))
        await pair.second.say("REPLICAOF", "NO", "ONE")
        await pair.replicate()
    await leave(client, [an_outcome(number) for number in range(3)])
    await pair.first.say("WAIT", 1, 1000)
    for _ in range(3):
        learner.expect(learner.held)
        await learner.round()
    after = pair.second.client()
    assert (await hash_of(after, keys.learned_keys("acme").counts))["events"] == 3
    assert await unsettled(after) == 0
    await close(after)


class FailsOverOnceApplied:
    """A second reader of the outcomes, whose server is replaced by one that lacks what it made of them first."""

    def __init__(self, pair: Pair, name: TcpProxy) -> None:
        self.taken: list[list[str]] = []
        self._pair, self._name = pair, name

    async def apply(self, deliveries: Sequence[Delivery]) -> None:
        if not self.taken:
            await self._pair.second.say("REPLICAOF", "NO", "ONE")
            self._name.upstream = f"127.0.0.1:{self._pair.second.port}"
            self._name.cut()
        self.taken.append([delivery.entry_id for delivery in deliveries])


async def test_whoever_reads_outcomes_beside_the_learner_gets_them_again_too(
    pair: Pair, name: TcpProxy, client: Redis
) -> None:
    await leave(client, [an_outcome(number) for number in range(3)])
    await pair.first.say("WAIT", 1, 1000)
    consumer = FailsOverOnceApplied(pair, name)
    outcomes = RedisOutcomes(client, "one", 5.0, REMEMBERING)
    follower = OutcomeFollower(outcomes, consumer, lambda: range(PARTITIONS), lambda: ())
    while await follower.round():
        pass
    first, again = consumer.taken
    assert first == again


@pytest.mark.promise("redis.intent_in_doubt")
async def test_a_write_of_a_turn_begun_before_a_failover_is_not_sent_by_a_later_owner(pair: Pair) -> None:
    """The replica may lack that it was sent: the entry says in doubt, and whoever settles it reads, as after a loss."""
    before, after = pair.first.following(), pair.second.following()
    async with Live(before) as live:
        await accepted(TaskStore(before, live))
        await begin(sessions_of(before, "one"))
    await pair.fail_over()
    await break_lease(after, Lease("acme", "s1", 1, "one"))
    successor = await begin(sessions_of(after, "two"))
    with pytest.raises(LedgerConflict, match="may have been sent"):
        await successor.store.open_write(an_entry(), 1.0)
    entry = (await successor.store.ledger())[an_entry().key]
    assert (entry.status, entry.before_json) == (WriteStatus.SENDING, None)
    await close(before, after)


async def test_a_write_that_the_server_recognises_by_our_key_is_sent_all_the_same(pair: Pair) -> None:
    before, after = pair.first.following(), pair.second.following()
    async with Live(before) as live:
        await accepted(TaskStore(before, live))
        await begin(sessions_of(before, "one"))
    await pair.fail_over()
    await break_lease(after, Lease("acme", "s1", 1, "one"))
    successor = await begin(sessions_of(after, "two"))
    await successor.store.open_write(an_entry().model_copy(update={"idempotency_field": "key"}), 1.0)
    assert (await successor.store.ledger())[an_entry().key].status is WriteStatus.SENDING
    await close(before, after)


async def test_a_turn_accepted_after_a_failover_sends_its_writes(pair: Pair) -> None:
    before, after = pair.first.following(), pair.second.following()
    await before.ping()
    await pair.fail_over()
    async with Live(after) as live:
        record = a_record()
        turn = a_turn(record).model_copy(update={"received_at": datetime.now(UTC) + timedelta(seconds=5)})
        await TaskStore(after, live).accept(record, turn, dedupe=None)
        await (await begin(sessions_of(after, "one"))).store.open_write(an_entry(), 1.0)
    await close(before, after)


@pytest.mark.promise("redis.intent_in_doubt")
async def test_what_became_of_a_write_is_stored_though_the_failover_lost_its_intent(
    pair: Pair, name: TcpProxy, client: Redis
) -> None:
    """Its sender lives and knows; only the ledger forgot."""
    async with Live(client) as live:
        await accepted(TaskStore(client, live))
        begun = await begin(sessions_of(client, "one"))
    await pair.first.say("WAIT", 1, 1000)
    await pair.second.say("REPLICAOF", "NO", "ONE")
    await begun.store.open_write(an_entry(), 1.0)  # the replica never hears of it
    name.upstream = f"127.0.0.1:{pair.second.port}"
    name.cut()
    await begun.store.settle_write(an_entry(WriteStatus.SENT), WriteStatus.SENDING)
    await begun.store.settle_write(an_entry(WriteStatus.VERIFIED), WriteStatus.SENT)
    assert (await begun.store.ledger())[an_entry().key].status is WriteStatus.VERIFIED


@pytest.mark.promise("redis.intent_confirmed")
async def test_an_intent_that_a_replica_confirmed_survives_its_promotion(pair: Pair) -> None:
    before, after = pair.first.following("?confirm_replicas=1"), pair.second.following("?confirm_replicas=1")
    async with Live(before) as live:
        await accepted(TaskStore(before, live))
        begun = await begin(sessions_of(before, "one"))
    await begun.store.open_write(an_entry(), 1.0)
    await pair.fail_over()
    await break_lease(after, begun.lease)
    successor = await begin(sessions_of(after, "two"))
    assert (await successor.store.ledger())[an_entry().key].status is WriteStatus.SENDING
    await successor.store.open_write(an_entry().model_copy(update={"key": "another"}), 1.0)
    await close(before, after)


@pytest.mark.promise("redis.intent_confirmed")
async def test_nothing_is_sent_that_no_replica_confirmed(pair: Pair) -> None:
    await pair.second.say("REPLICAOF", "NO", "ONE")
    client = pair.first.following("?confirm_replicas=1")
    async with Live(client) as live:
        await accepted(TaskStore(client, live))
        begun = await begin(sessions_of(client, "one"))
    with pytest.raises(StoreUnavailable, match="confirmed"):
        await begun.store.open_write(an_entry(), 1.0)
    assert (await begun.store.ledger())[an_entry().key].status is WriteStatus.UNSENT
    await close(client)


async def close(*clients: Redis) -> None:
    for client in clients:
        await client.aclose()
