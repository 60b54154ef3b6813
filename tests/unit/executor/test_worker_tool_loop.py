"""The tool loop: how often, side by side, what a model is told of its mistakes, how much of a result it sees."""

import asyncio
from collections.abc import Callable

import pytest

from services.executor.core.tooling.paginate_shown import MOST
from services.executor.ports.models import ModelReply, ModelRequest, ToolResult
from shared.domain.exact_json import Json, JsonObject, dumps, loads
from shared.domain.words import TaskState
from tests.doubles.scripted_model import state_of, text_reply, tool_reply
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import Stage

C1: JsonObject = {"claim_id": "C-1"}
C2: JsonObject = {"claim_id": "C-2"}
Script = Callable[[ModelRequest], ModelReply]


def in_turn(*replies: ModelReply) -> Script:
    """One reply for each time the state's model is asked; the last one stays."""

    def script(request: ModelRequest) -> ModelReply:
        return replies[min(len(request.messages) // 2, len(replies) - 1)]

    return script


def assessing(*replies: ModelReply) -> Stage:
    stage = Stage()
    stage.scripts["assess"] = in_turn(*replies, text_reply("read"))
    return stage


def told(stage: Stage) -> list[ToolResult]:
    """All results that ASSESS's model saw at the end."""
    last = [request for request in stage.model.requests if state_of(request) == "ASSESS"][-1]
    return [block for message in last.messages for block in message.blocks if isinstance(block, ToolResult)]


@pytest.mark.promise("loop.limits")
async def test_a_model_that_never_stops_is_asked_twenty_times_and_calls_eighteen_tools() -> None:
    """Beyond that each call is refused, and the task goes on with what was read."""
    stage = Stage()
    stage.scripts["assess"] = lambda request: tool_reply(("get_claim", {"claim_id": f"C-{len(request.messages)}"}))
    record = await stage.run()
    asked = [request for request in stage.model.requests if state_of(request) == "ASSESS"]
    assert (len(asked), len(stage.servers.called("get_claim")) - _read_backs(stage)) == (20, 18)
    assert "limit of tool calls" in told(stage)[-1].content
    assert record.state.is_terminal


@pytest.mark.promise("loop.limits")
async def test_the_limits_can_be_set() -> None:
    stage = Stage()
    stage.limits = stage.limits._replace(iterations=3, tool_calls=2)
    stage.scripts["assess"] = lambda request: tool_reply(("get_claim", {"claim_id": f"C-{len(request.messages)}"}))
    await stage.run()
    assert len([request for request in stage.model.requests if state_of(request) == "ASSESS"]) == 3
    assert len(stage.servers.called("get_claim")) - _read_backs(stage) == 2


@pytest.mark.promise("loop.side_by_side")
async def test_the_reads_of_one_reply_run_side_by_side() -> None:
    """Each of them waits here until the other one has come."""
    stage = assessing(tool_reply(("get_claim", C1), ("get_other", C2)))
    both = asyncio.Barrier(2)

    async def waits(given: JsonObject) -> Json:
        if len(stage.servers.calls) <= 2:
            async with asyncio.timeout(10):
                await both.wait()
        return stage.claims.get(given)

    stage.limits = stage.limits._replace(tool_seconds=20.0)
    stage.servers.add("get_claim", waits, input_schema={"type": "object"})
    stage.servers.add("get_other", waits, input_schema={"type": "object"})
    record = await stage.run()
    assert record.state is TaskState.COMPLETED


@pytest.mark.promise("loop.retry_or_over")
async def test_a_call_whose_arguments_do_not_fit_may_be_made_again() -> None:
    """The model is told what does not fit; nothing reached the server before it did."""
    stage = assessing(tool_reply(("get_claim", {"claim": "C-1"})), tool_reply(("get_claim", C1)))
    record = await stage.run()
    wrong, right = told(stage)
    assert (wrong.is_error, right.is_error) == (True, False)
    assert "arguments do not fit" in wrong.content
    assert record.state is TaskState.COMPLETED


@pytest.mark.promise("loop.retry_or_over")
async def test_a_call_that_is_over_is_not_made_again() -> None:
    """An invented tool, and one that the state forbids: the same call again is answered with the reason it had."""
    forbidden, invented = ("approve_claim", C1), ("get_moon", C1)
    stage = assessing(tool_reply(forbidden, invented), tool_reply(forbidden, invented), tool_reply(("get_claim", C1)))
    await stage.run()
    first, again = told(stage)[:2], told(stage)[2:4]
    assert all(result.is_error for result in (*first, *again))
    assert "no tool named 'get_moon'" in first[1].content
    assert all("Not called again" in result.content for result in again)
    refusals = [event for event in stage.turns.events if event.kind == "tool" and "refused" in event.data]
    assert len(refusals) == 1
    assert stage.claims.applied == ["C-1"]  # by the plan alone


@pytest.mark.promise("loop.reads_once")
@pytest.mark.parametrize("together", [True, False])
async def test_the_same_read_is_answered_from_the_first(together: bool) -> None:
    """In one reply or in two; the server is asked once, and a replay agrees."""
    twice = (tool_reply(("get_claim", C1), ("get_claim", C1)),)
    stage = assessing(*(twice if together else (tool_reply(("get_claim", C1)),) * 2))
    await stage.run()
    first, again = told(stage)
    assert first.content == again.content
    assert len(stage.servers.called("get_claim")) - _read_backs(stage) == 1
    assert (await replayed(stage)).is_same


@pytest.mark.promise("loop.trimmed")
@pytest.mark.parametrize(
    "content",
    [
        {"id": "C-1", "memo": "m" * 90_000},
        {"id": "C-1", "lines": [[{"n": number, "memo": "x" * 40} for number in range(900)]]},
        {"rows": [{"n": number, "memo": "x" * 20_000} for number in range(40)]},
        ["y" * 50_000],
        {str(number): "z" * 90 for number in range(2_000)},
    ],
)
async def test_a_long_result_is_cut_to_fit_and_says_so(content: Json) -> None:
    """Whatever its shape; to the model that called and to those that see it as a fact, which holds all of it."""
    stage = assessing(tool_reply(("get_claim", C1)))
    stage.servers.add("get_claim", lambda _: content)
    await stage.run()
    (seen,) = told(stage)
    later = next(request for request in stage.model.requests if state_of(request) == "COMPLETE")
    assert len(dumps(content)) > MOST
    assert len(seen.content) < MOST + 500
    assert "shown here" in dumps(loads(seen.content))
    assert "shown here" in str(later.messages)
    assert len(str(later.messages)) < 2 * MOST + 5_000


def _read_backs(stage: Stage) -> int:
    """Reads of a claim that were made for the plan: before the write, and as its proof."""
    states = [request for request in stage.model.requests if state_of(request) == "WRITE PLAN"]
    return len(stage.servers.called("get_claim")) - _assessed(stage) if states else 0


def _assessed(stage: Stage) -> int:
    keys = [key for key, step in stage.turns.steps.items() if step.kind == "tool" and ".ASSESS:tool:" in key]
    return len(keys)
