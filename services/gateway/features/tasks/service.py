"""Tasks: accept messages, wait for their turns, read and cancel tasks. The same for every protocol."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import datetime
from typing import NamedTuple

from services.gateway.edge import errors
from services.gateway.edge.shutdown import ShutdownState
from services.gateway.features.files.service import MessageFiles
from services.gateway.features.identity.model import Caller, check_operator, may_have_told, may_read, may_stop
from services.gateway.features.tasks.intake import (
    Accept,
    HasConnection,
    Intake,
    IntakeTime,
    Join,
    ReadAssessment,
    Signal,
    cancel_turn,
    fingerprint_of,
    own_id,
    pass_on,
    take_in,
)
from services.gateway.features.tasks.message import ClientMessage, MessageLimits, check_size
from services.gateway.features.tasks.model import ClientThreads, Thread
from services.gateway.features.tasks.resolution import ResolutionWord, check_not_refused, resolution_turn, was_heeded
from services.gateway.features.tasks.views import is_turn
from services.gateway.features.webhooks.service import WebhookRegistrar
from shared.contracts.task import TaskEvent, TaskRecord, Turn
from shared.domain.outgoing import Reach, why_refused
from shared.domain.words import Dialect, TaskState
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import EventsLost, SessionBelongsToOther, Standing, TaskEnded, Tasks, TenantIsStopped, Wakes


class Rules(NamedTuple):
    """How long clients wait (seconds), and which tool servers a request may name.

    An assessor has a limit of its own, since it asks for a turn's task only once. ``known_by_id``: a message with the
    id of an earlier one is the same message.
    """

    blocking_limit: float = 85
    assessed_limit: float = 600
    cancel_limit: float = 15
    endpoints: Reach = Reach()
    has_connection: HasConnection | None = None
    limits: MessageLimits = MessageLimits()
    known_by_id: bool = True


class Ticket(NamedTuple):
    """An accepted message: its task, the turn that answers it, and how it is recognised when it is sent again.

    ``client_id``: the task's id in the client's words; ``name``: the id it is stored under. ``is_reply``: there is no
    task, and the record, which is not stored, has the answer.
    """

    record: TaskRecord
    turn_id: str
    client_id: str
    fingerprint: str
    name: str
    is_reply: bool = False


class NamedTask(NamedTuple):
    """The task that a client's id leads to, and the name under which it was found."""

    name: str | None
    thread: Thread
    record: TaskRecord | None


