"""Approvals from end to end: several people, the next level, expiry, quiet hours, other tenants, and what is told."""

import asyncio
import json
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_upkeep import Reaper
from shared.contracts.approval import LadderRung, NoticeTarget
from shared.contracts.task import TaskRecord
from shared.contracts.tenant import QuietHours
from shared.domain.exact_json import JsonObject
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.keys import partition_keys_of, session_keys
from shared.infra.task_store import TaskStore
from tests.doubles.heard_wakes import HeardWakes
from tests.integration.approval_stage import SHORTLY, asks, office, until
from tests.integration.gateway_stage import at, list_at
from tests.integration.state_stage import accepted, sessions_of
from tests.integration.webhook_receiver import SOON, Taken, receiving
from tests.unit.executor.stage import APPROVE, TASK, Stage


@pytest.mark.promise("approvals.several", "approvals.grounds")
async def test_two_managers_approve_and_the_write_is_made_once(redis: Redis, redis_url: str) -> None:
    """A second answer of one of them is the same answer; a third person comes too late, and is told so."""
    world = Stage()
    asks(world, approvers=2)
    async with office(redis, redis_url, world) as here:
        await here.ask()
        one = await here.asked()
        name = str(one["approval_id"])
        first, half = await here.answer(name, "approve", "mia", "looks right")
        again, _ = await here.answer(name, "approve", "mia")
        other, _ = await here.answer(name, "reject", "mia")
        second, done = await here.answer(name, "approve", "max")
        resent, _ = await here.answer(name, "approve", "max")
        late, refused = await here.answer(name, "reject", "fay")
        left = await here.inbox("mia")
    assert (one["needed"], one["level"], one["may_decide"]) == (2, "manager", True)
    assert at(one, "calls.0.provenance") == [{"argument": "claim_id", "source": "task", "ref": ""}]
    assert at(one, "policy.rules.0.rule") == "LIMIT"
    assert at(one, "evidence.0.shows.amount") == "120.50"
    assert (first, half["status"], again, other) == (200, "waiting", 200, 409)
    assert (second, done["status"], done["task_state"], resent) == (200, "approved", "completed", 200)
    assert (late, "approved by mia, max" in str(refused["error"])) == (409, True)
    assert (world.claims.applied, left) == (["C-1"], [])


@pytest.mark.promise("approvals.escalation", "approvals.notices", "approvals.notices_masked")
async def test_what_a_manager_leaves_goes_on_to_finance_and_everybody_is_told(redis: Redis, redis_url: str) -> None:
    world = Stage("Approve claim C-1 of 120.50 for card 4111 1111 1111 1111")
    async with receiving() as receiver:
        targets = (
            NoticeTarget(url=f"{receiver.url}/standard"),
            NoticeTarget(url=f"{receiver.url}/slack", format="slack"),
        )
        asks(
            world,
            approval_ladder=(LadderRung(level="manager", hours=SHORTLY), LadderRung(level="finance")),
            notices=targets,
        )
        reach = {**SOON, "webhook_allowed_hosts": "127.0.0.1"}
        async with office(redis, redis_url, world, **reach) as here:
            await here.ask()
            name = str((await here.asked())["approval_id"])

            async def is_for_finance() -> bool:
                return (await here.asked())["level"] == "finance"

            await until(is_for_finance)
            moved = await here.asked("fay")
            theirs, why = await here.answer(name, "approve", "mia")
            status, done = await here.answer(name, "approve", "fay")
            taken = await receiver.has(6)
    assert (moved["approval_id"], moved["may_decide"], moved["goes_on_to"]) == (name, True, [])
    assert at(moved, "escalations.0.level") == "manager"
    assert (theirs, "level finance" in str(why["error"])) == (409, True)
    assert (status, done["task_state"], world.claims.applied) == (200, "completed", ["C-1"])
    standard = [one for one in taken if one.path.endswith("standard")]
    assert {str(one.json["type"]) for one in standard} == {"approval_waiting", "approval_escalated", "approval_decided"}
    for one in standard:
        one.verify("acme")
        assert str(at(one.json, "data.url")).endswith(f"/console/approvals/{name}")
    assert all(_is_slack(one) for one in taken if one.path.endswith("slack"))
    assert not any(b"4111 1" in one.body or b"41111" in one.body for one in taken)  # four digits stand in some id


