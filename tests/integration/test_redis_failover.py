"""Servers that may lack what they had acknowledged (a replica that takes over, a crash, a backup): connections follow,
and what may be missing is not taken for never done."""

import os
import signal
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, cast

import pytest
from redis.asyncio import Redis
from typer.testing import CliRunner
from typing_extensions import override

from cli.main import app
from cli.restored import record_restore
from services.executor.core.session.ledger import move_attempt_to_earlier
from services.executor.ports.turns import Lease, LedgerConflict, TurnStore
from services.gateway.features.memory import TenantMemories
from services.learner.adapters.redis_forgetting import RedisForgetting
from services.learner.adapters.redis_lessons import RedisLessons
from services.learner.adapters.redis_outcomes import REMEMBERING_GROUP, RedisOutcomes
from services.learner.ports.outcomes import Delivery, Lesson, LessonRefused
from services.learner.workers.follower import OutcomeFollower
from services.learner.workers.forget_worker import ForgetRequestWorker
from services.learner.workers.learner import Learner
from shared.contracts.learning_files import ForgetRequest, ForgetScope, ForgetState
from shared.contracts.ledger import LedgerEntry
from shared.domain.exact_json import loads_object
from shared.domain.partition import PARTITIONS
from shared.domain.words import WriteStatus
from shared.infra import keys
from shared.infra.channel_listener import ChannelListener
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.lineage import RedisLineage, get_lineage
from shared.infra.lua import Scripts
from shared.infra.redis import VolatileRedis, connect, require_durable_redis
from shared.infra.redis_pools import PrimaryPool
from shared.infra.task_store import TaskStore
from shared.ports.store import StoreUnavailable
from tests.doubles.redis_tasks import a_record, a_turn
from tests.each_row import each_row
from tests.integration.learner_stage import an_outcome, hash_of, leave, unsettled
from tests.integration.redis_pair import Pair, free_ports, pair_of_servers
from tests.integration.state_stage import Begun, accepted, an_entry, begin, break_lease, sessions_of, turn_on
from tests.redis_server import short_folder
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


class Failover(NamedTuple):
    """The second server takes over from the first, under the primary's name."""

    pair: Pair
    name: TcpProxy

    @property
    def is_over(self) -> bool:
        return self.name.upstream.endswith(f":{self.pair.second.port}")

    def lead_over(self) -> None:
        self.name.upstream = f"127.0.0.1:{self.pair.second.port}"
        self.name.cut()

    @asynccontextmanager
    async def losing(self) -> AsyncIterator[None]:
        """It happens at the end; what is written meanwhile is lost."""
        await self.pair.second.say("REPLICAOF", "NO", "ONE")
        yield
        self.lead_over()


@pytest.fixture
def failover(pair: Pair, name: TcpProxy) -> Failover:
    return Failover(pair, name)


@pytest.mark.promise("redis.follows_primary")
async def test_a_connection_to_what_became_a_replica_is_dropped(pair: Pair, name: TcpProxy, client: Redis) -> None:
    """The name leads elsewhere by then, but the connection is still open: only the refusal tells."""
    scripts = Scripts(client, patience=10.0)
    await scripts.execute("SET", "a", "1")
    await pair.fail_over()
    name.upstream = f"127.0.0.1:{pair.second.port}"
    await scripts.execute("SET", "a", "2")
    assert await pair.second.say("GET", "a") == "2"


@pytest.mark.promise("redis.follows_primary")
async def test_a_script_follows_the_primary_too(pair: Pair, name: TcpProxy, client: Redis) -> None:
    async with ChannelListener(client) as live:
        store = TaskStore(client, live)
        await accepted(store)
        begun = await begin(sessions_of(client, "one"))
        await pair.fail_over()
        name.upstream = f"127.0.0.1:{pair.second.port}"
        await begun.store.append([])
        await begun.store.get_stop_state()


@pytest.mark.promise("redis.failover_noticed")
async def test_a_failover_is_noticed_by_the_next_connection(pair: Pair, failover: Failover, client: Redis) -> None:
    await client.set("a", "1")
    assert get_lineage(client).failed_over_at is None
    await pair.fail_over()
    failover.lead_over()
    await Scripts(client, patience=10.0).execute("SET", "a", "2")
    assert get_lineage(client).failed_over_at is not None


