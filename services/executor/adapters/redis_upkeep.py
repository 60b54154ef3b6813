"""Surveys partitions for overdue sessions and due timers in one round trip, and ends the leases of dead executors."""

import os
import socket
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, cast
from uuid import uuid4

from redis.asyncio import Redis

from services.executor.ports.sessions import Fault, SessionName
from services.executor.ports.upkeep import ALL_PARTITIONS, DueTimer, OverdueWork, Upkeep
from shared.contracts.task import Turn
from shared.infra import keys
from shared.infra.lua import Argument, Call, Reply, Scripts, bounded_redis_calls
from shared.infra.redis_cluster import ClusterRedis
from shared.infra.signatures import arguments_for, keys_for

_BOOT, _PROCESSES = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
_ENDED_STATES = "ZX"  # states of a process that runs no more, though its parent has not asked for its end yet


class OwnerProcess(NamedTuple):
    """The machine and process id of a lease owner. ``machine`` is empty if it is unknown."""

    machine: str
    pid: int


def make_owner_name(pid: int | None = None) -> str:
    """A unique owner name for this process. A later process never gets the same name."""
    return f"{socket.gethostname()}:{os.getpid() if pid is None else pid}:{uuid4().hex[:8]}{_identify_machine()}"


def process_of(owner: str) -> OwnerProcess:
    parts = owner.split(":")
    if len(parts) != 3 or not parts[1].isdecimal():
        return OwnerProcess("", 0)
    return OwnerProcess(parts[2][8:], int(parts[1]))


def is_owner_dead(owner: str, own: str) -> bool:
    """Whether the owner's process has certainly ended: it ran on the same machine as ``own`` (this process), and no
    longer runs.
    """
    machine, pid = process_of(owner)
    if owner == own or not machine or machine != process_of(own).machine:
        return False
    return pid == os.getpid() or not _is_running(pid)


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state.rpartition(")")[2].split()[0] not in _ENDED_STATES


@cache
def _identify_machine() -> str:
    """An id of this boot of the machine and this process-id namespace (containers have their own); empty if it cannot
    be read.
    """
    try:
        where = f"{_BOOT.read_text('utf-8')}{_PROCESSES.readlink()}"
    except OSError:
        return ""
    return sha256(where.encode()).hexdigest()[:8]


