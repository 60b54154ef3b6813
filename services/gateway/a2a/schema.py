"""Reads a client's JSON by the protocol's own schema: fields in both spellings, enums by name or number, types checked.

The result names each field by its JSON name (``taskId``) and each enum value by its name, so that nothing behind this
module knows of spellings. Unknown fields are left out, as ProtoJSON parsers do. The contents of ``Struct`` and
``Value`` stay as the client sent them: protobuf would turn their numbers into floats.
"""

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import NamedTuple, TypeVar, cast
from uuid import uuid4

from a2a._base import to_camel_custom
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old, types
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pydantic import BaseModel, ValidationError

from services.gateway.edge.errors import InvalidField
from services.gateway.edge.fields import decode_base64, kind_of, object_at, required_id
from shared.domain.exact_json import Json, JsonObject, dumps

T = TypeVar("T")
Type = FieldDescriptor
_WHOLE_NUMBERS = {Type.TYPE_INT32: (-(2**31), 2**31 - 1), Type.TYPE_UINT32: (0, 2**32 - 1)}
_OPAQUE: Mapping[str, type] = {
    "google.protobuf.Struct": dict,
    "google.protobuf.Value": object,
    "google.protobuf.ListValue": list,
    "google.protobuf.Timestamp": str,
}
_FLAGS = {"true": True, "false": False}


class _Field(NamedTuple):
    """A field of a message. ``read`` checks a value at a path; raises ``InvalidField``."""

    name: str
    json_name: str
    is_flag: bool
    read: Callable[[Json, str], Json]


class _Schema(NamedTuple):
    """A message's fields under each of their names, and the groups of which only one field may be set (oneof)."""

    fields: Mapping[str, _Field]
    choices: Sequence[tuple[str, Sequence[str]]]


@cache
def _schema_of(message: Descriptor) -> _Schema:
    fields = [_Field(one.name, one.json_name, one.type == Type.TYPE_BOOL, _reader_of(one)) for one in message.fields]
    choices = [(choice.name, [one.json_name for one in choice.fields]) for choice in message.oneofs]
    by_name = {name: field for field in fields for name in (field.name, field.json_name)}
    return _Schema(by_name, [(name, others) for name, others in choices if len(others) > 1])


def read_by_schema(value: JsonObject, schema: Descriptor, path: str = "") -> JsonObject:
    """The message in the schema's words. ``path``: its place, for errors; raises ``InvalidField``."""
    (fields, choices), read = _schema_of(schema), dict[str, Json]()
    for key, item in value.items():
        field = fields.get(key)
        if field is None:
            continue
        at = f"{path}.{field.json_name}" if path else field.json_name
        if field.json_name in read:
            raise InvalidField(at, f"is given twice, as {field.name} and as {field.json_name}; send one of them")
        read[field.json_name] = None if item is None else field.read(item, at)
    given: JsonObject = {name: item for name, item in read.items() if item is not None}
    for choice, names in choices:
        chosen = [name for name in names if name in given]
        if len(chosen) > 1:
            raise InvalidField(path or choice, f"has {' and '.join(chosen)}; send one of them")
    return given


def read_query(parameters: Iterable[tuple[str, str]], schema: Descriptor) -> JsonObject:
    """The message that a query's parameters stand for; raises ``InvalidField``."""
    fields, value = _schema_of(schema).fields, dict[str, Json]()
    for key, text in parameters:
        if key in value and key in fields:
            raise InvalidField(fields[key].json_name, "is given twice")
        is_flag = key in fields and fields[key].is_flag  # a flag is a word; the schema reads numbers
        value[key] = _FLAGS.get(text.lower(), text) if is_flag else text
    return read_by_schema(value, schema)


def _reader_of(field: FieldDescriptor) -> Callable[[Json, str], Json]:
    if field.message_type and field.message_type.GetOptions().map_entry:
        of_value = _single_reader(field.message_type.fields_by_name["value"])
        return lambda value, path: {
            key: of_value(item, f"{path}.{key}") for key, item in _check_type(value, dict, path).items()
        }
    single = _single_reader(field)
    if not field.is_repeated:
        return single
    return lambda value, path: [
        single(item, f"{path}[{place}]") for place, item in enumerate(_check_type(value, list, path))
    ]


