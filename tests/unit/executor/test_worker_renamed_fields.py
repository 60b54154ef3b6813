"""A field with another name in what came back, without any error: shown under the expected name if that is plain."""

from typing import TypedDict

import pytest

from services.executor.core.session.values import Fact
from shared.contracts.policy import Policy, Rule
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import APPROVE, Stage, schema, the_fact, use

pytestmark = pytest.mark.promise("drift.results")
ANY: JsonObject = {"type": "object"}


class _Given(TypedDict, total=False):
    condition: str
    text: str
    tool: str
    also: tuple[str, JsonObject]


_OF_ITEM: _Given = {"text": "Which colour does item X-7 have?", "tool": "get_item"}
_DISCOUNTS: _Given = {
    "condition": 'tool == "discount_claim" && amount > 100',
    "also": ("discount_claim", schema("claim_id", "amount:number")),
}


async def read(
    answer: Json,
    condition: str = "amount > 5000",
    text: str = "",
    tool: str = "get_claim",
    also: tuple[str, JsonObject] | None = None,
) -> Fact:
    """The fact of one read in a task under one rule. ``also``: a tool for changes, by its name and schema."""
    stage = Stage(text) if text else Stage()
    stage.set_rules(Rule(id="R", condition=condition, action="block", reason="x"))
    stage.servers.add(tool, lambda _: answer, input_schema=ANY)
    if also:
        stage.servers.add(also[0], lambda _: {}, ToolClass.CHANGE, also[1])
    stage.only_asks()
    stage.talk.process = "general" if also else "expense_approval"
    stage.talk.rounds = [[(tool, {"claim_id": "C-1"})]]
    await stage.run()
    assert (await replayed(stage)).is_same
    return the_fact(stage)


@each_row("name", ["total_amount", "amounts", "Amount", "amount_usd", "value"])
async def test_a_field_of_a_rule_is_shown_under_the_rules_name_too_and_that_is_said(name: str) -> None:
    fact = await read({"id": "C-1", name: "120.50", "state": "open"})
    assert fact.result == {"id": "C-1", name: "120.50", "state": "open", "amount": "120.50"}
    assert fact.note == f"the server sent no amount: {name} is taken for it."


@each_row(
    ("record", "given"),
    ({"id": "C-1", "amount": "1", "total": "2"}, {}),
    ({"id": "C-1", "price": "1", "total": "2"}, {}),
    ({"id": "C-1", "amount_cents": 12050}, {}),
    ({"id": "C-1", "amount_limit": "9000"}, {}),
    ({"id": "C-1", "mount": "1"}, {}),
    ({"id": "C-1", "total": None}, {}),
    ({"id": "C-1", "amount": None, "total": "3"}, {}),
    ({"id": "C-1", "total": {"eur": 1}}, {}),
    ({"id": "C-1", "value": "red"}, {}),  # which holds no figure
    ({"id": "C-1", "total": "see annex"}, {}),
    *(({"id": "X-7", name: "3.10"}, _OF_ITEM) for name in ("price", "value", "total", "cost")),
    *(({"id": "C-1", name: "120.50"}, _DISCOUNTS) for name in ("total_amount", "amounts")),
    ({"id": "C-1", "total": "120.50"}, {"condition": "amount > 5000 && total_amount > 1"}),
    ({"id": "C-1", "total": "120.50"}, {"condition": "amount > 5000 && total > 1"}),
    ({"id": "B-9", "total": "9000.00"}, {"tool": "get_budget"}),
    ({"id": "B-2", "total": "9000.00"}, {"tool": "get_budget", "text": "Move B-2 for C-1"}),
    ({"id": "C-1", "claim": "taxi", "state": "open"}, {"condition": "claim_price > 5000"}),
)
async def test_what_is_there_or_ambiguous_or_another_thing_stays_as_it_is(record: JsonObject, given: _Given) -> None:
    """Two expected fields never become one column; the rule may be about other things than this item, which never had
    an amount; and what its tool takes as an argument is asked of no record, for the call brings the amount itself.
    """
    fact = await read(record, **given)
    assert (fact.result, fact.note) == (record, "")


async def test_who_approves_is_shown_what_the_server_sent_and_told_what_is_taken_for_what() -> None:
    stage = Stage()
    rule = Rule(id="R", condition="amount > 5", action="require_approval", level="manager", reason="x")
    policies = (Policy(id="p", rules=(rule,)),)
    stage.change_tenant(policies=policies, unruled_writes="approve")
    sent: JsonObject = {"id": "C-1", "total": "120.50", "status": "open"}
    stage.servers.add("get_claim", lambda _: sent, input_schema=ANY)
    stage.talk.process = "expense_approval"
    stage.talk.rounds[1:] = [[APPROVE, use("notify_person", text="C-1", status="open")]]
    await stage.run()
    assert "amount" in str(the_fact(stage).result)
    (read_found,) = stage.turns.approvals[-1].grounds.reads
    assert loads_object(read_found.shows) == sent
    assert "the server sent no amount: total is taken for it" in read_found.note
    assert read_found.supports == ("c2.status",)
