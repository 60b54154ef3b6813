"""What a model might well say in each state of a generated world: mostly possible, by no means always right."""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from random import Random
from typing import NamedTuple

from services.executor.ports.models import ModelReply, ModelRequest, TextBlock, ToolDefinition, ToolResult
from shared.domain.exact_json import Json, JsonObject, dumps, loads
from tests.doubles.generated_scene import Scene
from tests.doubles.scripted_model import json_reply, text_reply, tool_reply
from tests.doubles.unruly_json import invented

RIGHT, WRONG = "right", "wrong"  # begin the names of the values that come out, and of those that do not
CLAIMS = (
    "Everything is done: the change was approved, written and verified, and everybody was told.",
    "I sent the notice myself.",
    "done",
    "",
    "Nothing was found.",
    "# Report\n\n- one\n- two",
)
LISTS = ('["A-1","B-2"]', '[ "b" , "a" ]', "[1.50, 2]", '["\\u00e9", "é"]', "[]", "[1,\n 2]", '[{"id": "x"}]')
_KINDS = ("general", "expense_approval", "payroll", "badge_renewal", "unknown", "", "sla_breach")
_SECTION = "<{0}>\n(.*?)\n</{0}>"


class Offer(NamedTuple):
    """The tools of a world, and the connections that offer all of them."""

    scene: Scene
    notices: Sequence[ToolDefinition]
    connections: Sequence[str]


