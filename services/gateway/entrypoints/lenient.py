"""What 0.3 clients in the field leave out, filled in before the SDK's strict types see it."""

from uuid import uuid4

from shared.domain.exact_json import Json, JsonObject


def as_0_3(method: str, params: JsonObject) -> JsonObject:
    """Params of ``message/send`` with message id, role and the kind of each part; any other method's as they are."""
    message = params.get("message")
    if method != "message/send" or not isinstance(message, dict):
        return params
    filled: JsonObject = {"kind": "message", **{key: value for key, value in message.items() if value is not None}}
    filled["messageId"] = filled.get("messageId") or str(uuid4())
    filled["role"] = filled.get("role") or "user"
    parts = filled.get("parts")
    if isinstance(parts, list):
        filled["parts"] = [_part(part) for part in parts]
    return {**params, "message": filled}


def _part(part: Json) -> Json:
    if not isinstance(part, dict) or "kind" in part:
        return part
    kind = part.get("type") or ("text" if "text" in part else "data")
    return {"kind": kind, **{key: value for key, value in part.items() if key != "type"}}
