"""Lists that come in pages: where an answer's rows are, what it says about its list, which arguments ask for a page."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from yarl import URL

from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import convert_to_schema_type
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject

_NEXT_WORDS = frozenset(
    "next page cursor token link url uri href offset marker key start skip continuation id odata".split()
)
_WORDS_NEEDING_PARENT = frozenset("href url uri number size cursor token value after total".split())
_ENVELOPE_WORDS = frozenset("links link meta pagination paging".split())
_MOST_LEVELS = 3  # how deep in its envelopes a list may stand
_USUAL_LIST_NAMES = frozenset(
    "items results rows records data entries values list content edges elements hits objects".split()
)
_NAMES_OF_SIDE_LISTS = frozenset("errors warnings messages links columns facets filters fields".split())


class PagingRole(StrEnum):
    """What a field's or argument's name says about a list."""

    PAGE = "page"  # a number of a page
    OFFSET = "offset"  # how many rows to pass over
    CURSOR = "cursor"  # an opaque place
    AFTER = "after"  # the id of the last row that is known
    SIZE = "size"  # how many rows one answer holds
    NEXT = "next"  # whatever leads to the part that follows
    MORE = "more"  # whether more follows
    LAST = "last"  # whether this is the last part
    TOTAL = "total"  # rows in the whole list
    COUNT = "count"  # rows, and nobody can say whether in this part or in the whole list
    PAGES = "pages"  # pages in the whole list


class PageHint(NamedTuple):
    """One field in which an answer says something about its list, with the field's path and value."""

    role: PagingRole
    path: tuple[str, ...]
    value: Json


class ListPage(NamedTuple):
    """One page of a list. ``place``: the keys that lead to its rows."""

    place: tuple[str, ...]
    rows: list[Json]
    hints: tuple[PageHint, ...]

    def list_hints_of_roles(self, *roles: PagingRole) -> Iterator[PageHint]:
        return (hint for role in roles for hint in self.hints if hint.role is role)

    def find_number(self, *roles: PagingRole) -> int | None:
        """The first whole number in the hints of these roles; None if there is none."""
        numbers = (_read_integer(hint.value) for hint in self.list_hints_of_roles(*roles))
        return next((number for number in numbers if number is not None), None)

    @property
    def has_more(self) -> bool | None:
        """Whether more rows follow, if the answer says so or denies it; else None."""
        hints = self.list_hints_of_roles(PagingRole.MORE, PagingRole.LAST, PagingRole.PAGES)
        answers = [hint.value is (hint.role is PagingRole.MORE) for hint in hints if isinstance(hint.value, bool)]
        return any(answers) if answers else None

    @property
    def next_hint(self) -> PageHint | None:
        """The first hint that leads to the next page, a ``cursor`` last, as it may be the call's; None without one."""
        cursor_roles = () if self.says_no_next_page and not self.has_more else (PagingRole.CURSOR,)
        hints = self.list_hints_of_roles(PagingRole.NEXT, *cursor_roles)
        return next((hint for hint in hints if _is_page_pointer(hint.value)), None)

    @property
    def says_no_next_page(self) -> bool:
        """Whether the answer has a field for the next page, and it is empty."""
        next_values = [hint.value for hint in self.list_hints_of_roles(PagingRole.NEXT)]
        return bool(next_values) and not any(_is_page_pointer(value) for value in next_values)

    @property
    def total(self) -> int | None:
        """How many rows the whole list has; None if unknown. A ``count`` counts only if it exceeds the page."""
        total, count = self.find_number(PagingRole.TOTAL), self.find_number(PagingRole.COUNT)
        if total is not None:
            return total
        return count if count is not None and count > len(self.rows) else None


_NAMES_BY_ROLE: Mapping[PagingRole, str] = {
    PagingRole.PAGE: "page,page number,page no,page num,page index,current page,number page",
    PagingRole.OFFSET: "offset,skip,start,start index,start at,from,row offset",
    PagingRole.CURSOR: "cursor,page token,page cursor,continuation token,continuation,marker,scroll id,bookmark,"
    "after cursor,end cursor,cursor after,cursors after,next token,next cursor,next page token,token",
    PagingRole.AFTER: "after,starting after,start after,after id,last id,since id",
    PagingRole.SIZE: "limit,page size,per page,size,page limit,take,top,max results,max items,items per page,size page,"
    "first",
    PagingRole.MORE: "has more,has next,has next page,more,more available,more results,is truncated,truncated,"
    "has more results,has more items,more items",
    PagingRole.LAST: "is last,last,is last page,end of list,no more",
    PagingRole.TOTAL: "total,total count,count total,total results,total items,total rows,total records,total entries,"
    "total elements,total hits,total number,number of results,result count,record count,all count",
    PagingRole.COUNT: "count,num found,hits,matches",
    PagingRole.PAGES: "total pages,pages,page count,num pages,number of pages,pages total,last page",
}
_ROLE_BY_NAME = {name: role for role, names in _NAMES_BY_ROLE.items() for name in names.split(",")}


