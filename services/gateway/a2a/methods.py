"""The A2A methods, which serve all protocol versions over JSON-RPC and REST.

Their parameters have been parsed into the names of the protocol's schema. All raise ``GatewayRefusal`` and
``StoreUnavailable``. A method that this gateway does not offer refuses the call before it reads the parameters.
"""

from typing import cast

from a2a.types.a2a_pb2 import AgentCard
from pydantic import JsonValue

from services.gateway.a2a import streams
from services.gateway.a2a.card import OUTPUT_MODES
from services.gateway.a2a.settings import A2aSettings
from services.gateway.a2a.views import LEGACY_FORMAT, AnswerFormat, ClientView
from services.gateway.edge import errors, fields
from services.gateway.edge.replies import encode_json
from services.gateway.features.identity.model import Caller, Identity, may_set_webhooks
from services.gateway.features.services import FeatureServices
from services.gateway.features.streams.service import send_and_stream, subscribe_to_task
from services.gateway.features.tasks.listing import MOST_LISTED_TASKS, USUAL_LISTED_TASKS, TaskQuery
from services.gateway.features.tasks.message import merge_metadata, parse_message
from services.gateway.features.webhooks.model import parse_webhook
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import Json, JsonObject
from shared.domain.lru_cache import LruCache
from shared.domain.words import A2aVersion, TaskState

NO_STREAMS_TEXT = "streaming is not offered; poll the task, or read GET /tasks/{id}/events"
NO_EXTENDED_CARD_TEXT = "there is no extended card"
_MOST_WEBHOOKS = 100


