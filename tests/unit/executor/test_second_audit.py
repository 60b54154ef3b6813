"""A model looks over the figures that a plan of writes is built on: it can object, and it can let nothing pass."""

import pytest

from services.executor.core.checkpoints import Checkpoints
from services.executor.core.dossier import Progress
from services.executor.core.fsm.templates import TEMPLATES
from services.executor.core.journal import Journal
from services.executor.ports.models import ModelReply, ModelRequest, ModelUnavailable, TextBlock, Tier
from shared.domain.exact_json import JsonObject
from shared.domain.words import FsmState, Strategy, TaskState
from tests.doubles.fake_tool_servers import Called
from tests.doubles.scripted_model import json_reply, state_of, text_reply
from tests.unit.executor.archived import replayed
from tests.unit.executor.begun_as import run_with_deaths
from tests.unit.executor.deliberating import READ_CLAIM
from tests.unit.executor.stage import Stage, message

AMOUNT: JsonObject = {
    "name": "amount",
    "operation": "sum",
    "operands": [{"source": "result", "ref": "f1", "path": "amount", "literal": ""}],
    "value": "120.50",
}
CLEAN = json_reply({"clean": True, "issues": []})
OBJECTS = json_reply({"clean": False, "issues": [{"value": "amount", "why": "it is of another claim"}]})


@pytest.mark.promise("audit.second")
async def test_the_audit_sees_each_figure_with_what_its_operands_show_and_the_planned_calls() -> None:
    stage = _stage(CLEAN)
    record = await stage.run()
    (asked,) = _audits(stage)
    text = _text(asked)
    assert (record.state, stage.claims.applied, asked.tier) == (TaskState.COMPLETED, ["C-1"], Tier.HAIKU)
    assert '"found":["120.50"]' in text
    assert '"tool":"get_claim"' in text
    assert "<writes>" in text
    assert len(text) // 4 + asked.max_tokens < 1_000


@pytest.mark.promise("audit.second.only_for_writes")
async def test_a_task_that_writes_nothing_needs_no_audit() -> None:
    stage = _stage(CLEAN)
    stage.scripts["write_plan"] = json_reply({"calls": [], "why_none": "it is approved already"})
    assert (await stage.run()).state is TaskState.COMPLETED
    assert _audits(stage) == []


@pytest.mark.promise("audit.second.only_for_writes")
async def test_a_plan_without_figures_needs_no_audit() -> None:
    stage = _stage(CLEAN)
    stage.scripts["compute"] = json_reply({"values": []})
    assert (await stage.run()).state is TaskState.COMPLETED
    assert _audits(stage) == []


@pytest.mark.promise("audit.second.switch")
async def test_switched_off_no_model_audits() -> None:
    stage = _stage(OBJECTS)
    stage.limits = stage.limits._replace(audits_values=False)
    assert (await stage.run()).state is TaskState.COMPLETED
    assert _audits(stage) == []


@pytest.mark.promise("audit.second")
@pytest.mark.parametrize("strategy", Strategy)
async def test_after_an_objection_the_figures_are_concluded_anew_knowing_why(strategy: Strategy) -> None:
    stage = _stage(OBJECTS, CLEAN)
    stage.limits = stage.limits._replace(strategies=(strategy,))
    record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    states = record.metadata["states"]
    assert isinstance(states, list)
    assert states.count(FsmState.COMPUTE) == 2
    anew = [asked for asked in stage.model.requests if "it is of another claim" in _text(asked)]
    assert {state_of(asked) for asked in anew} == {"COMPUTE" if strategy is Strategy.FSM else "CONCLUDE"}
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("audit.second")
@pytest.mark.parametrize("strategy", [Strategy.FIVE_PHASE, Strategy.MOA])
async def test_where_a_process_has_no_compute_the_same_facts_are_concluded_from_anew(strategy: Strategy) -> None:
    stage = _stage(OBJECTS, CLEAN)
    template = TEMPLATES["dispute_resolution"]
    progress = Progress(template=template, path=template.states, visited=template.states[:1], strategy=strategy)
    await Checkpoints(Journal(stage.turns, (), stage.turns.now(), 60), ()).save(progress)
    record = await stage.run()
    states = record.metadata["states"]
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert isinstance(states, list)
    assert states.count(FsmState.ASSESS) == 2
    before = [call.tool for call in stage.servers.calls[: stage.servers.calls.index(_first_write(stage))]]
    assert before.count("get_claim") == 2  # in ASSESS, and just before the change


