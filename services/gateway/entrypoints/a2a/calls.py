"""The single calls of protocols 0.3 and 1.0 on the task desk: plain JSON goes in, the protocol's own types come out."""

from typing import NamedTuple

import structlog
from a2a.types.a2a_pb2 import Message, Task

from services.gateway.core.errors import InvalidField
from services.gateway.core.fields import required_id, text_at
from services.gateway.core.tasks.desk import TaskDesk, Ticket
from services.gateway.core.tasks.message import metadata_of, read_message
from services.gateway.core.tasks.options import ListOptions, SendOptions, history_length, list_options, send_options
from services.gateway.core.tasks.task_list import ListedTasks, TaskListDesk
from services.gateway.entrypoints.a2a.view import a2a_reply, a2a_view
from services.gateway.ports.identity import Caller, Identity
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import JsonObject
from shared.domain.words import Dialect, TaskState

log = structlog.get_logger()


class Sent(NamedTuple):
    """An accepted message, who sent it, and how the answer is wanted."""

    ticket: Ticket
    caller: Caller
    options: SendOptions


class A2aCalls:
    """All raise ``Refusal`` and ``StoreUnavailable``. ``let_in`` is whom the door let in."""

    def __init__(self, desk: TaskDesk, lists: TaskListDesk, identity: Identity, notice: str) -> None:
        self._desk, self._lists, self._identity, self._notice = desk, lists, identity, notice

    async def submit(self, params: JsonObject, dialect: Dialect, let_in: Caller | None) -> Sent:
        """Accept a message; its answer is another step, since that may take its time."""
        caller = self.caller(params, let_in)
        options = send_options(params, dialect)
        return Sent(await self._desk.submit(read_message(params, dialect), caller), caller, options)

    async def answer(self, sent: Sent) -> Task | Message:
        """The task once its turn is over, or at once if nobody waits; a reply without a task where it is one."""
        if sent.ticket.is_reply:
            return a2a_reply(sent.ticket.record, self._notice)
        if not sent.options.wait:
            return self._view(sent.ticket.record, sent.options.history_length)
        record = await self._desk.wait(sent.ticket, sent.caller)
        if record.answers_as == "message" and record.state is TaskState.COMPLETED:
            return a2a_reply(record, self._notice)
        return self._view(record, sent.options.history_length)

    async def task(self, params: JsonObject, dialect: Dialect, let_in: Caller | None) -> Task:
        """``params``: id, historyLength."""
        caller, task_id = self.caller(params, let_in), required_id(params, "id", "params.id")
        length = history_length(params, "params.historyLength", dialect)
        return self._view(await self._desk.read(task_id, caller), length)

    async def cancel(self, params: JsonObject, let_in: Caller | None) -> Task:
        """``params``: id."""
        caller, task_id = self.caller(params, let_in), required_id(params, "id", "params.id")
        return a2a_view(await self._desk.cancel(task_id, caller), self._notice)

    async def tasks(self, params: JsonObject, let_in: Caller | None) -> tuple[list[Task], ListedTasks, ListOptions]:
        """One page of the tasks that the caller may see."""
        caller, options = self.caller(params, let_in), list_options(params)
        page = await self._lists.tasks(options.query, caller)
        return [self._listed(record, options) for record in page.records], page, options

    def caller(self, params: JsonObject, let_in: Caller | None) -> Caller:
        """Who speaks. A tenant that the request names must be the one it is let into."""
        caller = self._identity.caller_of(let_in, metadata_of(params))
        if text_at(params, "tenant", "params.tenant") not in (None, "", caller.tenant):
            raise InvalidField("params.tenant", "is not the tenant that the request was let into")
        return caller

    def _view(self, record: TaskRecord, length: int | None) -> Task:
        return a2a_view(record, self._notice, length)

    def _listed(self, record: TaskRecord, options: ListOptions) -> Task:
        task = self._view(record, options.history_length)
        if not options.artifacts:
            del task.artifacts[:]
        return task
