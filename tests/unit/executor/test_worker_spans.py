"""A worker's spans: phases, states, calls and writes of a turn, in the trace of its task."""

import pytest

from services.executor.core.session.context import Ports
from services.executor.core.states.prompts import load
from services.executor.core.turn.execute import execute_task
from services.executor.core.turn.worker import Worker
from shared.contracts.task import Turn
from shared.domain.words import TaskState
from tests.doubles.kept_spans import KeptSpan, KeptSpans
from tests.unit.executor.stage import TASK, Stage, deadline, decision, message

_BEGAN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_DECIDED = "00-1bf7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"


class TracedStage(Stage):
    """Its task was accepted in a span of another process."""

    def __init__(self, text: str = TASK) -> None:
        super().__init__(text)
        self.kept = KeptSpans()
        self.turns.record = self.turns.record.model_copy(update={"traceparent": _BEGAN})

    @property
    def worker(self) -> Worker:
        ports = Ports(self.model, self.servers, self.policy, self.tenants, self.learned, tracer=self.kept.tracer)
        return Worker(ports, self.limits, load(), execute_task)


def _first() -> Turn:
    return message(TASK).model_copy(update={"traceparent": _BEGAN})


def _within(stage: TracedStage, name: str) -> str:
    """The name of the span around the first one of that name."""
    spans = {span.span_id: span for span in stage.kept.all}
    found = next(span for span in stage.kept.all if span.name == name)
    return spans[found.parent_id].name


def _strays(spans: tuple[KeptSpan, ...]) -> list[str]:
    known = {span.span_id for span in spans} | {_BEGAN[36:52]}
    return [span.name for span in spans if span.parent_id not in known]


@pytest.mark.promise("trace.one_tree")
async def test_a_turn_is_a_tree_of_phases_states_and_calls() -> None:
    stage = TracedStage()
    await stage.run(_first())
    turn = stage.kept.named("turn message")
    assert (turn.trace_id, turn.parent_id, turn.links) == (_BEGAN[3:35], _BEGAN[36:52], ())
    assert _strays(stage.kept.all) == []
    assert {_within(stage, phase) for phase in ("phase prime", "phase execute", "phase reflect")} == {"turn message"}
    assert {_within(stage, f"state {state}") for state in ("ASSESS", "MUTATE", "COMPLETE")} == {"phase execute"}
    assert _within(stage, "write approve_claim") == "state MUTATE"
    assert _within(stage, "execute_tool approve_claim") == "write approve_claim"
    assert _within(stage, "execute_tool get_claim") == "state ASSESS"


async def test_spans_say_what_was_done_at_which_price() -> None:
    stage = TracedStage()
    await stage.run(_first())
    turn, write = stage.kept.named("turn message"), stage.kept.named("write approve_claim")
    call = stage.kept.named("execute_tool approve_claim")
    chat = next(span for span in stage.kept.all if span.name == "chat")
    assert (turn.attributes["purple.task.state"], turn.attributes["purple.turn.attempt"]) == ("completed", 1)
    assert write.attributes == {"purple.write.status": "verified"}
    assert (call.attributes["purple.tool.class"], call.attributes["purple.tool.outcome"]) == ("change", "ok")
    assert chat.attributes["gen_ai.operation.name"] == "chat"
    assert chat.attributes.keys() >= {"gen_ai.usage.input_tokens", "purple.model.cost_nano_usd", "purple.model.tier"}


@pytest.mark.promise("trace.says_nothing")
async def test_no_word_of_the_task_of_an_argument_or_of_the_answer_is_in_them() -> None:
    stage = TracedStage()
    record = await stage.run(_first())
    said = stage.kept.said()
    assert record.answer
    assert [word for word in (TASK, "C-1", "120.50", "clerk", record.answer) if word in said] == []


@pytest.mark.promise("trace.after_a_crash")
async def test_a_turn_that_was_taken_over_goes_on_in_the_same_trace() -> None:
    stage = TracedStage()
    await stage.dies(6, _first())
    await stage.run(_first(), attempts=2)
    turns = [span for span in stage.kept.all if span.name == "turn message"]
    assert [(span.attributes["purple.turn.attempt"], span.failed) for span in turns] == [(1, True), (2, False)]
    assert _strays(stage.kept.all) == []
    assert {span.trace_id for span in stage.kept.all} == {_BEGAN[3:35]}


@pytest.mark.promise("trace.one_tree")
async def test_a_decision_continues_the_tasks_trace_and_is_linked_with_the_request_that_brought_it() -> None:
    stage = TracedStage()
    stage.change_tenant(unruled_writes="approve")
    await stage.run(_first())
    await stage.run(decision("approve").model_copy(update={"traceparent": _DECIDED}))
    asked, decided = stage.kept.named("turn message"), stage.kept.named("turn decision")
    assert asked.events == ("purple.approval.waits",)
    assert (decided.trace_id, decided.links) == (asked.trace_id, (_DECIDED[36:52],))
    assert _strays(stage.kept.all) == []


@pytest.mark.promise("trace.one_tree")
async def test_a_deadline_that_nobody_sent_stands_in_the_tasks_trace_without_a_link() -> None:
    stage = TracedStage()
    stage.change_tenant(unruled_writes="approve")
    await stage.run(_first())
    await stage.run(deadline())
    ended = stage.kept.named("turn deadline")
    assert (ended.trace_id, ended.parent_id, ended.links) == (_BEGAN[3:35], _BEGAN[36:52], ())


@pytest.mark.promise("trace.says_nothing")
async def test_a_run_that_fails_is_told_by_its_kind() -> None:
    stage = TracedStage()
    stage.policy.fails_from = 1
    record = await stage.run(_first())
    failed = {span.name: span.attributes.get("error.type") for span in stage.kept.all if span.failed}
    assert record.state is TaskState.FAILED
    assert failed == {"phase execute": "Failed"}
    assert "policy service" not in stage.kept.said()


async def test_a_task_from_before_traces_begins_one() -> None:
    stage = TracedStage()
    stage.turns.record = stage.turns.record.model_copy(update={"traceparent": None})
    await stage.run()
    assert stage.kept.named("turn message").parent_id == ""
