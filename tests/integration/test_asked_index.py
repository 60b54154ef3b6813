"""Where a tenant's waiting approvals and what is to be told of them stand in Redis, from the asking to the end."""

from datetime import UTC, datetime, timedelta

import pytest
from redis.asyncio import Redis

from services.executor.ports.turns import Notice, Timer, TurnEnd
from services.gateway.features.approvals.store import RedisApprovals, RedisOwedNotices
from shared.contracts.approval import Approval, ApprovalStatus, NoticeEvent
from shared.contracts.plan import WritePlan
from shared.contracts.task import TurnKind
from shared.domain.partition import partition_of
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.task_store import TaskStore
from tests.integration.state_stage import Begun, accepted, an_end, begin, begin_next, sessions_of, signalled

_PARTITION = partition_of("acme", "s1")
_ASKED = keys.asked_key(_PARTITION, "acme")


def _approval(task_id: str, name: str = "a1") -> Approval:
    plan = WritePlan(task_id=task_id)
    return Approval(
        approval_id=name,
        task_id=task_id,
        plan=plan,
        plan_hash=plan.hash,
        verdict_hash="v",
        level=None,
        requester_id="anna",
        reasons=(),
        asked_at=datetime.now(UTC),
        deadline=datetime.now(UTC) + timedelta(hours=1),
    )


def _asks(begun: Begun, approval: Approval, *notices: Notice) -> TurnEnd:
    end = an_end(begun.work, TaskState.INPUT_REQUIRED)
    timer = Timer(approval.deadline, approval.timer_subject)
    return end._replace(approval=approval, timer=timer, notices=notices)


async def _asked(redis: Redis, store: TaskStore, *notices: Notice) -> tuple[Begun, Approval]:
    await accepted(store)
    begun = await begin(sessions_of(redis, "one"))
    approval = _approval(begun.work.turn.task_id)
    await begun.store.finish(_asks(begun, approval, *notices))
    return begun, approval


async def _next(redis: Redis, store: TaskStore, begun: Begun, kind: TurnKind = TurnKind.DECISION) -> Begun:
    await signalled(store, begun.work.record, kind)
    return await begin_next(sessions_of(redis, "one"), begun.lease)


async def _waiting(redis: Redis) -> list[str]:
    return [one.approval.approval_id for one in await RedisApprovals(redis).waiting("acme")]


@pytest.mark.promise("approvals.own_index")
async def test_it_waits_until_it_is_decided_and_is_still_found_then(redis: Redis, task_store: TaskStore) -> None:
    begun, approval = await _asked(redis, task_store)
    assert await _waiting(redis) == ["a1"]
    name = keys.approval_key(_PARTITION, "acme", "a1")
    assert await redis.ttl(name) == -1
    decided = approval.model_copy(update={"status": ApprovalStatus.APPROVED})
    later = await _next(redis, task_store, begun)
    await later.store.finish(an_end(later.work)._replace(approval=decided))
    found = await RedisApprovals(redis).find("acme", "a1")
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
    await later.store.finish(_asks(later, new)._replace(settled=over))
    assert await _waiting(redis) == ["a2"]


@pytest.mark.promise("approvals.own_index")
async def test_a_task_that_ends_without_a_decision_leaves_nothing_waiting(redis: Redis, task_store: TaskStore) -> None:
    """Given up, canceled, or buried: whatever ends it."""
    begun, _ = await _asked(redis, task_store)
    later = await _next(redis, task_store, begun, TurnKind.CANCEL)
    await later.store.finish(an_end(later.work, TaskState.CANCELED))
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
async def test_what_is_asked_is_nobody_elses(redis: Redis, task_store: TaskStore) -> None:
    await _asked(redis, task_store)
    approvals = RedisApprovals(redis)
    assert (await approvals.waiting("other"), await approvals.find("other", "a1")) == ([], None)


@pytest.mark.promise("approvals.notices_once")
async def test_what_is_owed_is_taken_by_one_and_by_another_if_that_one_dies(
    redis: Redis, task_store: TaskStore
) -> None:
    await _asked(redis, task_store, Notice(NoticeEvent.WAITING, "a1"))
    one, two = RedisOwedNotices(redis), RedisOwedNotices(redis)
    (owed,) = await one.take()
    assert (owed.event, owed.tenant, owed.approval_id, owed.step) == (NoticeEvent.WAITING, "acme", "a1", 0)
    assert await two.take() == []
    await redis.zadd(keys.partition_keys(_PARTITION).notices, {owed.name: 1}, xx=True)  # its time is over
    assert await two.take() == [owed]
    await two.mark_done(owed)
    assert await redis.exists(keys.partition_keys(_PARTITION).notices) == 0


@pytest.mark.promise("approvals.notices_once")
async def test_an_end_that_is_stored_twice_is_told_once(redis: Redis, task_store: TaskStore) -> None:
    """What is to be told is stored with what happened, or not at all."""
    await accepted(task_store)
    begun = await begin(sessions_of(redis, "one"))
    end = _asks(begun, _approval(begun.work.turn.task_id), Notice(NoticeEvent.WAITING, "a1"))
    await begun.store.finish(end)
    await begun.store.finish(end)  # repeated after a lost reply
    assert len(await RedisOwedNotices(redis).take()) == 1
