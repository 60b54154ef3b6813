"""What a tool of the company is, and the annotations it is published with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

from examples.company.books import CompanyBooks
from shared.domain.exact_json import Json


class Arguments(BaseModel):
    """A tool's arguments; unknown ones are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NoArguments(Arguments):
    pass


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True)
class ToolHints:
    """MCP's annotations, kept honest: they say what the tool really does."""

    read_only: bool
    destructive: bool = False
    idempotent: bool = False


READ = ToolHints(read_only=True, idempotent=True)
ADD = ToolHints(read_only=False)
DECIDE = ToolHints(read_only=False, destructive=True, idempotent=True)


class AnyTool(Protocol):
    """A tool whose arguments' type does not matter to the caller."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def hints(self) -> ToolHints: ...

    @property
    def keyed(self) -> bool:
        """Whether a call may carry an idempotency key, where the protocol has a place for it."""

    def input_schema(self) -> dict[str, JsonValue]:
        """The JSON Schema of the arguments, without the noise of titles."""

    def call(self, books: CompanyBooks, raw: Mapping[str, JsonValue], key: str | None = None) -> Json:
        """Validate, run, and count it if it writes; ``ValidationError`` or ``ToolRefused`` change nothing.

        A keyed tool does once what is asked under one ``key``; the others heed none.
        """


@dataclass(frozen=True)
class CompanyTool(Generic[A]):
    """One tool: its words, its arguments, and what it does with the books."""

    name: str
    description: str
    arguments: type[A]
    hints: ToolHints
    run: Callable[[CompanyBooks, A], Json]
    keyed: bool = False

    def input_schema(self) -> dict[str, JsonValue]:
        schema = self.arguments.model_json_schema()
        properties = {name: _simplify_field(field) for name, field in schema.get("properties", {}).items()}
        return {
            "type": "object",
            "properties": properties,
            "required": schema.get("required", []),
            "additionalProperties": False,
        }

    def call(self, books: CompanyBooks, raw: Mapping[str, JsonValue], key: str | None = None) -> Json:
        arguments = self.arguments.model_validate(raw)
        if self.hints.read_only:
            return self.run(books, arguments)
        given = arguments.model_dump(mode="json", exclude_none=True)
        return books.apply_write(self.name, given, lambda: self.run(books, arguments), key if self.keyed else None)


def _simplify_field(field: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    options = field.get("anyOf")
    if isinstance(options, list) and isinstance(options[0], dict):  # an optional field: its first type says enough
        return {**options[0], "description": field.get("description", "")}
    return {key: value for key, value in field.items() if key not in ("title", "default")}


def not_found(what: str, key: str) -> Json:
    """The company's negative answer to a look-up."""
    return {"found": False, "error": f"no {what} {key}"}