class A2aMethods:
    """The methods of the A2A protocol, each as a function of a call and the format of its answer."""

    def __init__(self, services: FeatureServices, identity: Identity, settings: A2aSettings, card: AgentCard) -> None:
        self._services = services
        self._identity = identity
        self._card = card
        self._settings = settings
        self._json_cache, self._model_notice = TaskJsonCache(), settings.model_notice

    async def send_message(self, call: streams.MethodCall, answer_format: AnswerFormat) -> streams.MethodAnswer:
        """SendMessage: send a message; answers with the task once its turn is over, or at once if so configured."""
        params, caller = call.params, self.identify_caller(call, answer_format)
        waits, history_length = _read_send_options(params, answer_format.dialect)
        accepted = await self._services.tasks.submit_message(parse_message(params, answer_format.dialect), caller)
        view = ClientView(self._model_notice, accepted.shown_id, history_length)
        if accepted.is_reply:
            return cast(JsonValue, answer_format.show_answer(accepted.record, view, is_reply=True))
        if not waits:
            record = await self._add_file_contents(accepted.record, answer_format)
            return cast(JsonValue, answer_format.show_answer(record, view))
        return streams.PendingAnswer(self._services.tasks, accepted, answer_format, view)

    async def stream_message(self, call: streams.MethodCall, answer_format: AnswerFormat) -> streams.MethodAnswer:
        """SendStreamingMessage: send a message; answers with its task's updates as server-sent events."""
        self._require_streaming()
        params, caller = call.params, self.identify_caller(call, answer_format)
        _, history_length = _read_send_options(params, answer_format.dialect)
        message = parse_message(params, answer_format.dialect)
        stream = await send_and_stream(self._services.tasks, message, caller, call.last_event_id)
        view = ClientView(self._model_notice, stream.shown_id, history_length)
        return streams.StreamAnswer(stream, answer_format, view)

    async def subscribe_to_task(self, call: streams.MethodCall, answer_format: AnswerFormat) -> streams.MethodAnswer:
        """SubscribeToTask: the task, then its updates; with ``Last-Event-ID`` only the updates after that event."""
        self._require_streaming()
        task_id, caller = self._read_task_id_and_caller(call, answer_format)
        tasks, dialect = self._services.tasks, answer_format.dialect
        stream = await subscribe_to_task(tasks, task_id, caller, call.last_event_id, dialect)
        return streams.StreamAnswer(stream, answer_format, ClientView(self._model_notice, task_id))

    async def get_task(self, call: streams.MethodCall, answer_format: AnswerFormat) -> streams.MethodAnswer:
        """GetTask: the present state of a task; 404 if there is none of that id that the caller may see."""
        task_id, caller = self._read_task_id_and_caller(call, answer_format)
        path = f"{answer_format.parameter_prefix}historyLength"
        length = _read_history_length(call.params, path, answer_format.dialect)
        return await self.serialize_task(task_id, caller, answer_format, length)

    async def serialize_task(
        self, task_id: str, caller: Caller, answer_format: AnswerFormat, length: int | None = None
    ) -> bytes:
        """The task as JSON bytes, from the cache if its record has not changed; raises ``NoVisibleTask``.

        ``length``: how many of the latest messages the answer contains; all if None.
        """
        view = ClientView(self._model_notice, task_id, length)
        record = await self._services.tasks.get_task(task_id, caller)
        cached = self._json_cache.find(record, answer_format, view)
        if cached is not None:
            return cached
        return self._json_cache.serialize(await self._add_file_contents(record, answer_format), answer_format, view)

    async def is_legacy_task(self, call: streams.MethodCall) -> bool:
        """Whether the task that the call names was begun over the early protocol."""
        task_id, caller = self._read_task_id_and_caller(call, LEGACY_FORMAT)
        return (await self._services.tasks.get_task(task_id, caller)).dialect is A2aVersion.LEGACY

    async def list_tasks(self, call: streams.MethodCall, answer_format: AnswerFormat) -> streams.MethodAnswer:
        """ListTasks: the tasks that the caller may see, the last changed first, page by page."""
        caller = self.identify_caller(call, answer_format)
        query, history_length, includes_artifacts = _read_list_options(call.params)
        page = await self._services.lists.list_tasks(query, caller)
        view = ClientView(self._model_notice, "", history_length, includes_artifacts)
        return {
            "tasks": [answer_format.show_task(record, view) for record in page.records],
            "nextPageToken": page.next_token,
            "pageSize": query.size,
            "totalSize": page.total,
        }

    async def cancel_task(self, call: streams.MethodCall, answer_format: AnswerFormat) -> streams.MethodAnswer:
        """CancelTask: cancel a task; answers with the task, usually once it has ended. 400 (in 0.3 409) if it had
        ended.
        """
        task_id, caller = self._read_task_id_and_caller(call, answer_format)
        record = await self._add_file_contents(await self._services.signals.cancel_task(task_id, caller), answer_format)
        return answer_format.show_task(record, ClientView(self._model_notice, task_id))

    async def set_webhook(self, call: streams.MethodCall, answer_format: AnswerFormat) -> streams.MethodAnswer:
        """CreateTaskPushNotificationConfig: register a URL that receives the task's updates from now on."""
        task_id, caller = self._read_webhook_task_id_and_caller(call, answer_format)
        path = f"{answer_format.parameter_prefix}pushNotificationConfig"
        shown_id = task_id if answer_format is LEGACY_FORMAT else None
        webhook = parse_webhook(call.params, path, answer_format.dialect, shown_id)
        webhook = webhook.model_copy(update={"config_id": webhook.config_id or task_id})
        await self._services.webhooks.register_webhook(
            await self._read_task_for_webhook_change(task_id, caller), webhook
        )
        # only the client that has just set the token is told it again
        return answer_format.show_webhook(webhook, task_id, webhook.token)

    async def get_webhook(self, call: streams.MethodCall, answer_format: AnswerFormat) -> streams.MethodAnswer:
        """GetTaskPushNotificationConfig: one webhook of a task; before 1.0 the first one if the call names none."""
        task_id, caller = self._read_webhook_task_id_and_caller(call, answer_format)
        read_id = fields.required_id_at if answer_format.dialect is A2aVersion.A2A_1_0 else fields.id_at
        config_id = read_id(call.params, "id")
        record = await self._services.tasks.get_task(task_id, caller)
        webhook = await self._services.webhooks.find_webhook(record, config_id, task_id)
        return answer_format.show_webhook(webhook, task_id, "")

    async def list_webhooks(self, call: streams.MethodCall, answer_format: AnswerFormat) -> streams.MethodAnswer:
        """ListTaskPushNotificationConfigs: the task's webhooks, page by page."""
        task_id, caller = self._read_webhook_task_id_and_caller(call, answer_format)
        after_id = fields.text_at(call.params, "pageToken") or ""
        size = min(fields.whole_number_at(call.params, "pageSize") or _MOST_WEBHOOKS, _MOST_WEBHOOKS)
        record = await self._services.tasks.get_task(task_id, caller)
        webhooks = [registered.webhook for registered in await self._services.webhooks.list_webhooks(record)]
        page = [webhook for webhook in webhooks if webhook.config_id > after_id]
        token = page[size - 1].config_id if len(page) > size else ""
        return answer_format.show_webhooks(
            [answer_format.show_webhook(webhook, task_id, "") for webhook in page[:size]], token
        )

    async def drop_webhook(self, call: streams.MethodCall, answer_format: AnswerFormat) -> streams.MethodAnswer:
        """DeleteTaskPushNotificationConfig: remove a webhook of a task; it may be repeated."""
        task_id, caller = self._read_webhook_task_id_and_caller(call, answer_format)
        config_id = fields.required_id_at(call.params, "id")
        await self._services.webhooks.remove_webhook(
            await self._read_task_for_webhook_change(task_id, caller), config_id
        )
        return answer_format.empty_result

    async def get_extended_card(self, call: streams.MethodCall, answer_format: AnswerFormat) -> streams.MethodAnswer:
        """GetExtendedAgentCard: the agent's card; 400 (in 0.3 404) for callers who are not authenticated."""
        if not self._settings.shows_extended_card:
            raise errors.Unsupported(NO_EXTENDED_CARD_TEXT)
        if not self.identify_caller(call, answer_format).principal.verified:
            raise errors.NoExtendedCard("the extended card is for callers who have shown who they are")
        return answer_format.show_card(self._card, self._settings.card_keys)

    def identify_caller(self, call: streams.MethodCall, answer_format: AnswerFormat) -> Caller:
        """The caller. Raises ``InvalidField`` if the request names another tenant than the caller's."""
        caller = self._identity.caller_of(call.authenticated_caller, merge_metadata(call.params))
        names_tenant = answer_format.dialect is not A2aVersion.LEGACY
        if names_tenant and fields.text_at(call.params, "tenant") not in (None, "", caller.tenant):
            raise errors.InvalidField("tenant", "is not the tenant that the request was let into")
        return caller

    def _read_task_id_and_caller(self, call: streams.MethodCall, answer_format: AnswerFormat) -> tuple[str, Caller]:
        caller = self.identify_caller(call, answer_format)
        return fields.required_id_at(call.params, "id", f"{answer_format.parameter_prefix}id"), caller

    def _require_streaming(self) -> None:
        if not self._settings.a2a_streaming == "on":
            raise errors.Unsupported(NO_STREAMS_TEXT)

    def _read_webhook_task_id_and_caller(
        self, call: streams.MethodCall, answer_format: AnswerFormat
    ) -> tuple[str, Caller]:
        if not self._services.webhooks.offers_webhooks:
            raise errors.PushUnsupported
        return fields.required_id_at(call.params, "taskId"), self.identify_caller(call, answer_format)

    async def _read_task_for_webhook_change(self, task_id: str, caller: Caller) -> TaskRecord:
        """The task, if the caller may set its webhooks; raises ``NoVisibleTask``."""
        record = await self._services.tasks.get_task(task_id, caller)
        if not may_set_webhooks(caller.principal, record):
            raise errors.NoVisibleTask(record.task_id)
        return record

    async def _add_file_contents(self, record: TaskRecord, answer_format: AnswerFormat) -> TaskRecord:
        """The record with the bytes of its files, if the format includes them; streams and lists only link them."""
        return await self._services.tasks.files.add_contents(record) if answer_format.includes_file_contents else record


