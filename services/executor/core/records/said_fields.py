"""What a record, or a call, says under the name of a field: by name, in the same words, or by a common other name."""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Final, TypeAlias

from services.executor.core.figures.calculate.conditions import same
from services.executor.core.figures.numbers import figure
from services.executor.core.records.called_records import aliases, words
from services.executor.core.records.identifiers import Noun, agree
from services.executor.core.records.refs import references
from shared.domain.exact_json import Json, JsonObject


class Open(Enum):
    """A value that nobody knows: of an earlier call's result, of records that disagree, of a record nobody read."""

    OPEN = "open"


OPEN: Final = Open.OPEN
Said: TypeAlias = "Json | Open"
Fields: TypeAlias = Sequence[tuple[str, Said]]


def fields_of(record: JsonObject) -> Fields:
    """The fields of a record that a rule can speak about."""
    return [(key, value) for key, value in record.items() if is_sayable(value)]


def arguments_of(arguments: JsonObject) -> Fields:
    """The arguments of a call by name, those within others also by path; one on top hides those below."""
    every = [*_arguments("", arguments)]
    within = [(path, value) for path, value in every if "." in path]
    below = [(path.rpartition(".")[2], value) for path, value in within]
    return [*every, *((name, value) for name, value in below if name not in arguments)]


def find_said(name: str, fields: Fields, kinds: Iterable[Noun] = ()) -> list[Said]:
    """All values under the first way of saying the name that finds any; none where nothing is said.

    ``kinds``: what the fields are about; ``claim_amount`` is the amount of a claim, and the other way round.
    """
    if found := [value for key, value in fields if key == name]:
        return found
    wanted = words(name)
    if not wanted:
        return []
    with_kind = {(*kind[-1:], *wanted) for kind in kinds}
    with_kind |= {wanted[1:] for kind in kinds if len(wanted) > 1 and agree(wanted[:1], kind)}
    for ways in ({wanted}, with_kind):
        if found := [value for key, value in fields if words(key) in ways]:
            return found
    return _by_other_name(name, fields)


def one_value(values: Sequence[Said]) -> Said:
    """What all of them say; open where they differ, or any of them is."""
    first = values[0]
    return first if all(_agree(value, first) for value in values) else OPEN


def is_sayable(value: Json) -> bool:
    """A scalar, or a list of such."""
    if isinstance(value, list):
        return all(not isinstance(item, dict | list) for item in value)
    return not isinstance(value, dict)


def _by_other_name(name: str, fields: Fields) -> list[Said]:
    """Common other names of a column; what is no figure is no other name of an amount."""
    others = aliases(name)
    told = {words(other) for other in others}
    found = [value for key, value in fields if words(key) in told]
    if name == "amount" or "amount" in others:
        return [value for value in found if isinstance(value, Open) or value is None or figure(value) is not None]
    return found


def _agree(value: Said, first: Said) -> bool:
    if isinstance(value, Open) or isinstance(first, Open) or None in (value, first):
        return value is first
    return value == first or same(value, first)


def _arguments(path: str, value: JsonObject) -> Iterator[tuple[str, Said]]:
    for key, inner in value.items():
        here = f"{path}.{key}" if path else key
        if [*references(inner)]:
            yield here, OPEN
        elif isinstance(inner, dict):
            yield from _arguments(here, inner)
        elif is_sayable(inner):
            yield here, inner
        elif isinstance(inner, list):
            for item in inner:
                if isinstance(item, dict):
                    yield from _arguments(here, item)
