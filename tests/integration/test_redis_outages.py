"""Redis killed, short of memory, or its replies lost: nothing acknowledged is lost, and nothing is done twice."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from services.executor.adapters.redis_sessions import RedisSlots
from services.executor.adapters.redis_upkeep import Reaper
from services.executor.core.session.journal import RepairedFaultCounter
from services.executor.core.turn.session_run import RunnerLimits
from services.executor.ports.turns import (
    DayCharges,
    JournalBatch,
    JournalEntry,
    LedgerConflict,
    RepairedFault,
    TurnStore,
    TurnWork,
)
from services.gateway.features.console.sessions import ConsoleSessions
from services.gateway.features.identity.api_keys import UnverifiedIdentity, make_api_key, parse_key_request
from services.gateway.features.identity.store import Keyring
from services.gateway.features.solver import SOLVER_PATH as SOLVER
from services.learner.adapters.redis_knowledge import RedisFactRepository
from services.learner.adapters.redis_outcomes import RedisOutcomes
from shared.contracts.task import TaskEvent, TaskRecord, TurnKind
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.words import WriteStatus
from shared.infra import keys
from shared.infra.channel_listener import ChannelListener
from shared.infra.daily_spend import RedisSpend
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect, require_durable_redis_at_start
from shared.infra.stored_tasks import parse_task_events
from shared.infra.task_store import TaskStore
from shared.infra.wakes import ArqWakes
from shared.ports.daily_spend import Charge, DayCaps
from shared.ports.store import StoreUnavailable
from tests.doubles.heard_wakes import HeardWakes
from tests.doubles.redis_tasks import NOON, a_record, a_turn
from tests.http_client import rpc_body
from tests.integration.executor_process import executor_process
from tests.integration.gateway_stage import LOCKED, at, gateway_client
from tests.integration.state_stage import (
    Acts,
    Begun,
    accepted,
    an_end,
    an_entry,
    begin,
    begun_turn,
    running,
    sessions_of,
)
from tests.redis_server import private_server
from tools.tcp_proxy import TcpProxy

PATIENCE = 30.0
DOWN_SECONDS = 3.0
STEPS = 60


@pytest.fixture
def queue() -> Iterator[EmbeddedRedis]:
    with private_server(durable=False) as made:
        yield made


@pytest.mark.promise("redis.short_cut")
async def test_a_turn_outlasts_a_restart_of_redis_in_its_first_attempt(
    own_server: EmbeddedRedis, own_redis: Redis
) -> None:
    """Redis is killed in the middle of the turn's steps and is away for longer than a heart beats."""
    wanted = [JournalEntry(f"k{number}", "note", "{}") for number in range(STEPS)]
    half = asyncio.Event()
    journals: list[tuple[JournalEntry, ...]] = []

    async def steps(work: TurnWork, store: TurnStore) -> None:
        for number, step in enumerate(wanted):
            await store.append([step])
            if number == STEPS // 2:
                half.set()
                await asyncio.sleep(0)
        journals.append(await store.read_journal())
        await store.finish(an_end(work))

    async with ChannelListener(own_redis) as live:
        await accepted(TaskStore(own_redis, live))
    async with running(own_redis, Acts(steps), RunnerLimits()) as runner:
        assert await runner.offer("acme", "s1")
        await half.wait()
        own_server.kill()
        await asyncio.sleep(DOWN_SECONDS)  # how long the outage lasts
        own_server.start()
        await runner.idle.wait()
    assert journals == [tuple(wanted)]


