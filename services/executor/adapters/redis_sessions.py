"""Sessions on Redis: their leases and waiting turns. All times are compared on the Redis server's clock."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import cast

from pydantic import ValidationError
from redis.asyncio import Redis

from services.executor.adapters.redis_turns import RedisTurnStore
from services.executor.adapters.shared_texts import SharedTexts
from services.executor.adapters.turn_scripts import STOPPED_MS, ClaimReply, store_time_of, stream_entry_of
from services.executor.ports.sessions import (
    Fault,
    HeartbeatResult,
    Lease,
    LeaseHeartbeat,
    Sessions,
    SlotStore,
    TurnWork,
    UnreadableTurn,
    UnreadTurnEnd,
)
from services.executor.ports.turns import LeaseLost, TurnStore
from shared.contracts.task import Turn
from shared.domain.partition import partition_of
from shared.infra import keys
from shared.infra.lua import Argument, Reply, ScriptedStore, Scripts
from shared.infra.redis import check_writable
from shared.infra.redis_cluster import ClusterRedis
from shared.infra.signatures import arguments_for, keys_for
from shared.infra.stored_outcomes import pack_outcome
from shared.infra.stored_tasks import read_record, record_json
from shared.ports.archive import Archive
from shared.ports.store import StoreUnavailable

_PATIENCE_SECONDS = 10.0  # a turn outlasts a restart of Redis; its lease decides at the end what counts
_TASK_ID = re.compile(r'"task_id":\s*"([^"\\]+)"')
_AT_ONCE = 500  # leases extended in one step
_LONGEST_ERROR = 1000  # characters of what broke a turn


class RedisSessions(Sessions):
    """Sessions on Redis. ``owner`` names this process; ``archive`` holds idle sessions. Every method may raise
    ``StoreUnavailable``.
    """

    def __init__(
        self,
        redis: Redis,
        owner: str,
        lease_seconds: float,
        archive: Archive | None = None,
        shared: SharedTexts | None = None,
    ) -> None:
        self._archive = archive
        self._redis = redis
        self._scripts = Scripts(redis, _PATIENCE_SECONDS)
        self._shared = shared or SharedTexts(redis)
        self._owner = owner
        self._lease_ms = int(lease_seconds * 1000)
        self._halted = False
        self._claimed: dict[Lease, list[Reply]] = {}  # turns that claims have begun, until they are asked for

    async def claim(self, tenant: str, session_id: str) -> Lease | None:
        reply = await self._claim(tenant, session_id, "")
        if reply is None:
            return None
        lease = Lease(tenant, session_id, int(str(reply[0])), self._owner, Fault(str(reply[1])) if reply[1] else None)
        self._claimed[lease] = reply
        return lease

    async def begin_next_turn(self, lease: Lease) -> TurnWork | None:
        reply = self._claimed.pop(lease, None) or await self._claim(lease.tenant, lease.session_id, str(lease.fence))
        return None if reply is None else await self._parse_claimed_work(lease, reply)

    async def _claim(self, tenant: str, session_id: str, fence: str) -> list[Reply] | None:
        """Begins the session's next turn and returns all that is stored of its task. Returns None, and gives the lease
        back, if no turn waits.
        """
        session, partition = keys.session_keys(tenant, session_id), keys.partition_keys_of(tenant, session_id)
        names = keys_for("claim", session, partition, stopped=keys.tenant_stop_key(tenant, session_id))
        arguments = arguments_for(
            "claim",
            owner=self._owner,
            fence=fence,
            lease_ms=self._lease_ms,
            member=keys.pack_session(tenant, session_id),
            owner_gone=Fault.OWNER_GONE,
            stopped_ms=STOPPED_MS,
            retention=keys.SESSION_RETENTION_SECONDS,
        )
        reply = await self._scripts.run("claim", names, arguments)
        if reply == ["lost"]:
            raise LeaseLost(session_id)
        return reply if isinstance(reply, list) else None

    async def _parse_claimed_work(self, lease: Lease, reply: list[Reply]) -> TurnWork:
        """Parses the claim script's reply; raises ``UnreadableTurn``."""
        _, _, stored, attempts, waited, problem, turn_id, task, session, pulse = reply
        claimed = ClaimReply(cast("list[Reply]", task), cast("list[str]", session), cast("list[str]", pulse))
        turn = None
        try:
            turn = Turn.model_validate_json(str(stored))
            packed, version, outcome = claimed.record or await self._read_packed_record(lease, turn.task_id)
            record = read_record(packed)
        except ValueError as error:
            task_id = turn.task_id if turn else _guess_task_id(str(stored))
            packed, *_ = claimed.record or await self._read_packed_record(lease, task_id)
            about = (
                str(turn_id),
                task_id,
                int(str(attempts)),
                store_time_of(claimed.pulse),
                turn,
                _unpack_record(packed),
            )
            raise UnreadableTurn(_describe_error(error), *about) from error
        begun = (int(str(attempts)), int(str(waited)), int(version), str(problem))
        return TurnWork(turn, record, *begun, claimed, record.state.is_terminal and not outcome)

    async def extend_all(self, leases: Sequence[Lease]) -> HeartbeatResult:
        chunks = list(_split_leases(leases))
        calls = [self._pack_extension(partition, chunk) for partition, chunk in chunks]
        replies = await self._scripts.run_many("extend", calls) if calls else []
        pairs = tuple(zip(chunks, cast("list[list[list[int]]]", replies), strict=True))
        lost, called = (tuple(chunk[place - 1] for (_, chunk), places in pairs for place in places[n]) for n in (0, 1))
        return HeartbeatResult(lost, called)

    def _pack_extension(self, partition: str, leases: Sequence[Lease]) -> tuple[list[str], list[Argument]]:
        names = [partition, *(name for lease in leases for name in _heartbeat_keys(lease))]
        members = ((lease.fence, keys.pack_session(lease.tenant, lease.session_id)) for lease in leases)
        return names, [self._owner, self._lease_ms, *(part for member in members for part in member)]

    async def abandon(self, lease: Lease, retry_in: float = 0.0, *, handed_over: bool = False, error: str = "") -> None:
        self._claimed.pop(lease, None)
        await self._run_fenced(
            "abandon",
            lease,
            keys_for("abandon", *_session_and_partition_keys(lease)),
            member=keys.pack_session(lease.tenant, lease.session_id),
            delay_ms=int(retry_in * 1000),
            handed_over=int(handed_over),
            problem=error[:_LONGEST_ERROR],
            retention=keys.SESSION_RETENTION_SECONDS,
        )

    async def fail_unreadable_turn(self, lease: Lease, end: UnreadTurnEnd) -> None:
        letter, outcome, (count, events) = end.letter, end.outcome, stream_entry_of(end.events)
        task = keys.task_keys(lease.tenant, lease.session_id, letter.task_id)
        asked = keys.waiting_approvals_key(partition_of(lease.tenant, lease.session_id), lease.tenant)
        await self._run_fenced(
            "bury_unread",
            lease,
            keys_for("bury_unread", *_session_and_partition_keys(lease), task, asked=asked),
            turn_id=letter.turn.turn_id,
            task_id=letter.task_id,
            letter=letter.stored_json(),
            event_id=outcome.event_id,
            outcome=pack_outcome(outcome),
            member=keys.pack_member(keys.EndedMember(lease.tenant, lease.session_id, letter.task_id)),
            seconds=keys.TASK_RETENTION_SECONDS,
            json=end.record,
            kept=keys.EVENTS_KEPT,
            count=count,
            event_entry=events,
        )

    def stop_turns(self) -> None:
        self._halted = True

    async def ping(self) -> None:
        """Raises ``StoreUnavailable`` unless Redis answers, accepts writes, and would show a failover."""
        await check_writable(self._redis)
        if problem := self._scripts.lineage.failover_risk:
            raise StoreUnavailable(str(problem))

    def turn_store(self, lease: Lease, work: TurnWork, heartbeat: LeaseHeartbeat | None = None) -> TurnStore:
        parts = (self._lease_ms, lambda: self._halted, heartbeat, self._archive)
        on = isinstance(self._redis, ClusterRedis)
        return RedisTurnStore(self._scripts, self._shared, lease, work, *parts, is_cluster=on)

    async def _read_packed_record(self, lease: Lease, task_id: str) -> tuple[str, str, str | None]:
        """The packed record, its version and its outcome's event id, for a turn of an older release that does not name
        its task's keys.
        """
        name = keys.task_keys(lease.tenant, lease.session_id, task_id).record
        found = await self._scripts.execute("HMGET", name, "json", "version", "outcome")
        return cast("tuple[str, str, str | None]", tuple(cast("list[object]", found)))

    async def _run_fenced(self, script: str, lease: Lease, names: list[str], **given: Argument) -> list[Reply]:
        arguments = arguments_for(script, owner=lease.owner, fence=lease.fence, **given)
        reply = await self._scripts.run(script, names, arguments)
        if not isinstance(reply, list) or reply[0] == "lost":
            raise LeaseLost(lease.session_id)
        return reply


