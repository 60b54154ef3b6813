"""What a calculator is, built in or made by a model, with the checks of its figures and the rounding of its answer.

A calculator takes its figures in the order that its ``arguments`` name them and answers unrounded unless it says
otherwise; ``calculate`` rounds the answer once. Rates are in percent: 7.5 is 7.5 %. The answer of a made tool comes
from the sandbox alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from inspect import signature
from typing import NamedTuple

from shared.contracts.made_tool import MadeTool

Figures = Sequence[Decimal]
HUNDRED = Decimal(100)
RATIO_PLACES = 6
_Formula = Callable[..., Decimal]


class CannotCalculate(ValueError):
    """The operation does not fit its operands; the message says why."""


class Calculator(NamedTuple):
    """A formula. ``arguments``: names, in brackets if optional, with ``...`` if repeated; ``dates``: of days.

    ``is_money``: the answer is rounded half up to the currency's minor unit, else to six places. ``rounds_parts``: the
    formula takes the places of the minor unit, so that rounded parts sum to the whole.
    """

    arguments: str
    formula: _Formula
    is_money: bool = False
    rounds_parts: bool = False
    dates: bool = False


def takes(arguments: str, number: int) -> bool:
    """Whether a call takes this number of figures: of ``x, [y], z...`` y may be left out, and z may repeat."""
    names = arguments.split(", ")
    needed = sum(not name.startswith("[") for name in names)
    return needed <= number and (number <= len(names) or names[-1].rstrip("]").endswith("..."))


def money(arguments: str, formula: _Formula) -> Calculator:
    """A calculator of money."""
    return Calculator(arguments, formula, is_money=True, rounds_parts="places" in signature(formula).parameters)


def ratio(arguments: str, formula: _Formula, *, dates: bool = False) -> Calculator:
    """A calculator of a ratio, a count or a length of time."""
    return Calculator(arguments, formula, dates=dates)


def to_minor_unit(amount: Decimal, places: int) -> Decimal:
    """The amount rounded half up (away from zero at the half) to so many decimal places."""
    return amount.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def whole(number: Decimal, name: str, low: int = 1, high: int = 1200) -> int:
    """The figure as an integer; raises ``CannotCalculate`` unless it is whole and within the bounds."""
    if number != number.to_integral_value() or not low <= number <= high:
        raise CannotCalculate(f"{name} must be a whole number from {low} to {high}, not {number:f}")
    return int(number)


def positive(number: Decimal, name: str) -> Decimal:
    """The figure; raises ``CannotCalculate`` unless it is above zero."""
    if number <= 0:
        raise CannotCalculate(f"{name} must be above zero, not {number:f}")
    return number


def not_negative(number: Decimal, name: str) -> Decimal:
    """The figure; raises ``CannotCalculate`` if it is below zero."""
    if number < 0:
        raise CannotCalculate(f"{name} must not be below zero, not {number:f}")
    return number


def percent_of(amount: Decimal, percent: Decimal) -> Decimal:
    """amount x percent / 100."""
    return amount * percent / HUNDRED


def total(figures: Figures) -> Decimal:
    """The sum of the figures; 0 if there are none."""
    return sum(figures, Decimal(0))


def divide_lists(figures: Figures, number: int) -> list[Figures]:
    """The figures divided into so many lists of equal length; raises ``CannotCalculate`` if that is not possible."""
    size, odd = divmod(len(figures), number)
    if odd or not size:
        lists = {2: "two", 3: "three"}[number]
        raise CannotCalculate(f"{lists} lists of equal length are needed, not {len(figures)} figures")
    return [figures[at * size : (at + 1) * size] for at in range(number)]


def split(whole_amount: Decimal, weights: Figures, places: int) -> list[Decimal]:
    """The amount split by weights into parts that sum to it, each at most one minor unit off."""
    sum_of_weights = positive(total([not_negative(weight, "a weight") for weight in weights]), "the weights")
    parts, seen, given = [], Decimal(0), Decimal(0)
    for weight in weights[:-1]:
        seen += weight
        share = to_minor_unit(whole_amount * seen / sum_of_weights, places)
        parts.append(share - given)
        given = share
    return [*parts, whole_amount - given]


MOST_DIGITS = 24  # half of those that are calculated with, so that sums and products of operands lose none


def fits(number: Decimal, most: int = MOST_DIGITS) -> bool:
    """Whether the number has at most ``most`` digits, none of them farther than that from its decimal point."""
    _, digits, exponent = number.as_tuple()
    return isinstance(exponent, int) and len(digits) <= most and abs(exponent) <= most


def check_operands(operation: str, arguments: str, operands: Figures) -> None:
    """Raises ``CannotCalculate`` for a number of figures that the arguments do not take, or one that is too long."""
    if not takes(arguments, len(operands)):
        raise CannotCalculate(f"{operation} needs {arguments}; got {len(operands)} operands")
    if (too_long := next((operand for operand in operands if not fits(operand)), None)) is not None:
        raise CannotCalculate(f"{operation} takes figures of up to {MOST_DIGITS} digits, and {too_long} has more")


def decimal_text(value: Decimal) -> str:
    """A decimal as plain digits, without exponent: what values travel as."""
    return format(value, "f")


_LONGEST_RESULT = 120


class ToolRun(NamedTuple):
    """One run of a made tool on figures, given as decimal texts."""

    tool: MadeTool
    figures: tuple[str, ...]


class Outcome(NamedTuple):
    """What a run of a made tool gave: ``value`` as a decimal text, or else an ``error``."""

    value: str = ""
    error: str = ""


class NotRun(Exception):
    """The result of a made tool is needed that was not run yet: the caller has it run, and calculates again."""

    def __init__(self, call: ToolRun) -> None:
        super().__init__(call.tool.name)
        self.call = call


class MadeToolResults:
    """The made tools of a task with the results of their runs. ``fresh`` has no results, for an audit."""

    def __init__(self, tools: Iterable[MadeTool] = ()) -> None:
        self.tools: Mapping[str, MadeTool] = {tool.name: tool for tool in tools}
        self._outcomes: dict[tuple[str, tuple[str, ...]], Outcome] = {}

    def fresh(self) -> "MadeToolResults":
        return MadeToolResults(self.tools.values())

    def learn(self, call: ToolRun, outcome: Outcome) -> None:
        self._outcomes[call.tool.name, call.figures] = outcome

    def calculate(self, operation: str, operands: Sequence[Decimal], places: int) -> Decimal:
        """The result, rounded once. Raises ``CannotCalculate``, and ``NotRun`` if the tool was not run on these."""
        tool = self.tools[operation]
        check_operands(operation, ", ".join(tool.arguments), operands)
        call = ToolRun(tool, tuple(map(decimal_text, operands)))
        outcome = self._outcomes.get((operation, call.figures))
        if outcome is None:
            raise NotRun(call)
        if outcome.error:
            raise CannotCalculate(f"{operation}: {outcome.error}")
        with localcontext(prec=_LONGEST_RESULT * 2):
            return to_minor_unit(Decimal(outcome.value), places if tool.result == "money" else RATIO_PLACES)


def parse_outcome(text: str) -> Outcome:
    """The sandbox's text as an outcome: a plain decimal of a sensible length, or an error."""
    try:
        number = Decimal(text[:_LONGEST_RESULT])
    except ArithmeticError:
        return Outcome(error="it came to no decimal")
    if len(text) > _LONGEST_RESULT or not fits(number, _LONGEST_RESULT) or number.adjusted() > MOST_DIGITS:
        return Outcome(error="it came to no figure of a sensible size")
    return Outcome(value=decimal_text(number))


NOTHING = MadeToolResults()
