"""The arithmetic audit: every named value is computed again from its operands, exactly and without a model (I2)."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from services.executor.core.dossier import Fact, NamedValue, Operand
from services.executor.core.execute.paths import NoSuchPath, select
from services.executor.core.finance.calculators import CannotCalculate, calculate, decimal_text
from services.executor.core.finance.figures import figure, normal, number_bearing_tokens
from shared.domain.exact_json import Json, dumps


def audit(values: Sequence[NamedValue], facts: Sequence[Fact], task: str) -> tuple[str, ...]:
    """What is wrong with the values, a sentence each; empty when the audit is clean."""
    known: dict[str, Decimal] = {}
    problems: list[str] = []
    for value in values:
        try:
            problems += _problems(value, known, facts, task)
            known[value.name] = Decimal(value.value)
        except (CannotCalculate, NoSuchPath, ArithmeticError) as error:
            problems.append(f"{value.name}: {error}")
    return tuple(problems)


def recompute(values: Sequence[NamedValue], facts: Sequence[Fact], task: str) -> tuple[NamedValue, ...]:
    """The same values over other facts: each computed anew in order. Raises as ``evaluate`` does."""
    known: dict[str, Decimal] = {}
    renewed = []
    for value in values:
        known[value.name] = evaluate(value.operation, value.operands, known, facts, task)
        renewed.append(value.model_copy(update={"value": decimal_text(known[value.name])}))
    return tuple(renewed)


def evaluate(
    operation: str, operands: Sequence[Operand], known: Mapping[str, Decimal], facts: Sequence[Fact], task: str
) -> Decimal:
    """The result of one operation. Raises ``NoSuchPath`` or ``CannotCalculate`` naming the operand at fault.

    A count is over things of any kind; every other operation is over figures.
    """
    found = [item for operand in operands for item in _found(operand, known, facts, task)]
    if operation == "count":
        return Decimal(len(found))
    return calculate(operation, [_number(item, operation) for item in found])


def _problems(value: NamedValue, known: Mapping[str, Decimal], facts: Sequence[Fact], task: str) -> list[str]:
    if value.name in known:
        return [f"{value.name}: named twice"]
    result = evaluate(value.operation, value.operands, known, facts, task)
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


def _stated(literal: str, task: str) -> Decimal:
    number = figure(literal)
    if number is None or normal(literal) not in {normal(token) for token in number_bearing_tokens(task)}:
        raise CannotCalculate(f"the task states no figure {literal!r}")
    return number


def _number(item: Json, operation: str) -> Decimal:
    number = figure(item)
    if number is None:
        raise CannotCalculate(f"{operation} needs figures, and {dumps(item)[:60]} is none")
    return number
