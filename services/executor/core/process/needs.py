"""What a plan of a process rests on and nobody knows: which figure or field, of which change (I2)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import NamedTuple

from services.executor.core.dossier.values import Fact, NamedValue
from services.executor.core.finance.calculator import decimal_text
from services.executor.core.process.figures import Figured, Shared, figures_about, figures_seen
from services.executor.core.records.binding import bind, view_of
from services.executor.core.records.called_records import Seen, find_records, words
from services.executor.core.records.refs import literal_parts
from services.executor.core.states.template import Figure, Template, kinds
from services.executor.core.tools.classes import verb_of
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass

Left = Mapping[str, Mapping[str, Decimal]]  # by figure and record


class Need(NamedTuple):
    """``verbs``: those of the calls that it is asked for."""

    name: str
    why: str
    verbs: frozenset[str]


def resting(figure: Figure, calls: Sequence[PlannedCall]) -> list[PlannedCall]:
    """The changes that are not made without the figure unless a person says so."""
    if not figure.required:
        return []
    changes = [call for call in calls if call.tool_class is ToolClass.CHANGE]
    of_verbs = [call for call in changes if not figure.required_for or verb_of(call.tool) in figure.required_for]
    return [call for call in of_verbs if verb_of(call.tool) not in figure.not_required_for]


def ids_of(figure: Figure, records: Sequence[Seen]) -> frozenset[str]:
    """Of every record of the figure's kind."""
    wanted = kinds(figure.about)
    of_kind = (record for record in records if any(record.is_called(kind) for kind in wanted))
    return frozenset(str(record.id).casefold() for record in of_kind if record.id is not None)


def records_named(figure: Figure, arguments: JsonObject, ids: frozenset[str]) -> frozenset[str]:
    """The records of the figure's kind that a call names: by what was read, or by the name of the argument."""
    said = {str(part).casefold() for part in literal_parts(arguments)}
    keys = frozenset((*words(kind), "id") for kind in kinds(figure.about))
    return frozenset((said & ids) | {text.casefold() for text in _values_under(arguments, keys)})


def joint_remainder(figure: Figure, together: Collection[str], shared: Shared, found: Figured) -> Decimal | None:
    """What these records leave together; None if the figure is no remainder, or it is not known of all of them."""
    alone = [
        Decimal(one.value) for one in found.values if one.figure == figure.name and one.about.casefold() in together
    ]
    if not figure.remainder or shared.whole is None or len(alone) != len(together):
        return None
    return shared.whole - sum((shared.whole - one for one in alone), Decimal(0))


def joint_remainders(
    template: Template, calls: Sequence[PlannedCall], found: Figured, facts: Sequence[Fact]
) -> dict[str, dict[str, Decimal]]:
    """For each remainder and each record that draws on the same as another of the plan: what all of them leave."""
    left: dict[str, dict[str, Decimal]] = {}
    for figure in template.figures if found.shared else ():
        written = _records_written(figure, calls, facts) if figure.remainder else frozenset()
        for shared in found.shared.get(figure.name, ()):
            together = shared.ids & written
            least = joint_remainder(figure, together, shared, found) if len(together) > 1 else None
            if least is not None:
                left.setdefault(figure.name, {}).update(dict.fromkeys(together, least))
    return left


def figures_left(arguments: JsonObject, figures: Mapping[str, Decimal], left: Left) -> dict[str, Decimal]:
    """The figures as they are about a call, each remainder after all that the plan draws on the same."""
    named = {str(part).casefold() for part in literal_parts(arguments)}
    after = {
        name: min(by[one] for one in named & by.keys())
        for name, by in left.items()
        if name in figures and named & by.keys()
    }
    return {**figures, **after}


def needs(
    template: Template,
    calls: Sequence[PlannedCall],
    found: Figured,
    facts: Sequence[Fact],
    values: Sequence[NamedValue] = (),
) -> list[Need]:
    """Every figure and field that a change rests on and that is not known of it, or not of all that it names.

    ``values``: what was calculated besides; such a value of a missing figure's name stands in for the figure.
    """
    stands_in = {one.figure for one in figures_seen(template, values, found).stand_ins}
    found = found._replace(missing=tuple(one for one in found.missing if one.name not in stands_in))
    changes = [call for call in calls if call.tool_class is ToolClass.CHANGE]
    figures = [(figure, changed) for figure in template.figures if (changed := resting(figure, changes))]
    records = find_records(facts) if any(figure.about for figure, _ in figures) else ()
    figures = [(figure, some) for figure, some in figures if figure.name not in stands_in]
    asked = chain.from_iterable(_of_figure(figure, some, found, records) for figure, some in figures)
    return _join_needs([*asked, *_unread(template, changes, facts)])


