"""Arguments that a figure of the process governs: a change that gives one another value is for a person (I2)."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from services.executor.core.dossier.dossier import NamedValue
from services.executor.core.finance.calculators import decimal_text
from services.executor.core.finance.figures import figure, number_bearing_tokens
from services.executor.core.process.figures import figures_about
from services.executor.core.records.called_records import aliases, words
from services.executor.core.records.refs import literal_parts
from services.executor.core.states.figures import Figure
from services.executor.core.states.patterns import Governed, governed
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, dumps
from shared.domain.words import ToolClass

_SHOWN = 80


def deviations(
    figures: Sequence[Figure], calls: Sequence[PlannedCall], values: Sequence[NamedValue]
) -> Mapping[str, tuple[str, ...]]:
    """For each figure what a plan's changes say instead of it; one that is not known of a call governs none of it."""
    wanted = {one.name: [governed(text) for text in one.governs] for one in figures if one.governs}
    found: dict[str, tuple[str, ...]] = {}
    for call in (call for call in calls if call.tool_class is ToolClass.CHANGE):
        known = figures_about(values, [str(part) for part in literal_parts(call.arguments)])
        for name in (name for name in wanted if name in known):
            given = _given(call.arguments, wanted[name], words(call.tool))
            others = [_told(call.tool, said, value) for said, value in given if not _agrees(said, value, known[name])]
            if others:
                before = found.get(name, (f"the process's own {name} is {decimal_text(known[name])}",))
                found[name] = (*before, *others)
    return found


def _given(value: Json, wanted: Sequence[Governed], tool: Sequence[str]) -> Iterator[tuple[str, Json]]:
    """The governed arguments of a call with their names, however deep they stand."""
    if isinstance(value, list):
        for item in value:
            yield from _given(item, wanted, tool)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if any(_governs(one, name, tool) for one in wanted):
                yield name, inner
            else:
                yield from _given(inner, wanted, tool)


def _governs(one: Governed, name: str, tool: Sequence[str]) -> bool:
    """Whether the name is the governed one, or a common other name of it, in a tool that it is governed in."""
    if one.kinds and not any(set(words(kind)) <= set(tool) for kind in one.kinds):
        return False
    plain = _whole(words(name))
    return any(plain == words(known) for known in (one.argument, *aliases(one.argument)))


def _agrees(name: str, value: Json, known: Decimal) -> bool:
    """Whether an argument is the figure, in whole units or in cents; what has no figure in it says nothing of one."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, dict | list):
        return False
    said = figure(value)
    if said is None:
        return not (isinstance(value, str) and number_bearing_tokens(value))
    return said == (known * 100 if _whole(words(name)) != words(name) else known)


def _whole(said: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a name without those that say it is in cents."""
    return said[:-1] if said[-1:] == ("cent",) else said[:-2] if said[-2:] == ("minor", "unit") else said


def _told(tool: str, argument: str, value: Json) -> str:
    said = value if isinstance(value, str) else dumps(value)
    return f"{tool} has {argument} {said[:_SHOWN]}"
