"""Parses a client's JSON by the protocol's protobuf schema: both spellings of fields, enums by name or number, types.

Unknown fields are dropped. The contents of ``Struct`` and ``Value`` stay as sent: protobuf would make floats of them.
"""

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Annotated, NamedTuple, cast
from uuid import uuid4

from a2a._base import to_camel_custom
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old, types
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pydantic import BaseModel, FailFast, ValidationError

from services.gateway.edge.errors import InvalidField
from services.gateway.edge.fields import decode_base64, object_at, require_type, required_id_at
from shared.domain.exact_json import Json, JsonObject, dumps

Type = FieldDescriptor
_INTEGER_RANGES = {Type.TYPE_INT32: (-(2**31), 2**31 - 1), Type.TYPE_UINT32: (0, 2**32 - 1)}
_PYTHON_TYPES_OF_WELL_KNOWN: Mapping[str, type] = {
    "google.protobuf.Struct": dict,
    "google.protobuf.Value": object,
    "google.protobuf.ListValue": list,
    "google.protobuf.Timestamp": str,
}
_BOOL_BY_TEXT = {"true": True, "false": False}


class _Field(NamedTuple):
    """A field of a message. ``read(value, path)`` checks and converts a value; it raises ``InvalidField``."""

    name: str
    json_name: str
    is_flag: bool
    read: Callable[[Json, str], Json]


class _Schema(NamedTuple):
    """A message's fields, under each of their spellings, and its ``oneof`` groups."""

    fields: Mapping[str, _Field]
    oneofs: Sequence[tuple[str, Sequence[str]]]


@cache
def _build_schema(message: Descriptor) -> _Schema:
    fields = [_Field(f.name, f.json_name, f.type == Type.TYPE_BOOL, _make_field_reader(f)) for f in message.fields]
    oneofs = [(choice.name, [field.json_name for field in choice.fields]) for choice in message.oneofs]
    by_name = {name: field for field in fields for name in (field.name, field.json_name)}
    return _Schema(by_name, [(name, members) for name, members in oneofs if len(members) > 1])


def parse_by_schema(value: JsonObject, schema: Descriptor, path: str = "") -> JsonObject:
    """Parse a message by ``schema``. ``path``: its place in the request, for errors. Raises ``InvalidField``."""
    fields, oneofs = _build_schema(schema)
    parsed: JsonObject = {}
    for key, item in value.items():
        field = fields.get(key)
        if field is None:
            continue
        field_path = f"{path}.{field.json_name}" if path else field.json_name
        if field.json_name in parsed:
            spellings = f"as {field.name} and as {field.json_name}"
            raise InvalidField(field_path, f"is given twice, {spellings}; send one of them")
        parsed[field.json_name] = None if item is None else field.read(item, field_path)
    message: JsonObject = {name: item for name, item in parsed.items() if item is not None}
    for choice, names in oneofs:
        chosen = [name for name in names if name in message]
        if len(chosen) > 1:
            raise InvalidField(path or choice, f"has {' and '.join(chosen)}; send one of them")
    return message


def parse_query_by_schema(parameters: Iterable[tuple[str, str]], schema: Descriptor) -> JsonObject:
    """Parse a query's parameters as a message of ``schema``; raises ``InvalidField``."""
    fields = _build_schema(schema).fields
    values: JsonObject = {}
    for key, text in parameters:
        if key in values and key in fields:
            raise InvalidField(fields[key].json_name, "is given twice")
        is_flag = key in fields and fields[key].is_flag  # a flag is a word; the schema reads numbers
        values[key] = _BOOL_BY_TEXT.get(text.lower(), text) if is_flag else text
    return parse_by_schema(values, schema)


def _make_field_reader(field: FieldDescriptor) -> Callable[[Json, str], Json]:
    if field.message_type and field.message_type.GetOptions().map_entry:
        of_value = _make_element_reader(field.message_type.fields_by_name["value"])
        return lambda value, path: {
            key: of_value(item, f"{path}.{key}") for key, item in require_type(value, dict, path).items()
        }
    single = _make_element_reader(field)
    if not field.is_repeated:
        return single
    return lambda value, path: [
        single(item, f"{path}[{index}]") for index, item in enumerate(require_type(value, list, path))
    ]