_MOST_CACHED_TASKS = 1024
_LARGEST_CACHED_BYTES = 64 * 1024  # bytes; with ``_MOST_CACHED_TASKS``, what is kept stays under 64 MB
_CacheKey = tuple[str, AnswerFormat, ClientView]


class TaskJsonCache:
    """Caches tasks as JSON bytes. An entry is valid for the very record object it was made from, which the store keeps.

    Records with files' contents are not cached: each is a new object, and may be large.
    """

    def __init__(self) -> None:
        self._entries = LruCache[_CacheKey, tuple[TaskRecord, bytes]](_MOST_CACHED_TASKS)

    def find(self, record: TaskRecord, answer_format: AnswerFormat, view: ClientView) -> bytes | None:
        entry = self._entries.look_up((record.tenant, answer_format, view))
        return entry[1] if entry and entry[0] is record else None

    def serialize(self, record: TaskRecord, answer_format: AnswerFormat, view: ClientView) -> bytes:
        content = encode_json(answer_format.show_task(record, view)).encode()
        has_contents = any("raw" in part for message in record.history for part in message.parts)
        if len(content) <= _LARGEST_CACHED_BYTES and not has_contents:
            self._entries.put((record.tenant, answer_format, view), (record, content))
        return content


# The modes in which clients may want answers; the early samples say ``text``.
_ACCEPTED_MODES = {*OUTPUT_MODES, "text/*", "application/*", "*/*", "*", "text", "data"}
_STATES_BY_NAME = {f"TASK_STATE_{state.name}": state for state in TaskState}
_NO_SUCH_TASKS = {"TASK_STATE_AUTH_REQUIRED"}  # a state of the protocol that no task of this worker is ever in


