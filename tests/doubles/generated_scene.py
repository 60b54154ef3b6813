"""The stage of a generated world: its nouns, naming styles and result shapes, its data, and tools with real effects."""

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from random import Random
from typing import NamedTuple

from pydantic import JsonValue

from shared.domain.exact_json import Json, JsonObject, dumps
from shared.ports.models import ToolDefinition
from tests.doubles.generated_parts import SHAPES, cut, place
from tests.doubles.generated_words import (
    ADD,
    FIELDS,
    FIRST,
    GET,
    LAST,
    LIST,
    LIST_WRAPPERS,
    NOUNS,
    SET,
    STATES,
    SYLLABLES,
    WRAPPERS,
    plural,
)


class Style(NamedTuple):
    """How this world spells: tool names, fields, identifiers, amounts and results."""

    tools: str
    fields: str
    id_field: str
    wrapper: str
    list_wrapper: str
    amounts_as_text: bool
    id_shape: str
    parts: str
    in_one: int
    filters: bool
    searches: bool


class Scene:
    """Data and tools drawn from a seed. ``writes`` holds every write applied, in order."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - a test's world must come out the same each time
        self.style = _style(self.random)
        self.noun, self.child, self.other = self._three_nouns()
        self.figure, self.part = self.random.sample(FIELDS, 2)
        self.verbs, self.end_state = self.random.choice(STATES)
        self.state: dict[str, dict[str, JsonObject]] = {self.noun: {}, self.child: {}, self.other: {}}
        self.writes: list[tuple[str, str]] = []
        self.readers: list[ToolDefinition] = []
        self.writers: list[ToolDefinition] = []
        self._calls: dict[str, Callable[[JsonObject], Json]] = {}
        self._populate()
        self._equip()

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        return (*self.readers, *self.writers)

    def call(self, tool: str, arguments: JsonObject) -> Json:
        """One call with its effects; ``ValueError`` refuses it and changes nothing."""
        if tool not in self._calls:
            raise ValueError(f"no tool {tool}")
        definition = next(one for one in self.tools if one.name == tool)
        _fits(arguments, definition)
        answer = self._calls[tool](arguments)
        if definition in self.writers:
            self.writes.append((tool, dumps(arguments)))
        return answer

    # --- data ---------------------------------------------------------------------------------------------------

    def _three_nouns(self) -> tuple[str, str, str]:
        invented = ["".join(self.random.sample(SYLLABLES, 2)) for _ in range(3)]
        first, second, third = self.random.sample([*NOUNS, *invented], 3)
        return first, second, third

    def _populate(self) -> None:
        titles = self.random.sample([f"{first} {last}" for first in FIRST for last in LAST], 20)
        for _ in range(self.random.randint(3, 6)):
            self.insert(self.other, {self.field(self.figure): self._amount(), "title": titles.pop(), "state": "open"})
        for _ in range(self.random.randint(4, 8)):
            state = self.random.choice(["open", "open", "waiting"])
            self.add_main(self.random.choice(list(self.state[self.other])), titles.pop(), state)
        for owner in list(self.state[self.noun]):
            for _ in range(self.random.randint(2, 4)):
                self.insert(self.child, {self.owner_field: owner, self.field(self.part): self._amount()})

    def add_main(self, holder: str, title: str, state: str = "open") -> str:
        """One more of the world's main things, which belongs to one of the other kind."""
        fields = {self.holder_field: holder, self.field(self.figure): self._amount(), "title": title, "state": state}
        return self.insert(self.noun, {**fields})

    def insert(self, noun: str, fields: JsonObject) -> str:
        key = self._new_id(noun)
        self.state[noun][key] = {self.id_field(noun): key, **fields}
        return key

    def _new_id(self, noun: str) -> str:
        number = self.random.randint(100, 9999)
        shapes = {
            "prefix": f"{noun[:3].upper()}-{number}",
            "lower": f"{noun[:4]}_{number}",
            "letter": f"{'QXZ'[len(noun) % 3]}-{number}",
            "joined": f"{noun[:2].upper()}{number}",
        }
        key = shapes[self.style.id_shape]
        return key if key not in self.state[noun] else self._new_id(noun)

    def _amount(self) -> Json:
        amount = Decimal(self.random.randint(100, 99_999)) / 100
        return format(amount, ".2f") if self.style.amounts_as_text else amount

    # --- names --------------------------------------------------------------------------------------------------

    def field(self, *words: str) -> str:
        return spelled(words, self.style.fields)

    def id_field(self, noun: str) -> str:
        return {"id": "id", "noun_id": f"{noun}_id", "nounId": f"{noun}Id"}[self.style.id_field]

    @property
    def owner_field(self) -> str:
        return self.field(self.noun, "id")

    @property
    def holder_field(self) -> str:
        return self.field(self.other, "id")

    def _tool(self, *words: str) -> str:
        return spelled(words, self.style.tools)

    # --- tools --------------------------------------------------------------------------------------------------

    def _equip(self) -> None:
        for noun in (self.noun, self.child, self.other):
            self._offer_reads(noun)
        for noun in (self.noun, self.other):
            self._offer_set(noun)
            self._offer_state(noun)
        self._offer_add()
        self.random.shuffle(self.readers)
        self.random.shuffle(self.writers)

    def _offer(
        self, reads: bool, name: str, text: str, properties: JsonObject, run: Callable[[JsonObject], Json]
    ) -> None:
        schema: dict[str, JsonValue] = {
            "type": "object",
            "properties": _plain(properties),
            "required": [key for key in properties if not key.startswith("?")],
            "additionalProperties": False,
        }
        (self.readers if reads else self.writers).append(ToolDefinition(name, text, schema))
        self._calls[name] = run

    def _offer_reads(self, noun: str) -> None:
        verb = self.random.choice(LIST)
        get, listing = self._tool(self.random.choice(GET), noun), self._tool(verb, plural(noun))
        key = self._key_argument(noun)
        self._offer(True, get, f"One {noun}.", {key: _TEXT}, lambda given: self._wrapped(self._one(noun, given[key])))
        wanted: JsonObject = {f"?{name}": _TEXT for name in self._filters(noun)}
        wanted |= {f"?{name}": kind for name, kind in place(self.style.parts).items()}
        self._offer(True, listing, f"The {noun}s.", wanted, lambda given: self._listed(noun, given))
        if noun != self.child and self.style.searches:
            search = self._tool("search" if verb == "find" else "find", plural(noun))
            self._offer(True, search, f"The {noun}s by a part of their title.", {"query": _TEXT}, self._search_of(noun))

    def _filters(self, noun: str) -> list[str]:
        if noun == self.child:
            return [self.owner_field]
        return [self.holder_field, "state"] if noun == self.noun and self.style.filters else []

    def _search_of(self, noun: str) -> Callable[[JsonObject], Json]:
        def run(given: JsonObject) -> Json:
            said = str(given["query"]).lower()
            return self._many([dict(row) for row in self.state[noun].values() if said in str(row["title"]).lower()])

        return run

    def _key_argument(self, noun: str) -> str:
        return self.random.choice([self.field(noun, "id"), "id"])

    def _offer_set(self, noun: str) -> None:
        field, key = self.field(self.figure), self._key_argument(noun)
        name = self._tool(self.random.choice(SET), noun, self.figure)

        def run(given: JsonObject) -> Json:
            self._one(noun, given[key])[field] = self.stored(given[field])
            return self._wrapped(self._one(noun, given[key]))

        self._offer(False, name, f"Sets the {self.figure} of a {noun}.", {key: _TEXT, field: self._amount_type()}, run)

    def _offer_state(self, noun: str) -> None:
        key, verb = self._key_argument(noun), self.random.choice(self.verbs.split())

        def run(given: JsonObject) -> Json:
            record = self._one(noun, given[key])
            if record["state"] != "open":
                raise ValueError(f"it is already {record['state']}")
            record["state"] = self.end_state
            return self._wrapped(record)

        self._offer(False, self._tool(verb, noun), f"Marks a {noun} as {self.end_state}.", {key: _TEXT}, run)

    def _offer_add(self) -> None:
        owner, field = self.owner_field, self.field(self.part)

        def run(given: JsonObject) -> Json:
            self._one(self.noun, given[owner])
            added = self.insert(self.child, {owner: given[owner], field: self.stored(given[field])})
            return self._wrapped(self.state[self.child][added])

        name = self._tool(self.random.choice(ADD), self.child)
        self._offer(False, name, f"A new {self.child}.", {owner: _TEXT, field: self._amount_type()}, run)

    def _amount_type(self) -> Json:
        return {"type": "string"} if self.style.amounts_as_text else {"type": "number"}

    def stored(self, value: Json) -> Json:
        try:
            amount = Decimal(str(value))
        except InvalidOperation:
            raise ValueError(f"{value!r} is no figure") from None
        return format(amount, ".2f") if self.style.amounts_as_text else amount

    def _one(self, noun: str, key: Json) -> JsonObject:
        if str(key) not in self.state[noun]:
            raise ValueError(f"no {noun} {key}")
        return self.state[noun][str(key)]

    def _wrapped(self, record: JsonObject) -> Json:
        copy: JsonObject = dict(record)
        return {self.style.wrapper: copy} if self.style.wrapper else copy

    def _listed(self, noun: str, given: JsonObject) -> Json:
        wanted = {name: given[name] for name in self._filters(noun) if name in given}
        rows: list[Json] = [
            dict(row) for row in self.state[noun].values() if all(row[name] == value for name, value in wanted.items())
        ]
        if self.style.parts == "whole":
            return self._many(rows)
        wrapper = self.style.list_wrapper or "items"
        return cut(rows, given, self.style.parts, self.style.in_one, wrapper, self.style.fields == "camel")

    def _many(self, rows: list[Json]) -> Json:
        return {self.style.list_wrapper: rows, "count": len(rows)} if self.style.list_wrapper else rows


