"""What calls and records say under a field's name: arguments, however deep, what an edit makes of it, other names."""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from services.executor.core.figures.columns import same
from services.executor.core.figures.numbers import figure
from services.executor.core.records.called_records import Noun, agree, aliases, words
from services.executor.core.records.references import references
from services.executor.core.session.ledger import is_sayable
from services.executor.core.tools.classes import EDITING, identifies, words_of_tool
from services.executor.core.tools.record_tree import names_a_record
from shared.domain.exact_json import Json, JsonObject, loads


class Unknown(Enum):
    """The value of a field that is not known: of an earlier call's result, of records that disagree, of a record nobody
    read.
    """

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
Said: TypeAlias = "Json | Unknown"
Fields: TypeAlias = Sequence[tuple[str, Said]]


_SCALARS = frozenset({str, int, bool, Decimal, type(None)})


def fields_of(record: JsonObject) -> Fields:
    """The fields of a record that a rule can speak about."""
    return [(key, value) for key, value in record.items() if type(value) in _SCALARS or is_sayable(value)]


def arguments_of(arguments: JsonObject) -> Fields:
    """The arguments of a call by name, nested ones also by path; an outer name hides the same name within, but for a
    greater figure in a row.
    """
    every = [*_list_arguments("", arguments, in_list=False)]
    below = [(path.rpartition(".")[2], value, in_list) for path, value, in_list in every if "." in path]
    totals = {name for name in arguments if _is_total(arguments[name], [one[1] for one in below if one[0] == name])}
    seen = [
        (name, value)
        for name, value, in_list in below
        if name not in arguments or (in_list and name not in totals and _is_greater(name, value, arguments[name]))
    ]
    return [*((path, value) for path, value, _ in every), *seen]


def _is_total(outer: Json, within: Sequence[Said]) -> bool:
    """Whether a figure on top is the sum of those below it."""
    figures = [None if isinstance(one, Unknown) else figure(one) for one in within]
    return bool(figures) and figure(outer) == sum(one or 0 for one in figures)


def _is_greater(name: str, value: Said, outer: Json) -> bool:
    """Whether a figure is greater than the one on top, which then is no total of it: a row's own, beside a default."""
    if identifies(name):
        return False
    one, other = None if isinstance(value, Unknown) else figure(value), figure(outer)
    return one is not None and other is not None and abs(one) > abs(other)


# How a tool that edits any field of a record calls that field, and what it is to be: ``{"field": "rent", "value": 9}``.
_FIELD_WORDS = frozenset("field column attribute attr property prop parameter param setting".split())
_PATHS = frozenset("path pointer".split())
_SAYS_FIELD = _FIELD_WORDS | _PATHS | frozenset("key name".split())
_NEW_VALUES = frozenset({("value",), ("new", "value"), ("to",), ("new",), ("set",), ("val",), ("after",)}).union(
    (word, value) for word in _FIELD_WORDS for value in ("value", "val")
)
_REMOVES = frozenset("remove delete unset clear".split())
_STEPS_OF_PATH = re.compile(r"[/.]")
# The object of an edit's new values: by its own name, or by what its tool does.
_PATCHES = frozenset("change patch update edit modification delta diff".split()) | _FIELD_WORDS
_EDITS = EDITING | frozenset("merge apply".split())


class EditedFields(NamedTuple):
    """The arguments of a call, apart from the fields of a record that it edits, with their new values. ``paths``: where
    these stand in the object of the edit.
    """

    given: Fields
    edited: Fields
    paths: Fields


def with_parsed_texts(value: JsonObject) -> JsonObject:
    """The arguments with each text that is a JSON object or list as what it says: ``patch_json``."""
    return {key: _parse_text(inner) for key, inner in value.items()}


def _parse_text(value: Json) -> Json:
    if isinstance(value, dict):
        return with_parsed_texts(value)
    if isinstance(value, list):
        return [_parse_text(item) for item in value]
    if not isinstance(value, str) or value.strip()[:1] not in ("{", "["):
        return value
    try:
        parsed = loads(value)
    except ValueError:
        return value
    return _parse_text(parsed) if isinstance(parsed, dict | list) else value


def edits_of(tool: str, arguments: JsonObject) -> EditedFields:
    """The arguments that a rule is to take as they are, and the fields that the call edits by naming them: in a text or
    an object of their own (``{"path": "/rent", "value": 9}``, ``{"rent": {"to": 9}}``), in two lists, or in the object
    of an edit's new values (``changes``). ``UNKNOWN`` where it is not plain what a field is to be.
    """
    outside, patches = _split_patches(arguments, by_verb=words_of_tool(tool).verb in _EDITS)
    paths = [(key, value) for one in patches for key, value in arguments_of(one) if "." in key]
    below = [(key.rpartition(".")[2], value) for key, value in paths]
    edited = [(key, value) for key, value in below if not names_a_record(key)]
    named = [(key, value) for key, value in below if names_a_record(key)]
    return EditedFields([*arguments_of(outside), *named], [*_find_edits(arguments), *edited], paths)


