"""Finds the name that a server has now for a column or a parameter, and corrects calls and results.

Only names are corrected, never values: keys of arguments, and texts that are the whole value of a parameter for names.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from services.executor.core.tools.name_similarity import (
    find_most_similar_names,
    find_names_of_same_words,
    find_prefix_matches,
    list_normalized_words,
    words_of,
)
from services.executor.core.tools.record_tree import map_objects
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject, walk_json

COLUMN_ALIASES: Mapping[str, frozenset[str]] = {
    canonical: frozenset(variants.split())
    for canonical, variants in {
        "client_name": "customer_name account_name company_name org_name",
        "amount": "value total price cost sum total_amount",
        "user_id": "creator_id employee_id",
        "name": "title label display_name full_name",
        "category": "type classification group kind",
        "email": "em e_mail email_address contact_email mail",
        "status": "st stat state state_code current_status",
        "owner_id": "oid owner asgn assigned_to assignee_id",
        "created_at": "created create_date creation_date ts created_date date_created timestamp",
        "updated_at": "updated update_date updated_date date_updated modified_at modified last_modified last_updated",
        "description": "desc descr detail details notes comments body content",
    }.items()
}
_PHRASES_FOR_FORMER_NAME = (
    r"\b(?:former(?:ly)?|previous(?:ly)?|was|once|renamed from|old name|legacy(?: name)?|alias(?: of)?"
    r"|replaces|aka)[ :]+"
)
_STOP_WORDS = frozenset("the a an of for this that in on s is its full as by to".split())
_DESCRIPTION_FIELDS = ("description", "comment", "doc", "label", "title", "note", "remarks")
PARAMETER_MARK = "@"  # before the old name of a parameter of the call, which is no column
_WORDS_FOR_COLUMNS = frozenset("column columns field fields col cols attribute attributes".split())
_ORDER_PARAMETERS = frozenset("sort_by order_by group_by sort order select sortby orderby groupby".split())
TABLE_PARAMETERS = frozenset("table table_name entity entity_type object_type resource collection dataset".split())
_COLUMN_LIST_FIELDS = tuple(  # of the columns, or the next object in which they are wrapped
    "columns available_columns valid_columns known_columns column_names fields properties schema attributes".split()
)
_NAME_FIELDS = ("name", "column_name", "column", "field", "field_name")
_UNQUALIFIED_NAME_PATTERN = re.compile(r"\w+(?![\w.])")  # of a column, without its table
_LIST_OF_NAMES_PATTERN = re.compile(r"\s*[\w.]+(?:\s*,\s*[\w.]+)*\s*")
_COLUMN_TYPE_PATTERN = re.compile(
    r"^(?:(?:small|big|tiny)?int|text|real|(?:var)?char|num|dec|bool|date|time|float|double|string|uuid|json|blob)",
    re.I,
)


class ColumnMatch(NamedTuple):
    """The present name of a column, and the tier of matching that found it."""

    name: str
    tier: str


def find_columns(described: Json) -> dict[str, str]:
    """Column descriptions by column name, from the answer of a tool that describes a table, or from an error that lists
    its columns; empty if there are none.
    """
    columns: dict[str, str] = {}
    for name, description in _list_columns(described):
        columns[name] = description or columns.get(name, "")
    return columns


def find_column_names_in_enums(parameters: Mapping[str, JsonObject]) -> dict[str, str]:
    """The columns that a tool's schema lists for parameters that take names, as ``{column: ""}``: it describes none."""
    listed = (_list_enum_values(shape) for name, shape in parameters.items() if _takes_column_names(name))
    return dict.fromkeys((name for names in listed for name in names), "")


def match_column(name: str, missing: str, columns: Mapping[str, str]) -> ColumnMatch | None:
    """The one column that ``name`` means now, by the server's names and descriptions (``columns``: the description of
    each by its name); None if none or several are meant, or ``columns`` has ``missing``, which is the name as the
    server calls it missing, such as ``c.amount``.
    """
    bare = missing.rpartition(".")[2]
    if bare in columns:
        return None
    if name in columns:
        return ColumnMatch(name, "exact")
    for tier, find_candidates in _MATCHING_TIERS:
        if names := find_candidates(bare, columns):
            return ColumnMatch(names[0], tier) if len(names) == 1 else None
    return None