@pytest.mark.promise("redis.failover_noticed")
async def test_a_process_that_starts_later_knows_of_the_failover(pair: Pair, name: TcpProxy, client: Redis) -> None:
    await client.set("a", "1")
    await pair.fail_over()
    late = [connect(f"redis://127.0.0.1:{pair.second.port}/0") for _ in range(2)]
    for redis in late:
        await redis.ping()
    seen = [get_lineage(redis).failed_over_at for redis in late]
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
    seen: RedisLineage = get_lineage(after)
    await after.aclose()
    assert seen.failed_over_at is None


class FailsOverOnceLearned(RedisLessons):
    """What was learned last is lost: the replica that takes over has the outcomes and has not heard of it."""

    def __init__(self, redis: Redis, failover: Failover) -> None:
        super().__init__(redis)
        self._failover = failover

    @override
    async def store_lessons(self, lessons: Sequence[Lesson]) -> Sequence[bool | LessonRefused]:
        if self._failover.is_over:
            return await super().store_lessons(lessons)
        async with self._failover.losing():
            return await super().store_lessons(lessons)


@pytest.mark.promise("learner.counted_once")
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "where the replica has the reader's lock too"])
async def test_what_was_learned_just_before_a_failover_is_learned_again(
    pair: Pair, failover: Failover, client: Redis, *, beside: bool
) -> None:
    """An outcome is settled only on the server that has what was learned from it."""
    outcomes = RedisOutcomes(client, "one", 5.0)
    learner = Learner(outcomes, FailsOverOnceLearned(client, failover))
    await learner.update_share()
    if beside:
        await outcomes.claim_outcomes(range(PARTITIONS))
        await pair.second.say("REPLICAOF", "NO", "ONE")
        await pair.replicate()
    await leave(client, [an_outcome(number) for number in range(3)])
    await pair.catch_up()
    for _ in range(3):
        learner.expect_outcomes_in(learner.partitions)
        await learner.run_once()
    after = pair.second.client()
    assert (await hash_of(after, keys.learned_keys("acme").counts))["events"] == 3
    assert await unsettled(after) == 0
    await close(after)


class FailsOverOnceApplied:
    """A second reader of the outcomes, whose server is replaced by one that lacks what it made of them first."""

    def __init__(self, failover: Failover) -> None:
        self.taken: list[list[str]] = []
        self._failover = failover

    async def apply(self, deliveries: Sequence[Delivery]) -> None:
        if not self.taken:
            async with self._failover.losing():
                pass
        self.taken.append([delivery.entry_id for delivery in deliveries])


async def test_whoever_reads_outcomes_beside_the_learner_gets_them_again_too(
    pair: Pair, failover: Failover, client: Redis
) -> None:
    await leave(client, [an_outcome(number) for number in range(3)])
    await pair.catch_up()
    consumer = FailsOverOnceApplied(failover)
    outcomes = RedisOutcomes(client, "one", 5.0, REMEMBERING_GROUP)
    follower = OutcomeFollower(outcomes, consumer.apply, lambda: range(PARTITIONS))
    while await follower.run_once():
        pass
    first, again = consumer.taken
    assert first == again


async def _in_doubt(store: TurnStore, entry: LedgerEntry | None = None, *, is_shown: bool = False) -> None:
    """Whoever settles it reads, as after a loss. ``is_shown``: the record showed all values before the write."""
    entry = entry or an_entry()
    with pytest.raises(LedgerConflict, match="may have been sent"):
        await store.open_write(entry, 1.0, was_shown_before=lambda: is_shown)
    kept = (await store.read_ledger())[entry.key]
    assert (kept.status, kept.before_json) == (WriteStatus.SENDING, None)


async def _sent_under_a_key(store: TurnStore) -> None:
    """That the server honours: it is the same write, however often it comes."""
    entry = an_entry().model_copy(update={"key": "t:h:c2", "idempotency_field": "key"})
    await store.open_write(entry, 1.0)
    assert (await store.read_ledger())[entry.key].status is WriteStatus.SENDING


