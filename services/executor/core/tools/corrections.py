"""What a session has learned of renamed columns, and where that holds."""

from collections.abc import Mapping
from typing import NamedTuple

from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.schema_drift import PARAMETER, TABLES, is_parameter
from services.executor.ports.tools import Tool
from shared.domain.exact_json import JsonObject

MOST_KEPT = 200


class Corrections(NamedTuple):
    """New names by ``connection/tool:column``, or ``connection/table:column`` where the arguments name a table.

    A parameter is its tool's own, whatever the table.
    """

    names: Mapping[str, str] = {}

    def for_call(self, tool: Tool, arguments: JsonObject) -> dict[str, str]:
        """New names by old ones, for one call."""
        found: dict[str, str] = {}
        for scope in dict.fromkeys((_scope(tool, arguments), _own_scope(tool))):
            known = {key.removeprefix(scope): new for key, new in self.names.items() if key.startswith(scope)}
            found |= {old: new for old, new in known.items() if scope == _scope_of(old, tool, arguments)}
        return {old: new for old, new in found.items() if old.removeprefix(PARAMETER) != new}

    def with_renames(self, tool: Tool, arguments: JsonObject, names: Mapping[str, str]) -> "Corrections":
        """With what one call taught: new names by old ones."""
        known = self
        for old, new in names.items():
            known = known._with_rename(tool, arguments, old, new)
        return known

    def _with_rename(self, tool: Tool, arguments: JsonObject, old: str, new: str) -> "Corrections":
        """With one more; whatever said that the new name is an old one no longer holds."""
        scope = _scope_of(old, tool, arguments)
        others = {key: name for key, name in self.names.items() if key != f"{scope}{old}"}
        back = {f"{scope}{new}": new} if f"{scope}{new}" in others else {}
        kept = list({**others, **back, f"{scope}{old}": new}.items())[-MOST_KEPT:]
        return Corrections(dict(kept))


NONE_KNOWN = Corrections()


def table_of(arguments: JsonObject) -> str | None:
    """The table that a call's own arguments name."""
    named = (value for key, value in arguments.items() if "_".join(words_of(key)) in TABLES)
    return next((value for value in named if isinstance(value, str) and value), None)


def _scope_of(old: str, tool: Tool, arguments: JsonObject) -> str:
    return _own_scope(tool) if is_parameter(old) else _scope(tool, arguments)


def _own_scope(tool: Tool) -> str:
    return f"{tool.connection_id}/{tool.name}:"


def _scope(tool: Tool, arguments: JsonObject) -> str:
    return f"{tool.connection_id}/{table_of(arguments) or tool.name}:"