class TaskService:
    def __init__(
        self,
        tasks: Tasks,
        wakes: Wakes,
        threads: ClientThreads,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        rules: Rules,
        webhooks: WebhookRegistrar | None = None,
        leaving: ShutdownState | None = None,
        read_assessment: ReadAssessment | None = None,
        files: MessageFiles | None = None,
    ) -> None:
        self._tasks, self._wakes, self._threads = tasks, wakes, threads
        self._leaving, self._read_assessment = leaving or ShutdownState(), read_assessment
        self._clock, self._new_id, self._rules, self.webhooks = clock, new_id, rules, webhooks
        self.files = files or MessageFiles(None, Reach())

    async def submit(self, message: ClientMessage, caller: Caller) -> Ticket:
        """Accept a message durably, once; raises ``GatewayRefusal`` or ``StoreUnavailable``."""
        check_size(message, self._rules.limits)
        message = message._replace(is_always_new=not self._rules.known_by_id)
        meant = await self._read_assessment(message, caller) if self._read_assessment else message
        if isinstance(meant, TaskRecord):
            return Ticket(meant, "", meant.task_id, "", meant.task_id, is_reply=True)
        await self._check_endpoint(meant, caller)
        self._check_webhook(meant)
        self.files.check(meant.files)
        await self.files.keep(caller.tenant, meant.files)
        try:
            return await self._submit(meant, caller)
        except (TaskEnded, SessionBelongsToOther):  # between our look and the store's: look again
            return await self._submit_again(meant, caller)

    async def _submit_again(self, message: ClientMessage, caller: Caller) -> Ticket:
        try:
            return await self._submit(message, caller)
        except TaskEnded:  # its record still says otherwise: the turn could not be read, and was buried
            raise errors.TaskHasEnded(str(message.task_id), TaskState.FAILED.value) from None
        except SessionBelongsToOther:
            field = "metadata.session_id" if message.dialect is Dialect.LEGACY else "message.contextId"
            cause = f"session {message.session_id or message.task_id!r} belongs to another principal"
            raise errors.InvalidField(field, cause) from None

    async def _submit(self, message: ClientMessage, caller: Caller) -> Ticket:
        fingerprint = fingerprint_of(message, caller)
        nothing = NamedTask(None, Thread(), None)
        name, thread, known = await self._find(message.task_id, caller, fingerprint) if message.task_id else nothing
        meant = message._replace(task_id=name) if message.dialect is Dialect.LEGACY else message
        intake = take_in(meant, caller, known, thread, IntakeTime(self._clock(), self._new_id()))
        goes_on = known is not None and intake.record.task_id == known.task_id
        if goes_on:
            await self._enter_webhook(intake.record, message, caller)
        record, turn_id = await self._store(intake)
        if not goes_on:
            await self._enter_webhook(record, message, caller, from_start=True)
        ticket = Ticket(record, turn_id, message.task_id or record.task_id, fingerprint, name or record.task_id)
        await self._remember(ticket, intake, known, caller)
        return ticket

    async def wait(self, ticket: Ticket) -> TaskRecord:
        """The task once the ticket's turn is over, or as it is when the client has waited long enough."""
        if ticket.is_reply:
            return ticket.record
        try:
            if ticket.turn_id not in ticket.record.turns_done:
                rules = self._rules
                limit = rules.assessed_limit if is_turn(ticket.record) else rules.blocking_limit
                await self._wait_for_end(ticket.record, limit, ticket.turn_id)
            return await self.now(ticket.record)
        except StoreUnavailable as error:
            known = f"task {ticket.client_id!r} was accepted, but its end could not be followed"
            raise StoreUnavailable(f"{known}: {error}") from error

    async def note_answer(self, ticket: Ticket, record: TaskRecord) -> None:
        """Note that the client received the turn's answer, so that the same message is a new one from now on."""
        ended = ticket.turn_id in record.turns_done or record.state.is_terminal
        if ended and not ticket.is_reply:
            await self._threads.note_answer(record.tenant, ticket.name, ticket.fingerprint, ticket.turn_id)

    async def read(self, task_id: str, caller: Caller) -> TaskRecord:
        """The newest task of that id; raises ``NoVisibleTask`` if there is none that the caller may see."""
        record = (await self._find(task_id, caller, "")).record
        if record is None or not may_read(caller.principal, record):
            raise errors.NoVisibleTask(task_id)
        return record

    async def cancel(self, task_id: str, caller: Caller) -> TaskRecord:
        """Cancel a task and wait a little for its end; raises ``NotCancelable`` if it had ended.

        A Redis that lost its last writes may have lost the signal, so if the wait ends before the signal took effect,
        it is sent once more, as the same turn: what is acknowledged is stored at that time.
        """
        record = await self.read(task_id, caller)
        if not may_stop(caller.principal, record):
            raise errors.NoVisibleTask(task_id)
        turn = cancel_turn(record, caller, self._new_id(), self._clock())
        after = None if record.state.is_terminal else await self._pass_on_and_wait(record, turn)
        if after is None:
            raise errors.NotCancelable(task_id, (await self.now(record)).state.value)
        is_over = after.state.is_terminal or turn.turn_id in after.turns_done
        if not is_over and not await pass_on(self._tasks, self._wakes, record, turn):
            after = await self.now(record)
        if after.state.is_terminal and after.state is not TaskState.CANCELED:
            raise errors.NotCancelable(task_id, after.state.value)
        return after

    async def resolve(self, task_id: str, word: ResolutionWord, caller: Caller) -> tuple[TaskRecord, bool]:
        """Pass an operator's decision on a write in doubt to its task, and wait a little.

        Returns the task, and whether the decision has taken effect; if not, it will. Raises ``NotAnOperator``,
        ``NoVisibleTask`` and ``NothingToResolve``.
        """
        check_operator(caller)
        record = await self.read(task_id, caller)
        turn = resolution_turn(record, word, caller, self._clock())
        if turn is None:
            return record, True
        after = await self._pass_on_and_wait(record, turn)
        if after is None:
            raise errors.NothingToResolve(task_id, word.call, "the task has ended")
        heeded = was_heeded(after, word, caller)
        if not heeded:
            check_not_refused(after, turn, word)
        return after, heeded

    async def hand_over(self, record: TaskRecord, turn: Turn) -> TaskRecord:
        """Put a turn ahead of the session's messages, wait a little for its end, and return the task."""
        is_new = turn.turn_id not in record.turns_done
        after = await self._pass_on_and_wait(record, turn) if is_new else None
        return after or await self.now(record)

    async def standing(self, record: TaskRecord) -> Standing:
        """The present state of a task read before, and the ends of its event stream."""
        found = await self._tasks.standing(record.tenant, record.task_id, record.session_id)
        if found is None:
            raise errors.NoVisibleTask(record.task_id)
        return found

    async def now(self, record: TaskRecord) -> TaskRecord:
        """The present state of a task read before."""
        found = await self._tasks.record(record.tenant, record.task_id, record.session_id)
        if found is None:
            raise errors.NoVisibleTask(record.task_id)
        return found

    def watch(self, record: TaskRecord, after: str) -> AsyncGenerator[tuple[str, TaskEvent], None]:
        return self._tasks.watch(record.tenant, record.task_id, after, record.session_id)

    async def _check_endpoint(self, message: ClientMessage, caller: Caller) -> None:
        """Raises ``InvalidField`` for a tools endpoint that neither the operator nor the tenant's record permits."""
        url, has_own = message.tools_endpoint, self._rules.has_connection
        problem = why_refused(url, self._rules.endpoints) if url else None  # the executor checks the address again
        if url and problem and not (has_own and await has_own(caller.tenant, url)):
            raise errors.InvalidField("metadata.tools_endpoint", problem)

    def _check_webhook(self, message: ClientMessage) -> None:
        """Before anything is stored: a message whose webhook cannot be had is refused with it."""
        if message.webhook is None:
            return
        if self.webhooks is None:
            raise errors.PushUnsupported
        self.webhooks.check(message.webhook)

    async def _enter_webhook(
        self, record: TaskRecord, message: ClientMessage, caller: Caller, *, from_start: bool = False
    ) -> None:
        """Register the message's webhook before its turn begins, so that it misses nothing.

        ``from_start``: of a new task, from its start.
        """
        if message.webhook and self.webhooks:
            if not may_have_told(caller.principal, record):
                raise errors.InvalidField(
                    "pushNotificationConfig", "only who began the task, or an operator, may set one"
                )
            await self.webhooks.enter(record, message.webhook, from_start=from_start)

    async def _find(self, task_id: str, caller: Caller, fingerprint: str) -> NamedTask:
        """The task that a client means. A task of that id that it may not see is passed over."""
        found = await self._find_by_name(task_id, caller, fingerprint)
        if found.record is None or may_read(caller.principal, found.record):
            return found
        return await self._find_by_name(own_id(task_id, caller), caller, fingerprint)

    async def _find_by_name(self, name: str, caller: Caller, fingerprint: str) -> NamedTask:
        thread, record = await self._threads.find(self._tasks, caller.tenant, name, fingerprint)
        return NamedTask(name, thread, record)

    async def _store(self, intake: Intake) -> tuple[TaskRecord, str]:
        match intake:
            case Join(record, turn_id):
                return record, turn_id
            case Signal(record, turn):
                if not await pass_on(self._tasks, self._wakes, record, turn):
                    raise errors.TaskHasEnded(record.task_id, (await self.now(record)).state.value)
                return record, turn.turn_id
            case Accept():
                return await self._accept(intake)

    async def _accept(self, intake: Accept) -> tuple[TaskRecord, str]:
        try:
            accepted = await self._tasks.accept(intake.record, intake.turn, intake.dedupe)
        except TenantIsStopped as stopped:
            raise errors.StoppedTenant(intake.record.tenant, stopped.reason) from stopped
        if accepted.fresh:
            await self._wakes.wake(accepted.record.tenant, accepted.record.session_id)
        return accepted.record, accepted.turn_id

    async def _remember(self, ticket: Ticket, intake: Intake, known: TaskRecord | None, caller: Caller) -> None:
        record = ticket.record
        if isinstance(intake, Signal):
            await self._threads.note_signal(caller.tenant, ticket.name, ticket.fingerprint, ticket.turn_id)
        newer = known is None or record.accepted_at > known.accepted_at
        if newer and record.task_id != ticket.name:
            await self._threads.points_to(caller.tenant, ticket.name, record.task_id)

    async def _wait_for_end(self, record: TaskRecord, limit: float, turn_id: str) -> None:
        try:
            async with self._leaving.patience(limit):
                after = "0"  # of a task that was just accepted all events are new
                if record.state is not TaskState.SUBMITTED or record.turns_done:
                    standing = await self.standing(record)
                    if standing.record.state.is_terminal or turn_id in standing.record.turns_done:
                        return
                    after = standing.newest or "0"
                async with aclosing(self.watch(record, after)) as events:
                    async for _, event in events:
                        if is_end_of(event, turn_id):
                            return
        except (TimeoutError, EventsLost):
            return  # the client is told how the task stands

    async def _pass_on_and_wait(self, record: TaskRecord, turn: Turn) -> TaskRecord | None:
        """Put a turn ahead of the session's messages, wait a little for its end, and return the task.

        None if the task has ended.
        """
        if not await pass_on(self._tasks, self._wakes, record, turn):
            return None
        await self._wait_for_end(record, self._rules.cancel_limit, turn.turn_id)
        return await self.now(record)


def is_end_of(event: TaskEvent, turn_id: str) -> bool:
    """Whether an event ends the turn, or the whole task with it."""
    return ends_task(event) or (event.kind == "turn_finished" and event.data.get("turn_id") == turn_id)


def ends_task(event: TaskEvent) -> bool:
    return event.kind == "turn_finished" and event.data.get("state") in _TERMINAL


_TERMINAL = frozenset(state.value for state in TaskState if state.is_terminal)
