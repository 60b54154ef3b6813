"""Reads which records a text means: by values, days and figures, each affirmed or denied, compared or stated.

Words that restrict the choice and cannot be applied are reported as uninterpreted; nothing is chosen by the rest alone.
"""

import operator
import re
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from services.planner.core.counted_days import (
    column_of_stretch,
    columns_of_day,
    count_day,
    day_columns,
    find_state,
    find_stretches,
    is_for_good,
    is_standing,
    must_stand,
)
from services.planner.core.figures import amount_field, in_major_units, numeric_fields
from services.planner.core.mentions import Mention, MentionKind, find_amounts
from services.planner.core.phrases import (
    TextSpan,
    drop_spans,
    find_negation,
    find_negations,
    find_spoken,
    longest_spans,
)
from services.planner.core.records import FactRecord
from services.planner.core.words import (
    STOP,
    are_related,
    field_stems,
    parts,
    share_word,
    stem,
    stems,
    text_stems,
    with_words_for_rest,
)

_OVER = (
    r"over|above|more than|greater than|exceed(?:s|ing|ed)?|larger than|higher than|bigger than|longer than|beyond"
    r"|after|later than|past"
)
_UNDER = (
    r"under|below|less than|fewer than|smaller than|lower than|cheaper than|shorter than|before|earlier than"
    r"|sooner than|prior to|short of"
)
_AT_LEAST_WORDS = r"at least|minimum of|on or after|from|since|starting|(?:more|greater|larger|higher) than or equal to"
_AT_MOST_WORDS = (
    r"at most|(?<!add )(?<!adds )(?<!sum )up to|within|maximum of|on or before|until|till|by"
    r"|(?:less|smaller|lower) than or equal to"
)
_COMPARISON_PATTERN = re.compile(
    rf"\b(?:(?P<not>not|no|never|\w*n['’]t)\s+)?"
    rf"(?:(?P<least>{_AT_LEAST_WORDS})|(?P<most>{_AT_MOST_WORDS})|(?P<over>{_OVER})|(?P<under>{_UNDER}))\b"
    r"\s*(?:(?:the|an?|its|their|of)\s+)*",
    re.I,
)
_SURE_PATTERN = re.compile(
    r"\b(?:above|more than|greater|exceed\w*|larger|higher|bigger|longer|later|below|less|fewer|smaller|lower|cheaper"
    r"|shorter|earlier|sooner|prior|at least|at most|before|after)\b",
    re.I,
)
_BETWEEN_PATTERN = re.compile(r"\bbetween\s+$", re.I)
_JOINT_PATTERN = re.compile(r"\s+(?:and|to)\s+")
_OR_MORE = re.compile(
    r"^\s+or\s+(?:(?P<least>more|above|over|higher|later|after|longer)"
    r"|(?P<most>less|fewer|below|under|lower|earlier|before))\b",
    re.I,
)
_PHRASE_END = re.compile(r",(?!\d)|[;:?!]|\.(?!\d)|\s(?:and|or|but|to|into|that|which|answer|list)\b|$", re.I)
_MARK_WORDS = stems(
    "level limit point threshold mark value amount number figure own respective stated allowed is".split()
)
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
    """A test of records that a text states. ``spans``: the words that state it. ``column``: the field it tests, if
    one.
    """

    holds: Callable[[FactRecord], bool]
    spans: tuple[TextSpan, ...]
    column: str = ""


class ReadCriteria(NamedTuple):
    """The criteria of a text. ``rest``: the text with blanks in place of their words.

    ``uninterpreted``: words that restrict the choice and belong to no criterion.
    """

    criteria: tuple[RowCriterion, ...]
    rest: str
    uninterpreted: tuple[str, ...] = ()

    def fits(self, record: FactRecord) -> bool:
        return all(criterion.holds(record) for criterion in self.criteria)


