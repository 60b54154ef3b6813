"""The schemas that the OpenAPI document refers to."""

from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.types import a2a_pb2 as new
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pydantic import JsonValue

Schema = dict[str, JsonValue]

_INTEGER_TYPES = frozenset({FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_UINT32})
_FRACTION_TYPES = frozenset({FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT})
_SCHEMAS_OF_WELL_KNOWN_TYPES: dict[str, Schema] = {
    "google.protobuf.Struct": {"type": "object"},
    "google.protobuf.Value": {},
    "google.protobuf.ListValue": {"type": "array"},
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
}


def build_message_schemas(prefix: str, *roots: Descriptor) -> Schema:
    """JSON schemas of protobuf message types and of all types in them, by ``prefix`` and name."""
    schemas: Schema = {}
    for kind in roots:
        _add_message(schemas, kind, prefix)
    return schemas


def schema_reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _add_message(schemas: Schema, kind: Descriptor, prefix: str) -> None:
    """Add the schemas of a message type and of the types in it to ``schemas``, unless it is there already."""
    if prefix + kind.name not in schemas:
        properties: Schema = {}
        schemas[prefix + kind.name] = {"type": "object", "properties": properties}
        properties |= {field.json_name: _field_schema(schemas, field, prefix) for field in kind.fields}


def _field_schema(schemas: Schema, field: FieldDescriptor, prefix: str) -> Schema:
    if field.message_type and field.message_type.GetOptions().map_entry:
        of_values = _element_schema(schemas, field.message_type.fields_by_name["value"], prefix)
        return {"type": "object", "additionalProperties": of_values}
    single = _element_schema(schemas, field, prefix)
    return {"type": "array", "items": single} if field.is_repeated else single


def _element_schema(schemas: Schema, field: FieldDescriptor, prefix: str) -> Schema:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        well_known = _SCHEMAS_OF_WELL_KNOWN_TYPES.get(field.message_type.full_name)
        if well_known is None:
            _add_message(schemas, field.message_type, prefix)
        return schema_reference(prefix + field.message_type.name) if well_known is None else well_known
    if field.type == FieldDescriptor.TYPE_ENUM:
        return {"type": "string", "enum": [value.name for value in field.enum_type.values]}
    if field.type == FieldDescriptor.TYPE_BOOL:
        return {"type": "boolean"}
    if field.type in _FRACTION_TYPES:
        return {"type": "number"}
    return {"type": "integer"} if field.type in _INTEGER_TYPES else {"type": "string"}


_TEXT_SCHEMA: Schema = {"type": "string"}
_ANYTHING_SCHEMA: Schema = {"type": "object"}
_CODE_SCHEMA: Schema = {"type": "integer"}


def build_all_schemas() -> dict[str, JsonValue]:
    of_messages = build_message_schemas("", *_MESSAGES_1_0) | build_message_schemas("V03", *_MESSAGES_0_3)
    return of_messages | _REQUEST_SCHEMAS | _OWN_SCHEMAS


_MESSAGES_1_0 = (
    new.SendMessageRequest.DESCRIPTOR,
    new.SendMessageResponse.DESCRIPTOR,
    new.ListTasksResponse.DESCRIPTOR,
    new.AgentCard.DESCRIPTOR,
    new.ListTaskPushNotificationConfigsResponse.DESCRIPTOR,
)
_MESSAGES_0_3 = (old.SendMessageRequest.DESCRIPTOR, old.SendMessageResponse.DESCRIPTOR)


def _object_schema(needed: tuple[str, ...] = (), **properties: JsonValue) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "required": list(needed)} if needed else schema


_STATUS_SCHEMA = _object_schema(
    ("code", "status", "message", "details"),
    code=_CODE_SCHEMA,
    status=_TEXT_SCHEMA,
    message=_TEXT_SCHEMA,
    details={"type": "array", "items": _ANYTHING_SCHEMA},
)
_RPC_ERROR_SCHEMA = _object_schema(("code", "message"), code=_CODE_SCHEMA, message=_TEXT_SCHEMA)
_RPC_ID_SCHEMA: Schema = {"type": ["string", "integer", "null"]}
_RPC_VERSION_SCHEMA: Schema = {"const": "2.0"}
_MESSAGE_SCHEMA: JsonValue = {
    "allOf": [schema_reference("Message")],
    "required": ["messageId", "role", "parts"],
    "properties": {"role": {"const": "ROLE_USER"}, "parts": {"minItems": 1}},
}
_REQUEST_SCHEMAS: Schema = {
    "SendMessageRequest": _object_schema(
        ("message",),
        tenant=_TEXT_SCHEMA,
        message=_MESSAGE_SCHEMA,
        configuration=schema_reference("SendMessageConfiguration"),
        metadata=_ANYTHING_SCHEMA,
    ),
    "RpcCall": _object_schema(
        ("jsonrpc", "method"),
        jsonrpc=_RPC_VERSION_SCHEMA,
        id=_RPC_ID_SCHEMA,
        method={"type": "string", "minLength": 1},
        params=_ANYTHING_SCHEMA,
    ),
}
_OWN_SCHEMAS: Schema = {
    "Anything": _ANYTHING_SCHEMA,
    "Refusal": _object_schema(("error",), error=_TEXT_SCHEMA),
    "Status": _object_schema(("error",), error=_STATUS_SCHEMA),
    "V03Error": _object_schema(("code", "message"), code=_CODE_SCHEMA, message=_TEXT_SCHEMA, type=_TEXT_SCHEMA),
    "V03Webhook": _object_schema(
        ("name", "pushNotificationConfig"), name=_TEXT_SCHEMA, pushNotificationConfig=_ANYTHING_SCHEMA
    ),
    "V03Webhooks": _object_schema(("configs",), configs={"type": "array", "items": schema_reference("V03Webhook")}),
    "V03Tasks": _object_schema(
        ("tasks", "nextPageToken", "pageSize", "totalSize"),
        tasks={"type": "array", "items": schema_reference("V03Task")},
        nextPageToken=_TEXT_SCHEMA,
        pageSize=_CODE_SCHEMA,
        totalSize=_CODE_SCHEMA,
    ),
    "RpcReply": _object_schema(
        ("jsonrpc", "id"), jsonrpc=_RPC_VERSION_SCHEMA, id=_RPC_ID_SCHEMA, result={}, error=_RPC_ERROR_SCHEMA
    ),
    "TaskRecord": _object_schema(
        ("task_id", "session_id", "state", "metadata"),
        task_id=_TEXT_SCHEMA,
        session_id=_TEXT_SCHEMA,
        dialect=_TEXT_SCHEMA,
        state=_TEXT_SCHEMA,
        reason={"type": ["string", "null"]},
        answer={"type": ["string", "null"]},
        artifacts={"type": "array", "items": _ANYTHING_SCHEMA},
        history={"type": "array", "items": _ANYTHING_SCHEMA},
        request=_ANYTHING_SCHEMA,
        metadata=_ANYTHING_SCHEMA,
    ),
}
