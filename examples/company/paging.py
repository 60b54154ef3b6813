"""Pages of long lists, in the four shapes that business systems use; each caps what one answer holds."""

from base64 import b64decode, urlsafe_b64encode
from typing import Annotated

from pydantic import Field

from examples.company.books import CompanyBooks, ToolRefused
from examples.company.lookup import RowQuery
from examples.company.toolbox import Arguments
from shared.domain.exact_json import Json, JsonObject

CAP = 10
_MOST = 1_000_000_000

Limit = Annotated[int | None, Field(description=f"Rows in one answer, at most {CAP}", ge=1)]


class PageArguments(Arguments):
    page: Annotated[int | None, Field(description="Which page, from 1", ge=1, le=_MOST)] = None
    limit: Limit = None


class OffsetArguments(Arguments):
    offset: Annotated[int | None, Field(description="How many rows to pass over", ge=0, le=_MOST)] = None
    limit: Limit = None


class CursorArguments(Arguments):
    cursor: Annotated[str | None, Field(description="The next_cursor of the answer before")] = None
    limit: Limit = None


def numbered_page(books: CompanyBooks, rows: str, query: RowQuery, asked: PageArguments) -> Json:
    """``page``, ``limit`` and the ``total`` of all pages."""
    page, limit = asked.page or 1, _cap_limit(asked.limit)
    total = books.find_number(f"SELECT COUNT(*) FROM ({query.sql})", *query.values)  # noqa: S608 - our own queries
    return {rows: _fetch_page(books, query, limit, (page - 1) * limit), "page": page, "limit": limit, "total": total}


def offset_page(books: CompanyBooks, rows: str, query: RowQuery, asked: OffsetArguments) -> Json:
    """``offset``, ``limit`` and whether there is more: ``has_more``."""
    offset, limit = asked.offset or 0, _cap_limit(asked.limit)
    found = _fetch_page(books, query, limit + 1, offset)
    return {rows: found[:limit], "offset": offset, "limit": limit, "has_more": len(found) > limit}


def linked_page(books: CompanyBooks, rows: str, query: RowQuery, asked: OffsetArguments) -> Json:
    """The ``next`` page's address, null on the last one: its query holds the arguments to ask with."""
    offset, limit = asked.offset or 0, _cap_limit(asked.limit)
    found = _fetch_page(books, query, limit + 1, offset)
    address = f"/{rows}?offset={offset + limit}&limit={limit}"
    return {rows: found[:limit], "next": address if len(found) > limit else None}


def cursor_page(books: CompanyBooks, rows: str, query: RowQuery, asked: CursorArguments) -> Json:
    """An opaque ``next_cursor``, null on the last page."""
    limit = _cap_limit(asked.limit)
    sql = f"SELECT * FROM ({query.sql}) WHERE id > ?"  # noqa: S608 - our own queries
    after = _read_cursor(rows, asked.cursor) if asked.cursor else ""
    found = _fetch_page(books, RowQuery(sql, (*query.values, after)), limit + 1, 0)
    more = _make_cursor(rows, found[:limit]) if len(found) > limit else None
    return {rows: found[:limit], "next_cursor": more}


def _cap_limit(limit: int | None) -> int:
    return min(limit or CAP, CAP)


def _fetch_page(books: CompanyBooks, query: RowQuery, limit: int, offset: int) -> list[Json]:
    return [*books.find_rows(f"{query.sql} ORDER BY id LIMIT ? OFFSET ?", *query.values, limit, offset)]


def _make_cursor(rows: str, found: list[Json]) -> str:
    last: JsonObject = next(row for row in reversed(found) if isinstance(row, dict))
    return urlsafe_b64encode(f"{rows}>{last['id']}".encode()).decode()


def _read_cursor(rows: str, cursor: str) -> str:
    try:
        name, _, last = b64decode(cursor, altchars=b"-_", validate=True).decode().partition(">")
    except ValueError:
        name, last = "", ""
    if name != rows:
        raise ToolRefused(f"{cursor} is no cursor of this list.")
    return last
