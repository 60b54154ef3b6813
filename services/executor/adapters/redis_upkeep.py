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
from shared.infra.lua import Reply, ScriptCall, Scripts, bounded_redis_calls
from shared.infra.redis_cluster import ClusterRedis
from shared.infra.signatures import arguments_for, keys_for

_BOOT_ID_FILE, _PID_NAMESPACE_FILE = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
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


def is_owner_dead(owner: str, own_name: str) -> bool:
    """Whether the owner's process has certainly ended: it ran on the machine of this process, and no longer runs."""
    machine, pid = process_of(owner)
    if owner == own_name or not machine or machine != process_of(own_name).machine:
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
    """An id of the machine's boot and this process-id namespace (containers have their own); empty if unreadable."""
    try:
        identity = f"{_BOOT_ID_FILE.read_text('utf-8')}{_PID_NAMESPACE_FILE.readlink()}"
    except OSError:
        return ""
    return sha256(identity.encode()).hexdigest()[:8]


_LOCK_MS = 800  # less than the pause between two looks of one executor
_OVERDUE_MS = 500
_RETRY_MS = 2000  # until the queue is asked about a session once more, if nobody took it
_MOST_CLAIMED = 200  # sessions and timers taken up of one partition in one look
_NOTHING_WAITS = -1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RedisUpkeep(Upkeep):
    def __init__(self, redis: Redis, owner: str = "") -> None:
        """``owner`` names this process, if it is to help find executors of its machine that have died."""
        self._redis = redis
        self._owner, self._machine = owner, process_of(owner).machine
        self._scripts = Scripts(redis)
        self._work: list[str] = []
        self._calls: list[ScriptCall] = []
        for partition in keys.all_partitions():
            work = [partition.waiting, partition.leased, partition.timers]
            self._work += work
            self._calls.append(([partition.reaper, *work], [_LOCK_MS, _OVERDUE_MS, _RETRY_MS, _MOST_CLAIMED]))

    async def find_overdue(self, partitions: Collection[int] = ALL_PARTITIONS) -> OverdueWork:
        if len(partitions) == len(self._calls) and await self._has_no_work():
            return OverdueWork()
        replies = await self._scripts.run_many("survey", [self._calls[number] for number in partitions])
        unwoken, due, orphaned = list[SessionName](), list[SessionName](), list[SessionName]()
        timers, seconds_until_due = list[DueTimer](), dict[int, float]()
        for partition, reply in zip(partitions, cast("list[list[Reply]]", replies), strict=True):
            soonest_ms, *survey = reply
            if soonest_ms != _NOTHING_WAITS:
                seconds_until_due[partition] = int(str(soonest_ms)) / 1000
            if not survey:
                continue
            now_ms, waiting, expired, due_timers = cast("tuple[int, list[str], list[str], list[str]]", survey)
            for member, score in _member_scores(waiting):
                (due if score % 1 > 0 else unwoken).append(_parse_session_name(member))
            orphaned += map(_parse_session_name, expired)
            timers += _parse_due_timers(int(now_ms), due_timers)
        return OverdueWork(tuple(unwoken), tuple(due), tuple(orphaned), tuple(timers), seconds_until_due)

    async def end_dead_leases(self) -> int:
        if not self._machine:
            return 0
        key = keys.executors_key(self._machine)
        owners = cast("set[str]", await self._scripts.execute("SMEMBERS", key))
        if self._owner not in owners:
            await self._scripts.execute_many(("SADD", key, self._owner), ("EXPIRE", key, keys.ONE_DAY))
        dead_owners = [owner for owner in owners if is_owner_dead(owner, self._owner)]
        if not dead_owners:
            return 0
        count = await self._end_leases(set(dead_owners))
        await self._scripts.execute("SREM", key, *dead_owners)
        return count

    async def _end_leases(self, dead_owners: Collection[str]) -> int:
        leased_keys = [partition.leased for partition in keys.all_partitions()]
        members = await self._scripts.execute_many(*(("ZRANGE", leased_key, 0, -1) for leased_key in leased_keys))
        rows = zip(leased_keys, cast("list[list[str]]", members), strict=True)
        leased_members = [(leased_key, member) for leased_key, row in rows for member in row]
        names = [keys.session_keys(*keys.unpack_member(keys.SessionMember, member)) for _, member in leased_members]
        owners = await self._scripts.execute_many(*(("HGET", name.lease, "owner") for name in names)) if names else []
        calls: list[ScriptCall] = [
            ([name.lease, leased_key, name.begun], [str(owner), member])
            for (leased_key, member), name, owner in zip(leased_members, names, owners, strict=True)
            if owner in dead_owners
        ]
        return sum(reply == 1 for reply in await self._scripts.run_many("end_lease", calls))

    async def _has_no_work(self) -> bool:
        """Whether no partition has a waiting session, lease or timer. A cluster cannot tell in one command: False."""
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


def _parse_session_name(member: str) -> SessionName:
    return SessionName(*keys.unpack_member(keys.SessionMember, member))


def _member_scores(row: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Pairs of member and score, from Redis's flat list."""
    return zip(row[::2], map(float, row[1::2]), strict=True)


def _parse_due_timers(now_ms: int, row: Sequence[str]) -> Iterator[DueTimer]:
    now = _to_datetime(now_ms)
    return (
        DueTimer(*keys.unpack_member(keys.TimerMember, member), now, _to_datetime(score))
        for member, score in _member_scores(row)
    )


def _to_datetime(milliseconds: float) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)
