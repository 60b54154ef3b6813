"""A foreign business system: its tools, its records, and what the operator's tenant record says of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, TypedDict

from tools.bench.worth.worlds.data import Json, ServerRefusal, TableRow, Tables, copy_tables
from tools.bench.worth.worlds.form import ServerForm, ToolReply
from tools.bench.worth.worlds.operation import Effect, ListedTool, ParamKind, WorldOperation
from tools.bench.worth.worlds.rule import WorldRule


class AcceptedWrite(NamedTuple):
    """A change that the server accepted, by the bench's name of the tool and with canonical arguments."""

    operation: str
    arguments: TableRow


class WorldSnapshot(NamedTuple):
    tables: Tables
    writes: tuple[AcceptedWrite, ...]


class StatedTenant(TypedDict):
    """What an operator would write about a server: the class of misleading tools, and the standing policies."""

    server: str
    unruled_writes: str
    tools: dict[str, str]
    policies: list[Json]


@dataclass(frozen=True)
class Blueprint:
    """What copies of a world share."""

    name: str
    today: date
    currency: str
    form: ServerForm
    operations: Mapping[str, WorldOperation]
    rules: tuple[WorldRule, ...]

    def find_operation(self, tool: str) -> WorldOperation | None:
        return next((operation for operation in self.operations.values() if operation.tool == tool), None)


class ForeignWorld:
    """One copy of a world, with a state of its own."""

    def __init__(self, blueprint: Blueprint, tables: Tables, writes: tuple[AcceptedWrite, ...] = ()) -> None:
        self.blueprint = blueprint
        self._tables = tables
        self._writes = list(writes)
        self.last_reply: ToolReply | None = None

    @property
    def tools(self) -> tuple[ListedTool, ...]:
        listed = [operation.list_tool(self.blueprint.form) for operation in self.blueprint.operations.values()]
        return tuple(sorted(listed, key=lambda tool: tool.name))

    @property
    def tenant(self) -> StatedTenant:
        return describe_tenant(self.blueprint)

    def call(self, name: str, arguments: Mapping[str, Json]) -> Json:
        """The tool's result as JSON; raises `ServerRefusal`, with the server's text, if the call is not carried out."""
        operation = self.blueprint.find_operation(name)
        if operation is None:
            raise ServerRefusal(f"Unknown tool {name}")
        given = operation.read_arguments(arguments, self.blueprint.form)
        self._check_keys(operation, given)
        self.last_reply = operation.handler(self._tables, given)
        if operation.writes:
            self._writes.append(AcceptedWrite(operation.key, given))
        return self.blueprint.form.show_reply(self.last_reply)

    def _check_keys(self, operation: WorldOperation, given: TableRow) -> None:
        if not operation.writes:
            return
        for param in operation.params:
            if param.kind is ParamKind.KEY and param.table and param.name in given:
                self._check_key(param.table, given.txt(param.name))

    def _check_key(self, table: str, key: str) -> None:
        if key not in self._tables.get(table, {}):
            raise ServerRefusal(f"{key} does not exist")

    def snapshot(self) -> WorldSnapshot:
        """The whole state; it shares nothing with the world."""
        return WorldSnapshot(copy_tables(self._tables), tuple(self._writes))

    def copy(self) -> "ForeignWorld":
        return ForeignWorld(self.blueprint, copy_tables(self._tables), tuple(self._writes))

    def rows(self, table: str) -> list[TableRow]:
        return list(self._tables.get(table, {}).values())


def describe_tenant(blueprint: Blueprint) -> StatedTenant:
    rules: list[Json] = [rule.write_json(blueprint.form, blueprint.operations) for rule in blueprint.rules]
    policies: list[Json] = [{"id": f"{blueprint.name}-rules", "version": "1", "rules": rules}] if rules else []
    classes = {
        operation.tool: TENANT_CLASSES[operation.effect]
        for operation in blueprint.operations.values()
        if operation.misleads
    }
    return StatedTenant(server=blueprint.name, unruled_writes="allow", tools=classes, policies=policies)


TENANT_CLASSES = {
    Effect.READ: "read",
    Effect.CHECK: "read",
    Effect.CHANGE: "change",
    Effect.NOTICE: "notice",
    Effect.OUTWARD: "read",
}
