"""``python -m services.executor tools``: lists a server's tools and how the worker classifies each."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from services.executor.core.records.asked_fields import fields_asked_of
from services.executor.core.records.field_values import find_values
from services.executor.core.records.read_backs import predict_proving_read
from services.executor.core.records.seen_records import (
    RecordReference,
    are_same_kind,
    is_of_kind,
    noun_of_tool,
    reference_of,
)
from services.executor.core.tools.classes import is_identifying_name, nouns_of_identifier, words_of_tool
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.paging import ListPage, PagingRole, find_paging_arguments
from services.executor.core.tools.record_tree import NO_KEYS, RecordKeys
from services.executor.core.tools.toolbox import key_argument
from services.executor.ports.tools import Tool
from shared.contracts.policy import Policy
from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import ToolClass

_IN_PARTS = (PagingRole.PAGE, PagingRole.OFFSET, PagingRole.CURSOR, PagingRole.AFTER, PagingRole.SIZE)
_KEYS = frozenset("idempotencykey idempotencytoken idempotencyid clienttoken clientrequestid".split())
_NOTHING = ListPage((), [], ())
_LIKE_AN_ID = "x-1"


class WantedTools(NamedTuple):
    """The command's arguments. ``tenant_file``: the record whose catalogue is used, if it has a connection to this
    endpoint.

    ``write_catalogue``: the file to write the catalogue to; an existing one is replaced only with ``force``.
    """

    endpoint: str
    protocol: str
    tenant_file: Path | None
    as_json: bool
    write_catalogue: Path | None = None
    force: bool = False


class ServerListing(NamedTuple):
    """A server's tools. ``keys`` and ``policies``: those of the given tenant record."""

    protocol: str
    may_have_unlisted: bool
    tools: Sequence[Tool]
    connection: Connection
    keys: RecordKeys = NO_KEYS
    policies: tuple[Policy, ...] = ()


def parse_arguments(arguments: Sequence[str]) -> WantedTools:
    """The command line's arguments; ends the process with exit code 2 and a sentence if they are wrong."""
    parser = argparse.ArgumentParser("python -m services.executor tools", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--endpoint",
        required=True,
        type=_parse_url,
        help="URL of a tool server, MCP or REST bridge, or of an A2A agent",
    )
    parser.add_argument(
        "--protocol", default="auto", choices=("auto", "mcp", "rest", "a2a"), help="asked as this alone"
    )
    parser.add_argument("--tenant-file", type=Path, help="a tenant's record, whose catalogue counts")
    parser.add_argument("--write-catalogue", type=Path, help="write what was found as a connection with its catalogue")
    parser.add_argument("--force", action="store_true", help="replace the file of --write-catalogue")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args(arguments)
    file, force = given.write_catalogue, given.force
    return WantedTools(given.endpoint, given.protocol, given.tenant_file, given.json, file, force)


def format_report(wanted: WantedTools, found: ServerListing) -> str:
    return dumps(_report_as_json(wanted, found)) if wanted.as_json else _report_as_text(wanted, found)


def describe_tools(found: ServerListing) -> list[JsonObject]:
    """Each tool as the worker sees it: class, proof of writes, named records, page arguments and key argument, None
    where it has none. ``undecided``: fields that rules need and that no record it names can have.
    """
    return [_describe_tool(tool, found) for tool in found.tools]


def _describe_tool(tool: Tool, found: ServerListing) -> JsonObject:
    undecided: list[Json] = [*_find_undecidable_fields(tool, found)]
    return {
        "name": tool.name,
        "class": tool.tool_class.value,
        "why": tool.why_class,
        "read_back": _describe_read_back(tool, found.tools),
        "records": {
            name: " ".join(one.noun) for name, one in _find_named_records(tool, found.keys).items() if one.is_id
        },
        "undecided": undecided,
        "pages": _list_page_arguments(tool),
        "idempotency_field": key_argument(tool),
        "key_offered": _find_key_argument(tool),
        "errors_change_nothing": tool.catalogue.errors_change_nothing,
        "description": tool.description,
    }


def _find_named_records(tool: Tool, keys: RecordKeys) -> dict[str, RecordReference]:
    """By argument, which records it may name."""
    about = noun_of_tool(tool.name, keys)
    named = ((name, reference_of(name, _LIKE_AN_ID, about, keys)) for name in tool.parameters)
    return {name: one for name, one in named if one and (one.must_exist or (one.is_id and is_identifying_name(name)))}


def _find_undecidable_fields(tool: Tool, found: ServerListing) -> Iterator[str]:
    """Yields the fields that rules need for a write, if the write has no such argument, and no read of its server shows
    a record that it names.
    """
    if tool.tool_class not in (ToolClass.CHANGE, ToolClass.NOTIFY):
        return
    named = [*_find_named_records(tool, found.keys).values()]
    if any(_may_some_read_show(one, found) for one in named):
        return
    given, kinds = [(name, None) for name in tool.parameters], [one.noun for one in named]
    told = {name for policy in found.policies for name in policy.context}
    for name, is_about_tool in fields_asked_of(tool.name, found.policies).items():
        if is_about_tool and name not in told and not find_values(name, given, kinds):
            yield name


def _may_some_read_show(reference: RecordReference, found: ServerListing) -> bool:
    """Whether some read of the server may show the record. For an id without a declared kind, any read may."""
    readers = [one.name for one in found.tools if one.tool_class is ToolClass.READ]
    shown = [kind for name in readers for kind in (noun_of_tool(name, found.keys), found.keys.kind_shown_by(name))]
    if reference.key:
        return any(is_of_kind(kind, reference.noun) for kind in shown)
    return reference.is_id or any(are_same_kind(kind, reference.noun) for kind in shown)