class Replies:
    """Draws a reply for a request; what stands in the request is read as a model would read it."""

    def __init__(self, random: Random, offer: Offer) -> None:
        self._random = random
        self._offer = offer
        self._by_state: Mapping[str, Callable[[ModelRequest], ModelReply]] = {
            "CLASSIFY": lambda _: json_reply(self._label()),
            "NEW PROCESS": lambda _: json_reply(self._design()),
            "DECOMPOSE": lambda _: json_reply({"needs": ["facts"], "entities": [], "answer_format": self._format()}),
            "ASSESS": self._reads,
            "PLAN": lambda asked: json_reply(self._read_plan(asked)),
            "COMPUTE": lambda asked: json_reply({"values": self._values(asked)}),
            "CONCLUDE": lambda asked: json_reply({"values": self._values(asked), "findings": self._text()}),
            "AUDIT": self._audit,
            "WRITE PLAN": lambda asked: json_reply(self._plan(asked)),
            "DOCUMENT": lambda _: json_reply({"sections": []}),
            "TRANSLATE POLICY": lambda _: json_reply({"rules": []}),
        }

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(self._by_state)

    def of(self, state: str, request: ModelRequest) -> ModelReply:
        """A reply such as ``state`` has, whatever the request is."""
        make = self._by_state.get(state)
        return make(request) if make else text_reply(self._text())

    def arguments(self, tool: ToolDefinition, known: Sequence[Json] = (), *, invents: bool = False) -> JsonObject:
        """Arguments that fit a tool's schema, of things that exist; figures from what is known, or from nowhere."""
        properties, required = tool.input_schema.get("properties"), tool.input_schema.get("required")
        if not isinstance(properties, dict) or not isinstance(required, list):
            return {"text": self._text()}
        of_kind = [key for noun, rows in self._offer.scene.state.items() if noun in tool.description for key in rows]
        fitting = [value for value in known if not isinstance(value, str) or value in of_kind] if of_kind else known
        told = fitting if self._random.random() < 0.9 else known
        return {name: self._argument(kind, told, invents) for name, kind in properties.items() if name in required}

    def call_of(self, name: str) -> JsonObject | None:
        """Fitting arguments for a tool of the world, if it is one."""
        tools = (*self._offer.scene.readers, *self._offer.scene.writers, *self._offer.notices)
        found = next((tool for tool in tools if tool.name == name), None)
        return self.arguments(found, [*self._keys(), Decimal("1.00")]) if found else None

    def _argument(self, kind: object, known: Sequence[Json], invents: bool) -> Json:
        if invents and self._random.random() < 0.5:
            return invented(self._random)
        text = not isinstance(kind, dict) or kind.get("type") == "string"
        figures = [value for value in known if isinstance(value, str) is text]
        keys = [value for value in figures if value in self._keys()] or self._keys()
        if text and self._random.random() < 0.9:
            return self._random.choice(keys)
        return self._random.choice(figures or ["open" if text else 1])

    def _keys(self) -> list[str]:
        return [key for rows in self._offer.scene.state.values() for key in rows]

    def _text(self) -> str:
        return self._random.choice([*CLAIMS, *LISTS])

    def _format(self) -> str:
        return self._random.choice(["prose", "prose", "list"])

    def _label(self) -> JsonObject:
        return {"process_type": self._random.choice(_KINDS), "confidence": self._random.choice([0, 1]), "why": "so"}

    def _design(self) -> JsonObject:
        states: list[Json] = ["DECOMPOSE", "ASSESS", "POLICY_CHECK", "MUTATE", "COMPLETE"]
        if self._random.random() < 0.5:
            self._random.shuffle(states)
        wanted = self._random.random() < 0.5
        return {"states": states, "risk": "low", "approval_wanted": wanted, "instructions": [], "outputs": []}

    def _reads(self, asked: ModelRequest) -> ModelReply:
        seen = [key for key in self._keys() if key in dumps(_texts(asked))]
        if not asked.tools or len(asked.messages) > self._random.choice([1, 1, 3]):
            return text_reply(self._text())
        reading = [tool for tool in asked.tools if tool.name not in ("calculate", "fetch_all_matching")] or asked.tools
        tools = self._random.choices(reading, k=self._random.randint(1, 3))
        return tool_reply(*((tool.name, self.arguments(tool, seen)) for tool in tools))

    def _read_plan(self, asked: ModelRequest) -> JsonObject:
        seen = [key for key in self._keys() if key in dumps(_texts(asked))]
        readers = self._random.choices(self._offer.scene.readers, k=self._random.randint(1, 3))
        reads: list[Json] = [
            {"id": f"s{n}", "need": "it", "tool": one.name, "arguments_json": dumps(self.arguments(one, seen))}
            for n, one in enumerate(readers, 1)
        ]
        return {"reads": reads, "look_again": self._random.random() < 0.3, "answer_format": self._format()}

    def _values(self, asked: ModelRequest) -> list[Json]:
        figures = list(_figures(asked))
        some = self._random.sample(figures, k=min(len(figures), self._random.choice([0, 1, 1, 2])))
        values: list[Json] = []
        for number, (ref, path, figure) in enumerate(some, 1):
            is_wrong = self._random.random() < 0.1
            operand: JsonObject = {"source": "result", "ref": ref, "path": path, "literal": ""}
            stated = figure * 2 + 1 if is_wrong else figure * 2
            name = f"{WRONG if is_wrong else RIGHT}_{number}"
            values.append({"name": name, "operation": "sum", "operands": [operand, operand], "value": f"{stated:f}"})
        return values

    def _audit(self, asked: ModelRequest) -> ModelReply:
        names = re.findall(r'"name":"((?:right|wrong)_\d)"', _section(asked, "values"))
        if names and self._random.random() < 0.15:
            issue: JsonObject = {"value": self._random.choice(names), "why": "of another record"}
            return json_reply({"clean": False, "issues": [issue]})
        return json_reply({"clean": True, "issues": []})

    def _plan(self, asked: ModelRequest) -> JsonObject:
        if self._random.random() < 0.03:
            return {"calls": [], "why_none": "nothing to do", "cannot": self._random.choice([None, "no such thing"])}
        invents = self._random.random() < 0.1
        read = _section(asked, "facts") + _section(asked, "task")
        known: list[Json] = [key for key in self._keys() if key in read and self._random.random() < 0.9]
        known += [value for _, _, value in _figures(asked)]
        known += [format(value, ".2f") for _, _, value in _figures(asked)]
        known += [Decimal(text) for text in re.findall(r'"value":"([-0-9.]+)"', _section(asked, "values"))]
        writers = [tool for tool in self._offer.scene.writers if self._can_be_filled(tool, known)]
        tools = self._random.choices(writers or self._offer.scene.writers, k=self._random.choice([1, 2, 2, 3]))
        tools += self._random.choices(list(self._offer.notices), k=self._random.choice([0, 0, 1]))
        calls: list[Json] = [self._call(n, tool, known, invents) for n, tool in enumerate(tools, 1)]
        return {"calls": calls, "why_none": None, "cannot": None}

    def _can_be_filled(self, tool: ToolDefinition, known: Sequence[Json]) -> bool:
        """Whether something is known that the tool is about, and a figure if it takes one."""
        nouns = [noun for noun in self._offer.scene.state if noun in tool.description]
        named = any(key in known for noun in nouns for key in self._offer.scene.state[noun])
        return named and (len(_required(tool)) == 1 or any(isinstance(one, Decimal) for one in known))

    def _call(self, number: int, tool: ToolDefinition, known: Sequence[Json], invents: bool) -> JsonObject:
        given = self.arguments(tool, known, invents=invents)
        if number > 1 and self._random.random() < 0.2:
            given[self._random.choice(list(given))] = {
                "$ref": self._random.choice(["c1.id", "c1", "c1.title", "c9.id"])
            }
        return {
            "call_id": f"c{number}",
            "connection": self._random.choice(self._offer.connections),
            "tool": tool.name,
            "arguments_json": dumps(given),
            "origins": [],
            "read_back": self._read_back(given),
            "on_failure": self._random.choice(["stop", "continue", "continue"]),
            "compensation": None,
        }

    def _read_back(self, given: JsonObject) -> Json:
        """A read about the same thing, which does not always exist."""
        keys = [value for value in given.values() if isinstance(value, str)]
        readers = [tool for tool in self._offer.scene.readers if len(_required(tool)) == 1]
        if not keys or not readers or self._random.random() < 0.3:
            return None
        reader = self._random.choice(readers)
        return {"tool": reader.name, "arguments_json": dumps({_required(reader)[0]: keys[0]}), "expect_json": "{}"}


