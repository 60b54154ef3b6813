"""``python -m services.executor tools``: lists a server's tools and how the worker classifies each."""

import argparse
import asyncio
import json
import logging
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from services.executor.adapters.credentials import open_credentials
from services.executor.adapters.stored_tenants import BadTenantFile, FileTenants
from services.executor.adapters.tool_servers import open_servers
from services.executor.core.records.asked_fields import list_rule_fields_of_tool
from services.executor.core.records.field_values import find_values
from services.executor.core.records.read_backs import predict_proving_read
from services.executor.core.records.seen_records import (
    RecordReference,
    are_same_kind,
    is_kind_in_full,
    noun_of_tool,
    reference_of,
)
from services.executor.core.tools.classes import find_nouns_of_identifier, is_identifying_name, words_of_tool
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.paging import ListPage, PagingRole, find_paging_arguments
from services.executor.core.tools.record_tree import NO_RECORD_KEYS, RecordKeys
from services.executor.core.tools.toolbox import build_record_keys, find_idempotency_argument
from services.executor.ports.tools import Tool, ToolSilent, ToolUnreachable
from services.executor.settings import CredentialSettings
from shared.contracts.policy import Policy
from shared.contracts.tenant import CatalogueEntry, Connection, TenantRecord
from shared.domain.exact_json import Json, JsonObject, dumps, to_builtins, to_exact
from shared.domain.outgoing import AllowedAddresses
from shared.domain.words import ToolClass
from shared.infra.process import configure_logging
from shared.infra.starting import require_parseable_url

_PAGE_ROLES = (PagingRole.PAGE, PagingRole.OFFSET, PagingRole.CURSOR, PagingRole.AFTER, PagingRole.SIZE)
_IDEMPOTENCY_KEY_NAMES = frozenset("idempotencykey idempotencytoken idempotencyid clienttoken clientrequestid".split())
_EMPTY_PAGE = ListPage((), [], ())
_SAMPLE_ID = "x-1"


class ToolsOptions(argparse.Namespace):
    """The command's arguments. ``json``: whether the report is in JSON.

    ``tenant_file``: a tenant's record; its catalogue is used if it has a connection to ``endpoint``.
    ``write_catalogue``: the file to write the catalogue to; an existing one is replaced with ``force``.
    """

    endpoint: str
    protocol: str
    tenant_file: Path | None
    write_catalogue: Path | None
    force: bool
    json: bool


class ServerListing(NamedTuple):
    """A server's tools. ``keys`` and ``policies``: those of the given tenant record."""

    protocol: str
    may_have_unlisted: bool
    tools: Sequence[Tool]
    connection: Connection
    keys: RecordKeys = NO_RECORD_KEYS
    policies: tuple[Policy, ...] = ()


def parse_arguments(arguments: Sequence[str]) -> ToolsOptions:
    """The command line's arguments; ends the process with exit code 2 and a sentence if they are wrong."""
    parser = argparse.ArgumentParser("python -m services.executor tools", description=__doc__, allow_abbrev=False)
    endpoint_help = "URL of a tool server, MCP or REST bridge, or of an A2A agent"
    parser.add_argument("--endpoint", required=True, type=_parse_url, help=endpoint_help)
    parser.add_argument(
        "--protocol", default="auto", choices=("auto", "mcp", "rest", "a2a"), help="asked as this alone"
    )
    parser.add_argument("--tenant-file", type=Path, help="a tenant's record, whose catalogue counts")
    parser.add_argument("--write-catalogue", type=Path, help="write what was found as a connection with its catalogue")
    parser.add_argument("--force", action="store_true", help="replace the file of --write-catalogue")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return parser.parse_args(arguments, ToolsOptions())


def format_report(options: ToolsOptions, listing: ServerListing) -> str:
    return dumps(_report_as_json(options, listing)) if options.json else _report_as_text(options, listing)


def describe_tools(listing: ServerListing) -> list[JsonObject]:
    """Each tool as the worker sees it, as in ``purple tools --json``.

    ``undecided``: fields that rules need and that no record which the tool names can have.
    """
    return [_describe_tool(tool, listing) for tool in listing.tools]


def _describe_tool(tool: Tool, listing: ServerListing) -> JsonObject:
    undecided_fields: list[Json] = [*_find_fields_nothing_supplies(tool, listing)]
    records = {
        name: record for name, record in _find_records_named_by_arguments(tool, listing.keys).items() if record.is_id
    }
    return {
        "name": tool.name,
        "class": tool.tool_class.value,
        "why": tool.why_class,
        "read_back": _describe_read_back(tool, listing.tools),
        "records": {name: " ".join(record.noun) for name, record in records.items()},
        "undecided": undecided_fields,
        "pages": _describe_page_arguments(tool),
        "idempotency_field": find_idempotency_argument(tool),
        "key_offered": _guess_idempotency_argument(tool),
        "errors_change_nothing": tool.catalogue.errors_change_nothing,
        "description": tool.description,
    }