def _classify_paging_name(name: str, parent: str = "") -> PagingRole | None:
    """The paging role of a field or argument by its name (``limit``, ``next_cursor``, ``has_more``), or None.

    ``parent``: the name of the object around it.
    """
    words = words_of(name)
    parent_words = [word for word in words_of(parent) if word not in _ENVELOPE_WORDS]
    if words and words[-1] in _WORDS_NEEDING_PARENT and parent_words:
        role = _match_paging_role([*parent_words, *words]) or _match_paging_role([*words, *parent_words])
        if role is not None:
            return role
    return _match_paging_role(words)


def _match_paging_role(words: list[str]) -> PagingRole | None:
    if "next" in words and _NEXT_WORDS.issuperset(words):
        return PagingRole.NEXT
    return _ROLE_BY_NAME.get(" ".join(words))


def read_list_page(content: Json) -> ListPage | None:
    """The answer as a page of a list; None if it holds no list, or several and it is unclear which one is meant."""
    if isinstance(content, list):
        return ListPage((), content, ())
    if not isinstance(content, dict):
        return None
    lists = _find_outermost_lists(content)
    usual_names = [path for path in lists if path[-1].lower() in _USUAL_LIST_NAMES]
    with_records = [path for path, rows in lists.items() if any(isinstance(row, dict) for row in rows)]
    place = next((paths[0] for paths in (usual_names, with_records, [*lists]) if len(paths) == 1), None)
    return ListPage(place, lists[place], tuple(_find_hints(content, place, ()))) if place else None


def with_nested_value(content: Json, place: tuple[str, ...], value: Json) -> Json:
    """The content with another value at a place; unchanged if the content has no such place."""
    if not place:
        return value
    if not isinstance(content, dict) or place[0] not in content:
        return content
    return {**content, place[0]: with_nested_value(content[place[0]], place[1:], value)}


def _find_outermost_lists(content: JsonObject) -> dict[tuple[str, ...], list[Json]]:
    """The lists at the first depth that has any, by the keys that lead to them."""
    level: dict[tuple[str, ...], Json] = {(): content}
    for _ in range(_MOST_LEVELS):
        objects = [(path, value) for path, value in level.items() if isinstance(value, dict)]
        level = {(*path, key): nested for path, value in objects for key, nested in value.items()}
        candidates = (path for path in level if path[-1].lower().lstrip("_") not in _NAMES_OF_SIDE_LISTS)
        if lists := {path: rows for path in candidates if isinstance(rows := level[path], list)}:
            return lists
    return {}


def _find_hints(content: JsonObject, place: tuple[str, ...], path: tuple[str, ...]) -> Iterator[PageHint]:
    """Yields what the answer says about its list, in this object and those within it."""
    for key, value in content.items():
        field_path = (*path, key)
        role = _classify_paging_name(key, path[-1] if path else "")
        if field_path == place:
            continue
        if isinstance(value, dict) and len(field_path) < _MOST_LEVELS:
            yield from _find_hints(value, place, field_path)
        elif isinstance(value, list):
            links = [link for link in value if isinstance(link, dict)] if "links" in key.lower() else []
            following = (link.get("href") for link in links if link.get("rel") == "next")
            yield from (PageHint(PagingRole.NEXT, field_path, address) for address in following)
        elif role is not None and not isinstance(value, dict):
            yield PageHint(role, field_path, value)


def _is_page_pointer(value: Json) -> bool:
    return not isinstance(value, bool) and value not in (None, "", 0) and isinstance(value, str | int)


def _read_integer(value: Json) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_POSITION_ROLES = (PagingRole.CURSOR, PagingRole.AFTER, PagingRole.OFFSET, PagingRole.PAGE)
_PARTIAL_LIST_ROLES = (*_POSITION_ROLES, PagingRole.SIZE)  # what an argument says of a part
_ORDER_WORDS = frozenset("sort order sortby orderby sorting latest newest descending".split())


class PagingArguments(NamedTuple):
    """The arguments of a tool that select a part of a list, with their schemas."""

    names: Mapping[PagingRole, str]
    schemas: Mapping[str, JsonObject]
    lacks_schema: bool  # whether the tool says nothing of its arguments

    def find_integer_argument(self, role: PagingRole) -> str | None:
        """The name of the argument with this meaning, if it takes integers; else None."""
        name = self.names.get(role)
        kind = self.schemas.get(name or "", {}).get("type", "integer")
        return name if kind in ("integer", "number") or (isinstance(kind, list) and "integer" in kind) else None

    @property
    def has_position(self) -> bool:
        return any(role in self.names for role in _POSITION_ROLES)

    @property
    def first_page_number(self) -> int | None:
        """The number of the first page, 0 or 1, if the schema says so; else None."""
        schema = self.schemas.get(self.names.get(PagingRole.PAGE, ""), {})
        stated_numbers = (schema.get("minimum"), schema.get("default"))
        return next((number for number in stated_numbers if number in (0, 1) and not isinstance(number, bool)), None)  # type: ignore[return-value]  # 0 or 1


