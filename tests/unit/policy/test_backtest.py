"""A changed policy on plans that were decided before."""

import re
from datetime import UTC, datetime

import pytest

from services.policy.core.conditions import ConditionCache
from services.policy.core.evaluate import backtest_plan, decided_plans, evaluate
from shared.contracts.archive import ArchivedStep, ArchivedTask
from shared.contracts.policy import CallContext, EvaluateRequest, Policy, Rule
from shared.contracts.task import Principal, TaskRecord, TaskRequest
from shared.domain.words import Dialect, TaskState
from tests.each_row import each_row

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
LIMIT = Rule(id="LIMIT", condition='tool == "pay" && amount > 5000', action="require_approval", level="cfo")


def _archived(*policies: Policy) -> ArchivedTask:
    call = CallContext(call_id="c1", tool="pay", fields={"amount": 700})
    request = EvaluateRequest(policies=policies, calls=(call,), binding=True, plan_hash="h")
    verdict = evaluate(request, ConditionCache())
    record = TaskRecord(
        tenant="default",
        task_id="t1",
        session_id="s1",
        dialect=Dialect.A2A_1_0,
        requester=Principal(id="clerk"),
        request=TaskRequest(text="Pay it"),
        state=TaskState.COMPLETED,
        accepted_at=NOW,
        updated_at=NOW,
    )
    noted = f'{{"request":{request.to_json()},"verdict":{verdict.to_json()}}}'
    provisional = f'{{"verdict":{verdict.to_json()}}}'
    steps = (("policy:0#1", provisional), ("policy:a#1", noted), ("1.ASSESS:model:0", "{}"))
    return ArchivedTask(
        record=record, journal=tuple(ArchivedStep(key=key, kind="input", data=data) for key, data in steps)
    )


@pytest.mark.promise("policy.backtest")
@each_row(
    ("changed", "after", "why"),
    [
        (Policy(id="pay", rules=(LIMIT,)), "passes", ()),
        (
            Policy(id="pay", rules=(LIMIT.model_copy(update={"condition": 'tool == "pay" && amount > 500'}),)),
            "needs approval by cfo",
            ("+ pay/LIMIT",),
        ),
        (Policy(id="new", rules=(Rule(id="NO", condition="amount > 1", action="block"),)), "blocked", ("+ new/NO",)),
        (Policy(id="pay", rules=(Rule(id="X", condition="a >< 1", action="block"),)), "policy invalid", ("+ pay/X",)),
    ],
)
def test_what_would_have_been_different_is_named(changed: Policy, after: str, why: tuple[str, ...]) -> None:
    """The changed policy stands in for the one of its id; the rules that make the difference are listed."""
    (known,) = decided_plans(_archived(Policy(id="pay", rules=(LIMIT,))))
    tried = backtest_plan(known, (changed,), ConditionCache())
    assert (tried.before, tried.after, tried.why) == ("passes", after, why)
    assert tried.differs is bool(why)


def test_a_task_without_a_plan_is_left_out() -> None:
    archived = _archived(Policy(id="pay"))
    assert decided_plans(archived.model_copy(update={"journal": archived.journal[:1]})) == ()


def test_a_read_that_was_decided_by_itself_is_no_plan() -> None:
    """It was judged by the rules about tools alone; conditions and texts have nothing to say of it."""
    archived = _archived(Policy(id="pay"))
    read = archived.journal[1].data.replace('"planHash":"h"', '"planHash":null')
    journal = (archived.journal[1].model_copy(update={"data": read}),)
    assert decided_plans(archived.model_copy(update={"journal": journal})) == ()


def test_a_call_that_a_model_only_asked_about_is_no_plan() -> None:
    """``what_would_policy_say`` has a verdict of the same kind."""
    archived = _archived(Policy(id="pay"))
    asked = re.sub(r'"callId":"[^"]*"', '"callId":"hypothetical"', archived.journal[1].data)
    journal = (archived.journal[1].model_copy(update={"data": asked}),)
    assert decided_plans(archived.model_copy(update={"journal": journal})) == ()


def test_a_plan_that_was_refused_and_made_again_is_tried_too() -> None:
    """What a loosened policy would have let pass at first is a difference."""
    archived = _archived(Policy(id="pay", rules=(LIMIT,)))
    first = archived.journal[1]
    other = first.model_copy(
        update={"key": "policy:b#1", "data": first.data.replace('"planHash":"h"', '"planHash":"i"')}
    )
    plans = decided_plans(archived.model_copy(update={"journal": (*archived.journal, other, first)}))
    assert [plan.request.plan_hash for plan in plans] == ["h", "i"]
