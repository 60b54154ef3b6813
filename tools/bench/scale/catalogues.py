"""What a task does with its tools, few and many, once their listing is known."""

from services.executor.core.tools.toolbox import Toolbox, build_toolbox, list_offered_tools
from services.executor.ports.tools import Tool
from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain.exact_json import Json
from shared.domain.words import ToolClass
from shared.infra.anthropic_request import encode_model_request
from shared.ports.models import Message, ModelRequest, TextBlock, Tier
from tools.bench.scale.growth import Growth, median_times

_REASON = "a catalogue that is shown whole goes with each request, up to the size from which tools are looked for"
_CONNECTION = Connection(id="company", url="http://127.0.0.1:1/mcp")


async def grow_tools(small: int, large: int, repeats: int) -> Growth:
    few, many = _listing(small), _listing(large)

    async def with_tools(listed: tuple[Tool, ...]) -> None:
        box: Toolbox = build_toolbox([(_CONNECTION, listed)])
        message = Message("user", (TextBlock("What is the amount of expense claim EXP-1?"),))
        encode_model_request("model", ModelRequest(Tier.SMALL, ("rules",), (message,), list_offered_tools(box, ())))

    times = await median_times(lambda: with_tools(few), lambda: with_tools(many), repeats)
    return Growth("tools of a catalogue", "a first request with its tools", small, large, *times, _REASON)


def _listing(tools: int) -> tuple[Tool, ...]:
    return tuple(map(_tool, range(tools)))


def _tool(number: int) -> Tool:
    fields: dict[str, Json] = {
        name: {"type": "string", "description": f"The {name} of it."} for name in ("id", "reason", "note")
    }
    schema: dict[str, Json] = {
        "type": "object",
        "properties": fields,
        "required": ["id"],
        "additionalProperties": False,
    }
    name, described = f"read_record_{number}", f"Read record {number} of the company."
    return Tool(_CONNECTION.id, name, described, schema, ToolClass.READ, "its name", CatalogueEntry())
