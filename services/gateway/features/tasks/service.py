"""The task service, for all protocols: checks and accepts messages, waits for their turns, reads and watches tasks."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from functools import partial
from typing import NamedTuple

from services.gateway.edge.errors import InvalidField, NoVisibleTask, TaskHasEnded
from services.gateway.edge.keep_alive import ShutdownState
from services.gateway.features.files.service import MessageFiles
from services.gateway.features.identity.model import Caller, may_read, may_set_webhooks
from services.gateway.features.tasks import intake
from services.gateway.features.tasks.message import ClientMessage
from services.gateway.features.tasks.store import FoundTask, MessageKey, RedisClientIds
from services.gateway.features.tasks.views import ends_turn, is_assessment_turn
from services.gateway.features.webhooks.service import WebhookService
from shared.contracts.task import TaskEvent, TaskRecord
from shared.contracts.tenant import TenantRecord
from shared.contracts.tenant_document import BadRecord
from shared.domain.exact_json import dumps
from shared.domain.outgoing import AllowedAddresses, why_url_refused
from shared.domain.words import A2aVersion, TaskState
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import EventsLost, PrepareAcceptance, SessionBelongsToOther, TaskEnded, Tasks, TaskSnapshot


class MessageRules(NamedTuple):
    """The rules for messages. ``most_characters``: of all texts and data together, earlier turns included.

    ``most_metadata``: characters of the metadata as JSON. ``tool_addresses``: addresses of tool servers, in addition to
    those of a tenant's record. ``ids_mark_repeats``: a message with the
    id of an earlier one is a repeat of it.
    """

    most_parts: int = 100
    most_characters: int = 262_144
    most_metadata: int = 65_536
    tool_addresses: AllowedAddresses = AllowedAddresses()
    read_tenant_record: Callable[[str], Awaitable[TenantRecord | None]] | None = None
    files: MessageFiles = MessageFiles(None, AllowedAddresses())
    webhooks: WebhookService = WebhookService()
    ids_mark_repeats: bool = True

    async def require_permitted_message(self, message: ClientMessage, caller: Caller) -> None:
        """Check a message's tool server, webhook and files.

        Raises ``InvalidField``, ``PushUnsupported`` and ``UnsupportedContent``.
        """
        url = message.tools_endpoint
        problem = why_url_refused(url, self.tool_addresses) if url else None  # the executor checks the address again
        if url and problem and not await self._has_connection(caller.tenant, url):
            raise InvalidField("metadata.tools_endpoint", problem)
        if message.webhook is not None:
            self.webhooks.require_permitted_url(message.webhook)
        self.files.check_files(message.files)

    def require_permitted_size(self, message: ClientMessage) -> None:
        """Raises ``InvalidField`` if the message exceeds a limit, which the error names."""
        parts = "task" if message.solver else "message.parts"
        if message.part_count > self.most_parts:
            raise InvalidField(parts, f"there are {message.part_count} parts; at most {self.most_parts} are taken")
        history = message.solver.history if message.solver else ()
        if len(message.whole_text) + sum(len(turn.content) for turn in history) > self.most_characters:
            raise InvalidField(parts, f"texts and data are over the limit of {self.most_characters} characters")
        instruction_characters = len(message.practice.instructions) if message.practice else 0
        if len(dumps(message.other_metadata)) + instruction_characters > self.most_metadata:
            raise InvalidField("metadata", f"is over the limit of {self.most_metadata} characters as JSON")

    async def _has_connection(self, tenant: str, url: str) -> bool:
        """Whether the tenant's record has a connection with that URL."""
        try:
            record = await self.read_tenant_record(tenant) if self.read_tenant_record else None
        except BadRecord:  # written by another version of the gateway: the executor refuses it too
            return False
        connections = record.connections if record else ()
        return any(connection.url and connection.url.rstrip("/") == url.rstrip("/") for connection in connections)


# The message from which a task is made; or, for an assessor's message, its answer: the record of a task that is not
# stored. Raises ``GatewayRefusal`` and ``StoreUnavailable``.
PrepareMessageOrAnswer = Callable[[ClientMessage, Caller], Awaitable[ClientMessage | TaskRecord]]


_ASSESSMENT_TURN_WAIT_SECONDS = 600.0  # an assessor asks for a turn's task only once


