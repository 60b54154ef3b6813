"""Wakes sessions that a crash or a lost wake left behind, and turns due timers into turns. Partitions are surveyed in
one round trip.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, cast

import structlog
from redis.asyncio import Redis

from services.executor.core.session.journal import RepairedFaultCounter
from services.executor.ports.turns import RepairedFault, SessionName, SessionWakes
from shared.contracts.task import Principal, Turn, TurnKind
from shared.domain.words import Role
from shared.infra import keys
from shared.infra.lua import Reply, ScriptCall, Scripts, bounded_redis_calls
from shared.infra.redis_cluster import ClusterRedis
from shared.infra.signatures import order_script_arguments, order_script_keys
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()

_LOCK_MS = 800  # less than the pause between two looks of one executor
_OVERDUE_MS = 500
_RETRY_MS = 2000  # until the queue is asked about a session once more, if nobody took it
_MOST_CLAIMED = 200  # sessions and timers taken up of one partition in one look
_FORGOTTEN_TIMER_AGE = timedelta(seconds=10)  # a timer that nobody has fired for so long was forgotten
_TIMER_PRINCIPAL = Principal(id="timer", roles=(Role.OPERATOR,), verified=True)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class DueTimer(NamedTuple):
    """A timer whose time has come."""

    member: keys.TimerMember
    now: datetime
    due: datetime


class OverdueWork(NamedTuple):
    """What one look at all partitions found: sessions to wake, and timers to fire."""

    unwoken: tuple[SessionName, ...] = ()  # work waits; nobody has claimed it for a while
    due: tuple[SessionName, ...] = ()  # likewise, and it was to be looked at now: a further try, a free slot
    orphaned: tuple[SessionName, ...] = ()  # their owner's lease has run out
    timers: tuple[DueTimer, ...] = ()


class Reaper:
    """Wakes sessions that a crash or a lost wake left behind, and fires due timers. Every method may raise
    ``StoreUnavailable``.

    ``outcomes_behind``: how many outcomes the learner had not applied at the last count.
    """

    def __init__(self, redis: Redis, wakes: SessionWakes, fault_counts: RepairedFaultCounter | None = None) -> None:
        self._redis = redis
        self._wakes = wakes
        self._fault_counts = fault_counts or RepairedFaultCounter()
        self._scripts = Scripts(redis)
        self.outcomes_behind = 0
        self._work: list[str] = []
        self._calls: list[ScriptCall] = []
        for partition in keys.all_partitions():
            work = [partition.waiting, partition.leased, partition.timers]
            self._work += work
            self._calls.append(([partition.reaper, *work], [_LOCK_MS, _OVERDUE_MS, _RETRY_MS, _MOST_CLAIMED]))

    async def repair_once(self) -> int:
        """Fires due timers and wakes overdue sessions, once; returns how many it woke."""
        overdue = await self.find_overdue()
        fired = [SessionName(*timer.member[:2]) for timer in overdue.timers if await self._fire_timer(timer)]
        sessions = sorted({*overdue.orphaned, *overdue.due, *fired})
        woken = len(await self._wakes.wake_unless_queued(sessions, has_begun=True)) if sessions else 0
        if overdue.unwoken:
            forgotten = await self._wakes.wake_unless_queued(sorted(overdue.unwoken))
            woken += len(forgotten)
            if forgotten:  # who claims the session counts a lost owner
                self._fault_counts.add(RepairedFault.NOT_WOKEN, len(forgotten))
        if unreported := self._fault_counts.take_unreported():
            await self._add_fault_counts(unreported)
        return woken

    async def find_overdue(self) -> OverdueWork:
        """Sessions that wait too long or lost their owner, and due timers, which no other executor is handling."""
        if await self._has_no_work():
            return OverdueWork()
        replies = await self._scripts.run_many("find_due_work", self._calls)
        unwoken = list[SessionName]()
        due = list[SessionName]()
        orphaned = list[SessionName]()
        timers = list[DueTimer]()
        for reply in filter(None, cast("list[list[Reply]]", replies)):
            now_ms, waiting, expired, due_timers = cast("tuple[int, list[str], list[str], list[str]]", reply)
            for member, score in _pair_members_with_scores(waiting):
                (due if score % 1 > 0 else unwoken).append(_parse_session_name(member))
            orphaned += map(_parse_session_name, expired)
            timers += _parse_due_timers(int(now_ms), due_timers)
        return OverdueWork(tuple(unwoken), tuple(due), tuple(orphaned), tuple(timers))

    async def _has_no_work(self) -> bool:
        """Whether no partition has a waiting session, lease or timer. Always False on a cluster, which cannot tell in
        one command.
        """
        if isinstance(self._redis, ClusterRedis):
            return False
        return await self._scripts.execute("EXISTS", *self._work) == 0

    async def update_outcomes_behind(self) -> None:
        async with bounded_redis_calls(), self._redis.pipeline(transaction=False) as pipe:
            for partition in keys.all_partitions():
                pipe.xlen(partition.outcomes)
            entries = cast("list[int]", await pipe.execute())
        # The newest that is applied stays in each stream.
        self.outcomes_behind = sum(max(0, number - 1) for number in entries)

    async def _fire_timer(self, timer: DueTimer) -> bool:
        """Queues the turn that the timer is for, before its session's messages; False if the timer is outdated or the
        store fails.
        """
        tenant, session_id, task_id, _ = timer.member
        session = keys.session_keys(tenant, session_id)
        partition = keys.partition_keys_of(tenant, session_id)
        turn = build_deadline_turn(timer)
        arguments = order_script_arguments(
            "signal",
            turn_id=turn.turn_id,
            turn=turn.stored_json(),
            member=keys.pack_session(tenant, session_id),
            waits=1,
            timer=keys.pack_member(timer.member),
        )
        names = order_script_keys(
            "signal", session, partition, record=keys.task_keys(tenant, session_id, task_id).record
        )
        try:
            is_fired = await self._scripts.run("signal", names, arguments) == 1
        except StoreUnavailable as error:
            log.warning("timer_not_fired", session=session_id, task=task_id, error=str(error))
            return False
        if is_fired and timer.now - timer.due > _FORGOTTEN_TIMER_AGE:
            self._fault_counts.add(RepairedFault.TIMER_OVERDUE, session=session_id, task=task_id)
        return is_fired

    async def _add_fault_counts(self, counts: Mapping[RepairedFault, int]) -> None:
        """Adds to the installation's fault counts. After ``StoreUnavailable`` they may or may not count."""
        async with bounded_redis_calls(), self._redis.pipeline(transaction=False) as pipe:
            for fault, number in counts.items():
                pipe.hincrby(keys.UPKEEP_FAULTS_KEY, fault.value, number)
            await pipe.execute()


def build_deadline_turn(timer: DueTimer) -> Turn:
    """The turn of a due timer. Its id is the timer's, so firing twice gives the same turn."""
    _, _, task_id, subject = timer.member
    return Turn(
        turn_id=f"deadline:{task_id}:{subject}",
        task_id=task_id,
        kind=TurnKind.DEADLINE,
        principal=_TIMER_PRINCIPAL,
        received_at=timer.now,
        data={"subject": subject},
    )


def _parse_session_name(member: str) -> SessionName:
    return SessionName(*keys.unpack_member(keys.SessionMember, member))


def _pair_members_with_scores(row: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Pairs of member and score, from Redis's flat list."""
    return zip(row[::2], map(float, row[1::2]), strict=True)


def _parse_due_timers(now_ms: int, row: Sequence[str]) -> Iterator[DueTimer]:
    now = _convert_ms_to_datetime(now_ms)
    return (
        DueTimer(keys.unpack_member(keys.TimerMember, member), now, _convert_ms_to_datetime(score))
        for member, score in _pair_members_with_scores(row)
    )


def _convert_ms_to_datetime(milliseconds: float) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)
