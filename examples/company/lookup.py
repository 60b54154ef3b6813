"""Finding rows: by id, by filters, and refusing where they are not as they must be."""

from typing import NamedTuple

from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused, Value
from examples.company.tables import NUMBERING
from examples.company.toolbox import not_found
from shared.domain.exact_json import Json, JsonObject

_SINGULAR = {
    "expenses": "expense claim",
    "access_rights": "access right",
    "slas": "SLA",
    "sla_credits": "credit",
    "kyc_documents": "KYC document",
    "kyc_shortfalls": "KYC shortfall",
}


class RowQuery(NamedTuple):
    """A SELECT without an order, and its values."""

    sql: str
    values: tuple[Value, ...] = ()


def rows_of(table: str, **filters: Value) -> RowQuery:
    """The rows of a table whose columns have these values; a filter that is None does not count."""
    asked = {column: value for column, value in filters.items() if value is not None}
    where = " AND ".join(f"{column} = ? COLLATE NOCASE" for column in asked)
    sql = f"SELECT * FROM {table}" + (f" WHERE {where}" if where else "")  # noqa: S608 - our own names
    return RowQuery(sql, tuple(asked.values()))


def fetch(books: CompanyBooks, query: RowQuery) -> list[JsonObject]:
    """Every row of a query by id: for what stays short."""
    return books.find_rows(f"{query.sql} ORDER BY id", *query.values)


def find(books: CompanyBooks, table: str, key: str) -> Json:
    """The row of that id, or the company's negative answer."""
    return _fetch_row(books, table, key) or not_found(row_noun(table), key)


def require_row(books: CompanyBooks, table: str, key: str) -> JsonObject:
    """The row of that id; raises ``ToolRefused`` if it is missing."""
    found = _fetch_row(books, table, key)
    if found is None:
        raise ToolRefused(f"There is no {row_noun(table)} {key}.")
    return found


def check_status(books: CompanyBooks, table: str, key: str, *permitted: str) -> JsonObject:
    """The row of that id; raises ``AlreadyDone`` unless its status is permitted, ``ToolRefused`` if there is none."""
    found = require_row(books, table, key)
    if found["status"] not in permitted:
        raise AlreadyDone(f"{row_noun(table).capitalize()} {key} is already {found['status']}.")
    return found


def cents_of(books: CompanyBooks, table: str, key: str, column: str) -> int:
    """A whole number as it is stored: money in cents."""
    return books.find_number(f"SELECT {column} FROM {table} WHERE id = ?", key)  # noqa: S608 - our own names


def add(books: CompanyBooks, table: str, **fields: Value) -> Json:
    """Insert a row under the next free id of its table; the row."""
    key = books.next_id(table, *NUMBERING[table])
    insert_row(books, table, {"id": key, **fields})
    return _fetch_row(books, table, key)


def insert_row(books: CompanyBooks, table: str, fields: dict[str, Value]) -> None:
    names, places = ", ".join(fields), ", ".join("?" for _ in fields)
    books.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", *fields.values())  # noqa: S608 - our own names


def update(books: CompanyBooks, table: str, key: str, **fields: Value) -> Json:
    """Set columns of the row of that id; the row as it is then."""
    names = ", ".join(f"{column} = ?" for column in fields)
    books.execute(f"UPDATE {table} SET {names} WHERE id = ?", *fields.values(), key)  # noqa: S608 - our own names
    return _fetch_row(books, table, key)


def row_noun(table: str) -> str:
    """What a row of a table is called in a sentence."""
    return _SINGULAR.get(table, table.removesuffix("s").replace("_", " "))


def _fetch_row(books: CompanyBooks, table: str, key: str) -> JsonObject | None:
    return books.find_row(f"SELECT * FROM {table} WHERE id = ?", key)  # noqa: S608 - our own names
