"""``the difference between A and B``, ``reconcile A against B``: of two records, or two figures of one."""

import re
from decimal import Decimal

from services.planner.core.figures import FigureOperand, PlannedFigure, amount_field, operand
from services.planner.core.records import FactRecord, own_id
from services.planner.core.situation import Situation, best
from services.planner.core.words import text_stems

_BETWEEN = re.compile(r"\b(?:difference|discrepancy|gap) between (?P<first>.+?) and (?P<second>.+)$", re.I)
_AGAINST = re.compile(
    r"\b(?:reconcil|compar|check)\w*\s+(?P<first>.+?) (?:against|with|to) (?P<second>.+?)(?= and |[,.;:]|$)", re.I
)


def difference(text: str, subject: FactRecord | None, situation: Situation) -> PlannedFigure | None:
    """The figure that a text asks for; ``subject`` is the record that it is about. The first side less the second."""
    match = _BETWEEN.search(text) or _AGAINST.search(text)
    if match is None:
        return None
    sides = match["first"], match["second"]
    found = _of_two(sides, situation) or (_of_one(sides, subject) if subject else ())
    return PlannedFigure("difference", "difference", found) if found else None


def _of_one(sides: tuple[str, str], subject: FactRecord) -> tuple[tuple[FigureOperand, Decimal], ...]:
    fields = [field for side in sides if (field := amount_field(subject, side))]
    return tuple(operand(subject, field) for field in fields) if len({*fields}) == len(sides) else ()


def _of_two(sides: tuple[str, str], situation: Situation) -> tuple[tuple[FigureOperand, Decimal], ...]:
    """Each side names one of two records of different kinds, of which one refers to the other."""
    pairs = [
        (one, other)
        for one in _records_meant(sides[0], situation)
        for other in _records_meant(sides[1], situation)
        if one.noun != other.noun and (_refers(one, other) or _refers(other, one))
    ]
    if len({(own_id(one), own_id(other)) for one, other in pairs}) != 1:
        return ()
    chosen = [(record, amount_field(record, side)) for record, side in zip(_nearest(pairs), sides, strict=True)]
    found = tuple(operand(record, field) for record, field in chosen if field)
    return found if len(found) == len(sides) else ()


def _nearest(pairs: list[tuple[FactRecord, FactRecord]]) -> tuple[FactRecord, FactRecord]:
    """The records as they were looked up, where they were listed as well."""
    return min(pairs, key=lambda pair: (pair[0].in_list, pair[1].in_list))


def _records_meant(text: str, situation: Situation) -> list[FactRecord]:
    """The records whose noun a text uses; only the one that the task names, if it names one."""
    fitting = [record for record in situation.records if record.noun and record.noun <= text_stems(text)]
    named = best(fitting, situation)
    return named if len(named) == 1 else fitting


def _refers(record: FactRecord, target: FactRecord) -> bool:
    known = own_id(target)
    return known is not None and record is not target and known[1] in record.fields.values()