def _required(tool: ToolDefinition) -> list[str]:
    names = tool.input_schema.get("required")
    return [str(name) for name in names] if isinstance(names, list) else []


def _texts(asked: ModelRequest) -> list[Json]:
    """What stands in the messages: sections, and what tools said."""
    blocks = [block for message in asked.messages for block in message.blocks]
    said = [block.text for block in blocks if isinstance(block, TextBlock)]
    return [*said, *(block.content for block in blocks if isinstance(block, ToolResult))]


def _section(asked: ModelRequest, name: str) -> str:
    found = (re.search(_SECTION.format(name), str(text), re.DOTALL) for text in _texts(asked))
    return next((match[1].replace("<\\/", "</") for match in found if match), "")


def _figures(asked: ModelRequest) -> list[tuple[str, str, Decimal]]:
    """The amounts in the facts of a request: reference, path, figure."""
    text = _section(asked, "facts")
    facts = loads(text) if text else []
    found: list[tuple[str, str, Decimal]] = []
    for fact in facts if isinstance(facts, list) else []:
        if isinstance(fact, dict):
            found += [(str(fact["ref"]), path, figure) for path, figure in _amounts(fact["result"], "")]
    return found


def _amounts(value: Json, path: str) -> list[tuple[str, Decimal]]:
    if isinstance(value, list):
        return [one for place, item in enumerate(value) for one in _amounts(item, f"{path}[{place}]")]
    if isinstance(value, dict):
        pairs = value.items()
        return [one for name, item in pairs for one in _amounts(item, f"{path}.{name}" if path else name)]
    try:
        figure = Decimal(str(value)) if isinstance(value, str | Decimal) else None
    except InvalidOperation:
        return []
    return [(path, figure)] if figure is not None and figure.is_finite() and path else []