class FailsOverOnceForgotten(RedisForgetting):
    """What was taken away is back: the replica that takes over has not heard of it."""

    def __init__(self, redis: Redis, failover: Failover) -> None:
        super().__init__(redis, None)
        self._failover = failover

    @override
    async def remove_requested_data(self, request: ForgetRequest) -> Mapping[str, int]:
        if self._failover.is_over:
            return await super().remove_requested_data(request)
        async with self._failover.losing():
            return await super().remove_requested_data(request)


@pytest.mark.promise("forget.gone")
async def test_what_was_forgotten_just_before_a_failover_is_forgotten_again(
    pair: Pair, failover: Failover, client: Redis
) -> None:
    request = ForgetRequest(
        request_id="r", tenant="acme", scope=ForgetScope.TENANT, asked_by="olga", asked_at=datetime.now(UTC)
    )
    await leave(client, [an_outcome()])
    learner = Learner(RedisOutcomes(client, "one", 5.0), RedisLessons(client))
    await learner.update_share()
    learner.expect_outcomes_in(learner.partitions)
    await learner.run_once()
    beside = RedisOutcomes(client, "one", 5.0, REMEMBERING_GROUP)
    await beside.settle_outcomes((await beside.claim_outcomes(range(PARTITIONS))).deliveries)
    forgets = TenantMemories(client)
    await forgets.submit_forget_request(request)
    await pair.catch_up()
    forgetter = ForgetRequestWorker(FailsOverOnceForgotten(client, failover))
    states, cases = list[ForgetState](), keys.learned_keys("acme").cases
    for _ in range(2):
        await forgetter.carry_out_next(datetime.now(UTC))
        found = await forgets.find_forget_request("acme", "r")
        states += [found.state] if found else []
    assert states == [ForgetState.WAITING, ForgetState.DONE]
    assert await pair.second.say("EXISTS", cases) == 0


@pytest.mark.promise("redis.intent_in_doubt")
async def test_a_write_of_a_turn_begun_before_a_failover_is_not_sent_by_a_later_owner(pair: Pair) -> None:
    """The replica may lack that it was sent."""
    before, after = pair.first.following(), pair.second.following()
    await turn_on(before)
    await pair.fail_over()
    await break_lease(after, Lease("acme", "s1", 1, "one"))
    successor = await begin(sessions_of(after, "two"))
    await _in_doubt(successor.store)
    await _sent_under_a_key(successor.store)
    await close(before, after)


async def test_a_turn_accepted_after_a_failover_sends_its_writes(pair: Pair) -> None:
    before, after = pair.first.following(), pair.second.following()
    await before.ping()
    await pair.fail_over()
    await _a_later_turn_writes(after)
    await close(before, after)


async def _a_later_turn_writes(redis: Redis) -> None:
    """One that came after whatever befell the server."""
    record = a_record()
    turn = a_turn(record).model_copy(update={"received_at": datetime.now(UTC) + timedelta(seconds=5)})
    async with ChannelListener(redis) as live:
        await TaskStore(redis, live).accept(record, turn, dedupe=None)
    await (await begin(sessions_of(redis, "one"))).store.open_write(an_entry(), 1.0)


@pytest.mark.promise("redis.intent_in_doubt")
async def test_a_writes_end_is_stored_though_its_intent_was_lost(pair: Pair, failover: Failover, client: Redis) -> None:
    """Its sender lives and knows; only the ledger forgot."""
    begun = await turn_on(client)
    await pair.catch_up()
    async with failover.losing():
        await begun.store.open_write(an_entry(), 1.0)
    await begun.store.settle_write(an_entry(WriteStatus.SENT), WriteStatus.SENDING)
    await begun.store.settle_write(an_entry(WriteStatus.VERIFIED), WriteStatus.SENT)
    assert (await begun.store.read_ledger())[an_entry().key].status is WriteStatus.VERIFIED


