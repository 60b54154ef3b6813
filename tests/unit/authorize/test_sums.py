"""A limit holds for the task's calls on one record together, however the record is named and the amount is written."""

import pytest

from services.executor.core.session.values import Fact, NamedValue
from services.executor.core.tools.toolbox import Toolbox
from services.policy.core.evaluate import evaluate
from shared.contracts.policy import Rule
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.unit.authorize.verdicts import change, read, request
from tests.unit.executor_core.makers import tool, tools

pytestmark = pytest.mark.promise("policy.split_amounts")

LIMIT = Rule(id="LIMIT", condition="amount > 250", action="require_approval")


def _asks(
    name: str, *given: JsonObject, facts: tuple[Fact, ...] = (), box: Toolbox | None = None, limit: str = "amount > 250"
) -> bool:
    """Whether a person is asked about calls of one tool by a limit that each of them keeps."""
    calls = [change(name, arguments, f"c{place}") for place, arguments in enumerate(given)]
    rule = LIMIT.model_copy(update={"condition": limit})
    asked = [request([rule], some, facts, box=box) for some in (*([call] for call in calls), calls)]
    *alone, together = (evaluate(one) for one in asked)
    assert not any(one.requires_approval or one.escalate or one.problems for one in alone)
    assert (together.problems, together.escalate) == ((), False)
    return any(one.rule_id == LIMIT.id for one in together.triggered_rules)


def _two(name: str, ours: JsonObject, theirs: JsonObject) -> tuple[str, JsonObject, JsonObject]:
    return name, {**ours, "amount": 150}, {**theirs, "amount": 140}


PEOPLE = read("list_employees", {"employees": [{"id": "E-1", "name": "Ann Lee"}, {"id": "E-2", "name": "Bo Ek"}]})
SHIPMENTS = read("list_shipments", {"shipments": [{"shipmentRef": "SHP-1"}, {"shipmentRef": "SHP-2"}]})
ACCOUNT, SAME_ACCOUNT, ANOTHER = "NL91ABNA0417164300", "NL91 ABNA 0417 1643 00", "NL02ABNA0123456789"


@each_row(
    ("name", "ours", "theirs"),
    ("issue_credit", {"invoice_id": "V-1"}, {"invoice_id": "V-1"}),
    ("issue_credit", {"invoice_no": 5012, "reason": "delay L1"}, {"invoice_no": 5012, "reason": "damage L2"}),
    ("update_shipment", {"shipmentRef": "SHP-1", "handlerId": 8}, {"shipmentRef": "SHP-1", "handlerId": 9}),
    ("approve_claims", {"claim_ids": ["C-1", "C-2"]}, {"claim_ids": ["C-2", "C-3"]}),
    ("grant_bonus", {"vendor": "Bo Ek", "cost_centre_id": 1}, {"vendor": "Bo Ek", "cost_centre_id": 2}),
    ("grant_bonus", {"employee": "Ann Lee"}, {"employee": "E-1"}),
    ("transfer", {"to_account": ACCOUNT}, {"to_account": SAME_ACCOUNT}),
    ("transfer", {"to_account": ACCOUNT}, {"customer_id": 7}),
    ("wire", {"payee": "Draycott", "reference": "R-1"}, {"payee": "Draycott", "reference": "R-2"}),
    ("create_order", {"customer_id": 7, "city": "MIL"}, {"customer_id": 7, "city": "MAD"}),
)
def test_calls_that_may_concern_one_record_are_judged_by_their_sum(
    name: str, ours: JsonObject, theirs: JsonObject
) -> None:
    """No other identifier tells two calls on one record apart, and what is not sure to be two records is summed."""
    assert _asks(*_two(name, ours, theirs), facts=(PEOPLE, SHIPMENTS))


@each_row(
    ("name", "ours", "theirs"),
    ("issue_credit", {"invoice_id": "V-1"}, {"invoice_id": "V-2"}),
    ("update_shipment", {"shipmentRef": "SHP-1", "handlerId": 9}, {"shipmentRef": "SHP-2", "handlerId": 9}),
    ("grant_bonus", {"employee": "Ann Lee"}, {"employee": "Bo Ek"}),
    ("transfer", {"to_account": ACCOUNT, "currency": "EUR"}, {"to_account": ANOTHER, "currency": "EUR"}),
    ("wire", {"payee": "Draycott", "reference": "R-1"}, {"payee": "Voltaire", "reference": "R-2"}),
    ("create_voucher", {"title": "Thanks"}, {"title": "Sorry"}),
)
def test_calls_that_surely_concern_two_records_are_judged_each_by_itself(
    name: str, ours: JsonObject, theirs: JsonObject
) -> None:
    assert not _asks(*_two(name, ours, theirs), facts=(PEOPLE, SHIPMENTS))


