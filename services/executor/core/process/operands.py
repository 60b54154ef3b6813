"""The operands of a process's figure: the one match of a pattern around what the task is about, or an error."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from services.executor.core.dossier.dossier import Operand
from services.executor.core.finance.currency import is_currency
from services.executor.core.process.links import Links, denies
from services.executor.core.records.called_records import Seen
from services.executor.core.states.patterns import Pattern
from shared.domain.exact_json import dumps

COUNTS = frozenset({"count"})


class NotThere(LookupError):
    """The facts have nothing for an operand; the message names it."""


class Ambiguous(LookupError):
    """The facts have several things for an operand, and nothing tells which is meant."""


class Around(NamedTuple):
    """What a figure is computed from: the records that it is about, and all there are."""

    anchors: Sequence[Seen]
    records: Sequence[Seen]
    task: str
    links: Links


def operand_of(pattern: Pattern, around: Around, operation: str) -> list[Operand]:
    """The one figure that the pattern names, and its currency where the record says it."""
    record, field = _one_match(pattern, around)
    found = [Operand(source="result", ref=record.fact.ref, path=at(record.path, field))]
    currency = record.record.get("currency")
    if operation not in COUNTS and isinstance(currency, str) and is_currency(currency):
        found.append(Operand(source="result", ref=record.fact.ref, path=at(record.path, "currency")))
    return found


def called(records: Sequence[Seen], kinds: Sequence[str]) -> Callable[[Seen], bool]:
    """Whether a record is of one of the kinds; where none is so called, whether the kind stands in its name at all."""
    if any(record.is_called(kind) for record in records for kind in kinds):
        return lambda record: any(record.is_called(kind) for kind in kinds)
    return lambda record: any(record.mentions(kind) for kind in kinds)


def _one_match(pattern: Pattern, around: Around) -> tuple[Seen, str]:
    of_kind = called(around.records, pattern.kinds)

    def wanted(record: Seen) -> bool:
        return record.field(pattern.fields) is not None and of_kind(record)

    found = around.links.nearest(around.anchors, wanted) or _alone(around, wanted)
    values = {
        (record.identity, dumps(record.record[field]))
        for record in found
        if (field := record.field(pattern.fields)) is not None
    }
    if not values:
        raise NotThere(f"nothing was read that is {told(pattern)}")
    if len(values) > 1:
        raise Ambiguous(f"there are {len(values)} different things that could be {told(pattern)}")
    return next((record, field) for record in found if (field := record.field(pattern.fields)) is not None)


def _alone(around: Around, wanted: Callable[[Seen], bool]) -> list[Seen]:
    """Those that no way leads to, if none of them says that it belongs to somebody else."""
    found = [record for record in around.records if wanted(record)]
    strangers = [record for record in found if any(denies(record, anchor) for anchor in around.anchors)]
    return [record for record in found if record not in strangers]


def told(pattern: Pattern) -> str:
    return f"the {' or '.join(pattern.fields[:2])} of the {pattern.kinds[0].replace('_', ' ')}"


def at(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field