def _split_patches(value: JsonObject, *, by_verb: bool = False) -> tuple[JsonObject, list[JsonObject]]:
    """The value without the objects of new values in it, and these, each by its name. ``by_verb``: whether each object
    on top is one, since the tool edits.
    """
    outside: JsonObject = {}
    patches: list[JsonObject] = []
    for key, inner in value.items():
        is_patch = not _PATCHES.isdisjoint(words(key)) or (by_verb and isinstance(inner, dict))
        if is_patch and (
            isinstance(inner, dict) or (isinstance(inner, list) and any(isinstance(x, dict) for x in inner))
        ):
            patches.append({key: inner})
            continue
        items = [inner] if isinstance(inner, dict) else inner if isinstance(inner, list) else []
        split = [_split_patches(item) if isinstance(item, dict) else (item, []) for item in items]
        patches += [one for _, found in split for one in found]
        left = [one for one, _ in split]
        outside[key] = left if isinstance(inner, list) else left[0] if left else inner
    return outside, patches


def _find_edits(value: Json) -> Iterator[tuple[str, Said]]:
    if isinstance(value, list):
        for item in value:
            yield from _find_edits(item)
    if not isinstance(value, dict):
        return
    yield from _edits_of_lists(value)
    new = _new_value(value)
    is_removed = any(isinstance(one, str) and one.casefold() in _REMOVES for one in value.values())
    sets_something = is_removed or len([one for one in value.values() if is_sayable(one)]) > 1
    for key, one in value.items():
        first, *others = words(key) or ("",)
        is_field = first in _FIELD_WORDS and others[-1:] not in (["value"], ["val"])
        if isinstance(one, str) and (is_field or (not others and first in _SAYS_FIELD)):
            step = _last_step(one)
            if step and (new or is_removed or (sets_something and (is_field or first in _PATHS))):
                yield step, new[0] if new else UNKNOWN
        elif isinstance(one, dict):
            yield from ((key, set_to) for set_to in _new_value(one))
        yield from _find_edits(one)


def _edits_of_lists(value: JsonObject) -> Iterator[tuple[str, Said]]:
    """Yields the fields of a list of names with the values at their places in the only other list of that length."""
    for key, names in value.items():
        if isinstance(names, list) and _FIELD_WORDS.intersection(words(key)):
            others = [one for other, one in value.items() if other != key and isinstance(one, list)]
            beside = [one for one in others if len(one) == len(names)]
            values: Sequence[Said] = beside[0] if len(beside) == 1 else [UNKNOWN] * len(names)
            pairs = zip(names, values, strict=True)
            said = ((one, set_to if _is_said(set_to) else UNKNOWN) for one, set_to in pairs)
            yield from ((_last_step(one), set_to) for one, set_to in said if isinstance(one, str))


def _is_said(value: Said) -> bool:
    return not isinstance(value, Unknown) and is_sayable(value)


def _last_step(path: str) -> str:
    return _STEPS_OF_PATH.split(path.strip().rstrip("/"))[-1].strip()


def _new_value(value: JsonObject) -> list[Json]:
    """The one value that an object says a field is to have; empty where it says none, or several."""
    given = [one for key, one in value.items() if words(key) in _NEW_VALUES and is_sayable(one)]
    return given if len(given) == 1 else []


def find_said(name: str, fields: Fields, kinds: Iterable[Noun] = ()) -> list[Said]:
    """All values of the fields that match the name by itself; where there is none, those of its aliases."""
    return find_by_name(name, fields, kinds) or _by_alias(name, fields)


def find_by_name(name: str, fields: Fields, kinds: Iterable[Noun] = ()) -> list[Said]:
    """All values of the fields that match the name: the exact name first, then its words, then its words with the kind.

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
    return []


def one_value(values: Sequence[Said]) -> Said:
    """The value on which all agree; ``UNKNOWN`` if two differ or one of them is unknown."""
    first = values[0]
    return first if all(_agree(value, first) for value in values) else UNKNOWN


def _by_alias(name: str, fields: Fields) -> list[Said]:
    """The values of fields that are aliases of the name; for an amount only those that are figures."""
    others = aliases(name)
    told = {words(other) for other in others}
    found = [value for key, value in fields if words(key) in told]
    if name == "amount" or "amount" in others:
        return [value for value in found if isinstance(value, Unknown) or value is None or figure(value) is not None]
    return found


def _agree(value: Said, first: Said) -> bool:
    if isinstance(value, Unknown) or isinstance(first, Unknown) or None in (value, first):
        return value is first
    return value == first or same(value, first)


def _list_arguments(path: str, value: JsonObject, *, in_list: bool) -> Iterator[tuple[str, Said, bool]]:
    """Yields each argument by its path, with its value and whether it stands in a list of objects."""
    for key, inner in value.items():
        here = f"{path}.{key}" if path else key
        if [*references(inner)]:
            yield here, UNKNOWN, in_list
        elif isinstance(inner, dict):
            yield from _list_arguments(here, inner, in_list=in_list)
        elif is_sayable(inner):
            yield here, inner, in_list
        elif isinstance(inner, list):
            for item in inner:
                if isinstance(item, dict):
                    yield from _list_arguments(here, item, in_list=True)