def test_a_word_of_a_closed_list_names_no_record() -> None:
    listed: JsonObject = {"properties": {"reason_id": {"enum": ["delay", "damage"]}}}
    box = tools(tool("issue_credit", ToolClass.CHANGE, listed))
    first: JsonObject = {"invoice_id": 5012, "reason_id": "delay"}
    second: JsonObject = {"invoice_id": 5013, "reason_id": "delay"}
    assert not _asks(*_two("issue_credit", first, second), box=box)
    assert _asks(*_two("issue_credit", first, {**first, "reason_id": "damage"}), box=box)


@each_row(
    ("first", "second", "limit"),
    ({"credit": {"amount": 150}}, {"credit": {"amount": 140}}, "amount > 250"),
    ({"credit": {"amount": 150, "kind": "a"}}, {"credit": {"amount": 140}}, "credit.amount > 250"),
    ({"amount": "150.00"}, {"amount": "140.00"}, "amount > 250"),
    ({"total": 150}, {"amount": 140}, "amount > 250"),
    ({"amount_cents": 15000}, {"amount_cents": 14000}, "amount_cents > 25000"),
    ({"credit": 150}, {"credit": 150}, "credit > 250"),
)
def test_amounts_are_summed_as_rules_read_them(first: JsonObject, second: JsonObject, limit: str) -> None:
    one, other = ({"invoice_no": 5012, **amount} for amount in (first, second))
    assert _asks("issue_credit", one, other, limit=limit)
    assert not _asks("issue_credit", one, {**other, "invoice_no": 5013}, limit=limit)
    assert not _asks("issue_credit", one, limit=limit)


@each_row(("field", "asks"), [("weightKg", False), ("total", True), ("days", True)])
def test_a_measure_of_what_a_call_makes_is_its_own(field: str, asks: bool) -> None:
    one: JsonObject = {"customerId": 4103, "city": "MIL", field: 150}
    other: JsonObject = {**one, "city": "MAD"}
    assert _asks("create_shipment", one, other, limit=f"{field} > 250") is asks
    assert _asks("update_shipment", one, other, limit=f"{field} > 250")


_ROW: JsonObject = {"account": "RA-7", "cents": 200}


@each_row(
    ("given", "asks"),
    ({"credits": [_ROW, _ROW]}, True),
    ({"credits": [_ROW, {**_ROW, "why": "heating"}]}, True),
    ({"orders": [{"account": "RA-7", "lines": [{"cents": 200}, {"cents": 200}]}]}, True),
    ({"credits": [_ROW, {**_ROW, "account": "RA-8"}]}, False),
    ({"cents": 200, "credits": [{"account_id": "RA-7"}, {"account_id": "RA-7"}]}, True),
    ({"account": "RA-7", "cents": 200, "lines": [{"text": "lift"}, {"text": "heating"}]}, False),
    ({"cents": 200, "from": {"account": "RA-7", "bank": "B-1"}, "to": {"account": "RA-8", "bank": "B-1"}}, False),
    ({"account": "RA-7", "cents": 280, "lines": [{"cents": 350}, {"cents": -70}]}, False),
    ({"credits": {"RA-7": {"cents": 200}, "RA-8": {"cents": 200}}}, False),
    ({"account_ids": ["RA-7", "RA-7"], "cents": 200}, True),
    ({"rows": [{"payee": "Ann", "cents": 200}, {"payee": "Bo", "cents": 200}]}, False),
    ({"company_id": 1, "rows": [{"employee_id": "E-1", "cents": 200}, {"employee_id": "E-2", "cents": 200}]}, False),
    ({"credits": [{"account": f"RA-{place}", "cents": 200} for place in range(120)]}, False),
    ({"credits": [{"account": f"RA-{place % 119}", "cents": 200} for place in range(120)]}, True),
)
def test_rows_of_one_call_that_may_concern_one_record_are_summed(given: JsonObject, asks: bool) -> None:
    limit = LIMIT.model_copy(update={"condition": "cents > 300"})
    facts = (read("list_accounts", {"accounts": [{"id": "RA-7"}, {"id": "RA-8"}]}),)
    found = evaluate(request([limit], [change("post_credits", given)], facts))
    assert (found.requires_approval, found.escalate) == (asks, False)


