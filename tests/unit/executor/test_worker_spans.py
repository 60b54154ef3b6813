"""A worker's spans in the trace of its task, and what a turn counts for at its edges."""

import pytest
from typing_extensions import override

from services.executor.adapters.policy_http import RetryingPolicy
from services.executor.adapters.resilience import Resilience
from services.executor.core.session.context import Ports
from services.executor.ports.turns import LeaseLost
from shared.contracts.task import Turn
from shared.domain.words import TaskState
from shared.infra.metrics import Metrics
from shared.infra.model_wrappers import CountedModel
from shared.ports.models import ModelReply, ModelRequest, ModelUnavailable, Tier
from tests.doubles.connected import connected
from tests.doubles.kept_spans import KeptSpan, KeptSpans
from tests.doubles.scripted_model import json_reply
from tests.samples import samples
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
    @override
    def ports(self) -> Ports:
        return super().ports._replace(tracer=self.kept.tracer)


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


@pytest.mark.promise("trace.says_nothing")
async def test_no_word_of_a_task_is_in_them_and_a_run_that_fails_is_told_by_its_kind() -> None:
    stage = TracedStage()
    record = await stage.run(_first())
    said = stage.kept.said()
    assert record.answer
    assert [word for word in (TASK, "C-1", "120.50", "clerk", record.answer) if word in said] == []
    stage = TracedStage()
    stage.policy.fails_from = 1
    record = await stage.run(_first())
    failed = {span.name: span.attributes.get("error.type") for span in stage.kept.all if span.failed}
    assert record.state is TaskState.FAILED
    assert failed == {"phase execute": "Failed"}
    assert "policy service" not in stage.kept.said()


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
    """A deadline, which nobody sent, stands there without a link; a task from before traces begins one."""
    stage, late, old = TracedStage(), TracedStage(), TracedStage()
    for one in (stage, late):
        one.change_tenant(unruled_writes="approve")
        await one.run(_first())
    await stage.run(decision("approve").model_copy(update={"traceparent": _DECIDED}))
    asked, decided = stage.kept.named("turn message"), stage.kept.named("turn decision")
    assert asked.events == ("purple.approval.waits",)
    assert (decided.trace_id, decided.links) == (asked.trace_id, (_DECIDED[36:52],))
    assert _strays(stage.kept.all) == []
    await late.run(deadline())
    ended = late.kept.named("turn deadline")
    assert (ended.trace_id, ended.parent_id, ended.links) == (_BEGAN[3:35], _BEGAN[36:52], ())
    old.turns.record = old.turns.record.model_copy(update={"traceparent": None})
    await old.run()
    assert old.kept.named("turn message").parent_id == ""


class Counted(Stage):
    """A stage whose worker is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.metrics = Metrics("executor")

    @property
    @override
    def ports(self) -> Ports:
        model = CountedModel(self.model, {Tier.SMALL: "small", Tier.LARGE: "large"}, self.metrics)
        policy, tools = RetryingPolicy(self.policy, self.metrics, ()), connected(self.servers, Resilience(self.metrics))
        return super().ports._replace(model=model, tools=tools, policy=policy, meter=self.metrics)

    def __getitem__(self, name: str) -> dict[tuple[str, ...], float]:
        return samples(self.metrics.registry, name)


@pytest.mark.promise("metrics.turns")
async def test_an_ended_task_is_counted_once_with_its_phases_its_write_and_its_calls() -> None:
    counted = Counted()

    await counted.run()

    assert counted["purple_tasks_ended_total"] == {("completed", "fsm"): 1}
    assert counted["purple_task_seconds_count"] == {("completed",): 1}
    assert counted["purple_task_quality_count"] == {("fsm",): 1}
    phases = {("completed", "PRIME"): 1.0, ("completed", "EXECUTE"): 1.0, ("completed", "REFLECT"): 1.0}
    assert counted["purple_phase_seconds_count"] == phases
    assert counted["purple_turn_seconds_count"] == {("completed",): 1}
    assert {("ASSESS",), ("POLICY_CHECK",), ("MUTATE",), ("COMPLETE",)} <= counted["purple_state_seconds_count"].keys()
    assert counted["purple_accept_to_start_seconds_count"] == {("message",): 1}
    assert counted["purple_writes_total"] == {("verified",): 1}
    assert counted["purple_strategies_chosen_total"] == {("fsm",): 1}
    assert counted["purple_policy_asked_total"] == {("passed", "verdict"): len(counted.policy.asked)}
    assert counted["purple_tool_calls_total"][("office", "call", "ok")] == 1
    calls = sum(counted["purple_model_calls_total"].values())
    assert calls == len(counted.model.requests)


@pytest.mark.promise("metrics.turns")
async def test_a_turn_that_goes_on_counts_nothing_of_what_its_journal_has() -> None:
    counted = Counted()
    counted.policy.says = {"requires_approval": True}
    await counted.run()
    asked = counted["purple_model_calls_total"], counted["purple_strategies_chosen_total"]
    waits = counted["purple_approvals_asked_total"], counted["purple_tasks_ended_total"]

    await counted.run(decision("approve"))

    assert waits == ({(): 1}, {})
    assert counted["purple_strategies_chosen_total"] == asked[1] == {("fsm",): 1}
    assert counted["purple_approvals_ended_total"] == {("approved",): 1}
    assert counted["purple_tasks_ended_total"] == {("completed", "fsm"): 1}
    assert counted["purple_turn_seconds_count"] == {("input-required",): 1, ("completed",): 1}


@pytest.mark.promise("metrics.turns")
async def test_a_turn_whose_lease_is_lost_counts_no_end_and_a_task_that_fails_names_its_part() -> None:
    counted = Counted()
    counted.turns.fenced = True

    with pytest.raises(LeaseLost):
        await counted.run()

    assert counted["purple_tasks_ended_total"] == {}
    assert counted["purple_turn_seconds_count"] == {("handed_over",): 1}
    counted = Counted()
    counted.policy.fails_from = 1

    assert (await counted.run()).state is TaskState.FAILED
    assert counted["purple_tasks_failed_total"] == {("policy_service",): 1}
    assert ("unavailable", "verdict") in counted["purple_policy_asked_total"]


@pytest.mark.promise("metrics.models")
async def test_a_model_that_stands_in_and_one_that_does_not_answer_are_counted_apart() -> None:
    replies = iter(("small-20990101", "other", None))

    class Changing:
        async def complete(self, request: ModelRequest) -> ModelReply:
            name = next(replies)
            if name is None:
                raise ModelUnavailable("gone")
            return json_reply({})._replace(model=name)

    metrics = Metrics("learner")
    model = CountedModel(Changing(), {Tier.SMALL: "small"}, metrics)
    request = ModelRequest(Tier.SMALL, (), ())
    await model.complete(request)
    await model.complete(request)
    with pytest.raises(ModelUnavailable):
        await model.complete(request)

    assert samples(metrics.registry, "purple_model_calls_total") == {
        ("small-20990101", "answered", "haiku"): 1,
        ("other", "fallback", "haiku"): 1,
        ("small", "unavailable", "haiku"): 1,
    }
