"""Finds where each argument of a proposed call comes from: task, earlier turns, tools' answers, calculations,
schema.
"""

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
from services.executor.core.figures.facts import FactOrigin, FactsIndex
from services.executor.core.figures.identifiers import identifier_key, whole_form
from services.executor.core.figures.mentions import Mention, Mentions, find_mentions
from services.executor.core.figures.numbers import Number, NumberMention, read_number
from services.executor.core.figures.support import How, duration_of, find_source
from services.executor.core.figures.vocabulary import Unit, split_words
from shared.domain.exact_json import Json, JsonObject, dumps


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
    """The kind of source that supports an argument."""

    TASK = "task"
    EARLIER = "earlier"
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


class Trace(NamedTuple):
    """The source of one argument. ``where``: words of the text, ``fact path``, or a calculated value's name.

    ``origins`` are all the fields that show the value, each with its record; ``parts`` the leaves of an object or list.
    """

    path: str
    kind: ArgumentKind
    origin: OriginKind
    where: str = ""
    how: How | None = None
    strictness_met: bool = False
    free_text_only: bool = False
    origins: tuple[FactOrigin, ...] = ()
    parts: tuple["Trace", ...] = ()


_CLASHES = {  # a field of this kind is no source for an argument of that kind
    ArgumentKind.AMOUNT: frozenset({ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT, ArgumentKind.DATE}),
    ArgumentKind.IDENTIFIER: frozenset({ArgumentKind.AMOUNT, ArgumentKind.QUANTITY, ArgumentKind.DATE}),
    ArgumentKind.ACCOUNT: frozenset({ArgumentKind.AMOUNT, ArgumentKind.QUANTITY, ArgumentKind.DATE}),
}
_BLANK = frozenset("a an and the of for to in on at by is und der die das von fur et la le les de du pour".split())
_MOST_PARTS = 24


def trace_argument(name: str, schema: JsonObject, value: Json, sources: TraceSources) -> Trace:
    """The source of the argument's value; an object or a list is traced leaf by leaf.

    ``strictness_met`` says whether that is enough for its kind: amounts, identifiers, accounts and recipients need a
    whole structured field, the user's words or a calculated value; every other kind needs no source.
    """
    if isinstance(value, dict | list):
        return _trace_parts(name, schema, value, sources)
    hints = hints_of(name, schema, value)
    if hints.kind is ArgumentKind.FREE_TEXT:
        source = find_source(str(value), hints, sources.task)
        origin, where, how = (OriginKind.TASK, source.text, source.how) if source else (OriginKind.NONE, "", None)
        return Trace(name, hints.kind, origin, where, how, strictness_met=True)
    return _trace_leaf(name, schema, value, hints, sources)


def untraced_figures(text: str, sources: TraceSources) -> tuple[str, ...]:
    """The numbers and identifiers of a text, such as an answer, that no source has."""
    return tuple(figure.text for figure in numbers_of_answer(text, sources.now) if not _is_sourced(figure, sources))


def _trace_parts(name: str, schema: JsonObject, value: Json, sources: TraceSources) -> Trace:
    parts = tuple(
        trace_argument(path, inner_schema, inner, sources) for path, inner_schema, inner in _inner(name, schema, value)
    )
    kind = next((part.kind for part in parts if part.kind in STRICT), ArgumentKind.OTHER)
    weakest = next((part for part in parts if part.origin is OriginKind.NONE), parts[0] if parts else None)
    return Trace(
        name,
        kind,
        weakest.origin if weakest else OriginKind.SCHEMA,
        where=weakest.where if weakest else "",
        strictness_met=all(part.strictness_met for part in parts),
        free_text_only=any(part.free_text_only for part in parts),
        parts=parts,
    )


def _inner(name: str, schema: JsonObject, value: Json) -> Iterator[tuple[str, JsonObject, Json]]:
    if isinstance(value, dict):
        properties = schema.get("properties")
        for key, inner in value.items():
            yield f"{name}.{key}", _as_schema(properties.get(key) if isinstance(properties, dict) else None), inner
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield f"{name}[{place}]", _as_schema(schema.get("items")), inner


