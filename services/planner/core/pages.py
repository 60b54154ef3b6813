"""Lists that come in parts: whether a result says that there is more, and the call that asks for what follows."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from services.planner.core.records import ToolFact
from services.planner.core.request import ToolSpec, objects
from services.planner.core.words import family, parts
from shared.domain.exact_json import Json, JsonObject, dumps

_PLACES = frozenset({"page", "offset", "cursor", "skip", "token"})
_SIZES = frozenset({"limit", "size", "per"})
_OPAQUE = frozenset({"cursor", "token"})
_TOTALS = frozenset("total count items results rows records entries number of all".split())


class ListSlice(NamedTuple):
    """One answer of a list tool: its rows, and what stands around them."""

    fact: ToolFact
    rows: int
    around: JsonObject

    def find_value(self, *words: str) -> Json:
        """What the answer, else the call, says under a name that has one of these words and is no other place."""
        for source in (self.around, self.fact.arguments):
            for name, value in source.items():
                if {*words} & {*parts(name)} and not {"next", "total", "has"} & {*parts(name)}:
                    return value
        return None

    @property
    def next_cursor(self) -> Json:
        """The opaque mark of what follows."""
        named = (value for name, value in self.around.items() if {"next"} < {*parts(name)} <= {"next", *_PLACES})
        return next((value for value in named if value not in (None, "", False)), None)

    @property
    def rows_before_end(self) -> int:
        """How many rows come before the end of this part."""
        size = _as_int(self.find_value(*_SIZES)) or self.rows
        page, offset = _as_int(self.find_value("page")), _as_int(self.find_value("offset", "skip"))
        return (max(page, 1) - 1) * size + offset + self.rows

    @property
    def has_more(self) -> bool:
        said = {name: value for name, value in self.around.items() if {"has", "more"} & {*parts(name)}}
        totals = [v for n, v in self.around.items() if "total" in parts(n) and {*parts(n)} <= _TOTALS]
        pages = [v for n, v in self.around.items() if {"total", "pages"} == {*parts(n)}]
        goes_on = any(value is True for value in said.values()) or self.next_cursor is not None
        goes_on = goes_on or any(_as_int(value) > self.rows_before_end for value in totals)
        return self.rows > 0 and (goes_on or any(_as_int(value) > _as_int(self.find_value("page")) for value in pages))


def is_paging(tool: ToolSpec, name: str) -> bool:
    """Whether an argument only says which part of a list is wanted."""
    own = {*parts(name)}
    reads = family(next(iter(parts(tool.name)), "")) == "read"
    return reads and name not in tool.required and bool(own & _PLACES or (own & _SIZES and _is_paged(tool)))


def next_parts(facts: Iterable[ToolFact], tools: Iterable[ToolSpec]) -> Iterator[tuple[ToolSpec, JsonObject]]:
    """The calls that ask for what follows the lists read so far."""
    named = {tool.name: tool for tool in tools}
    for fact in facts:
        part, tool = as_list_slice(fact), named.get(fact.tool)
        if part is not None and tool is not None and part.has_more and (further := _next_page_argument(part, tool)):
            yield tool, {**fact.arguments, **further}


def lists_read_in_part(facts: tuple[ToolFact, ...]) -> tuple[str, ...]:
    """The tools of lists of which the end was not read."""
    ended: dict[str, bool] = {}
    for fact in facts:
        if part := as_list_slice(fact):
            key = f"{fact.tool} {dumps(_drop_paging(fact.arguments))}"
            ended[key] = ended.get(key, False) or not part.has_more
    return tuple(key.split()[0] for key, end in ended.items() if not end)


def as_list_slice(fact: ToolFact) -> ListSlice | None:
    """A result as part of a list; None if it holds no list of things."""
    around: JsonObject = {}
    rows = _rows(fact.result, around)
    return ListSlice(fact, len(rows), around) if rows is not None else None


def _rows(value: Json, around: JsonObject) -> list[JsonObject] | None:
    """The list in a result, at most one envelope deep in another; what stands beside it is collected."""
    if isinstance(value, list):
        return objects(value)
    if not isinstance(value, dict):
        return None
    found: list[JsonObject] | None = None
    for name, item in value.items():
        if isinstance(item, list | dict):
            inner = _rows(item, around)
            found = inner if found is None else found
        else:
            around[name] = item
    return found


def _is_paged(tool: ToolSpec) -> bool:
    return any(_PLACES & {*parts(name)} for name in tool.properties)


def _next_page_argument(part: ListSlice, tool: ToolSpec) -> JsonObject:
    """The argument that leads on, in the tool's own way."""
    for name in tool.properties:
        own = {*parts(name)}
        if own & _OPAQUE and part.next_cursor is not None:
            return {name: part.next_cursor}
        if own & {"offset", "skip"}:
            return {name: _as_int(part.find_value("offset", "skip")) + part.rows}
        if "page" in own and not own & _SIZES:
            return {name: max(_as_int(part.find_value("page")), 1) + 1}
    return {}


def _drop_paging(arguments: JsonObject) -> JsonObject:
    return {name: value for name, value in arguments.items() if not {*parts(name)} & (_PLACES | _SIZES)}


def _as_int(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
