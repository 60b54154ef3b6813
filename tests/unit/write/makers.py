"""Small makers for the tests of writes and their proof: tools by name and arguments, facts by what was asked."""

from services.executor.core.session.values import Fact
from services.executor.ports.tools import Tool
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from tests.unit.executor_core.makers import fact, tool


def schema(*names: str) -> JsonObject:
    """The names are needed, but for those in brackets; ``order_id:integer`` says the type."""
    properties: dict[str, Json] = {}
    for name in names:
        bare, _, kind = name.strip("[]").partition(":")
        properties[bare] = {"type": kind} if kind else {}
    needed: list[Json] = [name.partition(":")[0] for name in names if not name.startswith("[")]
    return {"type": "object", "properties": properties, "required": needed}


def read(name: str, *arguments: str) -> Tool:
    return tool(name, ToolClass.READ, schema(*arguments))


def change(name: str, *arguments: str, read_back: str | None = None, **expect: str) -> Tool:
    made = tool(name, ToolClass.CHANGE, schema(*arguments))
    return made._replace(catalogue=CatalogueEntry(read_back=read_back, expect=dict(expect)))


def asked_fact(reader: str, arguments: JsonObject, result: Json, ref: str = "f1", ok: bool = True) -> Fact:
    return fact(result, ref, reader, ok, arguments)
