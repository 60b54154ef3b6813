"""``python -m services.executor tools``: what discovery finds at an endpoint, and each tool's class with its reason."""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject, dumps


class Wanted(NamedTuple):
    """``tenant_file``: the record whose catalogue counts, if it has a connection to this endpoint."""

    endpoint: str
    protocol: str
    tenant_file: Path | None
    as_json: bool


class Discovered(NamedTuple):
    protocol: str
    may_have_unlisted: bool
    tools: Sequence[Tool]


def parsed(arguments: Sequence[str]) -> Wanted:
    """Ends the process with exit code 2 and a sentence if they are wrong."""
    parser = argparse.ArgumentParser("python -m services.executor tools", description=__doc__, allow_abbrev=False)
    parser.add_argument("--endpoint", required=True, type=_url, help="URL of a tool server, MCP or REST bridge")
    parser.add_argument("--protocol", default="auto", choices=("auto", "mcp", "rest"), help="asked as this alone")
    parser.add_argument("--tenant-file", type=Path, help="a tenant's record, whose catalogue can lower a class")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args(arguments)
    return Wanted(given.endpoint, given.protocol, given.tenant_file, given.json)


def shown(wanted: Wanted, found: Discovered) -> str:
    return dumps(_as_json(wanted, found)) if wanted.as_json else _as_text(wanted, found)


def _as_json(wanted: Wanted, found: Discovered) -> JsonObject:
    tools: list[Json] = [
        {"name": tool.name, "class": tool.tool_class.value, "why": tool.why_class, "description": tool.description}
        for tool in found.tools
    ]
    return {
        "endpoint": wanted.endpoint,
        "protocol": found.protocol,
        "may_have_unlisted": found.may_have_unlisted,
        "tools": tools,
    }


def _as_text(wanted: Wanted, found: Discovered) -> str:
    counted = Counter(tool.tool_class.value for tool in found.tools)
    kinds = ", ".join(f"{count} {name}" for name, count in sorted(counted.items())) or "none"
    lines = [f"{tool.tool_class.value:<8} {tool.name}: {tool.why_class}" for tool in found.tools]
    return "\n".join([f"{wanted.endpoint} speaks {found.protocol}: {len(found.tools)} tools ({kinds})", *lines])


def _url(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"{text!r} is no URL: it begins with http:// or https://")
    return text