def _is_slack(one: Taken) -> bool:
    blocks = one.json["blocks"]
    return isinstance(one.json["text"], str) and isinstance(blocks, list) and "approve_claim" in json.dumps(blocks)


@pytest.mark.promise("approvals.notices")
async def test_where_no_webhooks_are_offered_nothing_piles_up(redis: Redis, redis_url: str) -> None:
    """It is passed over, with its reason in the log, and the approval goes its way."""
    world = Stage()
    asks(world, notices=(NoticeTarget(url="https://hooks.example/x"),))
    async with office(redis, redis_url, world) as here:
        await here.ask()

        async def is_passed_over() -> bool:
            return not await redis.exists(*(one.notices for one in keys.all_partitions()))

        await until(is_passed_over)
        status, _ = await here.answer(str((await here.asked())["approval_id"]), "approve", "mia")
    assert (status, world.claims.applied) == (200, ["C-1"])


@pytest.mark.promise("I7.expiry_means_no", "approvals.late_answer")
async def test_what_nobody_answers_expires_and_nothing_is_written(redis: Redis, redis_url: str) -> None:
    world = Stage()
    asks(world, approval_hours=SHORTLY)
    async with office(redis, redis_url, world) as here:
        await here.ask()
        name = str(at(await here.task(), "metadata.approval_id"))

        async def is_rejected() -> bool:
            return (await here.task())["state"] == "rejected"

        await until(is_rejected)
        late, refused = await here.answer(name, "approve", "mia")
        left = await here.inbox("mia")
    assert (late, "it is expired" in str(refused["error"])) == (409, True)
    assert (world.claims.applied, left) == ([], [])


@pytest.mark.promise("approvals.any_order")
async def test_of_many_answers_at_once_those_needed_count_and_one_write_is_made(redis: Redis, redis_url: str) -> None:
    world = Stage()
    asks(world)
    async with office(redis, redis_url, world) as here:
        await here.ask()
        name = str((await here.asked())["approval_id"])
        answers = await asyncio.gather(*(here.answer(name, "approve", by) for by in ("mia", "max") * 4))
        shown = (await here.request("GET", f"/approvals/{name}", "mia"))[1]
    decisions = list_at(shown, "decisions")
    assert (len(decisions), world.claims.applied) == (1, ["C-1"])
    assert sorted(status for status, _ in answers) == [200] * 4 + [409] * 4


@pytest.mark.promise("gateway.decision_names_its_question")
async def test_an_answer_to_a_question_taken_back_is_refused_and_a_new_one_asked(redis: Redis, redis_url: str) -> None:
    """Inputs that changed since are read before the write: the model hears of it and proposes anew, the gate opens
    again, and the old id decides nothing.
    """
    world = Stage()
    world.talk.rounds += [[("get_claim", {"claim_id": "C-1"})], [APPROVE]]
    asks(world)
    async with office(redis, redis_url, world) as here:
        await here.ask()
        old = str((await here.asked())["approval_id"])
        world.claims.rows["C-1"]["amount"] = "999.00"
        status, refused = await here.answer(old, "approve", "mia")
        new = await here.asked()
        late, _ = await here.answer(old, "approve", "max")
        before = list(world.claims.applied)
        done, _ = await here.answer(str(new["approval_id"]), "approve", "max")
    assert (status, str(new["approval_id"]) in str(refused["error"])) == (409, True)
    assert (new["approval_id"] != old, late, before) == (True, 409, [])
    assert (at(new, "evidence.0.shows.amount"), done, world.claims.applied) == ("999.00", 200, ["C-1"])


