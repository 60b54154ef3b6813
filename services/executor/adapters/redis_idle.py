"""Moves idle sessions to the archive, and restores them from it."""

import asyncio
import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, cast

from pydantic import ConfigDict, JsonValue, TypeAdapter, ValidationError
from redis.asyncio import Redis

from services.executor.adapters.redis_ended import MOST_AT_ONCE, MOST_UPLOADS, put_or_log
from services.executor.core.session.context import run_in_parallel
from services.executor.ports.turns import SessionState, SessionUnavailable
from shared.contracts.base import Contract
from shared.infra import keys
from shared.infra.lua import ScriptedStore
from shared.infra.signatures import keys_for
from shared.infra.stored_tasks import read_record
from shared.ports.archive import Archive, ArchiveUnavailable
from shared.ports.store import StoreUnavailable


class LastTask(Contract):
    """How the newest task of an archived session ended. Its journal is in the archive of tasks."""

    task_id: str
    state: str
    process_type: str = ""
    strategy: str = ""
    states: tuple[str, ...] = ()


class ArchivedSession(Contract):
    """A session in the archive. ``memory``: its ``SessionState``. ``owner``: only this principal gets it back."""

    tenant: str
    session_id: str
    owner: str
    memory: JsonValue
    last_task: LastTask | None = None
    idle_since: datetime


_RETRY_MS = 30_000
SESSION_STATE_ADAPTER: TypeAdapter[SessionState] = TypeAdapter(
    SessionState, config=ConfigDict(hide_input_in_errors=True)
)


class PackedSession(NamedTuple):
    """A session's state as ``ArchivedSession`` JSON. ``mark``: the stored state, by which a change is noticed."""

    content: bytes
    mark: str


class Evictor(ScriptedStore):
    """Moves idle sessions to the archive: those without an open task, turn or lease. Without an archive they stay in
    Redis until they expire. Every method may raise ``StoreUnavailable``.
    """

    def __init__(self, redis: Redis, archive: Archive | None, idle_seconds: float) -> None:
        super().__init__(redis)
        self._archive, self._idle_ms = archive, int(idle_seconds * 1000)
        self._uploads = asyncio.Semaphore(MOST_UPLOADS)

    async def evict_once(self, partitions: Collection[int]) -> int:
        """Evicts idle sessions of these partitions; returns how many. May be interrupted and repeated at any point."""
        total = 0
        while sessions := await self.claim(partitions):
            if self._archive is None:
                await self._take_off_idle_list(sessions)
                continue
            evicted = sum(await run_in_parallel(self._move(self._archive, session) for session in sessions))
            total += evicted
            if not evicted:  # what could not be archived is taken again after a while, by whoever comes
                break
        return total

    async def claim(self, partitions: Collection[int]) -> tuple[keys.SessionMember, ...]:
        """Claims idle sessions for half a minute."""
        arguments = [max(1, MOST_AT_ONCE // len(partitions)), _RETRY_MS, self._idle_ms]
        calls = [([keys.partition_keys(number).idle], arguments) for number in partitions]
        rows = cast("list[list[str]]", await self._scripts.run_many("claim_due", calls))
        return tuple(keys.unpack_member(keys.SessionMember, member) for members in rows for member in members)

    async def pack(self, session: keys.SessionMember) -> PackedSession | None:
        """The session's packed state; None if it has none. Only ``remove`` checks whether the session has work."""
        name = keys.session_keys(*session).session
        reply = await self._scripts.execute("HMGET", name, "owner", "state", "last")
        owner, state, last_task_id = (str(field or "") for field in cast("list[str | None]", reply))
        if not state:
            return None
        session_record = ArchivedSession(
            tenant=session.tenant,
            session_id=session.session_id,
            owner=owner,
            memory=json.loads(state),
            last_task=await self._read_last_task(session, last_task_id),
            idle_since=datetime.now(UTC),
        )
        return PackedSession(session_record.model_dump_json().encode(), state)

    async def remove(self, session: keys.SessionMember, mark: str) -> bool:
        """Removes the session in one step; False, and nothing removed, if it has work or ``mark`` is not its state."""
        names = keys_for("evict_idle", keys.session_keys(*session), keys.partition_keys_of(*session))
        return await self._scripts.run("evict_idle", names, [keys.pack_session(*session), mark]) == 1

    async def _move(self, archive: Archive, session: keys.SessionMember) -> bool:
        """Archives the session, then removes it if it has not changed; returns whether it did."""

        async def put() -> bool:
            packed = await self.pack(session)
            if packed is not None:
                await archive.put(session.tenant, session.session_id, packed.content)
                if await self.remove(session, packed.mark):
                    return True
            await self._drop_if_stateless(archive, session)
            return False

        return await put_or_log(self._uploads, put, "session_not_archived", session=session.session_id)

    async def _drop_if_stateless(self, archive: Archive, session: keys.SessionMember) -> None:
        """Takes a session without a state in Redis off the idle list. If it was not evicted either, its archived state
        is deleted first: the session may have been forgotten while that was on its way to the archive.
        """
        name = keys.session_keys(*session).session
        state, evicted_at = cast("list[str | None]", await self._scripts.execute("HMGET", name, "state", "evicted"))
        if not state and not evicted_at:
            await archive.delete(session.tenant, session.session_id)
        if not state:
            await self._take_off_idle_list([session])

    async def _take_off_idle_list(self, sessions: Sequence[keys.SessionMember]) -> None:
        """Removes these sessions from the idle list until they become idle again. Their state stays in Redis."""
        rows = (("ZREM", keys.partition_keys_of(*session).idle, keys.pack_session(*session)) for session in sessions)
        await asyncio.gather(*(self._scripts.execute(*row) for row in rows))

    async def _read_last_task(self, session: keys.SessionMember, task_id: str) -> LastTask | None:
        """The session's newest task, from its record; None if the record has expired."""
        name = keys.task_keys(session.tenant, session.session_id, task_id).record
        row = await self._scripts.execute("HGET", name, "json") if task_id else None
        if row is None:
            return None
        record = read_record(cast("str | bytes", row))
        states = record.metadata.get("states")
        return LastTask(
            task_id=task_id,
            state=record.state.value,
            process_type=str(record.metadata.get("process_type") or ""),
            strategy=str(record.metadata.get("strategy") or ""),
            states=tuple(map(str, states)) if isinstance(states, list) else (),
        )


async def restore_session(archive: Archive | None, session: keys.SessionMember, owner: str) -> SessionState:
    """The archived state of a session; empty if the archive has none for this owner.

    Raises ``SessionUnavailable`` while the archive does not answer, because rules may depend on the calls that the
    state counts, and ``StoreUnavailable`` if the content cannot be read.
    """
    if archive is None:
        raise SessionUnavailable("what the session remembers lies in the archive, and ARCHIVE_URL names none")
    try:
        content = await archive.get(session.tenant, session.session_id)
        session_record = ArchivedSession.model_validate_json(content) if content is not None else None
        if session_record is None or session_record.owner != owner:
            return SessionState()
        return SESSION_STATE_ADAPTER.validate_json(json.dumps(session_record.memory))
    except ArchiveUnavailable as error:
        raise SessionUnavailable(f"what the session remembers cannot be had from the archive: {error}") from error
    except ValidationError as error:
        raise StoreUnavailable(f"what the session remembers cannot be read from the archive: {error}") from error