def _values_under(value: Json, keys: frozenset[tuple[str, ...]], taken: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _values_under(inner, keys, words(key) in keys)
    elif isinstance(value, list):
        for item in value:
            yield from _values_under(item, keys, taken)
    elif taken and value is not None:
        yield str(value)


def _records_written(figure: Figure, calls: Sequence[PlannedCall], facts: Sequence[Fact]) -> frozenset[str]:
    ids = ids_of(figure, find_records(facts))
    return frozenset[str]().union(*(records_named(figure, call.arguments, ids) for call in resting(figure, calls)))


def _of_figure(
    figure: Figure, changes: Sequence[PlannedCall], found: Figured, records: Sequence[Seen]
) -> Iterator[Need]:
    ids = ids_of(figure, records)
    subjects = found.subjects.get(figure.name, frozenset())
    named = {call.call_id: records_named(figure, call.arguments, ids) for call in changes}
    for call in changes:
        if why := _why_unknown(figure.name, call, named[call.call_id], subjects, found):
            yield Need(figure.name, why, frozenset({verb_of(call.tool)}))
    written = frozenset().union(*named.values())
    for shared in found.shared.get(figure.name, ()):
        if why := _why_too_much(figure, sorted(shared.ids & written), shared, found):
            yield Need(figure.name, why, frozenset(verb_of(call.tool) for call in changes))


def _why_too_much(figure: Figure, together: Sequence[str], shared: Shared, found: Figured) -> str:
    """Empty for one alone, and where what all of them leave is known and is not less than nothing."""
    if len(together) < 2:
        return ""
    left = joint_remainder(figure, together, shared, found)
    if left is not None and left >= 0:
        return ""
    why = f"{figure.name} is known of each alone, and {', '.join(together)} draw on the same"
    return why if left is None else f"{why}: {decimal_text(left)} is left after all of them"


def _why_unknown(name: str, call: PlannedCall, named: frozenset[str], subjects: frozenset[str], found: Figured) -> str:
    """Empty where the figure is known of the one record that the call is about."""
    if len(named) > 1:
        return f"{name} is known of one record alone, and {call.tool} names {', '.join(sorted(named))}"
    if strangers := named - subjects if subjects else ():
        return f"{name} is not known of {', '.join(strangers)}"
    if name in figures_about(found.values, [str(part) for part in literal_parts(call.arguments)]):
        return ""
    missing = [one for one in found.missing if one.name == name]
    own = [one for one in missing if not one.about or one.about.casefold() in named] or missing
    return "; ".join(one.text for one in own) or f"{name} is not known of what {call.tool} is about"


def _unread(template: Template, changes: Sequence[PlannedCall], facts: Sequence[Fact]) -> Iterator[Need]:
    """The fields that rules of the process decide by, of which no record around a call says anything."""
    for call in changes if template.must_know else ():
        wanted_names = [name for wanted in template.must_know for name in wanted.split("|")]
        bound = bind(view_of(call.tool, call.arguments, facts), wanted_names)
        known = {name for one in (bound.fields, *bound.farther) for name, value in one.items() if value is not None}
        for wanted in template.must_know:
            names = wanted.split("|")
            if known.isdisjoint(names):
                yield Need(
                    names[0], f"nothing was read that says the {_join_names(names)}", frozenset({verb_of(call.tool)})
                )


def _join_names(names: Sequence[str]) -> str:
    return " or ".join(name.replace("_", " ") for name in names)


def _join_needs(asked: Sequence[Need]) -> list[Need]:
    """One for each name, with all reasons and all verbs."""
    by_name: dict[str, Need] = {}
    for one in asked:
        before = by_name.get(one.name, Need(one.name, "", frozenset()))
        whys: Mapping[str, None] = dict.fromkeys(
            text for text in (*before.why.split("; "), *one.why.split("; ")) if text
        )
        by_name[one.name] = Need(one.name, "; ".join(whys), before.verbs | one.verbs)
    return [*by_name.values()]
