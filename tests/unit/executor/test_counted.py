"""What a turn counts for: told at the edges, by the store, the model, the tool servers and the policy service."""

import pytest

from services.executor.adapters.policy_http import PatientPolicy
from services.executor.adapters.resilience import Resilience
from services.executor.core.session.context import Ports
from services.executor.core.states.prompts import load
from services.executor.core.turn.execute import execute_task
from services.executor.core.turn.worker import Worker
from services.executor.ports.turns import LeaseLost
from shared.contracts.task import Turn
from shared.domain.words import TaskState
from shared.infra.late_model import CountedModel
from shared.infra.metrics import Metrics
from shared.ports.models import ModelReply, ModelRequest, ModelUnavailable, Tier
from tests.doubles.connected import connected
from tests.doubles.scripted_model import json_reply
from tests.samples import samples
from tests.unit.executor.stage import Stage, decision, message


class Counted:
    """A stage whose worker is counted."""

    def __init__(self) -> None:
        self.stage, self.metrics = Stage(), Metrics("executor")

    async def run(self, turn: Turn | None = None) -> TaskState:
        stage, meter = self.stage, self.metrics
        model = CountedModel(stage.model, {Tier.HAIKU: "small", Tier.SONNET: "large"}, meter)
        policy, tools = PatientPolicy(stage.policy, meter, ()), connected(stage.servers, Resilience(meter))
        ports = Ports(model, tools, policy, stage.tenants, stage.learned, stage.daily, meter=meter)
        worker = Worker(ports, stage.limits, load(), execute_task)
        await worker.run(stage.turns.work(turn or message("Approve claim C-1 of 120.50")), stage.turns)
        return stage.turns.record.state

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
    assert counted["purple_policy_asked_total"] == {("passed", "verdict"): len(counted.stage.policy.asked)}
    assert counted["purple_tool_calls_total"][("office", "call", "ok")] == 1
    calls = sum(counted["purple_model_calls_total"].values())
    assert calls == len(counted.stage.model.requests)


@pytest.mark.promise("metrics.turns")
async def test_a_turn_that_goes_on_counts_nothing_of_what_its_journal_has() -> None:
    counted = Counted()
    counted.stage.policy.says = {"requires_approval": True}
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
async def test_a_turn_whose_lease_is_lost_counts_no_end() -> None:
    counted = Counted()
    counted.stage.turns.fenced = True

    with pytest.raises(LeaseLost):
        await counted.run()

    assert counted["purple_tasks_ended_total"] == {}
    assert counted["purple_turn_seconds_count"] == {("handed_over",): 1}


@pytest.mark.promise("metrics.turns")
async def test_a_task_that_fails_names_the_part_that_did_not_work() -> None:
    counted = Counted()
    counted.stage.policy.fails_from = 1

    assert await counted.run() is TaskState.FAILED
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
    model = CountedModel(Changing(), {Tier.HAIKU: "small"}, metrics)
    request = ModelRequest(Tier.HAIKU, (), ())
    await model.complete(request)
    await model.complete(request)
    with pytest.raises(ModelUnavailable):
        await model.complete(request)

    assert samples(metrics.registry, "purple_model_calls_total") == {
        ("small-20990101", "answered", "haiku"): 1,
        ("other", "fallback", "haiku"): 1,
        ("small", "unavailable", "haiku"): 1,
    }
