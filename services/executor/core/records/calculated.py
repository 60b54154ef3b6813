"""Calculated values and a process's figures as fields of a call, depending on the records that they come from."""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from decimal import Decimal

from services.executor.core.records.binding import CallView
from services.executor.core.session.values import NamedValue, Operand, ProcessFigures, trace_operands


def convert_to_rule_value(value: NamedValue) -> Decimal | str:
    """A value as rules see it: its number, or its text if it is a date, a truth value or a name."""
    return value.value if value.number is None else value.number


def values_as_fields(
    values: Sequence[NamedValue], view: CallView, constants: Container[str] = ()
) -> dict[str, Decimal | str]:
    """The calculated values that rules see as fields of the call, ``{name: number or text}``; empty if its record is
    unread. Each must be about the call, and have no name of its fields, of records' fields or of ``constants``.
    """
    free_values = () if view.named.unread_subjects else _list_values_named_like_no_field(values, view, constants)
    return {
        value.name: convert_to_rule_value(value) for value in free_values if is_value_about_call(value, values, view)
    }


def list_values_unrelated_to_call(
    values: Sequence[NamedValue], view: CallView, constants: Container[str]
) -> dict[str, Decimal | str]:
    """The calculated values, as ``{name: number or text}``, that may trigger a rule though they are no fields of the
    call: those that were calculated from the task's words alone; all, if the call is about a record that nobody read.
    None of them is about another record, or has the name of a field or of ``constants``.
    """
    free_values = _list_values_named_like_no_field(values, view, constants)
    if not view.named.unread_subjects:
        free_values = (value for value in free_values if not _operands_from_reads(value, values))
    return {value.name: convert_to_rule_value(value) for value in free_values}


def _list_values_named_like_no_field(
    values: Sequence[NamedValue], view: CallView, constants: Container[str]
) -> Iterator[NamedValue]:
    """Yields the values that may be about the call and are named like no constant and no field of it or of a record."""
    for value in values:
        if (
            value.name not in constants
            and _may_be_about_call(value, view)
            and not view.is_field_of_call_or_records(value.name)
        ):
            yield value


def _may_be_about_call(value: NamedValue, view: CallView) -> bool:
    """Whether a value is about no record in particular, or about one that the call names."""
    return not value.about or value.about.casefold() in view.ids


def figures_of_call(figures: ProcessFigures, values: Sequence[NamedValue], view: CallView) -> dict[str, Decimal]:
    """``{name in the template: number}`` of the figures about a record that the call names. A name with several figures
    is left out.
    """
    of_call = [value for value in figures.computed if _is_figure_about_call(value, figures.subjects, values, view)]
    stand_ins = (value for value in figures.stand_ins if _may_be_about_call(value, view))
    of_call += [value for value in stand_ins if is_value_about_call(value, values, view)]
    counts = Counter(value.figure for value in of_call)
    return {value.figure: value.number for value in of_call if value.number is not None and counts[value.figure] == 1}


def _is_figure_about_call(
    value: NamedValue, subjects: Mapping[str, frozenset[str]], values: Sequence[NamedValue], view: CallView
) -> bool:
    if value.about:
        return value.about.casefold() in view.ids
    subject_ids = subjects.get(value.figure) or subjects.get(value.group)
    return not subject_ids.isdisjoint(view.ids) if subject_ids else is_value_about_call(value, values, view)


def is_value_about_call(value: NamedValue, values: Sequence[NamedValue], view: CallView) -> bool:
    """Whether a value is about the call: it rests on records around the call; or on results of which no record contains
    its operands; or on any result, if the call names no record. One that rests on the task's words alone is about none.
    A value that rests on records of the called kind is only about calls that name one of these.
    """
    operands = _operands_from_reads(value, values)
    if not operands:
        return False
    nodes = [node for operand in operands for node in view.find_records_at(operand.ref, operand.path)]
    nodes_of_kind = [node for node in nodes if view.is_named_record(node) or view.is_other_of_called_kind(node)]
    if nodes_of_kind:
        return any(view.is_named_record(node) for node in nodes_of_kind)
    return not nodes or not view.ids or any(node in view.records_around for node in nodes)


def _operands_from_reads(value: NamedValue, values: Sequence[NamedValue]) -> list[Operand]:
    """The operands of the value, also by way of earlier values, that come from a result."""
    operands = (operand for _, operand in trace_operands(value, {other.name: other for other in values}))
    return [operand for operand in operands if operand.source == "result"]
