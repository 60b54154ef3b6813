"""What stands in Redis for people to see: waiting approvals, and the figures of the whole installation."""

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families
from redis.asyncio import Redis
from starlette.testclient import TestClient

from services.executor.ports.turns import ApprovalNotice, Timer, TurnEnd
from services.gateway.features.approvals.approvals import ApprovalListPage, Approvals, DueNotices
from services.gateway.features.identity.model import Caller
from shared.contracts.approval import Approval, ApprovalStatus, NoticeEvent
from shared.contracts.task import Principal, TurnKind
from shared.domain.partition import partition_of
from shared.domain.words import Role, TaskState
from shared.infra import keys
from shared.infra.installation import InstallationGaugeReader
from shared.infra.metrics import Metrics, MetricsPage, make_metrics_app
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from tests.integration import state_stage

_PARTITION = partition_of("acme", "s1")
_ASKED = keys.waiting_approvals_key(_PARTITION, "acme")
_STRANGER = Principal(id="somebody else", roles=(Role.CLIENT,), verified=True)


def _caller(tenant: str) -> Caller:
    return Caller(tenant, Principal(id="dana", roles=(Role.APPROVER,), verified=True))


def _approval(task_id: str, name: str = "a1") -> Approval:
    now = datetime.now(UTC)
    return state_stage.an_approval(task_id, approval_id=name, asked_at=now, deadline=now + timedelta(hours=1))


def _asks(begun: state_stage.Begun, approval: Approval, *notices: ApprovalNotice) -> TurnEnd:
    end = state_stage.an_end(begun.work, TaskState.INPUT_REQUIRED)
    timer = Timer(approval.deadline, approval.timer_subject)
    return end._replace(approval=approval, timer=timer, notices=notices)


async def _asked(redis: Redis, store: TaskStore, *notices: ApprovalNotice) -> tuple[state_stage.Begun, Approval]:
    begun = await state_stage.begun_turn(redis, store)
    approval = _approval(begun.work.turn.task_id)
    await begun.store.finish(_asks(begun, approval, *notices))
    return begun, approval


async def _next(
    redis: Redis, store: TaskStore, begun: state_stage.Begun, kind: TurnKind = TurnKind.DECISION
) -> state_stage.Begun:
    await state_stage.signalled(store, begun.work.record, kind)
    return await state_stage.begin_next(state_stage.sessions_of(redis, "one"), begun.lease)


async def _waiting(redis: Redis) -> list[str]:
    return [one.approval.approval_id for one in (await Approvals(redis).list_waiting(_caller("acme"))).requests]


@pytest.mark.promise("approvals.own_index")
async def test_it_waits_until_it_is_decided_and_is_still_found_then(redis: Redis, task_store: TaskStore) -> None:
    begun, approval = await _asked(redis, task_store)
    assert await _waiting(redis) == ["a1"]
    name = keys.approval_key(_PARTITION, "acme", "a1")
    assert await redis.ttl(name) == -1
    decided = approval.model_copy(update={"status": ApprovalStatus.APPROVED})
    later = await _next(redis, task_store, begun)
    await later.store.finish(state_stage.an_end(later.work)._replace(approval=decided))
    found = await Approvals(redis).find_approval("acme", "a1")
    assert (await _waiting(redis), await redis.exists(_ASKED), found and found.approval.status) == (
        [],
        0,
        ApprovalStatus.APPROVED,
    )
    assert 0 < await redis.ttl(name) <= keys.TASK_RETENTION_SECONDS


@pytest.mark.promise("approvals.own_index")
async def test_a_question_in_place_of_another_takes_its_place(redis: Redis, task_store: TaskStore) -> None:
    begun, approval = await _asked(redis, task_store)
    later = await _next(redis, task_store, begun)
    new = _approval(approval.task_id, "a2")
    over = approval.model_copy(update={"status": ApprovalStatus.SUPERSEDED})
    await later.store.finish(_asks(later, new)._replace(settled_approval=over))
    assert await _waiting(redis) == ["a2"]


@pytest.mark.promise("approvals.own_index")
async def test_a_task_that_ends_without_a_decision_leaves_nothing_waiting(redis: Redis, task_store: TaskStore) -> None:
    """Given up, canceled, or buried: whatever ends it."""
    begun, _ = await _asked(redis, task_store)
    later = await _next(redis, task_store, begun, TurnKind.CANCEL)
    await later.store.finish(state_stage.an_end(later.work, TaskState.CANCELED))
    assert (await _waiting(redis), await redis.exists(_ASKED)) == ([], 0)


