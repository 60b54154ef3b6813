"""What a task's tool servers offer, and tools that its text names although no server lists them."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from services.executor.core.dossier.endings import Failed
from services.executor.core.session.journal import Journal
from services.executor.core.session.side_by_side import side_by_side
from services.executor.core.tools import classes as verbs
from services.executor.core.tools.classes import classify
from services.executor.core.tools.near_names import words_of
from services.executor.ports.tools import Tool, ToolServers, ToolSilent, ToolUnreachable
from shared.contracts.task import TaskRecord
from shared.contracts.tenant import CatalogueEntry, Connection, TenantRecord

_NAME = re.compile(r"(?<![\w./-])[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+(?![\w/-])")
_CALLED = re.compile(r"\b(?:call|run|invoke|tools?|functions?)\s+[`'\"]?$", re.IGNORECASE)
_USED = re.compile(r"\b(?:use|using)\s+[`'\"]?$", re.IGNORECASE)
_CALL = re.compile(r"[`'\"]?(?:\(|\s+(?:tool|function)\b)", re.IGNORECASE)
_FORBIDDEN = re.compile(r"\b(?:not|never|don't|without|avoid|instead of)\b[^.,;\n]{0,40}$", re.IGNORECASE)
_VERBS = verbs.READ | verbs.COMPUTE | verbs.NOTIFY | verbs.DELIVER | verbs.CHANGE
# Two words of which the second is one of these name a field sooner than a tool: ``update_date``, ``display_name``.
_FIELDS = frozenset("id ids name names date at by time number no code type status total amount count key".split())
_NO_ENTRY = CatalogueEntry()


class ServerTools(NamedTuple):
    """What one server offers this task."""

    connection: Connection
    tools: tuple[Tool, ...]


def named_tools(text: str, connection: Connection, known: Collection[str]) -> tuple[Tool, ...]:
    """The tools that the text names and nobody knows, classified by their names; a forbidden one is left out."""
    names = dict.fromkeys(name for name in _names(text) if name not in known)
    return tuple(_tool(name, connection) for name in sorted(names))


async def discover_tools(
    tools: ToolServers, tenant: TenantRecord, record: TaskRecord, journal: Journal
) -> tuple[ServerTools, ...]:
    """Each server's tools. Raises ``Failed`` if one cannot be asked; a server without tools is no failure."""
    connections = _connections(tenant, record.request.tools_endpoint)
    listed = await side_by_side(_discover(tools, connection, record.session_id) for connection in connections)
    found = [ServerTools(*pair) for pair in zip(connections, listed, strict=True)]
    for server in found:
        if not server.tools:
            journal.tell("note", connection=server.connection.id, problem="the tool server lists no tools")
    return _add_named_tools(tools, found, record.request.text, journal)


def _names(text: str) -> Iterator[str]:
    for found in _NAME.finditer(text):
        before, after = text[: found.start()], text[found.end() :]
        called = _CALLED.search(before) or _CALL.match(after)
        meant = not _is_field(found[0]) and (_begins_with_verb(found[0]) or _USED.search(before))
        if (called or meant) and not _FORBIDDEN.search(before):
            yield found[0]


def _begins_with_verb(name: str) -> bool:
    """Whether a name is an order. Words that are nouns as often are not taken for verbs."""
    return words_of(name)[0] in _VERBS


def _is_field(name: str) -> bool:
    words = words_of(name)
    return len(words) == 2 and words[1] in _FIELDS


def _tool(name: str, connection: Connection) -> Tool:
    entry = connection.catalogue.get(name, _NO_ENTRY)
    classified = classify(name, None, entry)
    return Tool(
        connection_id=connection.id,
        name=name,
        description="Named by the task; the server does not list it.",
        input_schema={"type": "object"},
        tool_class=classified.tool_class,
        why_class=classified.why,
        catalogue=entry,
    )


def _connections(tenant: TenantRecord, endpoint: str | None) -> Sequence[Connection]:
    """The tenant's tool servers, or the one that the request names."""
    if endpoint is None:
        return tenant.connections
    known = [connection for connection in tenant.connections if connection.url.rstrip("/") == endpoint.rstrip("/")]
    return known or [Connection(id="request", url=endpoint, from_request=True)]


async def _discover(tools: ToolServers, connection: Connection, session_id: str) -> tuple[Tool, ...]:
    try:
        return await tools.discover(connection, session_id)
    except (ToolUnreachable, ToolSilent) as error:
        raise Failed(
            f"the tool server {connection.id!r} at {connection.url} cannot be used: {error}", "tool_server"
        ) from error


def _add_named_tools(
    tools: ToolServers, found: Sequence[ServerTools], text: str, journal: Journal
) -> tuple[ServerTools, ...]:
    """With the tools that the task names, where exactly one server may have tools that it does not list."""
    open_ended = [server for server in found if tools.may_have_unlisted(server.connection)]
    if len(open_ended) != 1:
        return tuple(found)
    named = named_tools(text, open_ended[0].connection, _known_names(found))
    for tool in named:
        journal.tell("note", tool=tool.name, tool_class=tool.tool_class.value, why="named by the task, not listed")
    return tuple(
        server._replace(tools=(*server.tools, *named)) if server is open_ended[0] else server for server in found
    )


def _known_names(found: Sequence[ServerTools]) -> set[str]:
    """The names that mean something already: the listed tools and their arguments."""
    tools = [tool for server in found for tool in server.tools]
    arguments = [tool.input_schema.get("properties") for tool in tools]
    return {tool.name for tool in tools}.union(*(names for names in arguments if isinstance(names, dict)))
