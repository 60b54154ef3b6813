"""The arithmetic audit: every named value is computed again from its operands, exactly and without a model (I2)."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from services.executor.core.dossier import Fact, NamedValue, Operand
from services.executor.core.execute.paths import NoSuchPath, select
from services.executor.core.finance.calculators import CannotCalculate, calculate, decimal_text
from services.executor.core.finance.calendar_days import day_number
from services.executor.core.finance.catalogue import CALCULATORS
from services.executor.core.finance.currency import is_currency, one_currency, places
from services.executor.core.finance.figures import figure, normal, number_bearing_tokens
from services.executor.core.making.made import NOTHING, Made
from shared.domain.exact_json import Json, dumps

_OF_RATES = frozenset({"product", "quotient", "percentage"})  # what converts one currency into another
DATE_OPERATIONS = frozenset(name for name, calculator in CALCULATORS.items() if calculator.dates)


def audit(values: Sequence[NamedValue], facts: Sequence[Fact], task: str, made: Made = NOTHING) -> tuple[str, ...]:
    """What is wrong with the values, a sentence each; empty when the audit is clean."""
    known: dict[str, Decimal] = {}
    problems: list[str] = []
    for value in values:
        try:
            problems += _problems(value, known, facts, task, made)
            known[value.name] = Decimal(value.value)
        except (CannotCalculate, NoSuchPath, ArithmeticError) as error:
            problems.append(f"{value.name}: {error}")
    return tuple(problems)


def recompute(
    values: Sequence[NamedValue], facts: Sequence[Fact], task: str, made: Made = NOTHING
) -> tuple[NamedValue, ...]:
    """The same values over other facts: each computed anew in order. Raises as ``evaluate`` does."""
    known: dict[str, Decimal] = {}
    renewed = []
    for value in values:
        known[value.name] = evaluate(value.operation, value.operands, known, facts, task, made)
        renewed.append(value.model_copy(update={"value": decimal_text(known[value.name])}))
    return tuple(renewed)


def evaluate(
    operation: str,
    operands: Sequence[Operand],
    known: Mapping[str, Decimal],
    facts: Sequence[Fact],
    task: str,
    made: Made = NOTHING,
) -> Decimal:
    """The result of one operation. Raises ``NoSuchPath`` or ``CannotCalculate`` naming the operand at fault.

    ``made``: operations besides those that are built in; it raises ``NotRun`` where one was not run before.

    A count is over things of any kind, days are over dates; every other operation is over figures. An operand that is a
    currency code names the currency; amounts of two currencies are never put together.
    """
    found = [item for operand in operands for item in _found(operand, known, facts, task)]
    if operation == "count":
        return Decimal(len(found))
    currency = _one_currency(operation, found)
    figures = [_number(item, operation) for item in found if not is_currency(item)]
    if operation in made.tools:
        return made.calculate(operation, figures, places(currency))
    return calculate(operation, figures, places(currency))


def _problems(
    value: NamedValue, known: Mapping[str, Decimal], facts: Sequence[Fact], task: str, made: Made
) -> list[str]:
    if value.name in known:
        return [f"{value.name}: named twice"]
    result = evaluate(value.operation, value.operands, known, facts, task, made)
    if result == Decimal(value.value):
        return []
    return [f"{value.name}: {value.operation} of its operands is {decimal_text(result)}, not {value.value}"]


def _found(operand: Operand, known: Mapping[str, Decimal], facts: Sequence[Fact], task: str) -> list[Json]:
    if operand.source == "value":
        if operand.ref not in known:
            raise CannotCalculate(f"no earlier value is named {operand.ref!r}")
        return [known[operand.ref]]
    if operand.source == "task":
        return [_stated(operand.literal, task)]
    fact = next((fact for fact in facts if fact.ref == operand.ref), None)
    if fact is None:
        raise CannotCalculate(f"no fact has the reference {operand.ref!r}")
    return select(fact.result, operand.path)


def _stated(literal: str, task: str) -> Json:
    if is_currency(literal) and re.search(rf"\b{re.escape(literal.strip())}\b", task):
        return literal
    known = figure(literal) is not None or day_number(literal) is not None
    if not known or normal(literal) not in {normal(token) for token in number_bearing_tokens(task)}:
        raise CannotCalculate(f"the task states no figure {literal!r}")
    return literal


def _one_currency(operation: str, found: Sequence[Json]) -> str:
    currency = one_currency(found)
    if currency is None and operation not in _OF_RATES:
        texts = ", ".join(dict.fromkeys(item for item in found if isinstance(item, str)))
        raise CannotCalculate(f"{operation} of amounts in different currencies ({texts[:80]}): convert them first")
    return currency or ""


def _number(item: Json, operation: str) -> Decimal:
    number = day_number(item) if operation in DATE_OPERATIONS else figure(item)
    if number is None:
        kind = "dates" if operation in DATE_OPERATIONS else "figures"
        raise CannotCalculate(f"{operation} needs {kind}, and {dumps(item)[:60]} is none")
    return number