def _find_records_named_by_arguments(tool: Tool, keys: RecordKeys) -> dict[str, RecordReference]:
    """The record that each argument may name, by the argument's name."""
    records: dict[str, RecordReference] = {}
    for name in tool.parameters:
        record = reference_of(name, _SAMPLE_ID, noun_of_tool(tool.name, keys), keys)
        if record and (record.must_exist or (record.is_id and is_identifying_name(name))):
            records[name] = record
    return records


def _find_fields_nothing_supplies(tool: Tool, listing: ServerListing) -> Iterator[str]:
    """Yields the fields that rules need for a write, and that neither its arguments nor the server's reads give."""
    if tool.tool_class not in (ToolClass.CHANGE, ToolClass.NOTIFY):
        return
    records = [*_find_records_named_by_arguments(tool, listing.keys).values()]
    if any(_is_shown_by_some_read(record, listing) for record in records):
        return
    argument_names = [(name, None) for name in tool.parameters]
    nouns = [record.noun for record in records]
    context_names = {name for policy in listing.policies for name in policy.context}
    for name, is_about_tool in list_rule_fields_of_tool(tool.name, listing.policies).items():
        if is_about_tool and name not in context_names and not find_values(name, argument_names, nouns):
            yield name


def _is_shown_by_some_read(reference: RecordReference, listing: ServerListing) -> bool:
    """Whether some read of the server may show the record. For an id without a declared kind, any read may."""
    readers = [tool.name for tool in listing.tools if tool.tool_class is ToolClass.READ]
    kinds = [kind for name in readers for kind in (noun_of_tool(name, listing.keys), listing.keys.kind_shown_by(name))]
    if reference.key:
        return any(is_kind_in_full(kind, reference.noun) for kind in kinds)
    return (reference.is_id and bool(readers)) or any(are_same_kind(kind, reference.noun) for kind in kinds)


def _describe_read_back(tool: Tool, tools: Sequence[Tool]) -> Json:
    """The read that proves a write, as ``{tool, why, usable}`` (a catalogue's read may be unusable), or None."""
    read_back = predict_proving_read(tool, tools)
    named_read = tool.catalogue.read_back if tool.tool_class is ToolClass.CHANGE else None
    if named_read and not (read_back and read_back.by_operator):
        reason = "the operator's catalogue names it, but it is no read that can be asked for this"
        return {"tool": named_read, "why": reason, "usable": False}
    if read_back is None:
        return None
    if not read_back.by_operator and _lists_other_kind(tool, read_back.reader, tools):
        reason = f"{read_back.why}; it may not show what this makes"
        return {"tool": read_back.reader, "why": reason, "usable": True, "guess": True}
    return {"tool": read_back.reader, "why": read_back.why, "usable": True}


def _lists_other_kind(tool: Tool, reader: str, tools: Sequence[Tool]) -> bool:
    """Whether the read lists another kind of thing than the write makes, such as ``list_parts`` for ``order_part``."""
    words, reader_words = words_of_tool(tool.name), words_of_tool(reader)
    reader_arguments = next((other.parameters for other in tools if other.name == reader), {})
    shares_argument = not set(reader_arguments).isdisjoint(tool.parameters)
    if not words.may_make_record or words.verb_makes(reader_words.nouns) or shares_argument:
        return False
    nouns = [find_nouns_of_identifier(name, words.nouns) for name in tool.parameters if is_identifying_name(name)]
    return reader_words.head != words.head or any(words.head in noun for noun in nouns)


def _describe_page_arguments(tool: Tool) -> str | None:
    """The arguments that select a page of a list, as text; None if the tool has none."""
    paging = find_paging_arguments(tool, {}, _EMPTY_PAGE)
    names = [paging.names[word] for word in _PAGE_ROLES if word in paging.names]
    return ", ".join(names) if paging.has_position else None


def _guess_idempotency_argument(tool: Tool) -> str | None:
    """A write's argument that may by its name take our idempotency key, or None. Used only if the catalogue says so."""
    if tool.tool_class not in (ToolClass.CHANGE, ToolClass.NOTIFY):
        return None
    return next((name for name in tool.parameters if "".join(words_of(name)) in _IDEMPOTENCY_KEY_NAMES), None)


def _report_as_json(options: ToolsOptions, listing: ServerListing) -> JsonObject:
    tools: list[Json] = [*describe_tools(listing)]
    catalogue = {"catalogue": str(options.write_catalogue)} if options.write_catalogue else {}
    server: JsonObject = {"endpoint": options.endpoint, "protocol": listing.protocol}
    return {**server, "may_have_unlisted": listing.may_have_unlisted, "tools": tools, **catalogue}


def _report_as_text(options: ToolsOptions, listing: ServerListing) -> str:
    counts = Counter(tool.tool_class.value for tool in listing.tools)
    classes = ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"
    lines = [f"{tool.tool_class.value:<8} {tool.name}: {tool.why_class}" for tool in listing.tools]
    return "\n".join([f"{options.endpoint} speaks {listing.protocol}: {len(listing.tools)} tools ({classes})", *lines])


