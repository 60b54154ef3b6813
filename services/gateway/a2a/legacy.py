"""The methods of early 2025: ``tasks/send`` and its family."""

from collections.abc import Awaitable, Callable
from functools import partial

from services.gateway.a2a.parts import NO_STREAMS, A2aParts
from services.gateway.a2a.streams import Answer, MethodCall, PendingAnswer, StreamAnswer, legacy_shape_of, note_delivery
from services.gateway.a2a.views import Shown
from services.gateway.edge.errors import InvalidField, PushUnsupported, Unsupported
from services.gateway.edge.fields import count_at, required_id
from services.gateway.features.identity.model import Caller
from services.gateway.features.streams.service import Streams, TaskStream
from services.gateway.features.tasks.message import metadata_of, read_legacy
from services.gateway.features.tasks.service import TaskService
from services.gateway.features.tasks.views import legacy_view
from services.gateway.features.webhooks.config import legacy_shape, webhook_at
from services.gateway.features.webhooks.service import WebhookService
from shared.contracts.task import TaskRecord
from shared.domain.words import Dialect

LegacyAct = Callable[[MethodCall], Awaitable[Answer]]
_CONFIG = "pushNotificationConfig"


class LegacyMethods:
    """All raise ``GatewayRefusal`` and ``StoreUnavailable``. ``methods``: those whose names no later protocol has."""

    def __init__(self, parts: A2aParts) -> None:
        self._tasks: TaskService = parts.tasks
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

    async def find_shared(self, name: str, call: MethodCall) -> LegacyAct | None:
        """What answers a method that 0.3 has by the same name: for a task that was made by ``tasks/send``, these."""
        act = self._shared.get(name)
        if act is None:
            return None
        record = await self._tasks.read(_task_id(call), self._caller(call))
        return act if record.dialect is Dialect.LEGACY else None

    async def send(self, call: MethodCall) -> Answer:
        """Accept the message, then answer in the same response when its turn is over."""
        length, caller = _history_length(call), self._caller(call)
        ticket = await self._tasks.submit(read_legacy(call.params), caller)
        handed_over: list[TaskRecord] = []

        async def answer() -> Shown:
            handed_over.append(await self._tasks.wait(ticket))
            return legacy_view(handed_over[0], ticket.client_id, length, self._notice)

        async def note() -> None:
            for record in handed_over:
                await self._tasks.note_answer(ticket, record)

        accepted = partial(legacy_view, ticket.record, ticket.client_id, length, self._notice)
        return PendingAnswer(answer, accepted, partial(note_delivery, note, ticket.record.task_id))

    async def stream(self, call: MethodCall) -> Answer:
        if not self._streaming:
            raise Unsupported(NO_STREAMS)
        _history_length(call)
        message, caller = read_legacy(call.params), self._caller(call)
        return self._updates(await self._streams.send(message, caller, call.last_event_id))

    async def subscribe(self, call: MethodCall) -> Answer:
        caller, task_id = self._caller(call), _task_id(call)
        return self._updates(await self._streams.subscribe(task_id, caller, call.last_event_id, Dialect.LEGACY))

    async def get(self, call: MethodCall) -> Answer:
        length, task_id = _history_length(call), _task_id(call)
        return legacy_view(await self._tasks.read(task_id, self._caller(call)), task_id, length, self._notice)

    async def cancel(self, call: MethodCall) -> Answer:
        task_id = _task_id(call)
        return legacy_view(await self._tasks.cancel(task_id, self._caller(call)), task_id, None, self._notice)

    async def set_webhook(self, call: MethodCall) -> Answer:
        task_id, caller = self._of_webhook(call)
        path = f"params.{_CONFIG}"
        webhook = webhook_at(call.params, _CONFIG, path, Dialect.LEGACY)
        if webhook is None:
            raise InvalidField(path, "is required")
        await self._push.enter(task_id, webhook._replace(shown_id=task_id), caller)
        token = {"token": webhook.token} if webhook.token else {}  # only whoever has just set it is told it again
        return {"id": task_id, _CONFIG: {**legacy_shape(webhook), **token}}

    async def webhook(self, call: MethodCall) -> Answer:
        task_id, caller = self._of_webhook(call)
        return {"id": task_id, _CONFIG: legacy_shape(await self._push.one(task_id, None, caller))}

    def _updates(self, stream: TaskStream) -> Answer:
        return StreamAnswer(stream, legacy_shape_of(stream, self._notice))

    def _caller(self, call: MethodCall) -> Caller:
        return self._identity.caller_of(call.let_in, metadata_of(call.params))

    def _of_webhook(self, call: MethodCall) -> tuple[str, Caller]:
        if not self._push.offered:
            raise PushUnsupported
        return _task_id(call), self._caller(call)


def _task_id(call: MethodCall) -> str:
    return required_id(call.params, "id", "params.id")


def _history_length(call: MethodCall) -> int | None:
    return count_at(call.params, "historyLength", "params.historyLength")