def read_criteria(
    text: str, listed: Sequence[FactRecord], days: Sequence[Mention] = (), today: date | None = None
) -> ReadCriteria:
    """The criteria of a text over records of one kind. ``days``: the days that it names, where they stand in it;
    ``today``: None if it is not known, so that no day can be counted from it.
    """
    counted, undecided = _read_counted_days(text, listed, today)
    text_of_figures = _drop_words_of(text, counted)
    compared, uninterpreted = _read_comparisons(text_of_figures, listed, days)
    uninterpreted += undecided
    remaining_text = _drop_words_of(text_of_figures, compared)
    criteria = [*counted, *compared, *_read_values(remaining_text, listed)]
    remaining_text = _drop_words_of(text, criteria)
    criteria += [
        *_read_days(remaining_text, listed, days),
        *_read_flags(remaining_text, listed),
        *_read_figures(remaining_text, listed),
    ]
    remaining_text = _drop_words_of(text, criteria)
    denied = [span.value for span in find_negations(remaining_text)]
    return ReadCriteria(tuple(criteria), remaining_text, (*uninterpreted, *denied, *_find_mixed_choice(text, criteria)))


def _drop_words_of(text: str, criteria: Sequence[RowCriterion]) -> str:
    return drop_spans(text, [span for criterion in criteria for span in criterion.spans])


def _find_mixed_choice(text: str, criteria: Sequence[RowCriterion]) -> list[str]:
    """The words around the first ``or`` between criteria of two columns, which the planner cannot apply."""
    spans = [(span, criterion.column) for criterion in criteria for span in criterion.spans]
    for match in _WORD_OR.finditer(text):
        end = max((span.end for span, _ in spans if span.end <= match.start()), default=-1)
        start = min((span.start for span, _ in spans if span.start >= match.end()), default=-1)
        before = {column for span, column in spans if span.end == end}
        after = {column for span, column in spans if span.start == start}
        is_near = before and after and end > match.start() - 12 and start < match.end() + 25
        if is_near and before.isdisjoint(after):
            return [text[end - 8 : start + 8].strip()]
    return []


_UNPAID_PATTERN = re.compile(r"\b(?:unpaid|unsettled)\b", re.I)
_BARE_DAY = re.compile(r"\b(?:is|are|was|were)\s+(?:\w+ly\s+|now\s+|already\s+)?(?P<word>due|[a-z]+ing)\W*$", re.I)


def _read_counted_days(
    text: str, listed: Sequence[FactRecord], today: date | None
) -> tuple[list[RowCriterion], list[str]]:
    """Criteria on days counted from the present one and on what is unpaid, and the words of which the records do not
    say whether they hold.
    """
    columns = day_columns(listed)
    criteria = list[RowCriterion]()
    undecided = list[str]()
    for stretch in find_stretches(text, today) if today and columns else ():
        named = column_of_stretch(text, stretch, columns)
        if today is None or named is None or (stretch.is_overdue and _is_a_value("overdue", listed)):
            continue
        column, start, end = named
        ends = [(stretch.first, stretch.last), *([stretch.earlier] if stretch.earlier else [])]
        held = [pair for pair in ends if any(_lies_within(pair, column, record) for record in listed)]
        word = text[start:end]
        is_asked_by = any(stem(word) in map(stem, record.asked_by) for record in listed)
        if len(held) > 1 or (is_asked_by and not is_for_good(word)):
            undecided.append(text[min(start, stretch.start) : max(end, stretch.end)])
            continue
        spans = (TextSpan(stretch.start, stretch.end, ""), TextSpan(start, end, word))
        is_meant = partial(_lies_within, (held or ends)[0], column)
        criterion, unsure = RowCriterion(is_meant, spans), list[str]()
        if must_stand(word, text, stretch, today):
            criterion, unsure = _criterion_of_standing(listed, is_meant, spans)
        criteria.append(criterion._replace(column=f"{column} from {stretch.start}"))  # "or" joins it with no other
        undecided += unsure
    unpaid = _UNPAID_PATTERN.search(text)
    if unpaid and not _is_a_value(unpaid[0], listed) and not find_negation(text, unpaid.start()):
        criterion, unsure = _criterion_of_standing(listed, lambda _: True, (TextSpan(*unpaid.span(), unpaid[0]),))
        criteria.append(criterion)
        undecided += unsure
    bare = _BARE_DAY.search(text)
    return criteria, [*undecided, *([bare["word"]] if bare and columns_of_day(bare["word"], columns) else [])]