@pytest.mark.promise("approvals.own_index")
async def test_a_look_reads_nothing_of_other_tenants(redis: Redis, redis_url: str) -> None:
    """What stands in other tenants' sets, and in everybody's timers, could not even be read."""
    world = Stage()
    asks(world)
    async with office(redis, redis_url, world) as here:
        await here.ask()
        for partition, names in enumerate(keys.all_partitions()):
            await redis.zadd(names.timers, {"unreadable": 4_000_000_000_000})
            await redis.zadd(keys.waiting_approvals_key(partition, "other"), {"unreadable": 1})
        seen: list[JsonObject] = await here.inbox("mia")
        for names in keys.all_partitions():
            await redis.zrem(names.timers, "unreadable")
    assert [one["task_id"] for one in seen] == ["t1"]


_KEYS = partition_keys_of("acme", "s1")


def _set_quiet(stage: Stage, *, quiet: bool) -> None:
    """Quiet hours by the clock of this machine, which is the one that Redis runs on."""
    hour, now = timedelta(hours=1), stage.turns.now()
    begins, ends = (now - hour, now + hour) if quiet else (now + hour, now + 2 * hour)
    hours = QuietHours(start=begins.time(), end=ends.time())
    stage.tenants.record = stage.tenants.record.model_copy(update={"quiet_hours": hours})


@pytest.fixture
def stage() -> Stage:
    """A process that heeds quiet hours, in the midst of them."""
    stage = Stage()
    stage.talk.process = "sla_breach"
    stage.talk.rounds[-1] = [APPROVE, ("notify_person", {"text": "Claim C-1 is approved."})]
    _set_quiet(stage, quiet=True)
    return stage


async def _work_off(redis: Redis, stage: Stage, owner: str) -> None:
    """Every turn that waits in the session, by one executor that then lets the session go."""
    sessions = sessions_of(redis, owner)
    lease = await sessions.claim("acme", "s1")
    assert lease is not None
    while work := await sessions.begin_next_turn(lease):
        await stage.worker.run(work, sessions.turn_store(lease, work))


async def _rest(redis: Redis, store: TaskStore, stage: Stage) -> TaskRecord:
    record = await accepted(store, text=TASK)
    await _work_off(redis, stage, "one")
    return await _stored(store, record)


async def _stored(store: TaskStore, record: TaskRecord) -> TaskRecord:
    now = await store.get_record(record.tenant, record.task_id)
    assert now is not None
    return now


async def _fire(redis: Redis) -> list[tuple[str, str]]:
    """The only timer comes due, and a reaper sees it; whom it woke."""
    (member,) = await redis.zrange(_KEYS.timers, 0, -1)
    await redis.zadd(_KEYS.timers, {member: 1}, xx=True)
    await redis.delete(_KEYS.reaper)
    wakes = HeardWakes()
    await Reaper(redis, wakes).repair_once()
    return wakes.heard


@pytest.mark.promise("notify.quiet_hours")
async def test_a_resting_task_holds_no_lease_and_has_a_timer(redis: Redis, task_store: TaskStore, stage: Stage) -> None:
    record = await _rest(redis, task_store, stage)
    names = session_keys("acme", "s1")
    assert (record.state, stage.claims.applied, stage.claims.told) == (TaskState.WORKING, ["C-1"], [])
    assert await redis.exists(names.inbox, names.signals, names.turns) == 0
    assert await redis.hget(names.lease, "owner") is None  # type: ignore[misc]  # redis-py's union
    assert (await redis.zcard(_KEYS.waiting), await redis.zcard(_KEYS.leased)) == (0, 0)
    assert await redis.zcard(_KEYS.timers) == 1
    assert await sessions_of(redis, "two").claim("acme", "s1") is None


@pytest.mark.promise("notify.quiet_hours")
async def test_another_executor_takes_it_up_when_it_is_due(redis: Redis, task_store: TaskStore, stage: Stage) -> None:
    record = await _rest(redis, task_store, stage)
    _set_quiet(stage, quiet=False)
    assert await _fire(redis) == [("acme", "s1")]
    await _work_off(redis, stage, "two")
    record = await _stored(task_store, record)
    assert (record.state, record.reason, len(stage.claims.told)) == (TaskState.COMPLETED, None, 1)
    assert await redis.zcard(_KEYS.timers) == 0
