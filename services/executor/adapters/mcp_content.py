"""Translates what MCP servers send: checks each listed tool, and reads answers as exact JSON."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import structlog
from jsonschema import SchemaError
from jsonschema.validators import Draft202012Validator, validator_for
from mcp import ClientSession
from mcp.types import (
    CallToolResult,
    EmbeddedResource,
    PaginatedRequestParams,
    TextContent,
    TextResourceContents,
    Tool as ListedTool,
)
from pydantic import ValidationError

from services.executor.core.tools.classes import ToolAnnotations, classify_tool
from services.executor.ports.tools import Tool, ToolAnswer, ToolSilent
from shared.contracts.base import describe_first_error
from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain.exact_json import Json, loads, loads_object
from shared.domain.lru_cache import cached_by_text

log = structlog.get_logger()

MAX_PAGES = 100
MAX_TOOLS = 5_000  # of one server; compiling them holds up whatever else this process does
LONGEST_NAME = 128
_MOST_CONNECTIONS = 8  # of one listing: by connections that name the same server, each with its catalogue
PROOF_KEY = "purple-agent/proof"  # in a listed tool's _meta: {"read_back": TOOL, "expect": {FIELD: VALUE}}


class UnusableToolList(Exception):
    """The tool list as a whole cannot be used; the message says why."""


class ListedTools(NamedTuple):
    """All tools that a server listed. ``seconds``: how long the list is valid; infinite if the server does not say."""

    tools: Sequence[ListedTool]
    seconds: float


async def list_tools(session: ClientSession) -> ListedTools:
    """Reads all pages of the server's tool list; raises ``UnusableToolList`` if these, or the tools, are too many."""
    tools: list[ListedTool] = []
    cursors: set[str] = set()
    cursor: str | None = None
    seconds = math.inf
    for _ in range(MAX_PAGES):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        tools += page.tools
        if len(tools) > MAX_TOOLS:
            raise UnusableToolList(f"the tool list has more than {MAX_TOOLS:,} tools")
        cursor = page.next_cursor
        if page.ttl_ms:  # 0 is what SDKs write where a server says nothing
            seconds = min(seconds, page.ttl_ms / 1000)
        if cursor is None:
            return ListedTools(tools, seconds)
        if cursor in cursors:
            raise UnusableToolList("the tool list repeats itself: the server gave the same cursor twice")
        cursors.add(cursor)
    raise UnusableToolList(f"the tool list does not end after {MAX_PAGES} pages")


def build_tools(connection: Connection, listed_tools: Sequence[ListedTool]) -> tuple[Tool, ...]:
    """The usable tools, sorted by name. A tool that cannot be used is logged with the reason and left out."""
    counts = Counter(tool.name for tool in listed_tools)
    usable = []
    for tool in sorted(listed_tools, key=lambda tool: tool.name):
        reason = f"published {counts[tool.name]} times" if counts[tool.name] > 1 else _find_tool_fault(tool)
        if reason:
            log.warning("tool_dropped", connection=connection.id, tool=tool.name[:LONGEST_NAME], reason=reason)
        else:
            usable.append(_build_tool(connection, tool))
    return tuple(usable)


class ClassifiedToolList:
    """One server's tool list, as classified tools for each connection. Equal connections get the same tool objects."""

    def __init__(self, listed_tools: Sequence[ListedTool]) -> None:
        self.listed = listed_tools
        self._compiled: list[tuple[Connection, tuple[Tool, ...]]] = []

    def list_tools(self, connection: Connection) -> tuple[Tool, ...]:
        for owner, tools in self._compiled:
            if owner is connection or owner == connection:
                return tools
        tools = build_tools(connection, self.listed)
        self._compiled = [(connection, tools), *self._compiled[: _MOST_CONNECTIONS - 1]]
        return tools


def convert_to_tool_answer(tool: str, result: CallToolResult) -> ToolAnswer:
    """The result as exact JSON: its texts if JSON, else structured content, else plain text. Raises ``ToolSilent``."""
    if result.result_type != "complete":
        raise ToolSilent(f"{tool}: the server asks for further input, which is not supported")
    texts = [_get_block_text(block) for block in result.content]
    try:
        return ToolAnswer(_read_content(texts, result), result.is_error)
    except ValueError as error:
        raise ToolSilent(f"{tool}: the answer cannot be used: {error}") from error


def summarize_error(error: Exception) -> str:
    """The first fault of an error in one line, without any value that the server sent."""
    if isinstance(error, ValidationError):
        return describe_first_error(error)
    return str(error) or type(error).__name__


def _read_content(texts: Sequence[str], result: CallToolResult) -> Json:
    documents = _parse_json_texts(texts)
    if documents:
        return documents[0] if len(documents) == 1 else documents
    if result.structured_content is not None:
        return loads(json.dumps(result.structured_content))
    return "\n".join(texts) if texts else None


def _parse_json_texts(texts: Sequence[str]) -> list[Json]:
    try:
        return [loads(text) for text in texts]
    except (ValueError, RecursionError):
        return []


def _get_block_text(block: object) -> str:
    match block:
        case TextContent():
            return block.text
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return resource.text
        case _:
            return f"[{getattr(block, 'type', 'unknown')} content, not shown]"


def _find_tool_fault(tool: ListedTool) -> str | None:
    if not tool.name.strip() or len(tool.name) > LONGEST_NAME:
        return f"its name is empty or longer than {LONGEST_NAME} characters"
    if tool.input_schema.get("type") != "object":
        return "its input schema is not that of an object"
    return _find_fault_in_schema(json.dumps(tool.input_schema))


@cached_by_text(4_000_000)  # lists come again with every task, and a check takes a millisecond
def _find_fault_in_schema(schema_json: str) -> str | None:
    schema = json.loads(schema_json)
    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        return f"its input schema is not valid: {error.message}"
    return None


def _build_tool(connection: Connection, tool: ListedTool) -> Tool:
    entry = connection.catalogue.get(tool.name) or _read_declared_proof(tool)
    hints = tool.annotations
    annotations = ToolAnnotations(hints.read_only_hint, hints.destructive_hint) if hints else None
    is_own = not connection.from_request
    classification = classify_tool(tool.name, annotations, entry, is_own=is_own)
    return Tool(
        connection_id=connection.id,
        name=tool.name,
        description=tool.description or "",
        input_schema=loads_object(json.dumps(tool.input_schema)),
        tool_class=classification.tool_class,
        why_class=classification.reason,
        catalogue=entry,
    )


def _read_declared_proof(tool: ListedTool) -> CatalogueEntry:
    """The read tool that the server declares as the proof of a write, and the value that it then shows.

    A server never declares its tool's class.

    A read's answer rests on the server's word anyway, so the choice of the read may rest on it too.
    """
    proof = (tool.meta or {}).get(PROOF_KEY)
    if not isinstance(proof, dict) or not isinstance(proof.get("read_back"), str):
        return CatalogueEntry()
    expect = proof.get("expect")
    try:
        return CatalogueEntry(read_back=proof["read_back"], expect=expect if isinstance(expect, dict) else {})
    except ValidationError:
        return CatalogueEntry()
