"""Recognising that a server's column has another name now, and finding that name: pure text and tables.

What is corrected are names, never values: keys of the arguments, and texts that stand whole in a parameter for names.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from services.executor.core.tooling.column_aliases import ALIASES
from shared.domain.exact_json import Json, JsonObject

Tier = Callable[[str, Sequence[str]], Sequence[str]]


class Match(NamedTuple):
    """The present name of a column, and the tier of matching that found it."""

    name: str
    tier: str


_KIND = r"(?:column|field|attribute|property)"
_NAME = r"""["'`\[]?(?!(?:in|on|of|for|with|named?|called|the|is|was|does|not)\b)([A-Za-z_](?:[\w.]*\w)?)["'`\]]?"""
_ABSENT = r"(?:(?:does not|doesn't) exist|(?:was |is )?(?:not found|unknown|not recogni[sz]ed))"
_MISSING = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:no such|unknown|unrecogni[sz]ed|undefined) {_KIND}(?: name)?:? {_NAME}",
        rf"\binvalid column(?: name)?:? {_NAME}",
        rf"\b{_KIND} {_NAME} {_ABSENT}",
        rf"\b{_KIND} not found:? {_NAME}",
        rf"\bno {_KIND}(?: named| called)? {_NAME}",
        rf"{_NAME} is (?:not a|no)(?: valid| known)? {_KIND}\b",
        r"\bKeyError:? ['\"]([A-Za-z_][\w.]*)['\"]",
    )
)
_TABLE = re.compile(r"""\b(?:table|relation) ["'`\[]?([A-Za-z_]\w*)""", re.IGNORECASE)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NAMES_COLUMNS = frozenset("column columns field fields col cols attribute attributes".split())
_ORDERS = frozenset("sort_by order_by group_by sort order select sortby orderby groupby".split())
TABLES = frozenset("table table_name entity entity_type object_type resource collection dataset".split())
_LISTINGS = "columns available_columns valid_columns known_columns column_names fields properties schema attributes"
_ENTRY_NAMES = ("name", "column_name", "column", "field", "field_name")
_A_NAME = re.compile(r"[\w.]+")
_ONLY_NAMES = re.compile(r"\s*[\w.]+(?:\s*,\s*[\w.]+)*\s*")
_TYPE = re.compile(
    r"^(?:(?:small|big|tiny)?int|text|real|(?:var)?char|num|dec|bool|date|time|float|double|string|uuid|json|blob)",
    re.I,
)


def missing_column(answer: Json) -> str | None:
    """The name that an error says no column has; None if it is about anything else."""
    text = "\n".join(_texts(answer))
    found = next((match for pattern in _MISSING if (match := pattern.search(text))), None)
    return found[1] if found else None


def table_in(error: Json) -> str | None:
    """The table that an error speaks of, by name or as the qualifier of the missing column."""
    named = _TABLE.search("\n".join(_texts(error)))
    return named[1] if named else None


def columns_in(described: Json) -> tuple[str, ...]:
    """The names of the columns in what a describing tool answered, or in an error that lists them."""
    return tuple(dict.fromkeys(_columns(described)))


def match(asked: str, missing: str, columns: Sequence[str]) -> Match | None:
    """The one column that ``asked`` now means; ``missing`` is the name under which the server was asked for it.

    None if there is none, several, or the name is not missing.
    """
    bare = bare_name(missing)
    if bare in columns:
        return None
    if asked in columns:
        return Match(asked, "exact")
    for tier, candidates in TIERS:
        found = candidates(bare, columns)
        if found:
            return Match(found[0], tier) if len(found) == 1 else None
    return None


def renamed(arguments: JsonObject, names: Mapping[str, str]) -> JsonObject:
    """The arguments with old names of columns replaced by new ones, wherever a name stands as a name."""
    return {_new_key(key, arguments, names): _renamed(key, value, names) for key, value in arguments.items()}


def under_both_names(content: Json, names: Mapping[str, str]) -> Json:
    """A result whose records have a renamed column under the name that was asked for, too."""
    if isinstance(content, list):
        return [under_both_names(item, names) for item in content]
    if not isinstance(content, dict):
        return content
    asked = {old: content[new] for old, new in names.items() if new in content and old not in content}
    return {key: under_both_names(value, names) for key, value in {**content, **asked}.items()}


def bare_name(column: str) -> str:
    """A column's name without its table: ``c.amount`` is ``amount``."""
    return column.rpartition(".")[2]


def words_of(name: str) -> list[str]:
    """The words of an identifier, in lower case."""
    return [word.lower() for word in _PARTS.findall(name)]


def _same_letters(missing: str, columns: Sequence[str]) -> Sequence[str]:
    return [column for column in columns if _letters(column) == _letters(missing)]


def _aliases(missing: str, columns: Sequence[str]) -> Sequence[str]:
    """Both ways: from a variant to the usual name, and from the usual name to a variant."""
    known = "_".join(words_of(missing))
    others = ALIASES.get(known, frozenset()) | {usual for usual, variants in ALIASES.items() if known in variants}
    return [column for column in columns if "_".join(words_of(column)) in others]


# The order in which a name is looked for; a tier that is less certain stands later.
TIERS: tuple[tuple[str, Tier], ...] = (("exact", _same_letters), ("alias", _aliases))


def _letters(name: str) -> str:
    return "".join(words_of(name))


def _texts(answer: Json) -> Iterator[str]:
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, list):
        for item in answer:
            yield from _texts(item)
    elif isinstance(answer, dict):
        for key in ("error", "message", "msg", "detail", "details", "hint"):
            yield from _texts(answer.get(key))


def _columns(described: Json) -> Iterator[str]:
    if isinstance(described, list):
        yield from (name for entry in described if (name := _entry(entry)))
        return
    if not isinstance(described, dict):
        return
    listing = next((described[key] for key in _LISTINGS.split() if isinstance(described.get(key), dict | list)), None)
    if listing is not None:
        inner = tuple(_columns(listing))
        yield from inner or (listing if isinstance(listing, dict) else ())
    elif described and all(isinstance(kind, str) and _TYPE.match(kind) for kind in described.values()):
        yield from described


def _entry(entry: Json) -> str | None:
    if isinstance(entry, dict):
        entry = next((entry[key] for key in _ENTRY_NAMES if isinstance(entry.get(key), str)), None)
    return entry if isinstance(entry, str) and re.fullmatch(r"[\w.]+", entry) else None


def _new_key(key: str, arguments: JsonObject, names: Mapping[str, str]) -> str:
    """The key's new name, unless another key has it."""
    new = names.get(key, key)
    return key if new in arguments else new


def _renamed(key: str, value: Json, names: Mapping[str, str]) -> Json:
    if isinstance(value, dict):
        return renamed(value, names)
    if isinstance(value, list):
        return [_renamed(key, item, names) for item in value]
    if isinstance(value, str) and _takes_names(key) and _ONLY_NAMES.fullmatch(value):
        return _A_NAME.sub(lambda found: _with_qualifier(found[0], names), value)
    return value


def _with_qualifier(column: str, names: Mapping[str, str]) -> str:
    table, dot, name = column.rpartition(".")
    return f"{table}{dot}{names.get(name, name)}"


def _takes_names(parameter: str) -> bool:
    words = words_of(parameter)
    return "_".join(words) in _ORDERS or "".join(words) in _ORDERS or bool(words and words[-1] in _NAMES_COLUMNS)