def _is_a_value(word: str, listed: Sequence[FactRecord]) -> bool:
    return any(str(value).lower() == word.lower() for record in listed for value in record.fields.values())


def _criterion_of_standing(
    listed: Sequence[FactRecord], is_meant: Callable[[FactRecord], bool], spans: tuple[TextSpan, ...]
) -> tuple[RowCriterion, list[str]]:
    """The criterion that what is meant is neither settled nor over, and the states that say neither yes nor no."""
    unsure = {find_state(record) or "no state" for record in listed if is_meant(record) and is_standing(record) is None}
    criterion = RowCriterion(lambda record: is_meant(record) and is_standing(record) is not False, spans)
    return criterion, [f"{spans[-1].value} ({state})" for state in sorted(unsure)]


def _lies_within(ends: tuple[date, date], column: str, record: FactRecord) -> bool:
    day = count_day(str(record.fields.get(column, "")))
    return day is not None and ends[0].toordinal() <= day <= ends[1].toordinal()


def _read_comparisons(
    text: str, listed: Sequence[FactRecord], days: Sequence[Mention]
) -> tuple[list[RowCriterion], list[str]]:
    criteria: list[RowCriterion] = []
    uninterpreted: list[str] = []
    figures = [*find_amounts(text), *days]
    for ends in _between_two(text, figures):
        criteria += [criterion for criterion in [_read_between(text, ends, listed)] if criterion]
    taken_spans = [span for criterion in criteria for span in criterion.spans]
    for match in _COMPARISON_PATTERN.finditer(text):
        if any(span.start <= match.start() < span.end for span in taken_spans):
            continue
        criterion = _compared_with_figure(text, match, figures, listed) or _compared_with_field(text, match, listed)
        if criterion:
            criteria.append(criterion)
            taken_spans += criterion.spans
        elif _SURE_PATTERN.search(match[0]):
            uninterpreted.append(text[match.start() : _end_of_phrase(text, match.end())].strip())
    criteria += _figures_or_more(text, figures, listed, taken_spans)
    return criteria, uninterpreted


def _end_of_phrase(text: str, start: int) -> int:
    match = _PHRASE_END.search(text, start)
    return match.start() if match else len(text)


def _between_two(text: str, figures: Sequence[Mention]) -> list[tuple[Mention, Mention]]:
    ordered = sorted(figures, key=lambda one: one.start)
    joined = [pair for pair in pairwise(ordered) if _JOINT_PATTERN.fullmatch(text[pair[0].end : pair[1].start])]
    return [(first, second) for first, second in joined if _BETWEEN_PATTERN.search(text[: first.start])]


def _read_between(text: str, ends: tuple[Mention, Mention], listed: Sequence[FactRecord]) -> RowCriterion | None:
    first, second = ends
    start = first.start - len("between ")
    column = _compared_column(first, text[:start], text, listed)
    low, high = _as_figure(first), _as_figure(second)
    if column is None or low is None or high is None:
        return None
    return RowCriterion(
        lambda record: (amount := _find_amount(record, column, text[:start])) is not None and low <= amount <= high,
        (TextSpan(start, second.end, ""),),
        column,
    )


def _compared_with_figure(
    text: str, match: re.Match[str], figures: Sequence[Mention], listed: Sequence[FactRecord]
) -> RowCriterion | None:
    limit = next((figure for figure in figures if 0 <= figure.start - match.end() <= 1), None)
    of = _words_compared(text, match.start(), limit, listed) if limit else None
    if limit is None or of is None:
        return None
    return _build_comparison(text, _parse_operation(match), limit, of, TextSpan(match.start(), limit.end, ""), listed)


