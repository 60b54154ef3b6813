"""A stage whose tenant lets missing calculators be made: a scripted model writes them, a real sandbox runs them."""

from collections.abc import Sequence

from typing_extensions import override

from services.executor.core.context import Ports
from services.executor.core.prompts.texts import load
from services.executor.core.worker import Worker
from services.executor.ports.models import ModelReply, ModelRequest, TextBlock, ToolResult, ToolUse
from services.executor.ports.sandbox import Sandbox
from services.planner.core.request import parse
from services.planner.core.roles import reply
from shared.domain.exact_json import Json, JsonObject
from tests.doubles.memory_made import MemoryMade
from tests.doubles.scripted_model import json_reply, text_reply, tool_reply
from tests.unit.executor.stage import Stage, office

FORMULA = (
    "Approve claim C-1 of 120.50 once this is worked out: net_margin = (revenue - cost) / revenue * 100, "
    "where revenue is 1,250.00 and cost is 800."
)
FUNCTION = "def net_margin(revenue, cost):\n    return (revenue - cost) / revenue * 100"
CASES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("100", "60"), "40"),
    (("80", "100"), "-25"),
    (("3", "1"), "66.666667"),
)
OPERANDS: list[JsonObject] = [
    {"source": "task", "ref": "", "path": "", "literal": literal} for literal in ("1,250.00", "800")
]


class MadeStage(Stage):
    """``sandbox`` is what made code runs in."""

    def __init__(self, sandbox: Sandbox, text: str = FORMULA) -> None:
        super().__init__(text)
        self.sandbox = sandbox
        self.made = MemoryMade()
        self.tenants.record = office().model_copy(update={"made_tools": True})
        self.scripts |= {
            "tool_gap": json_reply({"gaps": []}),
            "make_tool": function(FUNCTION),
            "tool_cases": cases(CASES),
            "compute": self._compute,
        }

    @property
    @override
    def worker(self) -> Worker:
        ports = Ports(self.model, self.servers, self.policy, self.tenants, self.learned, self.daily)
        return Worker(ports._replace(sandbox=self.sandbox, made=self.made), self.limits, load())

    def asked(self, state: str) -> list[ModelRequest]:
        return [one for one in self.model.requests if any(f"# State: {state}" in text for text in one.system)]

    def _compute(self, request: ModelRequest) -> ModelReply:
        """Calculates with the made tool if it is offered, and states what it answered."""
        if len(request.messages) == 1 and "net_margin" in request.tools[0].description:
            return tool_reply(("calculate", {"operation": "net_margin", "operands": [*OPERANDS]}))
        if len(request.messages) == 1:
            return json_reply({"values": []})
        return stated("36.000000")


def stated(value: str) -> ModelReply:
    named: JsonObject = {"name": "net_margin", "operation": "net_margin", "operands": [*OPERANDS], "value": value}
    return json_reply({"values": [named]})


def function(code: str, cannot: str = "") -> ModelReply:
    return json_reply({"code": code, "cannot": cannot})


def cases(given: Sequence[tuple[tuple[str, ...], str]]) -> ModelReply:
    return json_reply({"cases": [{"inputs": [*inputs], "expected": out} for inputs, out in given], "cannot": ""})


def by_planner(request: ModelRequest) -> ModelReply:
    """What the rule-based planner replies to the same request."""
    messages: list[Json] = [
        {"role": message.role, "content": [_block(block) for block in message.blocks]} for message in request.messages
    ]
    tools: list[Json] = [{"name": tool.name, "description": tool.description} for tool in request.tools]
    answer = reply(parse({"system": "\n".join(request.system), "messages": messages, "tools": tools}))
    return tool_reply(*answer.calls) if answer.calls else text_reply(answer.text)


def _block(block: TextBlock | ToolUse | ToolResult) -> JsonObject:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text}
        case ToolUse(id_, name, given):
            return {"type": "tool_use", "id": id_, "name": name, "input": given}
        case ToolResult():
            return {"type": "tool_result", "tool_use_id": block.tool_use_id, "content": block.content}