@pytest.mark.promise("redis.restart_loses_nothing")
async def test_no_acknowledged_task_is_lost_when_redis_is_killed(own_server: EmbeddedRedis, own_redis: Redis) -> None:
    """Sixteen senders accept tasks all the time; whatever was answered is there, with its turn, once."""
    kept: list[str] = []

    async def send(store: TaskStore, sender: int) -> None:
        for number in range(40):
            record = a_record(f"s{sender}-{number}")
            turn = a_turn(record)
            while True:
                try:
                    await store.accept(record, turn, dedupe=None)
                    break
                except StoreUnavailable:
                    await asyncio.sleep(0.05)  # until it is back
            kept.append(record.task_id)

    async with ChannelListener(own_redis) as live:
        store = TaskStore(own_redis, live)
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            for sender in range(16):
                group.create_task(send(store, sender))
            for _ in range(2):
                before = len(kept)
                while len(kept) < before + 100:
                    await asyncio.sleep(0.005)  # until there is load
                own_server.kill()
                own_server.start()
        found = [await store.get_record("acme", task_id) for task_id in kept]
        inboxes = [await own_redis.llen(keys.session_keys("acme", r.session_id).inbox) for r in found if r]  # type: ignore[misc]  # redis-py's union
    assert len(kept) == len(set(kept)) == 640
    assert inboxes == [1] * 640


@pytest.mark.promise("redis.out_of_memory")
async def test_without_memory_the_gateway_says_later_and_does_nothing(
    own_server: EmbeddedRedis, own_redis: Redis
) -> None:
    async with gateway_client(own_server.url, blocking_limit=0.1) as http:
        await own_redis.ping()
        before = set(await own_redis.keys("*"))
        async with no_memory(own_redis):
            solved = await http.post(SOLVER, json={"task_id": "t0", "task": "Sort: pear, apple"})
            reply = await _send(http, "t1")
            left = set(await own_redis.keys("*"))
        again = await _send(http, "t1")
    assert (solved.status_code, solved.headers["retry-after"]) == (503, "2")
    assert at(reply, "error.code") == -32603
    assert "OutOfMemoryError" in str(at(reply, "error.message"))
    assert left == before
    assert at(again, "result.status.state") == "submitted"


@pytest.mark.promise("redis.out_of_memory")
async def test_without_memory_a_key_still_opens_what_is_read_and_a_revoked_one_nothing(
    own_server: EmbeddedRedis, own_redis: Redis
) -> None:
    """Finding a key also counts the request and notes its use, which such a server refuses."""
    wish = parse_key_request({"principal": "casey", "roles": ["client"]})
    good, revoked = (make_api_key(wish, "acme", "olga") for _ in range(2))
    keyring = Keyring(own_redis)
    for made in (good, revoked):
        await keyring.add_key(made.key)
    await keyring.revoke_key(revoked.key, revoked.key.created_at)
    async with gateway_client(own_server.url, **LOCKED) as http:
        async with no_memory(own_redis):
            answers = [await _answer_to_key(http, made.token) for made in (good, revoked)]
            sent = await http.post("/", json=_message("t1"), headers={"X-API-Key": good.token})
        listed = await http.get("/v1/tasks", headers={"X-API-Key": good.token})
    assert answers == [200, 401]
    assert "OutOfMemoryError" in sent.text
    assert listed.json()["tasks"] == []


@pytest.mark.promise("ready.refused_writes")
async def test_without_memory_nobody_is_ready_and_with_it_all_are(own_server: EmbeddedRedis, own_redis: Redis) -> None:
    """Redis answers every PING meanwhile."""
    learner = RedisOutcomes(own_redis, "learner", 5.0)
    async with gateway_client(own_server.url) as http:
        async with no_memory(own_redis):
            assert await own_redis.ping()
            refused = await http.get("/ready")
            for store in (sessions_of(own_redis, "one"), learner):
                with pytest.raises(StoreUnavailable, match="OutOfMemory"):
                    await store.ping()
        ready = await http.get("/ready")
        for store in (sessions_of(own_redis, "one"), learner):
            await store.ping()
    assert (refused.status_code, ready.status_code) == (503, 200)
    assert "OutOfMemoryError" in refused.text


