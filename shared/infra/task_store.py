"""The gateway's access to tasks in Redis: accept, signal, look up, watch."""

from collections.abc import AsyncGenerator
from typing import cast

from redis.asyncio import Redis

from shared.contracts.task import TaskEvent, TaskRecord, Turn, TurnKind
from shared.domain.partition import PARTITIONS
from shared.infra import keys
from shared.infra.admission import Admission
from shared.infra.channel_listener import ChannelListener
from shared.infra.event_pages import read_event_page
from shared.infra.feeds import EventFeeds
from shared.infra.lua import Scripts
from shared.infra.redis_cluster import ClusterRedis
from shared.infra.signatures import order_script_arguments, order_script_keys
from shared.infra.stored_tasks import parse_task_record
from shared.ports.tasks import (
    Acceptance,
    PrepareAcceptance,
    SessionBelongsToOther,
    SessionIsCrowded,
    TaskEnded,
    Tasks,
    TaskSnapshot,
    TenantIsStopped,
    TooManyWaiting,
)


class UnknownTask(LookupError):
    """The tenant has no task with that id."""


class TaskStore(Tasks):
    """Tasks in Redis, as all gateway replicas see them. Every method may raise ``StoreUnavailable``."""

    def __init__(
        self,
        redis: Redis,
        live: ChannelListener,
        resend_window: int = keys.DEDUPE_SECONDS,
        most_waiting: int = 0,
        most_in_session: int = 0,
    ) -> None:
        """``resend_window``: for how many seconds a repeated message leads to its first task.

        ``most_waiting``: how many sessions may wait for an executor, over all gateways; ``most_in_session``: how many
        messages may wait in one session; 0 for any number.
        """
        self._most_in_session = most_in_session
        self._redis = redis
        self._scripts = Scripts(redis)
        self._resend_window = resend_window
        self._admission = Admission(redis, self._scripts, most_waiting)
        self._feeds = EventFeeds(live, self._scripts)

    async def accept(
        self, record: TaskRecord, turn: Turn, dedupe: str | None, prepare: PrepareAcceptance | None = None
    ) -> Acceptance:
        """Stores a turn, and the record if its task is new, in one step. May be repeated after a failure.

        ``dedupe``: the message's id among the caller's in the session (None: the turn's id). A known task keeps its
        record. Raises ``SessionBelongsToOther``, ``TaskEnded``, ``TenantIsStopped``, ``TooManyWaiting`` or
        ``SessionIsCrowded``.
        """
        message = dedupe or turn.turn_id
        if prepare is not None:
            reply = await self._run_accept_script(record, turn, message, is_trial=True)
            if (await self._read_acceptance(record, turn, reply)).is_new:
                await prepare()
        if isinstance(self._redis, ClusterRedis):
            return await self._accept_in_two_steps(record, turn, message)
        reply = await self._run_accept_script(record, turn, message, names_task=True)
        if reply[0] == "named":
            await self._take_over_alias(record, reply[1])
            reply = await self._run_accept_script(record, turn, message, names_task=True)
        return await self._read_acceptance(record, turn, reply)

    async def signal(self, tenant: str, session_id: str, turn: Turn) -> bool:
        """Puts a decision or a cancel ahead of the session's messages; False if the task is unknown or has ended."""
        session = keys.session_keys(tenant, session_id)
        partition = keys.partition_keys_of(tenant, session_id)
        record = keys.task_keys(tenant, session_id, turn.task_id).record
        arguments = order_script_arguments(
            "signal",
            turn_id=turn.turn_id,
            turn=turn.stored_json(),
            member=keys.pack_session(tenant, session_id),
            waits=int(turn.kind is not TurnKind.CANCEL),
        )
        key_names = order_script_keys("signal", session, partition, record=record)
        return await self._scripts.run("signal", key_names, arguments) == 1

    async def get_record(self, tenant: str, task_id: str, session_id: str = "") -> TaskRecord | None:
        """The task's record. Without ``session_id``, ``task_id`` may also be an alias (the id that a client chose),
        which leads to the newest task that has it. None if there is no such task.
        """
        task_and_session = await self._locate_task(tenant, task_id, session_id)
        return await self._read_record(tenant, *task_and_session) if task_and_session else None

    async def get_snapshot(self, tenant: str, task_id: str, session_id: str = "") -> TaskSnapshot | None:
        """The task's record and the ends of its event stream, read in one step; None if there is no such task."""
        task_and_session = await self._locate_task(tenant, task_id, session_id)
        if task_and_session is None:
            return None
        found_id, session_id = task_and_session
        task = keys.task_keys(tenant, session_id, found_id)
        page = await read_event_page(self._scripts, task.events, task.record)
        if not page.record:
            return None
        return TaskSnapshot(
            parse_task_record(page.record), page.oldest or None, page.newest or None, page.has_all_events
        )

    async def watch(
        self, tenant: str, task_id: str, after: str = "0", session_id: str = ""
    ) -> AsyncGenerator[tuple[str, TaskEvent]]:
        """The task's events after a stream id, then new ones for as long as the caller listens.

        No event is skipped or repeated. Raises ``UnknownTask`` and ``EventsLost``; close it with ``aclosing``.
        """
        task_and_session = await self._locate_task(tenant, task_id, session_id)
        if task_and_session is None:
            raise UnknownTask(task_id)
        found_id, session_id = task_and_session
        async with self._feeds.open_feed(keys.task_keys(tenant, session_id, found_id).events) as feed:
            while True:
                for row in await feed.await_events_after(after):
                    after = row.stream_id
                    yield row

    async def _accept_in_two_steps(self, record: TaskRecord, turn: Turn, message: str) -> Acceptance:
        """Stores the task's alias (the id that a client chose) first and then the turn, because on a cluster the alias
        is in another slot.
        """
        alias = keys.task_location_key(record.tenant, record.task_id)
        is_fresh = await self._claim_alias(record)
        reply = await self._run_accept_script(record, turn, message)
        if reply[0] == "ok" and not is_fresh:  # the name of a task which has left may be about to leave, too
            await self._scripts.execute("SET", alias, _build_alias_value(record))
        if reply[0] in ("other", "ended", "stopped", "full", "crowded") and is_fresh:
            await self._release_alias(record)
        accepted = await self._read_acceptance(record, turn, reply)
        if is_fresh and accepted.record.task_id != record.task_id:  # a resend; its own task was never made
            await self._release_alias(record)
        return accepted

    async def _release_alias(self, record: TaskRecord) -> None:
        """Removes the alias of a task that was not made, unless another message has made a task of that id since."""
        alias = keys.task_location_key(record.tenant, record.task_id)
        task = keys.task_keys(record.tenant, record.session_id, record.task_id)
        is_own = await self._scripts.execute("GET", alias) == _build_alias_value(record)
        if is_own and not await self._scripts.execute("EXISTS", task.record):
            await self._scripts.execute("DEL", alias)

    async def _run_accept_script(
        self, record: TaskRecord, turn: Turn, message: str, *, names_task: bool = False, is_trial: bool = False
    ) -> list[str]:
        """The reply of the accepting script, which with ``names_task`` also stores the task's alias.

        With ``is_trial`` it stores nothing, and replies as if it did.
        """
        tenant, session_id = record.tenant, record.session_id
        session = keys.session_keys(tenant, session_id)
        task = keys.task_keys(tenant, session_id, record.task_id)
        partition = keys.partition_keys_of(tenant, session_id)
        dedupe = keys.dedupe_key(tenant, session_id, turn.principal.id, message)
        event = TaskEvent(kind="submitted", at=turn.received_at, data={"turn_id": turn.turn_id})
        alias = {"alias": keys.task_location_key(tenant, record.task_id)} if names_task else {}
        async with self._admission.reserve_place() as most_waiting:
            arguments = order_script_arguments(
                "accept",
                turn_id=turn.turn_id,
                turn=turn.stored_json(),
                task_id=record.task_id,
                json=record.stored_json(),
                state=record.state.value,
                owner=turn.principal.id,
                member=keys.pack_session(tenant, session_id),
                kept=keys.EVENTS_KEPT,
                dedupe_seconds=self._resend_window,
                event=event.stored_json(),
                listed=keys.build_task_lists_argument(tenant, record.requester.id, session_id, record.task_id),
                most=most_waiting,
                partitions=PARTITIONS,
                place=_build_alias_value(record),
                is_asked=int(is_trial),
                crowd=self._most_in_session,
            )
            stop_key = keys.tenant_stop_key(tenant, session_id)
            key_names = order_script_keys("accept", session, task, partition, dedupe=dedupe, stopped=stop_key, **alias)
            reply = cast(list[str], await self._scripts.run("accept", key_names, arguments))
        if reply[0] in ("ok", "full") and reply[-1] != "":
            self._admission.record_waiting_count(int(reply[-1]))
        return reply

    async def _read_acceptance(self, record: TaskRecord, turn: Turn, reply: list[str]) -> Acceptance:
        match reply:
            case ["ok", record_json, _]:
                return Acceptance(parse_task_record(record_json) if record_json else record, turn.turn_id, True)
            case ["seen", task_and_turn]:
                task_id, turn_id = task_and_turn.split("\n")
                return await self._read_earlier_acceptance(record, task_id, turn_id)
            case ["waits", waiting_turn]:
                return await self._read_earlier_acceptance(
                    record, Turn.model_validate_json(waiting_turn).task_id, turn.turn_id
                )
            case ["crowded", waiting_count]:
                raise SessionIsCrowded(int(waiting_count))
            case ["full", waiting_count]:
                raise TooManyWaiting(int(waiting_count or self._admission.waiting))
            case ["ended"]:
                raise TaskEnded(record.task_id)
            case ["stopped", reason]:
                raise TenantIsStopped(record.tenant, reason)
            case _:
                raise SessionBelongsToOther(record.session_id)

    async def _read_earlier_acceptance(self, record: TaskRecord, task_id: str, turn_id: str) -> Acceptance:
        known_record = await self._read_record(record.tenant, task_id, record.session_id)
        return Acceptance(known_record or record, turn_id, False)

    async def _claim_alias(self, record: TaskRecord) -> bool:
        """Reserves a task id before the task exists; True if it was free, or left over from a failed accept."""
        task_location_key = keys.task_location_key(record.tenant, record.task_id)
        place = _build_alias_value(record)
        if await self._scripts.execute("SETNX", task_location_key, place):
            return True
        alias_before = await self._scripts.execute("GET", task_location_key)
        if alias_before is None or alias_before == place:
            return False
        await self._take_over_alias(record, str(alias_before))
        return True

    async def _take_over_alias(self, record: TaskRecord, alias_value: str) -> None:
        """Points the task id at this task; raises ``SessionBelongsToOther`` if a task of another session has it."""
        task_id, session_id = alias_value.split("\n")
        if await self._read_record(record.tenant, task_id, session_id) is not None:
            raise SessionBelongsToOther(session_id)
        await self._scripts.execute(
            "SET", keys.task_location_key(record.tenant, record.task_id), _build_alias_value(record)
        )

    async def _locate_task(self, tenant: str, task_id: str, session_id: str = "") -> tuple[str, str] | None:
        if session_id:
            return task_id, session_id
        value = await self._scripts.execute("GET", keys.task_location_key(tenant, task_id))
        if value is None:
            return None
        task_id, session_id = str(value).split("\n")
        return task_id, session_id

    async def _read_record(self, tenant: str, task_id: str, session_id: str) -> TaskRecord | None:
        row = await self._scripts.execute("HGET", keys.task_keys(tenant, session_id, task_id).record, "json")
        return None if row is None else parse_task_record(str(row))


def _build_alias_value(record: TaskRecord) -> str:
    """The value of a task's alias: its id and its session's."""
    return f"{record.task_id}\n{record.session_id}"
