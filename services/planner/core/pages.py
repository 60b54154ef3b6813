"""Lists that come in pages: whether a result says that more follows, and the call that reads the next page."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from services.planner.core.records import ToolFact
from services.planner.core.request import ToolSpec, objects
from services.planner.core.words import family, parts
from shared.domain.exact_json import Json, JsonObject, dumps

_PLACE_WORDS = frozenset({"page", "offset", "cursor", "skip", "token"})
_SIZE_WORDS = frozenset({"limit", "size", "per"})
_OPAQUE_WORDS = frozenset({"cursor", "token"})
_TOTAL_WORDS = frozenset("total count items results rows records entries number of all".split())


class ListSlice(NamedTuple):
    """One answer of a list tool: its rows, and the fields around them."""

    fact: ToolFact
    rows: int
    around: JsonObject

    def find_value(self, *words: str) -> Json:
        """The value of a field of the answer, else of the call, whose name has one of these words."""
        for source in (self.around, self.fact.arguments):
            for name, value in source.items():
                if {*words} & {*parts(name)} and not {"next", "total", "has"} & {*parts(name)}:
                    return value
        return None

    @property
    def next_cursor(self) -> Json:
        """The opaque cursor of the next page; None if there is none."""
        named = (value for name, value in self.around.items() if {"next"} < {*parts(name)} <= {"next", *_PLACE_WORDS})
        return next((value for value in named if value not in (None, "", False)), None)

    @property
    def rows_before_end(self) -> int:
        """How many rows of the whole list come before the end of this page."""
        size = _as_int(self.find_value(*_SIZE_WORDS)) or self.rows
        page, offset = _as_int(self.find_value("page")), _as_int(self.find_value("offset", "skip"))
        return (max(page, 1) - 1) * size + offset + self.rows

    @property
    def has_more(self) -> bool:
        more_fields = {name: value for name, value in self.around.items() if {"has", "more"} & {*parts(name)}}
        totals = [v for n, v in self.around.items() if "total" in parts(n) and {*parts(n)} <= _TOTAL_WORDS]
        pages = [v for n, v in self.around.items() if {"total", "pages"} == {*parts(n)}]
        goes_on = any(value is True for value in more_fields.values()) or self.next_cursor is not None
        goes_on = goes_on or any(_as_int(value) > self.rows_before_end for value in totals)
        return self.rows > 0 and (goes_on or any(_as_int(value) > _as_int(self.find_value("page")) for value in pages))


def is_paging(tool: ToolSpec, name: str) -> bool:
    """Whether an argument only says which page of a list is wanted."""
    own = {*parts(name)}
    reads = family(next(iter(parts(tool.name)), "")) == "read"
    return reads and name not in tool.required and bool(own & _PLACE_WORDS or (own & _SIZE_WORDS and _is_paged(tool)))


def next_parts(facts: Iterable[ToolFact], tools: Iterable[ToolSpec]) -> Iterator[tuple[ToolSpec, JsonObject]]:
    """Yields the calls that read the next page of each list read so far."""
    named = {tool.name: tool for tool in tools}
    for fact in facts:
        part, tool = as_list_slice(fact), named.get(fact.tool)
        if part is not None and tool is not None and part.has_more and (further := _next_page_argument(part, tool)):
            yield tool, {**fact.arguments, **further}


def lists_read_in_part(facts: tuple[ToolFact, ...]) -> tuple[str, ...]:
    """The list tools whose last page was not read."""
    ended: dict[str, bool] = {}
    for fact in facts:
        if part := as_list_slice(fact):
            key = f"{fact.tool} {dumps(_drop_paging(fact.arguments))}"
            ended[key] = ended.get(key, False) or not part.has_more
    return tuple(key.split()[0] for key, end in ended.items() if not end)


def as_list_slice(fact: ToolFact) -> ListSlice | None:
    """A result as a page of a list; None if it holds no list of objects."""
    around: JsonObject = {}
    rows = _rows(fact.result, around)
    return ListSlice(fact, len(rows), around) if rows is not None else None


def _rows(value: Json, around: JsonObject) -> list[JsonObject] | None:
    """The list of objects in a result, directly or in nested envelopes; None if there is none.

    ``around``: the envelopes' other fields are added to it.
    """
    if isinstance(value, list):
        return objects(value)
    if not isinstance(value, dict):
        return None
    rows: list[JsonObject] | None = None
    for name, item in value.items():
        if isinstance(item, list | dict):
            inner = _rows(item, around)
            rows = inner if rows is None else rows
        else:
            around[name] = item
    return rows


def _is_paged(tool: ToolSpec) -> bool:
    return any(_PLACE_WORDS & {*parts(name)} for name in tool.properties)


def _next_page_argument(part: ListSlice, tool: ToolSpec) -> JsonObject:
    """The argument with which the tool reads the next page: a cursor, an offset or a page number."""
    for name in tool.properties:
        own = {*parts(name)}
        if own & _OPAQUE_WORDS and part.next_cursor is not None:
            return {name: part.next_cursor}
        if own & {"offset", "skip"}:
            return {name: _as_int(part.find_value("offset", "skip")) + part.rows}
        if "page" in own and not own & _SIZE_WORDS:
            return {name: max(_as_int(part.find_value("page")), 1) + 1}
    return {}


def _drop_paging(arguments: JsonObject) -> JsonObject:
    return {name: value for name, value in arguments.items() if not {*parts(name)} & (_PLACE_WORDS | _SIZE_WORDS)}


def _as_int(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
