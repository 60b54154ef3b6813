"""How each protocol words what it answers: 1.0 as it is, 0.3 over JSON-RPC and over REST by the official converters."""

from collections.abc import Callable
from typing import NamedTuple, cast

from a2a.compat.v0_3 import types as types_0_3
from a2a.compat.v0_3.conversions import to_compat_agent_card, to_compat_stream_response
from a2a.compat.v0_3.proto_utils import ToProto
from a2a.types.a2a_pb2 import AgentCard, StreamResponse
from google.protobuf.json_format import MessageToDict, ParseDict
from pydantic import BaseModel, JsonValue

from services.gateway.core.push.config import legacy_shape, shape_of_1_0
from services.gateway.entrypoints.a2a.view import Shown
from services.gateway.ports.push import Webhook
from shared.domain.words import Dialect

_Event = types_0_3.Message | types_0_3.Task | types_0_3.TaskStatusUpdateEvent | types_0_3.TaskArtifactUpdateEvent


class Wording(NamedTuple):
    """One protocol over one binding. ``update``: a payload of 1.0 (task, message or update under its name), and whether
    its stream ends with it.
    """

    dialect: Dialect
    task: Callable[[Shown], Shown]
    update: Callable[[Shown, bool], Shown]
    webhook: Callable[[Webhook, str, str], Shown]  # the webhook, its task, and the token if it may be told
    webhooks: Callable[[list[JsonValue], str], JsonValue]
    card: Callable[[AgentCard], Shown]
    nothing: JsonValue


def _event(payload: Shown, final: bool) -> _Event:
    """The SDK says ``final`` of ended tasks only; in 0.3 it means the stream's end, whatever the task waits for."""
    event = to_compat_stream_response(ParseDict(payload, StreamResponse())).result
    if isinstance(event, types_0_3.TaskStatusUpdateEvent):
        event.final = final
    return event


def old_update(payload: Shown, final: bool = False) -> Shown:
    return _dump(_event(payload, final))


def old_task(task: Shown) -> Shown:
    return old_update({"task": task})


def _old_rest_update(payload: Shown, final: bool = False) -> Shown:
    return cast(Shown, MessageToDict(ToProto.stream_response(_event(payload, final))))


def _old_rest_task(task: Shown) -> Shown:
    return cast(Shown, _old_rest_update({"task": task})["task"])


def _new_webhook(webhook: Webhook, task_id: str, token: str) -> Shown:
    return {**shape_of_1_0(webhook, task_id), **_token(token)}


def _old_webhook(webhook: Webhook, task_id: str, token: str) -> Shown:
    config: JsonValue = {"id": webhook.config_id, **legacy_shape(webhook), **_token(token)}
    return {"taskId": task_id, "pushNotificationConfig": config}


def _old_rest_webhook(webhook: Webhook, task_id: str, token: str) -> Shown:
    """With the name that 0.3's REST gives a webhook: the path where it is found."""
    config = _old_webhook(webhook, task_id, token)["pushNotificationConfig"]
    return {"name": f"tasks/{task_id}/pushNotificationConfigs/{webhook.config_id}", "pushNotificationConfig": config}


def _token(token: str) -> Shown:
    return {"token": token} if token else {}


def _dump(model: BaseModel) -> Shown:
    return cast(Shown, model.model_dump(mode="json", by_alias=True, exclude_none=True))


def _old_card(card: AgentCard) -> Shown:
    return _dump(to_compat_agent_card(card))


NEW = Wording(
    Dialect.A2A_1_0,
    task=lambda task: task,
    update=lambda payload, _: payload,
    webhook=_new_webhook,
    webhooks=lambda configs, token: {"configs": configs, "nextPageToken": token},
    card=lambda card: cast(Shown, MessageToDict(card)),
    nothing={},
)
OLD = Wording(
    Dialect.A2A_0_3,
    task=old_task,
    update=old_update,
    webhook=_old_webhook,
    webhooks=lambda configs, _: configs,
    card=_old_card,
    nothing=None,
)
OLD_REST = OLD._replace(
    task=_old_rest_task,
    update=_old_rest_update,
    webhook=_old_rest_webhook,
    webhooks=lambda configs, _: {"configs": configs},
    nothing={},
)
