"""Our key in a call: a server that honours it applies the call once, however often it comes (I3)."""

from services.executor.ports.tools import Tool
from shared.contracts.ledger import LedgerEntry
from shared.domain.exact_json import JsonObject, loads_object

MOST_SENDINGS = 3  # of one write, the first included; then a person is asked


def key_field(tool: Tool) -> str | None:
    """The argument in which the server takes our key: the operator's catalogue names it, and the tool has it."""
    name = tool.catalogue.idempotency_field
    properties = tool.input_schema.get("properties")
    return name if name and isinstance(properties, dict) and name in properties else None


def as_sent(entry: LedgerEntry) -> JsonObject:
    """The arguments as they go out: the planned ones, and our key beside them."""
    arguments = loads_object(entry.arguments_json)
    return {**arguments, entry.idempotency_field: entry.key} if entry.idempotency_field else arguments
