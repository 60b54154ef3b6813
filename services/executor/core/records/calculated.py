"""What was calculated, as fields of a call: a model's values and a process's figures, by what they rest on."""

from collections.abc import Container, Iterator, Mapping, Sequence
from decimal import Decimal

from services.executor.core.records.binding import CallView
from services.executor.core.records.record_graph import GraphNode
from services.executor.core.session.values import NamedValue, Operand, ProcessFigures


def field_of(value: NamedValue) -> Decimal | str:
    """A value as rules see it: its number, or its text if it is a date, a truth or a name."""
    return value.value if value.number is None else value.number


def as_fields(values: Sequence[NamedValue], view: CallView, constants: Container[str] = ()) -> dict[str, Decimal | str]:
    """The values that rules see as fields of the call, because no record that was read has a field of that name; none
    that rests on nothing that was read, nor one called as a policy's constant.
    """
    free = () if view.names_unread else _free_values(values, view, constants)
    return {value.name: field_of(value) for value in free if speaks_about(value, values, view)}


def values_of_words(
    values: Sequence[NamedValue], view: CallView, constants: Container[str]
) -> dict[str, Decimal | str]:
    """The values that are no fields of the call, since they rest on the task's words alone or nobody read the called
    record: they may set a rule off.
    """
    known = {one.name: one for one in values}
    free = _free_values(values, view, constants)
    return {one.name: field_of(one) for one in free if view.names_unread or not _rests_on_reads(one, known)}


def _free_values(values: Sequence[NamedValue], view: CallView, constants: Container[str]) -> Iterator[NamedValue]:
    own = (value for value in values if not value.about or value.about.casefold() in view.ids)
    yield from (one for one in own if one.name not in constants and not view.is_field_of_records(one.name))


def figures_of_call(figures: ProcessFigures, values: Sequence[NamedValue], view: CallView) -> dict[str, Decimal]:
    """The process's figures about what the call names, by their names in the template."""
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
    """Whether a value is about a call: it rests on records around it, or on results without any that a call could name.
    What rests on the task's words alone is about none.

    What rests on records of the called one's kind speaks only for those calls that name one of these.
    """
    known = {one.name: one for one in values}
    if not _rests_on_reads(value, known):
        return False
    touched = [*_records_under(value, known, view)]
    of_kind = [node for node in touched if view.is_own(node) or view.is_sibling(node)]
    if of_kind:
        return any(view.is_own(node) for node in of_kind)
    return not touched or not view.ids or any(view.is_around(node) for node in touched)


def _rests_on_reads(value: NamedValue, known: Mapping[str, NamedValue]) -> bool:
    """Whether any operand of the value stands in a result, also by way of earlier values."""
    return any(operand.source == "result" for operand in _operands_under(value, known))


def _operands_under(value: NamedValue, known: Mapping[str, NamedValue]) -> Iterator[Operand]:
    for operand in value.operands:
        if operand.source == "value" and operand.ref in known and operand.ref != value.name:
            rest = {name: one for name, one in known.items() if name != value.name}
            yield from _operands_under(known[operand.ref], rest)
        else:
            yield operand


def _records_under(value: NamedValue, known: Mapping[str, NamedValue], view: CallView) -> Iterator[GraphNode]:
    """Every record in which an operand of the value stands, also by way of earlier values."""
    for operand in _operands_under(value, known):
        if operand.source == "result":
            yield from view.records_at(operand.ref, operand.path)