def _figures_or_more(
    text: str, figures: Sequence[Mention], listed: Sequence[FactRecord], taken_spans: Sequence[TextSpan]
) -> list[RowCriterion]:
    criteria: list[RowCriterion] = []
    for figure in figures:
        match = _OR_MORE.match(text[figure.end :])
        if match and not any(span.start <= figure.start < span.end for span in taken_spans):
            operation = "least" if match["least"] else "most"
            span = TextSpan(figure.start, figure.end + match.end(), "")
            of = _words_compared(text, figure.start, figure, listed)
            criterion = None if of is None else _build_comparison(text, operation, figure, of, span, listed)
            criteria += [criterion] if criterion else []
    return criteria


_BEHIND_FIGURE = re.compile(rf"(?:\s+(?!(?:{'|'.join(STOP)})\b)[a-z]+)+", re.I)
_TIME_PATTERN = re.compile(r"\s+(?P<unit>day|week|month|year|hour|minute)s?\b", re.I)


def _words_compared(text: str, start: int, limit: Mention, listed: Sequence[FactRecord]) -> str | None:
    """The words that say what is compared with a figure: those behind it, where they name a column of figures (``less
    than 500 available``), else those before; None where it counts time and no column of that unit is meant.
    """
    behind, time = _BEHIND_FIGURE.match(text, limit.end), _TIME_PATTERN.match(text, limit.end)
    columns = [field_stems(name) for record in listed for name in numeric_fields(record)]
    columns = [own for own in columns if stem(time["unit"]) in own] if time else columns
    word_stems = with_words_for_rest(text_stems(behind[0])) if behind else frozenset()
    if behind and any(own & word_stems for own in columns):
        return behind[0]
    return None if time else text[:start]


def _build_comparison(
    text: str, operation: str, limit: Mention, of: str, span: TextSpan, listed: Sequence[FactRecord]
) -> RowCriterion | None:
    column, figure = _compared_column(limit, of, text, listed), _as_figure(limit)
    if column is None or figure is None:
        return None
    test = _TESTS[operation]
    return RowCriterion(
        lambda record: (amount := _find_amount(record, column, of)) is not None and test(amount, figure),
        (span,),
        column,
    )


def _parse_operation(match: re.Match[str]) -> str:
    named = next(name for name in ("least", "most", "over", "under") if match[name])
    return _OPPOSITE[named] if match["not"] else named


_BY_EACH = "by the record"


def _compared_column(figure: Mention, of: str, text: str, listed: Sequence[FactRecord]) -> str | None:
    """The column that a figure is compared with: one of days for a date, else the amount of each record; None if there
    is none.
    """
    if figure.kind is MentionKind.DATE:
        return _day_column(text, listed)
    return _BY_EACH if any(amount_field(record, of) for record in listed) else None


def _find_amount(record: FactRecord, column: str, of: str) -> Decimal | None:
    """The value by which a record is compared: the number of the day in the column, or the amount that ``of`` means.

    ``of``: the words before the comparison. None if the record has no such day or amount.
    """
    if column != _BY_EACH:
        return count_day(str(record.fields.get(column, "")))
    field = amount_field(record, of)
    return in_major_units(record, field) if field else None


def _as_figure(mention: Mention) -> Decimal | None:
    return count_day(mention.value) if mention.kind is MentionKind.DATE else mention.number


def _day_column(text: str, listed: Sequence[FactRecord]) -> str | None:
    """The column of days that a text names, or the only one; None if there is none or several."""
    columns = day_columns(listed)
    chosen = [name for name in columns if share_word(field_stems(name), text_stems(text))] or columns
    return chosen[0] if len(chosen) == 1 else None


def _compared_with_field(text: str, match: re.Match[str], listed: Sequence[FactRecord]) -> RowCriterion | None:
    """The criterion that compares two figures of the same record, as in ``pages below the least``.

    None unless the text names one of them before the comparison (``match``) and one behind it.
    """
    end = _end_of_phrase(text, match.end())
    word_stems, of = text_stems(text[match.end() : end]), text[: match.start()]
    columns = sorted({name for record in listed for name in numeric_fields(record)})
    named = [name for name in columns if _names_column(name, word_stems)]
    unnamed_columns = [name for name in columns if name not in named and field_stems(name) & text_stems(of)]
    most = max((len(field_stems(name) & word_stems) for name in named), default=0)
    named = [name for name in named if len(field_stems(name) & word_stems) == most]
    if len(named) != 1 or len(unnamed_columns) != 1:
        return None
    test = _TESTS[_parse_operation(match)]
    other = named[0]
    own = unnamed_columns[0]

    def holds(record: FactRecord) -> bool:
        if own not in record.fields or other not in record.fields:
            return False
        mine, its = in_major_units(record, own), in_major_units(record, other)
        return mine is not None and its is not None and test(mine, its)

    return RowCriterion(holds, (TextSpan(match.start(), end, ""),), own)


