"""Lists that tool servers give in parts, in every shape that business systems use: handlers for fake tool servers."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from shared.domain.exact_json import Json, JsonObject

Shape: TypeAlias = Callable[["PagedList", JsonObject], Json]


class PagedList:
    """Rows, given ``size`` at a time unless a call asks for more or fewer, and never more than ``cap``.

    ``on_page`` is called before each answer, with the number of answers so far: the list may change under its reader.
    """

    def __init__(self, rows: list[Json], shape: str, size: int, cap: int) -> None:
        self.rows = rows
        self.shape = SHAPES[shape]
        self.size = size
        self.cap = cap
        self.answers = 0
        self.on_page: Callable[[int], None] = lambda _: None

    def __call__(self, given: JsonObject) -> Json:
        self.on_page(self.answers)
        self.answers += 1
        return self.shape.answer(self, given)

    @property
    def schema(self) -> JsonObject:
        """The tool's JSON Schema."""
        properties: JsonObject = {name: {"type": kind} for name, kind in self.shape.parameters.items()}
        return {"type": "object", "properties": properties, "additionalProperties": False}

    def limit(self, given: JsonObject) -> int:
        return min(number(given, "limit", self.size), self.cap)

    def part(self, start: int, given: JsonObject) -> list[Json]:
        return self.rows[max(start, 0) : max(start, 0) + self.limit(given)]


def number(given: JsonObject, name: str, otherwise: int) -> int:
    value = given.get(name)
    return value if isinstance(value, int) else otherwise


class _Shape(NamedTuple):
    answer: Shape
    parameters: Mapping[str, str]


def _start(paged: PagedList, given: JsonObject, first: int = 1) -> int:
    return (number(given, "page", first) - first) * paged.limit(given)


def _page_total(paged: PagedList, given: JsonObject) -> Json:
    rows = paged.part(_start(paged, given), given)
    return {"items": rows, "page": number(given, "page", 1), "limit": paged.limit(given), "total": len(paged.rows)}


def _page_of_asked_size(paged: PagedList, given: JsonObject) -> Json:
    """Counts pages in what was asked for, and gives no more than its cap: rows between are never shown."""
    start = (number(given, "page", 1) - 1) * number(given, "limit", paged.limit(given))
    return {"data": paged.part(start, given), "meta": {"total_count": len(paged.rows)}}


def _page_alone(paged: PagedList, given: JsonObject) -> Json:
    return [*paged.part(_start(paged, given), given)]


def _page_from_zero(paged: PagedList, given: JsonObject) -> Json:
    start = _start(paged, given, 0)
    return {"content": paged.part(start, given), "last": start + paged.limit(given) >= len(paged.rows)}


