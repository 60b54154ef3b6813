"""What protocol 0.3 takes, in the words of its JSON-RPC: the official types decide there, the descriptors over REST."""

from collections.abc import Mapping
from typing import cast
from uuid import uuid4

from a2a._base import to_camel_custom
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.compat.v0_3 import types
from pydantic import BaseModel, ValidationError

from services.gateway.core.errors import InvalidField
from services.gateway.entrypoints.a2a.schema import read_by_schema
from shared.domain.exact_json import Json, JsonObject, dumps

_FREE = frozenset({"metadata", "data"})  # what clients may fill as they like
_CONFIG = "pushNotificationConfig"


def read_params(params: JsonObject, schema: type[BaseModel]) -> JsonObject:
    """Each field by its JSON name, all of the types that the schema says; raises ``InvalidField``."""
    read = cast(JsonObject, _in_camel_case(params, ""))
    try:
        schema.model_validate_json(dumps(read), strict=True)
    except ValidationError as error:
        raise _refusal(error) from None
    return read


def read_send(params: JsonObject) -> JsonObject:
    """The parameters of message/send and message/stream."""
    return read_params(_from_early_words(params), types.MessageSendParams)


def read_webhook(params: JsonObject) -> JsonObject:
    """The parameters of tasks/pushNotificationConfig/set, the webhook's own beside its task's id, as 1.0 has them."""
    read = read_params(params, types.TaskPushNotificationConfig)
    return {**_object(read, _CONFIG), "taskId": read["taskId"]}


def read_webhook_name(params: JsonObject, schema: type[BaseModel]) -> JsonObject:
    """Which webhooks of which task, named as 1.0 names them."""
    read = read_params(params, schema)
    return {**read, "taskId": read["id"], "id": read.get(f"{_CONFIG}Id")}


def read_rest_send(body: JsonObject) -> JsonObject:
    """The body of message:send: worded as the REST of 0.3 has it, or, with ``parts``, as its JSON-RPC."""
    message = body.get("message", body.get("request"))
    if isinstance(message, dict) and "parts" in message:
        return read_send(body)
    read = read_by_schema(body, old.SendMessageRequest.DESCRIPTOR)
    said = read.get("message")
    if not isinstance(said, dict):
        return read
    content = said.pop("content", [])
    said["parts"] = [_part(part) for part in content] if isinstance(content, list) else content
    return read


def read_rest_webhook(body: JsonObject) -> JsonObject:
    """A webhook, wrapped twice as 0.3's REST has it (``{"config": {"pushNotificationConfig": ...}}``), once or not."""
    if "config" in body:
        body = _object(read_by_schema(body, old.CreateTaskPushNotificationConfigRequest.DESCRIPTOR), "config")
    elif {_CONFIG, "push_notification_config"} & body.keys():
        body = read_by_schema(body, old.TaskPushNotificationConfig.DESCRIPTOR)
    return _object(body, _CONFIG) if _CONFIG in body else read_by_schema(body, old.PushNotificationConfig.DESCRIPTOR)


def _in_camel_case(value: Json, path: str) -> Json:
    if isinstance(value, list):
        return [_in_camel_case(item, f"{path}[{place}]") for place, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    read: JsonObject = {}
    for key, item in value.items():
        name = to_camel_custom(key)
        at = f"{path}.{name}" if path else name
        if name in read:
            raise InvalidField(at, "is given twice, in two spellings; send one of them")
        read[name] = item if name in _FREE else _in_camel_case(item, at)
    return read


def _refusal(error: ValidationError) -> InvalidField:
    """The first complaint. Which of several kinds a part should have been is not known: it fits none of them."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path = "params"
    for step in first["loc"]:
        if str(step)[:1].isupper():
            return InvalidField(path, "is none of the kinds that the protocol knows, or lacks what its kind needs")
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    return InvalidField(path, first["msg"].lower())


def _from_early_words(params: JsonObject) -> JsonObject:
    """Clients that came from the early protocol name kinds by ``type`` or not at all, give their messages no id and
    wait for the answer: such a message is read as if it said so in the words of 0.3.
    """
    message = params.get("message")
    parts = message.get("parts") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(parts, list) or _says_kind(message, parts):
        return params
    said: Mapping[str, Json] = {"role": "user", "messageId": str(uuid4())}
    message = {**said, **message, "parts": [_with_kind(part) for part in parts]}
    message["role"] = "user" if message["role"] == "ROLE_USER" else message["role"]
    configuration = params.get("configuration") or {}
    if isinstance(configuration, dict):
        configuration = {"blocking": True, **configuration}
    return {**params, "message": message, "configuration": configuration}


def _says_kind(message: JsonObject, parts: list[Json]) -> bool:
    return any(isinstance(one, dict) and "kind" in one for one in (message, *parts))


def _with_kind(part: Json) -> Json:
    if not isinstance(part, dict):
        return part
    held = next((kind for kind in ("text", "data", "file") if kind in part), None)
    return {**part, "kind": part.get("type", held)}


def _part(part: Json) -> Json:
    """A data part of REST holds its data one step deeper."""
    data = part.get("data") if isinstance(part, dict) else None
    return {**part, "data": data.get("data")} if isinstance(part, dict) and isinstance(data, dict) else part


def _object(value: JsonObject, key: str) -> JsonObject:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
