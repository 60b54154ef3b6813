"""Which figures a task's gold states or writes that nothing shows, and what a model calculates to have them."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import count
from typing import NamedTuple

from services.executor.core.figures.mentions import find_number_notations
from tools.bench.worth.judge import list_figures
from tools.bench.worth.steps import IntendedCall
from tools.bench.worth.tabular import ShownResult, read_number
from tools.bench.worth.workings import Working, WorkingMaterial, WorkingSearch, call_calculator, name_steps
from tools.bench.worth.worlds.task import GoldCall, WorthTask
from tools.bench.worth.worlds.traits import Trait

DONE = -1


class FigureComparison(NamedTuple):
    """A condition in the words of a task, and the operation that says whether it is met."""

    words: str
    operation: str
    holds: Callable[[Fraction, Fraction], bool]


COMPARISONS = (
    FigureComparison(r"more than (.*)", "is_more", operator.gt),
    FigureComparison(r"at least (.*)", "is_at_least", operator.ge),
    FigureComparison(r"(.*)unless .* as many", "is_less", operator.lt),
)


class Figuring:
    """Finds the calculations that are due, each once. A figure that is no part of the gold is calculated by nobody."""

    def __init__(self, task: WorthTask) -> None:
        self._task = task
        self._form = task.world.blueprint.form
        self._text = " ".join([task.text, *(turn.text for turn in task.earlier)])
        self._tried: dict[Fraction, int] = {}
        self._numbers = count(1)

    def list_for_calls(self, calls: Iterable[IntendedCall], shown: Sequence[ShownResult]) -> list[Working]:
        """What the numbers of these calls need, as far as the calls are the gold's and their own records lack them."""
        material = WorkingMaterial(self._search(shown))
        wanted: dict[Fraction, None] = {}
        for gold in (gold for call in calls for gold in self._task.calls() if gold.writes and is_same_call(gold, call)):
            numbers = [number for value in gold.arguments.values() if (number := read_number(value))]
            names = [str(value) for value in gold.arguments.values() if isinstance(value, str | int)]
            wanted |= {number: None for number in numbers if not material.shows_with(number, names)}
        return list(self._work_out([[number] for number in wanted], shown))

    def list_for_answer(self, shown: Sequence[ShownResult]) -> list[Working]:
        """What the figures of the gold's answer need; it writes money in whole units, whatever the server does."""
        material = WorkingMaterial(self._search(shown))
        figures = [self._scales(Fraction(figure)) for figure in list_figures(self._task.answer)]
        return list(self._work_out([each for each in figures if not any(map(material.shows, each))], shown))

    def find_unmet(self, part: int, shown: Sequence[ShownResult]) -> Working | None:
        """The comparison that shows a part's condition not to be met; none where it is not one of figures."""
        material = WorkingMaterial(self._search(shown))
        for comparison in COMPARISONS:
            found = re.search(comparison.words, self._task.parts[part].quote)
            limit = min(find_number_notations(found[1]), default=None) if found else None
            if limit is not None:
                ways = self._compare(comparison, limit, material)
                return next((name_steps(way, f"part_{part + 1}_may_go_on") for way in ways), None)
        return None

    def _compare(self, comparison: FigureComparison, limit: Fraction, material: WorkingMaterial) -> Iterator[Working]:
        """Every figure of the answer with which the comparison fails."""
        for figure in map(Fraction, list_figures(self._task.answer)):
            for scaled, against in zip(self._scales(figure), self._scales(limit), strict=True):
                for steps, value in material.find_values(scaled) if not comparison.holds(scaled, against) else ():
                    before = material.convert(limit) if against != limit else ()
                    other = f"#{len(steps) + 1}" if before else material.numbers[limit]
                    yield (*steps, *before, call_calculator(comparison.operation, value, other))

    def _scales(self, figure: Fraction) -> list[Fraction]:
        return [figure * 100, figure] if Trait.CENTS in self._form.traits else [figure]

    def _search(self, shown: Sequence[ShownResult]) -> WorkingSearch:
        today, style = self._task.world.blueprint.today, self._form.dates.value
        return WorkingSearch(self._text, tuple(shown), today, style, Trait.CENTS in self._form.traits)

    def _work_out(self, wanted: Iterable[Sequence[Fraction]], shown: Sequence[ShownResult]) -> Iterator[Working]:
        """`wanted`: figures, each in the scales in which it may stand. What nothing gave yet is tried again later."""
        search = self._search(shown)
        for scales in wanted:
            if self._tried.get(scales[0]) not in (len(shown), DONE):
                ways = (search.find(self._name(figure, scales), figure) for figure in scales)
                found = next((way for way in ways if way is not None), None)
                self._tried[scales[0]] = len(shown) if found is None else DONE
                if found is not None:
                    yield found

    def _name(self, figure: Fraction, scales: Sequence[Fraction]) -> str:
        number = next(self._numbers)
        return f"figure_{number}_cents" if len(scales) > 1 and figure == scales[0] else f"figure_{number}"


def is_same_call(gold: GoldCall, call: IntendedCall) -> bool:
    return gold.tool == call.tool and gold.arguments == call.arguments