_TEXT: JsonObject = {"type": "string"}


def _style(random: Random) -> Style:
    return Style(
        tools=random.choice(["snake", "camel", "kebab"]),
        fields=random.choice(["snake", "camel"]),
        id_field=random.choice(["id", "noun_id", "nounId"]),
        wrapper=random.choice(["", *WRAPPERS]),
        list_wrapper=random.choice(["", *LIST_WRAPPERS]),
        amounts_as_text=random.choice([True, False]),
        id_shape=random.choice(["prefix", "lower", "letter", "joined"]),
        parts=random.choice(["whole", *SHAPES]),
        in_one=random.randint(3, 5),
        filters=random.choice([True, False]),
        searches=random.choice([True, False]),
    )


def spelled(words: tuple[str, ...], style: str) -> str:
    if style == "camel":
        return words[0] + "".join(word.capitalize() for word in words[1:])
    return ("-" if style == "kebab" else "_").join(words)


def _plain(properties: JsonObject) -> dict[str, JsonValue]:
    """A leading ``?`` marks an argument that may be left out."""
    kinds = {name.removeprefix("?"): kind for name, kind in properties.items() if isinstance(kind, dict)}
    return {name: {"type": str(kind["type"])} for name, kind in kinds.items()}


def _fits(arguments: JsonObject, tool: ToolDefinition) -> None:
    properties, required = tool.input_schema["properties"], tool.input_schema["required"]
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise TypeError("a generated schema has properties and required names")
    for name in required:
        if name not in arguments:
            raise ValueError(f"{name} is missing")
    for name, value in arguments.items():
        kind = properties.get(name)
        if not isinstance(kind, dict):
            raise ValueError(f"{name} is unknown")
        if isinstance(value, str) is not (kind["type"] == "string"):
            raise ValueError(f"{name} is no {kind['type']}")