@pytest.mark.promise("redis.out_of_memory")
async def test_a_turn_without_memory_ends_when_there_is_some(own_server: EmbeddedRedis, own_redis: Redis) -> None:
    async with ChannelListener(own_redis) as live:
        record = await accepted(TaskStore(own_redis, live))
        begun = await begin(sessions_of(own_redis, "one"))
        async with no_memory(own_redis):
            with pytest.raises(StoreUnavailable, match="OutOfMemory"):
                await begun.store.append([JournalEntry("k1", "note", "{}")])
            with pytest.raises(StoreUnavailable, match="OutOfMemory"):
                await begun.store.finish(an_end(begun.work))
            await begun.store.get_stop_state()
            assert await begun.store.read_journal() == ()
        await begun.store.finish(an_end(begun.work))
        stored = await TaskStore(own_redis, live).get_record("acme", record.task_id)
    assert stored is not None
    assert stored.state.is_terminal


async def test_an_outage_is_logged_once(own_server: EmbeddedRedis, own_redis: Redis) -> None:
    """A listener connects again five times a second, for as long as Redis is away."""
    with capture_logs() as logged:
        async with ChannelListener(own_redis) as live:
            await accepted(TaskStore(own_redis, live))
            own_server.kill()
            await asyncio.sleep(DOWN_SECONDS)  # how long the outage lasts
            own_server.start()
    losses = [line["error"] for line in logged if line["event"] == "redis_subscription_lost"]
    assert losses
    assert len(losses) == len(set(losses))


@pytest.mark.promise("redis.queue_may_go")
async def test_tasks_end_though_wakes_are_forgotten(
    own_server: EmbeddedRedis, own_redis: Redis, queue: EmbeddedRedis
) -> None:
    """Nothing is woken at first: the queue forgets, goes away, and comes back empty."""
    wakes = connect(queue.url)
    async with ChannelListener(own_redis) as live:
        store = TaskStore(own_redis, live)
        records = [await accepted(store, f"s{number}") for number in range(5)]
        for record in records:
            await ArqWakes(wakes).wake("acme", record.session_id)
        await wakes.flushall()
        with executor_process(own_server.url, QUEUE_REDIS_URL=queue.url):
            await _until_ended(store, records[:1])
            queue.kill()
            late = [await accepted(store, f"late{number}") for number in range(5)]
            queue.start()
            await _until_ended(store, [*records, *late])
    await wakes.aclose()


@asynccontextmanager
async def no_memory(client: Redis) -> AsyncIterator[None]:
    await client.config_set("maxmemory", "1mb")
    try:
        yield
    finally:
        await client.config_set("maxmemory", "0")


async def _until_ended(store: TaskStore, records: Sequence[TaskRecord]) -> None:
    async with asyncio.timeout(PATIENCE):
        for record in records:
            while (stored := await store.get_record("acme", record.task_id)) is None or not stored.state.is_terminal:
                await asyncio.sleep(0.02)  # between two looks


async def _answer_to_key(http: httpx.AsyncClient, token: str) -> int:
    return (await http.get("/v1/tasks", headers={"X-API-Key": token})).status_code


async def _send(http: httpx.AsyncClient, task_id: str) -> JsonObject:
    return loads_object((await http.post("/", json=_message(task_id))).text)


def _message(task_id: str) -> dict[str, object]:
    return rpc_body("tasks/send", {"id": task_id, "message": {"parts": [{"text": "x"}]}})


@pytest.mark.promise("redis.awaited_at_start")
async def test_a_server_that_comes_back_is_waited_for(tmp_path: Path) -> None:
    """Nobody listens when the process asks first; it goes on as soon as the server is there."""
    server = EmbeddedRedis(tmp_path)
    redis = connect(server.url)
    waiting = asyncio.create_task(require_durable_redis_at_start(redis))
    await asyncio.sleep(0)
    try:
        server.start()
        await waiting
    finally:
        await redis.aclose()
        server.stop()


STEP, SECOND = JournalEntry("k1", "tool", "[]"), JournalEntry("k2", "note", "{}")
TOLD = TaskEvent(kind="told", at=NOON)
REPLY_PATIENCE = 10.0


class Far(NamedTuple):
    """A client behind a proxy, and one that sees what is really there."""

    proxy: TcpProxy
    redis: Redis
    near: Redis

    async def lose(self, what: str, place: int = 1) -> None:
        """From now on, the answer or the command in that ``place`` is lost and its connection cut."""
        await self.redis.ping()
        way = self.proxy.answers if what == "answer" else self.proxy.requests
        way.cut_at(place)

    @property
    def lost(self) -> int:
        return self.proxy.answers.swallowed + self.proxy.requests.swallowed


