"""All that a text names, found without a model: people, vendors, products, money, dates, addresses, reference ids."""

import re
from collections.abc import Iterable, Iterator

from services.learner.core.entities.amounts import amounts, percentages
from services.learner.core.entities.dates import dates
from services.learner.core.entities.kinds import EntityKind, FoundEntity
from services.learner.core.entities.names import names, short_name

TEXT_LOOKED_AT = 4_000
MOST = 40  # entities of one task
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}(?![\w@])")
_REFERENCE = re.compile(
    r"(?<![\w./@-])(?=[A-Z0-9-]{0,30}\d)[A-Z][A-Z0-9]{0,9}(?:[-_/][A-Z0-9]{1,12}){1,4}(?![\w-])|(?<![\w./@-])[A-Z]{2,4}\d{4,14}(?!\w)"
)
_ORDER = {kind: place for place, kind in enumerate(EntityKind)}


def find_entities(text: str) -> tuple[FoundEntity, ...]:
    """Each once, in the order of appearance; no two of them of the same words."""
    shown = text[:TEXT_LOOKED_AT]
    kept: list[FoundEntity] = []
    for found in sorted(_all(shown), key=lambda one: (_ORDER[one.kind], one.start - one.end, one.start)):
        if not any(found.start < other.end and other.start < found.end for other in kept):
            kept.append(found)
    kept.sort(key=lambda one: one.start)
    return tuple(_merge(kept))[:MOST]


def names_of(found: FoundEntity) -> tuple[str, ...]:
    """The ways in which a later task may write it."""
    short = short_name(found.value)
    return (found.value, short) if short != found.value else (found.value,)


def _all(text: str) -> Iterator[FoundEntity]:
    for match in _EMAIL.finditer(text):
        address = match[0].rstrip(".").lower()
        yield FoundEntity(EntityKind.EMAIL, address, address, match.start(), match.end())
    yield from dates(text)
    yield from amounts(text)
    yield from percentages(text)
    for match in _REFERENCE.finditer(text):
        yield FoundEntity(EntityKind.REFERENCE, match[0], match[0].casefold(), match.start(), match.end())
    yield from names(text)


def _merge(found: Iterable[FoundEntity]) -> Iterator[FoundEntity]:
    """One of each, in its longest writing; a name that is the same as a company's is that company."""
    by_field: dict[str, FoundEntity] = {}
    for one in found:
        known = by_field.get(one.field)
        by_field[one.field] = one if known is None or len(one.value) > len(known.value) else known
    return iter(by_field.values())
