"""Tasks, updates, webhooks and cards as JSON, in the format of each protocol version; bodies of webhooks."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple, cast
from urllib.parse import quote

from a2a.compat.v0_3.conversions import to_compat_agent_card
from a2a.compat.v0_3.proto_utils import ToProto
from a2a.compat.v0_3.types import SendStreamingMessageSuccessResponse
from a2a.types.a2a_pb2 import AgentCard
from google.protobuf.json_format import MessageToDict
from pydantic import JsonValue
from pydantic.alias_generators import to_camel
from typing_extensions import override

from services.gateway.a2a.card_keys import CardKeys
from services.gateway.features.deliveries.model import WebhookUpdate, WebhookWork
from services.gateway.features.streams import updates
from services.gateway.features.streams.updates import Snapshot, StatusUpdate, Update
from services.gateway.features.tasks import views as task_views
from services.gateway.features.webhooks.model import TaskWebhook, build_legacy_webhook_view, build_webhook_view_1_0
from shared.contracts.task import FILE_ID_FIELD, Artifact, HistoryMessage, TaskRecord
from shared.domain.words import A2aVersion, TaskState

JsonFields = dict[str, JsonValue]


class ClientView(NamedTuple):
    """How a task is shown to one client. ``model_notice``: the text about the model.

    ``shown_id``: the client's own task id; ``history_length``: how many of the latest messages; all if None.
    """

    model_notice: str
    shown_id: str = ""
    history_length: int | None = None
    includes_artifacts: bool = True


def build_task_view(record: TaskRecord, view: ClientView) -> JsonFields:
    """The task as JSON of protocol 1.0."""
    length = view.history_length
    messages = record.history if length is None else record.history[max(0, len(record.history) - length) :]
    return _drop_empty_fields(
        id=record.task_id,
        contextId=record.session_id,
        status=_build_status_view(record, record.state, record.reason, record.updated_at, "status"),
        artifacts=_build_artifact_views(record) if view.includes_artifacts else [],
        history=[_build_message_view(record, message) for message in messages],
        metadata=_build_metadata_view(task_views.build_client_metadata(record, view.model_notice)),
    )


def _build_reply_view(record: TaskRecord, model_notice: str) -> JsonFields:
    """The answer and the results' data of an ended task, as an A2A message without a task id."""
    answer = task_views.build_answer_text(record)
    with_data = (artifact for artifact in task_views.list_artifacts(record) if artifact.data is not None)
    data = [part for artifact in with_data for part in _build_artifact_parts(artifact)]
    return {
        "messageId": f"{record.task_id}-reply",
        "contextId": record.session_id,
        "role": "ROLE_AGENT",
        "parts": [{"text": answer.text if answer else ""}, *data],
        "metadata": _build_metadata_view(task_views.build_client_metadata(record, model_notice)),
    }


def build_update_view(update: Update, update_name: str, record: TaskRecord, view: ClientView) -> JsonFields:
    """An update as JSON of protocol 1.0: one field, named after its kind. ``update_name``: unique within the task."""
    model_notice = view.model_notice
    match update:
        case Snapshot():
            gap: JsonFields = {} if update.lost_after is None else {"gap": {"lostAfter": update.lost_after}}
            metadata = _build_metadata_view({**task_views.build_client_metadata(update.record, model_notice), **gap})
            return {"task": {**build_task_view(update.record, view), "metadata": metadata}}
        case updates.TasklessReply(replied):
            return {"message": _build_reply_view(replied, model_notice)}
        case StatusUpdate():
            said = task_views.build_client_metadata(update.record, model_notice) if update.record else update.metadata
            status = _build_status_view(record, update.state, update.text, update.at, update_name)
            shown_metadata = _drop_empty_fields(metadata=_build_metadata_view(said))
            return {"statusUpdate": {**_build_task_ids_view(record), "status": status, **shown_metadata}}
        case updates.ArtifactUpdate():
            artifact = _build_artifact_view(update.number, update.artifact)
            flags = _drop_empty_fields(append=update.append, lastChunk=update.last_chunk)
            return {"artifactUpdate": {**_build_task_ids_view(record), "artifact": artifact, **flags}}


def _build_task_ids_view(record: TaskRecord) -> JsonFields:
    return {"taskId": record.task_id, "contextId": record.session_id}


