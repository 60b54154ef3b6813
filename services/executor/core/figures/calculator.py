"""What a calculator is, built in or made by a model, with the checks of its figures and the rounding of its result.

Rates are in percent: 7.5 is 7.5 %. A made tool's result comes only from the sandbox.
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
    """A formula with the names of its figures.

    ``arguments``: the names, in brackets if optional, ending in ``...`` if repeated. ``is_money``: the result is
    rounded half up to the currency's minor unit, else to six places. ``rounds_parts``: the formula takes the number of
    decimal places and rounds by itself, so that rounded parts sum to the whole. ``takes_dates``: the figures are days.
    """

    arguments: str
    formula: _Formula
    is_money: bool = False
    rounds_parts: bool = False
    takes_dates: bool = False


def accepts_figure_count(arguments: str, number: int) -> bool:
    """Whether a calculator with these arguments takes so many figures: ``x, [y], z...`` takes two or more."""
    names = arguments.split(", ")
    needed = sum(not name.startswith("[") for name in names)
    return needed <= number and (number <= len(names) or names[-1].rstrip("]").endswith("..."))


def make_money_calculator(arguments: str, formula: _Formula) -> Calculator:
    """A calculator whose result is an amount of money."""
    return Calculator(arguments, formula, is_money=True, rounds_parts="places" in signature(formula).parameters)


def round_half_up(amount: Decimal, places: int) -> Decimal:
    """The amount rounded half up (at the half away from zero) to this number of decimal places."""
    return amount.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def require_whole(number: Decimal, name: str, low: int = 1, high: int = 1200) -> int:
    """The figure as an integer; raises ``CannotCalculate`` unless it is whole and within the bounds."""
    if number != number.to_integral_value() or not low <= number <= high:
        raise CannotCalculate(f"{name} must be a whole number from {low} to {high}, not {number:f}")
    return int(number)


def require_positive(number: Decimal, name: str) -> Decimal:
    """The figure; raises ``CannotCalculate`` unless it is above zero."""
    if number <= 0:
        raise CannotCalculate(f"{name} must be above zero, not {number:f}")
    return number


def require_not_negative(number: Decimal, name: str) -> Decimal:
    """The figure; raises ``CannotCalculate`` if it is below zero."""
    if number < 0:
        raise CannotCalculate(f"{name} must not be below zero, not {number:f}")
    return number


def percent_of(amount: Decimal, percent: Decimal) -> Decimal:
    """amount x percent / 100."""
    return amount * percent / HUNDRED


def add_figures(figures: Figures) -> Decimal:
    """The sum of the figures; 0 if there are none."""
    return sum(figures, Decimal(0))


def split_into_lists(figures: Figures, number: int) -> list[Figures]:
    """The figures split in order into so many equally long lists; raises ``CannotCalculate`` if they do not divide."""
    size, remainder = divmod(len(figures), number)
    if remainder or not size:
        lists = {2: "two", 3: "three"}[number]
        raise CannotCalculate(f"{lists} lists of equal length are needed, not {len(figures)} figures")
    return [figures[index * size : (index + 1) * size] for index in range(number)]


def split_by_weights(whole_amount: Decimal, weights: Figures, places: int) -> list[Decimal]:
    """The amount split by weights into parts that sum to it, each at most one minor unit off.

    Raises ``CannotCalculate`` for a negative weight, and if the weights sum to 0.
    """
    sum_of_weights = require_positive(
        add_figures([require_not_negative(weight, "a weight") for weight in weights]), "the weights"
    )
    parts, weight_so_far, amount_so_far = [], Decimal(0), Decimal(0)
    for weight in weights[:-1]:
        weight_so_far += weight
        share = round_half_up(whole_amount * weight_so_far / sum_of_weights, places)
        parts.append(share - amount_so_far)
        amount_so_far = share
    return [*parts, whole_amount - amount_so_far]


_MOST_DIGITS = 24  # half of those that are calculated with, so that sums and products of operands lose none


def has_few_digits(number: Decimal, max_digits: int = _MOST_DIGITS) -> bool:
    """Whether the number has at most ``max_digits`` digits, none of them farther than that from its decimal point."""
    _, digits, exponent = number.as_tuple()
    return isinstance(exponent, int) and len(digits) <= max_digits and abs(exponent) <= max_digits


def check_operands(operation: str, arguments: str, operands: Figures) -> None:
    """Raises ``CannotCalculate`` if the operation, whose signature is ``arguments`` (``rate %, flow...``), does not
    take so many operands, or one has too many digits.
    """
    if not accepts_figure_count(arguments, len(operands)):
        raise CannotCalculate(f"{operation} needs {arguments}; got {len(operands)} operands")
    if (too_long := next((operand for operand in operands if not has_few_digits(operand)), None)) is not None:
        raise CannotCalculate(f"{operation} takes figures of up to {_MOST_DIGITS} digits, and {too_long} has more")


def format_decimal(value: Decimal) -> str:
    """A decimal as plain digits without an exponent: the form in which values are stored and sent."""
    return format(value, "f")


_LONGEST_RESULT = 120


class MadeToolCall(NamedTuple):
    """A call of a made tool with figures as decimal texts."""

    tool: MadeTool
    figures: tuple[str, ...]


class MadeToolOutcome(NamedTuple):
    """The result of a run of a made tool: ``value`` as a decimal text, or else an ``error``."""

    value: str = ""
    error: str = ""


class MadeToolNotRun(Exception):
    """The made tool of ``call`` has not run on its figures yet: the caller runs it, and calculates again."""

    def __init__(self, call: MadeToolCall) -> None:
        super().__init__(call.tool.name)
        self.call = call


class MadeToolResults:
    """The made tools of a task with the results of their calls so far."""

    def __init__(self, tools: Iterable[MadeTool] = ()) -> None:
        self.tools: Mapping[str, MadeTool] = {tool.name: tool for tool in tools}
        self._outcomes: dict[tuple[str, tuple[str, ...]], MadeToolOutcome] = {}

    def add_outcome(self, call: MadeToolCall, outcome: MadeToolOutcome) -> None:
        self._outcomes[call.tool.name, call.figures] = outcome

    def calculate(self, operation: str, operands: Sequence[Decimal], places: int) -> Decimal:
        """The stored result of the tool on these operands, rounded once: money to ``places``, a ratio to six.

        Raises ``CannotCalculate`` if the run failed, and ``MadeToolNotRun`` if there was none.
        """
        tool = self.tools[operation]
        check_operands(operation, ", ".join(tool.arguments), operands)
        call = MadeToolCall(tool, tuple(map(format_decimal, operands)))
        outcome = self._outcomes.get((operation, call.figures))
        if outcome is None:
            raise MadeToolNotRun(call)
        if outcome.error:
            raise CannotCalculate(f"{operation}: {outcome.error}")
        with localcontext(prec=_LONGEST_RESULT * 2):
            return round_half_up(Decimal(outcome.value), places if tool.result == "money" else RATIO_PLACES)


def parse_made_tool_outcome(text: str) -> MadeToolOutcome:
    """The sandbox's output as an outcome; an error if it is no decimal, or one of too many digits."""
    try:
        number = Decimal(text[:_LONGEST_RESULT])
    except ArithmeticError:
        return MadeToolOutcome(error="it came to no decimal")
    if len(text) > _LONGEST_RESULT or not has_few_digits(number, _LONGEST_RESULT) or number.adjusted() > _MOST_DIGITS:
        return MadeToolOutcome(error="it came to no figure of a sensible size")
    return MadeToolOutcome(value=format_decimal(number))


NO_MADE_TOOLS = MadeToolResults()
