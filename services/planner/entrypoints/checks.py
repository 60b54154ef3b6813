"""Refuses what the Messages API refuses, with its error shape."""

import re

from fastapi import Request
from fastapi.responses import JSONResponse

from services.planner.core.request import objects
from shared.domain.exact_json import Json, JsonObject

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    405: "invalid_request_error",
    413: "request_too_large",
}


class RequestRefused(Exception):
    """A refused request; ``status`` decides the error's type."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


def build_error_body(status: int, message: str) -> dict[str, object]:
    kind = _ERROR_TYPES.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


async def answer_refused(_: Request, error: Exception) -> JSONResponse:
    refused = error if isinstance(error, RequestRefused) else RequestRefused("Internal server error", 500)
    return JSONResponse(build_error_body(refused.status, refused.message), refused.status)


_SAMPLING = ("temperature", "top_p", "top_k")
_FIELD_WORDS = frozenset(
    "model messages max_tokens system tools tool_choice stream stop_sequences metadata output_config thinking "
    "service_tier cache_control container context_management inference_geo".split()
)
_TYPES: dict[str, tuple[type, ...]] = {
    "model": (str,),
    "messages": (list,),
    "max_tokens": (int,),
    "system": (str, list),
    "tools": (list,),
    "tool_choice": (dict,),
    "stream": (bool,),
    "stop_sequences": (list,),
    "metadata": (dict,),
    "output_config": (dict,),
    "thinking": (dict,),
}
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_BLOCKS = {"user": ("text", "tool_result"), "assistant": ("text", "tool_use", "thinking")}


def check_request(body: JsonObject, model: str, counting: bool = False) -> None:
    """Raises ``RequestRefused`` for what the API refuses.

    ``model``: the only one that there is. ``counting``: ``max_tokens`` is not needed to count tokens.
    """
    _check_fields(body, counting)
    if body["model"] != model:
        raise RequestRefused(f"model: {body['model']}", 404)
    _check_messages(objects(body["messages"]))
    _check_tools(body.get("tools"))
    _check_tool_choice(body.get("tool_choice"))
    _check_output_config(body.get("output_config"))


def _check_fields(body: JsonObject, counting: bool) -> None:
    for name in ("model", "messages") if counting else ("model", "messages", "max_tokens"):
        if name not in body:
            raise RequestRefused(f"{name}: Field required")
    for name in _SAMPLING:
        if name in body:
            raise RequestRefused(f"`{name}` is not supported by this model.")
    for name, value in body.items():
        if name not in _FIELD_WORDS:
            raise RequestRefused(f"{name}: Extra inputs are not permitted")
        _check_type(name, value)
    limit = body.get("max_tokens", 1)
    if isinstance(limit, int) and limit < 1:
        raise RequestRefused("max_tokens: Input should be greater than or equal to 1")


def _check_type(name: str, value: Json) -> None:
    kinds = _TYPES.get(name)
    if kinds and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
        raise RequestRefused(f"{name}: Input should be a valid {' or '.join(kind.__name__ for kind in kinds)}")


def _check_messages(messages: list[JsonObject]) -> None:
    if not messages:
        raise RequestRefused("messages: at least one message is required")
    for index, message in enumerate(messages):
        _check_message(index, message)
    if messages[0]["role"] != "user":
        raise RequestRefused('messages: first message must use the "user" role')
    if messages[-1]["role"] == "assistant":
        raise RequestRefused(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
    for index, message in enumerate(messages):
        _check_answered(index, message, messages[index + 1] if index + 1 < len(messages) else {})


def _check_message(index: int, message: JsonObject) -> None:
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant"):
        raise RequestRefused(f"messages.{index}.role: Input should be 'user' or 'assistant'")
    if not isinstance(content, str | list):
        raise RequestRefused(f"messages.{index}.content: Input should be a valid string or list")
    if not content:
        raise RequestRefused(f"messages.{index}: all messages must have non-empty content")
    for place, block in enumerate(objects(content)):
        if block.get("type") not in _BLOCKS[str(role)]:
            raise RequestRefused(f"messages.{index}.content.{place}.type: {block.get('type')!r} is not expected here")
        if block.get("type") == "text" and not block.get("text"):
            raise RequestRefused(f"messages.{index}.content.{place}: text content blocks must be non-empty")


def _block_ids(message: JsonObject, kind: str, field: str) -> list[str]:
    return [str(block.get(field)) for block in objects(message.get("content")) if block.get("type") == kind]


def _check_answered(index: int, message: JsonObject, following: JsonObject) -> None:
    """Raises ``RequestRefused`` unless each ``tool_use`` has its ``tool_result`` in the very next message, and no
    ``tool_result`` stands alone.
    """
    tool_use_ids = _block_ids(message, "tool_use", "id")
    result_ids = _block_ids(following, "tool_result", "tool_use_id")
    missing = [use for use in tool_use_ids if use not in result_ids]
    if missing:
        raise RequestRefused(
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. "
            "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
        )
    stray = [use for use in result_ids if use not in tool_use_ids] or (
        _block_ids(message, "tool_result", "tool_use_id") if index == 0 else []
    )
    if stray:
        raise RequestRefused(
            f"messages.{index + 1}: unexpected `tool_use_id` found in `tool_result` blocks: {', '.join(stray)}."
        )


def _check_tools(tools: Json) -> None:
    names = [tool.get("name") for tool in objects(tools)]
    for index, tool in enumerate(objects(tools)):
        if not isinstance(tool.get("name"), str) or not _TOOL_NAME.fullmatch(str(tool["name"])):
            raise RequestRefused(f"tools.{index}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        schema = tool.get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise RequestRefused(f"tools.{index}.input_schema.type: Field required, and it must be 'object'")
        if tool.get("strict") is True:
            _check_closed(schema, f"tools.{index}.input_schema")
    if len(names) != len(set(map(str, names))):
        raise RequestRefused("tools: Tool names must be unique.")


def _check_tool_choice(choice: Json) -> None:
    if isinstance(choice, dict) and choice.get("type") not in ("auto", "none"):
        raise RequestRefused(f"tool_choice: forced tool use ({choice.get('type')!r}) is not supported by this model.")


def _check_output_config(config: Json) -> None:
    form, effort = (config.get("format"), config.get("effort")) if isinstance(config, dict) else (None, None)
    if effort is not None and effort not in _EFFORTS:
        raise RequestRefused(f"output_config.effort: Input should be one of {', '.join(_EFFORTS)}")
    if form is None:
        return
    if not isinstance(form, dict) or form.get("type") != "json_schema" or not isinstance(form.get("schema"), dict):
        raise RequestRefused("output_config.format: Input should be an object of type 'json_schema' with a schema")
    _check_closed(form["schema"], "output_config.format.schema")


def _check_closed(schema: Json, where: str) -> None:
    """Raises ``RequestRefused`` unless all objects of the schema are closed, at every depth, as strict tools need.

    ``where``: the schema's place, for the message.
    """
    if isinstance(schema, list):
        for item in schema:
            _check_closed(item, where)
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        raise RequestRefused(f"{where}: For 'object' type, 'additionalProperties' must be explicitly set to false")
    properties = schema.get("properties")
    inner = [*(properties.values() if isinstance(properties, dict) else ()), schema.get("items"), schema.get("anyOf")]
    for item in inner:
        _check_closed(item, where)