def _build_status_view(
    record: TaskRecord, state: TaskState, text: str | None, time: datetime, update_name: str
) -> JsonFields:
    status: JsonFields = {"state": f"TASK_STATE_{state.name}", "timestamp": _format_time(time)}
    if text:
        message = HistoryMessage(role="agent", text=text, message_id=f"{record.task_id}-{update_name}", at=time)
        status["message"] = _build_message_view(record, message)
    return status


def _build_artifact_views(record: TaskRecord) -> list[JsonValue]:
    """The worker's answer, then its results; if there is no answer, a sentence on the status after the results."""
    answer = task_views.build_answer_text(record)
    results: list[JsonValue] = [
        _build_artifact_view(n, artifact) for n, artifact in enumerate(task_views.list_artifacts(record), 1)
    ]
    if answer is None:
        return results
    answer_view = _build_artifact_view(0, Artifact(name=task_views.ANSWER_NAME, text=answer.text))
    return [answer_view, *results] if answer.is_given else [*results, answer_view]


def _build_artifact_view(number: int, artifact: Artifact) -> JsonFields:
    """A result as an artifact. ``number``: its place among the task's results, from 1; 0 for the answer."""
    name = f"{artifact.name}-{number}" if number else artifact.name
    return {**_drop_empty_fields(artifactId=name, name=artifact.name), "parts": _build_artifact_parts(artifact)}


def _build_artifact_parts(artifact: Artifact) -> list[JsonValue]:
    parts: list[JsonValue] = []
    if artifact.text is not None:
        parts.append({"text": artifact.text, **_drop_empty_fields(mediaType=artifact.media_type)})
    if artifact.data is not None:
        parts.append({"data": artifact.data, "mediaType": "application/json"})
    if (file := artifact.file) is not None:
        content: JsonFields = {"raw": file.content or ""} if file.url is None else {"url": file.url}
        parts.append({**content, **_drop_empty_fields(filename=file.name, mediaType=file.media_type)})
    return parts


def _build_message_view(record: TaskRecord, message: HistoryMessage) -> JsonFields:
    parts: list[JsonValue] = [_build_part_view(record, part) for part in message.parts] or [{"text": message.text}]
    role = "ROLE_USER" if message.role == "user" else "ROLE_AGENT"
    return {"messageId": message.message_id, **_build_task_ids_view(record), "role": role, "parts": parts}


def _build_part_view(record: TaskRecord, part: JsonFields) -> JsonFields:
    """A part of a message; a file whose bytes are not loaded is shown by its URL at this gateway."""
    if FILE_ID_FIELD not in part:
        return part
    other_fields = {name: value for name, value in part.items() if name != FILE_ID_FIELD}
    return {"url": f"/tasks/{quote(record.task_id, safe='')}/files/{part[FILE_ID_FIELD]}", **other_fields}


def _build_metadata_view(metadata: Mapping[str, JsonValue]) -> JsonFields:
    """The metadata with its keys, and those of ``progress``, in camel case; other nested keys stay."""
    progress = metadata.get("progress")
    fields = {**metadata, "progress": _build_metadata_view(progress)} if isinstance(progress, dict) else metadata
    return {_in_camel_case(key): value for key, value in fields.items()}


_in_camel_case = lru_cache(256)(to_camel)  # there are few: clients name none of them


def _format_time(time: datetime) -> str:
    """A timestamp as protobuf writes it: in UTC, with no, three or six digits after the second, as needed."""
    utc = time.replace(tzinfo=None) if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
    digits = "microseconds" if utc.microsecond % 1000 else "milliseconds" if utc.microsecond else "seconds"
    return f"{utc.isoformat(timespec=digits)}Z"


def _drop_empty_fields(**fields: JsonValue) -> JsonFields:
    """The fields without empty values, which protobuf leaves out of JSON."""
    return {name: value for name, value in fields.items() if value}


_MESSAGE_KIND_FIELD: JsonFields = {"kind": "message"}
_EXTRA_FIELDS_OF_0_3: Mapping[str, JsonFields] = {  # what 0.3 says beside, by the name under which it stands
    "task": {"kind": "task"},
    "message": _MESSAGE_KIND_FIELD,
    "history": _MESSAGE_KIND_FIELD,
    "statusUpdate": {"kind": "status-update"},
    "artifactUpdate": {"kind": "artifact-update", "append": False, "lastChunk": False},
}