def find_paging_arguments(tool: Tool, arguments: JsonObject, page: ListPage) -> PagingArguments:
    """The paging arguments of a tool, from its schema, or if it has none, from the call and its answer."""
    if isinstance(tool.input_schema.get("properties"), dict):
        return PagingArguments(_find_arguments_by_role(tool.parameters), tool.parameters, lacks_schema=False)
    echoed: dict[str, JsonObject] = {
        hint.path[-1]: {} for hint in page.list_hints_of_roles(PagingRole.PAGE, PagingRole.OFFSET)
    }
    called: dict[str, JsonObject] = {name: {} for name in arguments}
    next_hint = next((hint for hint in page.list_hints_of_roles(PagingRole.NEXT) if isinstance(hint.value, str)), None)
    implied: dict[str, JsonObject] = {_guess_argument_name(next_hint): {}} if next_hint else {}
    return PagingArguments(_find_arguments_by_role({**implied, **echoed, **called}), {}, lacks_schema=True)


def asks_for_part_of_list(paging: PagingArguments, arguments: JsonObject) -> bool:
    """Whether a call itself asks for a later page, or for the first few rows in some order."""
    for role in _POSITION_ROLES:
        value = arguments.get(paging.names.get(role, ""))
        is_first_page = role is PagingRole.PAGE and value == 1 and paging.first_page_number != 0
        if value not in (None, "", 0) and not is_first_page:
            return True
    is_ordered = any(_ORDER_WORDS & set(words_of(name)) for name, value in arguments.items() if value not in (None, ""))
    has_size = arguments.get(paging.names.get(PagingRole.SIZE, "")) is not None
    has_position = any(paging.names.get(role) in arguments for role in _POSITION_ROLES)
    return is_ordered and has_size and not has_position


def build_arguments_from_hint(paging: PagingArguments, hint: PageHint) -> JsonObject:
    """The arguments for the next page from a hint or the link in it, never fetched; empty if none fit."""
    if isinstance(hint.value, str) and _is_link(hint.value):
        return _parse_link_arguments(paging, hint.value)
    name = _find_argument_for_hint(paging, hint)
    return {name: _convert_type(hint.value, paging.schemas.get(name, {}))} if name else {}


def _find_argument_for_hint(paging: PagingArguments, hint: PageHint) -> str | None:
    """The argument that takes a hint's value: an offset or page for most numbers, else a cursor; None without one."""
    words = set(words_of(hint.path[-1]))
    is_number = isinstance(hint.value, int) or str(hint.value).isdigit()
    if is_number and words & {"offset", "skip", "start"}:
        return paging.find_integer_argument(PagingRole.OFFSET)
    if is_number and not words & {"cursor", "token", "marker"}:
        if PagingRole.PAGE in paging.names:
            return paging.find_integer_argument(PagingRole.PAGE)
        if PagingRole.CURSOR not in paging.names:
            return paging.find_integer_argument(PagingRole.OFFSET)
    return paging.names.get(PagingRole.CURSOR) or paging.names.get(PagingRole.AFTER)


def _parse_link_arguments(paging: PagingArguments, link: str) -> JsonObject:
    query = dict(URL(f"?{link.partition('?')[2]}").query.items())  # the last of a name counts
    names = [name for name in query if name in paging.names.values()]
    names += [name for name in query if paging.lacks_schema and _classify_paging_name(name) in _PARTIAL_LIST_ROLES]
    arguments = {name: _convert_type(query[name], paging.schemas.get(name, {})) for name in names}
    return arguments if any(_classify_paging_name(name) in _POSITION_ROLES for name in arguments) else {}


def _is_link(text: str) -> bool:
    return "?" in text and (text.startswith(("http://", "https://", "/", "?")) or "=" in text.partition("?")[2])


def _convert_type(value: Json, schema: JsonObject) -> Json:
    """The value in the schema's type; digits as a number where there is no schema."""
    return convert_to_schema_type(value, schema or ({"type": "integer"} if len(str(value)) < 9 else {}))


def _find_arguments_by_role(schemas: Mapping[str, JsonObject]) -> dict[PagingRole, str]:
    """The names of the arguments that ask for a part of a list, by role; without dates, which are no position."""
    names: dict[PagingRole, str] = {}
    for name, schema in schemas.items():
        role = _classify_paging_name(name)
        if role is PagingRole.NEXT:
            role = PagingRole.CURSOR
        if role in _PARTIAL_LIST_ROLES and "format" not in schema:
            names.setdefault(role, name)
    return names


def _guess_argument_name(hint: PageHint) -> str:
    """The argument that a hint names, for a tool without a schema: ``cursor`` for ``next_cursor``."""
    name = hint.path[-1]
    argument = name[4:].lstrip("_-") if name.lower().startswith("next") else name
    return (argument[:1].lower() + argument[1:]) or "cursor"
