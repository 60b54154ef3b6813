"""Sessions on Redis: leases, and the turns that wait. Redis time alone decides who owns what."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import cast

from pydantic import ValidationError
from redis.asyncio import Redis

from services.executor.adapters.redis_turns import RedisTurnStore
from services.executor.ports.sessions import Fault, Lease, Sessions, UnreadableTurn, Work
from services.executor.ports.turns import LeaseLost, TurnStore
from shared.contracts.dead_letter import DeadTurn
from shared.contracts.outcome import TaskOutcome
from shared.contracts.task import TaskRecord, Turn
from shared.domain.partition import partition_of
from shared.infra import keys
from shared.infra.lua import Argument, Reply, Scripts
from shared.infra.redis import check_writable
from shared.ports.archive import Archive
from shared.ports.store import StoreUnavailable

_PATIENCE_SECONDS = 10.0  # a turn outlasts a restart of Redis; its lease decides at the end what counts
_TASK_ID = re.compile(r'"task_id":\s*"([^"\\]+)"')
_AT_ONCE = 500  # leases extended in one step
_ERROR = 1000  # characters of what broke a turn
_STOPPED_MS = 60_000  # until a stopped tenant's session is looked at again; lifting the stop does so at once


class RedisSessions(Sessions):
    """``owner`` names this process, ``archive`` holds what idle sessions remember.

    Every method may raise ``StoreUnavailable``.
    """

    def __init__(self, redis: Redis, owner: str, lease_seconds: float, archive: Archive | None = None) -> None:
        self._archive = archive
        self._redis = redis
        self._scripts = Scripts(redis, _PATIENCE_SECONDS)
        self._owner = owner
        self._lease_ms = int(lease_seconds * 1000)
        self._halted = False

    async def claim(self, tenant: str, session_id: str) -> Lease | None:
        session, partition = keys.session_keys(tenant, session_id), keys.partition_keys_of(tenant, session_id)
        names = [session.lease, session.inbox, session.signals, session.begun, partition.waiting, partition.leased]
        names += [keys.stopped_key(tenant, session_id), session.session, session.open, partition.idle]
        member = keys.pack(keys.Member(tenant, session_id))
        arguments: list[Argument] = [self._owner, self._lease_ms, member, Fault.NOT_RUNNING, Fault.OWNER_GONE]
        arguments += [_STOPPED_MS, keys.SESSION_RETENTION_SECONDS]
        match await self._scripts.run("claim", names, arguments):
            case [int(fence), str(mended)]:
                return Lease(tenant, session_id, fence, self._owner, Fault(mended) if mended else None)
            case _:
                return None

    async def extend_all(self, leases: Sequence[Lease]) -> Sequence[Lease]:
        chunks = list(_chunks(leases))
        calls = [self._extending(partition, chunk) for partition, chunk in chunks]
        replies = await self._scripts.run_many("extend", calls) if calls else []
        pairs = zip(chunks, cast("list[list[int]]", replies), strict=True)
        return [chunk[place - 1] for (_, chunk), places in pairs for place in places]

    def _extending(self, partition: str, leases: Sequence[Lease]) -> tuple[list[str], list[Argument]]:
        names = [partition, *(_keys_of(lease)[0].lease for lease in leases)]
        rows: list[Argument] = [part for lease in leases for part in (lease.fence, _member(lease))]
        return names, [self._owner, self._lease_ms, *rows]

    async def next(self, lease: Lease) -> Work | None:
        session, _ = _keys_of(lease)
        names = [session.lease, session.inbox, session.signals, session.turns, session.begun]
        names.append(keys.stopped_key(lease.tenant, lease.session_id))
        match await self._run_fenced("next", lease, names, []):
            case ["ok", str(stored), int(attempts), waited, str(problem), str(turn_id)]:
                turn = None
                try:
                    turn = Turn.model_validate_json(stored)
                    work = await self._work(lease, turn, attempts, int(str(waited)))
                except ValidationError as error:
                    raise await self._unreadable(error, turn_id, stored, attempts, turn) from error
                return work._replace(last_error=problem)
            case _:
                return None

    async def release(self, lease: Lease) -> bool:
        session, partition = _keys_of(lease)
        names = [session.lease, session.inbox, session.signals, session.session, session.open, partition.leased]
        names += [session.begun, partition.waiting, keys.stopped_key(lease.tenant, lease.session_id), partition.idle]
        arguments: list[Argument] = [_member(lease), keys.SESSION_RETENTION_SECONDS, _STOPPED_MS]
        reply = await self._run_fenced("release", lease, names, arguments)
        return reply[0] == "ok"

    async def abandon(self, lease: Lease, retry_in: float = 0.0, *, handed_over: bool = False, error: str = "") -> None:
        session, partition = _keys_of(lease)
        names = [session.lease, session.inbox, session.signals, session.begun, partition.waiting, partition.leased]
        names += [session.session, session.open, partition.idle]
        arguments: list[Argument] = [_member(lease), int(retry_in * 1000), int(handed_over), error[:_ERROR]]
        arguments.append(keys.SESSION_RETENTION_SECONDS)
        await self._run_fenced("abandon", lease, names, arguments)

    async def bury(self, lease: Lease, letter: DeadTurn) -> None:
        session, partition = _keys_of(lease)
        record = keys.task_keys(lease.tenant, lease.session_id, letter.task_id).record
        names = [session.lease, record, partition.dead_turns]
        await self._run_fenced("bury", lease, names, [letter.turn.turn_id, letter.model_dump_json()])

    async def _unreadable(
        self, error: ValidationError, turn_id: str, stored: str, attempts: int, turn: Turn | None
    ) -> UnreadableTurn:
        """The values that do not fit are left out: they may be anybody's."""
        seconds, micros = cast("list[str]", await self._scripts.command("TIME"))
        now = datetime.fromtimestamp(int(seconds), UTC) + timedelta(microseconds=int(micros))
        named = _TASK_ID.search(stored)
        task_id = turn.task_id if turn else named[1] if named else ""
        wrong = ", ".join(".".join(map(str, one["loc"])) or one["type"] for one in error.errors()[:5])
        return UnreadableTurn(f"{error.title}: {wrong}", turn_id, task_id, attempts, now, turn)

    async def bury_unread(self, lease: Lease, letter: DeadTurn, outcome: TaskOutcome) -> None:
        session, partition = _keys_of(lease)
        record = keys.task_keys(lease.tenant, lease.session_id, letter.task_id).record
        names = [session.lease, session.signals, session.turns, session.inbox, session.begun, session.open, record]
        names += [partition.dead_turns, partition.outcomes, partition.unarchived, _asked_key(lease)]
        arguments: list[Argument] = [letter.turn.turn_id, letter.task_id, letter.model_dump_json(), outcome.event_id]
        ended = keys.EndedMember(lease.tenant, lease.session_id, letter.task_id)
        arguments += [outcome.model_dump_json(), keys.pack(ended), keys.TASK_RETENTION_SECONDS]
        await self._run_fenced("bury_unread", lease, names, arguments)

    async def emit_missing(self, lease: Lease, outcome: TaskOutcome) -> bool:
        session, partition = _keys_of(lease)
        record = keys.task_keys(lease.tenant, lease.session_id, outcome.task_id).record
        names = [session.lease, record, partition.outcomes]
        reply = await self._run_fenced("mend_outcome", lease, names, [outcome.event_id, outcome.model_dump_json()])
        return reply[1] == 1

    def halt(self) -> None:
        self._halted = True

    async def ping(self) -> None:
        """Raise ``StoreUnavailable`` unless Redis answers, takes writes, and its failovers would be noticed."""
        await check_writable(self._redis)
        if problem := self._scripts.lineage.blind:
            raise StoreUnavailable(str(problem))

    def turn_store(self, lease: Lease, work: Work) -> TurnStore:
        return RedisTurnStore(
            self._scripts, lease, work, self._lease_ms, halted=lambda: self._halted, archive=self._archive
        )

    async def _work(self, lease: Lease, turn: Turn, attempts: int, waited_us: int) -> Work:
        name = keys.task_keys(lease.tenant, lease.session_id, turn.task_id).record
        json, version = cast(list[str], await self._scripts.command("HMGET", name, "json", "version"))
        return Work(turn, TaskRecord.model_validate_json(json), attempts, waited_us, int(version))

    async def _run_fenced(self, script: str, lease: Lease, names: list[str], arguments: list[Argument]) -> list[Reply]:
        reply = await self._scripts.run(script, names, [lease.owner, lease.fence, *arguments])
        if not isinstance(reply, list) or reply[0] == "lost":
            raise LeaseLost(lease.session_id)
        return reply


def _asked_key(lease: Lease) -> str:
    return keys.asked_key(partition_of(lease.tenant, lease.session_id), lease.tenant)


def _keys_of(lease: Lease) -> tuple[keys.SessionKeys, keys.PartitionKeys]:
    tenant, session_id = lease.tenant, lease.session_id
    return keys.session_keys(tenant, session_id), keys.partition_keys_of(tenant, session_id)


def _chunks(leases: Sequence[Lease]) -> Iterator[tuple[str, list[Lease]]]:
    """The leases of each partition's ``leased`` set, not too many for one step."""
    of_partition: defaultdict[str, list[Lease]] = defaultdict(list)
    for lease in leases:
        of_partition[_keys_of(lease)[1].leased].append(lease)
    for leased, held in of_partition.items():
        rest = iter(held)
        while chunk := list(islice(rest, _AT_ONCE)):
            yield leased, chunk


def _member(lease: Lease) -> str:
    return keys.pack(keys.Member(lease.tenant, lease.session_id))