def _convert_to_0_3(name: str, value: JsonValue) -> JsonValue:
    """Convert the JSON value of the 1.0 field ``name`` to protocol 0.3."""
    match name, value:
        case "metadata", _:
            return value
        case "state" | "role", str():
            return value.rpartition("STATE_" if name == "state" else "ROLE_")[2].lower().replace("_", "-")
        case "parts", list():
            return [_convert_part_to_0_3(cast(JsonFields, part)) for part in value]
        case _, list():
            return [_convert_to_0_3(name, item) for item in value]
        case _, dict():
            return {
                **_EXTRA_FIELDS_OF_0_3.get(name, {}),
                **{key: _convert_to_0_3(key, item) for key, item in value.items()},
            }
    return value


def _convert_part_to_0_3(part: JsonFields) -> JsonFields:
    metadata = cast("JsonFields | None", part.get("metadata"))
    if "text" in part:
        view: JsonFields = {"kind": "text", "text": part["text"]}
    elif "data" in part:
        is_object = isinstance(part["data"], dict)
        view = {"kind": "data", "data": part["data"] if is_object else {"value": part["data"]}}
        metadata = metadata if is_object else {**(metadata or {}), "data_part_compat": True}
    else:
        content: JsonFields = {"uri": part["url"]} if "url" in part else {"bytes": part["raw"]}
        file_fields = _drop_empty_fields(mimeType=part.get("mediaType"), name=part.get("filename"))
        view = {"kind": "file", "file": {**content, **file_fields}}
    return view if metadata is None else {**view, "metadata": metadata}


class AnswerFormat:
    """Formats answers as JSON of protocol 1.0, for both bindings. Each subclass formats for an older protocol."""

    dialect = A2aVersion.A2A_1_0
    parameter_prefix = ""  # of its parameters, in refusals that name a field
    includes_file_contents = True  # whether its answers have the contents of messages' files
    wraps_payloads = True  # whether a payload stands under its kind's name
    empty_result: JsonValue = {}

    def convert_payload(self, payload: JsonFields, _: bool = False) -> JsonFields:
        """Convert a 1.0 payload (a task, message or update under its name) to this format.

        The flag says whether the update is the last of its stream.
        """
        return payload

    def show_task(self, record: TaskRecord, view: ClientView) -> JsonFields:
        payload = self.convert_payload({"task": build_task_view(record, view)})
        return cast(JsonFields, payload["task"]) if self.wraps_payloads else payload

    def show_answer(self, record: TaskRecord, view: ClientView, *, is_reply: bool = False) -> JsonFields:
        """The answer to a message: the task or, if ``is_reply``, a message without a task."""
        if is_reply:
            return self.convert_payload({"message": _build_reply_view(record, view.model_notice)})
        return self.convert_payload({"task": build_task_view(record, view)})

    def show_update(self, update: Update, update_name: str, record: TaskRecord, view: ClientView) -> JsonFields:
        is_final = isinstance(update, StatusUpdate) and update.is_final
        return self.convert_payload(build_update_view(update, update_name, record, view), is_final)

    def show_webhook(self, webhook: TaskWebhook, task_id: str, token: str) -> JsonFields:
        """A webhook as JSON. ``token``: shown unless it is empty."""
        return {**build_webhook_view_1_0(webhook, task_id), **_drop_empty_fields(token=token)}

    def show_webhooks(self, configs: list[JsonValue], next_page_token: str) -> JsonValue:
        return {"configs": configs, "nextPageToken": next_page_token}

    def show_card(self, card: AgentCard, _: CardKeys | None) -> JsonFields:
        """The card as JSON. It is already signed for 1.0; older formats sign it again with the keys."""
        return cast(JsonFields, MessageToDict(card))


