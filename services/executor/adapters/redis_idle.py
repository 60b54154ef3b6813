"""Moves ended tasks and idle sessions to the archive, and restores sessions from it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, cast

import structlog
from pydantic import ConfigDict, JsonValue, TypeAdapter, ValidationError
from pydantic_core import to_json
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from services.executor.adapters.shared_texts import SharedTexts
from services.executor.core.session.context import run_in_parallel
from services.executor.ports.turns import SessionState, SessionUnavailable
from shared.contracts.archive import ARCHIVE_VERSION
from shared.contracts.base import Contract
from shared.domain.partition import PARTITIONS
from shared.infra import keys
from shared.infra.journal_rows import TEXT_KIND, StoredStep, parse_steps
from shared.infra.ledger_rows import unpack_ledger_entry_json
from shared.infra.lua import Argument, ScriptedStore, Scripts, parse_flat_pairs
from shared.infra.redis_cluster import ClusterRedis
from shared.infra.signatures import order_script_keys
from shared.infra.stored_tasks import parse_task_record, unpack_task_events_json, unpack_task_record_json
from shared.ports.archive import Archive, ArchiveUnavailable
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()

MOST_AT_ONCE = 64  # tasks or sessions
MOST_UPLOADS = 4
_RETRY_MS = 30_000
_LOST_TEXT_JSON = "null"  # stands in an envelope for a text that nobody has any more
_ClaimedRow = tuple[str, str, list[object]]  # a task, "ok" or why it cannot be read, and what was read
_StreamRow = tuple[str, list[str]]  # a stream's entry: its id, and names and values by turns


class Archiver:
    """Moves ended tasks from Redis to the archive. Without an archive they stay in Redis until they expire."""

    def __init__(self, redis: Redis, archive: Archive | None, shared: SharedTexts | None = None) -> None:
        """``shared``: the shared texts that this process has already stored or read."""
        self._redis = redis
        self._scripts = Scripts(redis)
        self._archive = archive
        self._shared = shared or SharedTexts(redis)
        self._uploads = asyncio.Semaphore(MOST_UPLOADS)

    async def archive_once(self) -> int:
        """Archives all ended tasks; returns how many. May be repeated. Raises ``StoreUnavailable``."""
        total, partitions = 0, await self._list_partitions_to_ask()
        while partitions:
            rows, partitions = await self._claim_ended_tasks(partitions)
            tasks = await run_in_parallel(self._archive_task(*row) for row in rows)
            archived = [task for task in tasks if task is not None]
            if not archived:  # what could not be archived is claimed again after a while, by any executor
                break
            await self._set_expiry(archived)
            total += len(archived)
        return total

    async def _list_partitions_to_ask(self) -> Collection[int]:
        """All partitions; none if no task waits in any, which is not known of a cluster: then all."""
        sets = [partition.unarchived for partition in keys.all_partitions()]
        is_empty = not isinstance(self._redis, ClusterRedis) and await self._scripts.execute("EXISTS", *sets) == 0
        return () if is_empty else range(PARTITIONS)

    async def _claim_ended_tasks(self, partitions: Collection[int]) -> tuple[list[_ClaimedRow], list[int]]:
        """Claims ended tasks of these partitions for half a minute. Also returns the partitions that may have more."""
        share = max(1, MOST_AT_ONCE // len(partitions))
        arguments = [share, _RETRY_MS, int(self._archive is not None)]
        calls = [([keys.partition_keys(number).unarchived], arguments) for number in partitions]
        batches = cast("list[list[_ClaimedRow]]", await self._scripts.run_many("take_ended", calls))
        partitions_with_more = [
            number for number, batch in zip(partitions, batches, strict=True) if len(batch) >= share
        ]
        return [row for batch in batches for row in batch], partitions_with_more

    async def _archive_task(self, member: str, problem: str, parts: list[object]) -> keys.EndedTaskMember | None:
        """Archives one ended task; returns it if it may leave Redis, or None if it stays and is tried again later.

        ``problem``: "ok", or why the task cannot be read. ``parts``: its stored content; empty without an archive, and
        if nothing is left of the task.
        """
        task = keys.unpack_member(keys.EndedTaskMember, member)

        async def put() -> bool:
            if self._archive is not None and parts:
                await self._archive.put(task.tenant, task.task_id, await self._build_envelope(task.tenant, parts))
            return True

        if problem != "ok":
            log.error("ended_task_unreadable", task=task.task_id, error=problem)
            return None
        return task if await _archive_or_log(self._uploads, put, task=task.task_id) else None

    async def _set_expiry(self, tasks: Sequence[keys.EndedTaskMember]) -> None:
        """Lets the tasks expire after the retention time, or sooner if they are archived. May be repeated."""
        has_archive = self._archive is not None
        seconds = [0, keys.TASK_DETAIL_RETENTION_SECONDS] if has_archive else [keys.TASK_RETENTION_SECONDS] * 2
        calls: list[tuple[str, list[str], list[Argument]]] = []
        for task in tasks:
            alias = keys.task_location_key(task.tenant, task.task_id)
            alias_value = f"{task.task_id}\n{task.session_id}"
            names = order_script_keys(
                "archived", keys.task_keys(*task), keys.partition_keys_of(task.tenant, task.session_id)
            )
            if isinstance(self._redis, ClusterRedis):  # there the name lies in another slot
                calls.append(("expire_if_equal", [alias], [alias_value, keys.TASK_RETENTION_SECONDS]))
            else:
                names.append(alias)
            calls.append(
                ("archived", names, [keys.pack_member(task), *seconds, keys.TASK_RETENTION_SECONDS, alias_value])
            )
        for (script, *_), reply in zip(calls, await self._scripts.run_all(calls), strict=True):
            if isinstance(reply, ResponseError):  # what the server refuses for one task keeps no other from leaving
                log.warning("ended_task_expiry_not_set", script=script, error=str(reply))

    async def _build_envelope(self, tenant: str, parts: list[object]) -> bytes:
        """The task as ``ArchivedTask`` JSON. Parts that are stored as JSON are joined without being parsed."""
        record, journal, ledger, approvals, events = parts
        steps_stored = parse_steps(
            (row_id, parse_flat_pairs(pairs)) for row_id, pairs in cast("list[_StreamRow]", journal)
        )
        own_texts = {step.key: step.join_data({}) for step in steps_stored if step.kind == TEXT_KIND}
        shared_names = {name for step in steps_stored for name in step.shared_text_names} - own_texts.keys()
        texts = {**await self._shared.read_texts(tenant, shared_names), **own_texts}
        steps = to_json(
            [_fill_in_shared_texts(step, texts) for step in steps_stored if step.kind != TEXT_KIND]
        ).decode()
        writes = [
            f"{to_json(key).decode()}:{unpack_ledger_entry_json(row)}" for key, row in parse_flat_pairs(ledger).items()
        ]
        decisions = [row for key, row in parse_flat_pairs(approvals).items() if key != "latest"]
        event_texts = [
            unpack_task_events_json(parse_flat_pairs(pairs)["e"])[1:-1] for _, pairs in cast("list[_StreamRow]", events)
        ]
        members = [f'"v":{ARCHIVE_VERSION}', f'"record":{unpack_task_record_json(str(record))}', f'"journal":{steps}']
        members += [f'"ledger":{{{",".join(writes)}}}', f'"approvals":[{",".join(decisions)}]']
        return ("{" + ",".join((*members, f'"events":[{",".join(event_texts)}]')) + "}").encode()


def _fill_in_shared_texts(step: StoredStep, texts: Mapping[str, str]) -> dict[str, str | int | list[str]]:
    """A journal step with its shared texts filled in. ``lost`` lists the names of texts that no longer exist."""
    lost_names = [name for name in step.shared_text_names if name not in texts]
    all_texts = {**texts, **dict.fromkeys(lost_names, _LOST_TEXT_JSON)}
    fields: dict[str, str | int | list[str]] = {"key": step.key, "kind": step.kind, "data": step.join_data(all_texts)}
    return {**fields, "at_ms": step.at_ms, **({"lost": lost_names} if lost_names else {})}


async def _archive_or_log(uploads: asyncio.Semaphore, put: Callable[[], Awaitable[bool]], **labels: str) -> bool:
    """The result of ``put``; False if it failed, which is logged with ``labels``: it is tried again later."""
    async with uploads:
        try:
            return await put()
        except (ArchiveUnavailable, StoreUnavailable) as error:
            log.warning("archiving_postponed", **labels, error=str(error))
        except Exception as error:  # the outer edge of one task or session: it must not hold up the others
            log.exception("archiving_failed", **labels, error=repr(error))
    return False


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


SESSION_STATE_ADAPTER: TypeAdapter[SessionState] = TypeAdapter(
    SessionState, config=ConfigDict(hide_input_in_errors=True)
)


class PackedSession(NamedTuple):
    """A session's state as ``ArchivedSession`` JSON. ``mark``: the stored state from which it was made; if the session
    has another one by then, it is not removed.
    """

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

    async def evict_once(self) -> int:
        """Evicts idle sessions; returns how many. May be interrupted and repeated at any point."""
        total = 0
        while sessions := await self.claim_idle_sessions():
            if self._archive is None:
                await self._take_off_idle_list(sessions)
                continue
            evicted = sum(
                await run_in_parallel(self._archive_and_remove(self._archive, session) for session in sessions)
            )
            total += evicted
            if not evicted:  # what could not be archived is claimed again after a while, by any executor
                break
        return total

    async def claim_idle_sessions(self) -> tuple[keys.SessionMember, ...]:
        """Claims idle sessions for half a minute."""
        arguments = [max(1, MOST_AT_ONCE // PARTITIONS), _RETRY_MS, self._idle_ms]
        calls = [([partition.idle], arguments) for partition in keys.all_partitions()]
        rows = cast("list[list[str]]", await self._scripts.run_many("claim_due", calls))
        return tuple(keys.unpack_member(keys.SessionMember, member) for members in rows for member in members)

    async def pack_session(self, session: keys.SessionMember) -> PackedSession | None:
        """The session's state, packed for the archive; None if Redis has no state of it. Whether the session has work
        is checked by ``remove_session`` alone.
        """
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

    async def remove_session(self, session: keys.SessionMember, mark: str) -> bool:
        """Removes the session in one step; False, and nothing removed, if it has work or ``mark`` is not its state."""
        names = order_script_keys("evict_idle", keys.session_keys(*session), keys.partition_keys_of(*session))
        return await self._scripts.run("evict_idle", names, [keys.pack_session(*session), mark]) == 1

    async def _archive_and_remove(self, archive: Archive, session: keys.SessionMember) -> bool:
        """Archives the session, then removes it if it has not changed; returns whether it did."""

        async def put() -> bool:
            packed = await self.pack_session(session)
            if packed is not None:
                await archive.put(session.tenant, session.session_id, packed.content)
                if await self.remove_session(session, packed.mark):
                    return True
            await self._drop_if_stateless(archive, session)
            return False

        return await _archive_or_log(self._uploads, put, session=session.session_id)

    async def _drop_if_stateless(self, archive: Archive, session: keys.SessionMember) -> None:
        """Takes a session without a state in Redis off the idle list.

        If it was not evicted either, its archived state is deleted first: the session may have been forgotten while
        that was on its way to the archive.
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
        record = parse_task_record(cast("str | bytes", row))
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

    Raises ``SessionUnavailable`` if there is no archive or it does not answer, because rules may depend on the calls
    that the state counts, and ``StoreUnavailable`` if the content cannot be read.
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