def _guess_task_id(stored: str) -> str:
    """The task id in the text of a turn that cannot be parsed; empty if it has none."""
    named = _TASK_ID.search(stored)
    return named[1] if named else ""


def _unpack_record(packed: str | None) -> str:
    """A stored record's JSON; empty if there is none or it cannot be unpacked."""
    try:
        return record_json(packed or "")
    except ValueError:
        return ""


def _describe_error(error: ValueError) -> str:
    """Which fields could not be parsed. Their values are left out, since they may be personal data."""
    if not isinstance(error, ValidationError):
        return str(error)
    wrong = ", ".join(".".join(map(str, one["loc"])) or one["type"] for one in error.errors()[:5])
    return f"{error.title}: {wrong}"


def _session_and_partition_keys(lease: Lease) -> tuple[keys.SessionKeys, keys.PartitionKeys]:
    tenant, session_id = lease.tenant, lease.session_id
    return keys.session_keys(tenant, session_id), keys.partition_keys_of(tenant, session_id)


def _heartbeat_keys(lease: Lease) -> tuple[str, str, str]:
    session = keys.session_keys(lease.tenant, lease.session_id)
    return session.lease, session.signals, keys.tenant_stop_key(lease.tenant, lease.session_id)


def _split_leases(leases: Sequence[Lease]) -> Iterator[tuple[str, list[Lease]]]:
    """Yields the leases in chunks by the partition's ``leased`` key, each small enough for one script call."""
    of_partition: defaultdict[str, list[Lease]] = defaultdict(list)
    for lease in leases:
        of_partition[_session_and_partition_keys(lease)[1].leased].append(lease)
    for leased, of_one in of_partition.items():
        rest = iter(of_one)
        while chunk := list(islice(rest, _AT_ONCE)):
            yield leased, chunk