@pytest.mark.promise("redis.intent_confirmed")
async def test_an_intent_that_a_replica_confirmed_survives_its_promotion(pair: Pair) -> None:
    before, after = pair.first.following("?confirm_replicas=1"), pair.second.following("?confirm_replicas=1")
    begun = await turn_on(before)
    await begun.store.open_write(an_entry(), 1.0)
    await pair.promote()
    await break_lease(after, begun.lease)
    successor = await begin(sessions_of(after, "two"))
    assert (await successor.store.read_ledger())[an_entry().key].status is WriteStatus.SENDING
    await successor.store.open_write(an_entry().model_copy(update={"key": "another"}), 1.0)
    await close(before, after)


@pytest.mark.promise("redis.intent_confirmed")
async def test_nothing_is_sent_that_no_replica_confirmed(pair: Pair) -> None:
    await pair.second.say("REPLICAOF", "NO", "ONE")
    client = pair.first.following("?confirm_replicas=1")
    begun = await turn_on(client)
    with pytest.raises(StoreUnavailable, match="confirmed"):
        await begun.store.open_write(an_entry(), 1.0)
    assert (await begun.store.read_ledger())[an_entry().key].status is WriteStatus.UNSENT
    await close(client)


@pytest.mark.promise("redis.intent_confirmed")
async def test_an_intent_whose_reply_was_lost_is_confirmed_anew(pair: Pair) -> None:
    """The repeated script would write nothing, and WAIT on its new connection count every replica as up to date."""
    async with TcpProxy(f"127.0.0.1:{pair.first.port}") as proxy:
        client = connect(f"redis://{proxy.address}/0?confirm_replicas=1")
        begun = await turn_on(client)
        await begun.store.append(())  # loads the script
        await pair.catch_up()
        replica = pair.second.server.pid or 0
        os.kill(replica, signal.SIGSTOP)
        try:
            proxy.answers.cut_at(1)
            with pytest.raises(StoreUnavailable, match="confirmed"):
                await begun.store.open_write(an_entry(), 1.0)
        finally:
            os.kill(replica, signal.SIGCONT)
        assert (await begun.store.read_ledger())[an_entry().key].status is WriteStatus.UNSENT
        await close(client)


@pytest.mark.promise("redis.intent_confirmed")
async def test_a_resending_that_no_replica_confirmed_leaves_the_first_sending_open(pair: Pair) -> None:
    client = pair.first.following("?confirm_replicas=1")
    begun = await turn_on(client)
    sent = an_entry().model_copy(update={"idempotency_field": "key", "sending_at": datetime.now(UTC)})
    await begun.store.open_write(sent, 1.0)
    silent = move_attempt_to_earlier(sent, WriteStatus.IN_DOUBT, "no answer came")
    to_resend = silent.model_copy(update={"status": WriteStatus.RESEND, "note": "it is sent again under the same key"})
    await begun.store.settle_write(to_resend, WriteStatus.SENDING)
    await pair.second.say("REPLICAOF", "NO", "ONE")
    again = to_resend.model_copy(update={"status": WriteStatus.SENDING, "attempt": 2})
    with pytest.raises(StoreUnavailable, match="confirmed"):
        await begun.store.open_write(again, 1.0)
    assert (await begun.store.read_ledger())[sent.key] == to_resend
    await close(client)


async def close(*clients: Redis) -> None:
    for client in clients:
        await client.aclose()


async def _open_shown(store: TurnStore, entry: LedgerEntry | None = None) -> None:
    """Opens a write of which the record showed all values before."""
    await store.open_write(entry or an_entry(), 1.0, was_shown_before=lambda: True)


async def _accept_a_turn(redis: Redis) -> None:
    async with ChannelListener(redis) as live:
        await accepted(TaskStore(redis, live))


async def _begin_after_a_crash(server: EmbeddedRedis, redis: Redis) -> Begun:
    """A turn that was accepted before the server was killed."""
    await _accept_a_turn(redis)
    server.kill()
    server.start()
    return await begin(sessions_of(redis, "one"))


@pytest.mark.promise("redis.tail_lost")
async def test_after_a_crash_only_a_write_that_a_read_already_shows_is_in_doubt(
    own_server: EmbeddedRedis, own_redis: Redis
) -> None:
    begun = await _begin_after_a_crash(own_server, own_redis)
    await begun.store.open_write(an_entry().model_copy(update={"key": "t:h:c0"}), 1.0)
    await _in_doubt(begun.store, is_shown=True)