_LOCK_MS = 800  # less than the pause between two looks of one executor
_OVERDUE_MS = 500
_AGAIN_MS = 2000  # until the queue is asked about a session once more, if nobody took it
_MOST_TAKEN = 200  # sessions and timers taken up of one partition in one look
_NOTHING_WAITS = -1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RedisUpkeep(Upkeep):
    def __init__(self, redis: Redis, owner: str = "") -> None:
        """``owner`` names this process, if it is to help find executors of its machine that have died."""
        self._redis = redis
        self._owner, self._machine = owner, process_of(owner).machine
        self._scripts = Scripts(redis)
        self._calls = [
            ([one.reaper, one.waiting, one.leased, one.timers], self._limits) for one in keys.all_partitions()
        ]
        self._work = [name for one in keys.all_partitions() for name in (one.waiting, one.leased, one.timers)]

    _limits: tuple[Argument, ...] = (_LOCK_MS, _OVERDUE_MS, _AGAIN_MS, _MOST_TAKEN)

    async def find_overdue(self, partitions: Collection[int] = ALL_PARTITIONS) -> OverdueWork:
        if len(partitions) == len(self._calls) and await self._has_no_work():
            return OverdueWork()
        replies = await self._scripts.run_many("survey", [self._calls[number] for number in partitions])
        rows = [_parse_row(reply) for reply in replies]
        waiting = [
            (_parse_session_name(member), score % 1 > 0)
            for row in rows
            for member, score in _member_scores(row.waiting)
        ]
        return OverdueWork(
            unwoken=tuple(session for session, meant in waiting if not meant),
            due=tuple(session for session, meant in waiting if meant),
            orphaned=tuple(_parse_session_name(member) for row in rows for member in row.expired),
            timers=tuple(timer for row in rows for timer in _parse_due_timers(row.now_ms, row.due)),
            seconds_until_due={
                number: row.soonest_ms / 1000
                for number, row in zip(partitions, rows, strict=True)
                if row.soonest_ms != _NOTHING_WAITS
            },
        )

    async def end_dead_leases(self) -> int:
        if not self._machine:
            return 0
        key = keys.executors_key(self._machine)
        owners = cast("set[str]", await self._scripts.execute("SMEMBERS", key))
        if self._owner not in owners:
            await self._scripts.execute_many(("SADD", key, self._owner), ("EXPIRE", key, keys.ONE_DAY))
        dead = [owner for owner in owners if is_owner_dead(owner, self._owner)]
        if not dead:
            return 0
        ended = await self._end_leases(set(dead))
        await self._scripts.execute("SREM", key, *dead)
        return ended

    async def _end_leases(self, dead: Collection[str]) -> int:
        sets = [one.leased for one in keys.all_partitions()]
        members = await self._scripts.execute_many(*(("ZRANGE", leased, 0, -1) for leased in sets))
        leased_members = [
            (leased, str(one)) for leased, found in zip(sets, members, strict=True) for one in cast("list[str]", found)
        ]
        names = [keys.session_keys(*keys.unpack_member(keys.SessionMember, member)) for _, member in leased_members]
        owners = await self._scripts.execute_many(*(("HGET", one.lease, "owner") for one in names)) if names else []
        calls: list[Call] = [
            ([name.lease, leased, name.begun], [str(owner), member])
            for (leased, member), name, owner in zip(leased_members, names, owners, strict=True)
            if owner in dead
        ]
        return sum(reply == 1 for reply in await self._scripts.run_many("end_lease", calls))

    async def _has_no_work(self) -> bool:
        """Whether no partition has a waiting session, a lease or a timer. False on a cluster, where one command cannot
        tell.
        """
        if isinstance(self._redis, ClusterRedis):
            return False
        return await self._scripts.execute("EXISTS", *self._work) == 0

    async def count_unsettled_outcomes(self) -> int:
        async with bounded_redis_calls(), self._redis.pipeline(transaction=False) as pipe:
            for partition in keys.all_partitions():
                pipe.xlen(partition.outcomes)
            entries = cast("list[int]", await pipe.execute())
        return sum(max(0, number - 1) for number in entries)  # the newest that is applied stays in each stream

    async def fire_timer(self, timer: DueTimer, turn: Turn) -> bool:
        tenant, session_id = timer.tenant, timer.session_id
        session, partition = keys.session_keys(tenant, session_id), keys.partition_keys_of(tenant, session_id)
        record = keys.task_keys(tenant, session_id, timer.task_id).record
        arguments = arguments_for(
            "signal",
            turn_id=turn.turn_id,
            turn=turn.stored_json(),
            member=keys.pack_session(tenant, session_id),
            waits=1,
            timer=keys.pack_member(keys.TimerMember(tenant, session_id, timer.task_id, timer.subject)),
        )
        names = keys_for("signal", session, partition, record=record)
        return await self._scripts.run("signal", names, arguments) == 1

    async def add_fault_counts(self, counts: Mapping[Fault, int]) -> None:
        async with bounded_redis_calls(), self._redis.pipeline(transaction=False) as pipe:
            for fault, number in counts.items():
                pipe.hincrby(keys.UPKEEP_FAULTS_KEY, fault.value, number)
            await pipe.execute()


class _PartitionRow(NamedTuple):
    """The survey script's reply for one partition."""

    soonest_ms: int
    now_ms: int = 0
    waiting: Sequence[str] = ()
    expired: Sequence[str] = ()
    due: Sequence[str] = ()


def _parse_row(reply: Reply) -> _PartitionRow:
    soonest, *found = cast("list[int | str]", reply)
    now_ms, *members = cast("tuple[str, list[str], list[str], list[str]]", found or ("0", [], [], []))
    return _PartitionRow(int(soonest), int(now_ms), *members)


def _parse_session_name(member: str) -> SessionName:
    return SessionName(*keys.unpack_member(keys.SessionMember, member))


def _member_scores(row: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Pairs of member and score, from Redis's flat list."""
    return zip(row[::2], map(float, row[1::2]), strict=True)


def _parse_due_timers(now_ms: int, due: Sequence[str]) -> Iterator[DueTimer]:
    now = _to_datetime(now_ms)
    return (
        DueTimer(*keys.unpack_member(keys.TimerMember, member), now, _to_datetime(score))
        for member, score in _member_scores(due)
    )


def _to_datetime(milliseconds: float) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)
