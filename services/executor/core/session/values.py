"""What a run found and computed: the task's parts, tool results with references, and figures with their operands."""

import re
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Literal, NamedTuple

from shared.contracts.base import Contract
from shared.contracts.made_tool import MadeToolReference
from shared.contracts.outcome import ThresholdKind
from shared.domain.exact_json import Json, JsonObject, loads


def classify_threshold_kind(name: str) -> ThresholdKind:
    """The kind of threshold that a name or sentence refers to."""
    words = set(re.findall(r"[a-z]+", name.lower().replace("_", " ")))
    if "variance" in words:
        return ThresholdKind.VARIANCE
    return ThresholdKind.SLA_CREDIT if {"sla", "credit"} <= words else ThresholdKind.POLICY_LIMIT


class Fact(Contract):
    """One tool result, referred to by ``ref``. ``ok``: false if the server answered with an error, or only repeated the
    arguments.

    ``note``: a remark on an incomplete list. ``by_machine``: the executor made the read by itself. ``again``: the read
    repeats an earlier one after the task's own writes.
    """

    ref: str
    connection_id: str
    tool: str
    arguments_json: str
    result_json: str
    ok: bool = True
    note: str = ""
    by_machine: bool = False
    again: bool = False

    @property
    def call(self) -> tuple[str, str, str]:
        """Identifies the call, equal for all results of one read: its connection, tool and arguments as JSON."""
        return (self.connection_id, self.tool, self.arguments_json)

    @property
    def result(self) -> Json:
        return loads(self.result_json)


_INDEX_BRACKET_PATTERN = re.compile(r"\[(?=(?:\*|\d+)\])")


def describe_field_place(ref: str, path: str) -> str:
    """The path of a field for people: reference and path, such as ``r3 messages[0].body``."""
    return f"{ref} {path}".strip()


