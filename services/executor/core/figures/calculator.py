"""The checks of a calculator's figures, the rounding of its result, and calculators that a model made.

A made tool's result comes only from the sandbox.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import NamedTuple

from shared.contracts.made_tool import MadeTool

RATIO_PLACES = 6


class CannotCalculate(ValueError):
    """The operation does not fit its operands; the message says why."""


def accepts_figure_count(arguments: str, number: int) -> bool:
    """Whether a calculator with these arguments takes so many figures: ``x, [y], z...`` takes two or more."""
    names = arguments.split(", ")
    needed = sum(not name.startswith("[") for name in names)
    return needed <= number and (number <= len(names) or names[-1].rstrip("]").endswith("..."))


def round_half_up(amount: Decimal, places: int) -> Decimal:
    """The amount rounded half up (at the half away from zero) to this number of decimal places."""
    return amount.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


_MOST_DIGITS = 24  # half of those that are calculated with, so that sums and products of operands lose none


def has_few_digits(number: Decimal, max_digits: int = _MOST_DIGITS) -> bool:
    """Whether the number has at most ``max_digits`` digits, none of them farther than that from its decimal point."""
    _, digits, exponent = number.as_tuple()
    return isinstance(exponent, int) and len(digits) <= max_digits and abs(exponent) <= max_digits


def check_operands(operation: str, arguments: str, operands: Sequence[Decimal]) -> None:
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
