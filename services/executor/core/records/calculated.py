"""Calculated values and a process's figures as fields of a call, depending on the records that they come from."""

from collections.abc import Container, Iterator, Mapping, Sequence
from decimal import Decimal

from services.executor.core.records.binding import CallView
from services.executor.core.records.record_graph import GraphNode
from services.executor.core.session.values import NamedValue, ProcessFigures, trace_operands


def rule_field_value(value: NamedValue) -> Decimal | str:
    """A value as rules see it: its number, or its text if it is a date, a truth value or a name."""
    return value.value if value.number is None else value.number


def values_as_fields(
    values: Sequence[NamedValue], view: CallView, constants: Container[str] = ()
) -> dict[str, Decimal | str]:
    """The values that rules see as fields of the call. A value must rest on what was read, and have neither the name of
    a record's field nor that of a policy's constant.
    """
    free = () if view.names_unread_record else _values_not_in_records(values, view, constants)
    return {value.name: rule_field_value(value) for value in free if is_value_about_call(value, values, view)}


def values_not_of_call(
    values: Sequence[NamedValue], view: CallView, constants: Container[str]
) -> dict[str, Decimal | str]:
    """The values that are no fields of the call, since they rest on the task's words alone or the call's record was not
    read. They may trigger a rule.
    """
    known = {one.name: one for one in values}
    free = _values_not_in_records(values, view, constants)
    return {
        one.name: rule_field_value(one) for one in free if view.names_unread_record or not _rests_on_reads(one, known)
    }


def _values_not_in_records(
    values: Sequence[NamedValue], view: CallView, constants: Container[str]
) -> Iterator[NamedValue]:
    own = (value for value in values if not value.about or value.about.casefold() in view.ids)
    yield from (one for one in own if one.name not in constants and not view.is_field_of_records(one.name))


def figures_of_call(figures: ProcessFigures, values: Sequence[NamedValue], view: CallView) -> dict[str, Decimal]:
    """The process's figures about what the call names, by their names in the template."""
    bound = [value for value in figures.computed if _is_figure_about_call(value, figures.subjects, values, view)]
    bound += [
        value
        for value in figures.stand_ins
        if (not value.about or value.about.casefold() in view.ids) and is_value_about_call(value, values, view)
    ]
    single = [value for value in bound if sum(one.figure == value.figure for one in bound) == 1]
    return {value.figure: value.number for value in single if value.number is not None}


def _is_figure_about_call(
    value: NamedValue, subjects: Mapping[str, frozenset[str]], values: Sequence[NamedValue], view: CallView
) -> bool:
    if value.about:
        return value.about.casefold() in view.ids
    known = subjects.get(value.figure) or subjects.get(value.group)
    return not known.isdisjoint(view.ids) if known else is_value_about_call(value, values, view)


def is_value_about_call(value: NamedValue, values: Sequence[NamedValue], view: CallView) -> bool:
    """Whether a value is about the call: it rests on records around the call, or on results that contain no record that
    a call could name. A value that rests on the task's words alone is about no call.

    A value that rests on records of the called kind is only about calls that name one of these.
    """
    known = {one.name: one for one in values}
    if not _rests_on_reads(value, known):
        return False
    touched = [*_records_behind_value(value, known, view)]
    of_kind = [node for node in touched if view.is_named_record(node) or view.is_other_of_called_kind(node)]
    if of_kind:
        return any(view.is_named_record(node) for node in of_kind)
    return not touched or not view.ids or any(view.is_record_around(node) for node in touched)


def _rests_on_reads(value: NamedValue, known: Mapping[str, NamedValue]) -> bool:
    """Whether an operand of the value, also by way of earlier values, comes from a result."""
    return any(operand.source == "result" for _, operand in trace_operands(value, known))


def _records_behind_value(value: NamedValue, known: Mapping[str, NamedValue], view: CallView) -> Iterator[GraphNode]:
    """Every record that contains an operand of the value, also by way of earlier values."""
    for _, operand in trace_operands(value, known):
        if operand.source == "result":
            yield from view.records_at(operand.ref, operand.path)