_READINGS: list[Json] = [{"unit_id": "U-1", "value": 331}, {"unit_id": "U-2", "value": 342}]


@each_row(
    ("rows", "asks"),
    ([], False),
    ([{"unit_id": "U-3", "value": 10_000}], True),
    ([{"unit_id": "U-3"}], True),
    ([{"unit_id": "U-4", "value": 5}], True),
    ([{"unit_id": "U-5", "value": 5}], True),
    ([{"unit_id": "U-3", "value": 5}, {"unit_id": "U-1", "value": 9_900}], False),
)
def test_rows_that_differ_are_judged_one_by_one(rows: list[Json], asks: bool) -> None:
    """A value that is too great, none at all, the sealed unit, or one that nobody read; readings do not add up."""
    most = LIMIT.model_copy(update={"condition": 'tool == "import_readings" && value > 9999'})
    sealed = Rule(id="SEALED", condition='tool == "import_readings" && sealed == true', action="require_approval")
    units: list[Json] = [{"unit_id": f"U-{number}", "sealed": number == 4} for number in range(1, 5)]
    facts = [read("get_unit", one, f"f{place}", unit_id=f"U-{place + 1}") for place, one in enumerate(units)]
    call = change("import_readings", {"readings": [*_READINGS, *rows]})
    asked = request([most, sealed], [call], facts)
    found = evaluate(asked)
    assert (found.requires_approval or found.escalate) is asks
    assert len({rule.rule_id for rule in found.triggered_rules}) == len(found.triggered_rules)
    before = asked.model_copy(update={"calls": tuple(one.model_copy(update={"rows": ()}) for one in asked.calls)})
    assert evaluate(before).escalate, "a service that does not know rows lets nothing through"


def test_a_row_is_summed_with_another_call_on_its_record() -> None:
    rows: JsonObject = {"credits": [_ROW, {**_ROW, "account": "RA-8"}]}
    assert _asks("post_credits", rows, {"credits": [{**_ROW, "account": "RA-8"}]}, limit="cents > 300")
    assert not _asks("post_credits", rows, {"credits": [{**_ROW, "account": "RA-9"}]}, limit="cents > 300")


@each_row(
    ("condition", "asks"),
    ('tool in ["post_credit", "post_credits"] && cents > 300', True),
    ("tool == 'post_credit' && cents > 300 || tool == 'post_credits' && cents > 300", True),
    ('tool != "close_account" && cents > 300', False),
    ("cents > 300", False),
)
def test_tools_that_one_rule_names_together_share_its_limit(condition: str, asks: bool) -> None:
    limit = LIMIT.model_copy(update={"condition": condition})
    calls = [change("post_credit", _ROW, "c1"), change("post_credits", {"credits": [{**_ROW, "cents": 150}]}, "c2")]
    assert evaluate(request([limit], calls, ())).requires_approval is asks


@each_row("party", {"payer": "Maeve O'Sullivan"}, {"to": 8101}, {"for": {"holder_name": "Ann"}}, {"tenant_id": 3})
def test_what_is_made_for_one_party_is_summed_though_no_read_knows_it(party: JsonObject) -> None:
    assert _asks(*_two("add_fee", {**party, "title": "Lift"}, {**party, "title": "Heating"}))
    assert not _asks(*_two("add_fee", {**party, "customer_id": 7}, {**party, "customer_id": 8}))


@each_row("word", ["tenant", "request", "session", "thread"])
def test_what_mostly_names_the_request_is_a_record_where_a_tool_reads_such(word: str) -> None:
    box = tools(tool(f"get_{word}", ToolClass.READ), tool("create_fee", ToolClass.CHANGE))
    ours: JsonObject = {f"{word}_id": 8101, "title": "Lift"}
    for some in (box, None):
        assert _asks(*_two("create_fee", ours, {**ours, "title": "Heating"}), box=some)
        assert not _asks(*_two("create_fee", ours, {f"{word}_id": 8102}), box=some)
    both = tuple(read(f"get_{word}", {"id": key}, f"f{key}", **{f"{word}_id": key}) for key in (8101, 8102))
    assert not _asks(*_two("set_fee", ours, {f"{word}_id": 8102}), facts=both, box=box)
    assert _asks(*_two("set_fee", {"payee": "Ann", f"{word}_id": 1}, {"payee": "Ann", f"{word}_id": 2}), box=box)


