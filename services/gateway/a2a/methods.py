"""The methods of the three protocols, over either binding. Their parameters are in the schema's words.

All raise ``GatewayRefusal`` and ``StoreUnavailable``. What is not offered is refused before its parameters are read.
"""

from typing import cast

from a2a.types.a2a_pb2 import AgentCard
from pydantic import JsonValue

from services.gateway.a2a import streams
from services.gateway.a2a.profile import GatewayProfile
from services.gateway.a2a.views import LEGACY, ClientView, Wording
from services.gateway.edge.errors import InvalidField, NoExtendedCard, PushUnsupported, Unsupported
from services.gateway.edge.fields import count_at, id_at, required_id, text_at
from services.gateway.edge.replies import write_json
from services.gateway.features.identity.model import Caller, Identity
from services.gateway.features.services import FeatureServices
from services.gateway.features.streams.service import Streams
from services.gateway.features.tasks.message import metadata_of, read_message
from services.gateway.features.tasks.options import history_length, list_options, send_options
from services.gateway.features.webhooks.model import read_webhook
from shared.contracts.task import TaskRecord
from shared.domain.lru_cache import LruCache
from shared.domain.words import Dialect

NO_STREAMS = "streaming is not offered; poll the task, or read GET /tasks/{id}/events"
NO_EXTENDED_CARD = "there is no extended card"
_MOST_WEBHOOKS = 100


