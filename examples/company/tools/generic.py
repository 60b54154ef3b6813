"""Tools over any table: what its columns are, and its rows. They know columns by the names that are shown now."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated

from pydantic import Field

from examples.company.books import CompanyBooks, ToolRefused, Value
from examples.company.lookup import RowQuery, rows_of
from examples.company.paging import OffsetArguments, offset_page
from examples.company.tables import TABLES, Column, all_columns
from examples.company.toolbox import READ, Arguments, CompanyTool
from shared.domain.exact_json import Json, JsonObject

Table = Annotated[str, Field(description="Name of a table, such as invoices", min_length=1)]

_MOST = 2**63  # what a database's integer holds


class TableByName(Arguments):
    table: Table


class TableQuery(OffsetArguments):
    table: Table
    columns: Annotated[list[str] | None, Field(description="Which columns to show; all without it")] = None
    filter_column: Annotated[str | None, Field(description="Only rows with a value in this column")] = None
    filter_value: Annotated[str | None, Field(description="That value, as it is shown")] = None


def describe_table(books: CompanyBooks, asked: TableByName) -> Json:
    described: list[Json] = [
        {"name": name, "type": column.type, "required": column.required}
        for name, column in _visible_columns(books, asked.table).items()
    ]
    return {"table": asked.table, "columns": described}


def query_table(books: CompanyBooks, asked: TableQuery) -> Json:
    known = _visible_columns(books, asked.table)
    wanted = {name: _require_column(known, name) for name in asked.columns or known}
    if (asked.filter_column is None) != (asked.filter_value is None):
        raise ToolRefused("A filter takes both filter_column and filter_value.")
    query = rows_of(asked.table)
    if asked.filter_column is not None and asked.filter_value is not None:
        column = _require_column(known, asked.filter_column)
        query = RowQuery(f"{query.sql} WHERE {column.stored} = ?", (_stored_value(column, asked.filter_value),))
    return _keep_columns(offset_page(books, "rows", query, asked), wanted)


def _visible_columns(books: CompanyBooks, table: str) -> dict[str, Column]:
    """A table's columns by the names shown now; raises ``ToolRefused`` if there is no such table."""
    if table not in TABLES:
        raise ToolRefused(f"no such table: {table}")
    return {books.renamed.get(f"{table}.{column.name}", column.name): column for column in all_columns()[table]}


def _require_column(known: Mapping[str, Column], name: str) -> Column:
    if name not in known:
        raise ToolRefused(f"no such column: {name}")
    return known[name]


def _stored_value(column: Column, shown: str) -> Value:
    if column.type == "text":
        return shown
    if column.type == "boolean":
        return _yes_or_no(column, shown)
    places = 2 if column.type == "decimal" else 0
    try:
        whole = Decimal(shown).scaleb(places)
    except InvalidOperation:
        whole = Decimal("NaN")
    if not whole.is_finite() or whole != whole.to_integral_value() or abs(whole) >= _MOST:
        raise ToolRefused(f"{shown} is no {column.type}, as {column.name} is.")
    return int(whole)


def _yes_or_no(column: Column, shown: str) -> int:
    if shown not in ("true", "false"):
        raise ToolRefused(f"{shown} is no boolean, as {column.name} is.")
    return int(shown == "true")


def _keep_columns(page: Json, wanted: Mapping[str, Column]) -> Json:
    rows = page["rows"] if isinstance(page, dict) else None
    if not isinstance(page, dict) or not isinstance(rows, list):
        raise TypeError("a page holds rows")
    return {**page, "rows": [_pick_columns(row, wanted) for row in rows if isinstance(row, dict)]}


def _pick_columns(row: JsonObject, wanted: Mapping[str, Column]) -> JsonObject:
    return {name: row[column.name] for name, column in wanted.items()}


TOOLS = (
    CompanyTool("describe_table", "The columns of a table and their types.", TableByName, READ, describe_table),
    CompanyTool(
        "query_table",
        "Rows of a table, page by page: chosen columns, and only rows with a value in a column if given.",
        TableQuery,
        READ,
        query_table,
    ),
)