def _page_number(paged: PagedList, given: JsonObject) -> Json:
    pages = -(-len(paged.rows) // paged.limit(given))
    page: JsonObject = {"number": number(given, "page", 1), "totalPages": pages}
    return {"content": paged.part(_start(paged, given), given), "page": page}


def _page_count(paged: PagedList, given: JsonObject) -> Json:
    rows = paged.part(_start(paged, given), given)
    return {"count": len(rows), "rows": rows}


def _page_has_more(paged: PagedList, given: JsonObject) -> Json:
    start = _start(paged, given)
    return {"results": paged.part(start, given), "hasMore": start + paged.limit(given) < len(paged.rows)}


def _page_that_stays(paged: PagedList, given: JsonObject) -> Json:
    """Past the end it gives the last page again."""
    last = max(0, -(-len(paged.rows) // paged.limit(given)) - 1) * paged.limit(given)
    return {"items": paged.part(min(_start(paged, given), last), given)}


def _next_page(paged: PagedList, given: JsonObject) -> Json:
    start = _start(paged, given)
    goes_on = start + paged.limit(given) < len(paged.rows)
    return {"items": paged.part(start, given), "next_page": number(given, "page", 1) + 1 if goes_on else None}


def _offset_total(paged: PagedList, given: JsonObject) -> Json:
    offset = number(given, "offset", 0)
    return {"records": paged.part(offset, given), "paging": {"offset": offset, "total": len(paged.rows)}}


def _offset_alone(paged: PagedList, given: JsonObject) -> Json:
    return {"rows": paged.part(number(given, "offset", 0), given)}


def _offset_has_more(paged: PagedList, given: JsonObject) -> Json:
    offset = number(given, "offset", 0)
    return {"rows": paged.part(offset, given), "has_more": offset + paged.limit(given) < len(paged.rows)}


def _link(paged: PagedList, given: JsonObject) -> Json:
    start, limit = _start(paged, given), paged.limit(given)
    follows = f"/things?status=open&page={number(given, 'page', 1) + 1}&limit={limit}"
    goes_on = start + limit < len(paged.rows)
    return {"count": len(paged.rows), "next": follows if goes_on else None, "results": paged.part(start, given)}


def _link_with_cursor(paged: PagedList, given: JsonObject) -> Json:
    start, limit = _opened(given), paged.limit(given)
    follows = f"https://elsewhere/things?limit={limit}&cursor={_sealed(start + limit)}"
    return {"data": paged.part(start, given), "links": {"next": follows if start + limit < len(paged.rows) else None}}


def _next_offset(paged: PagedList, given: JsonObject) -> Json:
    offset, limit = number(given, "offset", 0), paged.limit(given)
    goes_on = offset + limit < len(paged.rows)
    return {"results": paged.part(offset, given), "next_offset": offset + limit if goes_on else None}


def _truncated(paged: PagedList, given: JsonObject) -> Json:
    """As stores of objects do it: whether it is cut, and a marker that stands there only then."""
    start, limit = _opened({"cursor": given.get("marker")}), paged.limit(given)
    cut = start + limit < len(paged.rows)
    marker: JsonObject = {"next_marker": _sealed(start + limit)} if cut else {}
    return {"entries": paged.part(start, given), "is_truncated": cut, **marker}


def _linked(paged: PagedList, given: JsonObject) -> Json:
    offset, limit = number(given, "offset", 0), paged.limit(given)
    links: JsonObject = {"self": {"href": "http://elsewhere/things"}}
    if offset + limit < len(paged.rows):
        links["next"] = {"href": f"http://elsewhere/things?offset={offset + limit}"}
    return {"_embedded": {"things": paged.part(offset, given)}, "_links": links}


def _cursor(paged: PagedList, given: JsonObject) -> Json:
    start, limit = _opened(given), paged.limit(given)
    more = _sealed(start + limit) if start + limit < len(paged.rows) else None
    return {"items": paged.part(start, given), "next_cursor": more}


def _cursor_past_the_end(paged: PagedList, given: JsonObject) -> Json:
    """A full page always has a cursor, also the last; behind it there is nothing."""
    start = _opened(given)
    rows = paged.part(start, given)
    return {"items": rows, "nextCursor": _sealed(start + len(rows)) if len(rows) == paged.limit(given) else ""}


def _cursor_echoed(paged: PagedList, given: JsonObject) -> Json:
    """On the last page the cursor is the one of the call."""
    start, limit = _opened(given), paged.limit(given)
    more = _sealed(start + limit) if start + limit < len(paged.rows) else given.get("cursor")
    return {"items": paged.part(start, given), "next_cursor": more}


def _connection(paged: PagedList, given: JsonObject) -> Json:
    """As in GraphQL: an end cursor stands there always, and beside it whether it leads on."""
    start, limit = _opened(given), paged.limit(given)
    info: JsonObject = {"endCursor": _sealed(start + limit), "hasNextPage": start + limit < len(paged.rows)}
    return {"nodes": paged.part(start, given), "pageInfo": info}


def _after(paged: PagedList, given: JsonObject) -> Json:
    known = [row.get("id") for row in paged.rows if isinstance(row, dict)]
    start = known.index(given["starting_after"]) + 1 if given.get("starting_after") else 0
    return {"data": paged.part(start, given), "has_more": start + paged.limit(given) < len(paged.rows)}


def _sealed(place: int) -> str:
    return f"at-{place}"


def _opened(given: JsonObject) -> int:
    cursor = given.get("cursor")
    return int(str(cursor).removeprefix("at-")) if cursor else 0


_PAGE = {"page": "integer", "limit": "integer"}
_OFFSET = {"offset": "integer", "limit": "integer"}
_CURSOR = {"cursor": "string", "limit": "integer"}
SHAPES: Mapping[str, _Shape] = MappingProxyType(
    {
        "page_total": _Shape(_page_total, _PAGE),
        "page_of_asked_size": _Shape(_page_of_asked_size, _PAGE),
        "page_alone": _Shape(_page_alone, _PAGE),
        "page_from_zero": _Shape(_page_from_zero, _PAGE),
        "page_number": _Shape(_page_number, _PAGE),
        "page_count": _Shape(_page_count, _PAGE),
        "page_has_more": _Shape(_page_has_more, _PAGE),
        "page_that_stays": _Shape(_page_that_stays, _PAGE),
        "next_page": _Shape(_next_page, _PAGE),
        "offset_total": _Shape(_offset_total, _OFFSET),
        "offset_alone": _Shape(_offset_alone, _OFFSET),
        "offset_has_more": _Shape(_offset_has_more, _OFFSET),
        "link": _Shape(_link, _PAGE),
        "linked": _Shape(_linked, _OFFSET),
        "link_with_cursor": _Shape(_link_with_cursor, _CURSOR),
        "next_offset": _Shape(_next_offset, _OFFSET),
        "truncated": _Shape(_truncated, {"marker": "string", "limit": "integer"}),
        "cursor": _Shape(_cursor, _CURSOR),
        "cursor_past_the_end": _Shape(_cursor_past_the_end, _CURSOR),
        "cursor_echoed": _Shape(_cursor_echoed, _CURSOR),
        "connection": _Shape(_connection, _CURSOR),
        "after": _Shape(_after, {"starting_after": "string", "limit": "integer"}),
    }
)
