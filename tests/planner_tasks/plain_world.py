"""A small tool server in memory: tables of records, tools that read and change them, and a log of what they did."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shared.domain.exact_json import Json, JsonObject, dumps
from tests.planner_tasks.task import Call

Table = dict[str, JsonObject]
_PAGE = 10


class NoSuchRecord(Exception):
    """A call names what the server does not have."""


@dataclass(frozen=True)
class WorldTool:
    """A tool as a server lists it, and what it does. ``runs``: takes the tables and the arguments."""

    name: str
    description: str
    properties: Mapping[str, JsonObject]
    required: tuple[str, ...]
    runs: Callable[["PlainWorld", JsonObject], Json]

    def listed(self) -> JsonObject:
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": {"type": "object", "properties": {**self.properties}, "required": [*self.required]},
        }


@dataclass
class PlainWorld:
    """``log``: what no record shows (orders, messages), as it was asked for."""

    tables: dict[str, Table]
    tools: Sequence[WorldTool]
    log: list[Call] = field(default_factory=list)
    made: list[Call] = field(default_factory=list)

    def call(self, name: str, arguments: JsonObject) -> tuple[Json, bool]:
        """The answer, and whether it is an error."""
        tool = next((one for one in self.tools if one.name == name), None)
        if tool is None:
            return f"There is no tool {name}.", True
        if missing := [one for one in tool.required if one not in arguments]:
            return f"missing: {', '.join(missing)}", True
        if unknown := [one for one in arguments if one not in tool.properties]:
            return f"unknown: {', '.join(unknown)}", True
        for given, schema in ((arguments[one], tool.properties[one]) for one in arguments):
            listed = schema.get("enum")
            if isinstance(listed, list) and given not in listed:
                return f"{dumps(given)} is none of {', '.join(map(str, listed))}", True
        try:
            result = tool.runs(self, arguments)
        except NoSuchRecord as error:
            return f"no such record: {error}", True
        if not name.startswith(("list_", "get_", "find_")):
            self.made.append((name, arguments))
        return result, False

    def offered(self) -> list[Json]:
        return [tool.listed() for tool in self.tools]

    def end_state(self) -> tuple[dict[str, Table], list[str]]:
        """All records, and what the log has, in no order."""
        return self.tables, sorted(f"{name} {dumps(given)}" for name, given in self.log)


def text(**more: Json) -> JsonObject:
    return {"type": "string", **more}


def choice(*words: str) -> JsonObject:
    listed: list[Json] = [*words]
    return {"type": "string", "enum": listed}


def lists(name: str, table: str, description: str, filters: Mapping[str, JsonObject], paged: bool = False) -> WorldTool:
    """All records of a table, or those that agree with the filters; ten a page, if it is paged."""

    def run(world: PlainWorld, given: JsonObject) -> Json:
        asked = {key: value for key, value in given.items() if key != "page" and value is not None}
        found = world.tables[table].values()
        rows: list[Json] = [copy.deepcopy(row) for row in found if all(row.get(k) == v for k, v in asked.items())]
        if not paged:
            return {table: rows}
        page = given.get("page", 1)
        assert isinstance(page, int)
        shown, has_more = rows[(page - 1) * _PAGE : page * _PAGE], page * _PAGE < len(rows)
        return {table: shown, "page": page, "total": len(rows), "next_page": page + 1 if has_more else None}

    paging: dict[str, JsonObject] = {"page": {"type": "integer"}} if paged else {}
    return WorldTool(name, description, {**filters, **paging}, (), run)


def gets(name: str, table: str, key: str, description: str) -> WorldTool:
    return WorldTool(
        name, description, {key: text()}, (key,), lambda world, given: copy.deepcopy(_row(world, table, given[key]))
    )


def sets(name: str, table: str, key: str, column: str, schema: JsonObject, description: str) -> WorldTool:
    """Writes one column of one record."""

    def run(world: PlainWorld, given: JsonObject) -> Json:
        row = _row(world, table, given[key])
        row[column] = given[column]
        return {key: given[key], column: given[column]}

    return WorldTool(name, description, {key: text(), column: schema}, (key, column), run)


def logs(name: str, table: str, key: str, description: str, **more: JsonObject) -> WorldTool:
    """Does something that no record shows, to one record that there has to be."""

    def run(world: PlainWorld, given: JsonObject) -> Json:
        _row(world, table, given[key])
        world.log.append((name, given))
        return "OK"

    return WorldTool(name, description, {key: text(), **more}, (key, *more), run)


def _row(world: PlainWorld, table: str, key: Json) -> JsonObject:
    found = world.tables[table].get(str(key))
    if found is None:
        raise NoSuchRecord(str(key))
    return found


def keyed(rows: Sequence[JsonObject]) -> Table:
    return {str(row["id"]): {**row} for row in rows}