def test_calls_that_stay_within_the_limit_together_ask_nobody() -> None:
    some: list[JsonObject] = [{"invoice_no": 5012, "amount": amount} for amount in (90, 80, 80)]
    assert not _asks("issue_credit", *some)
    assert _asks("issue_credit", *some, {"invoice_no": 5012, "amount": 1})


@each_row(("pieces", "asks"), [((140, 60), True), ((80, 60), False)])
def test_pieces_whose_amounts_were_calculated_are_summed(pieces: tuple[int, ...], asks: bool) -> None:
    """Each piece is proven, and the record has an amount of its own: neither stands in for the sum."""
    limit = LIMIT.model_copy(update={"condition": "amount > 150"})
    calls = [change("waive_charge", {"charge_id": "C-1", "amount": one}, f"c{one}") for one in pieces]
    values = [NamedValue(name=f"v{one}", operation="difference", operands=(), value=str(one)) for one in pieces]
    facts = [read("list_charges", {"charges": [{"id": "C-1", "amount": 260, "waived": 0}, {"id": "C-2", "amount": 1}]})]
    found = evaluate(request([limit], calls, facts, values=values))
    assert found.requires_approval is asks
    assert {rule.call_id for rule in found.triggered_rules} == ({call.call_id for call in calls} if asks else set())


@each_row("name", ["reward", "loan", "credit"])
def test_an_amount_called_as_its_tool_is_no_identifier_but_what_is_summed(name: str) -> None:
    """Two of one amount are for two people; two amounts for one are a split."""
    tool_name, limit = f"pay_{name}", f"{name} > 250"
    assert _asks(tool_name, {"payee": "Ann Lee", name: 150}, {"payee": "Ann Lee", name: 140}, limit=limit)
    assert not _asks(tool_name, {"employee_id": "E-1", name: 150}, {"employee_id": "E-2", name: 150}, limit=limit)


def test_a_value_in_a_currency_is_an_amount_and_a_notice_counts() -> None:
    voucher: JsonObject = {"invoice_no": "INV-1", "valueCents": 8_000}
    limit = LIMIT.model_copy(update={"condition": "valueCents > 15000"})
    rows: JsonObject = {"vouchers": [voucher, {**voucher, "valueCents": 9_000}]}
    assert evaluate(request([limit], [change("post_vouchers", rows)], ())).requires_approval
    told = [
        change("email_voucher", {"invoice_no": "INV-1", "amount": amount}, f"c{amount}").model_copy(
            update={"tool_class": ToolClass.NOTIFY}
        )
        for amount in (150, 140)
    ]
    assert evaluate(request([LIMIT], told, ())).requires_approval


@each_row("field", "priority", "max_price", "percent", "total")
def test_what_is_no_amount_of_each_is_not_multiplied_where_an_id_stands_twice(field: str) -> None:
    limit = LIMIT.model_copy(update={"condition": f"{field} > 100"})
    call = change("order_products", {"product_ids": ["P-1", "P-1"], field: 90})
    assert evaluate(request([limit], [call], ())).passed


@each_row(("second", "passes"), (1700, True), (1701, False))
def test_rows_for_several_records_are_held_against_each_ones_own_field_and_not_the_greatest_sum(
    second: int, passes: bool
) -> None:
    over = Rule(id="OVER", condition='tool == "settle_claims" && amount > assessed', action="block")
    facts = [read("get_claim", {"id": f"C-{one}", "assessed": one}, f"f{one}", id=f"C-{one}") for one in (650, 1700)]
    rows: JsonObject = {"claims": [{"claim_id": "C-650", "amount": 650}, {"claim_id": "C-1700", "amount": second}]}
    assert evaluate(request([over], [change("settle_claims", rows)], facts)).passed is passes


@each_row(
    "first",
    {"claim_id": "C-650", "lines": [{"amount": 350}, {"amount": 351}]},
    {"claim_id": "C-650", "amount": 701, "lines": [{"amount": 350}, {"amount": 351}]},
    {"claim_ids": ["C-650", "C-650"], "amount": 351},
)
def test_what_the_rows_of_one_record_come_to_is_held_against_it_beside_a_greater_row(first: JsonObject) -> None:
    over = Rule(id="OVER", condition='tool == "settle_claims" && amount > assessed', action="block")
    facts = [read("get_claim", {"id": f"C-{one}", "assessed": one}, f"f{one}", id=f"C-{one}") for one in (650, 1700)]
    rows: JsonObject = {"claims": [first, {"claim_id": "C-1700", "amount": 1700}]}
    assert not evaluate(request([over], [change("settle_claims", rows)], facts)).passed