def _make_element_reader(field: FieldDescriptor) -> Callable[[Json, str], Json]:
    match field.type:
        case Type.TYPE_MESSAGE if kind := _PYTHON_TYPES_OF_WELL_KNOWN.get(field.message_type.full_name):
            return lambda value, path: cast(Json, require_type(value, kind, path))
        case Type.TYPE_MESSAGE:
            message = field.message_type
            return lambda value, path: parse_by_schema(require_type(value, dict, path), message, path)
        case Type.TYPE_ENUM:
            names = [*field.enum_type.values_by_name]
            numbers = {str(number): enum_value.name for number, enum_value in field.enum_type.values_by_number.items()}
            return lambda value, path: _parse_enum(value, path, names, numbers)
        case Type.TYPE_BOOL:
            return lambda value, path: require_type(value, bool, path)
        case Type.TYPE_BYTES:
            return lambda value, path: base64.b64encode(decode_base64(require_type(value, str, path), path)).decode()
        case number if number in _INTEGER_RANGES:
            lowest, highest = _INTEGER_RANGES[number]
            return lambda value, path: _parse_integer(value, path, lowest, highest)
        case _:
            return lambda value, path: require_type(value, str, path)


def _parse_enum(value: Json, path: str, names: Sequence[str], numbers: Mapping[str, str]) -> str:
    text = str(value) if isinstance(value, str | int) else ""
    name = text if text in names else numbers.get(text)
    if name is None:
        raise InvalidField(path, f"must be one of {', '.join(names)}")
    return name


def _parse_integer(value: Json, path: str, lowest: int, highest: int) -> int:
    """Parse an integer, which may be a string or have a zero fraction, as in ProtoJSON; raises ``InvalidField``."""
    try:
        number = Decimal(value) if isinstance(value, str | int | Decimal) and not isinstance(value, bool) else None
    except ArithmeticError:
        number = None
    if number is None or not number.is_finite() or number != number.to_integral_value():
        raise InvalidField(path, "must be a whole number")
    if not lowest <= number <= highest:
        raise InvalidField(path, f"must be from {lowest} to {highest}")
    return int(number)


_FREE_FORM_KEYS = frozenset({"metadata", "data"})  # what clients may fill as they like
_CONFIG_KEY = "pushNotificationConfig"
_is_camel_case = re.compile(r"[a-z][A-Za-z]*").fullmatch


def parse_params_0_3(params: JsonObject, schema: type[BaseModel]) -> JsonObject:
    """The parameters of a 0.3 method under their JSON names, checked by ``schema``; raises ``InvalidField``."""
    camel_params = cast(JsonObject, _convert_keys_to_camel_case(params, ""))
    try:
        schema.model_validate_json(dumps(camel_params), strict=True)
    except ValidationError as error:
        raise _to_invalid_field(error) from None
    return camel_params


class _FailFastMessage(types.Message):
    parts: Annotated[list[types.Part], FailFast()]  # the faults of 30,000 parts take seconds to list


class _FailFastMessageSendParams(types.MessageSendParams):
    message: _FailFastMessage


def parse_message_0_3(params: JsonObject) -> JsonObject:
    """Parse the parameters of message/send and message/stream, also as the early protocol's clients send them.

    Raises ``InvalidField``.
    """
    return parse_params_0_3(_convert_legacy_params(params), _FailFastMessageSendParams)


def convert_legacy_webhook(params: JsonObject) -> JsonObject:
    """Convert the early protocol's parameters of tasks/pushNotification/set to those of 1.0.

    Raises ``InvalidField`` if the task's id or the webhook is missing.
    """
    task_fields, path = convert_legacy_webhook_id(params), f"params.{_CONFIG_KEY}"
    if params.get(_CONFIG_KEY) is None:
        raise InvalidField(path, "is required")
    return {**object_at(params, _CONFIG_KEY, path), **task_fields}


def convert_legacy_webhook_id(params: JsonObject) -> JsonObject:
    return {"taskId": required_id_at(params, "id", "params.id"), "metadata": params.get("metadata")}


def convert_webhook_0_3(params: JsonObject) -> JsonObject:
    """Convert the parameters of tasks/pushNotificationConfig/set to those of 1.0: a webhook with its task id.

    Raises ``InvalidField``.
    """
    camel_params = parse_params_0_3(params, types.TaskPushNotificationConfig)
    return {**object_at(camel_params, _CONFIG_KEY, _CONFIG_KEY), "taskId": camel_params["taskId"]}


