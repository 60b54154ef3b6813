"""When two values of a tool server say the same, and which fields tell one record from another."""

import re
from datetime import datetime

from services.executor.core.figures.date_values import name_the_same_day
from services.executor.core.figures.numbers import figure
from shared.domain.exact_json import Json

_WORD_ENDS = re.compile(r"[_\-\s]|(?<=[a-z0-9])(?=[A-Z])")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_UNIT = re.compile(r"\b[A-Z]{3}\b|[$€£¥%]")
_NO_IDS = frozenset("paid unpaid prepaid repaid valid invalid void avoid bid grid solid liquid hybrid aid".split())


def same(shown: Json, claimed: Json) -> bool:
    """Equal, or the same figure in the same unit, the same moment or day, or the same text but for case and space."""
    if shown == claimed:
        return True
    moment = _moment(shown)
    if (moment is not None and moment == _moment(claimed)) or name_the_same_day(shown, claimed):
        return True
    number, other = figure(shown), figure(claimed)
    if number is not None and other is not None:
        return number == other and len({unit for unit in (_unit(shown), _unit(claimed)) if unit}) < 2
    return (
        isinstance(shown, str) and isinstance(claimed, str) and shown.strip().casefold() == claimed.strip().casefold()
    )


def names_a_record(key: str) -> bool:
    """Whether a field is an identifier by its name: ``id``, ``claim_id``, ``claimId``, ``orderid``; not ``paid``."""
    last = _WORD_ENDS.split(key)[-1].lower()
    return last.endswith("id") and last not in _NO_IDS


def _moment(value: Json) -> datetime | None:
    """A date with an hour, whichever way it and its zone are written; without a zone it is that of no other one."""
    if not isinstance(value, str) or not _MOMENT.match(value):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def _unit(value: Json) -> tuple[str, ...]:
    return tuple(_UNIT.findall(value)) if isinstance(value, str) else ()