class AcceptedMessage(NamedTuple):
    """An accepted message: its task, and the turn that answers it.

    ``shown_id``: the task's id as the client knows it. ``key``: under which the client's receipt of the answer is
    recorded; None if that has no effect. ``is_reply``: there is no task, and ``record``, which is not stored, is the
    answer.
    """

    record: TaskRecord
    turn_id: str
    shown_id: str
    key: MessageKey | None = None
    is_reply: bool = False


class TaskService:
    """Accepts messages and reads tasks. ``wait_seconds``: how long a client may wait for the end of a turn."""

    def __init__(
        self,
        tasks: Tasks,
        client_ids: RedisClientIds,
        take_time_and_id: Callable[[], intake.TimeAndFreshId],
        rules: MessageRules,
        wait_seconds: float,
        shutdown: ShutdownState,
        handle_assessor_message: PrepareMessageOrAnswer,
    ) -> None:
        self._tasks = tasks
        self._client_ids = client_ids
        self._take_time_and_id = take_time_and_id
        self._rules = rules
        self._webhooks = rules.webhooks
        self.files = rules.files
        self._wait_seconds, self._shutdown = wait_seconds, shutdown
        self._handle_assessor_message = handle_assessor_message

    async def submit_message(self, message: ClientMessage, caller: Caller) -> AcceptedMessage:
        """Store a message durably, a repeated one only once; raises ``GatewayRefusal`` or ``StoreUnavailable``."""
        self._rules.require_permitted_size(message)
        message = message._replace(is_always_new=not self._rules.ids_mark_repeats)
        task_message = await self._handle_assessor_message(message, caller)
        if isinstance(task_message, TaskRecord):
            return AcceptedMessage(task_message, "", task_message.task_id, is_reply=True)
        await self._rules.require_permitted_message(task_message, caller)
        with suppress(TaskEnded, SessionBelongsToOther):  # between our look and the store's: look again
            return await self._submit_once(task_message, caller)
        try:
            return await self._submit_once(task_message, caller)
        except TaskEnded:  # its record still says otherwise: the turn could not be read, and was buried
            raise TaskHasEnded(str(task_message.task_id), TaskState.FAILED.value) from None
        except SessionBelongsToOther:
            cause = f"session {task_message.session_id or task_message.task_id!r} belongs to another principal"
            raise InvalidField(intake.name_session_field(task_message.dialect), cause) from None

    async def _submit_once(self, message: ClientMessage, caller: Caller) -> AcceptedMessage:
        """Find the message's task, store what the message becomes, and record where the client's task id leads.

        Returns the task's record with the id of the message's turn. Raises ``GatewayRefusal``.
        """
        key = MessageKey(caller.tenant, message.task_id or "", intake.compute_fingerprint(message, caller))
        found_task = await self._find_task(key, caller) if message.task_id else FoundTask(key)
        decided = intake.decide_intake(message, caller, found_task, self._take_time_and_id())
        is_known = found_task.record is not None and decided.record.task_id == found_task.record.task_id
        if is_known:  # before the turn begins, so that the webhook misses nothing
            await self._register_webhook(decided.record, message, caller)
        keep_files = partial(self.files.store_contents, caller.tenant, message.files) if message.files else None
        record, turn_id = await self._store_intake(decided, keep_files)
        if not is_known:
            await self._register_webhook(record, message, caller, includes_past=True)
        key = found_task.key if message.task_id else key._replace(alias=record.task_id)
        if isinstance(decided, intake.TurnToSignal):
            await self._client_ids.record_signal(key, turn_id)
        newest = found_task.record  # to which the client's id led until now
        if record.task_id != key.alias and (newest is None or record.accepted_at > newest.accepted_at):
            await self._client_ids.record_task(key, record.task_id)
        is_legacy = message.dialect is A2aVersion.LEGACY  # whose answer, once it is received, ends repeats
        return AcceptedMessage(record, turn_id, message.task_id or record.task_id, key if is_legacy else None)

    async def _store_intake(
        self, decided: intake.Intake, keep_files: PrepareAcceptance | None
    ) -> tuple[TaskRecord, str]:
        match decided:
            case intake.TurnToAwait(record, turn_id):
                return record, turn_id
            case intake.TurnToSignal(record, turn):
                if keep_files is not None:
                    await keep_files()
                if not await self._tasks.signal(record.tenant, record.session_id, turn):
                    raise TaskHasEnded(record.task_id, (await self.reread_record(record)).state.value)
                return record, turn.turn_id
            case intake.TurnToAccept(record, turn, dedupe):
                accepted = await self._tasks.accept(record, turn, dedupe, keep_files)
                return accepted.record, accepted.turn_id

    async def wait_for_answer(self, accepted: AcceptedMessage) -> TaskRecord:
        """Wait for the end of an accepted message's turn, up to the time limit; returns the task as it is then.

        Raises ``StoreUnavailable`` if its end cannot be followed; the message stays accepted.
        """
        if accepted.is_reply:
            return accepted.record
        try:
            if accepted.turn_id not in accepted.record.turns_done:
                limit = _ASSESSMENT_TURN_WAIT_SECONDS if is_assessment_turn(accepted.record) else self._wait_seconds
                await self.wait_for_turn_end(accepted.record, accepted.turn_id, limit)
            return await self.reread_record(accepted.record)
        except StoreUnavailable as error:
            cause = f"task {accepted.shown_id!r} was accepted, but its end could not be followed"
            raise StoreUnavailable(f"{cause}: {error}") from error

    async def wait_for_turn_end(self, record: TaskRecord, turn_id: str, limit: float) -> None:
        """Wait until a turn of the task is over, at most ``limit`` seconds; returns then in either case.

        Raises ``NoVisibleTask`` if the task is no longer stored.
        """
        try:
            async with self._shutdown.limit_wait(limit):
                last_event_id = "0"  # of a task that was just accepted all events are new
                if record.state is not TaskState.SUBMITTED or record.turns_done:
                    task_snapshot = await self.read_snapshot(record)
                    if task_snapshot.record.state.is_terminal or turn_id in task_snapshot.record.turns_done:
                        return
                    last_event_id = task_snapshot.newest or "0"
                async with aclosing(self.watch(record, last_event_id)) as events:
                    async for _, event in events:
                        if ends_turn(event, turn_id):
                            return
        except (TimeoutError, EventsLost):
            return  # the client is told how the task stands

    async def record_answer_received(self, accepted: AcceptedMessage, record: TaskRecord) -> None:
        """Record that the client has received the turn's answer, so that an equal message is a new one from now on."""
        if accepted.key and (accepted.turn_id in record.turns_done or record.state.is_terminal):
            await self._client_ids.record_answer_received(accepted.key, accepted.turn_id)

    async def get_task(self, task_id: str, caller: Caller) -> TaskRecord:
        """Read the newest task with that id; raises ``NoVisibleTask`` if there is none that the caller may see."""
        record = (await self._find_task(MessageKey(caller.tenant, task_id), caller)).record
        if record is None or not may_read(caller.principal, record):
            raise NoVisibleTask(task_id)
        return record

    async def read_snapshot(self, record: TaskRecord) -> TaskSnapshot:
        """Read a task again, with the ends of its event stream; raises ``NoVisibleTask`` if it is gone."""
        newest = await self._tasks.get_snapshot(record.tenant, record.task_id, record.session_id)
        if newest is None:
            raise NoVisibleTask(record.task_id)
        return newest

    async def reread_record(self, record: TaskRecord) -> TaskRecord:
        """Read a task again; raises ``NoVisibleTask`` if it is no longer stored."""
        newest = await self._tasks.get_record(record.tenant, record.task_id, record.session_id)
        if newest is None:
            raise NoVisibleTask(record.task_id)
        return newest

    def watch(self, record: TaskRecord, last_event_id: str) -> AsyncGenerator[tuple[str, TaskEvent], None]:
        return self._tasks.watch(record.tenant, record.task_id, last_event_id, record.session_id)

    async def _find_task(self, key: MessageKey, caller: Caller) -> FoundTask:
        """Find the task with a client's id; one that the caller may not see is skipped."""
        found_task = await self._client_ids.find_task(key)
        if found_task.record is None or may_read(caller.principal, found_task.record):
            return found_task
        return await self._client_ids.find_task(key._replace(alias=intake.derive_caller_scoped_id(key.alias, caller)))

    async def _register_webhook(
        self, record: TaskRecord, message: ClientMessage, caller: Caller, *, includes_past: bool = False
    ) -> None:
        """Register the message's webhook, if it has one.

        ``includes_past``: for all updates since the start, as for a new task. Raises ``InvalidField`` if the caller may
        not set one for the task.
        """
        if message.webhook:
            if not may_set_webhooks(caller.principal, record):
                raise InvalidField("pushNotificationConfig", "only who began the task, or an operator, may set one")
            await self._webhooks.register_webhook(record, message.webhook, includes_past=includes_past)
