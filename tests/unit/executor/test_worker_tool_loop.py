"""The tool loop: how often, side by side, what a model is told of its mistakes, how much of a result it sees."""

import asyncio

import pytest

from services.executor.core.tools.shorten import MOST_RESULT_CHARACTERS
from shared.domain.exact_json import Json, JsonObject, dumps, loads
from shared.domain.words import TaskState
from shared.ports.models import ToolResult
from tests.doubles.scripted_talk import Calls, of_conversation, results_in
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import Stage, facts_of, the_fact, use

_SETTLED = ("use-0-1",)  # the call of understand
C1: JsonObject = {"claim_id": "C-1"}
C2: JsonObject = {"claim_id": "C-2"}


def asking(*rounds: Calls) -> Stage:
    """A stage whose task only asks, and whose model calls this in its replies."""
    stage = Stage()
    stage.only_asks()
    stage.talk.rounds = [*rounds]
    return stage


def told(stage: Stage) -> list[ToolResult]:
    """All results of reads that the model saw at the end."""
    last = of_conversation(stage.model.requests)[-1]
    return [result for result in results_in(last) if result.tool_use_id not in _SETTLED]


@pytest.mark.promise("loop.limits")
async def test_a_model_that_never_stops_is_asked_twenty_times_and_then_its_task_ends_and_both_limits_can_be_set() -> (
    None
):
    stage = asking(*([("get_claim", {"claim_id": f"C-{number}"})] for number in range(50)))
    await stage.ends(TaskState.FAILED, why="20 replies")
    assert len(stage.model.requests) == 20
    bounded = asking(*([use("get_claim", **C1), use("get_claim", claim_id=f"D-{number}")] for number in range(9)))
    bounded.limits = bounded.limits._replace(iterations=3, tool_calls=1)
    await bounded.run()
    assert (len(bounded.model.requests), bounded.servers.called("get_claim")) == (3, [C1])


@pytest.mark.promise("loop.run_side_by_side")
async def test_the_reads_of_one_reply_run_side_by_side() -> None:
    """Each of them waits here until the other one has come."""
    stage = asking([("get_claim", C1), ("get_other", C2)])
    both = asyncio.Barrier(2)

    async def waits(given: JsonObject) -> Json:
        if len(stage.servers.calls) <= 2:
            async with asyncio.timeout(10):
                await both.wait()
        return stage.claims.get(given)

    stage.limits = stage.limits._replace(tool_seconds=20.0)
    stage.servers.add("get_claim", waits, input_schema={"type": "object"})
    stage.servers.add("get_other", waits, input_schema={"type": "object"})
    await stage.ends(TaskState.COMPLETED)


@pytest.mark.promise("loop.retry_or_over")
async def test_a_call_whose_arguments_do_not_fit_may_be_made_again_and_leaves_every_other_one_its_name() -> None:
    """The model is told what does not fit. What comes later never takes the place of what was read: a figure keeps the
    result that it was named by.
    """
    stage = asking([("get_claim", {"claim": "C-1"}), ("get_claim", C2)], [("get_claim", C1)])
    await stage.ends(TaskState.COMPLETED)
    assert [result.is_error for result in told(stage)] == [True, False, False]
    assert "arguments do not fit" in told(stage)[0].content
    assert stage.servers.called("get_claim") == [C2, C1]
    facts = {fact.arguments_json: fact.ref for fact in facts_of(stage)}
    assert facts == {'{"claim_id":"C-2"}': "r2", '{"claim_id":"C-1"}': "r3"}


@pytest.mark.promise("loop.retry_or_over", "I1.invented_tools")
async def test_a_call_that_can_never_be_made_is_answered_with_the_reason_each_time() -> None:
    """An invented tool, and a write in a task that only asks: neither reaches a server."""
    forbidden, invented = ("approve_claim", C1), ("get_moon", C1)
    stage = asking([forbidden, invented], [forbidden, invented], [("get_claim", C1)])
    await stage.run()
    first, again = told(stage)[:2], told(stage)[2:4]
    assert all(result.is_error for result in (*first, *again))
    assert "There is no tool named 'get_moon'" in first[1].content
    assert "this task only asks" in again[0].content
    assert [call.tool for call in stage.servers.calls] == ["get_claim"]


@pytest.mark.promise("loop.reads_once")
@each_row("together", [True, False])
async def test_the_same_read_is_answered_from_the_first(together: bool) -> None:
    """In one reply or in two; the server is asked once, and a replay agrees."""
    one = ("get_claim", C1)
    stage = asking([one, one]) if together else asking([one], [one])
    await stage.run()
    first, again = told(stage)
    assert first.content == again.content
    assert stage.servers.called("get_claim") == [C1]
    assert (await replayed(stage)).is_same


@pytest.mark.promise("loop.trimmed")
@each_row(
    "content",
    {"id": "C-1", "memo": "m" * 90_000},
    {"id": "C-1", "lines": [[{"n": number, "memo": "x" * 40} for number in range(900)]]},
    {"rows": [{"n": number, "memo": "x" * 20_000} for number in range(40)]},
    ["y" * 50_000],
    {str(number): "z" * 90 for number in range(2_000)},
)
async def test_a_long_result_is_cut_to_fit_and_says_so(content: Json) -> None:
    """Whatever its shape, to the model that called; the fact holds all of it."""
    stage = asking([("get_claim", C1)], [("get_claim", C2)])
    stage.servers.add("get_claim", lambda given: content if given == C1 else {})
    await stage.run()
    seen = told(stage)[0].content
    assert len(dumps(content)) > MOST_RESULT_CHARACTERS
    assert len(seen) < MOST_RESULT_CHARACTERS + 500
    assert "look shows the rest" in seen
    assert loads(seen.rpartition("\n")[0])
    assert the_fact(stage).result == content
