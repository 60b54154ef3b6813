"""What tools do to tables; each function makes a handler."""

import json
from collections.abc import Callable, Mapping

from tools.bench.worth.worlds.data import Json, ServerRefusal, TableRow, Tables
from tools.bench.worth.worlds.form import ReplyShape, ServerForm, ToolReply
from tools.bench.worth.worlds.operation import Handler
from tools.bench.worth.worlds.traits import Trait


def find_one(table: str, key: str) -> Handler:
    def find(tables: Tables, given: TableRow) -> ToolReply:
        row = tables.get(table, {}).get(given.txt(key))
        return ToolReply(ReplyShape.FOUND, table, [row] if row else [])

    return find


def list_rows(table: str, form: ServerForm, order: str) -> Handler:
    """Rows whose fields equal the given arguments, in the order of their ids; in pages where the server has them."""

    def find(tables: Tables, given: TableRow) -> ToolReply:
        wanted = {name: value for name, value in given.items() if name != "page"}
        rows = [
            row
            for row in tables.get(table, {}).values()
            if all(row.get(name) == value for name, value in wanted.items())
        ]
        rows.sort(key=lambda row: row.txt(order))
        return _cut_page(table, rows, int(str(given.get("page", 1))), form)

    return find


def _cut_page(table: str, rows: list[TableRow], page: int, form: ServerForm) -> ToolReply:
    if Trait.PAGES not in form.traits:
        return ToolReply(ReplyShape.LISTED, table, rows)
    size = form.page_size
    pages = max(1, -(-len(rows) // size))
    return ToolReply(ReplyShape.LISTED, table, rows[(page - 1) * size : page * size], page, pages)


def set_fields(table: str, key: str, /, **fixed: Json) -> Handler:
    """Sets the fixed fields and those that are given beside the key."""

    def change(tables: Tables, given: TableRow) -> ToolReply:
        row = take_row(tables, table, given.txt(key))
        row.update({name: value for name, value in given.items() if name != key} | fixed)
        return ToolReply(ReplyShape.WRITTEN, table, [row])

    return change


def create_row(table: str, form: ServerForm, /, **fixed: Json) -> Handler:
    def create(tables: Tables, given: TableRow) -> ToolReply:
        return ToolReply(ReplyShape.WRITTEN, table, [add_row(tables, table, form, given | fixed)])

    return create


def add_row(tables: Tables, table: str, form: ServerForm, content: Mapping[str, Json]) -> TableRow:
    """A new record of this content under an id of its own."""
    name = form.kinds[table].key if table in form.kinds else "reference"
    key = form.make_key(table, json.dumps(content, sort_keys=True), tables)
    tables[table][str(key)] = TableRow({name: key, **content})
    return tables[table][str(key)]


def take_row(tables: Tables, table: str, key: str) -> TableRow:
    row = tables.get(table, {}).get(key)
    if row is None:
        raise ServerRefusal(f"Nothing is stored under {key}")
    return row


def set_line(table: str, key: str, lines: str, line_key: str) -> Handler:
    """Sets the given fields of one entry of a list inside a record."""

    def change(tables: Tables, given: TableRow) -> ToolReply:
        row = take_row(tables, table, given.txt(key))
        line = take_line(row, lines, line_key, given.txt(line_key))
        line.update({name: value for name, value in given.items() if name not in (key, line_key)})
        return ToolReply(ReplyShape.WRITTEN, table, [row])

    return change


def take_line(row: TableRow, lines: str, line_key: str, wanted: str) -> TableRow:
    for line in row.items_of(lines):
        if line.txt(line_key) == wanted:
            return line
    raise ServerRefusal(f"{wanted} is not an entry of this record")


def say(table: str, answer: Callable[[Tables, TableRow], Mapping[str, Json]]) -> Handler:
    """Answers and changes nothing."""

    def tell(tables: Tables, given: TableRow) -> ToolReply:
        return ToolReply(ReplyShape.SAID, table, [TableRow(answer(tables, given))])

    return tell


def delete_anywhere(key: str) -> Handler:
    """Deletes the record of this id from whichever table holds it."""

    def delete(tables: Tables, given: TableRow) -> ToolReply:
        for rows in tables.values():
            if rows.pop(given.txt(key), None) is not None:
                return ToolReply(ReplyShape.SAID, "", [TableRow(deleted=given[key])])
        raise ServerRefusal(f"Nothing is stored under {given[key]}")

    return delete
