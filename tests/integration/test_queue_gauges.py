"""How the whole installation stands, as the metrics of any replica tell it."""

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families
from redis.asyncio import Redis
from starlette.testclient import TestClient

from services.executor.ports.turns import Timer
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.plan import WritePlan
from shared.contracts.task import TurnKind
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.installation import InstallationReading
from shared.infra.metrics import Metrics, MetricsPage, metrics_app
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from tests.integration.state_stage import accepted, an_end, begin, begin_next, sessions_of, signalled

pytestmark = pytest.mark.promise("metrics.queue")


async def _told(redis: Redis) -> dict[str, float]:
    """Samples by name, and by name and kind where there are several."""
    metrics = Metrics("gateway")
    await InstallationReading(redis).read(metrics)
    found = [sample for family in metrics.registry.collect() for sample in family.samples]
    return {" ".join((sample.name, *sample.labels.values())): sample.value for sample in found}


async def test_a_session_waits_until_an_executor_has_taken_it(redis: Redis, task_store: TaskStore) -> None:
    await accepted(task_store, "s1")
    await accepted(task_store, "s2")
    before = await _told(redis)
    await begin(sessions_of(redis, "one"), "s1")
    after = await _told(redis)

    assert (before["purple_sessions_waiting"], before["purple_sessions_held"]) == (2, 0)
    assert (after["purple_sessions_waiting"], after["purple_sessions_held"]) == (1, 1)
    assert 0 <= after["purple_oldest_waiting_seconds"] < 60


async def test_the_oldest_turn_has_waited_since_it_was_accepted_however_often_it_was_woken(
    redis: Redis, task_store: TaskStore
) -> None:
    record = await accepted(task_store)
    session, partition = keys.session_keys("acme", "s1"), keys.partition_keys_of("acme", "s1")
    turn = (await redis.lrange(session.inbox, 0, 0))[0]  # type: ignore[misc]  # redis-py
    an_hour_ago = int((datetime.now(UTC) - timedelta(hours=1)).timestamp() * 1_000_000)
    await redis.hset(session.begun, f"{turn}:at", str(an_hour_ago))  # type: ignore[misc]  # redis-py
    member = keys.pack(keys.Member("acme", record.session_id))
    await redis.zadd(partition.waiting, {member: datetime.now(UTC).timestamp() * 1000 + 2000})

    told = await _told(redis)

    assert 3600 <= told["purple_oldest_waiting_seconds"] < 3660


async def test_who_waits_for_a_later_moment_is_told_apart(redis: Redis, task_store: TaskStore) -> None:
    await accepted(task_store)
    partition = keys.partition_keys_of("acme", "s1")
    member = keys.pack(keys.Member("acme", "s1"))
    await redis.zadd(partition.waiting, {member: datetime.now(UTC).timestamp() * 1000 + 60_000})

    told = await _told(redis)

    assert (told["purple_sessions_waiting"], told["purple_sessions_put_off"]) == (0, 1)
    assert told["purple_oldest_waiting_seconds"] == 0


async def test_an_approval_waits_from_its_asking_to_its_answer(redis: Redis, task_store: TaskStore) -> None:
    await accepted(task_store)
    begun = await begin(sessions_of(redis, "one"))
    asked = _approval(begun.work.record.task_id)
    end = an_end(begun.work, TaskState.INPUT_REQUIRED)
    timer = Timer(datetime.now(UTC) - timedelta(minutes=1), asked.timer_subject)
    await begun.store.finish(end._replace(approval=asked, timer=timer))
    waits = await _told(redis)
    await signalled(task_store, begun.work.record, TurnKind.DECISION)
    later = await begin_next(sessions_of(redis, "one"), begun.lease)
    decided = asked.model_copy(update={"status": ApprovalStatus.APPROVED})
    await later.store.finish(an_end(later.work)._replace(approval=decided))
    over = await _told(redis)

    assert (waits["purple_approvals_waiting"], over["purple_approvals_waiting"]) == (1, 0)
    assert 0 <= waits["purple_oldest_approval_seconds"] < 60
    assert waits["purple_deadlines_overdue"] == 1
    assert over["purple_unarchived_tasks"] == 1


async def test_a_task_in_doubt_is_told_until_it_waits_for_something_else(redis: Redis, task_store: TaskStore) -> None:
    await accepted(task_store)
    begun = await begin(sessions_of(redis, "one"))
    doubt = Timer(datetime.now(UTC) + timedelta(hours=1), "doubt:w1#1")
    await begun.store.finish(an_end(begun.work, TaskState.INPUT_REQUIRED)._replace(timer=doubt))
    first = await _told(redis)
    await signalled(task_store, begun.work.record, TurnKind.DECISION)
    too_late = await begin_next(sessions_of(redis, "one"), begun.lease)
    await too_late.store.finish(an_end(too_late.work, TaskState.INPUT_REQUIRED))
    still = await _told(redis)
    await signalled(task_store, begun.work.record, TurnKind.RESOLUTION)
    spoken = await begin_next(sessions_of(redis, "one"), begun.lease)
    await spoken.store.finish(an_end(spoken.work))
    after = await _told(redis)

    assert [told["purple_tasks_in_doubt"] for told in (first, still, after)] == [1, 1, 0]


async def test_letters_and_outcomes_are_counted_over_all_partitions(redis: Redis) -> None:
    for number in (3, 7):
        one = keys.partition_keys(number)
        await redis.xadd(one.dead, {"o": "{}"})
        await redis.xadd(one.dead_turns, {"o": "{}"})
        for _ in range(3):
            await redis.xadd(one.outcomes, {"o": "{}"})

    told = await _told(redis)

    assert (told["purple_dead_letters turn"], told["purple_dead_letters outcome"]) == (2, 2)
    assert told["purple_outcomes_behind"] == 4  # of the applied ones the newest of each partition stays


async def test_without_redis_the_page_says_so_and_shows_no_old_figures() -> None:
    gone = connect("redis://127.0.0.1:1/0")
    page = MetricsPage(Metrics("executor"), (InstallationReading(gone),))
    with TestClient(metrics_app(page)) as client:
        shown = client.get("/metrics")
    found = {sample.name: sample.value for one in text_string_to_metric_families(shown.text) for sample in one.samples}

    assert shown.status_code == 200
    assert found["purple_store_up"] == 0
    assert found["purple_sessions_waiting"] != found["purple_sessions_waiting"]  # not a number


def _approval(task_id: str) -> Approval:
    plan, now = WritePlan(task_id=task_id), datetime.now(UTC)
    return Approval(
        approval_id="a1",
        task_id=task_id,
        plan=plan,
        plan_hash=plan.hash,
        verdict_hash="v",
        level=None,
        requester_id="anna",
        reasons=(),
        asked_at=now,
        deadline=now + timedelta(hours=1),
    )
