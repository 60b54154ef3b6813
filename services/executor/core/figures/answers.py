"""The figures and identifiers that an answer states, to be checked against what was read and calculated."""

import re
from datetime import datetime
from typing import NamedTuple

from services.executor.core.figures.mentions import find_mentions
from services.executor.core.figures.numbers import Number, NumberMention
from services.executor.core.figures.units import Unit


class StatedFigure(NamedTuple):
    """A number, by ``values``, or an identifier, by ``code``, where it stands in the answer."""

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
        if one.start not in starts and one.start not in listed and not _is_version(one.text)
    ]
    return tuple(sorted((*numbers, *codes), key=lambda one: one.start))


def _is_figure(mention: NumberMention, text: str) -> bool:
    if mention.is_everyday:
        return mention.money is not None or mention.unit is not None
    before = text[max(0, mention.start - 12) : mention.start]
    return not (_VERSION_BEFORE.search(before) or _COUNTED.search(before))


def _is_version(code: str) -> bool:
    return _VERSION.fullmatch(code) is not None
