"""The records in what was collected, and which of them a planned call is about."""

from collections.abc import Iterator, Mapping, Sequence

from services.executor.core.dossier import Fact
from shared.domain.exact_json import Json, JsonObject


def records_in(value: Json) -> Iterator[JsonObject]:
    """Every JSON object in a value that has scalar fields of its own, outermost first."""
    if isinstance(value, list):
        for item in value:
            yield from records_in(item)
    elif isinstance(value, dict):
        if any(not isinstance(item, dict | list) for item in value.values()):
            yield value
        for item in value.values():
            yield from records_in(item)


def fields_about(arguments: JsonObject, facts: Sequence[Fact]) -> dict[str, Json]:
    """The scalar fields known about a call: of the records it names, then of records those name, then of any other.

    Where two records of the same nearness disagree about a field, it is left out: unknown, not guessed.
    """
    remaining = _once(record for fact in facts if fact.ok for record in records_in(fact.result))
    known: dict[str, Json] = {}
    names = _identifiers(arguments)
    for _ in range(2):
        for nearness in (_is_named_by, _refers_to):
            near = [record for record in remaining if nearness(record, names)]
            _lay_under(known, _agreed(near))
            remaining = [record for record in remaining if record not in near]
            names |= {name for record in near if nearness is _is_named_by for name in _identifiers(record)}
    _lay_under(known, _agreed(remaining))
    return known


def _once(records: Iterator[JsonObject]) -> list[JsonObject]:
    seen: list[JsonObject] = []
    for record in records:
        if record not in seen:
            seen.append(record)
    return seen


def _identifiers(record: JsonObject) -> set[tuple[str, str]]:
    """The fields that can tell one record from another, by name and value."""
    return {(key, value) for key, value in record.items() if isinstance(value, str) and _identifies(key)}


def _identifies(key: str) -> bool:
    return key.lower().endswith(("id", "name", "number", "code", "key"))


def _is_named_by(record: JsonObject, names: set[tuple[str, str]]) -> bool:
    """Whether the record's own ``id`` is one of the values: ``expense_id: E-1`` names the record whose id is E-1."""
    own = [value for key, value in record.items() if key.lower() == "id"]
    return any(value in own for key, value in names if key.lower().endswith("id"))


def _refers_to(record: JsonObject, names: set[tuple[str, str]]) -> bool:
    """Whether the record has one of the names under the same field name."""
    return any(record.get(key) == value for key, value in names)


def _agreed(records: Sequence[JsonObject]) -> dict[str, Json]:
    """The scalar fields on which all records that have them agree."""
    seen: dict[str, list[Json]] = {}
    for record in records:
        for key, value in record.items():
            if not isinstance(value, dict | list):
                seen.setdefault(key, []).append(value)
    return {key: values[0] for key, values in seen.items() if all(value == values[0] for value in values)}


def _lay_under(known: dict[str, Json], further: Mapping[str, Json]) -> None:
    for key, value in further.items():
        known.setdefault(key, value)
