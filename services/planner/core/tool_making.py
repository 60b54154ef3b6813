"""Calculators made for a task: those whose definition states a formula are written and judged; others need a model."""

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal

from services.planner.core.formula import NoFormula, as_function, compute_terms, parse_formula
from services.planner.core.general import NEEDS_A_MODEL
from services.planner.core.request import Request, as_object
from shared.domain.exact_json import Json, JsonObject

_CASES = 4
_SIZES = ("1250", "40.5", "7", "310.25", "18", "2600", "3", "95.75", "12", "508")
_EXACT_ENOUGH = Decimal("1E-12")


def find_gaps(_request: Request) -> JsonObject:
    """The structured output for missing tools, always empty: a rule-based planner knows only gaps that the task's own
    words name, and the loop finds those itself.
    """
    return {"gaps": []}


def make_function(request: Request) -> JsonObject:
    """The structured output MADE_FUNCTION: the source of a calculator whose definition states a formula."""
    spec = as_object(request.section("tool_spec"))
    names = _argument_names(spec)
    try:
        return {
            "code": as_function(str(spec.get("name")), names, parse_formula(str(spec.get("definition")), names)),
            "cannot": "",
        }
    except NoFormula:
        return {"code": "", "cannot": NEEDS_A_MODEL}


def make_cases(request: Request) -> JsonObject:
    """The structured output MADE_CASES: the formula worked out over figures of different sizes."""
    spec = as_object(request.section("tool_spec"))
    names = _argument_names(spec)
    try:
        terms = parse_formula(str(spec.get("definition")), names)
    except NoFormula:
        return {"cases": [], "cannot": NEEDS_A_MODEL}
    cases_by_result: dict[Decimal, JsonObject] = {}
    for figures in _trial_inputs(len(names)):
        try:
            result = compute_terms(terms, dict(zip(names, map(Decimal, figures), strict=True)))
            rounded = result.quantize(_EXACT_ENOUGH, ROUND_HALF_UP).normalize()
        except ArithmeticError:
            continue
        cases_by_result.setdefault(rounded, {"inputs": [*figures], "expected": format(rounded, "f")})
    listed: list[Json] = [*cases_by_result.values()]
    return {"cases": listed[:_CASES], "cannot": "" if len(listed) >= _CASES else NEEDS_A_MODEL}


def _argument_names(spec: JsonObject) -> list[str]:
    names = spec.get("arguments")
    return [str(name) for name in names] if isinstance(names, list) else []


def _trial_inputs(number: int) -> Iterator[tuple[str, ...]]:
    """Ways to fill so many arguments, each with figures of different sizes."""
    for start in range(len(_SIZES)):
        yield tuple(_SIZES[(start + 3 * index) % len(_SIZES)] for index in range(number))