@pytest.mark.promise("redis.tail_lost")
async def test_after_a_crash_a_key_of_a_later_plan_makes_no_second_request_the_same_write(
    own_server: EmbeddedRedis, own_redis: Redis
) -> None:
    """The end of the log may have had what an earlier plan sent under another key."""
    begun = await _begin_after_a_crash(own_server, own_redis)
    keyed = {"idempotency_field": "request_id"}
    await _open_shown(begun.store, an_entry().model_copy(update={"key": "t:h:c0", **keyed}))
    await _in_doubt(begun.store, an_entry().model_copy(update={**keyed, "is_replanned": True}), is_shown=True)


@pytest.mark.promise("redis.tail_lost")
async def test_what_an_earlier_turn_of_the_task_may_have_sent_is_not_sent_by_a_plan_made_anew(
    own_server: EmbeddedRedis, own_redis: Redis
) -> None:
    """The plan was outdated by its own write, of which the log lost the intent; who approves it anew comes later."""
    begun = await _begin_after_a_crash(own_server, own_redis)
    turn = begun.work.turn.model_copy(update={"received_at": datetime.now(UTC) + timedelta(hours=1)})
    later = sessions_of(own_redis, "one").turn_store(begun.lease, begun.work._replace(turn=turn))
    await _open_shown(later, an_entry().model_copy(update={"key": "t:h:c0"}))
    await later.open_write(an_entry().model_copy(update={"key": "t:h:c2", "is_replanned": True}), 1.0)
    await _in_doubt(later, an_entry().model_copy(update={"is_replanned": True}), is_shown=True)


@pytest.mark.promise("redis.tail_lost")
async def test_after_a_stop_nothing_is_missing(own_server: EmbeddedRedis, own_redis: Redis) -> None:
    await _accept_a_turn(own_redis)
    own_server.stop()
    own_server.start()
    await _open_shown((await begin(sessions_of(own_redis, "one"))).store)


@pytest.mark.promise("redis.tail_lost")
async def test_whoever_began_the_turn_and_still_has_it_knows_what_it_sent(
    own_server: EmbeddedRedis, own_redis: Redis
) -> None:
    await _accept_a_turn(own_redis)
    begun = await begin(sessions_of(own_redis, "one", lease_seconds=30.0))
    own_server.kill()
    own_server.start()
    await _open_shown(begun.store)


@pytest.mark.promise("operations.backup", "operations.restored_in_doubt")
@pytest.mark.parametrize("query", ["", "?confirm_replicas=1"])
async def test_a_write_of_a_turn_accepted_before_a_restore_is_in_doubt(
    own_server: EmbeddedRedis, own_redis: Redis, query: str
) -> None:
    """Also where replicas confirm intents: the backup is older than what they confirmed. Its first owner knows too."""
    await _accept_a_turn(own_redis)
    await record_restore(own_server.url)
    after = connect(f"{own_server.url}{query}")
    begun = await begin(sessions_of(after, "one"))
    await _in_doubt(begun.store)
    if not query:  # nobody confirms here
        await _sent_under_a_key(begun.store)
    await after.aclose()


@pytest.mark.promise("operations.restored_in_doubt")
async def test_a_turn_accepted_after_a_restore_sends_its_writes(own_server: EmbeddedRedis, own_redis: Redis) -> None:
    await record_restore(own_server.url)
    await _a_later_turn_writes(own_redis)


@pytest.mark.promise("operations.restored_in_doubt")
async def test_the_moment_is_that_of_the_servers_clock(own_server: EmbeddedRedis, own_redis: Redis) -> None:
    moment = await record_restore(own_server.url)
    seconds, _ = await own_redis.time()
    noted = get_lineage(own_redis).restored_at
    assert noted is not None
    assert round(noted.timestamp() * 1_000_000) == moment
    assert abs(noted.timestamp() - seconds) < 60


@pytest.mark.promise("operations.restored_in_doubt")
def test_the_command_says_what_it_has_noted(own_server: EmbeddedRedis) -> None:
    done = CliRunner().invoke(app, ["restored", "--json"], env={"REDIS_URL": own_server.url})

    assert done.exit_code == 0
    assert cast(int, loads_object(done.stdout)["restored_us"]) > 0


