"""What a model might well say in a generated world: mostly possible, by no means always right."""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from random import Random
from typing import NamedTuple

from shared.domain.exact_json import Json, JsonObject, dumps, loads
from shared.ports.models import ModelReply, ModelRequest, TextBlock, ToolDefinition, ToolResult
from tests.doubles.generated_scene import Scene
from tests.doubles.scripted_model import json_reply, text_reply
from tests.doubles.scripted_talk import Calls, calls_reply
from tests.doubles.unruly_json import invented

CLAIMS = (
    "Everything is done: the change was approved, written and verified, and everybody was told.",
    "I sent the notice myself.",
    "done",
    "",
    "Nothing was found.",
    "# Report\n\n- one\n- two",
)
LISTS = ('["A-1","B-2"]', '[ "b" , "a" ]', "[1.50, 2]", '["\\u00e9", "é"]', "[]", "[1,\n 2]", '[{"id": "x"}]')
LOCAL = ("understand", "calculate", "look", "leave_part", "what_would_policy_say", "find_tools", "use_tool")
CONVERSATION = ""  # the state of a request that is none of the helper questions
_SECTION = "<{0}>\n(.*?)\n</{0}>"
_REF = re.compile(r"\n\[(r\d+)[\]:]")


class Offer(NamedTuple):
    """The tools of a world, the connections that offer all of them, and the process that a model takes a task for."""

    scene: Scene
    notices: Sequence[ToolDefinition]
    connections: Sequence[str]
    process: str = "general"


class Seen(NamedTuple):
    """What a model has before its eyes: identifiers, and figures with their reference and path."""

    keys: list[str]
    figures: list[tuple[str, str, Decimal]]
    values: list[Decimal]

    @property
    def known(self) -> list[Json]:
        written = [format(value, ".2f") for _, _, value in self.figures]
        return [*self.keys, *(value for _, _, value in self.figures), *written, *self.values]


