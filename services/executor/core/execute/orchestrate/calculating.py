"""``calculate`` as an orchestrator is offered it: plain figures go in, and where each comes from is looked up here."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from pydantic import BaseModel, ValidationError

from services.executor.core.dossier import Fact, NamedValue, Operand
from services.executor.core.execute.compute_audit import evaluate
from services.executor.core.execute.paths import NoSuchPath
from services.executor.core.execute.tool_loop import ToolRetry
from services.executor.core.finance.calculators import CannotCalculate, decimal_text
from services.executor.core.finance.catalogue import offered
from services.executor.core.finance.figures import normal, number_bearing_tokens
from services.executor.core.prompts.schemas import OPERATIONS
from services.executor.ports.models import ToolDefinition, ToolUse
from shared.domain.exact_json import Json, dumps

CALCULATE = ToolDefinition(
    "calculate",
    "Exact decimal arithmetic over figures that stand in the task, in a result, or were calculated before. Operands "
    "are plain figures (or dates) in this order: " + offered() + ".",
    {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "operation": {"type": "string", "enum": [*OPERATIONS]},
            "operands": {"type": "array", "items": {"type": ["string", "number"]}},
        },
        "required": ["operation", "operands"],
    },
)


class _Asked(BaseModel):
    operation: str
    operands: list[str]
    name: str = ""


def calculated(use: ToolUse, facts: Sequence[Fact], before: Sequence[NamedValue], task: str) -> NamedValue:
    """The value with its operands' sources; raises ``ToolRetry`` with what is wrong."""
    known = {value.name: value for value in before}
    try:
        asked = _Asked.model_validate({**use.input, "operands": _texts(use.input.get("operands"))})
        operands = tuple(_source(text, facts, before, task) for text in asked.operands)
        figures = {name: Decimal(value.value) for name, value in known.items()}
        result = evaluate(asked.operation, operands, figures, facts, task)
    except (ValidationError, CannotCalculate, NoSuchPath, ArithmeticError) as error:
        raise ToolRetry(f"Not calculated: {error}") from error
    name = asked.name if asked.name and asked.name not in known else f"calculated_{len(known) + 1}"
    return NamedValue(name=name, operation=asked.operation, operands=operands, value=decimal_text(result))


def _texts(operands: Json) -> list[str]:
    given = operands if isinstance(operands, list) else []
    return [one if isinstance(one, str) else dumps(one) for one in given]


def _source(text: str, facts: Sequence[Fact], before: Sequence[NamedValue], task: str) -> Operand:
    """Where a figure stands: in the task's text, in a result, or among what was calculated before."""
    wanted = normal(text)
    if wanted in {normal(token) for token in number_bearing_tokens(task)}:
        return Operand(source="task", literal=text)
    for value in before:
        if normal(value.value) == wanted:
            return Operand(source="value", ref=value.name)
    for fact in facts:
        path = next(paths_to(fact.result, wanted), None) if fact.ok else None
        if path is not None:
            return Operand(source="result", ref=fact.ref, path=path)
    raise CannotCalculate(f"{text!r} stands neither in the task nor in a result, and was not calculated before")


def paths_to(value: Json, wanted: str, path: str = "") -> Iterator[str]:
    """The places at which a figure stands by itself."""
    match value:
        case dict():
            for key, inner in value.items():
                if not set(key) & set(".[]"):
                    yield from paths_to(inner, wanted, f"{path}.{key}".removeprefix("."))
        case list():
            for place, inner in enumerate(value):
                yield from paths_to(inner, wanted, f"{path}[{place}]")
        case None | bool():
            return
        case _:
            if normal(value if isinstance(value, str) else dumps(value)) == wanted:
                yield path
