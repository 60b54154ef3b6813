"""What a text says of which records are meant: values, days and figures, each affirmed or denied, compared or stated.

What decides and cannot be applied is told as unread: nothing is chosen by the rest alone.
"""

import operator
import re
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from services.planner.core.explained import are_related
from services.planner.core.figures import amount_field, in_major_units, numeric_fields
from services.planner.core.mentions import Mention, MentionKind, find
from services.planner.core.phrases import (
    TextSpan,
    drop_spans,
    find_negation,
    find_negations,
    find_spoken,
    longest_spans,
)
from services.planner.core.records import FactRecord
from services.planner.core.words import STOP, field_stems, parts, stem, stems, text_stems

_OVER = (
    r"over|above|more than|greater than|exceed(?:s|ing|ed)?|larger than|higher than|bigger than|longer than|beyond"
    r"|after|later than|past"
)
_UNDER = (
    r"under|below|less than|fewer than|smaller than|lower than|cheaper than|shorter than|before|earlier than"
    r"|sooner than|prior to|short of"
)
_LEAST = r"at least|minimum of|on or after|from|since|starting"
_MOST = r"at most|(?<!add )(?<!adds )(?<!sum )up to|within|maximum of|on or before|until|till|by"
_COMPARISON = re.compile(
    rf"\b(?:(?P<not>not|no|never|\w*n['’]t)\s+)?"
    rf"(?:(?P<least>{_LEAST})|(?P<most>{_MOST})|(?P<over>{_OVER})|(?P<under>{_UNDER}))\b"
    r"\s*(?:(?:the|an?|its|their|of)\s+)*",
    re.I,
)
_SURE = re.compile(
    r"\b(?:above|more than|greater|exceed\w*|larger|higher|bigger|longer|later|below|less|fewer|smaller|lower|cheaper"
    r"|shorter|earlier|sooner|prior|at least|at most|before|after)\b",
    re.I,
)
_BETWEEN = re.compile(r"\bbetween\s+$", re.I)
_OR_MORE = re.compile(
    r"^\s+or\s+(?:(?P<least>more|above|over|higher|later|after|longer)"
    r"|(?P<most>less|fewer|below|under|lower|earlier|before))\b",
    re.I,
)
_PHRASE_END = re.compile(r"[,;:?!]|\.(?!\d)|\s(?:and|or|but|to|into|that|which|answer|list)\b|$", re.I)
_MARKS = stems("level limit point threshold mark value amount number figure own respective stated allowed is".split())
_ISO = re.compile(r"^\d{4}-\d\d-\d\d")
_FIGURES = (MentionKind.MONEY, MentionKind.NUMBER)
_WORD_OR = re.compile(r"\bor\b", re.I)
_TESTS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "over": operator.gt,
    "under": operator.lt,
    "least": operator.ge,
    "most": operator.le,
    "is": operator.eq,
}
_OPPOSITE = {"over": "most", "most": "over", "under": "least", "least": "under"}


class RowCriterion(NamedTuple):
    """``spans``: its words. ``column``: what it is about, where it is about one."""

    holds: Callable[[FactRecord], bool]
    spans: tuple[TextSpan, ...]
    column: str = ""


class ReadCriteria(NamedTuple):
    """``rest``: the text with blanks for what the criteria say. ``unread``: words that decide and that none says."""

    criteria: tuple[RowCriterion, ...]
    rest: str
    unread: tuple[str, ...] = ()

    def fits(self, record: FactRecord) -> bool:
        return all(one.holds(record) for one in self.criteria)


def read_criteria(text: str, listed: Sequence[FactRecord], days: Sequence[Mention] = ()) -> ReadCriteria:
    """The criteria of a text over records of one kind. ``days``: the days that it names, where they stand in it."""
    compared, unread = _read_comparisons(text, listed, days)
    rest = _drop_words_of(text, compared)
    found = [*compared, *_read_values(rest, listed)]
    rest = _drop_words_of(text, found)
    found += [*_read_days(rest, listed, days), *_read_flags(rest, listed), *_read_figures(rest, listed)]
    rest = _drop_words_of(text, found)
    denied = [span.value for span in find_negations(rest)]
    return ReadCriteria(tuple(found), rest, (*unread, *denied, *_mixed_choice(text, found)))


