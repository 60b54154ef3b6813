"""What the REST bridge's answers say, in the words of the ``ToolServers`` port."""

from collections.abc import Sequence

import structlog
from mcp.types import Tool as ListedTool
from pydantic import ValidationError

from services.executor.adapters.mcp_content import brief, tools_of
from services.executor.adapters.other_protocol import OtherProtocol
from services.executor.ports.tools import Tool, ToolAnswer, ToolSilent
from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json, JsonObject, dumps, loads, wire

log = structlog.get_logger()

_TIMED_OUT = 408
_LEFT_OPEN = (409, 429)  # a conflict may be with an earlier sending; nobody promises what a limit stopped


def parse_tools(connection: Connection, status: int, body: bytes) -> tuple[Tool, ...]:
    """The usable tools of a listing, which may be empty; ``OtherProtocol`` unless it is a bare JSON array."""
    if status >= 500:
        raise ToolSilent(f"{connection.id}: the server answered the tool list's request with HTTP {status}")
    tools = _json(body) if status == 200 else None
    if not isinstance(tools, list):
        raise OtherProtocol(f"HTTP {status} without a JSON array of tools at /mcp/tools")
    return tools_of(connection, _entries(connection, tools))


def parse_answer(tool: str, status: int, body: bytes) -> ToolAnswer:
    """The answer to a call: a result as it came, a refusal where the server says that nothing was done.

    Raises ``ToolSilent`` where the answer leaves open what happened.
    """
    if 400 <= status < 500 and status != _TIMED_OUT:
        return ToolAnswer(_body_content(status, body), is_error=True, not_begun=status not in _LEFT_OPEN)
    if not 200 <= status < 300:
        raise ToolSilent(f"{tool}: the server answered HTTP {status}")
    try:
        content = loads(body)
    except ValueError as error:
        raise ToolSilent(f"{tool}: the answer is not JSON: {error}") from error
    return ToolAnswer(content, is_error=_refuses(content))


def _refuses(content: Json) -> bool:
    """An ``error`` is a refusal, unless it says that nothing was found or is a field of a record."""
    if not isinstance(content, dict) or not content.get("error"):
        return False
    return content.get("found") is not False and "id" not in content


def _body_content(status: int, body: bytes) -> Json:
    said = _json(body)
    if said in (None, "", [], {}):
        said = body.decode(errors="replace") or f"HTTP {status}"
    return f"HTTP {status}: {said if isinstance(said, str) else dumps(said)}" if status in _LEFT_OPEN else said


def _json(body: bytes) -> Json:
    try:
        return loads(body)
    except ValueError:
        return None


def _entries(connection: Connection, listing: Sequence[Json]) -> list[ListedTool]:
    entries = []
    for place, entry in enumerate(listing):
        try:
            entries.append(_entry(entry))
        except ValidationError as error:
            log.warning("tool_dropped", connection=connection.id, place=place, reason=brief(error))
    return entries


def _entry(entry: Json) -> ListedTool:
    """One entry; a tool without a schema takes any object."""
    given = entry if isinstance(entry, dict) else {}
    schema = given.get("input_schema") or {}
    open_schema: JsonObject = {"type": "object", **schema} if isinstance(schema, dict) else {}
    return ListedTool.model_validate(
        {
            "name": given.get("name"),
            "description": given.get("description"),
            "input_schema": wire(open_schema),
        }
    )
