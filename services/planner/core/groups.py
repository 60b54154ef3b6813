"""Groups of listed records: the figure of each group that a question asks for, and the one that stands out."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from services.planner.core.back_references import with_antecedent
from services.planner.core.compute import find_operation, list_figures
from services.planner.core.counted_days import count_day, day_columns
from services.planner.core.explained import drop_asking
from services.planner.core.figures import PlannedFigure, amount_field, count_operands, in_major_units, operand
from services.planner.core.pages import lists_read_in_part
from services.planner.core.records import FactRecord
from services.planner.core.selection import select_records
from services.planner.core.situation import Situation
from services.planner.core.uninterpreted import find_uninterpreted_words
from services.planner.core.words import (
    ID_WORDS,
    STOP,
    are_related,
    field_stems,
    parts,
    share_word,
    stem,
    stems,
    text_stems,
    text_words,
)

_EACH_PATTERN = re.compile(
    r"\b(?:(?:for|by|of|in|to|with|at)\s+)?(?:each|every|per|grouped by|by)\s+(?P<by>[a-z_]+)", re.I
)
_SUBJECT_PATTERN = re.compile(
    r"^\W*(?:which|what|whose)\s+(?P<by>(?:[\w-]+\s+){1,3}?)(?=(?:has|have|is|are|was|does|do)\b)", re.I
)
_MOST_WORDS = r"highest|largest|biggest|greatest|maximum|longest|(?<!at )most|dearest"
_LEAST_WORDS = r"lowest|smallest|minimum|shortest|cheapest|fewest|(?<!at )least"
_LATEST, _EARLIEST = r"latest|newest|last|most recent(?:ly)?", r"earliest|oldest|soonest|first"
_STANDS_OUT = re.compile(
    rf"\b(?:(?P<latest>{_LATEST})|(?P<earliest>{_EARLIEST})|(?P<most>{_MOST_WORDS})|(?P<least>{_LEAST_WORDS}))\b"
    r"(?!\s+(?:\w+\s+)?first\b)",
    re.I,
)
_COUNTS_PATTERN = re.compile(r"\b(?:the |has |have )(?:most|fewest)\b", re.I)
_WHICH_PATTERN = re.compile(r"\b(?:which|whose|who|what\s+\w+\s+(?:has|have|is))\b", re.I)


class GroupFigure(NamedTuple):
    """The figure of one group; ``label``: the value that its records share."""

    label: str
    figure: PlannedFigure


def all_figures(situation: Situation) -> list[PlannedFigure]:
    """Every figure that the task depends on, those of groups too."""
    groups = [figure.figure for text in situation.reading.questions for figure in requested_groups(text, situation)]
    return [*groups, *list_figures(situation)]


def requested_groups(text: str, situation: Situation) -> list[GroupFigure]:
    """The figure of each group that a question asks for: ``how many ... does each ... have``, ``the most ...``."""
    operation = find_operation(text)
    if operation in ("maximum", "minimum", ""):
        operation = "count" if _COUNTS_PATTERN.search(text) else "sum" if operation else ""
    return _group_figures(with_antecedent(text, situation), operation, situation)


def _group_figures(text: str, operation: str, situation: Situation) -> list[GroupFigure]:
    """One figure for each value of the column that groups."""
    selection = select_records(text, situation)
    column = _group_column(text, selection.records)
    if not column or not operation:
        return []
    labels = dict.fromkeys(str(record.fields.get(column, "")) for record in selection.records)
    groups = {one: [r for r in selection.records if str(r.fields.get(column, "")) == one] for one in labels}
    figures = [_figure_of_group(text, operation, label, records) for label, records in groups.items()]
    return [figure for figure in figures if figure]


def _figure_of_group(text: str, operation: str, label: str, records: Sequence[FactRecord]) -> GroupFigure | None:
    if operation == "count":
        operands = count_operands(records)
    else:
        fields = [(record, field) for record in records if (field := amount_field(record, text))]
        operands = tuple(operand(record, field) for record, field in fields)
    if len(operands) < len(records):
        return None
    slug = "_".join(re.findall(r"[a-z\d]+", label.lower())) or "none"
    return GroupFigure(label, PlannedFigure(f"{operation}_of_{slug}", operation, operands))


def _group_column(text: str, records: Sequence[FactRecord]) -> str:
    """The field by which a text groups the records; empty if it groups by none, or by the records themselves."""
    group_words = [match["by"] for match in _EACH_PATTERN.finditer(text)]
    if _STANDS_OUT.search(text) and (subject := _SUBJECT_PATTERN.match(text)) and subject["by"].strip():
        group_words.append(subject["by"].split()[-1])
    for word in group_words:
        own = frozenset().union(*(record.noun for record in records)) if records else frozenset()
        if stem(word) in own:
            continue
        names = {name for record in records for name in record.fields if _is_called(name, word)}
        if len(names) == 1:
            return names.pop()
    return ""


def _is_called(name: str, word: str) -> bool:
    own = stems(part for part in parts(name) if part not in ID_WORDS)
    return own == {stem(word)} or field_stems(name) == text_stems(word)


def pick_groups(text: str, groups: Sequence[GroupFigure]) -> list[GroupFigure]:
    """The groups that a superlative means; all of them where the text has none."""
    match = _STANDS_OUT.search(text)
    if match is None or not _WHICH_PATTERN.search(text):
        return [*groups]
    extreme = (max if match["most"] or match["latest"] else min)(group.figure.value for group in groups)
    return [group for group in groups if group.figure.value == extreme]


class StandingOut(NamedTuple):
    """The records that a superlative selects, and the field by which it does."""

    records: tuple[FactRecord, ...]
    field: str


def find_standing_out(text: str, situation: Situation) -> StandingOut | None:
    """The records with the extreme figure or day (``which ... has the highest ...``); None if the text asks for
    none.
    """
    selection = select_records(text, situation)
    match, records = _STANDS_OUT.search(selection.rest), selection.records
    if match is None or not _WHICH_PATTERN.search(text) or not records:
        return None
    others = frozenset().union(*(record.noun for record in situation.records if record.in_list)) - records[0].noun
    if others & text_stems(text[match.end() :]) - frozenset().union(*map(field_stems, records[0].fields)):
        return StandingOut((), "")  # "the vase with the largest crack": no vase says how large that is
    field = _deciding_field(match, text, records)
    records_by_amount = [
        (amount, record) for record in records if field and (amount := _day_or_amount(record, field)) is not None
    ]
    if not records_by_amount:
        return StandingOut((), "")
    extreme = (max if match["most"] or match["latest"] else min)(amount for amount, _ in records_by_amount)
    return StandingOut(tuple(record for amount, record in records_by_amount if amount == extreme), field)


def has_superlative(text: str) -> bool:
    return bool(_STANDS_OUT.search(text))


_NOUN_WORD = r"(?:(?!(?:of|that|who|which|with|each|every|has|have|does|did)\b)[\w-]+\s*)"
_MEANT_PATTERN = re.compile(
    rf"the\s+(?:(?P<noun>{_NOUN_WORD}{{1,4}}?)with\s+the\s+)?(?:{_LATEST}|{_EARLIEST}|{_MOST_WORDS}|{_LEAST_WORDS})\s+"
    rf"(?P<rest>{_NOUN_WORD}+(?:of\s+{_NOUN_WORD}+)?)",
    re.I,
)


def name_standing_out(question: str, situation: Situation) -> str:
    """The question with an identifier in place of what a superlative means: of ``the pilot of the largest kite`` it is
    K-1. It stays as it is where it asks for that thing itself, or where what was read does not show just one.
    """
    text = question.rstrip(" ?.!")
    for place in [match.start() for match in re.finditer(r"\bthe\b", text, re.I)]:
        meant, head = _MEANT_PATTERN.fullmatch(text, place), text[:place]
        asks_of_it = re.search(r"\b(?:of|with|for)\s+$", head) or drop_asking(set(text_words(head)) - STOP)
        if meant and asks_of_it and (known_id := _find_meant_id(meant, situation)):
            return f"{head}{known_id}{question[len(text) :]}"
    return question


def _find_meant_id(meant: re.Match[str], situation: Situation) -> str:
    """The identifier of the one thing that the words mean; empty if one of them is not understood."""
    records, field = find_standing_out(f"which is {meant[0]}", situation) or StandingOut((), "")
    ids = {record.own_id for record in records if record.own_id}
    last_word = text_words(meant["rest"])[-1]
    said, named = text_stems(meant["rest"]), text_stems(meant["noun"] or meant["rest"])
    if len(ids) != 1 or not named & records[0].noun or (re.search(r"[^s]s$", last_word) and not meant["noun"]):
        return ""
    if meant["noun"] and not all(any(are_related(a, b) for b in field_stems(field)) for a in said):
        return ""
    is_whole = not find_uninterpreted_words(meant[0], situation) and not lists_read_in_part(situation.facts)
    return ids.pop() if is_whole else ""


def _deciding_field(match: re.Match[str], text: str, records: Sequence[FactRecord]) -> str:
    days = day_columns(records)
    if match["latest"] or match["earliest"]:
        named = [name for name in days if share_word(field_stems(name), text_stems(text))] or days
        return named[0] if len(named) == 1 else ""
    return amount_field(records[0], text[match.end() :]) or ""


def _day_or_amount(record: FactRecord, field: str) -> Decimal | None:
    if field not in record.fields:
        return None
    days = count_day(str(record.fields[field]))
    return days if days is not None else in_major_units(record, field)
