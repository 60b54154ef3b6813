"""Idle sessions in Redis, and the restoring of sessions that were moved to the archive."""

import asyncio
import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import cast

from pydantic import ConfigDict, JsonValue, TypeAdapter, ValidationError

from services.executor.ports.sessions import SessionName
from services.executor.ports.turns import SessionState, SessionUnavailable
from services.executor.ports.upkeep import IdleSessions, PackedSession
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
SESSION_STATE: TypeAdapter[SessionState] = TypeAdapter(SessionState, config=ConfigDict(hide_input_in_errors=True))


class RedisIdleSessions(ScriptedStore, IdleSessions):
    async def claim(self, partitions: Collection[int], idle_seconds: float, limit: int) -> tuple[SessionName, ...]:
        share = max(1, limit // max(1, len(partitions)))
        arguments = [share, _RETRY_MS, int(idle_seconds * 1000)]
        calls = [([keys.partition_keys(number).idle], arguments) for number in partitions]
        rows = cast("list[list[str]]", await self._scripts.run_many("claim_due", calls))
        return tuple(
            SessionName(*keys.unpack_member(keys.SessionMember, member)) for members in rows for member in members
        )

    async def read(self, session: SessionName) -> PackedSession | None:
        """The session's packed state; None if it has none, and it then leaves the idle list. Only ``evict`` checks
        whether the session has work.
        """
        name = keys.session_keys(*session).session
        reply = await self._scripts.execute("HMGET", name, "owner", "state", "last")
        owner, state, last_task_id = (str(field or "") for field in cast("list[str | None]", reply))
        if not state:
            await self.take_off_idle_list([session])
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

    async def evict(self, session: SessionName, mark: str) -> bool:
        names = keys_for("evict_idle", keys.session_keys(*session), keys.partition_keys_of(*session))
        return await self._scripts.run("evict_idle", names, [keys.pack_session(*session), mark]) == 1

    async def take_off_idle_list(self, sessions: Sequence[SessionName]) -> None:
        rows = (("ZREM", keys.partition_keys_of(*session).idle, keys.pack_session(*session)) for session in sessions)
        await asyncio.gather(*(self._scripts.execute(*row) for row in rows))

    async def _read_last_task(self, session: SessionName, task_id: str) -> LastTask | None:
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


async def restore_session(archive: Archive | None, session: SessionName, owner: str) -> SessionState:
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
        return SESSION_STATE.validate_json(json.dumps(session_record.memory))
    except ArchiveUnavailable as error:
        raise SessionUnavailable(f"what the session remembers cannot be had from the archive: {error}") from error
    except ValidationError as error:
        raise StoreUnavailable(f"what the session remembers cannot be read from the archive: {error}") from error