@pytest.fixture
async def far(redis_server: str, redis: Redis) -> AsyncIterator[Far]:
    upstream = redis_server if redis_server.startswith("unix://") else redis_server.split("/")[2]
    async with TcpProxy(upstream) as proxy:
        client = connect(f"redis://{proxy.address}/0")
        yield Far(proxy, client, redis)
        await client.aclose()


@pytest.fixture(params=["answer", "command"])
def what(request: pytest.FixtureRequest) -> str:
    return str(request.param)


_DAY = "2026-03-01"
ACTS: dict[str, Callable[[Begun], Awaitable[object]]] = {
    "stop_state": lambda begun: begun.store.get_stop_state(),
    "append": lambda begun: begun.store.append([STEP, SECOND], [TOLD]),
    "append events": lambda begun: begun.store.append([], [TOLD]),
    "publish": lambda begun: begun.store.append([], [TOLD], begun.work.record),
    "open_write": lambda begun: begun.store.open_write(an_entry(), 1.0),
    "settle_write": lambda begun: begun.store.settle_write(
        an_entry(WriteStatus.SENT), WriteStatus.SENDING, JournalBatch(events=(TOLD,))
    ),
    "finish": lambda begun: begun.store.finish(an_end(begun.work)),
}


@pytest.mark.promise("redis.no_double_effect")
@pytest.mark.parametrize("act", ACTS)
async def test_a_turns_write_holds_once_and_it_goes_on(far: Far, task_store: TaskStore, act: str, what: str) -> None:
    """The same state is left behind as without the loss, byte by byte but for the times that Redis gives."""
    left = []
    for session, loses in (("calm", False), ("rough", True)):
        await accepted(task_store, session)
        begun = await begin(sessions_of(far.redis, "one"), session)
        if act == "settle_write":
            await begun.store.open_write(an_entry(), 1.0)
        if loses:
            await far.lose(what)
        await ACTS[act](begun)
        left.append(await _left(far.near, begun))
    assert far.lost == 1
    assert left[0] == left[1]


@pytest.mark.promise("budget.tenant_day")
async def test_what_a_turn_did_cost_counts_once_in_the_tenants_day(far: Far, task_store: TaskStore, what: str) -> None:
    """With its end, in one step: what was set aside for a call, and what was not."""
    begun = await begun_turn(far.redis, task_store)
    await RedisSpend(far.near).reserve("acme", _DAY, Charge("a", 60, 600), DayCaps(tokens=1_000))
    charges = (Charge("a", 7, 70, is_reserved=True), Charge("b", 3, 30))
    await far.lose(what)
    await begun.store.finish(an_end(begun.work)._replace(charges=(DayCharges(_DAY, charges),)))
    found = await far.near.hgetall(keys.spend_key("acme", _DAY))  # type: ignore[misc]  # redis-py's union
    assert found == {"tokens": "10", "nanos": "100", "calls": "2", "reserved_tokens": "0", "reserved_nanos": "0"}


async def test_a_repeated_step_of_another_attempt_is_not_the_lost_one(far: Far, task_store: TaskStore) -> None:
    begun = await begun_turn(far.redis, task_store)
    await begun.store.append([STEP])
    await far.lose("answer")
    await begun.store.append([SECOND])
    assert await begun.store.read_journal() == (STEP, SECOND)


async def test_a_write_that_another_opened_is_still_a_conflict(far: Far, task_store: TaskStore, what: str) -> None:
    begun = await begun_turn(far.redis, task_store)
    await begun.store.open_write(an_entry().model_copy(update={"arguments_json": '{"n":1}'}), 1.0)
    await far.lose(what)
    with pytest.raises(LedgerConflict):
        await begun.store.open_write(an_entry(), 1.0)