def _parse_url(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"{text!r} is no URL: it begins with http:// or https://")
    try:
        require_parseable_url(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


class CatalogueExists(Exception):
    """The catalogue file exists, perhaps with corrections; the message says how to replace it."""


def _refuse_overwriting(file: Path, may_overwrite: bool) -> None:
    """Raises ``CatalogueExists`` if the file exists, unless ``may_overwrite``."""
    if file.exists() and not may_overwrite:
        raise CatalogueExists(f"{file} exists and may hold corrections: give another name, or --force to replace it")


def write_catalogue_file(file: Path, listing: ServerListing, may_overwrite: bool) -> None:
    """Writes the catalogue atomically. Raises ``CatalogueExists`` or ``OSError``."""
    _refuse_overwriting(file, may_overwrite)
    new_file = file.with_name(f".{file.name}.new")
    new_file.write_text(
        json.dumps(to_builtins(build_catalogue_document(listing)), indent=2, ensure_ascii=False) + "\n", "utf-8"
    )
    new_file.replace(file)


def build_catalogue_document(listing: ServerListing) -> JsonObject:
    """The connection with its catalogue; what the operator already stated in it is unchanged.

    ``found`` in an entry only informs the reader. A class stays null unless the operator gave one, so that a server's
    later statement can still raise it. So does an idempotency field, since only the operator knows whether the server
    honours it.
    """
    connection = listing.connection
    tools = {str(tool["name"]): tool for tool in describe_tools(listing)}
    entries = {
        name: _build_catalogue_entry(connection, name, tools.get(name, {}))
        for name in sorted({*tools, *connection.catalogue})
    }
    head = {"id": connection.id, "url": connection.url, "protocol": connection.protocol}
    stated = connection.model_dump(mode="json", include={"credential", "traceparent"}, exclude_defaults=True)
    return {**head, **stated, "catalogue": {**entries}}


def _build_catalogue_entry(connection: Connection, name: str, fields: Mapping[str, object]) -> JsonObject:
    entry = connection.catalogue.get(name, CatalogueEntry())
    fields_stated = (field for field in ("class", "why", "pages", "key_offered") if fields.get(field))
    notes: JsonObject = {field: str(fields[field]) for field in fields_stated}
    proposal = fields.get("read_back")
    read_back = proposal if isinstance(proposal, dict) else {}
    if read_back.get("guess"):
        notes["read_back_guess"] = f"{read_back['tool']}: {read_back['why']}"
    read_back_name = None if read_back.get("guess") else read_back.get("tool")
    return {
        "tool_class": entry.tool_class.value if entry.tool_class else None,
        "read_back": read_back_name if entry.read_back is None else entry.read_back,
        **({"expect": to_exact(entry.expect)} if entry.expect else {}),
        "idempotency_field": entry.idempotency_field,
        "compensated_by": entry.compensated_by,
        "errors_change_nothing": entry.errors_change_nothing,
        "found": notes or "not listed by the server",
    }


def show_tools(arguments: Sequence[str]) -> int:
    """Prints an endpoint's tools as the worker sees them; returns the exit code. Needs no Redis, model or settings."""
    options = parse_arguments(arguments)
    configure_logging("executor-tools", logging.CRITICAL)  # what went wrong is said in one sentence
    file = options.write_catalogue
    try:
        if file:
            _refuse_overwriting(file, options.force)
        listing = asyncio.run(_discover_tools(options))
        if file:
            write_catalogue_file(file, listing, options.force)
    except (BadTenantFile, CatalogueExists) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"The catalogue cannot be written to {file}: {error}\n")
        return 2
    except (ToolUnreachable, ToolSilent) as error:
        sys.stderr.write(f"No tools could be listed at {options.endpoint}: {error}\n")
        return 1
    sys.stdout.write(format_report(options, listing) + "\n")
    return 0


async def _discover_tools(options: ToolsOptions) -> ServerListing:
    tenant = FileTenants.read_file(options.tenant_file).record if options.tenant_file else TenantRecord(id="default")
    connection = _find_connection(options, tenant)
    async with (
        open_credentials(CredentialSettings().credentials_dir) as credentials,
        open_servers(AllowedAddresses(), credentials) as servers,
    ):
        tools = await servers.discover(connection)
        protocol = servers.find_protocol(connection)
        is_open = servers.may_have_unlisted_tools(connection)
        keys = build_record_keys(tenant.records, {tool.name: tool for tool in tools})
        return ServerListing(protocol, is_open, tools, connection, keys, tenant.policies)


def _find_connection(options: ToolsOptions, tenant: TenantRecord) -> Connection:
    """The connection to the endpoint from a tenant's record, with its catalogue; else a bare one to the endpoint."""
    fallback = Connection.model_validate({"id": "default", "url": options.endpoint, "protocol": options.protocol})
    endpoint = options.endpoint.rstrip("/")
    known_connections = (connection for connection in tenant.connections if connection.url.rstrip("/") == endpoint)
    return next(known_connections, fallback)