def match_columns(names: Sequence[str], columns: Sequence[str]) -> dict[str, ColumnMatch]:
    """The column that each of ``names`` means now, by name; without names that are columns themselves, and without
    columns that two names mean, or that are in ``names``.
    """
    free_columns = {column: "" for column in columns if column not in names}
    missing = [name for name in names if name not in columns]
    matches = {name: match for name in missing if (match := match_column(name, name, free_columns))}
    counts = Counter(match.name for match in matches.values())
    return {name: match for name, match in matches.items() if counts[match.name] == 1}


def is_parameter_name(old: str) -> bool:
    """Whether an old name in the corrections is a parameter's, and not a column's."""
    return old.startswith(PARAMETER_MARK)


def rename_arguments(arguments: JsonObject, names: Mapping[str, str]) -> JsonObject:
    """The arguments with ``names`` (``{old: new}``) applied: a column's wherever names stand, a parameter's (its old
    name begins with ``@``) only as a key.
    """
    columns = {old: new for old, new in names.items() if not is_parameter_name(old)}
    keys = columns | {old.removeprefix(PARAMETER_MARK): new for old, new in names.items() if is_parameter_name(old)}
    keys = {old: new for old, new in keys.items() if new not in arguments}  # none takes another argument's place
    return {keys.get(key, key): _rename_value(key, value, columns) for key, value in arguments.items()}


def list_names_in_arguments(arguments: JsonObject) -> Iterator[str]:
    """Yields every name in a call: keys at any depth, and the columns in parameters that take names."""
    for key, value in walk_json(arguments):
        yield from filter(None, [key])
        if isinstance(value, str) and _takes_column_names(key) and _LIST_OF_NAMES_PATTERN.fullmatch(value):
            yield from _UNQUALIFIED_NAME_PATTERN.findall(value)


def add_old_names(content: Json, names: Mapping[str, str]) -> Json:
    """A result in which records have each renamed column also under the name that was asked for."""
    columns = {old: new for old, new in names.items() if not is_parameter_name(old)}

    def with_old_names(record: JsonObject) -> JsonObject:
        old_fields = {old: record[new] for old, new in columns.items() if new in record and old not in record}
        return {**record, **old_fields}

    return map_objects(content, with_old_names) if columns else content


def _match_equal_letters(missing: str, columns: Mapping[str, str]) -> Sequence[str]:
    return [column for column in columns if "".join(words_of(column)) == "".join(words_of(missing))]


def _match_aliases(missing: str, columns: Mapping[str, str]) -> Sequence[str]:
    """The columns that are aliases of the missing name: variants of the usual name, or the usual name of a variant."""
    name = "_".join(words_of(missing))
    aliases = COLUMN_ALIASES.get(name, frozenset()) | {
        usual for usual, variants in COLUMN_ALIASES.items() if name in variants
    }
    return [column for column in columns if "_".join(words_of(column)) in aliases]


def _match_former_names(missing: str, columns: Mapping[str, str]) -> Sequence[str]:
    """The columns whose description mentions the missing name: one with an underscore anywhere, another only after a
    phrase such as "formerly".
    """
    name = re.escape(missing)
    pattern = rf"(?<![\w.]){name}(?![\w.])" if "_" in missing else rf"{_PHRASES_FOR_FORMER_NAME}[\"'`]?{name}(?![\w.])"
    return [column for column, description in columns.items() if re.search(pattern, description, re.IGNORECASE)]


def _match_descriptions(missing: str, columns: Mapping[str, str]) -> Sequence[str]:
    """The columns whose description has just the words of the missing name: "name of the customer"."""
    words = set(list_normalized_words(missing))
    words_by_column = {column: set(list_normalized_words(text)) - _STOP_WORDS for column, text in columns.items()}
    return [column for column in columns if len(words) > 1 and words_by_column[column] == words]


# The order in which a name is looked for; a tier that is less certain stands later.
_MATCHING_TIERS: tuple[tuple[str, Callable[[str, Mapping[str, str]], Sequence[str]]], ...] = (
    ("described", _match_former_names),
    ("exact", _match_equal_letters),
    ("alias", _match_aliases),
    ("fuzzy", find_most_similar_names),
    ("prefix", find_prefix_matches),
    ("words", find_names_of_same_words),
    ("described", _match_descriptions),
)