@pytest.mark.promise("redis.no_double_effect")
async def test_a_turn_is_begun_once_by_one_owner(far: Far, task_store: TaskStore, what: str) -> None:
    await accepted(task_store)
    sessions = sessions_of(far.redis, "one")
    await far.redis.ping()
    await far.lose(what)
    assert (await begin(sessions)).work.attempts == 1


@pytest.mark.promise("redis.no_double_effect")
async def test_a_message_is_accepted_once(far: Far, what: str) -> None:
    async with ChannelListener(far.redis) as live:
        store, record = TaskStore(far.redis, live), a_record()
        turn = a_turn(record)
        await far.lose(what)
        taken = await store.accept(record, turn, dedupe="m1")
    session = keys.session_keys("acme", "s1")
    assert (taken.turn_id, taken.is_new) == (turn.turn_id, True)
    assert await far.near.lrange(session.inbox, 0, -1) == [turn.turn_id]  # type: ignore[misc]  # redis-py's union
    assert await far.near.xlen(keys.task_keys("acme", "s1", record.task_id).events) == 1


@pytest.mark.promise("redis.no_double_effect")
async def test_a_signal_is_put_once(far: Far, task_store: TaskStore, what: str) -> None:
    record = await accepted(task_store)
    async with ChannelListener(far.redis) as live:
        store, turn = TaskStore(far.redis, live), a_turn(record, TurnKind.CANCEL)
        await far.lose(what)
        assert await store.signal("acme", "s1", turn)
    assert await far.near.llen(keys.session_keys("acme", "s1").signals) == 1  # type: ignore[misc]  # redis-py's union


@pytest.mark.promise("redis.no_double_effect", "tenant.fair_shares")
async def test_no_waiting_session_is_passed_over(far: Far, what: str) -> None:
    slots = RedisSlots(far.redis)
    for session in ("a", "first", "second"):
        await slots.acquire("acme", session, 1, 60.0)
    await far.lose(what)
    assert await slots.release("acme", "a", 1) == ["first"]
    assert await slots.release("acme", "first", 1) == ["second"]
    assert await slots.release("acme", "second", 1) == []


@pytest.mark.promise("redis.no_double_effect", "tenant.fair_shares")
async def test_slots_that_fall_free_at_once_wake_different_sessions(redis: Redis) -> None:
    slots = RedisSlots(redis)
    for session in ("a", "b", "first", "second"):
        await slots.acquire("acme", session, 2, 60.0)
    freed = await asyncio.gather(slots.release("acme", "a", 2), slots.release("acme", "b", 2))
    assert [*freed] == [["first"], ["second"]]


@pytest.mark.promise("redis.no_double_effect")
async def test_a_fault_is_counted_once_for_all(far: Far) -> None:
    mended = RepairedFaultCounter()
    reaper = Reaper(far.redis, HeardWakes(), mended)
    await reaper.repair_once()
    mended.add(RepairedFault.NOT_WOKEN, 2)
    await far.lose("answer", 2)  # the first one says that nothing is overdue
    with pytest.raises(StoreUnavailable):
        await reaper.repair_once()
    await reaper.repair_once()
    counted = await far.near.hgetall(keys.UPKEEP_FAULTS_KEY)  # type: ignore[misc]  # redis-py's union
    assert counted == {RepairedFault.NOT_WOKEN.value: "2"}


@pytest.mark.promise("redis.no_double_effect", "identity.brake")
async def test_a_refused_sign_in_counts_once(far: Far) -> None:
    sessions = ConsoleSessions(far.redis, UnverifiedIdentity())
    await sessions.count_refusal("192.0.2.1")
    await far.lose("answer")
    with pytest.raises(StoreUnavailable):
        await sessions.count_refusal("192.0.2.1")
    name = keys.refused_sign_ins_key("192.0.2.1")
    assert await far.near.get(name) == "2"
    assert await far.near.ttl(name) > 0


@pytest.mark.promise("redis.no_double_effect")
async def test_a_task_whose_facts_are_given_up_counts_once(far: Far, what: str) -> None:
    names = keys.learned_keys("acme")
    await far.near.hset(names.fact_todos, "e1", "spoiled")  # type: ignore[misc]  # redis-py's union
    await far.lose(what)
    await RedisFactRepository(far.redis).give_up_search("acme", "e1")
    assert await far.near.hgetall(names.memory) == {"facts_given_up": "1"}  # type: ignore[misc]  # redis-py's union
    assert not await far.near.exists(names.fact_todos)


