"""Lists the tasks that a caller may see, page by page, the last changed first."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, cast

from services.gateway.edge.errors import InvalidField
from services.gateway.edge.fields import decode_page_token, encode_page_token
from services.gateway.features.identity.model import Caller, may_read, may_see_all_tasks
from shared.contracts.task import TaskRecord
from shared.domain.partition import PARTITIONS, partition_of
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.lua import Argument, Command, ScriptCall, ScriptedStore, parse_row_or_log
from shared.infra.stored_tasks import parse_task_record

MOST_LISTED_TASKS = 100
USUAL_LISTED_TASKS = 50
_MOST_DIGITS = 18  # of a time in microseconds; Python makes no number of thousands of digits
_EVERY_STATE = tuple(TaskState)


class TaskListPosition(NamedTuple):
    """A task's place in a list of tasks, after which the next page begins: when the task last changed (microseconds),
    and its member in the store's lists.
    """

    micros: int
    member: str


class TaskListPage(NamedTuple):
    """A page of tasks. ``next_position``: the place after which the next page begins, None on the last page.

    ``total``: the number of tasks on all pages. ``unreadable_ids``: of tasks whose records cannot be read.
    """

    records: Sequence[TaskRecord]
    next_position: TaskListPosition | None
    total: int
    unreadable_ids: Sequence[str] = ()

    @property
    def next_token(self) -> str:
        """The token for the next page; empty on the last page."""
        return (
            encode_page_token(str(self.next_position.micros), self.next_position.member) if self.next_position else ""
        )


class TaskQuery(NamedTuple):
    """Which tasks to list: of ``session_id``, in one of ``states``, changed since a time; at most ``size`` of them.

    ``page_token``: from the page before; empty for the first page.
    """

    session_id: str | None = None
    states: tuple[TaskState, ...] = _EVERY_STATE
    since: datetime | None = None
    size: int = USUAL_LISTED_TASKS
    page_token: str = ""


class TaskLists(ScriptedStore):
    """Lists tasks in two round trips a page: the lists' rows in each partition, then the records."""

    async def read_page(
        self, tenant: str, query: TaskQuery, position: TaskListPosition | None, owner: str | None = None
    ) -> TaskListPage:
        """The tasks of a tenant after ``position``, ignoring the query's token; may raise ``StoreUnavailable``.

        ``owner``: whose tasks they are, None for everybody's.
        """
        of_session = [] if query.session_id is None else [partition_of(tenant, query.session_id)]
        partitions: Sequence[int] = of_session or range(PARTITIONS)
        place = (str(position.micros), position.member) if position else ("", "")
        since = str(int(query.since.timestamp() * 1_000_000)) if query.since else "-inf"
        arguments: list[Argument] = [query.size + 1, *place, since]
        calls: list[ScriptCall] = [
            (_list_task_list_keys(tenant, owner, query, partition), arguments) for partition in partitions
        ]
        replies = cast("list[list[str]]", await self._scripts.run_many("list_tasks", calls))
        places = (
            (TaskListPosition(int(micros), member), keys.task_record_key_of_list_member(partition, tenant, member))
            for partition, reply in zip(partitions, replies, strict=True)
            for member, micros in zip(reply[1::2], reply[2::2], strict=True)
        )
        rows = sorted(places, reverse=True)
        page_rows = rows[: query.size]
        records, unreadable_ids = await self._read_records(page_rows)
        next_position = page_rows[-1][0] if len(rows) > query.size else None
        return TaskListPage(records, next_position, sum(int(reply[0]) for reply in replies), unreadable_ids)

    async def list_tasks(self, query: TaskQuery, caller: Caller) -> TaskListPage:
        """One page of the tasks that the caller may see; raises ``InvalidField`` and ``StoreUnavailable``."""
        position = parse_list_position("pageToken", *decode_page_token(query.page_token)) if query.page_token else None
        page = await self.read_page(caller.tenant, query, position, choose_visible_owner(caller))
        visible = [record for record in page.records if may_read(caller.principal, record)]
        if len(visible) < len(page.records):  # the session asked for is another's: not even how much is in it is told
            return TaskListPage((), None, 0)
        return page._replace(records=visible)

    async def find_listed_ids(self, tasks: Sequence[TaskRecord], session_id: str | None) -> frozenset[str]:
        """The ids of those of ``tasks`` that are in the tenant's (or the session's) list, and still have a record."""
        commands: list[Command] = []
        for task in tasks:
            partition = partition_of(task.tenant, task.session_id)
            member = keys.pack_member((task.task_id,))
            query = TaskQuery(session_id=session_id, states=(task.state,))
            commands += [("ZSCORE", name, member) for name in _list_task_list_keys(task.tenant, None, query, partition)]
            commands.append(("HEXISTS", keys.task_record_key_of_list_member(partition, task.tenant, member), "json"))
        answers = await self._scripts.execute_commands(*commands) if commands else []
        rows = zip(tasks, answers[::2], answers[1::2], strict=True)
        return frozenset(task.task_id for task, score, has_record in rows if score is not None and has_record)

    async def _read_records(
        self, rows: Sequence[tuple[TaskListPosition, str]]
    ) -> tuple[Sequence[TaskRecord], Sequence[str]]:
        """Reads the tasks at these places of the list. Returns the records that still exist, and the ids of tasks whose
        records cannot be read.
        """
        answers = await self._scripts.execute_commands(*(("HGET", name, "json") for _, name in rows)) if rows else ()
        stored = zip(rows, cast("Sequence[str | None]", answers), strict=True)
        parsed = [
            (place.member, parse_row_or_log(parse_task_record, answer)) for (place, _), answer in stored if answer
        ]
        unreadable_ids = [
            keys.unpack_member(lambda *parts: parts[-1], member) for member, record in parsed if record is None
        ]
        return [record for _, record in parsed if record], unreadable_ids


def choose_visible_owner(caller: Caller) -> str | None:
    """The owner whose tasks the caller may see; None if it may see all (approvers, operators, unverified callers)."""
    return None if may_see_all_tasks(caller.principal) else caller.principal.id


def parse_list_position(field: str, micros: str, member: str) -> TaskListPosition:
    """The place in a token of the client's; raises ``InvalidField``."""
    if not (micros.isascii() and micros.isdecimal() and len(micros) <= _MOST_DIGITS and member):
        raise InvalidField(field, "is none that this server gave")
    return TaskListPosition(int(micros), member)


def _list_task_list_keys(tenant: str, owner: str | None, query: TaskQuery, partition: int) -> list[str]:
    """The store's lists of a partition's tasks, one for each state."""
    stems = keys.task_list_prefixes(partition, tenant, owner or "", query.session_id or "")
    stem = stems.tenant if owner is None else stems.owner
    if query.session_id is not None:
        stem = stems.session
    return [stem + state.value for state in query.states]