def _drop_words_of(text: str, found: Sequence[RowCriterion]) -> str:
    return drop_spans(text, [span for one in found for span in one.spans])


def _mixed_choice(text: str, found: Sequence[RowCriterion]) -> list[str]:
    """An ``or`` between criteria of two columns, which are not read so."""
    for match in _WORD_OR.finditer(text):
        before = [(span.end, one.column) for one in found for span in one.spans if span.end <= match.start()]
        after = [(-span.start, one.column) for one in found for span in one.spans if span.start >= match.end()]
        near = before and after and max(before)[0] > match.start() - 12 and -max(after)[0] < match.end() + 25
        if near and {column for _, column in before if _ == max(before)[0]}.isdisjoint(
            column for _, column in after if _ == max(after)[0]
        ):
            return [text[max(before)[0] - 8 : -max(after)[0] + 8].strip()]
    return []


def _read_comparisons(
    text: str, listed: Sequence[FactRecord], days: Sequence[Mention]
) -> tuple[list[RowCriterion], list[str]]:
    found: list[RowCriterion] = []
    unread: list[str] = []
    figures = [*_figures_of(text), *days]
    for ends in _between_two(text, figures):
        found += [one for one in [_read_between(text, ends, listed)] if one]
    taken = [span for one in found for span in one.spans]
    for match in _COMPARISON.finditer(text):
        if any(span.start <= match.start() < span.end for span in taken):
            continue
        one = _compared_with_figure(text, match, figures, listed) or _compared_with_field(text, match, listed)
        if one:
            found.append(one)
            taken += one.spans
        elif _SURE.search(match[0]):
            unread.append(text[match.start() : _end_of_phrase(text, match.end())].strip())
    found += _figures_or_more(text, figures, listed, taken)
    return found, unread


def _figures_of(text: str) -> list[Mention]:
    return [mention for mention in find(text) if mention.kind in _FIGURES]


def _end_of_phrase(text: str, start: int) -> int:
    match = _PHRASE_END.search(text, start)
    return match.start() if match else len(text)


def _between_two(text: str, figures: Sequence[Mention]) -> list[tuple[Mention, Mention]]:
    ordered = sorted(figures, key=lambda one: one.start)
    return [
        (first, second)
        for first, second in pairwise(ordered)
        if _BETWEEN.search(text[: first.start]) and re.fullmatch(r"\s+(?:and|to)\s+", text[first.end : second.start])
    ]


def _read_between(text: str, ends: tuple[Mention, Mention], listed: Sequence[FactRecord]) -> RowCriterion | None:
    first, second = ends
    start = first.start - len("between ")
    column = _column_of(first, text[:start], text, listed)
    low, high = _as_figure(first), _as_figure(second)
    if column is None or low is None or high is None:
        return None
    return RowCriterion(
        lambda record: (held := _find_amount(record, column, text[:start])) is not None and low <= held <= high,
        (TextSpan(start, second.end, ""),),
        column,
    )


def _compared_with_figure(
    text: str, match: re.Match[str], figures: Sequence[Mention], listed: Sequence[FactRecord]
) -> RowCriterion | None:
    limit = next((one for one in figures if 0 <= one.start - match.end() <= 1), None)
    if limit is None:
        return None
    of = text[: match.start()]
    return _build_comparison(text, _parse_operation(match), limit, of, TextSpan(match.start(), limit.end, ""), listed)


def _figures_or_more(
    text: str, figures: Sequence[Mention], listed: Sequence[FactRecord], taken: Sequence[TextSpan]
) -> list[RowCriterion]:
    found: list[RowCriterion] = []
    for figure in figures:
        match = _OR_MORE.match(text[figure.end :])
        if match and not any(span.start <= figure.start < span.end for span in taken):
            operation = "least" if match["least"] else "most"
            span = TextSpan(figure.start, figure.end + match.end(), "")
            one = _build_comparison(text, operation, figure, text[: figure.start], span, listed)
            found += [one] if one else []
    return found