@pytest.mark.promise("approvals.own_index")
async def test_a_later_deadline_of_the_same_question_is_one_entry(redis: Redis, task_store: TaskStore) -> None:
    begun, approval = await _asked(redis, task_store)
    moved = approval.model_copy(update={"deadline": approval.deadline + timedelta(hours=5)})
    later = await _next(redis, task_store, begun)
    await later.store.finish(_asks(later, moved))
    ((_, score),) = await redis.zrange(_ASKED, 0, -1, withscores=True)
    assert score == int(moved.deadline.timestamp() * 1000)


@pytest.mark.promise("approvals.own_index")
async def test_more_than_are_read_at_once_come_whole_and_in_order(redis: Redis, task_store: TaskStore) -> None:
    """With those of them that one caller may not see, or nobody can read, left out of the pages."""
    begun, approval = await _asked(redis, task_store)
    task, names = begun.work.record, keys.task_keys("acme", "s1", begun.work.record.task_id)
    for number in range(2, 251):
        later = approval.model_copy(
            update={"approval_id": f"a{number}", "deadline": approval.deadline + timedelta(minutes=number)}
        )
        member = keys.pack_member(keys.WaitingApprovalMember(later.approval_id, "acme", "s1", task.task_id))
        await redis.hset(names.approvals, later.approval_id, later.stored_json() if number % 50 else "{}")  # type: ignore[misc]  # redis-py
        await redis.zadd(_ASKED, {member: int(later.deadline.timestamp() * 1000)})
    ids = [f"a{number}" for number in range(1, 251) if number % 50]
    paged, page = list[str](), ApprovalListPage((), "")
    for _ in range(3):
        page = await Approvals(redis).list_waiting(_caller("acme"), 120, page.next_token)
        paged += [request.approval.approval_id for request in page.requests]
    assert (await _waiting(redis), paged, page.next_token, len(page.requests)) == (ids, ids, "", 5)
    assert (await Approvals(redis).list_waiting(Caller("acme", _STRANGER))).requests == []


@pytest.mark.promise("approvals.own_index")
async def test_what_is_asked_is_nobody_elses(redis: Redis, task_store: TaskStore) -> None:
    await _asked(redis, task_store)
    approvals = Approvals(redis)
    assert (await approvals.list_waiting(_caller("other")), await approvals.find_approval("other", "a1")) == (
        ApprovalListPage([]),
        None,
    )


@pytest.mark.promise("approvals.notices_once")
async def test_what_is_owed_is_taken_by_one_and_by_another_if_it_dies(redis: Redis, task_store: TaskStore) -> None:
    await _asked(redis, task_store, ApprovalNotice(NoticeEvent.WAITING, "a1"))
    one, two = DueNotices(redis), DueNotices(redis)
    (owed,) = await one.claim_due_notices()
    assert (owed.event, owed.tenant, owed.approval_id, owed.step) == (NoticeEvent.WAITING.value, "acme", "a1", "0")
    assert await two.claim_due_notices() == []
    await redis.zadd(keys.partition_keys(_PARTITION).notices, {keys.pack_member(owed): 1}, xx=True)  # its time is over
    assert await two.claim_due_notices() == [owed]
    await two.remove_notice(owed)
    assert await redis.exists(keys.partition_keys(_PARTITION).notices) == 0


@pytest.mark.promise("approvals.notices_once")
async def test_an_end_that_is_stored_twice_is_told_once(redis: Redis, task_store: TaskStore) -> None:
    """What is to be told is stored with what happened, or not at all."""
    begun = await state_stage.begun_turn(redis, task_store)
    end = _asks(begun, _approval(begun.work.turn.task_id), ApprovalNotice(NoticeEvent.WAITING, "a1"))
    await begun.store.finish(end)
    await begun.store.finish(end)  # repeated after a lost reply
    assert len(await DueNotices(redis).claim_due_notices()) == 1


async def _told(redis: Redis) -> dict[str, float]:
    """Samples by name, and by name and kind where there are several."""
    metrics = Metrics("gateway")
    await InstallationGaugeReader(redis).set_gauges(metrics)
    found = [sample for family in metrics.registry.collect() for sample in family.samples]
    return {" ".join((sample.name, *sample.labels.values())): sample.value for sample in found}


@pytest.mark.promise("metrics.queue")
async def test_a_session_waits_until_an_executor_has_taken_it(redis: Redis, task_store: TaskStore) -> None:
    await state_stage.accepted(task_store, "s1")
    await state_stage.accepted(task_store, "s2")
    before = await _told(redis)
    await state_stage.begin(state_stage.sessions_of(redis, "one"), "s1")
    after = await _told(redis)

    assert (before["purple_sessions_waiting"], before["purple_sessions_held"]) == (2, 0)
    assert (after["purple_sessions_waiting"], after["purple_sessions_held"]) == (1, 1)
    assert 0 <= after["purple_oldest_waiting_seconds"] < 60


