"""I1: whatever a model asks for, in whichever state, only what the state permits reaches a server."""

from typing import Literal

import pytest

from services.executor.core.states.machine import PERMITTED_CLASSES
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import FsmState, ToolClass
from shared.ports.models import ModelReply, ModelRequest, ToolDefinition, ToolUse
from tests.doubles.scripted_model import state_of
from tests.doubles.scripted_talk import calls_reply, of_conversation
from tests.doubles.unruly_world import WatchedTurns
from tests.unit.executor.stage import Stage

_LAST = 4  # the reply that answers, where nothing else is asked for


def _asks_in(number: int, tool: str, stage: Stage) -> None:
    """The model asks for the tool in the reply of that number too, once."""
    asked: list[ModelRequest] = []

    def script(request: ModelRequest) -> ModelReply:
        reply = stage.talk(request)
        if not state_of(request):
            asked.append(request)
            if len(asked) == number:
                more = calls_reply([*((use.name, use.input) for use in reply.tool_uses), (tool, {})], number)
                return more._replace(blocks=(*more.blocks[:-1], ToolUse("probe", tool, {})))
        return reply

    stage.model._script = script


@pytest.mark.promise("I1.gate_in_every_state")
@pytest.mark.parametrize("kind", ["find out", "do"])
@pytest.mark.parametrize("number", range(1, _LAST + 1))
@pytest.mark.parametrize("tool_class", list(ToolClass))
async def test_a_call_reaches_its_server_only_in_a_state_that_permits_it(
    kind: Literal["find out", "do"], number: int, tool_class: ToolClass
) -> None:
    """Whenever a model asks for it: beside its first reads, beside figures, beside a proposal, or after the writes."""
    stage = Stage()
    stage.turns = watched = WatchedTurns(stage.turns.record)
    stage.talk.parts = [(text, kind) for text, _ in stage.talk.parts]
    double: JsonObject = {"name": "double", "operation": "sum", "operands": ["r1.amount", "r1.amount"]}
    stage.talk.rounds.insert(1, [("calculate", double)])
    if kind == "find out":
        stage.talk.rounds.pop()
    states: list[str | None] = []

    def arrive(_: JsonObject) -> Json:
        states.append(watched.state)
        return {}

    stage.servers.add("probe_claim", arrive, tool_class)
    _asks_in(number, "probe_claim", stage)
    await stage.run()
    assert all(state is not None and tool_class in PERMITTED_CLASSES[FsmState(state)] for state in states)
    writes = tool_class in (ToolClass.CHANGE, ToolClass.NOTIFY)
    if writes and (kind == "find out" or number == 1):
        assert states == []
    elif number < len(of_conversation(stage.model.requests)):
        assert states


def _properties(tool: ToolDefinition) -> set[str]:
    found = tool.input_schema.get("properties")
    return set(found) if isinstance(found, dict) else set()


@pytest.mark.promise("I1.left_out_of_the_request")
async def test_only_the_conversation_is_offered_tools_and_the_same_in_each_request() -> None:
    stage = Stage()
    stage.talk.process = "expense_approval"
    await stage.run()
    talks = of_conversation(stage.model.requests)
    others = [request for request in stage.model.requests if request not in talks]
    assert others
    assert all(request.tools == () for request in others)
    assert all(request.tools == talks[-1].tools for request in talks if request.tier is talks[-1].tier)
    assert all([tool.name for tool in request.tools] == [tool.name for tool in talks[0].tools] for request in talks)
    names = {tool.name for tool in talks[0].tools}
    assert names >= {"understand", "calculate", "look", "get_claim", "approve_claim", "notify_person"}
    mine = {tool.name for tool in talks[0].tools if _properties(tool) & {"_call"}}
    assert mine == {"approve_claim", "notify_person"}