def _names_column(name: str, word_stems: frozenset[str]) -> bool:
    """Whether words name a column, and nothing else that would have to be known."""
    own = field_stems(name)
    related_words = {word for word in word_stems if any(are_related(word, own_word) for own_word in own)}
    return bool(related_words) and word_stems - related_words <= _MARK_WORDS


def _read_values(text: str, listed: Sequence[FactRecord]) -> list[RowCriterion]:
    """For each column those of its values that the text names; denied ones are left out."""
    participles = _find_participles(text)
    values = _values_of(listed).items()
    spans_by_name = {name: [one for own in of for one in _find_value(own, text, participles)] for name, of in values}
    longest = {*longest_spans([span for spans in spans_by_name.values() for span in spans])}
    kept = [(name, [span for span in spans if span in longest]) for name, spans in spans_by_name.items()]
    return [_value_criterion(name, spans, text) for name, spans in kept if spans]


def _values_of(listed: Sequence[FactRecord]) -> dict[str, set[str]]:
    values: dict[str, set[str]] = {}
    for record in listed:
        for name, value in record.fields.items():
            if not isinstance(value, bool) and _may_be_spoken(str(value)):
                values.setdefault(name, set()).add(str(value))
    return values


def _may_be_spoken(value: str) -> bool:
    return len(value) > 1 and value.lower() not in STOP and not value.replace(".", "").isdigit()


def _find_participles(text: str) -> dict[str, TextSpan]:
    matches = re.finditer(r"\b\w+(?:ed|ing)\b", text.lower())
    return {stem(match[0]): TextSpan(match.start(), match.end(), match[0]) for match in matches}


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
    spans = [(day, TextSpan(day.start, day.end, day.value)) for day in days if text[day.start : day.end].strip()]
    found = (_build_comparison(text, "is", day, text[: day.start], span, listed) for day, span in spans)
    return [criterion for criterion in found if criterion]


def _read_flags(text: str, listed: Sequence[FactRecord]) -> list[RowCriterion]:
    """Criteria on boolean fields, as in ``those that are sealed``."""
    names = sorted({n for record in listed for n, value in record.fields.items() if isinstance(value, bool)})
    flags = [(name, " ".join(part for part in parts(name) if part not in ("is", "has"))) for name in names]
    spoken = [(name, span) for name, words in flags for span in find_spoken(words, text)]
    return [_flag_criterion(name, span, find_negation(text, span.start)) for name, span in spoken]


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
    """Criteria on numeric fields that a text names with a figure, as in ``with a width of 0`` or ``with 3 pages``."""
    columns = sorted({name for record in listed for name in numeric_fields(record)})
    criteria: list[RowCriterion] = []
    for figure in find_amounts(text):
        for name in columns:
            words = r"[\s_-]*".join(map(re.escape, parts(name)))
            before = re.search(_BEFORE_FIGURE % words, text[: figure.start], re.I)
            has = re.search(r"\b(?:with|has|have|having)\s+(?:exactly\s+)?$", text[: figure.start], re.I)
            after = re.match(_AFTER_FIGURE % re.sub(r"s$", "", words), text[figure.end :], re.I) if has else None
            if before or after:
                criteria.append(_figure_criterion(name, figure, figure.end + (after.end() if after else 0)))
                break
    return criteria


def _figure_criterion(name: str, figure: Mention, end: int) -> RowCriterion:
    return RowCriterion(
        lambda record: name in record.fields and in_major_units(record, name) == figure.number,
        (TextSpan(figure.start, end, figure.value),),
        name,
    )