class A2aMethods:
    def __init__(self, services: FeatureServices, identity: Identity, profile: GatewayProfile, card: AgentCard) -> None:
        self._services, self._identity, self._card, self._keys = services, identity, card, profile.keys
        self._streams, self._written = Streams(services.tasks), WrittenTasks()
        self._notice, self.abilities = profile.notice, profile.abilities

    async def send(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """SendMessage: one message; its answer is the task once its turn is over, or at once if nobody waits."""
        params, caller = call.params, self.caller(call, wording)
        options = send_options(params, wording.dialect)
        ticket = await self._services.tasks.submit(read_message(params, wording.dialect), caller)
        view = ClientView(self._notice, ticket.shown_id, options.history_length)
        if ticket.is_reply:
            return cast(JsonValue, wording.answer(ticket.record, view, is_reply=True))
        if not options.wait:
            return cast(JsonValue, wording.answer(await self._fill_files(ticket.record, wording), view))
        return streams.PendingAnswer(self._services.tasks, ticket, wording, view)

    async def stream(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """SendStreamingMessage: one message; its task's updates as server-sent events."""
        self._check_streams()
        params, caller = call.params, self.caller(call, wording)
        options = send_options(params, wording.dialect)
        stream = await self._streams.send(read_message(params, wording.dialect), caller, call.last_event_id)
        return streams.StreamAnswer(stream, wording, ClientView(self._notice, stream.shown_id, options.history_length))

    async def subscribe(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """SubscribeToTask: the task as it stands, then its updates; ``Last-Event-ID`` goes on."""
        self._check_streams()
        task_id, caller = self._task_and_caller(call, wording)
        stream = await self._streams.subscribe(task_id, caller, call.last_event_id, wording.dialect)
        return streams.StreamAnswer(stream, wording, ClientView(self._notice, task_id))

    async def task(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """GetTask: the task as it stands."""
        task_id, caller = self._task_and_caller(call, wording)
        length = history_length(call.params, f"{wording.prefix}historyLength", wording.dialect)
        return streams.WrittenJson(await self.write_task(task_id, caller, wording, length))

    async def write_task(self, task_id: str, caller: Caller, wording: Wording, length: int | None = None) -> bytes:
        """The task as JSON bytes."""
        record, view = await self._services.tasks.read(task_id, caller), ClientView(self._notice, task_id, length)
        known = self._written.find(record, wording, view)
        return known or self._written.write(await self._fill_files(record, wording), wording, view)

    async def is_legacy_task(self, call: streams.MethodCall) -> bool:
        """Whether the task that the call names was begun by the early protocol."""
        task_id, caller = self._task_and_caller(call, LEGACY)
        return (await self._services.tasks.read(task_id, caller)).dialect is Dialect.LEGACY

    async def tasks(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """ListTasks: the tasks that the caller may see, the last changed first, page by page."""
        caller, options = self.caller(call, wording), list_options(call.params)
        page = await self._services.lists.tasks(options.query, caller)
        view = ClientView(self._notice, "", options.history_length, options.artifacts)
        return {
            "tasks": [wording.task(one, view) for one in page.records],
            "nextPageToken": page.next_token,
            "pageSize": options.query.size,
            "totalSize": page.total,
        }

    async def cancel(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """CancelTask: the task, once it has ended."""
        task_id, caller = self._task_and_caller(call, wording)
        record = await self._fill_files(await self._services.signals.cancel(task_id, caller), wording)
        return wording.task(record, ClientView(self._notice, task_id))

    async def set_webhook(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """CreateTaskPushNotificationConfig: a URL that receives the task's updates from now on."""
        task_id, caller = self._of_webhook(call, wording)
        path, shown_id = f"{wording.prefix}pushNotificationConfig", task_id if wording is LEGACY else None
        read = read_webhook(call.params, path, wording.dialect, shown_id)
        webhook = read.model_copy(update={"config_id": read.config_id or task_id})
        await self._services.webhooks.enter(task_id, webhook, caller)
        return wording.webhook(webhook, task_id, webhook.token)  # only whoever has just set it is told it again

    async def webhook(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """GetTaskPushNotificationConfig: one of the task's; in older protocols the first, where none is named."""
        task_id, caller = self._of_webhook(call, wording)
        read = required_id if wording.dialect is Dialect.A2A_1_0 else id_at
        found = await self._services.webhooks.find(task_id, read(call.params, "id", "id"), caller)
        return wording.webhook(found, task_id, "")

    async def webhooks(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """ListTaskPushNotificationConfigs: those of the task, page by page."""
        task_id, caller = self._of_webhook(call, wording)
        after = text_at(call.params, "pageToken", "pageToken") or ""
        size = min(count_at(call.params, "pageSize", "pageSize") or _MOST_WEBHOOKS, _MOST_WEBHOOKS)
        listed = [one.webhook for one in await self._services.webhooks.list_webhooks(task_id, caller)]
        page = [one for one in listed if one.config_id > after]
        token = page[size - 1].config_id if len(page) > size else ""
        return wording.webhooks([wording.webhook(one, task_id, "") for one in page[:size]], token)

    async def drop_webhook(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """DeleteTaskPushNotificationConfig: stops the updates to a URL; it may be repeated."""
        task_id, caller = self._of_webhook(call, wording)
        await self._services.webhooks.remove(task_id, required_id(call.params, "id", "id"), caller)
        return wording.nothing

    async def extended_card(self, call: streams.MethodCall, wording: Wording) -> streams.Answer:
        """GetExtendedAgentCard: the agent's card, for a caller who is known."""
        if not self.abilities.shows_extended_card:
            raise Unsupported(NO_EXTENDED_CARD)
        if not self.caller(call, wording).principal.verified:
            raise NoExtendedCard("the extended card is for callers who have shown who they are")
        return wording.card(self._card, self._keys)

    def caller(self, call: streams.MethodCall, wording: Wording) -> Caller:
        """The caller. Raises ``InvalidField`` if the request names another tenant than the caller's."""
        caller = self._identity.caller_of(call.let_in, metadata_of(call.params))
        names_tenant = wording.dialect is not Dialect.LEGACY
        if names_tenant and text_at(call.params, "tenant", "tenant") not in (None, "", caller.tenant):
            raise InvalidField("tenant", "is not the tenant that the request was let into")
        return caller

    def _task_and_caller(self, call: streams.MethodCall, wording: Wording) -> tuple[str, Caller]:
        caller = self.caller(call, wording)
        return required_id(call.params, "id", f"{wording.prefix}id"), caller

    def _check_streams(self) -> None:
        if not self.abilities.streaming:
            raise Unsupported(NO_STREAMS)

    def _of_webhook(self, call: streams.MethodCall, wording: Wording) -> tuple[str, Caller]:
        if not self._services.webhooks.offered:
            raise PushUnsupported
        return required_id(call.params, "taskId", "taskId"), self.caller(call, wording)

    async def _fill_files(self, record: TaskRecord, wording: Wording) -> TaskRecord:
        """The record with the contents of its files. Streams, lists and webhooks only refer to them."""
        return await self._services.tasks.files.with_contents(record) if wording.fills_files else record


_MOST = 1024
_LARGEST = 64 * 1024  # bytes; with ``_MOST``, what is kept stays under 64 MB
_CacheKey = tuple[str, Wording, ClientView]


class WrittenTasks:
    """A cache of tasks written as JSON, by the identity of their records, which the store keeps once read.

    A record with its files' contents is a new object each time, and may be large: it is not cached.
    """

    def __init__(self) -> None:
        self._kept = LruCache[_CacheKey, tuple[TaskRecord, bytes]](_MOST)

    def find(self, record: TaskRecord, wording: Wording, view: ClientView) -> bytes | None:
        known = self._kept.use((record.tenant, wording, view))
        return known[1] if known and known[0] is record else None

    def write(self, record: TaskRecord, wording: Wording, view: ClientView) -> bytes:
        written = write_json(wording.task(record, view)).encode()
        has_contents = any("raw" in part for message in record.history for part in message.parts)
        if len(written) <= _LARGEST and not has_contents:
            self._kept.keep((record.tenant, wording, view), (record, written))
        return written
