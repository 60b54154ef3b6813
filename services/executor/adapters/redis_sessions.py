"""Sessions on Redis: their leases and waiting turns. All times are compared on the Redis server's clock."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import cast

from pydantic import ValidationError
from redis.asyncio import Redis

from services.executor.adapters.redis_turns import (
    STOPPED_RETRY_MS,
    ClaimReply,
    RedisTurnStore,
    pack_stream_entry,
    parse_store_time,
)
from services.executor.adapters.shared_texts import SharedTexts
from services.executor.ports.turns import (
    HeartbeatResult,
    Lease,
    LeaseHeartbeat,
    LeaseLost,
    RepairedFault,
    Sessions,
    SlotReply,
    SlotStore,
    TurnStore,
    TurnWork,
    UnreadableTurn,
    UnreadableTurnEnd,
)
from shared.contracts.task import Turn
from shared.domain.partition import partition_of
from shared.infra import keys
from shared.infra.lua import Argument, Reply, ScriptedStore, Scripts
from shared.infra.redis import require_writable_redis
from shared.infra.redis_cluster import ClusterRedis
from shared.infra.signatures import order_script_arguments, order_script_keys
from shared.infra.stored_outcomes import pack_outcome_with_own_digest
from shared.infra.stored_tasks import parse_task_record, unpack_task_record_json
from shared.ports.archive import Archive
from shared.ports.store import StoreUnavailable

_COMMAND_SECONDS = 10.0  # a turn outlasts a restart of Redis; its lease decides at the end what counts
_TASK_ID_PATTERN = re.compile(r'"task_id":\s*"([^"\\]+)"')
_LEASES_AT_ONCE = 500  # leases extended in one step
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
        self._scripts = Scripts(redis, _COMMAND_SECONDS)
        self._shared = shared or SharedTexts(redis)
        self._owner = owner
        self._lease_ms = int(lease_seconds * 1000)
        self._is_halted = False
        self._claimed: dict[Lease, list[Reply]] = {}  # turns that claims have begun, until they are asked for

    async def claim(self, tenant: str, session_id: str) -> Lease | None:
        reply = await self._run_claim_script(tenant, session_id, "")
        if reply is None:
            return None
        lease = Lease(
            tenant, session_id, int(str(reply[0])), self._owner, RepairedFault(str(reply[1])) if reply[1] else None
        )
        self._claimed[lease] = reply
        return lease

    async def begin_next_turn(self, lease: Lease) -> TurnWork | None:
        reply = self._claimed.pop(lease, None) or await self._run_claim_script(
            lease.tenant, lease.session_id, str(lease.fence)
        )
        return None if reply is None else await self._parse_claimed_work(lease, reply)

    async def _run_claim_script(self, tenant: str, session_id: str, fence: str) -> list[Reply] | None:
        """Begins the session's next turn; returns all that is stored of its task. None, and no lease, if none waits.

        ``fence``: that of the lease held, or empty to take a new one. Raises ``LeaseLost`` if that lease is no longer
        held.
        """
        session = keys.session_keys(tenant, session_id)
        partition = keys.partition_keys_of(tenant, session_id)
        names = order_script_keys("claim", session, partition, stopped=keys.tenant_stop_key(tenant, session_id))
        arguments = order_script_arguments(
            "claim",
            owner=self._owner,
            fence=fence,
            lease_ms=self._lease_ms,
            member=keys.pack_session(tenant, session_id),
            owner_gone=RepairedFault.OWNER_GONE,
            stopped_ms=STOPPED_RETRY_MS,
            retention=keys.SESSION_RETENTION_SECONDS,
        )
        reply = await self._scripts.run("claim", names, arguments)
        if reply == ["lost"]:
            raise LeaseLost(session_id)
        return reply if isinstance(reply, list) else None

    async def _parse_claimed_work(self, lease: Lease, reply: list[Reply]) -> TurnWork:
        """Parses the claim script's reply; raises ``UnreadableTurn``."""
        _, _, turn_text, attempts, waits, problem, turn_id, task, session, stop_state = reply
        claim_reply = ClaimReply(cast("list[Reply]", task), cast("list[str]", session), cast("list[str]", stop_state))
        turn = None
        try:
            turn = Turn.model_validate_json(str(turn_text))
            packed_record, version, outcome = claim_reply.record or await self._read_packed_record(lease, turn.task_id)
            record = parse_task_record(packed_record)
        except ValueError as error:
            task_id = turn.task_id if turn else _guess_task_id(str(turn_text))
            packed_record, *_ = claim_reply.record or await self._read_packed_record(lease, task_id)
            raise UnreadableTurn(
                _describe_error(error),
                turn_id=str(turn_id),
                task_id=task_id,
                attempts=int(str(attempts)),
                now=parse_store_time(claim_reply.stop_state),
                turn=turn,
                record=_unpack_record(packed_record),
            ) from error
        return TurnWork(
            turn,
            record,
            attempts=int(str(attempts)),
            waited_us=int(str(waits)),
            version=int(version),
            last_error=str(problem),
            claimed=claim_reply,
            lacks_outcome=record.state.is_terminal and not outcome,
        )

    async def extend_all(self, leases: Sequence[Lease]) -> HeartbeatResult:
        chunks = list(_split_leases(leases))
        calls = [self._build_extension_call(partition, chunk) for partition, chunk in chunks]
        replies = await self._scripts.run_many("extend", calls) if calls else []
        pairs = tuple(zip(chunks, cast("list[list[list[int]]]", replies), strict=True))
        lost_leases = tuple(chunk[index - 1] for (_, chunk), (places, _) in pairs for index in places)
        signalled_leases = tuple(chunk[index - 1] for (_, chunk), (_, places) in pairs for index in places)
        return HeartbeatResult(lost_leases, signalled_leases)

    def _build_extension_call(self, partition: str, leases: Sequence[Lease]) -> tuple[list[str], list[Argument]]:
        names = [partition, *(name for lease in leases for name in _list_heartbeat_keys(lease))]
        members = ((lease.fence, keys.pack_session(lease.tenant, lease.session_id)) for lease in leases)
        return names, [self._owner, self._lease_ms, *(value for member in members for value in member)]

    async def abandon(self, lease: Lease, retry_in: float = 0.0, *, handed_over: bool = False, error: str = "") -> None:
        self._claimed.pop(lease, None)
        await self._run_fenced(
            "abandon",
            lease,
            order_script_keys("abandon", *_get_session_and_partition_keys(lease)),
            member=keys.pack_session(lease.tenant, lease.session_id),
            delay_ms=int(retry_in * 1000),
            handed_over=int(handed_over),
            problem=error[:_LONGEST_ERROR],
            retention=keys.SESSION_RETENTION_SECONDS,
        )

    async def fail_unreadable_turn(self, lease: Lease, end: UnreadableTurnEnd) -> None:
        letter, outcome, (count, events) = end.letter, end.outcome, pack_stream_entry(end.events)
        task = keys.task_keys(lease.tenant, lease.session_id, letter.task_id)
        waiting_approvals = keys.waiting_approvals_key(partition_of(lease.tenant, lease.session_id), lease.tenant)
        await self._run_fenced(
            "bury_unread",
            lease,
            order_script_keys("bury_unread", *_get_session_and_partition_keys(lease), task, asked=waiting_approvals),
            turn_id=letter.turn.turn_id,
            task_id=letter.task_id,
            letter=letter.stored_json(),
            event_id=outcome.event_id,
            outcome=pack_outcome_with_own_digest(outcome),
            member=keys.pack_member(keys.EndedTaskMember(lease.tenant, lease.session_id, letter.task_id)),
            seconds=keys.TASK_RETENTION_SECONDS,
            json=end.record,
            kept=keys.EVENTS_KEPT,
            count=count,
            event_entry=events,
        )

    def stop_turns(self) -> None:
        self._is_halted = True

    async def ping(self) -> None:
        """Raises ``StoreUnavailable`` unless Redis answers, accepts writes, and would show a failover."""
        await require_writable_redis(self._redis)
        if problem := self._scripts.lineage.failover_risk:
            raise StoreUnavailable(str(problem))

    def turn_store(self, lease: Lease, work: TurnWork, heartbeat: LeaseHeartbeat | None = None) -> TurnStore:
        return RedisTurnStore(
            self._scripts,
            self._shared,
            lease,
            work,
            lease_ms=self._lease_ms,
            is_halted=lambda: self._is_halted,
            heartbeat=heartbeat,
            archive=self._archive,
            is_cluster=isinstance(self._redis, ClusterRedis),
        )

    async def _read_packed_record(self, lease: Lease, task_id: str) -> tuple[str, str, str | None]:
        """Packed record, version and outcome's event id, for a turn of an older release without its task's keys.

        The event id is None if the task has no outcome.
        """
        name = keys.task_keys(lease.tenant, lease.session_id, task_id).record
        reply = await self._scripts.execute("HMGET", name, "json", "version", "outcome")
        return cast("tuple[str, str, str | None]", tuple(cast("list[object]", reply)))

    async def _run_fenced(self, script: str, lease: Lease, names: list[str], **values: Argument) -> None:
        arguments = order_script_arguments(script, owner=lease.owner, fence=lease.fence, **values)
        reply = await self._scripts.run(script, names, arguments)
        if not isinstance(reply, list) or reply[0] == "lost":
            raise LeaseLost(lease.session_id)


