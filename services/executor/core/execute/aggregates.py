"""Local tools over the lists in facts: exact, pure, and with the operand that the audit computes again (seed 002)."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, JsonValue, ValidationError

from services.executor.core.dossier import Fact, Operand
from services.executor.core.execute.compute_audit import evaluate
from services.executor.core.execute.conditions import OPERATORS, identity, written
from services.executor.core.execute.paths import NoSuchPath, select
from services.executor.core.finance.calculators import CannotCalculate, decimal_text
from services.executor.core.tooling.paginate import page_in
from services.executor.ports.models import ToolDefinition, ToolResult, ToolUse
from shared.domain.exact_json import Json, JsonObject, dumps

_MOST_GROUPS = 500

_TEXT: Mapping[str, JsonValue] = {"type": "string"}
_WHERE: JsonValue = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"field": {**_TEXT}, "is": {"type": "string", "enum": [*OPERATORS]}, "value": {**_TEXT}},
        "required": ["field", "is", "value"],
        "additionalProperties": False,
    },
}


class Where(BaseModel):
    """Which rows of which list: the fact, the path of its list (empty: the one it has), and conditions."""

    ref: str
    list: str = ""
    where: tuple[dict[Literal["field", "is", "value"], str], ...] = ()


class Sum(Where):
    field: str


class Groups(Where):
    by: str
    field: str = ""


def _schema(**more: JsonValue) -> Mapping[str, JsonValue]:
    properties: dict[str, JsonValue] = {"ref": {**_TEXT}, "list": {**_TEXT}, **more, "where": _WHERE}
    required: list[JsonValue] = ["ref", *(name for name in more if name in ("by",))]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


SUM_FIELD = ToolDefinition(
    "sum_field",
    "The exact sum of one field over all rows of a list in a fact, those meeting all conditions if given. It answers "
    "with the operand to state in a named value.",
    {**_schema(field={**_TEXT}), "required": ["ref", "field"]},
)
GROUP_BY = ToolDefinition(
    "group_by",
    "All rows of a list in a fact by the value of one field: how many there are for each, and the exact sum of "
    "another field if given. Each group has the path for an operand.",
    _schema(by={**_TEXT}, field={**_TEXT}),
)
AGGREGATES = (GROUP_BY, SUM_FIELD)


def aggregated(use: ToolUse, facts: Sequence[Fact]) -> ToolResult:
    """What one of the tools answers; what is wrong with a call goes back to the model."""
    try:
        return ToolResult(use.id, dumps(_TOOLS[use.name](dumps(use.input), facts)))
    except (ValidationError, CannotCalculate, NoSuchPath, ValueError) as error:
        return ToolResult(use.id, str(error), is_error=True)


def _sum_field(text: str, facts: Sequence[Fact]) -> JsonObject:
    asked = Sum.model_validate_json(text)
    fact, path = _rows(asked, facts)
    return {**_figures(fact, path, asked.field, facts), **_said(fact)}


def _group_by(text: str, facts: Sequence[Fact]) -> JsonObject:
    asked = Groups.model_validate_json(text)
    fact, path = _rows(asked, facts)
    keys: dict[Decimal | str | None, Json] = {}
    for row in select(fact.result, path):
        key = _field(row, asked.by)
        keys.setdefault(identity(key), key)
    if len(keys) > _MOST_GROUPS:
        raise ValueError(f"{asked.by} has {len(keys)} values, more than {_MOST_GROUPS}: group by another field")
    groups = [_group(fact, f"{path}[{written(asked.by, '=', key)}]", key, asked, facts) for key in keys.values()]
    return {"groups": [*groups], **_said(fact)}


def _group(fact: Fact, path: str, key: Json, asked: Groups, facts: Sequence[Fact]) -> JsonObject:
    counted: JsonObject = {asked.by: key, "rows": len(select(fact.result, path)), "path": path}
    return {**counted, **_figures(fact, path, asked.field, facts)} if asked.field else counted


def _figures(fact: Fact, path: str, field: str, facts: Sequence[Fact]) -> JsonObject:
    """The sum as a named value would state it. Rows that have nothing in the field are counted, and left out."""
    full = f"{path}[{field}!=null]"
    rows, having = len(select(fact.result, path)), len(select(fact.result, full))
    operand = Operand(source="result", ref=fact.ref, path=f"{path if rows == having else full}.{field}")
    total = evaluate("sum", (operand,), {}, facts, "") if having else Decimal(0)
    empty: JsonObject = {"rows_without": rows - having} if having < rows else {}
    return {"operation": "sum", "operand": operand.as_json(), "rows": rows, "value": decimal_text(total), **empty}


def _rows(asked: Where, facts: Sequence[Fact]) -> tuple[Fact, str]:
    """The fact, and the path of those rows of its list that meet the conditions."""
    fact = next((fact for fact in facts if fact.ref == asked.ref), None)
    if fact is None:
        raise CannotCalculate(f"no fact has the reference {asked.ref!r}")
    place = asked.list.removesuffix("[*]") or _place(fact)
    conditions = "".join(f"[{written(one['field'], one['is'], one['value'])}]" for one in asked.where)
    return fact, f"{place}{conditions or '[*]'}"


def _place(fact: Fact) -> str:
    page = page_in(fact.result)
    if page is None:
        raise NoSuchPath(f"{fact.ref} has no list, or several: name one")
    return ".".join(page.place)


def _field(row: Json, name: str) -> Json:
    return row.get(name) if isinstance(row, dict) else None


def _said(fact: Fact) -> JsonObject:
    return {"note": fact.note} if fact.note else {}


_TOOLS: Mapping[str, Callable[[str, Sequence[Fact]], JsonObject]] = {
    SUM_FIELD.name: _sum_field,
    GROUP_BY.name: _group_by,
}