class JsonRpc03Format(AnswerFormat):
    """Protocol 0.3 over JSON-RPC."""

    dialect, wraps_payloads = A2aVersion.A2A_0_3, False
    empty_result: JsonValue = None

    @override
    def convert_payload(self, payload: JsonFields, is_final: bool = False) -> JsonFields:
        """As in ``AnswerFormat``; ``final`` marks the end of the stream, while the SDK's marks the end of the task."""
        ((name, value),) = payload.items()
        converted = cast(JsonFields, _convert_to_0_3(name, value))
        return {**converted, "final": is_final} if name == "statusUpdate" else converted

    @override
    def show_webhook(self, webhook: TaskWebhook, task_id: str, token: str) -> JsonFields:
        config: JsonValue = {
            "id": webhook.config_id,
            **build_legacy_webhook_view(webhook),
            **_drop_empty_fields(token=token),
        }
        return {"taskId": task_id, "pushNotificationConfig": config}

    @override
    def show_webhooks(self, configs: list[JsonValue], next_page_token: str) -> JsonValue:
        return configs

    @override
    def show_card(self, card: AgentCard, keys: CardKeys | None) -> JsonFields:
        view = to_compat_agent_card(card).model_dump(mode="json", by_alias=True, exclude_none=True)
        return keys.sign_0_3(view) if keys else view


class Rest03Format(JsonRpc03Format):
    """Protocol 0.3 over REST, which names each webhook by its path."""

    wraps_payloads = True
    empty_result: JsonValue = {}

    @override
    def convert_payload(self, payload: JsonFields, is_final: bool = False) -> JsonFields:
        response = SendStreamingMessageSuccessResponse.model_validate(
            {"result": super().convert_payload(payload, is_final)}
        )
        return cast(JsonFields, MessageToDict(ToProto.stream_response(response.result)))

    @override
    def show_webhook(self, webhook: TaskWebhook, task_id: str, token: str) -> JsonFields:
        config = super().show_webhook(webhook, task_id, token)["pushNotificationConfig"]
        name = f"tasks/{task_id}/pushNotificationConfigs/{webhook.config_id}"
        return {"name": name, "pushNotificationConfig": config}

    @override
    def show_webhooks(self, configs: list[JsonValue], next_page_token: str) -> JsonValue:
        return {"configs": configs}


class LegacyFormat(AnswerFormat):
    """The early protocol, from before A2A 0.2 (``tasks/send``)."""

    dialect = A2aVersion.LEGACY
    parameter_prefix = "params."
    includes_file_contents = False

    @override
    def show_task(self, record: TaskRecord, view: ClientView) -> JsonFields:
        return task_views.build_legacy_view(record, view.shown_id, view.history_length, view.model_notice)

    @override
    def show_answer(self, record: TaskRecord, view: ClientView, *, is_reply: bool = False) -> JsonFields:
        return self.show_task(record, view)

    @override
    def show_update(self, update: Update, update_name: str, record: TaskRecord, view: ClientView) -> JsonFields:
        return updates.build_legacy_update(update, view.shown_id, view.model_notice)

    @override
    def show_webhook(self, webhook: TaskWebhook, task_id: str, token: str) -> JsonFields:
        return {
            "id": task_id,
            "pushNotificationConfig": {**build_legacy_webhook_view(webhook), **_drop_empty_fields(token=token)},
        }


FORMAT_1_0, FORMAT_0_3 = AnswerFormat(), JsonRpc03Format()
FORMAT_0_3_REST, LEGACY_FORMAT = Rest03Format(), LegacyFormat()
ANSWER_FORMATS = {answer_format.dialect: answer_format for answer_format in (FORMAT_1_0, FORMAT_0_3, LEGACY_FORMAT)}


def build_webhook_body(model_notice: str, work: WebhookWork, update: WebhookUpdate) -> str:
    """The body of a webhook request: a ``StreamResponse`` in 1.0; in older protocols the task at the update."""
    answer_format = ANSWER_FORMATS[work.webhook.dialect]
    view = ClientView(model_notice, work.webhook.shown_id or work.record.task_id)
    if answer_format is FORMAT_1_0:
        shape = answer_format.show_update(update.update, update.name, work.record, view)
    else:
        shape = answer_format.show_task(_build_record_at_update(work.record, update.update), view)
    return json.dumps(shape, ensure_ascii=False)


def _build_record_at_update(record: TaskRecord, update: Update) -> TaskRecord:
    """The task as it was at an earlier update: with the update's state, and without answer and results."""
    if not isinstance(update, StatusUpdate) or update.state is record.state:
        return record
    then = {"state": update.state, "reason": update.text, "updated_at": update.at}
    return record.model_copy(update={**then, "answer": None, "artifacts": ()})