def _single_reader(field: FieldDescriptor) -> Callable[[Json, str], Json]:
    match field.type:
        case Type.TYPE_MESSAGE if kind := _OPAQUE.get(field.message_type.full_name):
            return lambda value, path: cast(Json, _check_type(value, kind, path))
        case Type.TYPE_MESSAGE:
            message = field.message_type
            return lambda value, path: read_by_schema(_check_type(value, dict, path), message, path)
        case Type.TYPE_ENUM:
            names = [*field.enum_type.values_by_name]
            numbers = {str(number): one.name for number, one in field.enum_type.values_by_number.items()}
            return lambda value, path: _read_enum(value, path, names, numbers)
        case Type.TYPE_BOOL:
            return lambda value, path: _check_type(value, bool, path)
        case Type.TYPE_BYTES:
            return lambda value, path: base64.b64encode(decode_base64(_check_type(value, str, path), path)).decode()
        case number if number in _WHOLE_NUMBERS:
            least, most = _WHOLE_NUMBERS[number]
            return lambda value, path: _read_integer(value, path, least, most)
        case _:
            return lambda value, path: _check_type(value, str, path)


def _read_enum(value: Json, path: str, names: Sequence[str], numbers: Mapping[str, str]) -> str:
    said = str(value) if isinstance(value, str | int) else ""
    name = said if said in names else numbers.get(said)
    if name is None:
        raise InvalidField(path, f"must be one of {', '.join(names)}")
    return name


def _read_integer(value: Json, path: str, least: int, most: int) -> int:
    """A whole number, also as text or with zeros after its point, as ProtoJSON allows; raises ``InvalidField``."""
    try:
        number = Decimal(value) if isinstance(value, str | int | Decimal) and not isinstance(value, bool) else None
    except ArithmeticError:
        number = None
    if number is None or not number.is_finite() or number != number.to_integral_value():
        raise InvalidField(path, "must be a whole number")
    if not least <= number <= most:
        raise InvalidField(path, f"must be from {least} to {most}")
    return int(number)


_NAMES: Mapping[type, str] = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}


def _check_type(value: Json, kind: type[T], path: str) -> T:
    if not isinstance(value, kind):
        raise InvalidField(path, f"must be {_NAMES[kind]}, not {kind_of(value)}")
    return value


_FREE = frozenset({"metadata", "data"})  # what clients may fill as they like
_CONFIG = "pushNotificationConfig"
_is_camel_case = re.compile(r"[a-z][A-Za-z]*").fullmatch


def read_params(params: JsonObject, schema: type[BaseModel]) -> JsonObject:
    """The parameters under their JSON names, with types checked by ``schema``; raises ``InvalidField``."""
    read = cast(JsonObject, _in_camel_case(params, ""))
    try:
        schema.model_validate_json(dumps(read), strict=True)
    except ValidationError as error:
        raise _build_refusal(error) from None
    return read


def read_send(params: JsonObject) -> JsonObject:
    """Parse the parameters of message/send and message/stream."""
    return read_params(_from_early_words(params), types.MessageSendParams)


def read_early_webhook(params: JsonObject) -> JsonObject:
    """Parse the early protocol's parameters of tasks/pushNotification/set into those of 1.0."""
    named, path = read_early_webhook_name(params), f"params.{_CONFIG}"
    if params.get(_CONFIG) is None:
        raise InvalidField(path, "is required")
    return {**object_at(params, _CONFIG, path), **named}


def read_early_webhook_name(params: JsonObject) -> JsonObject:
    return {"taskId": required_id(params, "id", "params.id"), "metadata": params.get("metadata")}


def read_old_webhook(params: JsonObject) -> JsonObject:
    """Parse the parameters of tasks/pushNotificationConfig/set into those of 1.0: webhook and task id together."""
    read = read_params(params, types.TaskPushNotificationConfig)
    return {**object_at(read, _CONFIG, _CONFIG), "taskId": read["taskId"]}


