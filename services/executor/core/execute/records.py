"""The records in what was collected, and which of them a planned call is about."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from services.executor.core.dossier import Fact
from services.executor.core.execute.sameness import names_a_record
from shared.domain.exact_json import Json, JsonObject, dumps


def records_in(value: Json) -> Iterator[JsonObject]:
    """Every JSON object in a value that has scalar fields of its own, outermost first."""
    return (record for _, record in _placed(value))


class _Found(NamedTuple):
    """A record and its kind: the tool that showed it and where it stood; all items of a list are of one kind."""

    kind: tuple[str, str, str]
    record: JsonObject


class _Known(NamedTuple):
    """The fields known so far; ``settled`` names those that a nearer record has, also where such records disagree."""

    fields: dict[str, Json]
    settled: set[str]

    def lay_under(self, further: Sequence[_Found]) -> None:
        """Add the scalar fields on which all of these records that have them agree, if no nearer one has them."""
        seen: dict[str, list[Json]] = {}
        for _, record in further:
            for key, value in record.items():
                if key not in self.settled and not isinstance(value, dict | list):
                    seen.setdefault(key, []).append(value)
        self.fields.update((key, said[0]) for key, said in seen.items() if all(value == said[0] for value in said))
        self.settled.update(seen)


def fields_about(arguments: JsonObject, facts: Sequence[Fact]) -> dict[str, Json]:
    """The scalar fields known about a call: of the records it names, then of records those name, then of any other.

    Where two records of the same nearness disagree about a field, it is left out: unknown, not guessed. So are all
    fields of a record that is known to be another one: of a named record's kind, or with another value under an id.
    """
    remaining = _once(facts)
    known = _Known({}, set())
    names = _identifiers(arguments)
    for _ in range(2):
        near = [found for found in remaining if _is_named_by(found.record, names)]
        known.lay_under(near)
        kinds = {found.kind for found in near}
        remaining = [found for found in remaining if found.kind not in kinds and not _denies(found.record, arguments)]
        names |= {name for found in near for name in _identifiers(found.record)}
        near = [found for found in remaining if _refers_to(found.record, names)]
        known.lay_under(near)
        remaining = [found for found in remaining if found not in near]
    known.lay_under(remaining)
    return known.fields


def named_by(names: Sequence[str], facts: Sequence[Fact]) -> tuple[JsonObject, ...]:
    """The records whose own ``id`` is one of the names, each once: all that a call names, however it names them."""
    found = (record for _, record in _once(facts))
    return tuple(
        record for record in found if any(key.lower() == "id" and str(value) in names for key, value in record.items())
    )


def _once(facts: Sequence[Fact]) -> list[_Found]:
    seen: dict[str, _Found] = {}
    for fact in facts:
        for path, record in _placed(fact.result) if fact.ok else ():
            seen.setdefault(dumps(record), _Found((fact.connection_id, fact.tool, path), record))
    return list(seen.values())


def _placed(value: Json, path: str = "") -> Iterator[tuple[str, JsonObject]]:
    """Every record with its place; the items of one list share theirs."""
    if isinstance(value, list):
        for item in value:
            yield from _placed(item, f"{path}[]")
    elif isinstance(value, dict):
        if any(not isinstance(item, dict | list) for item in value.values()):
            yield path, value
        for key, item in value.items():
            yield from _placed(item, f"{path}.{key}")


def _identifiers(record: JsonObject) -> set[tuple[str, str]]:
    """The fields that can tell one record from another, by name and value."""
    texts = {(key, value) for key, value in record.items() if isinstance(value, str) and _identifies(key)}
    return texts | {(key, str(value)) for key, value in record.items() if _is_number(value) and names_a_record(key)}


def _as_id(value: Json) -> Json:
    """An id as a text: some servers give numbers, and take them back as texts or the other way round."""
    return str(value) if _is_number(value) else value


def _is_number(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _identifies(key: str) -> bool:
    return key.lower().endswith(("id", "name", "number", "code", "key"))


def _is_named_by(record: JsonObject, names: set[tuple[str, str]]) -> bool:
    """Whether the record's own ``id`` is one of the values: ``expense_id: E-1`` names the record whose id is E-1."""
    own = [_as_id(value) for key, value in record.items() if key.lower() == "id"]
    return any(value in own for key, value in names if names_a_record(key))


def _refers_to(record: JsonObject, names: set[tuple[str, str]]) -> bool:
    """Whether the record has one of the names under the same field name."""
    return any(key in record and _as_id(record[key]) == value for key, value in names)


def _denies(record: JsonObject, arguments: JsonObject) -> bool:
    """Whether the record has another value under one of the call's ids: it is about something else."""
    return any(
        names_a_record(key) and key.lower() != "id" and _as_id(record.get(key, value)) != _as_id(value)
        for key, value in arguments.items()
    )