def _list_columns(described: Json) -> Iterator[tuple[str, str]]:
    """Yields the name of each column, with its description or an empty text."""
    if isinstance(described, list):
        yield from ((name, _join_descriptions(entry)) for entry in described if (name := _read_entry_name(entry)))
        return
    if not isinstance(described, dict):
        return
    listing = next((described[key] for key in _COLUMN_LIST_FIELDS if isinstance(described.get(key), dict | list)), None)
    if listing is not None:
        nested = tuple(_list_columns(listing))
        entries = listing.items() if isinstance(listing, dict) else ()
        yield from nested or ((name, _join_descriptions(entry)) for name, entry in entries)
    elif described and all(isinstance(kind, str) and _COLUMN_TYPE_PATTERN.match(kind) for kind in described.values()):
        yield from ((name, "") for name in described)


def _list_enum_values(shape: JsonObject) -> tuple[str, ...]:
    item_shape = shape.get("items", shape)
    choices = item_shape.get("enum") if isinstance(item_shape, dict) else None
    return tuple(name for name in choices if isinstance(name, str)) if isinstance(choices, list) else ()


def _join_descriptions(entry: Json) -> str:
    texts = [entry.get(key) for key in _DESCRIPTION_FIELDS] if isinstance(entry, dict) else []
    return " ".join(text for text in texts if isinstance(text, str))


def _read_entry_name(entry: Json) -> str | None:
    if isinstance(entry, dict):
        entry = next((entry[key] for key in _NAME_FIELDS if isinstance(entry.get(key), str)), None)
    return entry if isinstance(entry, str) and re.fullmatch(r"[\w.]+", entry) else None


def _rename_value(key: str, value: Json, names: Mapping[str, str]) -> Json:
    if isinstance(value, dict):
        return rename_arguments(value, names)
    if isinstance(value, list):
        return [_rename_value(key, content, names) for content in value]
    if isinstance(value, str) and _takes_column_names(key) and _LIST_OF_NAMES_PATTERN.fullmatch(value):
        return _UNQUALIFIED_NAME_PATTERN.sub(lambda name: names.get(name[0], name[0]), value)
    return value


def _takes_column_names(parameter: str) -> bool:
    words = words_of(parameter)
    is_order = not _ORDER_PARAMETERS.isdisjoint(("_".join(words), "".join(words)))
    return is_order or not _WORDS_FOR_COLUMNS.isdisjoint(words[-1:])


_MOST_CORRECTIONS = 200  # the oldest go


class SchemaRenames(NamedTuple):
    """New names by ``connection/tool:column`` or ``connection/table:column``, and by ``connection/tool:@parameter``."""

    names: Mapping[str, str] = {}

    def names_for_call(self, tool: Tool, arguments: JsonObject) -> dict[str, str]:
        """The renames that apply to one call, ``{old: new}``; a parameter's old name begins with ``@``."""
        new_names: dict[str, str] = {}
        for scope in dict.fromkeys(_find_correction_scope(name, tool, arguments) for name in ("", PARAMETER_MARK)):
            for key, new in self.names.items():
                old = key.removeprefix(f"{scope}:")  # may have a colon itself
                is_in_scope = old != key and scope == _find_correction_scope(old, tool, arguments)
                if is_in_scope and old.removeprefix(PARAMETER_MARK) != new:
                    new_names[old] = new
        return new_names

    def with_renames(self, tool: Tool, arguments: JsonObject, names: Mapping[str, str]) -> "SchemaRenames":
        """These renames and ``names`` (``{old: new}``) of one call, which replace those that say the reverse."""
        corrections = {**self.names}
        for old, new in names.items():
            scope = _find_correction_scope(old, tool, arguments)
            corrections.pop(f"{scope}:{old}", None)
            if f"{scope}:{new}" in corrections:
                corrections[f"{scope}:{new}"] = new
            corrections[f"{scope}:{old}"] = new
        return SchemaRenames(dict([*corrections.items()][-_MOST_CORRECTIONS:]))


def find_table_argument(arguments: JsonObject) -> str | None:
    """The table that a call's own arguments name; None if they name none."""
    tables = (value for key, value in arguments.items() if "_".join(words_of(key)) in TABLE_PARAMETERS)
    return next((value for value in tables if isinstance(value, str) and value), None)


def _find_correction_scope(old: str, tool: Tool, arguments: JsonObject) -> str:
    """Where a correction of this name holds: in calls about one table, or of one tool."""
    table = None if is_parameter_name(old) else find_table_argument(arguments)
    return f"{tool.connection_id}/{table or tool.name}"
