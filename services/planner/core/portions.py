"""A part or the whole of a figure, said in words: ``in full``, ``half of``, and a percentage that a record states."""

import re
from decimal import Decimal

from services.planner.core.figures import FigureOperand, PlannedFigure, amount_field, numeric_fields, operand
from services.planner.core.mentions import MentionKind, find
from services.planner.core.records import FactRecord, number
from services.planner.core.words import field_stems, parts, stems, text_stems

_WHOLE = re.compile(r"\bin full\b|\bfully\b|\b(?:whole|full|entire) (?:amount|sum|price|total|value)\b", re.I)
_PIECES = (
    (2, re.compile(r"\bhalf\b|\bby half\b", re.I)),
    (3, re.compile(r"\b(?:a|one) third\b", re.I)),
    (4, re.compile(r"\b(?:a|one) quarter\b", re.I)),
)
_LEFT = stems(("remaining", "available", "left", "unspent", "unused", "balance", "free", "outstanding", "open"))
_SUMS = stems(("amount", "total", "price", "cost", "value", "sum", "charge"))


def whole(text: str, subject: FactRecord | None) -> list[PlannedFigure]:
    """``in full``: what is left of a record's amount if it says so, else its amount."""
    found = _amount(subject, text) if subject and _WHOLE.search(text) and not _states_figure(text) else None
    return [PlannedFigure(f"full_{_plain(found[1])}", "sum", (operand(*found),))] if found else []


def piece(text: str, subject: FactRecord | None) -> list[PlannedFigure]:
    """``half of ...``: the figure divided by as many as there are pieces; these are counted, so that all is traced."""
    pieces = next((count for count, pattern in _PIECES if pattern.search(text)), 0)
    found = _amount(subject, text) if subject and pieces and not _states_figure(text) else None
    if not found:
        return []
    base = operand(*found)
    count = PlannedFigure(f"pieces_{pieces}", "count", ((base[0], Decimal(1)),) * pieces)
    divisor = (FigureOperand("value", ref=count.name), Decimal(pieces))
    return [PlannedFigure(f"part_of_{_plain(found[1])}", "quotient", (base, divisor)), count]


def stated_percent(text: str, subject: FactRecord | None, linked: list[FactRecord]) -> list[PlannedFigure]:
    """A word of the text of which a record states the percentage: that percentage of the record's one amount."""
    if subject is None or _states_figure(text):
        return []
    said = text_stems(text)
    for record in (subject, *linked):
        for field in numeric_fields(record):
            words = {part for part in parts(field) if not _means_percent(part)}
            if len(words) < len(parts(field)) and words and stems(words) <= said:
                return _share_of(record, field, words, linked)
    return []


def _share_of(record: FactRecord, field: str, words: set[str], linked: list[FactRecord]) -> list[PlannedFigure]:
    own = [(record, name) for name in _amounts(record)]
    own = own or [(holder, name) for holder in linked if holder is not record for name in _amounts(holder)]
    found = operand(*own[0]), operand(record, field)
    return [PlannedFigure("_".join(sorted(words)), "percentage", found)] if len(own) == 1 else []


def _amount(record: FactRecord, text: str) -> tuple[FactRecord, str] | None:
    left = [name for name in numeric_fields(record) if _is_left(name)]
    field = left[0] if len(left) == 1 else amount_field(record, text)
    return (record, field) if field else None


def _is_left(name: str) -> bool:
    """``remaining``, ``refundable``: what can still be had."""
    return bool(field_stems(name) & _LEFT) or name.endswith("able")


def _amounts(record: FactRecord) -> list[str]:
    """The fields that hold money: named as a sum, or written with cents."""
    fields = [name for name in numeric_fields(record) if not any(map(_means_percent, parts(name)))]
    return [name for name in fields if field_stems(name) & _SUMS or _has_cents(record.fields[name])]


def _has_cents(value: object) -> bool:
    return isinstance(value, str | Decimal) and number(value) is not None and str(value)[-3:-2] == "."


def _means_percent(part: str) -> bool:
    """``percent``, ``percentage`` and what abbreviates it."""
    letters = iter("percentage")
    return len(part) > 2 and part[0] == "p" and all(letter in letters for letter in part) and "c" in part


def _states_figure(text: str) -> bool:
    return any(mention.kind in (MentionKind.MONEY, MentionKind.PERCENT, MentionKind.NUMBER) for mention in find(text))


def _plain(field: str) -> str:
    return "_".join(parts(field))
