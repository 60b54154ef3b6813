"""``fetch_all_matching``: a list read to its end, of which a model sees only the rows it asked for (seed 002)."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from pydantic import BaseModel, JsonValue, ValidationError

from services.executor.core.dossier import Fact
from services.executor.core.execute.conditions import OPERATORS, condition, written
from services.executor.core.tooling.paginate import Page, page_in, put
from services.executor.core.tooling.paginate_next import paging_of
from services.executor.core.tooling.paginate_shown import with_note
from services.executor.core.tooling.toolbox import Toolbox
from services.executor.ports.models import ToolDefinition, ToolUse
from shared.domain.exact_json import Json, dumps
from shared.domain.words import ToolClass

_TEXT: Mapping[str, JsonValue] = {"type": "string"}
FETCH = ToolDefinition(
    "fetch_all_matching",
    "Call one of the other tools, which gives a list in pages, take all its pages, and see only the rows that meet all "
    "conditions. All rows are kept for what is computed later.",
    {
        "type": "object",
        "properties": {
            "tool": {**_TEXT},
            "arguments": {"type": "object"},
            "where": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "field": {**_TEXT},
                        "is": {"type": "string", "enum": [*OPERATORS]},
                        "value": {**_TEXT},
                    },
                    "required": ["field", "is", "value"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["tool", "arguments", "where"],
        "additionalProperties": False,
    },
)


class _Asked(BaseModel):
    tool: str
    where: tuple[dict[Literal["field", "is", "value"], str], ...]


class Wanted(NamedTuple):
    """The call of the server's tool, and the conditions as paths have them."""

    call: ToolUse
    conditions: tuple[str, ...]


def offered(toolbox: Toolbox, classes: Iterable[ToolClass]) -> tuple[ToolDefinition, ...]:
    """The tool, where some tool of these classes gives its list in pages and none has its name."""
    wanted = frozenset(classes)
    nothing = Page((), [], ())
    paged = (paging_of(tool, {}, nothing).has_place for tool in toolbox.tools.values() if tool.tool_class in wanted)
    return (FETCH,) if FETCH.name not in toolbox.tools and any(paged) else ()


def wanted(use: ToolUse) -> Wanted | str:
    """What is asked for, or what is wrong with it."""
    arguments = use.input.get("arguments")
    try:
        asked = _Asked.model_validate_json(dumps(use.input))
        conditions = tuple(written(one["field"], one["is"], one["value"]) for one in asked.where)
        for text in conditions:
            condition(text)
    except (ValidationError, KeyError, ValueError) as error:
        return str(error)
    if not isinstance(arguments, dict):
        return "arguments must be an object"
    return Wanted(ToolUse(use.id, asked.tool, arguments), conditions)


def matching(fact: Fact, conditions: Iterable[str]) -> Json:
    """The fact's result with only the rows that meet all conditions, and how many those are."""
    page = page_in(fact.result)
    if page is None:
        return with_note(fact.result, f"{fact.note} This is no list: nothing was left out.".strip())
    holds = [condition(text) for text in conditions]
    rows = [row for row in page.rows if all(hold(row) for hold in holds)]
    said = f"{len(rows)} of {len(page.rows)} rows match and are shown."
    return with_note(put(fact.result, page.place, rows), f"{fact.note} {said}".strip())