def _build_comparison(
    text: str, operation: str, limit: Mention, of: str, span: TextSpan, listed: Sequence[FactRecord]
) -> RowCriterion | None:
    column, figure = _column_of(limit, of, text, listed), _as_figure(limit)
    if column is None or figure is None:
        return None
    test = _TESTS[operation]
    return RowCriterion(
        lambda record: (held := _find_amount(record, column, of)) is not None and test(held, figure), (span,), column
    )


def _parse_operation(match: re.Match[str]) -> str:
    named = next(name for name in ("least", "most", "over", "under") if match[name])
    return _OPPOSITE[named] if match["not"] else named


_BY_EACH = "by the record"


def _column_of(figure: Mention, of: str, text: str, listed: Sequence[FactRecord]) -> str | None:
    """The column that is compared with a day, or the one that each record says; None if there is none."""
    if figure.kind is MentionKind.DATE:
        return _day_column(text, listed)
    return _BY_EACH if any(amount_field(record, of) for record in listed) else None


def _find_amount(record: FactRecord, column: str, of: str) -> Decimal | None:
    """What a record has to be compared: its day, or the amount that the words before mean."""
    if column != _BY_EACH:
        return day_number(str(record.fields.get(column, "")))
    field = amount_field(record, of)
    return in_major_units(record, field) if field else None


def _as_figure(mention: Mention) -> Decimal | None:
    return day_number(mention.value) if mention.kind is MentionKind.DATE else mention.number


def day_number(value: str) -> Decimal | None:
    """A day, or a moment of it, as a number that later days have larger."""
    try:
        return Decimal(date.fromisoformat(value[:10]).toordinal()) if _ISO.match(value) else None
    except ValueError:
        return None


def day_columns(listed: Sequence[FactRecord]) -> list[str]:
    found = {name for record in listed for name, value in record.fields.items() if _ISO.match(str(value))}
    return sorted(found)


def _day_column(text: str, listed: Sequence[FactRecord]) -> str | None:
    """The column of days that a text names, or the only one."""
    columns = day_columns(listed)
    said = text_stems(text)
    named = [name for name in columns if any(are_related(one, word) for one in field_stems(name) for word in said)]
    chosen = named or columns
    return chosen[0] if len(chosen) == 1 else None


def _compared_with_field(text: str, match: re.Match[str], listed: Sequence[FactRecord]) -> RowCriterion | None:
    """``pages below the least``: two figures of the same record."""
    end = _end_of_phrase(text, match.end())
    said, of = text_stems(text[match.end() : end]), text[: match.start()]
    columns = sorted({name for record in listed for name in numeric_fields(record)})
    named = [name for name in columns if _names_column(name, said)]
    left = [name for name in columns if name not in named and field_stems(name) & text_stems(of)]
    most = max((len(field_stems(name) & said) for name in named), default=0)
    named = [name for name in named if len(field_stems(name) & said) == most]
    if len(named) != 1 or len(left) != 1:
        return None
    test, other, own = _TESTS[_parse_operation(match)], named[0], left[0]

    def holds(record: FactRecord) -> bool:
        if own not in record.fields or other not in record.fields:
            return False
        mine, its = in_major_units(record, own), in_major_units(record, other)
        return mine is not None and its is not None and test(mine, its)

    return RowCriterion(holds, (TextSpan(match.start(), end, ""),), own)


def _names_column(name: str, said: frozenset[str]) -> bool:
    """Whether words name a column, and nothing else that would have to be known."""
    own = field_stems(name)
    meant = {word for word in said if any(are_related(word, one) for one in own)}
    return bool(meant) and said - meant <= _MARKS


def _read_values(text: str, listed: Sequence[FactRecord]) -> list[RowCriterion]:
    """For each column those of its values that the text names; denied ones are left out."""
    participles = _participles(text)
    spoken: dict[str, list[TextSpan]] = {}
    for name, values in _values_of(listed).items():
        for value in values:
            spans = _find_value(value, text, participles)
            if spans:
                spoken.setdefault(name, []).extend(spans)
    kept = {*longest_spans([span for spans in spoken.values() for span in spans])}
    found = [_value_criterion(name, [span for span in spans if span in kept], text) for name, spans in spoken.items()]
    return [one for one in found if one.spans]