@pytest.mark.promise("operations.restored_in_doubt")
@each_row(
    ("url", "says"), [("", "REDIS_URL"), ("redis+cluster://127.0.0.1:1", "cluster"), ("redis://127.0.0.1:1", "answer")]
)
def test_where_it_cannot_be_noted_it_is_said(url: str, says: str) -> None:
    done = CliRunner().invoke(app, ["restored"], env={"REDIS_URL": url})

    assert done.exit_code == 2
    assert says in done.output


_MUTE = ("~*", "&*", "+@all", "-info")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server of these tests' own: they change its users and its memory."""
    port = free_ports(1)[0]
    more = ["--port", str(port), "--bind", "127.0.0.1"]
    with short_folder() as folder, EmbeddedRedis(Path(folder), extra_flags=more):
        yield f"127.0.0.1:{port}/0"


@pytest.fixture
async def admin(address: str) -> AsyncIterator[Redis]:
    client = connect(f"redis://{address}")
    await client.flushall()
    await client.execute_command("ACL", "SETUSER", "mute", "on", ">secret", *_MUTE)  # type: ignore[no-untyped-call]  # redis-py
    yield client
    await client.config_set("maxmemory", "0")
    await client.aclose()


@pytest.mark.promise("redis.failover_unknown")
async def test_a_server_that_may_not_say_is_refused_at_a_start_by_name(admin: Redis, address: str) -> None:
    client = connect(f"redis://mute:secret@{address}")
    with pytest.raises(VolatileRedis, match=r"REDIS_URL .* INFO, or end REDIS_URL with \?confirm_replicas=1"):
        await require_durable_redis(client)
    with pytest.raises(StoreUnavailable, match="INFO"):
        await sessions_of(client, "one").ping()
    await require_durable_redis(client, allow_volatile=True)
    await sessions_of(client, "one").ping()
    await client.aclose()


@pytest.mark.promise("redis.failover_unknown")
async def test_with_confirmed_intents_it_need_not_say(admin: Redis, address: str) -> None:
    client = connect(f"redis://mute:secret@{address}?confirm_replicas=1")
    await require_durable_redis(client)
    await client.aclose()


@pytest.mark.promise("redis.failover_unknown")
async def test_no_write_leaves_while_nobody_knows_of_failovers(admin: Redis, address: str) -> None:
    """The right was taken away while the turn ran, and its connection was lost."""
    client = connect(f"redis://mute:secret@{address}")
    await admin.execute_command("ACL", "SETUSER", "mute", "+info")  # type: ignore[no-untyped-call]  # redis-py
    async with ChannelListener(admin) as live:
        await accepted(TaskStore(admin, live))
        begun = await begin(sessions_of(client, "one"))
        await admin.execute_command("ACL", "SETUSER", "mute", "-info")  # type: ignore[no-untyped-call]  # redis-py
        await client.connection_pool.disconnect()
        with pytest.raises(StoreUnavailable, match="failed over"):
            await begun.store.open_write(an_entry(), 1.0)
        assert [entry.status for entry in (await begun.store.read_ledger()).values()] in ([], ["unsent"])
    await client.aclose()


@pytest.mark.promise("redis.failover_unknown")
async def test_what_could_not_be_said_for_want_of_memory_is_asked_again(admin: Redis, address: str) -> None:
    """On the connection that is there: nobody may come to make another."""
    await admin.execute_command("HSET", keys.SERVER_LINEAGE_KEY, "id", "another")  # type: ignore[no-untyped-call]  # redis-py
    await admin.config_set("maxmemory", "1")
    client = connect(f"redis://{address}")
    with pytest.raises(StoreUnavailable, match="cannot say whether it has failed over"):
        await require_durable_redis(client)
    await admin.config_set("maxmemory", "0")
    await require_durable_redis(client)
    assert isinstance(client.connection_pool, PrimaryPool)
    noted = await admin.execute_command("HGET", keys.SERVER_LINEAGE_KEY, "id")  # type: ignore[no-untyped-call]  # redis-py
    assert noted != "another"
    await client.aclose()
