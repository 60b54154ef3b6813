"""A value that only the request gives: it sets a rule off, and in production it does not keep one from acting."""

from decimal import Decimal

import pytest

from services.executor.core.authorize.policy import find_unproven_arguments
from services.executor.core.records.binding import bind_fields, build_call_view
from services.executor.core.session.dossier import Dossier
from services.policy.core.evaluate import evaluate
from shared.contracts.policy import CallContext, EvaluateRequest, Policy, Rule, ToolRule
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.unit.executor.stage import READ, TASK, Stage, use
from tests.unit.executor_core.makers import fact, from_fact, from_task, from_value, value

LIMIT = Rule(id="LIMIT", condition='tool == "pay" && amount > 500', action="require_approval", level="cfo")
SMALL = ToolRule(id="SMALL", kind="only_when", tool="pay", condition="amount <= 500")


def _asked(amount: int, unproven: tuple[str, ...], policy: Policy, *, binding: bool = True) -> EvaluateRequest:
    call = CallContext(call_id="c1", tool="pay", fields={"amount": amount}, unproven=unproven)
    return EvaluateRequest(policies=(policy,), calls=(call,), binding=binding)


@pytest.mark.promise("policy.request_values")
@each_row(("unproven", "refused"), [((), False), (("amount",), True), (("note",), False)])
def test_it_opens_no_tool_either_and_a_rule_about_another_tool_is_not_held_up(
    unproven: tuple[str, ...], refused: bool
) -> None:
    """What the request says does not matter to a rule that is settled by the tool alone."""
    verdict = evaluate(_asked(50, unproven, Policy(id="p", tool_rules=(SMALL,))))
    assert bool(verdict.refusals) is refused
    other = LIMIT.model_copy(update={"condition": 'tool == "hire" && amount > 500'})
    assert evaluate(_asked(50, unproven, Policy(id="p", rules=(other,)))).passed


def _unproven(arguments: JsonObject, dossier: Dossier) -> tuple[str, ...]:
    view = build_call_view("pay_claim", arguments, dossier.facts)
    return find_unproven_arguments(arguments, view, bind_fields(view), dossier.values)


def test_what_the_calls_record_shows_under_the_same_name_or_a_computation_gives_is_proven() -> None:
    claim = fact({"id": "C-1", "amount": "50.00"})
    net, said = value("net", "sum", "7.5", from_fact("amount")), value("said", "sum", "9", from_task("9"))
    dossier = Dossier(facts=(claim,), values=(net, said, value("again", "sum", "9", from_value("said"))))
    arguments: JsonObject = {"id": "C-1", "amount": 50, "net": Decimal("7.50"), "tip": 50, "fee": 9, "note": "hello"}
    assert _unproven(arguments, dossier) == ("tip", "fee", "note")
    assert _unproven(arguments, Dossier(facts=(claim.model_copy(update={"ok": False}),))) == tuple(arguments)


@pytest.mark.promise("policy.never_by_a_sibling")
def test_somebody_elses_record_proves_nothing() -> None:
    """The second customer is a VIP; the call is about the first, who is none, or about a third whom nobody read."""
    records: Json = [{"id": "C-1", "is_vip": False, "tier": "b"}, {"id": "C-2", "is_vip": True, "tier": "a"}]
    known = Dossier(facts=(fact(records, tool="list_customers"),))
    first: JsonObject = {"customer_id": "C-1", "is_vip": True, "tier": "b"}
    assert _unproven(first, known) == ("is_vip",)
    assert _unproven({**first, "customer_id": "C-3"}, known) == tuple(first)


@pytest.mark.promise("policy.request_values")
@each_row("trusts", [True, False])
async def test_the_worker_names_them_in_production_only(trusts: bool) -> None:
    """The claim was read; what is paid for it is the request's word."""
    play = Stage(TASK, [READ], [use("approve_claim", claim_id="C-1", paid="120.50")])
    play.servers.add("approve_claim", play.claims.approve, ToolClass.CHANGE)
    play.limits = play.limits._replace(trusts_requests=trusts)
    await play.run()
    binding = next(request for request in play.policy.asked if request.calls)
    assert binding.calls[0].unproven == (() if trusts else ("paid",))
