"""I1: whatever a model asks for, in whichever state, only what the state permits reaches a server."""

import pytest

from services.executor.core.fsm.states import permits
from services.executor.ports.models import ModelReply, ModelRequest
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import FsmState, ToolClass
from tests.doubles.scripted_model import json_reply, state_of, tool_reply
from tests.unit.executor.stage import CALL, MANAGER, Stage, decision

_THINKING = {
    "DECOMPOSE": FsmState.DECOMPOSE,
    "ASSESS": FsmState.ASSESS,
    "COMPUTE": FsmState.COMPUTE,
    "WRITE PLAN": FsmState.COMPUTE,  # the plan is made on leaving the last state before POLICY_CHECK
    "COMPLETE": FsmState.COMPLETE,
}


def _asks_in(state: str, tool: str, stage: Stage) -> None:
    """The model asks for the tool once in that state, then goes on as scripted."""
    as_scripted = stage.model._script
    asked: list[str] = []

    def script(request: ModelRequest) -> ModelReply:
        if state_of(request) == state and not asked:
            asked.append(state)
            return tool_reply((tool, {}))
        return as_scripted(request)

    stage.model._script = script


@pytest.mark.promise("I1.gate_in_every_state")
@pytest.mark.parametrize("state", _THINKING)
@pytest.mark.parametrize("tool_class", list(ToolClass))
async def test_a_forbidden_call_never_reaches_the_server(state: str, tool_class: ToolClass) -> None:
    stage = Stage()
    arrived: list[JsonObject] = []

    def arrive(given: JsonObject) -> Json:
        arrived.append(given)
        return {}

    stage.servers.add("probe", arrive, tool_class)
    _asks_in(state, "probe", stage)
    await stage.run()
    assert bool(arrived) is permits(_THINKING[state], tool_class)


@pytest.mark.promise("I1.left_out_of_the_request")
async def test_a_request_offers_only_the_tools_that_its_state_permits() -> None:
    stage = Stage()
    await stage.run()
    offered = {state_of(request): {tool.name for tool in request.tools} for request in stage.model.requests}
    assert offered == {
        "DECOMPOSE": set(),
        "ASSESS": {"get_claim"},
        "COMPUTE": {"calculate", "group_by", "sum_field"},
        "WRITE PLAN": set(),
        "COMPLETE": set(),
    }


@pytest.mark.promise("I1.gate_in_every_state")
async def test_in_mutate_only_the_planned_calls_are_made() -> None:
    stage = Stage()
    await stage.run()
    made = [call.tool for call in stage.servers.calls]
    assert [tool for tool in made if tool != "get_claim"] == ["approve_claim"]


@pytest.mark.promise("I1.gate_in_every_state")
async def test_at_the_gate_nothing_is_written_and_after_it_only_what_was_planned() -> None:
    stage = Stage()
    stage.policy.says = {"requires_approval": True, "escalation_level": "manager"}
    await stage.run()
    assert [call.tool for call in stage.servers.calls] == ["get_claim"]
    await stage.run(decision("approve", MANAGER))
    assert stage.claims.applied == ["C-1"]


@pytest.mark.promise("I1.invented_tools")
async def test_an_invented_tool_is_refused_and_the_model_is_told() -> None:
    stage = Stage()
    _asks_in("ASSESS", "delete_everything", stage)
    await stage.run()
    told = [block for request in stage.model.requests for message in request.messages for block in message.blocks]
    assert any("no tool named 'delete_everything'" in str(block) for block in told)
    assert all(call.tool != "delete_everything" for call in stage.servers.calls)


@pytest.mark.promise("I1.plans_hold_writes_only")
@pytest.mark.parametrize("tool", ["get_claim", "approve_everything"])
async def test_a_plan_may_hold_only_writing_tools_that_exist(tool: str) -> None:
    stage = Stage()
    stage.scripts["write_plan"] = json_reply({"calls": [{**CALL, "tool": tool}], "why_none": None})
    record = await stage.run()
    assert stage.claims.applied == []
    assert tool in (record.reason or "")
