"""The made tools of one run: operations by name, whose results come from the sandbox and nowhere else."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, localcontext
from typing import NamedTuple

from services.executor.core.finance.calculator import CannotCalculate, decimal_text, fits, to_minor_unit
from shared.contracts.made_tool import MadeTool

_RATIO_PLACES = 6
_LONGEST_RESULT, _MOST_DIGITS = 120, 24


class Call(NamedTuple):
    """One tool over figures, as decimal texts."""

    tool: MadeTool
    figures: tuple[str, ...]


class Outcome(NamedTuple):
    """``value`` is a decimal text; with ``error``, there is none."""

    value: str = ""
    error: str = ""


class NotRun(Exception):
    """A result is needed that has not been worked out: whoever can wait has it run, and asks again."""

    def __init__(self, call: Call) -> None:
        super().__init__(call.tool.name)
        self.call = call


class MadeToolResults:
    """Results are known once they were run; ``fresh`` knows none, so that an audit works out everything again."""

    def __init__(self, tools: Iterable[MadeTool] = ()) -> None:
        self.tools: Mapping[str, MadeTool] = {tool.name: tool for tool in tools}
        self._outcomes: dict[tuple[str, tuple[str, ...]], Outcome] = {}

    def fresh(self) -> "MadeToolResults":
        return MadeToolResults(self.tools.values())

    def learn(self, call: Call, outcome: Outcome) -> None:
        self._outcomes[call.tool.name, call.figures] = outcome

    def calculate(self, operation: str, operands: Sequence[Decimal], places: int) -> Decimal:
        """The result, rounded once and half up: money to ``places``, all else to six.

        Raises ``CannotCalculate``, and ``NotRun`` where the sandbox has not been asked yet.
        """
        tool = self.tools[operation]
        if not tool.fits(len(operands)):
            raise CannotCalculate(f"{operation} needs {', '.join(tool.arguments)}; got {len(operands)} operands")
        too_long = next((operand for operand in operands if not fits(operand)), None)
        if too_long is not None:
            raise CannotCalculate(f"{operation} takes figures of up to {_MOST_DIGITS} digits, and {too_long} has more")
        call = Call(tool, tuple(map(decimal_text, operands)))
        outcome = self._outcomes.get((operation, call.figures))
        if outcome is None:
            raise NotRun(call)
        if outcome.error:
            raise CannotCalculate(f"{operation}: {outcome.error}")
        with localcontext(prec=_LONGEST_RESULT * 2):
            return to_minor_unit(Decimal(outcome.value), places if tool.result == "money" else _RATIO_PLACES)


def readable(text: str) -> Outcome:
    """What the sandbox said as an outcome: a plain decimal of a sensible length, or an error."""
    try:
        number = Decimal(text[:_LONGEST_RESULT])
    except ArithmeticError:
        return Outcome(error="it came to no decimal")
    if len(text) > _LONGEST_RESULT or not fits(number, _LONGEST_RESULT) or number.adjusted() > _MOST_DIGITS:
        return Outcome(error="it came to no figure of a sensible size")
    return Outcome(value=decimal_text(number))


NOTHING = MadeToolResults()
