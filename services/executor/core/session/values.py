"""What a run found and calculated: the task's parts, tool results by reference, figures with their operands."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Literal, NamedTuple

from shared.contracts.base import Contract
from shared.contracts.made_tool import MadeToolReference
from shared.contracts.outcome import ThresholdKind
from shared.domain.exact_json import Json, JsonObject, loads


def threshold_kind_of(name: str) -> ThresholdKind:
    """The kind of threshold that a name means: a variance, an SLA credit, or a policy limit."""
    words = set(re.findall(r"[a-z]+", name.lower().replace("_", " ")))
    if "variance" in words:
        return ThresholdKind.VARIANCE
    return ThresholdKind.SLA_CREDIT if {"sla", "credit"} <= words else ThresholdKind.POLICY_LIMIT


class Fact(Contract):
    """One tool result, by reference. ``ok`` is false where the server answered with an error or only an echo.

    ``note``: what is to be said of a list that came in parts: how many, and why rows are missing if they are.
    ``by_machine``: nobody but the machine asked for it, to know what a call names. ``again``: it did since the task's
    own writes, to know what they left.
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
        """What was called: the same for every sight of one read."""
        return (self.connection_id, self.tool, self.arguments_json)

    @property
    def result(self) -> Json:
        return loads(self.result_json)


class Operand(Contract):
    """The source of one operand. ``task``: a text of the task or of an earlier turn of the user, as it is written.

    ``today``: the day that the task goes by, in ``literal``. ``constant``: a number that is so by definition (12
    months), or a word that a field is compared with. ``row``: another field of the row that a condition is about.
    """

    source: Literal["result", "task", "value", "today", "constant", "row"]
    ref: str = ""
    path: str = ""
    literal: str = ""

    def as_json(self) -> Json:
        return {"source": self.source, "ref": self.ref, "path": self.path, "literal": self.literal}


class RowCondition(Contract):
    """A condition on the rows of a list: the field has to stand in this relation to ``against``."""

    field: str
    sign: str
    against: Operand

    def as_json(self) -> Json:
        return {"field": self.field, "is": self.sign, "against": self.against.as_json()}


class NamedValue(Contract):
    """A figure with its operation, operands and value: a decimal, an ISO date, true or false, or a text.

    ``kind`` says which of these; ``groups`` is a JSON object of decimal texts by group. ``currency`` and ``unit`` (such
    as cents or minutes) are empty where nothing states them. ``where`` are conditions on the rows of list operands,
    ``by`` the field that rows are grouped by, ``give`` the field that a sought row is named by, and ``date_order`` how
    dates such as 03/04/2026 are read. ``note`` says what was left out, or what else would have fitted.

    ``figure``: its name in the process file, where the executor computed it itself; ``about`` then is the id of the
    record that it is about, if there are several, and ``group`` the figure that it is one part of. ``made_by``: the
    made tool that the operation is, if it is one.
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
        made: JsonObject = {"made_by": self.made_by.model_dump(mode="json", exclude={"v"})} if self.made_by else {}
        where: JsonObject = {"where": [condition.as_json() for condition in self.where]} if self.where else {}
        texts = {"currency": self.currency, "unit": self.unit, "by": self.by, "give": self.give, "note": self.note}
        texts |= {"kind": self.kind if self.kind != "decimal" else "", "date_order": self.date_order}
        more: JsonObject = {name: text for name, text in texts.items() if text}
        return {
            "name": self.name, "operation": self.operation, "operands": operands, "value": self.value,
            **more, **where, **made,
        }  # fmt: skip


FIND_OUT: Literal["find out"] = "find out"
DO: Literal["do"] = "do"


class PartOfTask(Contract):
    """One part of a task, numbered from 1, in the task's own words.

    ``unmet`` says which condition of the task itself was calculated and does not hold: the part then has nothing to do.
    ``is_excused``: whether the task's words have such a condition; what was left without one is not done.
    ``unanswered``, of a part to find out: why it has no answer.
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
    """A figure that could not be computed. ``about``: the record it would have been about, where there are several."""

    name: str
    why: str
    about: str = ""

    @property
    def text(self) -> str:
        return f"{self.name}{f' of {self.about}' if self.about else ''} could not be computed: {self.why}"


class SharedOperand(NamedTuple):
    """Records whose differences have an operand in common. ``whole``: the amount that all are taken from."""

    ids: frozenset[str]
    whole: Decimal | None


class ProcessFigures(NamedTuple):
    """A process's figures. ``own``: those that the executor computed. ``stand_ins``: calculated values in place of
    those it could not.

    ``subjects``: by figure, the records that the executor's own are about.
    """

    own: tuple[NamedValue, ...] = ()
    stand_ins: tuple[NamedValue, ...] = ()
    subjects: Mapping[str, frozenset[str]] = MappingProxyType({})


class FigureResults(NamedTuple):
    """The figures that were computed, and those that could not be."""

    values: tuple[NamedValue, ...] = ()
    missing: tuple[MissingFigure, ...] = ()
    subjects: Mapping[str, frozenset[str]] = MappingProxyType({})  # by figure: the ids of the records it is about
    shared: Mapping[str, tuple[SharedOperand, ...]] = MappingProxyType({})  # by figure


def with_figures(values: Sequence[NamedValue], found: FigureResults) -> tuple[NamedValue, ...]:
    """The computed figures, then the model's values; of one name, the executor's figure counts."""
    names = {value.name for value in found.values}
    return (*found.values, *(value for value in values if not value.figure and value.name not in names))


def without_values(values: Sequence[NamedValue], names: Sequence[str]) -> tuple[NamedValue, ...]:
    return tuple(value for value in values if value.name not in names)


def find_figures_about(values: Sequence[NamedValue], named: Sequence[str]) -> dict[str, Decimal]:
    """The figures of one of the ``named`` records, or of none, by name; none that there are several of."""
    own = {name.casefold() for name in named}
    said = [value for value in values if value.figure and (not value.about or value.about.casefold() in own)]
    single = [value for value in said if sum(one.figure == value.figure for one in said) == 1]
    return {value.figure: Decimal(value.value) for value in single}


_BLANKS = re.compile(r"[\s\u00a0]+")


def parts_to_do(parts: Iterable[PartOfTask]) -> tuple[PartOfTask, ...]:
    return tuple(part for part in parts if part.is_to_do)


def normalize_quote(text: str) -> str:
    """A text without what may differ between a quote and its source: case, white space, and the marks at its ends."""
    return _BLANKS.sub(" ", text).strip(" .,;:!?\"'\u201c\u201d\u2018\u2019").casefold()


def open_questions(parts: Iterable[PartOfTask]) -> tuple[PartOfTask, ...]:
    """The parts to find out that were not left."""
    return tuple(part for part in parts if not (part.is_to_do or part.unmet or part.unanswered))


def mark_unanswered(parts: Sequence[PartOfTask], reasons: Mapping[int, str]) -> tuple[PartOfTask, ...]:
    """The parts, of which those to find out are marked as unanswered with the reasons given by their numbers."""
    return tuple(
        part.model_copy(update={"unanswered": reasons[part.number]})
        if part.number in reasons and not part.is_to_do
        else part
        for part in parts
    )


def parts_with_conditions(
    parts: Sequence[PartOfTask], unmet: Mapping[int, str], unexcused: Collection[int] = ()
) -> tuple[PartOfTask, ...]:
    left = ({"unmet": unmet.get(part.number, ""), "is_excused": part.number not in unexcused} for part in parts)
    return tuple(part.model_copy(update=update) for part, update in zip(parts, left, strict=True))
