"""Which calculated values speak about a call: those that were not worked out from another record of its kind."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import NamedTuple

from services.executor.core.dossier.values import NamedValue, Operand
from services.executor.core.records.binding import CallView
from services.executor.core.records.called_records import aliases, words
from services.executor.core.records.record_graph import GraphNode


def field_of(value: NamedValue) -> Decimal | str:
    """What a rule sees of a value: its number, or the text of one that is a date, a truth or a name."""
    return value.value if value.number is None else value.number


def calculated_fields(values: Sequence[NamedValue], view: CallView) -> dict[str, Decimal | str]:
    """The values that rules see as fields of the call: no record that was read has a field of that name."""
    own = (value for value in values if not value.about or value.about.casefold() in view.ids)
    free = [value for value in own if not view.is_field_of_records(value.name)]
    return {value.name: field_of(value) for value in free if speaks_about(value, values, view)}


class ProcessFigures(NamedTuple):
    """``own``: as the executor worked them out. ``stand_ins``: calculated values in the place of those it could not.

    ``subjects``: by figure, the records that the executor's own are about.
    """

    own: tuple[NamedValue, ...] = ()
    stand_ins: tuple[NamedValue, ...] = ()
    subjects: Mapping[str, frozenset[str]] = MappingProxyType({})


def figures_of_call(figures: ProcessFigures, values: Sequence[NamedValue], view: CallView) -> dict[str, Decimal]:
    """The process's figures, by their names in its file, that are about what the call names."""
    bound = [value for value in figures.own if _is_about(value, figures.subjects, values, view)]
    bound += [
        value
        for value in figures.stand_ins
        if (not value.about or value.about.casefold() in view.ids) and speaks_about(value, values, view)
    ]
    single = [value for value in bound if sum(one.figure == value.figure for one in bound) == 1]
    return {value.figure: value.number for value in single if value.number is not None}


def _is_about(
    value: NamedValue, subjects: Mapping[str, frozenset[str]], values: Sequence[NamedValue], view: CallView
) -> bool:
    if value.about:
        return value.about.casefold() in view.ids
    known = subjects.get(value.figure) or subjects.get(value.group)
    return not known.isdisjoint(view.ids) if known else speaks_about(value, values, view)


def speaks_about(value: NamedValue, values: Sequence[NamedValue], view: CallView) -> bool:
    """Whether a value is about a call: it rests on none but records around it, or on none that any call could name.

    What rests on records of the called one's kind speaks only for those calls that name one of these.
    """
    touched = [*_records_under(value, {one.name: one for one in values}, view)]
    of_kind = [node for node in touched if view.is_own(node) or view.is_sibling(node)]
    if of_kind:
        return any(view.is_own(node) for node in of_kind)
    return not touched or not view.names_records or any(view.is_around(node) for node in touched)


def adopt_values(values: Sequence[NamedValue], names: Mapping[str, Sequence[str]]) -> tuple[NamedValue, ...]:
    """The values, those marked as figures that have the name of one which the executor could not work out.

    ``names``: by such a figure, the records that it would have been about; an empty text for the only one there is.
    """
    return tuple(_as_figure(value, names) for value in values)


def _as_figure(value: NamedValue, names: Mapping[str, Sequence[str]]) -> NamedValue:
    if value.figure:
        return value
    for name, subjects in names.items():
        for about in subjects:
            called = {words(f"{one}_{about}" if about else one) for one in (name, *aliases(name))}
            if words(value.name) in called:
                return value.model_copy(update={"figure": name, "about": about})
    return value


def _records_under(value: NamedValue, known: Mapping[str, NamedValue], view: CallView) -> Iterator[GraphNode]:
    """Every record in which an operand stands, of earlier values too."""
    for operand in value.operands:
        if operand.source == "value" and operand.ref in known and operand.ref != value.name:
            rest = {name: one for name, one in known.items() if name != value.name}
            yield from _records_under(known[operand.ref], rest, view)
        elif operand.source == "result":
            yield from view.records_at(operand.ref, _place(operand))


def _place(operand: Operand) -> str:
    return operand.path.rpartition(".")[0] if not operand.path.endswith("]") else operand.path
