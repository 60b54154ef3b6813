"""References in a planned call to the results of earlier calls: how they are written, and how values replace them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import cast

from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import NoSuchPath
from shared.domain.exact_json import Json, JsonObject, as_object, walk_json
from shared.domain.keywords import stem

REFERENCE_KEY = "$ref"
_MADE_ID_PATTERN = re.compile(r"^<([A-Za-z][\w-]*)>$")
_ID_WORDS = ("id", "number", "no", "reference", "ref", "code", "key", "uuid")
_WRAPPER_WORDS = frozenset("result results data record item object response payload created entity body row".split())
_LONGEST_ID = 64  # characters of a text that is an id


def build_made_id_reference(call_id: str, name: str) -> JsonObject:
    """A reference to the id that a call's answer will give to what the call makes: ``{"$ref": "c1.<booking_id>"}``.

    ``name``: of the id with its record's kind, such as ``booking_id``, under whichever name the answer has it.
    """
    return {REFERENCE_KEY: f"{call_id}.<{name}>"}


def _name_of_made_id(path: str) -> str | None:
    """The name of the id in a reference to what a call makes; None for any other path."""
    match = _MADE_ID_PATTERN.match(path)
    return match[1] if match else None


def is_unqualified_id(name: str) -> bool:
    """Whether a name says only that it is an id, and not of what."""
    return words_of(name)[1:] == [] and name.lower() in _ID_WORDS


def find_made_id(answer: Json, name: str) -> Json:
    """The id in an answer: by its name, its record's name, or a plain ``id``; None without one or if several differ."""
    words = _stem_words(name)
    noun = words[:-1] if len(words) > 1 and words_of(name)[-1] in _ID_WORDS else words
    if not isinstance(answer, dict | list):
        return answer if _looks_like_id(answer) else None
    ids = _outermost_ids([*_walk_levels(answer)], words, noun)
    return _common_id(ids) if ids else _find_unqualified_id(answer)


def _find_named_id(answer: Json, name: str) -> Json:
    """The id of exactly that name, or of the record that it names, at any depth; never a plain ``id`` of the answer.

    None if the name is not an id's, or there are several different ones.
    """
    words = _stem_words(name)
    if not words_of(name) or words_of(name)[-1] not in _ID_WORDS:
        return None
    records = [record for level in _walk_levels(answer) for record in level]
    return _common_id(_outermost_ids([records], words, words[:-1] or words))


def _outermost_ids(levels: Sequence[Sequence[JsonObject]], words: tuple[str, ...], noun: tuple[str, ...]) -> list[Json]:
    """The ids on the outermost level with any: by the full name, else of the record of that name, else its number."""
    finders = ((_values_by_name, words), (_ids_by_noun, noun), (_ids_by_noun_and_number_word, noun))
    for (find, sought_words), level in product(finders, levels):
        values = (value for record in level for value in find(record, sought_words))
        if ids := [value for value in values if _may_be_id(value)]:
            return ids
    return []


def _common_id(ids: Sequence[Json]) -> Json:
    return ids[0] if ids and all(value == ids[0] for value in ids) else None


def _walk_levels(answer: Json, *, in_wrappers: bool = False) -> Iterator[list[JsonObject]]:
    """Yields the objects of an answer level by level, outermost first; of lists only those with a single item.

    ``in_wrappers``: only those within fields such as ``data``, which say nothing.
    """
    level = _unwrap_single_object(answer)
    while level:
        yield level
        fields = (field for record in level for field in record.items())
        values = (value for key, value in fields if not in_wrappers or key.lower() in _WRAPPER_WORDS)
        level = [inner for value in values for inner in _unwrap_single_object(value)]


def _unwrap_single_object(value: Json) -> list[JsonObject]:
    """The object, or the only one in a list, also a nested one; empty for a list of several, or a scalar."""
    if isinstance(value, list) and len(value) == 1:
        return _unwrap_single_object(value[0])
    return [value] if isinstance(value, dict) else []


def _values_by_name(record: JsonObject, words: tuple[str, ...]) -> list[Json]:
    return [value for key, value in record.items() if _stem_words(key) == words]


def _ids_by_noun(record: JsonObject, noun: tuple[str, ...]) -> list[Json]:
    """The ids of a record in fields such as ``{"booking": {"id": 77}}`` and ``{"booking": 77}``."""
    named_values = _values_by_name(record, noun)
    objects = (inner for value in named_values for inner in _unwrap_single_object(value))
    own_ids = (own_id for inner in objects for own_id in _first_plain_id(inner))
    return [*own_ids, *filter(_looks_like_id, named_values)]


def _ids_by_noun_and_number_word(record: JsonObject, noun: tuple[str, ...]) -> list[Json]:
    numbered_keys = (key for key in record if {*words_of(key)[-1:]} & {*_ID_WORDS})
    return [record[key] for key in numbered_keys if _stem_words(key)[:-1] == noun]


