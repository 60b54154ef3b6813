"""A stage whose tenant lets missing calculators be made: a scripted model writes them, a real sandbox runs them."""

from collections.abc import Sequence
from typing import cast

from pydantic import JsonValue
from typing_extensions import override

from services.executor.core.session.context import Ports
from services.executor.ports.services import Sandbox
from services.planner.core.request import parse_request
from services.planner.core.roles import reply
from shared.domain.exact_json import JsonObject, loads_object
from shared.infra.anthropic_request import encode_model_request
from shared.ports.models import ModelReply, ModelRequest, ToolDefinition
from tests.doubles.memory_made import MemoryMade
from tests.doubles.scripted_model import json_reply, state_of, text_reply
from tests.doubles.scripted_talk import calls_reply, of_conversation, results_in
from tests.unit.executor.stage import APPROVE, READ, Stage, office

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
CALCULATION: tuple[str, JsonObject] = (
    "calculate",
    {"name": "net_margin", "operation": "net_margin", "operands": ["1,250.00", "800"]},
)


class MadeStage(Stage):
    """``sandbox`` is what made code runs in. The talk reads, then calculates with the made tool, then approves."""

    def __init__(self, sandbox: Sandbox, text: str = FORMULA) -> None:
        super().__init__(text)
        self.sandbox = sandbox
        self.made = MemoryMade()
        self.tenants.record = office().model_copy(update={"made_tools": True})
        self.talk.rounds = [[READ], [CALCULATION], [APPROVE]]
        self.talk.helpers = {
            "tool_gap": json_reply({"gaps": []}),
            "make_tool": function(FUNCTION),
            "tool_cases": cases(CASES),
        }

    @property
    @override
    def ports(self) -> Ports:
        return super().ports._replace(sandbox=self.sandbox, made_tools=self.made)

    def asked(self, state: str) -> list[ModelRequest]:
        """What was asked in a helper question; without a name, in the conversation."""
        return [one for one in self.model.requests if state_of(one) == state]

    @property
    def refused(self) -> list[str]:
        """What the conversation was told of calls that failed, as its last request holds them."""
        return [result.content for result in results_in(of_conversation(self.model.requests)[-1]) if result.is_error]


class ChangingSandbox(Sandbox):
    """Runs ``right`` programs as they are; what comes after comes to another figure."""

    def __init__(self, sandbox: Sandbox, right: int) -> None:
        self._sandbox = sandbox
        self._right = right

    @override
    async def run(self, program: str, inputs: Sequence[str]) -> str:
        self._right -= 1
        return await self._sandbox.run(program, inputs) if self._right >= 0 else "36.5"


def offers_made_tool(tool: ToolDefinition) -> bool:
    """Whether the made tool is an operation that a model may name in it."""
    properties = cast("dict[str, JsonValue]", tool.input_schema.get("properties", {}))
    operation = cast("dict[str, JsonValue]", properties.get("operation", {}))
    return "net_margin(" in str(operation.get("description", ""))


def function(code: str, cannot: str = "") -> ModelReply:
    return json_reply({"code": code, "cannot": cannot})


def cases(given: Sequence[tuple[tuple[str, ...], str]]) -> ModelReply:
    return json_reply({"cases": [{"inputs": [*inputs], "expected": out} for inputs, out in given], "cannot": ""})


def by_planner(request: ModelRequest) -> ModelReply:
    """What the rule-based planner replies to the same request."""
    answer = reply(parse_request(loads_object(encode_model_request("planner", request))))
    return calls_reply(answer.calls, len(request.messages)) if answer.calls else text_reply(answer.text)
