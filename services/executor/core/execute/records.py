"""The records in what was collected, and which of them a planned call is about."""

from collections.abc import Iterator, Mapping, Sequence

from services.executor.core.dossier import Fact
from shared.domain.exact_json import Json, JsonObject

Fields = Mapping[str, Json]


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

    A record is named where it has one of the call's arguments under the same field name with the same text value.
    Where two records of the same nearness disagree about a field, it is left out: unknown, not guessed.
    """
    remaining = [record for fact in facts if fact.ok for record in records_in(fact.result)]
    known: dict[str, Json] = {}
    anchors: Fields = {key: value for key, value in arguments.items() if isinstance(value, str)}
    for _ in range(2):
        near = [record for record in remaining if _names(anchors, record)]
        _lay_under(known, _agreed(near))
        remaining = [record for record in remaining if record not in near]
        anchors = {key: value for record in near for key, value in record.items() if isinstance(value, str)}
    _lay_under(known, _agreed(remaining))
    return known


def _names(anchors: Fields, record: JsonObject) -> bool:
    return any(record.get(key) == value for key, value in anchors.items() if _identifies(key, value))


def _identifies(key: str, value: Json) -> bool:
    """Whether a field can tell one record from another: its value has a digit, or its name says so."""
    return isinstance(value, str) and (any(mark.isdigit() for mark in value) or key.lower().endswith(("id", "name")))


def _agreed(records: Sequence[JsonObject]) -> dict[str, Json]:
    """The scalar fields on which all records that have them agree."""
    seen: dict[str, list[Json]] = {}
    for record in records:
        for key, value in record.items():
            if not isinstance(value, dict | list):
                seen.setdefault(key, []).append(value)
    return {key: values[0] for key, values in seen.items() if all(value == values[0] for value in values)}


def _lay_under(known: dict[str, Json], further: Fields) -> None:
    for key, value in further.items():
        known.setdefault(key, value)