def _read_send_options(params: JsonObject, dialect: A2aVersion) -> tuple[bool, int | None]:
    """Parse the ``configuration`` of a message; raises ``InvalidField``.

    Returns whether the message is answered only after its turn, and how many messages the answer has, None for all.
    Raises ``UnsupportedContent`` if the worker can produce none of the accepted output modes.
    """
    if dialect is A2aVersion.LEGACY:
        return True, _read_history_length(params, "params.historyLength", dialect)
    configuration = fields.object_at(params, "configuration")
    _check_output_modes(configuration)
    length = _read_history_length(configuration, "configuration.historyLength", dialect)
    if dialect is A2aVersion.A2A_1_0:
        _require_message_role(params)
        return not fields.flag_at(configuration, "returnImmediately", "configuration.returnImmediately"), length
    return fields.flag_at(configuration, "blocking", "configuration.blocking"), length


def _read_history_length(source: JsonObject, path: str, dialect: A2aVersion) -> int | None:
    """Parse ``historyLength``; None if absent, before 1.0 also if zero: all messages, in the early protocol none.

    Raises ``InvalidField`` if it is no whole number, or too large.
    """
    length = fields.whole_number_at(source, "historyLength", path)
    if length is not None and length >= 2**31 and dialect is not A2aVersion.LEGACY:
        raise errors.InvalidField(path, "is too large")
    return length if dialect is A2aVersion.A2A_1_0 else length or None


def _read_list_options(params: JsonObject) -> tuple[TaskQuery, int | None, bool]:
    """Parse the parameters of ListTasks; raises ``InvalidField``.

    Returns which tasks are listed, how many messages each has, None for all, and whether they have their artifacts.
    """
    query = TaskQuery(
        session_id=fields.id_at(params, "contextId"),
        states=_parse_status_filter(fields.text_at(params, "status")),
        since=fields.parse_time(fields.text_at(params, "statusTimestampAfter"), "statusTimestampAfter"),
        size=_read_page_size(params),
        page_token=fields.text_at(params, "pageToken") or "",
    )
    length = _read_history_length(params, "historyLength", A2aVersion.A2A_1_0)
    return query, length, fields.flag_at(params, "includeArtifacts")


def _require_message_role(params: JsonObject) -> None:
    """Raises ``InvalidField`` for a message without a role, which only 1.0 requires."""
    message = params.get("message")
    if isinstance(message, dict) and not message.get("role"):
        raise errors.InvalidField("message.role", "is required: ROLE_USER")


def _check_output_modes(configuration: JsonObject) -> None:
    key, path = "acceptedOutputModes", "configuration.acceptedOutputModes"
    if not configuration.get(key):
        return
    modes = [_read_media_type(item, path) for item in fields.list_at(configuration, key, path)]
    if not _ACCEPTED_MODES.intersection(modes):
        raise errors.UnsupportedContent(
            f"{path}: the worker answers in {' or '.join(OUTPUT_MODES)}, and in none of these"
        )


def _read_media_type(item: Json, path: str) -> str:
    if not isinstance(item, str):
        raise errors.InvalidField(path, f"must be a list of media types; there is {fields.name_json_type(item)} in it")
    return item.partition(";")[0].strip().lower()


def _read_page_size(params: JsonObject) -> int:
    size = fields.whole_number_at(params, "pageSize")
    if size is None:
        return USUAL_LISTED_TASKS
    if not 1 <= size <= MOST_LISTED_TASKS:
        raise errors.InvalidField("pageSize", f"must be from 1 to {MOST_LISTED_TASKS}")
    return size


def _parse_status_filter(word: str | None) -> tuple[TaskState, ...]:
    if not word or word == "TASK_STATE_UNSPECIFIED":
        return tuple(TaskState)
    if word in _NO_SUCH_TASKS:
        return ()
    if word not in _STATES_BY_NAME:
        raise errors.InvalidField("status", f"must be one of {', '.join([*_STATES_BY_NAME, *_NO_SUCH_TASKS])}")
    return (_STATES_BY_NAME[word],)