def _values_of(listed: Sequence[FactRecord]) -> dict[str, set[str]]:
    values: dict[str, set[str]] = {}
    for record in listed:
        for name, value in record.fields.items():
            if not isinstance(value, bool) and _may_be_spoken(str(value)):
                values.setdefault(name, set()).add(str(value))
    return values


def _may_be_spoken(value: str) -> bool:
    return len(value) > 1 and value.lower() not in STOP and not value.replace(".", "").isdigit()


def _participles(text: str) -> dict[str, TextSpan]:
    return {
        stem(match[0]): TextSpan(match.start(), match.end(), match[0])
        for match in re.finditer(r"\b\w+(?:ed|ing)\b", text.lower())
    }


def _find_value(value: str, text: str, participles: dict[str, TextSpan]) -> list[TextSpan]:
    if spans := find_spoken(value, text):
        return spans
    akin = participles.get(stem(value)) if value.isalpha() else None
    return [akin._replace(value=value)] if akin else []


def _value_criterion(name: str, spans: Sequence[TextSpan], text: str) -> RowCriterion:
    is_denying = bool(find_negations(text))
    denials = {span: find_negation(text, span.start) if is_denying else None for span in spans}
    denied = {span.value for span, word in denials.items() if word}
    named = {span.value for span, word in denials.items() if not word}
    words = tuple(word for word in denials.values() if word)

    def holds(record: FactRecord) -> bool:
        value = str(record.fields.get(name))
        return value not in denied and (not named or value in named)

    return RowCriterion(holds, (*spans, *words), name)


def _read_days(text: str, listed: Sequence[FactRecord], days: Sequence[Mention]) -> list[RowCriterion]:
    """Days that are stated and not compared."""
    found: list[RowCriterion] = []
    for day in days:
        if text[day.start : day.end].strip():
            one = _build_comparison(text, "is", day, text[: day.start], TextSpan(day.start, day.end, day.value), listed)
            found += [one] if one else []
    return found


def _read_flags(text: str, listed: Sequence[FactRecord]) -> list[RowCriterion]:
    """``those that are sealed``, where each record says yes or no to that."""
    names = sorted({n for record in listed for n, value in record.fields.items() if isinstance(value, bool)})
    found: list[RowCriterion] = []
    for name in names:
        spoken = " ".join(part for part in parts(name) if part not in ("is", "has"))
        for span in find_spoken(spoken, text):
            found.append(_flag_criterion(name, span, find_negation(text, span.start)))
    return found


def _flag_criterion(name: str, span: TextSpan, denial: TextSpan | None) -> RowCriterion:
    return RowCriterion(
        lambda record: record.fields.get(name) is (denial is None), (span, *([denial] if denial else [])), name
    )


_BEFORE_FIGURE = (
    r"\b(?:with|whose|has|have|having|of|at|is|are)\s+(?:an?\s+|the\s+|exactly\s+)?%s\s+"
    r"(?:of\s+|is\s+|=\s*|exactly\s+)*$"
)
_AFTER_FIGURE = r"^\s+%ss?\b"


def _read_figures(text: str, listed: Sequence[FactRecord]) -> list[RowCriterion]:
    """``with a width of 0``, ``with 3 pages``: a figure under the name of its column."""
    columns = sorted({name for record in listed for name in numeric_fields(record)})
    found: list[RowCriterion] = []
    for figure in _figures_of(text):
        for name in columns:
            words = r"[\s_-]*".join(map(re.escape, parts(name)))
            before = re.search(_BEFORE_FIGURE % words, text[: figure.start], re.I)
            has = re.search(r"\b(?:with|has|have|having)\s+(?:exactly\s+)?$", text[: figure.start], re.I)
            after = re.match(_AFTER_FIGURE % re.sub(r"s$", "", words), text[figure.end :], re.I) if has else None
            if before or after:
                found.append(_figure_criterion(name, figure, figure.end + (after.end() if after else 0)))
                break
    return found


def _figure_criterion(name: str, figure: Mention, end: int) -> RowCriterion:
    return RowCriterion(
        lambda record: name in record.fields and in_major_units(record, name) == figure.number,
        (TextSpan(figure.start, end, figure.value),),
        name,
    )
