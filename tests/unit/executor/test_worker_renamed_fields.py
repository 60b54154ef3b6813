"""A field with another name in what came back, without any error: shown under the expected name if that is plain."""

import pytest

from services.executor.core.session.values import Fact
from shared.contracts.policy import Policy, Rule
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import Stage, the_fact

pytestmark = pytest.mark.promise("drift.results")
ANY: JsonObject = {"type": "object"}


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
    "record",
    [
        {"id": "C-1", "amount": "1", "total": "2"},
        {"id": "C-1", "price": "1", "total": "2"},
        {"id": "C-1", "amount_cents": 12050},
        {"id": "C-1", "amount_limit": "9000"},
        {"id": "C-1", "mount": "1"},
        {"id": "C-1", "total": None},
        {"id": "C-1", "amount": None, "total": "3"},
        {"id": "C-1", "total": {"eur": 1}},
        {"id": "C-1", "value": "red"},  # which holds no figure
        {"id": "C-1", "total": "see annex"},
    ],
)
async def test_what_is_there_or_ambiguous_or_another_thing_stays_as_it_is(record: JsonObject) -> None:
    fact = await read(record)
    assert (fact.result, fact.note) == (record, "")


@each_row("name", ["total_amount", "amounts"])
async def test_a_rules_name_that_its_tool_takes_as_an_argument_is_asked_of_no_record(name: str) -> None:
    """The call brings the amount itself: what the claim says under another name is no amount of the discount."""
    record: JsonObject = {"id": "C-1", name: "120.50"}
    schema: JsonObject = {
        "type": "object",
        "properties": {"claim_id": {"type": "string"}, "amount": {"type": "number"}},
    }
    discount = ("discount_claim", schema)
    fact = await read(record, 'tool == "discount_claim" && amount > 100', also=discount)
    assert (fact.result, fact.note) == (record, "")


@each_row("name", ["price", "value", "total", "cost"])
async def test_no_amount_is_invented_because_some_rule_speaks_of_amounts(name: str) -> None:
    """The rule is about other things than this item, and the item never had an amount."""
    record: JsonObject = {"id": "X-7", name: "3.10"}
    fact = await read(record, "amount > 5000", "Which colour does item X-7 have?", "get_item")
    assert (fact.result, fact.note) == (record, "")


async def test_two_expected_fields_never_become_one_column() -> None:
    record: JsonObject = {"id": "C-1", "total": "120.50"}
    assert (await read(record, "amount > 5000 && total_amount > 1")).result == record
    assert (await read(record, "amount > 5000 && total > 1")).result == record


@each_row("text", ["", "Move B-2 for C-1"])
async def test_the_record_of_something_else_keeps_its_names(text: str) -> None:
    """A budget's total is no amount of the claim, also where the task names things of two kinds."""
    budget: JsonObject = {"id": "B-2" if text else "B-9", "total": "9000.00"}
    assert (await read(budget, text=text, tool="get_budget")).result == budget


async def test_a_field_that_the_task_names_is_shown_under_that_name() -> None:
    text = "What is the unit_price of item X-7?"
    fact = await read({"id": "X-7", "unit_prices": "3.10"}, "true", text, "get_item")
    assert fact.result == {"id": "X-7", "unit_prices": "3.10", "unit_price": "3.10"}


async def test_rows_of_a_list_are_shown_so_each() -> None:
    rows: Json = [{"id": "C-1", "total_amount": "1"}, {"id": "C-2", "total_amount": "2"}]
    text = "Approve the expense claim C-1"
    fact = await read({"claims": rows}, text=text, tool="list_claims")
    found = fact.result
    assert isinstance(found, dict)
    shown = found["claims"]
    assert isinstance(shown, list)
    assert shown[0] == {"id": "C-1", "total_amount": "1", "amount": "1"}


async def test_a_name_that_lacks_the_last_word_of_the_expected_one_is_another_field() -> None:
    shown: JsonObject = {"id": "C-1", "claim": "taxi", "state": "open"}
    fact = await read(shown, condition="claim_price > 5000")
    assert (fact.result, fact.note) == (shown, "")


async def test_who_approves_is_shown_what_the_server_sent_and_told_what_is_taken_for_what() -> None:
    stage = Stage()
    rule = Rule(id="R", condition="amount > 5", action="require_approval", level="manager", reason="x")
    policies = (Policy(id="p", rules=(rule,)),)
    stage.change_tenant(policies=policies, unruled_writes="approve")
    sent: JsonObject = {"id": "C-1", "total": "120.50", "status": "open"}
    stage.servers.add("get_claim", lambda _: sent, input_schema=ANY)
    stage.talk.process = "expense_approval"
    await stage.run()
    assert "amount" in str(the_fact(stage).result)
    (read_found,) = stage.turns.approvals[-1].grounds.reads
    assert loads_object(read_found.shows) == sent
    assert "the server sent no amount: total is taken for it" in read_found.note