def convert_webhook_id_0_3(params: JsonObject, schema: type[BaseModel]) -> JsonObject:
    """Convert the 0.3 parameters that name a task and its webhook to those of 1.0; raises ``InvalidField``."""
    camel_params = parse_params_0_3(params, schema)
    return {**camel_params, "taskId": camel_params["id"], "id": camel_params.get(f"{_CONFIG_KEY}Id")}


def parse_rest_message_0_3(body: JsonObject) -> JsonObject:
    """Parse the body of ``/v1/message:send``: as 0.3's REST has it or, with ``parts``, as 0.3's JSON-RPC has it.

    Raises ``InvalidField``.
    """
    message = body.get("message", body.get("request"))
    if isinstance(message, dict) and "parts" in message:
        return parse_message_0_3(body)
    request = parse_by_schema(body, old.SendMessageRequest.DESCRIPTOR)
    message = request.get("message")
    if not isinstance(message, dict):
        return request
    content = message.pop("content", [])
    message["parts"] = [_unwrap_part_data(part) for part in content] if isinstance(content, list) else content
    return request


def parse_rest_webhook_0_3(body: JsonObject) -> JsonObject:
    """Parse a webhook of 0.3's REST, sent bare or inside ``pushNotificationConfig``, ``config`` or both.

    Raises ``InvalidField``.
    """
    if "config" in body:
        request = parse_by_schema(body, old.CreateTaskPushNotificationConfigRequest.DESCRIPTOR)
        body = object_at(request, "config")
    elif {_CONFIG_KEY, "push_notification_config"} & body.keys():
        body = parse_by_schema(body, old.TaskPushNotificationConfig.DESCRIPTOR)
    if _CONFIG_KEY in body:
        return object_at(body, _CONFIG_KEY, _CONFIG_KEY)
    return parse_by_schema(body, old.PushNotificationConfig.DESCRIPTOR)


def _convert_keys_to_camel_case(value: Json, path: str) -> Json:
    if isinstance(value, list):
        return [_convert_keys_to_camel_case(item, f"{path}[{index}]") for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    fields: JsonObject = {}
    for key, item in value.items():
        name = key if _is_camel_case(key) else to_camel_custom(key)
        item_path = f"{path}.{name}" if path else name
        if name in fields:
            raise InvalidField(item_path, "is given twice, in two spellings; send one of them")
        fields[name] = item if name in _FREE_FORM_KEYS else _convert_keys_to_camel_case(item, item_path)
    return fields


def _to_invalid_field(error: ValidationError) -> InvalidField:
    """The first validation error as an ``InvalidField``. For a union the error is of the union, not of one variant."""
    first_error = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path = "params"
    for step in first_error["loc"]:
        if str(step)[:1].isupper():
            return InvalidField(path, "is none of the kinds that the protocol knows, or lacks what its kind needs")
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    return InvalidField(path, first_error["msg"].lower())


def _convert_legacy_params(params: JsonObject) -> JsonObject:
    """Convert the parameters of the early protocol's message to those of 0.3; others are returned unchanged.

    Early clients mark parts by ``type`` or not at all, give messages no id, and wait for the answer.
    """
    message = params.get("message")
    parts = message.get("parts") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(parts, list):
        return params
    if any(isinstance(node, dict) and "kind" in node for node in (message, *parts)):
        return params
    defaults: Mapping[str, Json] = {"role": "user", "messageId": str(uuid4())}
    message = {**defaults, **message, "parts": [_add_part_kind(part) for part in parts]}
    message["role"] = "user" if message["role"] == "ROLE_USER" else message["role"]
    configuration = params.get("configuration") or {}
    if isinstance(configuration, dict):
        configuration = {"blocking": True, **configuration}
    return {**params, "message": message, "configuration": configuration}


def _add_part_kind(part: Json) -> Json:
    if not isinstance(part, dict):
        return part
    content_kind = next((kind for kind in ("text", "data", "file") if kind in part), None)
    return {**part, "kind": part.get("type", content_kind)}


def _unwrap_part_data(part: Json) -> Json:
    """A part of 0.3's REST as JSON-RPC has it: with ``data`` where REST has ``{"data": data}``."""
    data = part.get("data") if isinstance(part, dict) else None
    return {**part, "data": data.get("data")} if isinstance(part, dict) and isinstance(data, dict) else part