@pytest.mark.promise("audit.second.escalates")
@pytest.mark.parametrize("strategy", Strategy)
async def test_a_second_objection_escalates_and_nothing_is_written(strategy: Strategy) -> None:
    stage = _stage(OBJECTS, OBJECTS)
    stage.limits = stage.limits._replace(strategies=(strategy,))
    record = await stage.run()
    assert (record.state, record.metadata["escalated"], stage.claims.applied) == (TaskState.FAILED, True, [])
    assert "it is of another claim" in str(record.reason)
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("audit.second.fails_closed")
@pytest.mark.parametrize(
    "reply",
    [
        text_reply("clean"),
        json_reply({"clean": True}),
        json_reply({"clean": True, "issues": [{"value": "amount", "why": "wrong"}]}),
        json_reply({"clean": False, "issues": []}),
        json_reply({"clean": False, "issues": [{"value": "another", "why": "wrong"}]}),
    ],
)
async def test_an_audit_that_cannot_be_used_is_not_a_clean_one(reply: ModelReply) -> None:
    stage = _stage(reply, reply)
    record = await stage.run()
    assert (record.state, record.metadata["escalated"], stage.claims.applied) == (TaskState.FAILED, True, [])


@pytest.mark.promise("audit.second.fails_closed")
async def test_an_audit_that_cannot_be_had_is_not_a_clean_one() -> None:
    def down(_: ModelRequest) -> ModelReply:
        raise ModelUnavailable("no answer in time")

    stage = _stage(CLEAN)
    stage.scripts["audit"] = down
    record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.FAILED, [])
    assert "no answer in time" in str(record.reason)


@pytest.mark.promise("audit.second.fails_closed")
async def test_the_exact_audit_is_binding_whatever_the_second_one_would_say() -> None:
    stage = _stage(CLEAN)
    stage.scripts["compute"] = json_reply({"values": [{**AMOUNT, "value": "120.51"}]})
    record = await stage.run()
    assert (record.state, stage.claims.applied, _audits(stage)) == (TaskState.FAILED, [], [])


@pytest.mark.promise("audit.second")
async def test_dying_anywhere_leads_to_the_same_end() -> None:
    stage = _stage(CLEAN)
    stage.scripts["audit"] = lambda asked: CLEAN if _is_second(stage) else OBJECTS
    assert await run_with_deaths(stage, message(stage.turns.record.request.text)) > 5
    assert (stage.turns.record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])


def _stage(*audits: ModelReply) -> Stage:
    stage = Stage()
    replies = iter(audits)
    stage.scripts["compute"] = json_reply({"values": [AMOUNT]})
    stage.scripts["conclude"] = json_reply({"values": [AMOUNT], "findings": "Claim C-1 is open."})
    stage.scripts["plan"] = json_reply({"reads": [READ_CLAIM], "look_again": False, "answer_format": "prose"})
    stage.scripts["audit"] = lambda _: next(replies)
    return stage


def _audits(stage: Stage) -> list[ModelRequest]:
    return [asked for asked in stage.model.requests if state_of(asked) == "AUDIT"]


def _first_write(stage: Stage) -> Called:
    return next(call for call in stage.servers.calls if call.tool == "approve_claim")


def _is_second(stage: Stage) -> bool:
    """Whether the figures were concluded anew, as the stored record says."""
    return any(key.endswith("4.COMPUTE:entered") for key in stage.turns.steps)


def _text(asked: ModelRequest) -> str:
    return "".join(block.text for message in asked.messages for block in message.blocks if isinstance(block, TextBlock))