def is_trusted_place(place: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns covers the place; ``* messages[*].body`` means the bodies of all messages."""
    return any(fnmatchcase(place, _INDEX_BRACKET_PATTERN.sub("[[]", pattern)) for pattern in patterns)


class Operand(Contract):
    """The source of one operand. ``result``: the field ``path`` of the fact ``ref``. ``value``: the named value
    ``ref``. The others have ``literal``. ``task``: a text of the task, or of an earlier turn of the user.

    ``today``: the day on which the task is read. ``constant``: a number by definition (12 months), or a word to compare
    a field with. ``row``: another field (``path``) of the row that a condition is about.
    """

    source: Literal["result", "task", "value", "today", "constant", "row"]
    ref: str = ""
    path: str = ""
    literal: str = ""

    def as_json(self) -> Json:
        return {"source": self.source, "ref": self.ref, "path": self.path, "literal": self.literal}


class RowCondition(Contract):
    """A condition on the rows of a list: the field must have this relation to ``against``."""

    field: str
    sign: str
    against: Operand

    def as_json(self) -> Json:
        return {"field": self.field, "is": self.sign, "against": self.against.as_json()}


class NamedValue(Contract):
    """A figure with its operation, operands and value: a decimal, an ISO date, true or false, or a text.

    ``kind`` says which; ``groups`` is a JSON object of decimal texts by group. ``currency`` and ``unit`` (such as cents
    or minutes) are empty if unknown. ``where``: conditions on the rows of list operands; ``by``: the field that rows
    are grouped by; ``give``: the field that identifies a row that was searched for; ``date_order``: how dates such as
    03/04/2026 are read. ``note``: what was left out, or what else would have matched.

    ``figure``: its name in the process template, if the executor computed it by itself. ``about``: then the id of its
    record, if there are several; ``group``: the figure that it is a part of. ``made_by``: the made tool that computed
    it.
    """

    name: str
    operation: str
    operands: tuple[Operand, ...]
    value: str
    figure: str = ""
    about: str = ""
    group: str = ""
    made_by: MadeToolReference | None = None
    kind: Literal["decimal", "date", "boolean", "text", "groups"] = "decimal"
    currency: str = ""
    unit: str = ""
    where: tuple[RowCondition, ...] = ()
    by: str = ""
    give: str = ""
    date_order: Literal["", "day_first", "month_first"] = ""
    note: str = ""

    @property
    def number(self) -> Decimal | None:
        """The value if it is a decimal, else None."""
        return Decimal(self.value) if self.kind == "decimal" else None

    def as_json(self) -> Json:
        operands: list[Json] = [operand.as_json() for operand in self.operands]
        tool: JsonObject = {"made_by": self.made_by.model_dump(mode="json", exclude={"v"})} if self.made_by else {}
        where: JsonObject = {"where": [condition.as_json() for condition in self.where]} if self.where else {}
        texts = {"currency": self.currency, "unit": self.unit, "by": self.by, "give": self.give, "note": self.note}
        texts |= {"kind": self.kind if self.kind != "decimal" else "", "date_order": self.date_order}
        optional_texts: JsonObject = {name: text for name, text in texts.items() if text}
        return {
            "name": self.name, "operation": self.operation, "operands": operands, "value": self.value,
            **optional_texts, **where, **tool,
        }  # fmt: skip


FIND_OUT: Literal["find out"] = "find out"
DO: Literal["do"] = "do"


class PartOfTask(Contract):
    """One part of a task, numbered from 1, quoted in the task's own words.

    ``unmet``: the condition that was calculated and does not hold, so that the part needs nothing done. ``is_excused``:
    whether the task states such a condition; a part left undone without one counts as not done. ``unanswered``: why a
    part to find out has no answer.
    """

    number: int
    quote: str
    kind: Literal["find out", "do"]
    unmet: str = ""
    is_excused: bool = True
    unanswered: str = ""

    @property
    def is_to_do(self) -> bool:
        return self.kind == DO

    def as_json(self) -> Json:
        return {"part": self.number, "kind": self.kind, "quote": self.quote}


class MissingFigure(NamedTuple):
    """A figure that could not be computed. ``about``: the record that it would be about, if there are several."""

    name: str
    reason: str
    about: str = ""

    @property
    def text(self) -> str:
        return f"{self.name}{f' of {self.about}' if self.about else ''} could not be computed: {self.reason}"


class SharedOperand(NamedTuple):
    """An operand that several subjects of a figure share, such as one budget of two orders. ``ids``: of the subjects;
    ``minuend``: its value, if every subject's figure is a difference that starts from it; else None.
    """

    ids: frozenset[str]
    minuend: Decimal | None


class ProcessFigures(NamedTuple):
    """The figures of a process. ``computed``: by the executor. ``stand_ins``: values that the model had calculated,
    in place of those that the executor could not compute.

    ``subjects``: by figure, the ids of the records that the executor's figures are about.
    """

    computed: tuple[NamedValue, ...] = ()
    stand_ins: tuple[NamedValue, ...] = ()
    subjects: Mapping[str, frozenset[str]] = MappingProxyType({})


class FigureResults(NamedTuple):
    """The figures that were computed, and those that could not be."""

    values: tuple[NamedValue, ...] = ()
    missing: tuple[MissingFigure, ...] = ()
    subjects: Mapping[str, frozenset[str]] = MappingProxyType({})  # by figure: the ids of the records it is about
    shared: Mapping[str, tuple[SharedOperand, ...]] = MappingProxyType({})  # by figure


def with_figures(values: Sequence[NamedValue], results: FigureResults) -> tuple[NamedValue, ...]:
    """The computed figures, then the model's values; of equal names the computed figure counts."""
    names = {value.name for value in results.values}
    return (*results.values, *(value for value in values if not value.figure and value.name not in names))


def trace_operands(value: NamedValue, values: Mapping[str, NamedValue]) -> Iterator[tuple[str, Operand]]:
    """Yields ``(operation, operand)`` for each operand of the value, then for those of the values that it was
    calculated from. ``values``: by name. No value is gone through twice.
    """
    reached_names = {value.name}
    waiting = deque([value])
    while waiting:
        traced = waiting.popleft()
        for operand in traced.operands:
            yield traced.operation, operand
            if operand.source == "value" and operand.ref in values and operand.ref not in reached_names:
                reached_names.add(operand.ref)
                waiting.append(values[operand.ref])


def without_values(values: Sequence[NamedValue], names: Sequence[str]) -> tuple[NamedValue, ...]:
    return tuple(value for value in values if value.name not in names)


def find_figures_about(values: Sequence[NamedValue], record_ids: Sequence[str]) -> dict[str, Decimal]:
    """The process's figures about the records with these ids, as ``{figure name: value}``.

    A figure about no particular record is always among them. A figure with several values is left out.
    """
    ids = {"", *(record_id.casefold() for record_id in record_ids)}  # "": of no record
    figures = [value for value in values if value.figure and value.about.casefold() in ids]
    counts = Counter(value.figure for value in figures)
    return {value.figure: Decimal(value.value) for value in figures if counts[value.figure] == 1}


_WHITE_SPACE_PATTERN = re.compile(r"[\s\u00a0]+")


def list_parts_to_do(parts: Iterable[PartOfTask]) -> tuple[PartOfTask, ...]:
    return tuple(part for part in parts if part.is_to_do)


def normalize_quote(text: str) -> str:
    """The text without differences between a quote and its source: case, white space, and punctuation at both ends."""
    return _WHITE_SPACE_PATTERN.sub(" ", text).strip(" .,;:!?\"'\u201c\u201d\u2018\u2019").casefold()


def list_open_questions(parts: Iterable[PartOfTask]) -> tuple[PartOfTask, ...]:
    """The parts to find out that were neither left undone for a condition nor marked as unanswered."""
    return tuple(part for part in parts if not (part.is_to_do or part.unmet or part.unanswered))


def mark_unanswered(parts: Sequence[PartOfTask], reasons: Mapping[int, str]) -> tuple[PartOfTask, ...]:
    """The parts, with reasons set for those to find out that have no answer. ``reasons``: by part number."""
    return tuple(
        part.model_copy(update={"unanswered": reasons[part.number]})
        if part.number in reasons and not part.is_to_do
        else part
        for part in parts
    )


def mark_unmet_conditions(
    parts: Sequence[PartOfTask], unmet: Mapping[int, str], unexcused: Collection[int] = ()
) -> tuple[PartOfTask, ...]:
    """The parts, with ``unmet`` (by part number, the condition that does not hold) set in them, and cleared in all
    other parts. A part left undone for its condition counts as done, unless its number is in ``unexcused``.
    """
    updates = ({"unmet": unmet.get(part.number, ""), "is_excused": part.number not in unexcused} for part in parts)
    return tuple(part.model_copy(update=update) for part, update in zip(parts, updates, strict=True))