def _as_schema(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _trace_leaf(name: str, schema: JsonObject, value: Json, hints: ArgumentHints, sources: TraceSources) -> Trace:
    kind = hints.kind
    if value is None or value == "":
        return Trace(name, kind, OriginKind.SCHEMA, strictness_met=True)
    if (source := find_source(value, hints, sources.task)) is not None:
        return Trace(name, kind, OriginKind.TASK, source.text, source.how, strictness_met=True)
    if _is_in_schema(value, schema):
        return Trace(name, kind, OriginKind.SCHEMA, dumps(value), How.EXACT, strictness_met=True)
    if (figure := _calculated_as(value, hints, sources)) is not None:
        return Trace(name, kind, OriginKind.CALCULATED, figure[0], figure[1], strictness_met=True)
    origins = sources.facts.find_origins(value, hints)
    if fields := [one for one in origins if _is_enough(one, kind)]:
        return _of_fact(name, kind, fields[0], tuple(fields), is_met=True)
    for turn in sources.earlier:
        if (source := find_source(value, hints, turn)) is not None:
            return Trace(name, kind, OriginKind.EARLIER, source.text, source.how, strictness_met=True)
    built = _trace_built(name, value, hints, sources)
    if built is not None and (built.strictness_met or not origins):
        return built
    if origins:
        is_free = all(one.standing is not FieldStanding.STRUCTURED for one in origins)
        return _of_fact(name, kind, origins[0], origins, is_met=kind not in STRICT, is_free=is_free)
    return Trace(name, kind, OriginKind.NONE, strictness_met=kind not in STRICT)


def _of_fact(
    name: str,
    kind: ArgumentKind,
    first: FactOrigin,
    origins: tuple[FactOrigin, ...],
    *,
    is_met: bool,
    is_free: bool = False,
) -> Trace:
    where = f"{first.fact_id} {first.path}".strip()
    return Trace(name, kind, OriginKind.FACT, where, first.how, is_met, is_free, origins)


def _is_in_schema(value: Json, schema: JsonObject) -> bool:
    """Whether the value is the schema's default, its constant or one of its choices."""
    if isinstance(value, bool):
        return schema.get("default") is value or schema.get("const") is value
    options = schema.get("enum")
    named = [schema.get("default"), schema.get("const"), *(options if isinstance(options, list) else [])]
    return any(type(value) is type(one) and value == one for one in named)


def _is_enough(origin: FactOrigin, kind: ArgumentKind) -> bool:
    """Whether a field is a source for such an argument: it holds nothing else, and is not of another kind (an id is no
    amount).
    """
    if not origin.is_whole or origin.standing is not FieldStanding.STRUCTURED:
        return False
    return kind not in _CLASHES or kind_of_argument(origin.field, {}, origin.value) not in _CLASHES[kind]


def _calculated_as(value: Json, hints: ArgumentHints, sources: TraceSources) -> tuple[str, How] | None:
    for name, figure in (sources.calculated or {}).items():
        if (how := _equals(value, figure, hints, sources.now)) is not None:
            return name, how
    return None


def _equals(value: Json, figure: Calculated, hints: ArgumentHints, now: datetime) -> How | None:
    """How a value equals a calculated one, exactly or in another writing; None if it does not."""
    text = figure.isoformat() if isinstance(figure, date) else str(figure)
    if str(value) == text:
        return How.EXACT
    number, calculated = read_number(value), read_number(text)
    if number is not None and calculated is not None:
        shown_number, figure_number = number.values[0], calculated.values[0]
        if shown_number == figure_number:
            return How.NUMBER
        return How.MINOR_UNITS if hints.is_in_minor_units and shown_number == figure_number * 100 else None
    shown, meant = read_machine_moment(str(value), now.tzinfo), read_machine_moment(text, now.tzinfo)
    if shown is None or meant is None or shown.day is None:
        return None
    is_same_day = shown.day == meant.day and None in (shown.hour, meant.hour)
    return How.DATE if is_same_day or shown == meant else None


def _trace_built(name: str, value: Json, hints: ArgumentHints, sources: TraceSources) -> Trace | None:
    """The source of a value that is put together: the names of a person of one record, an end, a phrase with an id.
    None if a part has no source.
    """
    if not isinstance(value, str):
        return None
    kind = hints.kind
    if (end := _end_of_fact(value, sources)) is not None:
        return _of_fact(name, kind, end._replace(how=How.END), (end,), is_met=True)
    if (person := _words_of_one_record(value, sources.facts)) is not None:
        is_met = kind in (ArgumentKind.RECIPIENT, ArgumentKind.OTHER)
        return _of_fact(name, kind, person._replace(how=How.PARTS), (person,), is_met=is_met)
    if kind is ArgumentKind.RECIPIENT and "<" in value:
        return _trace_address(name, value, sources)
    if kind in STRICT or not _has_only_sourced_parts(value, sources):
        return None
    return Trace(name, kind, OriginKind.TASK, value, How.PARTS, strictness_met=True)


def _trace_address(name: str, value: str, sources: TraceSources) -> Trace | None:
    """The source of the address in ``Ada Lovelace <ada@example.com>``; the name is only shown."""
    address = value.rpartition("<")[2].rstrip("> ")
    if whole_form(address) is None or "<" in address:
        return None
    return trace_argument(name, {}, address, sources)


def _end_of_fact(value: str, sources: TraceSources) -> FactOrigin | None:
    """The field with the start of an end, if the task says the length between the two."""
    moment = read_machine_moment(value, sources.now.tzinfo)
    if moment is None or moment.day is None or moment.hour is None:
        return None
    end = datetime.combine(moment.day, moment.hour)
    for mention in sources.task.numbers:
        length = duration_of(mention)
        if length is not None:
            for start, origin in sources.facts.moments_on((end - length).date()):
                if start == end - length:
                    return origin
    return None


def _words_of_one_record(value: str, facts: FactsIndex) -> FactOrigin | None:
    """A field of the one record whose whole fields are the words of the text: "Ada Lovelace" of a first and a last
    name.
    """
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


def _has_only_sourced_parts(value: str, sources: TraceSources) -> bool:
    """Whether each number, date and code of a short text has a source, and every other word is in the task or an
    earlier turn.
    """
    read = find_mentions(value, sources.now, relative=False)
    spans: list[Mention] = [*read.identifiers, *read.numbers, *read.dates, *read.times]
    words = [one for one in split_words(value) if not any(span.start <= one.start < span.end for span in spans)]
    parts = [span.text for span in spans] + [one.written for one in words if one.folded not in _BLANK]
    return 0 < len(parts) <= _MOST_PARTS and all(_is_part_sourced(part, sources) for part in parts)


def _is_part_sourced(part: str, sources: TraceSources) -> bool:
    if find_source(part, ArgumentHints(), sources.task) or any(
        find_source(part, ArgumentHints(), turn) for turn in sources.earlier
    ):
        return True
    return any(one.is_whole and one.standing is FieldStanding.STRUCTURED for one in sources.facts.find_origins(part))


def _is_sourced(figure: StatedFigure, sources: TraceSources) -> bool:
    texts = (sources.task, *sources.earlier)
    if figure.code:
        return any(identifier_key(figure.code) in text.identifiers_by_key for text in texts) or _is_known(
            figure.code, sources
        )
    return any(_is_number_sourced(value, figure, texts, sources) for value in figure.values)


def _is_number_sourced(value: Number, figure: StatedFigure, texts: Sequence[Mentions], sources: TraceSources) -> bool:
    json: Json = value if isinstance(value, Decimal) else figure.text
    hints = ArgumentHints(ArgumentKind.QUANTITY, unit=figure.unit)
    return any(find_source(json, hints, text) for text in texts) or _is_known(json, sources)


def _is_known(value: Json, sources: TraceSources) -> bool:
    return _calculated_as(value, ArgumentHints(), sources) is not None or bool(
        sources.facts.find_origins(value, most=1)
    )
