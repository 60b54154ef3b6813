"""The methods of the three protocols, over either binding. Their parameters are in the schema's words.

All raise ``GatewayRefusal`` and ``StoreUnavailable``. What is not offered is refused before its parameters are read.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple, cast

from a2a.types.a2a_pb2 import AgentCard
from pydantic import JsonValue

from services.gateway.a2a import streams
from services.gateway.a2a.card_keys import CardKeys
from services.gateway.a2a.profile import Abilities
from services.gateway.a2a.views import Shown, Wording, reply_view, task_view
from services.gateway.edge.errors import InvalidField, NoExtendedCard, PushUnsupported, Unsupported
from services.gateway.edge.fields import count_at, id_at, required_id, text_at
from services.gateway.edge.replies import write_json
from services.gateway.features.identity.model import Caller, Identity
from services.gateway.features.streams.service import Streams, TaskStream
from services.gateway.features.tasks.listing import TaskListService
from services.gateway.features.tasks.message import metadata_of, read_legacy, read_message
from services.gateway.features.tasks.options import SendOptions, history_length, list_options, send_options
from services.gateway.features.tasks.service import TaskService, Ticket
from services.gateway.features.tasks.signals import TaskSignals
from services.gateway.features.tasks.views import legacy_view
from services.gateway.features.webhooks.model import legacy_shape, read_webhook, webhook_at
from services.gateway.features.webhooks.service import WebhookService
from shared.contracts.task import TaskRecord
from shared.domain.lru_cache import LruCache
from shared.domain.words import Dialect, TaskState

NO_STREAMS = "streaming is not offered; poll the task, or read GET /tasks/{id}/events"


class A2aParts(NamedTuple):
    tasks: TaskService
    signals: TaskSignals
    lists: TaskListService
    identity: Identity
    push: WebhookService
    card: AgentCard
    keys: CardKeys | None
    notice: str
    abilities: Abilities


_MOST_WEBHOOKS = 100
NO_EXTENDED_CARD = "there is no extended card"


class A2aMethods:
    def __init__(self, parts: A2aParts) -> None:
        self._parts, self._notice, self._streams = parts, parts.notice, Streams(parts.tasks)
        self._written = WrittenTasks(parts.notice)

    async def send(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """SendMessage: one message; its answer is the task once its turn is over, or at once if nobody waits."""
        params, caller = call.params, self.caller(call)
        options = send_options(params, wording.dialect)
        ticket = await self._parts.tasks.submit(read_message(params, wording.dialect), caller)
        if ticket.is_reply or not options.wait:
            return cast(JsonValue, await self._answer(ticket, options, wording))
        accepted = partial(self._show_task, ticket.record, options, wording)
        return streams.PendingAnswer(partial(self._answer, ticket, options, wording), accepted)

    async def stream(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """SendStreamingMessage: one message; its task's updates as server-sent events."""
        self._check_streams()
        params, caller = call.params, self.caller(call)
        options = send_options(params, wording.dialect)
        stream = await self._streams.send(read_message(params, wording.dialect), caller, call.last_event_id)
        return streams.StreamAnswer(stream, streams.shape_of(stream, wording, self._notice, options.history_length))

    async def subscribe(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """SubscribeToTask: the task as it stands, then its updates; ``Last-Event-ID`` goes on."""
        self._check_streams()
        task_id, caller = required_id(call.params, "id", "id"), self.caller(call)
        stream = await self._streams.subscribe(task_id, caller, call.last_event_id, wording.dialect)
        return streams.StreamAnswer(stream, streams.shape_of(stream, wording, self._notice))

    async def task(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """GetTask: the task as it stands."""
        caller, task_id = self.caller(call), required_id(call.params, "id", "id")
        length = history_length(call.params, "historyLength", wording.dialect)
        return streams.WrittenJson(await self.write_task(task_id, caller, wording, length))

    async def write_task(self, task_id: str, caller: Caller, wording: Wording, length: int | None) -> bytes:
        """The task as JSON bytes."""
        record = await self._parts.tasks.read(task_id, caller)
        known = self._written.find(record, wording, length)
        return known or self._written.write(await self._fill_files(record), wording, length)

    async def tasks(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """ListTasks: the tasks that the caller may see, the last changed first, page by page."""
        caller, options = self.caller(call), list_options(call.params)
        page = await self._parts.lists.tasks(options.query, caller)
        view = partial(task_view, notice=self._notice, artifacts=options.artifacts)
        tasks: JsonValue = [wording.task(view(one, history_length=options.history_length)) for one in page.records]
        return {
            "tasks": tasks,
            "nextPageToken": page.next_token,
            "pageSize": options.query.size,
            "totalSize": page.total,
        }

    async def cancel(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """CancelTask: the task, once it has ended."""
        caller, task_id = self.caller(call), required_id(call.params, "id", "id")
        record = await self._fill_files(await self._parts.signals.cancel(task_id, caller))
        return wording.task(task_view(record, self._notice))

    async def set_webhook(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """CreateTaskPushNotificationConfig: a URL that receives the task's updates from now on."""
        task_id, caller = self._of_webhook(call)
        webhook = read_webhook(call.params, "pushNotificationConfig", wording.dialect)
        webhook = webhook.model_copy(update={"config_id": webhook.config_id or task_id})
        await self._parts.push.enter(task_id, webhook, caller)
        return wording.webhook(webhook, task_id, webhook.token)  # only whoever has just set it is told it again

    async def webhook(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """GetTaskPushNotificationConfig: one of the task's; in 0.3 the first, where none is named."""
        task_id, caller = self._of_webhook(call)
        read = id_at if wording.dialect is Dialect.A2A_0_3 else required_id
        found = await self._parts.push.find(task_id, read(call.params, "id", "id"), caller)
        return wording.webhook(found, task_id, "")

    async def webhooks(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """ListTaskPushNotificationConfigs: those of the task, page by page."""
        task_id, caller = self._of_webhook(call)
        after = text_at(call.params, "pageToken", "pageToken") or ""
        size = min(count_at(call.params, "pageSize", "pageSize") or _MOST_WEBHOOKS, _MOST_WEBHOOKS)
        listed = [one.webhook for one in await self._parts.push.list_webhooks(task_id, caller)]
        page = [one for one in listed if one.config_id > after]
        token = page[size - 1].config_id if len(page) > size else ""
        return wording.webhooks([wording.webhook(one, task_id, "") for one in page[:size]], token)

    async def drop_webhook(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """DeleteTaskPushNotificationConfig: stops the updates to a URL; it may be repeated."""
        task_id, caller = self._of_webhook(call)
        await self._parts.push.remove(task_id, required_id(call.params, "id", "id"), caller)
        return wording.nothing

    async def extended_card(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """GetExtendedAgentCard: the agent's card, for a caller who is known."""
        if not self._parts.abilities.shows_extended_card:
            raise Unsupported(NO_EXTENDED_CARD)
        if not self.caller(call).principal.verified:
            raise NoExtendedCard("the extended card is for callers who have shown who they are")
        return wording.card(self._parts.card, self._parts.keys)

    def caller(self, call: streams.MethodCall) -> Caller:
        """The caller. Raises ``InvalidField`` if the request names another tenant than the caller's."""
        caller = self._parts.identity.caller_of(call.let_in, metadata_of(call.params))
        if text_at(call.params, "tenant", "tenant") not in (None, "", caller.tenant):
            raise InvalidField("tenant", "is not the tenant that the request was let into")
        return caller

    def _check_streams(self) -> None:
        if not self._parts.abilities.streaming:
            raise Unsupported(NO_STREAMS)

    def _of_webhook(self, call: streams.MethodCall) -> tuple[str, Caller]:
        if not self._parts.push.offered:
            raise PushUnsupported
        return required_id(call.params, "taskId", "taskId"), self.caller(call)

    async def _answer(self, ticket: Ticket, options: SendOptions, wording: Wording) -> Shown:
        """The task once its turn is over, or at once if the client does not wait; for a taskless reply, a message."""
        if ticket.is_reply:
            return self._show_task(ticket.record, options, wording, is_reply=True)
        record = await self._fill_files(await self._parts.tasks.wait(ticket) if options.wait else ticket.record)
        is_reply = options.wait and record.answers_as == "message" and record.state is TaskState.COMPLETED
        return self._show_task(record, options, wording, is_reply=is_reply)

    async def _fill_files(self, record: TaskRecord) -> TaskRecord:
        """The record with the contents of its files. Streams, lists and webhooks only refer to them."""
        return await self._parts.tasks.files.with_contents(record)

    def _show_task(
        self, record: TaskRecord, options: SendOptions, wording: Wording, *, is_reply: bool = False
    ) -> Shown:
        if is_reply:
            return wording.update({"message": reply_view(record, self._notice)}, False)
        return wording.update({"task": task_view(record, self._notice, options.history_length)}, False)


_MOST = 1024
_LARGEST = 64 * 1024  # bytes; with ``_MOST``, what is kept stays under 64 MB


class WrittenTasks:
    """A cache of tasks written as JSON, by the identity of their records, which the store keeps once read.

    A record with its files' contents is a new object each time, and may be large: it is not cached.
    """

    def __init__(self, notice: str) -> None:
        self._notice = notice
        self._kept = LruCache[tuple[str, str, int | None, object], tuple[TaskRecord, bytes]](_MOST)

    def find(self, record: TaskRecord, wording: Wording, history_length: int | None) -> bytes | None:
        known = self._kept.use(_cache_key(record, wording, history_length))
        return known[1] if known and known[0] is record else None

    def write(self, record: TaskRecord, wording: Wording, history_length: int | None) -> bytes:
        written = write_json(wording.task(task_view(record, self._notice, history_length))).encode()
        has_contents = any("raw" in part for message in record.history for part in message.parts)
        if len(written) <= _LARGEST and not has_contents:
            self._kept.keep(_cache_key(record, wording, history_length), (record, written))
        return written


def _cache_key(record: TaskRecord, wording: Wording, history_length: int | None) -> tuple[str, str, int | None, object]:
    return record.tenant, record.task_id, history_length, wording.task


LegacyAct = Callable[[streams.MethodCall], Awaitable[streams.Answer]]
_CONFIG = "pushNotificationConfig"


class LegacyMethods:
    """The methods of the early protocol. All raise ``GatewayRefusal`` and ``StoreUnavailable``.

    ``methods``: those whose names no later protocol has.
    """

    def __init__(self, parts: A2aParts) -> None:
        self._tasks: TaskService = parts.tasks
        self._signals = parts.signals
        self._push: WebhookService = parts.push
        self._identity, self._notice, self._streaming = parts.identity, parts.notice, parts.abilities.streaming
        self._streams = Streams(parts.tasks)
        self.methods: dict[str, LegacyAct] = {
            "tasks/send": self.send,
            "tasks/sendSubscribe": self.stream,
            "tasks/pushNotification/set": self.set_webhook,
            "tasks/pushNotification/get": self.webhook,
        }
        self._shared: dict[str, LegacyAct] = {"tasks/get": self.get, "tasks/cancel": self.cancel}
        if self._streaming:
            self._shared["tasks/resubscribe"] = self.subscribe

    async def find_shared(self, name: str, call: streams.MethodCall) -> LegacyAct | None:
        """The method for a call whose name 0.3 has too, if its task was made by ``tasks/send``; else None."""
        act = self._shared.get(name)
        if act is None:
            return None
        record = await self._tasks.read(_task_id(call), self._identify_caller(call))
        return act if record.dialect is Dialect.LEGACY else None

    async def send(self, call: streams.MethodCall) -> streams.Answer:
        """Accept the message, and answer in the same response when its turn is over."""
        length, caller = _history_length(call), self._identify_caller(call)
        ticket = await self._tasks.submit(read_legacy(call.params), caller)
        handed_over: list[TaskRecord] = []

        async def answer() -> Shown:
            handed_over.append(await self._tasks.wait(ticket))
            return legacy_view(handed_over[0], ticket.shown_id, length, self._notice)

        async def note() -> None:
            for record in handed_over:
                await self._tasks.note_answer(ticket, record)

        accepted = partial(legacy_view, ticket.record, ticket.shown_id, length, self._notice)
        return streams.PendingAnswer(answer, accepted, partial(streams.note_delivery, note, ticket.record.task_id))

    async def stream(self, call: streams.MethodCall) -> streams.Answer:
        if not self._streaming:
            raise Unsupported(NO_STREAMS)
        _history_length(call)
        message, caller = read_legacy(call.params), self._identify_caller(call)
        return self._stream_updates(await self._streams.send(message, caller, call.last_event_id))

    async def subscribe(self, call: streams.MethodCall) -> streams.Answer:
        caller, task_id = self._identify_caller(call), _task_id(call)
        return self._stream_updates(await self._streams.subscribe(task_id, caller, call.last_event_id, Dialect.LEGACY))

    async def get(self, call: streams.MethodCall) -> streams.Answer:
        length, task_id = _history_length(call), _task_id(call)
        return legacy_view(await self._tasks.read(task_id, self._identify_caller(call)), task_id, length, self._notice)

    async def cancel(self, call: streams.MethodCall) -> streams.Answer:
        task_id = _task_id(call)
        return legacy_view(
            await self._signals.cancel(task_id, self._identify_caller(call)), task_id, None, self._notice
        )

    async def set_webhook(self, call: streams.MethodCall) -> streams.Answer:
        task_id, caller = self._of_webhook(call)
        path = f"params.{_CONFIG}"
        webhook = webhook_at(call.params, _CONFIG, path, Dialect.LEGACY)
        if webhook is None:
            raise InvalidField(path, "is required")
        await self._push.enter(task_id, webhook.model_copy(update={"shown_id": task_id}), caller)
        token = {"token": webhook.token} if webhook.token else {}  # only whoever has just set it is told it again
        return {"id": task_id, _CONFIG: {**legacy_shape(webhook), **token}}

    async def webhook(self, call: streams.MethodCall) -> streams.Answer:
        task_id, caller = self._of_webhook(call)
        return {"id": task_id, _CONFIG: legacy_shape(await self._push.find(task_id, None, caller))}

    def _stream_updates(self, stream: TaskStream) -> streams.Answer:
        return streams.StreamAnswer(stream, streams.legacy_shape_of(stream, self._notice))

    def _identify_caller(self, call: streams.MethodCall) -> Caller:
        return self._identity.caller_of(call.let_in, metadata_of(call.params))

    def _of_webhook(self, call: streams.MethodCall) -> tuple[str, Caller]:
        if not self._push.offered:
            raise PushUnsupported
        return _task_id(call), self._identify_caller(call)


def _task_id(call: streams.MethodCall) -> str:
    return required_id(call.params, "id", "params.id")


def _history_length(call: streams.MethodCall) -> int | None:
    return count_at(call.params, "historyLength", "params.historyLength")
