"""Figures stated in words: a part or the whole of one, a percentage that a record states, the difference of two."""

import re
from decimal import Decimal

from services.planner.core.figures import FigureOperand, PlannedFigure, amount_field, numeric_fields, operand
from services.planner.core.mentions import AMOUNTS, MentionKind, find_of_kind
from services.planner.core.records import FactRecord, read_figure
from services.planner.core.situation import Situation, best
from services.planner.core.words import field_stems, parts, stems, text_stems

WHOLE_PATTERN = re.compile(r"\bin full\b|\bfully\b|\b(?:whole|full|entire) (?:amount|sum|price|total|value)\b", re.I)
_PIECES = (
    (2, re.compile(r"\bhalf\b|\bby half\b", re.I)),
    (3, re.compile(r"\b(?:a|one) third\b", re.I)),
    (4, re.compile(r"\b(?:a|one) quarter\b", re.I)),
)
_LEFT_WORDS = stems(("remaining", "available", "left", "unspent", "unused", "balance", "free", "outstanding", "open"))
_SUM_WORDS = stems(("amount", "total", "price", "cost", "value", "sum", "charge"))


def figure_of_whole(text: str, subject: FactRecord | None) -> list[PlannedFigure]:
    """The figure meant by ``in full``: what is left of the record's amount if it says so, else its amount.

    Empty if the text does not say ``in full`` but a figure, or if ``subject``, the record that it is about, has no
    amount.
    """
    amount = find_amount(subject, text) if subject and WHOLE_PATTERN.search(text) and not _states_figure(text) else None
    return [PlannedFigure(f"full_{_field_words(amount[1])}", "sum", (operand(*amount),))] if amount else []


def figures_of_part(text: str, subject: FactRecord | None) -> list[PlannedFigure]:
    """The figures for ``half of ...`` and the like: the record's amount divided by the number of parts, and that one.

    Empty if the text names no such part, or if ``subject``, the record that it is about, has no amount.
    """
    pieces = next((count for count, pattern in _PIECES if pattern.search(text)), 0)
    amount = find_amount(subject, text) if subject and pieces and not _states_figure(text) else None
    if not amount:
        return []
    base = operand(*amount)
    count = PlannedFigure(f"pieces_{pieces}", "count", ((base[0], Decimal(1)),) * pieces)
    divisor = (FigureOperand("value", ref=count.name), Decimal(pieces))
    return [PlannedFigure(f"part_of_{_field_words(amount[1])}", "quotient", (base, divisor)), count]


def figures_of_percentage(text: str, subject: FactRecord | None, linked: list[FactRecord]) -> list[PlannedFigure]:
    """The share of a record's one amount by a percentage that a record states under a word of the text; else empty.

    ``subject``: the record that the text is about, if it is known; ``linked``: those to which it refers.
    """
    if subject is None or _states_figure(text):
        return []
    word_stems = text_stems(text)
    for record in (subject, *linked):
        for field in numeric_fields(record):
            words = {part for part in parts(field) if not _means_percent(part)}
            if len(words) < len(parts(field)) and words and stems(words) <= word_stems:
                return _share_of(record, field, words, linked)
    return []


def _share_of(record: FactRecord, field: str, words: set[str], linked: list[FactRecord]) -> list[PlannedFigure]:
    own = [(record, name) for name in _money_fields(record)]
    own = own or [(holder, name) for holder in linked if holder is not record for name in _money_fields(holder)]
    operands = operand(*own[0]), operand(record, field)
    return [PlannedFigure("_".join(sorted(words)), "percentage", operands)] if len(own) == 1 else []


def find_amount(record: FactRecord, text: str) -> tuple[FactRecord, str] | None:
    """The record with its field for the whole of it: what is left, where one field says so, else its amount.

    None if no field says either.
    """
    # a field's name says what can still be had: ``remaining`` or ``refundable``
    names = [name for name in numeric_fields(record) if name.endswith("able") or field_stems(name) & _LEFT_WORDS]
    field = names[0] if len(names) == 1 else amount_field(record, text)
    return (record, field) if field else None


def _money_fields(record: FactRecord) -> list[str]:
    """The fields that hold money: named as a sum, or written with cents."""
    fields = [name for name in numeric_fields(record) if not any(map(_means_percent, parts(name)))]
    return [name for name in fields if field_stems(name) & _SUM_WORDS or _has_cents(record.fields[name])]


def _has_cents(value: object) -> bool:
    return isinstance(value, str | Decimal) and read_figure(value) is not None and str(value)[-3:-2] == "."


def _means_percent(part: str) -> bool:
    """Whether a part of a name is ``percent``, ``percentage`` or an abbreviation of them."""
    letters = iter("percentage")
    return len(part) > 2 and part[0] == "p" and all(letter in letters for letter in part) and "c" in part


def _states_figure(text: str) -> bool:
    return bool(find_of_kind(text, *AMOUNTS, MentionKind.PERCENT))


def _field_words(field: str) -> str:
    return "_".join(parts(field))


_BETWEEN_PATTERN = re.compile(r"\b(?:difference|discrepancy|gap) between (?P<first>.+?) and (?P<second>.+)$", re.I)
_AGAINST_PATTERN = re.compile(
    r"\b(?:reconcil|compar|check)\w*\s+(?P<first>.+?) (?:against|with|to) (?P<second>.+?)(?= and |[,.;:]|$)", re.I
)


def figure_of_difference(text: str, subject: FactRecord | None, situation: Situation) -> PlannedFigure | None:
    """The difference that a text asks for, first side minus second; None if it asks for none, or a side has no figure.

    ``subject``: the record that the text is about.
    """
    match = _BETWEEN_PATTERN.search(text) or _AGAINST_PATTERN.search(text)
    if match is None:
        return None
    sides = match["first"], match["second"]
    operands = _operands_of_two(sides, situation) or (_operands_of_one(sides, subject) if subject else ())
    return PlannedFigure("difference", "difference", operands) if operands else None


def _operands_of_one(sides: tuple[str, str], subject: FactRecord) -> tuple[tuple[FigureOperand, Decimal], ...]:
    fields = [field for side in sides if (field := amount_field(subject, side))]
    return tuple(operand(subject, field) for field in fields) if len({*fields}) == len(sides) else ()


def _operands_of_two(sides: tuple[str, str], situation: Situation) -> tuple[tuple[FigureOperand, Decimal], ...]:
    """Each side names one of two records of different kinds, of which one refers to the other."""
    first, second = (_records_meant(side, situation) for side in sides)
    pairs = [(one, other) for one in first for other in second if one.noun != other.noun]
    pairs = [(one, other) for one, other in pairs if _contains_id_of(one, other) or _contains_id_of(other, one)]
    if len({(one.own_id, other.own_id) for one, other in pairs}) != 1:
        return ()
    pair = min(pairs, key=lambda pair: (pair[0].in_list, pair[1].in_list))  # what was looked up, before what was listed
    chosen = [(record, amount_field(record, side)) for record, side in zip(pair, sides, strict=True)]
    operands = tuple(operand(record, field) for record, field in chosen if field)
    return operands if len(operands) == len(sides) else ()


def _records_meant(text: str, situation: Situation) -> list[FactRecord]:
    """The records whose noun a text uses; only the one that the task names, if it names one."""
    fitting = [record for record in situation.records if record.noun and record.noun <= text_stems(text)]
    named = best(fitting, situation)
    return named if len(named) == 1 else fitting


def _contains_id_of(record: FactRecord, target: FactRecord) -> bool:
    return record is not target and target.own_id != "" and target.own_id in record.values