@pytest.mark.promise("metrics.queue")
async def test_the_oldest_turn_waits_since_its_acceptance_however_often_it_was_woken(
    redis: Redis, task_store: TaskStore
) -> None:
    record = await state_stage.accepted(task_store)
    session, partition = keys.session_keys("acme", "s1"), keys.partition_keys_of("acme", "s1")
    turn = (await redis.lrange(session.inbox, 0, 0))[0]  # type: ignore[misc]  # redis-py
    an_hour_ago = int((datetime.now(UTC) - timedelta(hours=1)).timestamp() * 1_000_000)
    await redis.hset(session.begun, f"{turn}:at", str(an_hour_ago))  # type: ignore[misc]  # redis-py
    member = keys.pack_member(keys.SessionMember("acme", record.session_id))
    await redis.zadd(partition.waiting, {member: datetime.now(UTC).timestamp() * 1000 + 2000})

    told = await _told(redis)

    assert 3600 <= told["purple_oldest_waiting_seconds"] < 3660


@pytest.mark.promise("metrics.queue")
async def test_who_waits_for_a_later_moment_is_told_apart(redis: Redis, task_store: TaskStore) -> None:
    await state_stage.accepted(task_store)
    partition = keys.partition_keys_of("acme", "s1")
    member = keys.pack_member(keys.SessionMember("acme", "s1"))
    await redis.zadd(partition.waiting, {member: datetime.now(UTC).timestamp() * 1000 + 60_000})

    told = await _told(redis)

    assert (told["purple_sessions_waiting"], told["purple_sessions_put_off"]) == (0, 1)
    assert told["purple_oldest_waiting_seconds"] == 0


@pytest.mark.promise("metrics.queue")
async def test_an_approval_waits_from_its_asking_to_its_answer(redis: Redis, task_store: TaskStore) -> None:
    begun = await state_stage.begun_turn(redis, task_store)
    asked = _approval(begun.work.record.task_id)
    end = state_stage.an_end(begun.work, TaskState.INPUT_REQUIRED)
    timer = Timer(datetime.now(UTC) - timedelta(minutes=1), asked.timer_subject)
    await begun.store.finish(end._replace(approval=asked, timer=timer))
    waits = await _told(redis)
    later = await _next(redis, task_store, begun)
    decided = asked.model_copy(update={"status": ApprovalStatus.APPROVED})
    await later.store.finish(state_stage.an_end(later.work)._replace(approval=decided))
    over = await _told(redis)

    assert (waits["purple_approvals_waiting"], over["purple_approvals_waiting"]) == (1, 0)
    assert 0 <= waits["purple_oldest_approval_seconds"] < 60
    assert waits["purple_deadlines_overdue"] == 1
    assert over["purple_unarchived_tasks"] == 1


@pytest.mark.promise("metrics.queue")
async def test_a_task_in_doubt_is_told_until_it_waits_for_something_else(redis: Redis, task_store: TaskStore) -> None:
    begun = await state_stage.begun_turn(redis, task_store)
    doubt = Timer(datetime.now(UTC) + timedelta(hours=1), "doubt:w1#1")
    await begun.store.finish(state_stage.an_end(begun.work, TaskState.INPUT_REQUIRED)._replace(timer=doubt))
    first = await _told(redis)
    too_late = await _next(redis, task_store, begun)
    await too_late.store.finish(state_stage.an_end(too_late.work, TaskState.INPUT_REQUIRED))
    still = await _told(redis)
    spoken = await _next(redis, task_store, begun, TurnKind.RESOLUTION)
    await spoken.store.finish(state_stage.an_end(spoken.work))
    after = await _told(redis)

    assert [told["purple_tasks_in_doubt"] for told in (first, still, after)] == [1, 1, 0]


@pytest.mark.promise("metrics.queue")
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


@pytest.mark.promise("metrics.queue")
async def test_without_redis_the_page_says_so_and_shows_no_old_figures() -> None:
    gone = connect("redis://127.0.0.1:1/0")
    page = MetricsPage(Metrics("executor"), (InstallationGaugeReader(gone),))
    with TestClient(make_metrics_app(page)) as client:
        shown = client.get("/metrics")
    found = {sample.name: sample.value for one in text_string_to_metric_families(shown.text) for sample in one.samples}

    assert shown.status_code == 200
    assert found["purple_store_up"] == 0
    assert found["purple_sessions_waiting"] != found["purple_sessions_waiting"]  # not a number
