"""Asks tool servers and the policy service, and records in the journal what a replay is to be told in their place.

The answers of calls, of allowances and of prose checks are recorded by their callers, as steps of the journal.
"""

import json
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from typing import cast

from services.executor.core.session.journal import Journal, get_current_step_key
from services.executor.core.states.machine import END_STATES
from services.executor.ports.services import PolicyService, PolicyUnavailable
from services.executor.ports.tools import Tool, ToolServers, ToolSilent, ToolUnreachable
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain import span_names as names
from shared.domain.exact_json import JsonObject, digest, dumps, loads_object
from shared.domain.identity_cache import IdentityCache
from shared.domain.words import ToolClass
from shared.ports.tracing import SpanKind, Tracer

_PACKED_PREFIX = "z:"
# A listing comes with each task.
_cached_packed_listings = IdentityCache[tuple[Tool, ...], dict[bool, str]](lambda _: {}, 256)


async def request_recorded_verdict(policy: PolicyService, journal: Journal, request: EvaluateRequest) -> Verdict:
    """The policy service's verdict; raises ``PolicyUnavailable``. Both are recorded."""
    text = request.to_json()
    name = build_policy_input_name(text, journal.policy_counts)
    try:
        verdict = await policy.evaluate(request)
    except PolicyUnavailable as error:
        journal.record_input(name, dumps({"unavailable": str(error)}))
        raise
    request_field = (
        f'"request":{text},' if request.binding else ""
    )  # so that a changed policy can be tried on it (backtest)
    verdict_json = verdict.to_json()
    shared = (request.encode_policies(),) if request.binding else ()
    if not request.binding and verdict.text is None:  # what is foreseen then is the same for many tasks
        shared = (verdict_json.rpartition(verdict.context_hash)[2],)
    journal.record_input(name, f'{{{request_field}"verdict":{verdict_json}}}', shared)
    return verdict


def build_policy_input_name(request: str, request_counts: Counter[str]) -> str:
    """The name under which a verdict is recorded. ``request_counts`` numbers equal requests of a run.

    Requests inside a journal step are numbered separately, because a replay takes the step's result and does not ask.
    """
    step = get_current_step_key()
    content_key = f"{digest(request)[:32]}{f':{step}' if step else ''}"
    request_counts[content_key] += 1
    return f"policy:{content_key}:{request_counts[content_key]}"


def parse_verdict(text: str) -> Verdict:
    """Parses a recorded verdict; raises ``PolicyUnavailable`` if there was none."""
    recorded = loads_object(text)
    if "unavailable" in recorded:
        raise PolicyUnavailable(str(recorded["unavailable"]))
    return Verdict.from_json(dumps(recorded["verdict"]))


async def list_and_record_tools(
    servers: ToolServers, journal: Journal, tracer: Tracer, connection: Connection, session_id: str
) -> tuple[Tool, ...]:
    """The server's tools, which are recorded.

    Raises ``ToolUnreachable`` or ``ToolSilent``, recorded as well. A run that has reached its last state calls no tool
    any more: it gets the recorded tools, if there are any.
    """
    name = build_tools_input_name(connection)
    is_over = journal.progress is not None and journal.progress.state in END_STATES
    if is_over and (recorded := read_recorded_tools(journal.find_last_input(name), connection)):
        return recorded
    try:
        with tracer.open_span(names.LIST_TOOLS, SpanKind.CLIENT) as span:
            span.annotate({names.CONNECTION: connection.id})
            tools = await servers.discover(connection, session_id)
    except (ToolUnreachable, ToolSilent) as error:
        journal.record_input(name, _format_failure(error))
        raise
    listings = _cached_packed_listings(tools)
    if (unlisted := servers.may_have_unlisted_tools(connection)) not in listings:
        listings[unlisted] = _pack_object({"tools": [_format_tool(tool) for tool in tools], "unlisted": unlisted})
    journal.record_input(name, listings[unlisted], (listings[unlisted],))
    return tools


def record_call_failure(
    journal: Journal, connection: Connection, tool: str, arguments: JsonObject, error: ToolUnreachable | ToolSilent
) -> None:
    """Records that a call to a tool server got no answer."""
    journal.record_input(build_call_input_name(connection, tool, arguments), _format_failure(error))


def read_recorded_tools(recorded: str | None, connection: Connection) -> tuple[Tool, ...]:
    """The recorded tools of the connection; empty if none were recorded or the server did not answer."""
    try:
        return parse_tools(recorded, connection)[0] if recorded else ()
    except (ToolUnreachable, ToolSilent):
        return ()


def build_tools_input_name(connection: Connection) -> str:
    return f"tools:{connection.id}"


def build_call_input_name(connection: Connection, tool: str, arguments: JsonObject) -> str:
    return f"call:{digest([connection.id, tool, arguments])[:32]}"


def parse_tools(text: str, connection: Connection) -> tuple[tuple[Tool, ...], bool]:
    """The recorded tools, and whether the server may have others; raises the error that was recorded in their place."""
    recorded = _unpack_object(text)
    raise_recorded_failure(recorded)
    listed = cast("list[JsonObject]", recorded["tools"])
    return tuple(_parse_recorded_tool(tool, connection.id) for tool in listed), bool(recorded["unlisted"])


def raise_recorded_failure(recorded: JsonObject) -> None:
    """Raises the ``ToolUnreachable`` or ``ToolSilent`` that was recorded in place of an answer, if one was."""
    if "unreachable" in recorded:
        raise ToolUnreachable(str(recorded["unreachable"]))
    if "silent" in recorded:
        raise ToolSilent(str(recorded["silent"]))


def _pack_object(value: JsonObject) -> str:
    """An object as compressed text, a fifth of its size."""
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    except TypeError:  # a Decimal among them
        text = dumps(value)
    return _PACKED_PREFIX + b64encode(zlib.compress(text.encode(), level=1)).decode()


def _unpack_object(text: str) -> JsonObject:
    if not text.startswith(_PACKED_PREFIX):
        return loads_object(text)
    return loads_object(zlib.decompress(b64decode(text.removeprefix(_PACKED_PREFIX))))


def _format_failure(error: ToolUnreachable | ToolSilent) -> str:
    return dumps({"unreachable" if isinstance(error, ToolUnreachable) else "silent": str(error)})


def _format_tool(tool: Tool) -> JsonObject:
    return {
        "name": tool.name,
        "description": tool.description,
        "schema": tool.input_schema,
        "class": tool.tool_class.value,
        "why": tool.why_class,
        "catalogue": loads_object(tool.catalogue.model_dump_json()),
        **({"skill": True} if tool.is_skill else {}),
    }


def _parse_recorded_tool(recorded: JsonObject, connection_id: str) -> Tool:
    return Tool(
        connection_id=connection_id,
        name=str(recorded["name"]),
        description=str(recorded["description"]),
        input_schema=cast(JsonObject, recorded["schema"]),
        tool_class=ToolClass(str(recorded["class"])),
        why_class=str(recorded["why"]),
        catalogue=CatalogueEntry.model_validate_json(dumps(recorded["catalogue"])),
        is_skill=recorded.get("skill") is True,
    )