def read_old_webhook_name(params: JsonObject, schema: type[BaseModel]) -> JsonObject:
    """Parse the names of webhooks and their task into the names of 1.0."""
    read = read_params(params, schema)
    return {**read, "taskId": read["id"], "id": read.get(f"{_CONFIG}Id")}


def read_rest_send(body: JsonObject) -> JsonObject:
    """Parse the body of message:send, in the words of 0.3's REST or, with ``parts``, of its JSON-RPC."""
    message = body.get("message", body.get("request"))
    if isinstance(message, dict) and "parts" in message:
        return read_send(body)
    read = read_by_schema(body, old.SendMessageRequest.DESCRIPTOR)
    said = read.get("message")
    if not isinstance(said, dict):
        return read
    content = said.pop("content", [])
    said["parts"] = [_unwrap_part(part) for part in content] if isinstance(content, list) else content
    return read


def read_rest_webhook(body: JsonObject) -> JsonObject:
    """Parse a webhook, wrapped twice as in 0.3's REST (``{"config": {"pushNotificationConfig":
    ...}}``), once or not.
    """
    if "config" in body:
        read = read_by_schema(body, old.CreateTaskPushNotificationConfigRequest.DESCRIPTOR)
        body = object_at(read, "config", "config")
    elif {_CONFIG, "push_notification_config"} & body.keys():
        body = read_by_schema(body, old.TaskPushNotificationConfig.DESCRIPTOR)
    if _CONFIG in body:
        return object_at(body, _CONFIG, _CONFIG)
    return read_by_schema(body, old.PushNotificationConfig.DESCRIPTOR)


def _in_camel_case(value: Json, path: str) -> Json:
    if isinstance(value, list):
        return [_in_camel_case(item, f"{path}[{place}]") for place, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    read: JsonObject = {}
    for key, item in value.items():
        name = key if _is_camel_case(key) else to_camel_custom(key)
        at = f"{path}.{name}" if path else name
        if name in read:
            raise InvalidField(at, "is given twice, in two spellings; send one of them")
        read[name] = item if name in _FREE else _in_camel_case(item, at)
    return read


def _build_refusal(error: ValidationError) -> InvalidField:
    """The first validation error as an ``InvalidField``. For a part that fits no kind it does not guess one."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path = "params"
    for step in first["loc"]:
        if str(step)[:1].isupper():
            return InvalidField(path, "is none of the kinds that the protocol knows, or lacks what its kind needs")
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    return InvalidField(path, first["msg"].lower())


def _from_early_words(params: JsonObject) -> JsonObject:
    """The parameters of a message from the early protocol, in the words of 0.3.

    Such clients name kinds by ``type`` or not at all, give messages no id, and wait for the answer.
    """
    message = params.get("message")
    parts = message.get("parts") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(parts, list):
        return params
    if any(isinstance(one, dict) and "kind" in one for one in (message, *parts)):
        return params
    said: Mapping[str, Json] = {"role": "user", "messageId": str(uuid4())}
    message = {**said, **message, "parts": [_with_kind(part) for part in parts]}
    message["role"] = "user" if message["role"] == "ROLE_USER" else message["role"]
    configuration = params.get("configuration") or {}
    if isinstance(configuration, dict):
        configuration = {"blocking": True, **configuration}
    return {**params, "message": message, "configuration": configuration}


def _with_kind(part: Json) -> Json:
    if not isinstance(part, dict):
        return part
    held = next((kind for kind in ("text", "data", "file") if kind in part), None)
    return {**part, "kind": part.get("type", held)}


def _unwrap_part(part: Json) -> Json:
    """A part of 0.3's REST as a part of JSON-RPC, whose data are not wrapped once more."""
    data = part.get("data") if isinstance(part, dict) else None
    return {**part, "data": data.get("data")} if isinstance(part, dict) and isinstance(data, dict) else part