def _describe_read_back(tool: Tool, tools: Sequence[Tool]) -> Json:
    """The read that proves a write; if the catalogue names an unusable one, the reason."""
    found = predict_proving_read(tool, tools)
    named = tool.catalogue.read_back if tool.tool_class is ToolClass.CHANGE else None
    if named and not (found and found.by_operator):
        why = "the operator's catalogue names it, but it is no read that can be asked for this"
        return {"tool": named, "why": why, "usable": False}
    if found is None:
        return None
    if not found.by_operator and _lists_other_kind(tool, found.reader, tools):
        return {
            "tool": found.reader,
            "why": f"{found.why}; it may not show what this makes",
            "usable": True,
            "guess": True,
        }
    return {"tool": found.reader, "why": found.why, "usable": True}


def _lists_other_kind(tool: Tool, reader: str, tools: Sequence[Tool]) -> bool:
    """Whether the read lists another kind of thing than the write makes, such as ``list_parts`` for ``order_part``."""
    words, shown = words_of_tool(tool.name), words_of_tool(reader)
    takes = next((one.parameters for one in tools if one.name == reader), {})
    if not words.may_make_record or words.makes_by_verb(shown.nouns) or not set(takes).isdisjoint(tool.parameters):
        return False
    about = [nouns_of_identifier(name, words.nouns) for name in tool.parameters if is_identifying_name(name)]
    return shown.head != words.head or any(words.head in noun for noun in about)


def _list_page_arguments(tool: Tool) -> str | None:
    """The arguments that select a page of a list, as text; None if the tool has none."""
    paging = find_paging_arguments(tool, {}, _NOTHING)
    names = [paging.names[word] for word in _IN_PARTS if word in paging.names]
    return ", ".join(names) if paging.has_position else None


def _find_key_argument(tool: Tool) -> str | None:
    """An argument that by its name may take our idempotency key. It is used only if the catalogue says so."""
    changes = tool.tool_class in (ToolClass.CHANGE, ToolClass.NOTIFY)
    return next((name for name in tool.parameters if changes and "".join(words_of(name)) in _KEYS), None)


def _report_as_json(wanted: WantedTools, found: ServerListing) -> JsonObject:
    tools: list[Json] = [*describe_tools(found)]
    written = {"catalogue": str(wanted.write_catalogue)} if wanted.write_catalogue else {}
    return {
        "endpoint": wanted.endpoint,
        "protocol": found.protocol,
        "may_have_unlisted": found.may_have_unlisted,
        "tools": tools,
        **written,
    }


def _report_as_text(wanted: WantedTools, found: ServerListing) -> str:
    counted = Counter(tool.tool_class.value for tool in found.tools)
    kinds = ", ".join(f"{count} {name}" for name, count in sorted(counted.items())) or "none"
    lines = [f"{tool.tool_class.value:<8} {tool.name}: {tool.why_class}" for tool in found.tools]
    return "\n".join([f"{wanted.endpoint} speaks {found.protocol}: {len(found.tools)} tools ({kinds})", *lines])


def _parse_url(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"{text!r} is no URL: it begins with http:// or https://")
    return text


_NO_ENTRY = CatalogueEntry()


class CatalogueExists(Exception):
    """The catalogue file exists, perhaps with corrections; the message says how to replace it."""


def refuse_overwriting(file: Path, force: bool) -> None:
    """Raises ``CatalogueExists`` if the file exists, unless ``force``."""
    if file.exists() and not force:
        raise CatalogueExists(f"{file} exists and may hold corrections: give another name, or --force to replace it")


def write_catalogue_file(file: Path, found: ServerListing, force: bool) -> None:
    """Writes the catalogue atomically. Raises ``CatalogueExists`` or ``OSError``."""
    refuse_overwriting(file, force)
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(json.dumps(catalogue_document(found), indent=2, ensure_ascii=False) + "\n", "utf-8")
    beside.replace(file)


def catalogue_document(found: ServerListing) -> JsonObject:
    """The connection with its catalogue; entries that the operator already had are unchanged.

    ``found`` in an entry only informs the reader. A class stays null unless the operator gave one, so that a server's
    later statement can still raise it. So does an idempotency field, since only the operator knows whether the server
    honours it.
    """
    connection = found.connection
    told = {str(tool["name"]): tool for tool in describe_tools(found)}
    entries = {
        name: _build_entry(connection, name, told.get(name, {})) for name in sorted({*told, *connection.catalogue})
    }
    named = {"id": connection.id, "url": connection.url, "protocol": connection.protocol}
    return {**named, "catalogue": {**entries}}


def _build_entry(connection: Connection, name: str, fields: Mapping[str, object]) -> JsonObject:
    entry = connection.catalogue.get(name, _NO_ENTRY)
    found: JsonObject = {key: str(fields[key]) for key in ("class", "why", "pages", "key_offered") if fields.get(key)}
    proposed = fields.get("read_back")
    read_back = proposed if isinstance(proposed, dict) else {}
    if read_back.get("guess"):
        found["read_back_guess"] = f"{read_back['tool']}: {read_back['why']}"
    likely = None if read_back.get("guess") else read_back.get("tool")
    return {
        "tool_class": entry.tool_class.value if entry.tool_class else None,
        "read_back": likely if entry.read_back is None else entry.read_back,
        "idempotency_field": entry.idempotency_field,
        "compensated_by": entry.compensated_by,
        "errors_change_nothing": entry.errors_change_nothing,
        "found": found or "not listed by the server",
    }
