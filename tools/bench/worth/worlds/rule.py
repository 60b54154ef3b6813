"""A policy rule about one tool and one field: of the call, or of the record that the call names."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

from tools.bench.worth.worlds.data import Json, TableRow, Tables
from tools.bench.worth.worlds.form import ServerForm
from tools.bench.worth.worlds.operation import WorldOperation


class WorldRuleAction(StrEnum):
    BLOCK = "block"
    APPROVAL = "require_approval"
    ESCALATE = "escalate"


class WorldRule(NamedTuple):
    """`table` is empty where the field is an argument; else the argument `key` names the record of this table."""

    id: str
    operation: str
    field: str
    comparison: str
    limit: int | str
    action: WorldRuleAction
    reason: str
    table: str = ""
    key: str = ""

    def applies_to(self, operation: str, arguments: TableRow, tables: Tables) -> bool:
        if operation != self.operation:
            return False
        value = self._find_value(arguments, tables)
        return value is not None and COMPARISONS[self.comparison](value, self.limit)

    def _find_value(self, arguments: TableRow, tables: Tables) -> Json:
        if not self.table:
            return arguments.get(self.field)
        return tables.get(self.table, {}).get(str(arguments.get(self.key)), TableRow()).get(self.field)

    def write_json(self, form: ServerForm, operations: Mapping[str, WorldOperation]) -> dict[str, Json]:
        """The rule in the documented format, in the words of this server."""
        shown = form.show_field(self.table, self.field) if self.table else form.show_name(self.field)
        condition = (
            f'tool == "{operations[self.operation].tool}" && {shown} {self.comparison} {self._write_limit(form)}'
        )
        written: dict[str, Json] = {
            "id": self.id,
            "condition": condition,
            "action": self.action.value,
            "reason": self.reason,
        }
        return written if self.action is WorldRuleAction.BLOCK else {**written, "level": LEVELS[self.action]}

    def _write_limit(self, form: ServerForm) -> str:
        return f'"{self.limit}"' if isinstance(self.limit, str) else str(form.show_value(self.field, self.limit))


LEVELS: Mapping[WorldRuleAction, str] = {WorldRuleAction.APPROVAL: "manager", WorldRuleAction.ESCALATE: "committee"}


def _exceeds(value: Json, limit: int | str) -> bool:
    return isinstance(value, int | float) and isinstance(limit, int) and value > limit


def _equals(value: Json, limit: int | str) -> bool:
    return value == limit


COMPARISONS: Mapping[str, Callable[[Json, int | str], bool]] = {">": _exceeds, "==": _equals}
