"""A catalogue in a file: a connection as a tenant's record takes it, with an entry for each tool to be corrected."""

import json
from collections.abc import Mapping
from pathlib import Path

from services.executor.entrypoints.tools import ServerListing, describe_tools
from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain.exact_json import JsonObject

_NO_ENTRY = CatalogueEntry()


class CatalogueExists(Exception):
    """There is such a file already, perhaps with somebody's corrections; the message says how to replace it."""


def refuse_overwriting(file: Path, force: bool) -> None:
    """Raises ``CatalogueExists``."""
    if file.exists() and not force:
        raise CatalogueExists(f"{file} exists and may hold corrections: give another name, or --force to replace it")


def write(file: Path, found: ServerListing, force: bool) -> None:
    """Raises ``CatalogueExists`` or ``OSError``; a file that is there stays as it was until the new one is whole."""
    refuse_overwriting(file, force)
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(json.dumps(document(found), indent=2, ensure_ascii=False) + "\n", "utf-8")
    beside.replace(file)


def document(found: ServerListing) -> JsonObject:
    """The connection; an entry that the operator already had stands as it is.

    ``found`` in an entry is for the reader and decides nothing. A class stays null unless the operator gave one: what
    a server says of its tool later on can then still raise it. So does an idempotency field: only the operator knows
    that a server honours it.
    """
    connection = found.connection
    told = {str(tool["name"]): tool for tool in describe_tools(found)}
    entries = {name: _entry(connection, name, told.get(name, {})) for name in sorted({*told, *connection.catalogue})}
    named = {"id": connection.id, "url": connection.url, "protocol": connection.protocol}
    return {**named, "catalogue": {**entries}}


def _entry(connection: Connection, name: str, told: Mapping[str, object]) -> JsonObject:
    known = connection.catalogue.get(name, _NO_ENTRY)
    found: JsonObject = {key: str(told[key]) for key in ("class", "why", "pages", "key_offered") if told.get(key)}
    return {
        "tool_class": known.tool_class.value if known.tool_class else None,
        "read_back": known.read_back or _proposed_tool(told.get("read_back")),
        "idempotency_field": known.idempotency_field,
        "compensated_by": known.compensated_by,
        "errors_change_nothing": known.errors_change_nothing,
        "found": found or "not listed by the server",
    }


def _proposed_tool(read_back: object) -> str | None:
    return str(read_back["tool"]) if isinstance(read_back, dict) else None