def _guess_task_id(turn_text: str) -> str:
    """The task id in the text of a turn that cannot be parsed; empty if it has none."""
    match = _TASK_ID_PATTERN.search(turn_text)
    return match[1] if match else ""


def _unpack_record(packed_record: str | None) -> str:
    """A stored record's JSON; empty if there is none or it cannot be unpacked."""
    try:
        return unpack_task_record_json(packed_record or "")
    except ValueError:
        return ""


def _describe_error(error: ValueError) -> str:
    """Which fields could not be parsed. Their values are left out, since they may be personal data."""
    if not isinstance(error, ValidationError):
        return str(error)
    fields = ", ".join(".".join(map(str, fault["loc"])) or fault["type"] for fault in error.errors()[:5])
    return f"{error.title}: {fields}"


def _get_session_and_partition_keys(lease: Lease) -> tuple[keys.SessionKeys, keys.PartitionKeys]:
    tenant, session_id = lease.tenant, lease.session_id
    return keys.session_keys(tenant, session_id), keys.partition_keys_of(tenant, session_id)


def _list_heartbeat_keys(lease: Lease) -> tuple[str, str, str]:
    session = keys.session_keys(lease.tenant, lease.session_id)
    return session.lease, session.signals, keys.tenant_stop_key(lease.tenant, lease.session_id)