_PUT_OFF_MS = 30_000  # until the reaper asks again for a session that waits for a slot
_QUEUE_SECONDS = keys.ONE_DAY


class RedisSlots(ScriptedStore, SlotStore):
    async def acquire(self, tenant: str, session_id: str, cap: int, seconds: float) -> bool:
        arguments: list[Argument] = [session_id, cap, int(seconds * 1000), _QUEUE_SECONDS]
        return await self._scripts.run("take_slot", keys.slot_keys(tenant), arguments) == 1

    async def release(self, tenant: str, session_id: str) -> str | None:
        running, queue = keys.slot_keys(tenant)
        _, first = await self._scripts.execute_many(("ZREM", running, session_id), ("ZRANGE", queue, 0, 0))
        while first:
            (following,) = cast("list[str]", first)
            if await self._scripts.run("leave_queue", [queue], [following]) == 1:
                return following
            first = await self._scripts.execute("ZRANGE", queue, 0, 0)
        return None

    async def extend(self, slots: Sequence[tuple[str, str]], seconds: float) -> None:
        by_tenant: defaultdict[str, list[Argument]] = defaultdict(list)
        for tenant, session_id in slots:
            by_tenant[tenant].append(session_id)
        milliseconds = int(seconds * 1000)
        running = {keys.slot_keys(tenant)[0]: sessions for tenant, sessions in by_tenant.items()}
        if running:
            calls = [([key], ["CH", milliseconds, *sessions]) for key, sessions in running.items()]
            lives = (("PEXPIRE", key, 10 * milliseconds) for key in running)
            await asyncio.gather(self._scripts.run_many("queue_due", calls), self._scripts.execute_many(*lives))

    async def postpone_reaping(self, tenant: str, session_id: str) -> None:
        waiting = keys.partition_keys_of(tenant, session_id).waiting
        member = keys.pack_session(tenant, session_id)
        await self._scripts.run("queue_due", [waiting], ["XX", _PUT_OFF_MS, member])
