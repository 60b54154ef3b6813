"""``python -m services.executor connections``: what each connection of a tenant is good for, tried from here."""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from services.executor.ports.tools import Tool
from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import ToolClass


class WantedConnections(NamedTuple):
    """The connections to try. ``tenant_file``: instead of the stored record, and of TENANT_FILE; ``only``: the id of a
    single one.
    """

    tenant: str
    tenant_file: Path | None
    only: str
    as_json: bool


class ConnectionTrial(NamedTuple):
    """What trying a connection showed. ``credential`` and ``listing`` say what is wrong; None if nothing is."""

    connection: Connection
    credential: str | None
    listing: str | None
    protocol: str = ""
    tools: Sequence[Tool] = ()

    @property
    def is_good(self) -> bool:
        return self.credential is None and self.listing is None


def parse_arguments(arguments: Sequence[str]) -> WantedConnections:
    """The command line's arguments; ends the process with exit code 2 and a sentence if they are wrong."""
    parser = argparse.ArgumentParser("python -m services.executor connections", description=__doc__, allow_abbrev=False)
    parser.add_argument("--tenant", default="default")
    parser.add_argument("--tenant-file", type=Path, help="a record to be tried before it is stored")
    parser.add_argument("--only", default="", help="the id of one connection")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args(arguments)
    return WantedConnections(given.tenant, given.tenant_file, given.only, given.json)


def format_report(wanted: WantedConnections, source: str, tried: Sequence[ConnectionTrial]) -> str:
    """The trials as text, or as JSON if wanted. ``source``: where the record was found."""
    if not wanted.as_json:
        return "\n".join([f"tenant {wanted.tenant}, {source}: {len(tried)} connections", *map(_line, tried)])
    return dumps({"tenant": wanted.tenant, "source": source, "connections": [_row(one) for one in tried]})


def _row(one: ConnectionTrial) -> Json:
    counted = Counter(tool.tool_class.value for tool in one.tools)
    classes: JsonObject = {kind.value: counted[kind.value] for kind in ToolClass if counted[kind.value]}
    credential = one.connection.credential
    return {
        "id": one.connection.id,
        "url": one.connection.url,
        "good": one.is_good,
        "credential": f"{credential.type.value} {credential.reference}" if credential else None,
        "credential_problem": one.credential,
        "problem": one.listing,
        "protocol": one.protocol,
        "tools": len(one.tools),
        "classes": classes,
    }


def _line(one: ConnectionTrial) -> str:
    said = one.credential or one.listing or f"speaks {one.protocol}, {len(one.tools)} tools"
    return f"{'good' if one.is_good else 'BAD ':<4} {one.connection.id} {one.connection.url}: {said}"
