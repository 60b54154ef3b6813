"""Finds where each argument of a call comes from: task, earlier turns, answers, calculations, schema."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from services.executor.core.figures.arguments import (
    STRICT,
    ArgumentHints,
    ArgumentKind,
    FieldStanding,
    hints_of,
    kind_of_argument,
)
from services.executor.core.figures.dates import read_machine_moment
from services.executor.core.figures.facts import FactOrigin, FactsIndex, is_supported
from services.executor.core.figures.identifiers import identifier_key, whole_form
from services.executor.core.figures.mentions import Mentions, find_mentions
from services.executor.core.figures.numbers import Number, NumberMention, read_number
from services.executor.core.figures.vocabulary import Unit
from shared.domain.exact_json import Json, JsonObject


class StatedFigure(NamedTuple):
    """A number (``values``) or an identifier (``code``) with its place in an answer."""

    start: int
    end: int
    text: str
    values: tuple[Number, ...] = ()
    code: str = ""
    unit: Unit | None = None


_LIST_NUMBER = re.compile(r"^[ \t>*_#-]*(\d{1,3})[.)](?=\s)", re.MULTILINE)
_COUNTED = re.compile(r"(?:\bstep|\bno\.|\bnumber|\bitem|\bschritt|\bpunkt|\bétape|\bpoint)\s+$", re.IGNORECASE)
_VERSION = re.compile(r"v?\d+(?:\.\d+){2,}[\w.-]*|v\d+(?:\.\d+)*", re.IGNORECASE)
_VERSION_BEFORE = re.compile(r"(?:\bversion|\brelease|\bpython|\bv\.)\s*$", re.IGNORECASE)


def numbers_of_answer(text: str, now: datetime) -> tuple[StatedFigure, ...]:
    """The figures of an answer in their order, without numbered lists, dates, times of day, ordinals and versions."""
    read = find_mentions(text, now)
    listed = {match.start(1) for match in _LIST_NUMBER.finditer(text)}
    numbers = [
        StatedFigure(one.start, one.end, one.text, one.values, unit=one.unit)
        for one in read.numbers
        if one.start not in listed and _is_figure(one, text)
    ]
    starts = {one.start for one in read.numbers}
    codes = [
        StatedFigure(one.start, one.end, one.text, code=one.text)
        for one in read.identifiers
        if one.start not in starts and one.start not in listed and not _VERSION.fullmatch(one.text)
    ]
    return tuple(sorted((*numbers, *codes), key=lambda one: one.start))


def _is_figure(mention: NumberMention, text: str) -> bool:
    if mention.is_everyday:
        return mention.money is not None or mention.unit is not None
    before = text[max(0, mention.start - 12) : mention.start]
    return not (_VERSION_BEFORE.search(before) or _COUNTED.search(before))


class OriginKind(StrEnum):
    """The kind of source that supports an argument. ``TASK``: earlier turns of the session, too."""

    TASK = "task"
    FACT = "fact"
    CALCULATED = "calculated"
    SCHEMA = "schema"
    NONE = "none"


Calculated = Decimal | int | str | date


@dataclass(frozen=True)
class TraceSources:
    """All that an argument may come from. ``now``: aware, in the zone of the person who asks."""

    task: Mentions
    facts: FactsIndex
    now: datetime
    earlier: Sequence[Mentions] = ()
    calculated: Mapping[str, Calculated] | None = None

    @property
    def texts(self) -> tuple[Mentions, ...]:
        """The task and the earlier turns."""
        return (self.task, *self.earlier)


class Trace(NamedTuple):
    """The source of one scalar argument. ``where``: the fact and the path in it, or a calculated value's name.

    ``origins`` are all the fields that show the value, each with its record. ``strictness_met``: whether that is enough
    for the argument's kind: amounts, identifiers, accounts and recipients need a whole structured field, the user's
    words or a calculated value; every other kind needs no source.
    """

    path: str
    kind: ArgumentKind
    origin: OriginKind
    where: str = ""
    strictness_met: bool = True
    free_text_only: bool = False
    origins: tuple[FactOrigin, ...] = ()


_CLASHES = {  # a field of this kind is no source for an argument of that kind
    ArgumentKind.AMOUNT: frozenset({ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT, ArgumentKind.DATE}),
    ArgumentKind.IDENTIFIER: frozenset({ArgumentKind.AMOUNT, ArgumentKind.QUANTITY, ArgumentKind.DATE}),
    ArgumentKind.ACCOUNT: frozenset({ArgumentKind.AMOUNT, ArgumentKind.QUANTITY, ArgumentKind.DATE}),
}


def trace_argument(name: str, schema: JsonObject, value: Json, sources: TraceSources) -> Iterator[Trace]:
    """Yields the source of the argument's value; of an object or a list that of each scalar in it."""
    if isinstance(value, dict):
        properties = schema.get("properties")
        for key, inner in value.items():
            known = properties.get(key) if isinstance(properties, dict) else None
            yield from trace_argument(f"{name}.{key}", _as_schema(known), inner, sources)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from trace_argument(f"{name}[{place}]", _as_schema(schema.get("items")), inner, sources)
    else:
        yield trace_scalar(name, schema, value, sources)


def untraced_figures(text: str, sources: TraceSources) -> tuple[str, ...]:
    """The numbers and identifiers of a text, such as an answer, that no source has."""
    return tuple(figure.text for figure in numbers_of_answer(text, sources.now) if not _is_sourced(figure, sources))


