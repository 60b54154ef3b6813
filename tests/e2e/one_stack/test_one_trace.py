"""One task, one trace: over the whole stack, told to a collector."""

import asyncio
from collections.abc import Callable
from uuid import uuid4

import pytest

from shared.domain import span_names as names
from shared.domain.exact_json import JsonObject
from tests.doubles.otlp_receiver import OtlpReceiver, ReceivedSpan
from tests.e2e.whole_stack import WholeStack

pytestmark = pytest.mark.asyncio(loop_scope="package")
_TASK = "Approve expense claim EXP-1000. The word of the day is zinnober."
_MANAGER: JsonObject = {"id": "dana", "roles": ["approver"], "levels": ["manager"]}
_OURS = {f"purple-{name}" for name in ("gateway", "executor", "policy", "planner", "learner")}
_SAID = (
    "zinnober",
    "EXP-1000",
    "expense_id",
    "approver",
    "dana",
    "none-needed",
    "let-me-in",
)  # words, arguments, secrets


async def _until(receiver: OtlpReceiver, there: Callable[[tuple[ReceivedSpan, ...]], bool]) -> None:
    async with asyncio.timeout(20):
        while not there(receiver.spans):
            await asyncio.sleep(0.02)


def _ended(spans: tuple[ReceivedSpan, ...], turns: int) -> bool:
    """Whether all that ends late has ended: the learner, and the requests that waited for the turns."""
    of_turns = [span for span in spans if span.name.startswith("turn ")]
    return len(of_turns) == turns and any(span.name == names.LEARN for span in spans)


def _strays(spans: tuple[ReceivedSpan, ...], root: str) -> list[str]:
    """Spans that hang on nothing that came."""
    known = {span.span_id for span in spans} | {root}
    return [f"{span.service} {span.name}" for span in spans if span.parent_id not in known]


async def _approved(whole: WholeStack, trace: str, caller: str) -> None:
    """The task in the caller's trace; its approval comes in a trace of its own."""
    headers = {"traceparent": f"00-{trace}-{caller}-01"}
    whole.http.headers.update(headers)
    await whole.send(_TASK, "traced")
    del whole.http.headers["traceparent"]
    await whole.send("approve", "traced", principal=_MANAGER)


@pytest.mark.promise("trace.one_tree", "trace.says_nothing")
async def test_a_task_is_one_tree_over_all_processes_and_tells_no_word_of_it(
    stack: WholeStack, collector: OtlpReceiver
) -> None:
    """From its caller's span through gateway, queue, executor, policy, planner and learner, over two turns."""
    trace, caller = uuid4().hex, uuid4().hex[:16]
    await _approved(stack, trace, caller)
    await _until(collector, lambda _: _ended(collector.trace(trace), turns=2))

    spans = collector.trace(trace)
    found = {span.name for span in spans}
    assert {span.service for span in spans} == _OURS
    assert _strays(spans, caller) == []
    assert [span.name for span in spans if span.parent_id == caller] == ["POST /"]
    assert {names.ACCEPT, names.PRIME, names.EXECUTE, names.REFLECT, "state POLICY_CHECK", "state MUTATE"} <= found
    assert {"execute_tool approve_expense", "write approve_expense", "policy evaluate"} <= found
    assert {"chat offline-planner-1", "POST /v1/messages", names.STORE} <= found
    assert found & {"POST /v1/evaluate", "POST /v1/policies/{policy_hash}/evaluate"}
    decision = next(span for span in spans if span.name == "turn decision")
    assert decision.links
    assert decision.links[0] != trace
    assert [said for said in _SAID if said.encode() in collector.raw] == []


_FIRST_CHAT, _FIRST_READ = "chat offline-planner-1", "execute_tool get_employee"


@pytest.mark.long
@pytest.mark.promise("trace.after_a_crash")
async def test_a_task_whose_executor_was_killed_goes_on_in_its_trace(
    stack: WholeStack, collector: OtlpReceiver
) -> None:
    """The second attempt stands beside the first, complete; of the first there is what had been handed over."""
    trace, caller = uuid4().hex, uuid4().hex[:16]
    await stack.planner_latency(60)
    stack.http.headers["traceparent"] = f"00-{trace}-{caller}-01"
    sending = asyncio.create_task(stack.send("Update the phone of employee EMP-447 to +1 555 2999.", "killed-traced"))
    await stack.event("killed-traced", "model", step="talk:1:model")
    await _until(collector, lambda _: any(span.name == _FIRST_CHAT for span in collector.trace(trace)))
    killed = await stack.owner("killed-traced")
    await stack.kill(killed)
    stack.start_again(stack.executor_of(killed))
    await sending
    del stack.http.headers["traceparent"]
    await stack.planner_latency(0)
    await _until(collector, lambda _: _ended(collector.trace(trace), turns=1))
    spans = collector.trace(trace)
    (turn,) = (span for span in spans if span.name == "turn message")
    (accepted,) = (span for span in spans if span.name == names.ACCEPT)
    assert (turn.attributes[names.ATTEMPT], turn.parent_id) == ("2", accepted.span_id)
    assert turn.attributes[names.TASK_STATE] == "completed"
    of_the_dead = {span.parent_id for span in spans if span.name in (names.PRIME, _FIRST_CHAT, _FIRST_READ)}
    known = {span.span_id for span in spans} | {caller}
    strays = {span.parent_id for span in spans if span.parent_id not in known and span.service == "purple-executor"}
    assert (
        strays <= of_the_dead
    )  # the turn and its phase that died with the process; whom it had just asked hangs on them