class Replies:
    """Draws a reply for a request; what stands in the request is read as a model would read it."""

    def __init__(self, random: Random, offer: Offer) -> None:
        self._random = random
        self._offer = offer
        self._by_state: Mapping[str, Callable[[ModelRequest], ModelReply]] = {
            CONVERSATION: self._talk,
            "COVERAGE": lambda _: json_reply(self._coverage()),
            "NEW PROCESS": lambda _: json_reply(self._design()),
            "STAND IN": lambda _: json_reply({"tool": None, "arguments_json": "{}", "why": "none"}),
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

    def call_of(self, name: str) -> JsonObject | None:
        """Fitting arguments for a tool of the world, if it is one; names are as a model sees them."""
        tools = (*self._offer.scene.readers, *self._offer.scene.writers, *self._offer.notices)
        found = next((tool for tool in tools if tool.name == name.rpartition("__")[2]), None)
        return self._arguments(found, [*self._keys(), Decimal("1.00")]) if found else None

    # --- the conversation ---------------------------------------------------------------------------------------------

    def _talk(self, asked: ModelRequest) -> ModelReply:
        number = sum(message.role == "assistant" for message in asked.messages)
        anew = bool(_section(asked, "parts"))
        calls = self._first(asked) if number == 0 and not anew else self._next(asked, number)
        text = self._random.choice(["", "", "Let me see.", *CLAIMS])
        return calls_reply(calls, 100 * anew + number, text) if calls else text_reply(self._text())

    def _first(self, asked: ModelRequest) -> Calls:
        """``understand`` beside some reads; a write comes too early here."""
        if self._random.random() < 0.04:
            return []
        understood = [("understand", self._understanding(asked))] if self._random.random() < 0.92 else []
        early = self._writes(asked, 1) if self._random.random() < 0.06 else []
        return [*understood, *self._reads(asked), *early]

    def _next(self, asked: ModelRequest, number: int) -> Calls:
        draw = self._random.random()
        if draw < 0.08 + 0.1 * number + 0.4 * ("<outcomes>" in dumps(_texts(asked))):
            return []
        if draw < 0.42:
            return self._reads(asked) if self._random.random() < 0.5 else self._figures(asked)
        some = self._writes(asked, self._random.choice([1, 1, 2, 3]))
        return [*some, *self._reads(asked)] if self._random.random() < 0.1 else some

    def _understanding(self, asked: ModelRequest) -> JsonObject:
        task = _section(asked, "task") or "the task"
        quotes = [task, task, task.split(". ")[0], task[: len(task) // 2], "something that nobody wrote"]
        kinds = ["find out"] if self._random.random() < 0.08 else ["do", "do", "do", "find out"]
        parts: list[Json] = [
            {"quote": self._random.choice(quotes), "kind": self._random.choice(kinds)}
            for _ in range(self._random.choice([1, 1, 1, 2, 3]))
        ]
        named = self._offer.process if self._random.random() < 0.9 else self._random.choice(["badge_renewal", "", "x"])
        return {"parts": parts, "process": named, "answer_form": self._random.choice(["prose", "prose", "list"])}

    def _reads(self, asked: ModelRequest) -> list[tuple[str, JsonObject]]:
        seen = self._seen(asked)
        readers = [tool for tool in asked.tools if tool.name not in LOCAL and not _writes(tool)]
        some = self._random.choices(readers, k=self._random.choice([1, 1, 2, 3])) if readers else []
        return [(tool.name, self._arguments(tool, seen.keys)) for tool in some]

    def _figures(self, asked: ModelRequest) -> list[tuple[str, JsonObject]]:
        """What the local tools are asked."""
        seen = self._seen(asked)
        found = [f"{ref}.{path}" if path[:1] != "[" else f"{ref}{path}" for ref, path, _ in seen.figures]
        if not found or self._random.random() < 0.15:
            left: JsonObject = {"part": self._random.choice([1, 1, 2]), "because": "it is not open", "ref": "r1"}
            look: JsonObject = {"ref": "r1", "first": 2}
            others: list[tuple[str, JsonObject]] = [self._hypothesis(asked), ("look", look), ("leave_part", left)]
            return [self._random.choice(others)]
        operands: list[Json] = [*self._random.choices(found, k=self._random.choice([1, 2, 2]))]
        if self._random.random() < 0.1:
            operands.append(str(invented(self._random)))
        name = f"value_{self._random.randint(1, 4)}"
        operation = self._random.choice(["sum", "sum", "product", "difference", "is_more", "count"])
        return [("calculate", {"name": name, "operation": operation, "operands": operands})]

    def _hypothesis(self, asked: ModelRequest) -> tuple[str, JsonObject]:
        some = self._writes(asked, 1) or [("x", {})]
        name, given = some[0]
        return "what_would_policy_say", {"tool": name, "arguments": {**given, "_call": None}}

    def _writes(self, asked: ModelRequest, count: int) -> list[tuple[str, JsonObject]]:
        seen, invents = self._seen(asked), self._random.random() < 0.1
        writers = [tool for tool in asked.tools if _writes(tool)]
        fitting = [tool for tool in writers if self._can_be_filled(tool, seen)]
        notices = [tool for tool in writers if not self._nouns_of(tool)]
        if not writers:
            return []
        some = self._random.choices(fitting or writers, k=count)
        some += self._random.choices(notices, k=1) if notices and self._random.random() < 0.2 else []
        to_do = [int(number) for number in re.findall(r'"kind":"do","part":(\d+)', _plain_texts(asked))] or [1]
        return [(tool.name, self._write(n, tool, seen, invents, to_do)) for n, tool in enumerate(some, 1)]

    def _write(self, number: int, tool: ToolDefinition, seen: Seen, invents: bool, to_do: Sequence[int]) -> JsonObject:
        told = [value for value in seen.known if not isinstance(value, str) or self._random.random() < 0.95]
        given = self._arguments(tool, told, invents=invents)
        said: JsonObject = {"part": self._random.choice([*(list(to_do) * 8), 1, 9])}
        if number > 1 and given and self._random.random() < 0.2:
            filled = self._random.choice(list(given))
            said["from"] = {filled: self._random.choice(["1.id", "1.id", "2.id", "x"])}
            given.pop(filled)
        return {**given, "_call": said} if self._random.random() < 0.9 else given

    def _can_be_filled(self, tool: ToolDefinition, seen: Seen) -> bool:
        """Whether something is known that the tool is about, and a figure if it takes one."""
        named = any(key in seen.keys for noun in self._nouns_of(tool) for key in self._offer.scene.state[noun])
        return named and (len(_required(tool)) == 1 or bool(seen.figures))

    def _nouns_of(self, tool: ToolDefinition) -> list[str]:
        return [noun for noun in self._offer.scene.state if noun in tool.description]

    def _seen(self, asked: ModelRequest) -> Seen:
        texts = dumps(_texts(asked))
        keys = [key for key in self._keys() if key in texts]
        values = [Decimal(text) for text in re.findall(r'"value":"([0-9.]+)"', _plain_texts(asked))]
        return Seen(keys, _figures(asked), values)

    # --- arguments and texts ------------------------------------------------------------------------------------------

    def _arguments(self, tool: ToolDefinition, known: Sequence[Json] = (), *, invents: bool = False) -> JsonObject:
        """Arguments that fit a tool's schema, of things that exist; figures from what is known, or from nowhere."""
        properties, required = tool.input_schema.get("properties"), tool.input_schema.get("required")
        if not isinstance(properties, dict) or not isinstance(required, list):
            return {"text": self._text()}
        of_kind = [key for noun in self._nouns_of(tool) for key in self._offer.scene.state[noun]]
        fitting = [value for value in known if not isinstance(value, str) or value in of_kind] if of_kind else known
        told = fitting if self._random.random() < 0.9 else known
        return {name: self._argument(kind, told, invents) for name, kind in properties.items() if name in required}

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

    # --- the helper questions -----------------------------------------------------------------------------------------

    def _coverage(self) -> JsonObject:
        if self._random.random() < 0.85:
            return {"agrees": True, "problems": []}
        return {"agrees": False, "problems": [{"part": self._random.choice([1, 1, 2, 7]), "why": "another's"}]}

    def _design(self) -> JsonObject:
        states: list[Json] = ["DECOMPOSE", "ASSESS", "POLICY_CHECK", "MUTATE", "COMPLETE"]
        if self._random.random() < 0.5:
            self._random.shuffle(states)
        wanted = self._random.random() < 0.5
        return {"states": states, "risk": "low", "approval_wanted": wanted, "instructions": [], "outputs": []}


def _writes(tool: ToolDefinition) -> bool:
    """Whether a tool takes our own argument: only what writes does."""
    properties = tool.input_schema.get("properties")
    return isinstance(properties, dict) and "_call" in properties and tool.name not in LOCAL


def _required(tool: ToolDefinition) -> list[str]:
    names = tool.input_schema.get("required")
    return [str(name) for name in names] if isinstance(names, list) else []


def _texts(asked: ModelRequest) -> list[Json]:
    """What stands in the messages: sections, and what tools said."""
    blocks = [block for message in asked.messages if message.role == "user" for block in message.blocks]
    return [_text_of(block) for block in blocks]


def _plain_texts(asked: ModelRequest) -> str:
    return "\n".join(str(text) for text in _texts(asked))


def _text_of(block: object) -> str:
    match block:
        case TextBlock(text):
            return text
        case ToolResult(_, content):
            return content
        case _:
            return ""


def _section(asked: ModelRequest, name: str) -> str:
    found = (re.search(_SECTION.format(name), str(text), re.DOTALL) for text in _texts(asked))
    return next((match[1].replace("<\\/", "</") for match in found if match), "")


def _figures(asked: ModelRequest) -> list[tuple[str, str, Decimal]]:
    """The amounts in the results that a request holds: reference, path, figure."""
    found = [(ref, path, figure) for ref, result in _results(asked) for path, figure in _amounts(result, "")]
    return list(dict.fromkeys(found))


def _results(asked: ModelRequest) -> list[tuple[str, Json]]:
    """What reads gave, by reference: results of this history, and those that it began with."""
    text = _section(asked, "so_far")
    before = loads(text) if text else []
    rows = [row for row in before if isinstance(row, dict) and "ref" in row] if isinstance(before, list) else []
    found = [(str(row["ref"]), row.get("result")) for row in rows]
    for message in asked.messages:
        for block in message.blocks:
            if isinstance(block, ToolResult) and (ref := _REF.search(block.content)) and not block.is_error:
                found.append((ref[1], loads(block.content[: ref.start()])))
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
