"""What a tool takes and does. Parameters: `bill_id@bills`, `sum_cents`, `due_on`, `units#`, `to!`, `size:s|m`, `x?`"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

from tools.bench.worth.worlds.data import Json, ServerRefusal, TableRow, Tables
from tools.bench.worth.worlds.form import ServerForm, ToolReply
from tools.bench.worth.worlds.traits import DateStyle, Trait

Handler = Callable[[Tables, TableRow], ToolReply]


class Effect(StrEnum):
    READ = "reads records"
    CHECK = "asks somebody or checks something, and changes nothing"
    CHANGE = "changes records"
    NOTICE = "tells somebody"
    OUTWARD = "reads from outside, so that its arguments leave the company"


LOGGED = frozenset({Effect.CHANGE, Effect.NOTICE, Effect.OUTWARD})


class ParamKind(StrEnum):
    KEY = "the id of a record"
    MONEY = "an amount of money"
    DAY = "a day"
    NUMBER = "a number"
    CHOICE = "one of some words"
    RECIPIENT = "who is told"
    TEXT = "text"


class Param(NamedTuple):
    name: str
    kind: ParamKind
    optional: bool
    table: str = ""
    choices: tuple[str, ...] = ()

    def make_schema(self, form: ServerForm) -> dict[str, Json]:
        if self.kind is ParamKind.CHOICE:
            return {"type": "string", "enum": [*self.choices]}
        if self.kind is ParamKind.DAY:
            return {"type": "string", "description": f"a date, as {DATE_SAMPLES[form.dates]}"}
        if self.kind is ParamKind.KEY:
            return {"type": "integer" if Trait.INTEGER_IDS in form.traits else "string"}
        if self.kind is ParamKind.MONEY:
            return (
                {"type": "integer", "description": "in minor units"}
                if Trait.CENTS in form.traits
                else {"type": "number"}
            )
        return {"type": "number" if self.kind is ParamKind.NUMBER else "string"}

    def read_value(self, value: Json, form: ServerForm) -> Json:
        if self.kind is ParamKind.MONEY:
            return form.read_money(self.name, value)
        if self.kind is ParamKind.DAY:
            return form.read_date_and_caps(self.name, value)
        self._check_type(value, form)
        return value

    def _check_type(self, value: Json, form: ServerForm) -> None:
        expected = str(self.make_schema(form)["type"])
        if isinstance(value, bool) or not isinstance(value, PYTHON_TYPES[expected]):
            raise ServerRefusal(f"{form.show_name(self.name)}: expected {expected}")
        if self.choices and value not in self.choices:
            raise ServerRefusal(f"{form.show_name(self.name)}: expected one of {', '.join(self.choices)}")


DATE_SAMPLES = {
    DateStyle.ISO: "2024-03-31",
    DateStyle.DOTTED: "31.03.2024",
    DateStyle.AMERICAN: "03/31/2024 (month first)",
    DateStyle.NAMED_MONTH: "31-Mar-2024",
}
PYTHON_TYPES: Mapping[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "number": (int, float)}


class ListedTool(NamedTuple):
    """A tool as the server lists it."""

    name: str
    description: str
    input_schema: dict[str, Json]
    annotations: dict[str, Json] | None


class WorldOperation(NamedTuple):
    """A tool with what stands behind it. `key` is its name inside the bench, `tool` its name on this server."""

    key: str
    tool: str
    description: str
    params: tuple[Param, ...]
    effect: Effect
    handler: Handler
    misleads: bool = False

    @property
    def writes(self) -> bool:
        return self.effect in LOGGED

    def list_tool(self, form: ServerForm) -> ListedTool:
        properties: dict[str, Json] = {form.show_name(param.name): param.make_schema(form) for param in self.params}
        required: list[Json] = [form.show_name(param.name) for param in self.params if not param.optional]
        schema: dict[str, Json] = {"type": "object", "properties": properties, "required": required}
        return ListedTool(self.tool, self.description, schema, self._annotate(form))

    def _annotate(self, form: ServerForm) -> dict[str, Json] | None:
        if Trait.ANNOTATED not in form.traits:
            return None
        if not self.writes or self.effect is Effect.OUTWARD:
            return {"readOnlyHint": True, "openWorldHint": self.effect is Effect.OUTWARD}
        return {"readOnlyHint": False, "destructiveHint": "delete" in self.key or "cancel" in self.key}

    def read_arguments(self, arguments: Mapping[str, Json], form: ServerForm) -> TableRow:
        """The arguments in canonical form, by the names of the parameters.

        Raises ``ServerRefusal`` for the first that the server does not take, does not know or misses.
        """
        by_name = {form.show_name(param.name): param for param in self.params}
        for name in arguments:
            if name not in by_name:
                raise ServerRefusal(f"{name}: unknown argument of {self.tool}")
        for name, param in by_name.items():
            if name not in arguments and not param.optional:
                raise ServerRefusal(f"{name}: missing")
        return TableRow(
            {by_name[name].name: by_name[name].read_value(value, form) for name, value in arguments.items()}
        )

    def write_arguments(self, given: Mapping[str, Json], form: ServerForm) -> dict[str, Json]:
        """Canonical arguments as this server wants them."""
        return {form.show_name(name): form.show_value(name, value) for name, value in given.items()}


def parse_params(text: str) -> tuple[Param, ...]:
    return tuple(_parse_param(word) for word in text.split())


def _parse_param(word: str) -> Param:
    bare = word.removesuffix("?")
    optional = bare != word
    if "@" in bare:
        name, table = bare.split("@")
        return Param(name, ParamKind.KEY, optional, table=table)
    if ":" in bare:
        name, choices = bare.split(":")
        return Param(name, ParamKind.CHOICE, optional, choices=tuple(choices.split("|")))
    return Param(bare.rstrip("#!"), _kind_of(bare), optional)


def _kind_of(word: str) -> ParamKind:
    endings = {"_cents": ParamKind.MONEY, "_on": ParamKind.DAY, "#": ParamKind.NUMBER, "!": ParamKind.RECIPIENT}
    return next((kind for ending, kind in endings.items() if word.endswith(ending)), ParamKind.TEXT)