@pytest.mark.promise("redis.short_cut")
async def test_a_subscription_that_has_gone_silent_is_made_anew(far: Far) -> None:
    """The connection stands, but nothing comes through it, as behind a network that drops everything."""
    async with (
        asyncio.timeout(REPLY_PATIENCE),
        ChannelListener(far.redis, quiet_seconds=0.05) as live,
        live.open_news_event("news") as news,
    ):
        news.clear()
        far.proxy.answers.pause()
        before = far.proxy.connections
        while far.proxy.connections == before:
            await asyncio.sleep(0.01)  # between two looks
        far.proxy.answers.resume()
        await news.wait()


@pytest.mark.promise("redis.short_cut")
async def test_a_short_cut_costs_a_turn_nothing(far: Far, task_store: TaskStore) -> None:
    """Nobody listens for a while; the turn waits and goes on, with its lease."""
    begun = await begun_turn(far.redis, task_store)
    await far.proxy.refuse()
    writing = asyncio.create_task(_append(begun))
    done, _ = await asyncio.wait({writing}, timeout=0.3)
    assert not done
    await far.proxy.accept()
    async with asyncio.timeout(REPLY_PATIENCE):
        await writing
    assert await begun.store.read_journal() == (STEP,)


@pytest.mark.promise("redis.scripts_flushed")
async def test_scripts_that_the_server_forgot_are_sent_again(far: Far, task_store: TaskStore) -> None:
    begun = await begun_turn(far.redis, task_store)
    for act in ("append", "publish", "open_write", "finish"):
        await far.near.script_flush()
        await ACTS[act](begun)
    assert await begun.store.read_journal() == (STEP, SECOND)


async def _append(begun: Begun) -> None:
    await begun.store.append([STEP])


async def _left(redis: Redis, begun: Begun) -> object:
    task = keys.task_keys("acme", begun.lease.session_id, begun.work.turn.task_id)
    record = await redis.hgetall(task.record)  # type: ignore[misc]  # redis-py's union
    ledger = await redis.hgetall(task.ledger)  # type: ignore[misc]  # redis-py's union
    journal = [row for _, row in await redis.xrange(task.journal)]
    events = [
        event for entry_id, row in await redis.xrange(task.events) for _, event in parse_task_events(entry_id, row["e"])
    ]
    told = [event for event in events if event.kind == TOLD.kind]
    return record.get("version"), record.get("ended"), len(ledger), journal, len(events), told


@pytest.mark.promise("redis.tail_lost")
async def test_a_message_whose_accept_was_lost_with_its_write_is_a_new_task_whose_write_is_sent(
    own_server: EmbeddedRedis,
) -> None:
    """The loss that docs/security.md names: neither the resend nor the write is recognised."""
    folder = Path(own_server.url.removeprefix("unix://")).parent
    log = next((folder / "appendonlydir").glob("*.incr.aof"))
    before = log.stat().st_size
    first = await _accept_and_open(own_server)
    own_server.kill()
    with log.open("rb+") as cut:
        cut.truncate(before)
    own_server.start()
    second = await _accept_and_open(own_server)

    assert first == second == (True, WriteStatus.SENDING)


async def _accept_and_open(server: EmbeddedRedis) -> tuple[bool, WriteStatus]:
    """Whether the message "m1" was new, and what its task's write is once its intent is stored."""
    redis = connect(server.url)
    try:
        async with ChannelListener(redis) as live:
            record = a_record()
            accepted = await TaskStore(redis, live).accept(record, a_turn(record), dedupe="m1")
            begun = await begin(sessions_of(redis, "one"))
            await begun.store.open_write(an_entry(), 1.0)
            (entry,) = (await begun.store.read_ledger()).values()
            return accepted.is_new, entry.status
    finally:
        await redis.aclose()