def _find_unqualified_id(answer: Json) -> Json:
    """The ``id`` of the answer itself, or of the record that it wraps."""
    for level in _walk_levels(answer, in_wrappers=True):
        if ids := [own_id for record in level for own_id in _first_plain_id(record)]:
            return ids[0] if len(ids) == 1 else None
    return None


def _first_plain_id(record: JsonObject) -> list[Json]:
    return [value for key, value in record.items() if key.lower() in ("id", "uuid") and _may_be_id(value)][:1]


def _may_be_id(value: Json) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST_ID and not re.search(r"\s", value)
    return isinstance(value, int) and not isinstance(value, bool)


def _looks_like_id(value: Json) -> bool:
    """Whether a value looks like an id although its name does not say so; "created" does not."""
    return _may_be_id(value) and any(character.isdigit() for character in str(value))


def _stem_words(key: str) -> tuple[str, ...]:
    return tuple(map(stem, words_of(key))) or ("",)


def referenced_calls(value: Json) -> Iterator[str]:
    """Yields the ids of the calls whose results a value refers to."""
    for _, inner in walk_json(value):
        if isinstance(inner, dict) and set(inner) == {REFERENCE_KEY}:
            yield str(inner[REFERENCE_KEY]).partition(".")[0]


def literal_scalars(value: Json) -> Iterator[Json]:
    """Yields the scalars in a value, without those that belong to references."""
    if isinstance(value, dict):
        if set(value) != {REFERENCE_KEY}:
            for item in value.values():
                yield from literal_scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from literal_scalars(item)
    else:
        yield value


_PATH_STEP_PATTERN = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_BARE_NAME_PATTERN = re.compile(r"[A-Za-z][\w-]*")


def resolve_references(arguments: JsonObject, results: Mapping[str, Json]) -> JsonObject:
    """The arguments with every reference replaced by its value.

    ``results``: by call id. Raises ``NoSuchPath`` if a call has no result, or its result no such field.
    """
    return cast(JsonObject, _resolve_value(arguments, results))


def _resolve_value(value: Json, results: Mapping[str, Json]) -> Json:
    if isinstance(value, list):
        return [_resolve_value(item, results) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) != {REFERENCE_KEY}:
        return {key: _resolve_value(item, results) for key, item in value.items()}
    call_id, _, path = str(value[REFERENCE_KEY]).partition(".")
    if call_id not in results:
        raise NoSuchPath(f"{value[REFERENCE_KEY]}: call {call_id} has no result")
    name = _name_of_made_id(path)
    return _find_field_or_id(results[call_id], path) if name is None else _require_made_id(results[call_id], name, path)


def result_at(result: Json, path: str) -> Json:
    """The value at a path of field names and list positions; raises ``NoSuchPath`` if there is none."""
    value = result
    for match in _PATH_STEP_PATTERN.finditer(path.removeprefix("$").removeprefix(".")):
        key, index = match.groups()
        if key is not None and isinstance(value, dict) and key in value:
            value = value[key]
        elif index is not None and isinstance(value, list) and int(index) < len(value):
            value = value[int(index)]
        else:
            raise NoSuchPath(f"path {path!r}: no {key or f'[{index}]'} there")
    return value


def set_at_path(fields: JsonObject, path: Sequence[str | int], new_value: Json) -> JsonObject:
    """The fields with ``new_value`` at a path of names and list positions, a name first; what is missing on the way is
    made. Raises ``NoSuchPath`` for a position beyond the next item of its list.
    """
    name, *rest = path
    return {**fields, str(name): _set_within(fields.get(str(name)), rest, new_value)}


def _set_within(value: Json, path: Sequence[str | int], new_value: Json) -> Json:
    if not path:
        return new_value
    step, *rest = path
    if isinstance(step, str):
        return set_at_path(as_object(value), path, new_value)
    items = list(value) if isinstance(value, list) else []
    if step > len(items):
        raise NoSuchPath(f"there is no item {step}; the next one would be {len(items)}")
    item = items[step] if step < len(items) else None
    return [*items[:step], _set_within(item, rest, new_value), *items[step + 1 :]]


def argument_at(arguments: JsonObject, path: str) -> Json:
    """The value at a path of a call's arguments; None if there is none."""
    try:
        return result_at(arguments, path)
    except NoSuchPath:
        return None


def _find_field_or_id(result: Json, path: str) -> Json:
    try:
        return result_at(result, path)
    except NoSuchPath:
        made_id = _find_named_id(result, path) if _BARE_NAME_PATTERN.fullmatch(path) else None
        if made_id is None:
            raise
        return made_id


def _require_made_id(result: Json, name: str, path: str) -> Json:
    made_id = find_made_id(result, name)
    if made_id is None:
        raise NoSuchPath(f"path {path!r}: the answer names no such id")
    return made_id