def _split_leases(leases: Sequence[Lease]) -> Iterator[tuple[str, list[Lease]]]:
    """Yields the leases in chunks by the partition's ``leased`` key, each small enough for one script call."""
    by_partition: defaultdict[str, list[Lease]] = defaultdict(list)
    for lease in leases:
        by_partition[_get_session_and_partition_keys(lease)[1].leased].append(lease)
    for leased_key, leases_of_one in by_partition.items():
        remaining = iter(leases_of_one)
        while chunk := list(islice(remaining, _LEASES_AT_ONCE)):
            yield leased_key, chunk


_POSTPONE_MS = 30_000  # until the reaper asks again for a session that waits for a slot
_SLOT_KEPT_MS = _POSTPONE_MS + 10_000  # for a session of the queue: if its wake is lost, the reaper wakes it in time
_QUEUE_SECONDS = keys.ONE_DAY


class RedisSlots(ScriptedStore, SlotStore):
    """The session slots of tenants with a cap, in Redis."""

    async def acquire(self, tenant: str, session_id: str, cap: int, seconds: float) -> SlotReply:
        arguments: list[Argument] = [session_id, cap, int(seconds * 1000), _SLOT_KEPT_MS, _QUEUE_SECONDS]
        reply = cast("list[int | str]", await self._scripts.run("take_slot", keys.slot_keys(tenant), arguments))
        to_wake = [str(session) for session in reply[1:] if session != session_id]
        return SlotReply(reply[0] != 0, to_wake, had_slot=reply[0] == 2)

    async def release(self, tenant: str, session_id: str, cap: int) -> Sequence[str]:
        arguments: list[Argument] = [session_id, cap, _SLOT_KEPT_MS]
        return cast("list[str]", await self._scripts.run("leave_slot", keys.slot_keys(tenant), arguments))

    async def extend(self, slots: Sequence[tuple[str, str]], seconds: float) -> None:
        by_tenant: defaultdict[str, list[Argument]] = defaultdict(list)
        for tenant, session_id in slots:
            by_tenant[tenant].append(session_id)
        milliseconds = int(seconds * 1000)
        running = {keys.slot_keys(tenant)[0]: sessions for tenant, sessions in by_tenant.items()}
        if running:
            calls = [([key], ["EXTEND", milliseconds, *sessions]) for key, sessions in running.items()]
            lives = (("PEXPIRE", key, 10 * milliseconds) for key in running)
            await asyncio.gather(self._scripts.run_many("queue_due", calls), self._scripts.execute_commands(*lives))

    async def postpone_reaping(self, tenant: str, session_id: str) -> None:
        waiting_key = keys.partition_keys_of(tenant, session_id).waiting
        member = keys.pack_session(tenant, session_id)
        await self._scripts.run("queue_due", [waiting_key], ["XX", _POSTPONE_MS, member])