def _as_schema(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def trace_scalar(name: str, schema: JsonObject, value: Json, sources: TraceSources) -> Trace:
    """The source of a scalar."""
    hints = hints_of(name, schema, value)
    kind = hints.kind
    if value is None or value == "":
        return Trace(name, kind, OriginKind.SCHEMA)
    if is_supported(value, hints, sources.task):
        return Trace(name, kind, OriginKind.TASK)
    if kind is ArgumentKind.FREE_TEXT:
        return Trace(name, kind, OriginKind.NONE)
    if _is_in_schema(value, schema):
        return Trace(name, kind, OriginKind.SCHEMA)
    if (figure := _calculated_as(value, hints, sources)) is not None:
        return Trace(name, kind, OriginKind.CALCULATED, figure)
    origins = sources.facts.find_origins(value, hints)
    if fields := tuple(one for one in origins if _is_enough(one, kind)):
        return _of_fact(name, kind, fields)
    if any(is_supported(value, hints, turn) for turn in sources.earlier):
        return Trace(name, kind, OriginKind.TASK)
    built = _trace_built(name, value, kind, sources)
    if built is not None and (built.strictness_met or not origins):
        return built
    if origins:
        is_free = all(one.standing is not FieldStanding.STRUCTURED for one in origins)
        return _of_fact(name, kind, origins, is_met=kind not in STRICT, is_free=is_free)
    return Trace(name, kind, OriginKind.NONE, strictness_met=kind not in STRICT)


def _of_fact(
    name: str, kind: ArgumentKind, origins: tuple[FactOrigin, ...], *, is_met: bool = True, is_free: bool = False
) -> Trace:
    where = f"{origins[0].fact_id} {origins[0].path}".strip()
    return Trace(name, kind, OriginKind.FACT, where, is_met, is_free, origins)


def _is_in_schema(value: Json, schema: JsonObject) -> bool:
    """Whether the value is the schema's default, its constant or one of its choices."""
    if isinstance(value, bool):
        return schema.get("default") is value or schema.get("const") is value
    options = schema.get("enum")
    named = [schema.get("default"), schema.get("const"), *(options if isinstance(options, list) else [])]
    return any(type(value) is type(one) and value == one for one in named)


def _is_enough(origin: FactOrigin, kind: ArgumentKind) -> bool:
    """Whether a field is a source for such an argument: it holds nothing else, and an id is no amount."""
    if not origin.is_whole or origin.standing is not FieldStanding.STRUCTURED:
        return False
    return kind not in _CLASHES or kind_of_argument(origin.field, {}, origin.value) not in _CLASHES[kind]


def _calculated_as(value: Json, hints: ArgumentHints, sources: TraceSources) -> str | None:
    """The name of the calculated value that is this one; None if there is none."""
    calculated = (sources.calculated or {}).items()
    return next((name for name, figure in calculated if _equals(value, figure, hints, sources.now)), None)


def _equals(value: Json, figure: Calculated, hints: ArgumentHints, now: datetime) -> bool:
    """Whether a value equals a calculated one, exactly or in another writing."""
    text = figure.isoformat() if isinstance(figure, date) else str(figure)
    if str(value) == text:
        return True
    number, calculated = read_number(value), read_number(text)
    if number is not None and calculated is not None:
        shown_number, figure_number = number.values[0], calculated.values[0]
        return shown_number == figure_number or (hints.is_in_minor_units and shown_number == figure_number * 100)
    shown, meant = read_machine_moment(str(value), now.tzinfo), read_machine_moment(text, now.tzinfo)
    if shown is None or meant is None or shown.day is None:
        return False
    return shown == meant or (shown.day == meant.day and None in (shown.hour, meant.hour))


def _trace_built(name: str, value: Json, kind: ArgumentKind, sources: TraceSources) -> Trace | None:
    """The source of a value that is put together, a person's names or an address with a name; else None."""
    if not isinstance(value, str):
        return None
    if (person := _words_of_one_record(value, sources.facts)) is not None:
        is_met = kind in (ArgumentKind.RECIPIENT, ArgumentKind.OTHER)
        return _of_fact(name, kind, (person,), is_met=is_met)
    return _trace_address(name, value, sources) if kind is ArgumentKind.RECIPIENT and "<" in value else None


def _trace_address(name: str, value: str, sources: TraceSources) -> Trace | None:
    """The source of the address in ``Ada Lovelace <ada@example.com>``; the name is only shown."""
    address = value.rpartition("<")[2].rstrip("> ")
    if whole_form(address) is None or "<" in address:
        return None
    return trace_scalar(name, {}, address, sources)


def _words_of_one_record(value: str, facts: FactsIndex) -> FactOrigin | None:
    """A field of the one record whose whole fields are the words of the text: "Ada Lovelace" of two names."""
    words = value.split()
    if not 2 <= len(words) <= 5:
        return None
    shown = [
        {(one.fact_id, one.record): one for one in facts.fields_of_words(word) if one.record is not None}
        for word in words
    ]
    common = set(shown[0]).intersection(*shown[1:])
    if len(common) != 1:
        return None
    return shown[0][common.pop()]


def _is_sourced(figure: StatedFigure, sources: TraceSources) -> bool:
    if figure.code:
        is_told = any(identifier_key(figure.code) in text.identifier_keys for text in sources.texts)
        return is_told or _is_known(figure.code, sources)
    hints = ArgumentHints(ArgumentKind.QUANTITY, unit=figure.unit)
    written: list[Json] = [value if isinstance(value, Decimal) else figure.text for value in figure.values]
    return any(
        any(is_supported(value, hints, text) for text in sources.texts) or _is_known(value, sources)
        for value in written
    )


def _is_known(value: Json, sources: TraceSources) -> bool:
    return _calculated_as(value, ArgumentHints(), sources) is not None or bool(
        sources.facts.find_origins(value, most=1)
    )
