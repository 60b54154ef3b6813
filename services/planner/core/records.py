"""Facts as records: whatever the shape of a result, the things it speaks of, each with its fields and their paths."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from services.planner.core.mentions import identifiers_in
from services.planner.core.words import ID_WORDS, concept, field_stems, is_identifier, nouns, parts
from shared.domain.exact_json import Json, JsonObject

MINOR = frozenset({"cents", "minor", "pence", "cent"})

Scalar = str | int | Decimal | bool
_WRAPPER_WORDS = frozenset(
    "data result results item items record records response payload rows entries content list values".split()
)


class ToolFact(NamedTuple):
    """A tool's result. ``ref`` is how a plan or a computation names it."""

    ref: str
    tool: str
    arguments: JsonObject
    result: Json


class FactRecord(NamedTuple):
    """One thing that a fact speaks of. ``path`` leads to it within the result; ``noun`` says what it is, and
    ``own_id`` which one. That is the value of ``own_field`` (``find_own_field``); both are empty if it has none.
    """

    fact: ToolFact
    path: str
    noun: frozenset[str]
    fields: Mapping[str, Scalar]
    in_list: bool
    own_field: str
    own_id: str

    @property
    def called(self) -> str:
        """Its identifier, else the words for what it is."""
        return self.own_id or " ".join(sorted(self.noun))

    @property
    def names(self) -> list[str]:
        """Its identifier and its name; without those that it has not."""
        return [*filter(None, (self.own_id, str(self.fields.get("name", ""))))]

    @property
    def texts(self) -> list[str]:
        """The values of its fields that are texts."""
        return [value for value in self.fields.values() if isinstance(value, str)]

    @property
    def asked_by(self) -> set[str]:
        """The values by which the tool was asked for it, as texts."""
        return {*map(str, self.fact.arguments.values())}

    @property
    def values(self) -> set[str]:
        """The values of its fields as texts."""
        return {*map(str, self.fields.values())}

    def path_of(self, field: str) -> str:
        return f"{self.path}.{field}" if self.path else field

    def ref(self, field: str) -> str:
        path = self.path_of(field)
        return f"{self.fact.ref}{path}" if path.startswith("[") else f"{self.fact.ref}.{path}"


_QUERIES = frozenset({"query", "q", "search", "text", "term", "terms", "words", "keyword", "keywords", "contains"})


def is_unsearched_list(fact: ToolFact) -> bool:
    """Whether a result is a list, or has one, of all that fits its arguments; false for a search by words."""
    values = fact.result.values() if isinstance(fact.result, dict) else (fact.result,)
    return any(isinstance(value, list) for value in values) and not _QUERIES.intersection(fact.arguments)


def records_of(facts: tuple[ToolFact, ...]) -> tuple[FactRecord, ...]:
    """Every record of every fact, in order."""
    return tuple(record for fact in facts for record in _walk_records(fact, "", fact.result, nouns(fact.tool), False))


def _walk_records(fact: ToolFact, path: str, value: Json, noun: frozenset[str], in_list: bool) -> Iterator[FactRecord]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk_records(fact, f"{path}[{index}]", item, noun, True)
    if not isinstance(value, dict):
        return
    fields = {key: item for key, item in value.items() if isinstance(item, Scalar)}
    nested = {key: item for key, item in value.items() if isinstance(item, dict | list)}
    if fields.get("error") or fields.get("found") is False:
        return
    if fields and not (_is_wrapping(nested) and not any(is_identifier(key) for key in fields)):
        own_field = find_own_field(noun, fields)
        yield FactRecord(fact, path, noun, fields, in_list, own_field, str(fields[own_field]) if own_field else "")
    for key, item in nested.items():
        own = noun if key in _WRAPPER_WORDS else frozenset(field_stems(key))
        yield from _walk_records(fact, f"{path}.{key}" if path else key, item, own, in_list)


def _is_wrapping(nested: Mapping[str, Json]) -> bool:
    """Whether an object is an envelope of records and not a record, such as ``{"total": 3, "items": [...]}``."""
    has_rows = any(isinstance(item, list) and item and isinstance(item[0], dict) for item in nested.values())
    return has_rows or not _WRAPPER_WORDS.isdisjoint(nested)


_FIGURE_PATTERN = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")
_LARGEST = 30  # digits: what has more is a code, and no sum of anything


def read_figure(value: Json) -> Decimal | None:
    """A figure in a result: a number, or a text that is one (``"1,200.50"``, ``"12.00 EUR"``); None for others."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return _read_written_figure(value)
    return _keep_usual(Decimal(value)) if isinstance(value, int | Decimal) else None


@lru_cache(maxsize=20_000)
def _read_written_figure(value: str) -> Decimal | None:
    """The figure that a text is; None if it is none."""
    text = value.strip("$€£ ").removesuffix("USD").removesuffix("EUR").removesuffix("GBP").strip().replace(",", "")
    return _keep_usual(Decimal(text)) if _FIGURE_PATTERN.fullmatch(text) else None


def _keep_usual(figure: Decimal) -> Decimal | None:
    """The figure; None if it has so many digits that it is a code."""
    return figure if abs(figure.adjusted()) <= _LARGEST else None


def find_own_field(noun: frozenset[str], fields: Mapping[str, Scalar]) -> str:
    """The field that identifies a thing: ``id``, or the thing's noun with ``id``, else the first identifier field.

    If no identifier field names the thing itself, the only other field whose value looks like an identifier does.
    Empty if there is none.
    """
    named, own = _identifier_names(noun, tuple(fields))
    return next(iter((*own, *(() if own else _find_odd_identifier(fields)), *named)), "")


@lru_cache(maxsize=5_000)
def _identifier_names(noun: frozenset[str], fields: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields that are called identifiers, and those of them that are the thing's own, the plainest first."""
    named = tuple(name for name in fields if is_identifier(name))
    own = tuple(name for name in named if concept(name, noun) <= noun)
    exact = [name for name in own if concept(name, noun) == noun or "id" in name.lower()]
    exact.sort(key=lambda name: (name.lower() != "id", "id" not in parts(name)))
    return named, (*exact, *own)


def _find_odd_identifier(fields: Mapping[str, Scalar]) -> list[str]:
    """The field that holds an identifier under a name that does not say of what, if there is just one."""
    names = [name for name, value in fields.items() if not _identifies_another_thing(name) and _looks_like_an_id(value)]
    return names if len(names) == 1 else []


def _identifies_another_thing(name: str) -> bool:
    """Whether a field identifies another thing (``owner_id``), and not the record itself (``id_code``)."""
    return is_identifier(name) and parts(name)[0] not in ID_WORDS


def _looks_like_an_id(value: Scalar) -> bool:
    return isinstance(value, str) and value in identifiers_in(value)


def id_fields(record: FactRecord, noun: frozenset[str]) -> list[str]:
    """The record's fields that hold an identifier, or the name, of a thing of that noun."""
    names = _fields_naming(record.noun, tuple(record.fields), noun)
    return [name for name in names if is_identifier(name) or read_figure(record.fields[name]) is None]


@lru_cache(maxsize=20_000)
def _fields_naming(noun: frozenset[str], fields: tuple[str, ...], wanted_noun: frozenset[str]) -> tuple[str, ...]:
    """The fields that name a thing of the wanted noun, of a record of the noun ``noun``."""
    alike = (name for name in fields if concept(name, noun) == wanted_noun)
    return tuple(name for name in alike if is_identifier(name) or field_stems(name) == wanted_noun)
