"""Tool worlds generated from a seed: nouns, naming styles and result shapes that nobody wrote code for.

A world has a state, tools with real effects on it, one task (a read, a computation, a write) and a check of the end.
"""

from collections.abc import Callable
from copy import deepcopy
from decimal import Decimal, InvalidOperation
from random import Random
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.ports import ToolDefinition
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.testing.generated_words import (
    ADD,
    FIELDS,
    GET,
    LIST,
    LIST_WRAPPERS,
    NOUNS,
    SET,
    STATES,
    SYLLABLES,
    WORDINGS,
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


class Task(NamedTuple):
    """A text, and the state that carrying it out exactly leads to."""

    kind: str
    text: str
    expected: dict[str, dict[str, JsonObject]]


class World:
    """One generated world. ``writes`` holds every write applied, in order."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - a test's world must come out the same each time
        self.style = _style(self._random)
        self.noun, self.child, self.other = self._three_nouns()
        self.figure, self.part = self._random.sample(FIELDS, 2)
        self._verbs, self._state = self._random.choice(STATES)
        self.state: dict[str, dict[str, JsonObject]] = {self.noun: {}, self.child: {}, self.other: {}}
        self.writes: list[tuple[str, str]] = []
        self.readers: list[ToolDefinition] = []
        self.writers: list[ToolDefinition] = []
        self._calls: dict[str, Callable[[JsonObject], Json]] = {}
        self._populate()
        self._equip()
        self.task = self._make_task(seed)

    def call(self, tool: str, arguments: JsonObject) -> Json:
        """One call with its effects; ``ValueError`` refuses it and changes nothing."""
        if tool not in self._calls:
            raise ValueError(f"no tool {tool}")
        definition = next(one for one in (*self.readers, *self.writers) if one.name == tool)
        _fits(arguments, definition)
        answer = self._calls[tool](arguments)
        if definition in self.writers:
            self.writes.append((tool, dumps(arguments)))
        return answer

    def problems(self) -> list[str]:
        """In what the state differs from what the task asked; empty if it was carried out exactly, once."""
        found = [] if len(self.writes) == 1 else [f"{len(self.writes)} writes"]
        for noun, expected in self.task.expected.items():
            own = self._id_field(noun)
            if _comparable(self.state[noun], own) != _comparable(expected, own):
                found.append(f"the {noun}s are not as asked")
        return found

    # --- data ---------------------------------------------------------------------------------------------------

    def _three_nouns(self) -> tuple[str, str, str]:
        invented = ["".join(self._random.sample(SYLLABLES, 2)) for _ in range(3)]
        first, second, third = self._random.sample([*NOUNS, *invented], 3)
        return first, second, third

    def _populate(self) -> None:
        for noun in (self.noun, self.other):
            for _ in range(self._random.randint(3, 6)):
                self._insert(noun, {self._field(self.figure): self._amount(), "state": "open"})
        for owner in list(self.state[self.noun]):
            for _ in range(self._random.randint(2, 4)):
                self._insert(self.child, {self._owner_field: owner, self._field(self.part): self._amount()})

    def _insert(self, noun: str, fields: JsonObject) -> str:
        key = self._new_id(noun)
        self.state[noun][key] = {self._id_field(noun): key, **fields}
        return key

    def _new_id(self, noun: str) -> str:
        number = self._random.randint(100, 9999)
        shapes = {
            "prefix": f"{noun[:3].upper()}-{number}",
            "lower": f"{noun[:4]}_{number}",
            "letter": f"{'QXZ'[len(noun) % 3]}-{number}",
            "joined": f"{noun[:2].upper()}{number}",
        }
        key = shapes[self.style.id_shape]
        return key if key not in self.state[noun] else self._new_id(noun)

    def _amount(self) -> Json:
        amount = Decimal(self._random.randint(100, 99_999)) / 100
        return format(amount, ".2f") if self.style.amounts_as_text else amount

    # --- names --------------------------------------------------------------------------------------------------

    def _field(self, *words: str) -> str:
        return _spelled(words, self.style.fields)

    def _id_field(self, noun: str) -> str:
        return {"id": "id", "noun_id": f"{noun}_id", "nounId": f"{noun}Id"}[self.style.id_field]

    @property
    def _owner_field(self) -> str:
        return self._field(self.noun, "id")

    def _tool(self, *words: str) -> str:
        return _spelled(words, self.style.tools)

    # --- tools --------------------------------------------------------------------------------------------------

    def _equip(self) -> None:
        for noun in (self.noun, self.child, self.other):
            self._offer_reads(noun)
        for noun in (self.noun, self.other):
            self._offer_set(noun)
            self._offer_state(noun)
        self._offer_add()
        self._random.shuffle(self.readers)
        self._random.shuffle(self.writers)

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
        get, listing = (
            self._tool(self._random.choice(GET), noun),
            self._tool(self._random.choice(LIST), plural(noun)),
        )
        key = self._key_argument(noun)
        self._offer(True, get, f"One {noun}.", {key: _TEXT}, lambda given: self._wrapped(self._one(noun, given[key])))
        filters: JsonObject = {f"?{self._owner_field}": _TEXT} if noun == self.child else {}
        self._offer(True, listing, f"The {noun}s.", filters, lambda given: self._listed(noun, given))

    def _key_argument(self, noun: str) -> str:
        return self._random.choice([self._field(noun, "id"), "id"])

    def _offer_set(self, noun: str) -> None:
        field, key = self._field(self.figure), self._key_argument(noun)
        name = self._tool(self._random.choice(SET), noun, self.figure)

        def run(given: JsonObject) -> Json:
            self._one(noun, given[key])[field] = self._stored(given[field])
            return self._wrapped(self._one(noun, given[key]))

        self._offer(False, name, f"Sets the {self.figure} of a {noun}.", {key: _TEXT, field: self._amount_type()}, run)

    def _offer_state(self, noun: str) -> None:
        key, verb = self._key_argument(noun), self._random.choice(self._verbs.split())

        def run(given: JsonObject) -> Json:
            record = self._one(noun, given[key])
            if record["state"] != "open":
                raise ValueError(f"it is already {record['state']}")
            record["state"] = self._state
            return self._wrapped(record)

        self._offer(False, self._tool(verb, noun), f"Marks a {noun} as {self._state}.", {key: _TEXT}, run)

    def _offer_add(self) -> None:
        owner, field = self._owner_field, self._field(self.part)

        def run(given: JsonObject) -> Json:
            self._one(self.noun, given[owner])
            added = self._insert(self.child, {owner: given[owner], field: self._stored(given[field])})
            return self._wrapped(self.state[self.child][added])

        name = self._tool(self._random.choice(ADD), self.child)
        self._offer(False, name, f"A new {self.child}.", {owner: _TEXT, field: self._amount_type()}, run)

    def _amount_type(self) -> Json:
        return {"type": "string"} if self.style.amounts_as_text else {"type": "number"}

    def _stored(self, value: Json) -> Json:
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
        owner = given.get(self._owner_field)
        rows: list[Json] = [
            dict(row) for row in self.state[noun].values() if owner is None or row.get(self._owner_field) == owner
        ]
        return {self.style.list_wrapper: rows, "count": len(rows)} if self.style.list_wrapper else rows

    # --- the task -----------------------------------------------------------------------------------------------

    def _make_task(self, seed: int) -> Task:
        makers = (self._sum, self._increase, self._share, self._condition, self._count)
        return makers[seed % len(makers)](self._random.choice(list(self.state[self.noun])))

    def _parts_of(self, key: str) -> list[Decimal]:
        rows = [row for row in self.state[self.child].values() if row[self._owner_field] == key]
        return [Decimal(str(row[self._field(self.part)])) for row in rows]

    def _with_figure(self, key: str, value: Decimal) -> dict[str, dict[str, JsonObject]]:
        expected = deepcopy(self.state)
        expected[self.noun][key][self._field(self.figure)] = self._stored(value)
        return expected

    def _worded(self, kind: str, key: str, **words: str) -> str:
        """One of the ways in which people put such a task."""
        names = {"noun": self.noun, "key": key, "field": self.figure, "part": self.part, "child": self.child}
        many = {"parts": plural(self.part), "children": plural(self.child)}
        return self._random.choice(WORDINGS[kind]).format(**names, **many, **words)

    def _sum(self, key: str) -> Task:
        expected = self._with_figure(key, sum(self._parts_of(key), Decimal(0)))
        return Task("sum", self._worded("sum", key), expected)

    def _count(self, key: str) -> Task:
        return Task("count", self._worded("count", key), self._with_figure(key, Decimal(len(self._parts_of(key)))))

    def _increase(self, key: str) -> Task:
        step = Decimal(self._random.randint(100, 9_999)) / 100
        kind = self._random.choice(["more", "less"])
        before = Decimal(str(self.state[self.noun][key][self._field(self.figure)]))
        after = before + step if kind == "more" else before - step
        return Task("increase", self._worded(kind, key, step=f"{step:.2f}"), self._with_figure(key, after))

    def _share(self, key: str) -> Task:
        percent = self._random.choice([10, 20, 25, 50])
        amount = Decimal(self._random.randint(2, 900))
        self.state[self.noun][key][self._field(self.figure)] = self._stored(amount)
        share = self._stored(amount * percent / 100)
        expected = deepcopy(self.state)
        row: JsonObject = {self._owner_field: key, self._field(self.part): share}
        expected[self.child]["new"] = {self._id_field(self.child): "new", **row}
        return Task("share", self._worded("share", key, percent=str(percent)), expected)

    def _condition(self, key: str) -> Task:
        verb = self._random.choice(self._verbs.split())
        limit = self._random.randint(5, 3000)
        expected = self._with_figure(key, Decimal(1))
        if sum(self._parts_of(key), Decimal(0)) < limit:
            expected = deepcopy(self.state)
            expected[self.noun][key]["state"] = self._state
        return Task("condition", self._worded("condition", key, verb=verb, limit=f"{limit}.00"), expected)


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
    )


def _spelled(words: tuple[str, ...], style: str) -> str:
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


def _comparable(rows: dict[str, JsonObject], id_field: str) -> list[str]:
    """Rows without their own identifiers, which a write invents; figures by value."""
    kept = [{key: _figure(value) for key, value in row.items() if key != id_field} for row in rows.values()]
    return sorted(dumps(row) for row in kept)


def _figure(value: Json) -> Json:
    return Decimal(str(value)).normalize() if isinstance(value, Decimal | int) else value
