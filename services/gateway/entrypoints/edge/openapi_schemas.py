"""The schemas that the description of the paths refers to."""

from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.types import a2a_pb2 as new
from pydantic import JsonValue

from services.gateway.entrypoints.a2a.proto_schema import Schema, components, reference

_TEXT: Schema = {"type": "string"}
_ANYTHING: Schema = {"type": "object"}
_CODE: Schema = {"type": "integer"}


def schemas() -> dict[str, JsonValue]:
    return {**components("", *_NEW), **components("V03", *_OLD), **_REQUESTS, **_OWN}


_NEW = (
    new.SendMessageRequest.DESCRIPTOR,
    new.SendMessageResponse.DESCRIPTOR,
    new.ListTasksResponse.DESCRIPTOR,
    new.AgentCard.DESCRIPTOR,
    new.ListTaskPushNotificationConfigsResponse.DESCRIPTOR,
)
_OLD = (old.SendMessageRequest.DESCRIPTOR, old.SendMessageResponse.DESCRIPTOR)


def _object(needed: tuple[str, ...] = (), **properties: JsonValue) -> Schema:
    found: Schema = {"type": "object", "properties": properties}
    return {**found, "required": list(needed)} if needed else found


_STATUS = _object(
    ("code", "status", "message", "details"),
    code=_CODE,
    status=_TEXT,
    message=_TEXT,
    details={"type": "array", "items": _ANYTHING},
)
_RPC_ERROR = _object(("code", "message"), code=_CODE, message=_TEXT)
_CALL_ID: Schema = {"type": ["string", "integer", "null"]}
_VERSION: Schema = {"const": "2.0"}
_MESSAGE: JsonValue = {
    "allOf": [reference("Message")],
    "required": ["messageId", "role", "parts"],
    "properties": {"role": {"const": "ROLE_USER"}, "parts": {"minItems": 1}},
}
_REQUESTS: Schema = {
    "SendMessageRequest": _object(
        ("message",),
        tenant=_TEXT,
        message=_MESSAGE,
        configuration=reference("SendMessageConfiguration"),
        metadata=_ANYTHING,
    ),
    "RpcCall": _object(
        ("jsonrpc", "method"),
        jsonrpc=_VERSION,
        id=_CALL_ID,
        method={"type": "string", "minLength": 1},
        params=_ANYTHING,
    ),
}
_OWN: Schema = {
    "Anything": _ANYTHING,
    "Refusal": _object(("error",), error=_TEXT),
    "Status": _object(("error",), error=_STATUS),
    "V03Error": _object(("code", "message"), code=_CODE, message=_TEXT),
    "V03Webhook": _object(("name", "pushNotificationConfig"), name=_TEXT, pushNotificationConfig=_ANYTHING),
    "V03Webhooks": _object(("configs",), configs={"type": "array", "items": reference("V03Webhook")}),
    "V03Tasks": _object(
        ("tasks", "nextPageToken", "pageSize", "totalSize"),
        tasks={"type": "array", "items": reference("V03Task")},
        nextPageToken=_TEXT,
        pageSize=_CODE,
        totalSize=_CODE,
    ),
    "RpcReply": _object(("jsonrpc", "id"), jsonrpc=_VERSION, id=_CALL_ID, result={}, error=_RPC_ERROR),
    "TaskRecord": _object(
        ("task_id", "session_id", "state", "metadata"),
        task_id=_TEXT,
        session_id=_TEXT,
        dialect=_TEXT,
        state=_TEXT,
        reason={"type": ["string", "null"]},
        answer={"type": ["string", "null"]},
        artifacts={"type": "array", "items": _ANYTHING},
        history={"type": "array", "items": _ANYTHING},
        request=_ANYTHING,
        metadata=_ANYTHING,
    ),
}
