"""The tools over the bridge that older agents speak: ``GET /mcp/tools`` and ``POST /mcp``, without envelopes."""

from collections.abc import Awaitable, Callable

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from examples.company.calls import CallReply, ToolCaller, ToolOutcome
from examples.company.catalogue import TOOLS
from shared.domain.exact_json import Json, dumps

_TOOLS = [
    {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema()} for tool in TOOLS.values()
]
_PEOPLE = ("get_employee", "get_customer")  # these say who is unknown; the others answer an empty list
_ONCE_ONLY = "CONSTRAINT_VIOLATION"


class RestCall(BaseModel):
    """The body of a call; what else stands in it is ignored."""

    model_config = ConfigDict(frozen=True)

    tool: str
    params: dict[str, JsonValue] = {}
    session_id: str | None = None


async def list_tools(_: Request) -> JSONResponse:
    """A bare array of the tools."""
    return JSONResponse(_TOOLS)


def make_call_endpoint(calls: ToolCaller) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of calls: 200 with the raw result or the refusal, 422 for what cannot be understood."""

    async def call(request: Request) -> Response:
        try:
            asked = RestCall.model_validate_json(await request.body())
        except ValidationError as error:
            return _answer_malformed(f"not a call: {error.errors(include_input=False, include_url=False)[0]['msg']}")
        return _answer_reply(asked.tool, await calls.run(asked.tool, asked.params))

    return call


def _answer_reply(tool: str, reply: CallReply) -> Response:
    match reply.outcome:
        case ToolOutcome.MALFORMED:
            return _answer_malformed(str(reply.content))
        case ToolOutcome.REPEATED:
            return _json_response({"error": _ONCE_ONLY, "type": _ONCE_ONLY, "message": reply.content})
        case ToolOutcome.REFUSED:
            return _json_response({"error": reply.content})
        case ToolOutcome.DONE:
            return _json_response(_not_found_as_list(tool, reply.content))


def _not_found_as_list(tool: str, content: Json) -> Json:
    negative = isinstance(content, dict) and content.get("found") is False
    return [] if negative and tool not in _PEOPLE else content


def _answer_malformed(sentence: str) -> JSONResponse:
    return JSONResponse({"detail": sentence}, status_code=422)


def _json_response(content: Json) -> Response:
    return Response(dumps(content), media_type="application/json")
