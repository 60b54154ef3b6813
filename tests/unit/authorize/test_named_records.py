"""What a call names is read before it is judged, and its figures are of the record that it names."""

from decimal import Decimal

import pytest

from services.executor.core.plan.named_reads import find_missing_reads, find_records_not_found
from services.executor.core.process.figures import compute_figures
from services.executor.core.records.binding import bind_fields, build_call_view
from services.executor.core.session.values import Fact, NamedValue, Operand
from services.executor.core.states.machine import BUILT_IN_TEMPLATES
from services.executor.core.tools.record_tree import NO_RECORD_KEYS
from services.executor.ports.tools import Tool
from services.policy.core.evaluate import evaluate
from shared.contracts.policy import CallContext, Policy, Rule
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.unit.authorize.verdicts import change, read, request, verdict
from tests.unit.executor_core.makers import from_fact, from_task, from_value, plan, tool, tools, value


def _tool(name: str, kind: ToolClass = ToolClass.READ, /, **types: str) -> Tool:
    properties: dict[str, Json] = {key: {"type": said} for key, said in types.items()}
    return tool(name, kind, {"type": "object", "properties": properties, "required": [*types]})


_GET = _tool("get_claim", claim_id="string")
_OTHERS = (_tool("get_receipt", claim_id="string"), _tool("get_claim_history", claim_id="string", since="string"))


def _wanted(
    call: JsonObject,
    *readers: Tool,
    facts: tuple[Fact, ...] = (),
    named: str = "approve_claim",
    rule: Rule | None = None,
) -> object:
    write, policies = tool(named, ToolClass.CHANGE), (Policy(id="house", rules=(rule,)),) if rule else ()
    found = find_missing_reads(plan(change(named, call)), tools(write, *readers), facts, policies)
    return [(one.tool.name, one.arguments) for one in found]


@pytest.mark.promise("policy.named_records_are_read")
@each_row(
    ("call", "readers", "expected"),
    ({"claim_id": "C-1"}, (*_OTHERS, _GET), [("get_claim", {"claim_id": "C-1"})]),
    ({"claim_ids": ["C-1", "C-2"]}, (_GET,), [("get_claim", {"claim_id": one}) for one in ("C-1", "C-2")]),
    ({"claim_id": "7"}, (_tool("get_claim", id="integer"),), [("get_claim", {"id": 7})]),
    ({"claim_id": "C-1"}, (_tool("list_claims"), *_OTHERS), [("list_claims", {})]),
    ({"claim_id": {"$ref": "c0.id"}}, (_GET,), []),
    ({"note": "C-1 is fine"}, (_GET,), []),
)
def test_the_read_of_the_named_kind_is_asked_for_its_identifier(
    call: JsonObject, readers: tuple[Tool, ...], expected: list[tuple[str, JsonObject]]
) -> None:
    assert _wanted(call, *readers) == expected


@pytest.mark.promise("policy.named_records_are_read")
def test_what_was_read_is_not_read_again_nor_what_was_looked_for_in_vain() -> None:
    elsewhere = read("list_claims", [{"id": "C-1"}])
    in_vain = read("get_claim", {"error": "none"}, claim_id="C-1").model_copy(update={"ok": False})
    other = read("get_claim", {"id": "C-2"}, claim_id="C-2")
    assert [_wanted({"claim_id": "C-1"}, _GET, facts=(one,)) for one in (elsewhere, in_vain)] == [[], []]
    assert _wanted({"claim_id": "C-1"}, _GET, facts=(other,)) == [("get_claim", {"claim_id": "C-1"})]


@pytest.mark.promise("policy.named_records_are_read")
def test_each_kind_that_a_call_names_is_read_of_its_own_server_and_a_proof_serves_where_nothing_shows_it() -> None:
    elsewhere = _tool("get_person", employee_id="string")._replace(connection_id="branch")
    readers = (_GET, _tool("get_employee", employee_id="string"), elsewhere)
    call: JsonObject = {"claim_id": "C-1", "employee_id": "E-1", "reason": "fine"}
    assert _wanted(call, *readers) == [("get_claim", {"claim_id": "C-1"}), ("get_employee", {"employee_id": "E-1"})]
    write = _tool("approve_claim", ToolClass.CHANGE, claim_id="string")
    write = write._replace(catalogue=CatalogueEntry(read_back="show_status"))
    proof, planned = _tool("show_status", claim_id="string"), plan(change("approve_claim", {"claim_id": "C-1"}))
    for some, read_by in (((proof, _GET), "get_claim"), ((proof,), "show_status")):
        found = find_missing_reads(planned, tools(write, *some), ())
        assert [(one.tool.name, one.arguments) for one in found] == [(read_by, {"claim_id": "C-1"})]
    unfound = read("show_status", {"found": False}, claim_id="C-1")
    assert not find_records_not_found(planned, tools(write, proof), [unfound])


@pytest.mark.promise("policy.unfound_records_stop")
@each_row(
    ("result", "is_ok", "is_stopped"),
    ({"found": False, "error": "no such claim"}, True, True),
    ("claim C-1 was not found", False, True),
    ({"id": "C-1", "amount": 3}, True, False),
    ("permission denied", False, False),
    ("internal server error", False, False),
)
def test_a_record_that_its_own_read_does_not_find_stops_the_call(result: Json, is_ok: bool, is_stopped: bool) -> None:
    fact = read("get_claim", result, claim_id="C-1").model_copy(update={"ok": is_ok})
    write = tool("approve_claim", ToolClass.CHANGE)
    found = find_records_not_found(plan(change("approve_claim", {"claim_id": "C-1"})), tools(write, _GET), (fact,))
    assert [*found] == (["c1"] if is_stopped else [])


@pytest.mark.promise("policy.unfound_records_stop")
def test_what_no_read_was_asked_for_and_what_a_call_makes_stop_nothing() -> None:
    writes = (tool("approve_claim", ToolClass.CHANGE), tool("create_claim", ToolClass.CHANGE))
    empty = read("get_claim", [], claim_id="C-1")
    approves = plan(change("approve_claim", {"claim_id": "C-1"}))
    makes = plan(change("create_claim", {"claim_id": "C-1"}))
    assert not find_records_not_found(approves, tools(*writes), (empty,))
    assert not find_records_not_found(approves, tools(*writes, _GET), ())
    assert not find_records_not_found(makes, tools(*writes, _GET), (empty,))


_EXPENSES = BUILT_IN_TEMPLATES["expense_approval"]
_TASK = "Approve EXP-1"
_CLAIM: JsonObject = {"id": "EXP-1", "department": "Ops", "amount": "700.00"}
_OTHER: JsonObject = {"id": "EXP-2", "department": "Ops", "amount": "5.00"}
_BUDGET: JsonObject = {"id": "BUD-1", "department": "Ops", "available": "600.00"}


def _call(key: str, *shown: tuple[str, Json], values: tuple[NamedValue, ...] = ()) -> CallContext:
    facts = [read(tool, result, f"f{place}") for place, (tool, result) in enumerate(shown)]
    own = (*compute_figures(_EXPENSES, facts, _TASK, NO_RECORD_KEYS).values, *values)
    return request((), [change("approve_expense", {"expense_id": key})], facts, _EXPENSES, own, _TASK).calls[0]


@pytest.mark.promise("process.figures_bind")
@each_row(
    "shown",
    (("get_expense", _CLAIM), ("get_budget", _BUDGET)),
    (("list_expenses", {"EXP-1": {**_CLAIM}, "EXP-2": _OTHER}), ("list_budgets", {"BUD-1": _BUDGET})),
    (("get_expense", {"id": "EXP-1", "department": "Ops", "totals": {"amount": "700.00"}}), ("get_budget", _BUDGET)),
    (("get_expense", _CLAIM), ("get_budget", {"id": "BUD-1", "department": "Ops", "details": {"left": "600.00"}})),
    (("get_expense", {"id": "EXP-1", "department": "Ops", "totalAmount": "700.00"}), ("get_budget", _BUDGET)),
)
def test_a_figure_is_found_in_any_shape_and_judges_the_call_that_names_its_record(
    shown: tuple[tuple[str, Json], ...],
) -> None:
    assert _call("EXP-1", *shown).fields["figures"] == {"budget_after": Decimal("-100.00")}


@pytest.mark.promise("process.figures_bind")
def test_a_figure_of_one_record_judges_no_call_about_another() -> None:
    shown: tuple[tuple[str, Json], ...] = (("list_expenses", [_CLAIM, _OTHER]), ("get_budget", _BUDGET))
    assert "figures" not in _call("EXP-2", *shown).fields
    assert "figures" not in _call("EXP-3", *shown).fields


@pytest.mark.promise("process.calculated_stands_in")
@each_row(("name", "key", "known"), [
    ("budget_after", "EXP-1", True),
    ("budget_after_exp_1", "EXP-1", True),
    ("budget_after", "EXP-2", False),
    ("what_is_left", "EXP-1", False),
])  # fmt: skip
def test_a_calculated_value_of_a_missing_figures_name_stands_in_for_it(name: str, key: str, known: bool) -> None:
    """No budget was read by that name; the model worked the figure out from what there is of the claim."""
    operand = Operand(source="result", ref="f0", path="amount")
    value = NamedValue(name=name, operation="difference", operands=(operand,), value="-100.00")
    call = _call(key, ("get_expense", _CLAIM), values=(value,))
    assert call.fields.get("figures") == ({"budget_after": Decimal("-100.00")} if known else None)


@pytest.mark.promise("policy.binding")
@each_row(
    ("name", "operand", "decided"),
    [
        ("held", from_fact("rent"), True),
        ("held", from_task("2400"), False),
        ("held", from_value("sum"), False),
        ("most", from_fact("rent"), False),
    ],
)
def test_a_calculated_value_decides_a_rule_by_what_was_read_alone_and_is_no_constant(
    name: str, operand: Operand, decided: bool
) -> None:
    """A model that read no deposit may say what it likes of it; nor does it set a limit that came with the policy."""
    values = [value("sum", "sum", "9", from_task("9")), value(name, "sum", "2400.00", operand)]
    rule = Rule(id="HELD", condition=f'tool == "release_deposit" && refund > {name}', action="block")
    lease, refund = read("get_lease", {"lease_id": "L-7", "rent": 1200}), 1200
    policy = Policy(id="house", rules=(rule,), context={"most": 1000})
    asked = request(
        [], [change("release_deposit", {"lease_id": "L-7", "refund": refund})], [lease], values=values, policy=policy
    )
    assert (name in asked.calls[0].fields) is decided
    assert evaluate(asked).passed is decided


@pytest.mark.promise("process.asks_nobody")
@each_row("process", [*BUILT_IN_TEMPLATES])
def test_no_process_asks_over_a_change_of_which_it_knows_nothing(process: str) -> None:
    """Whatever it would have decided by: nothing was read, and its rules are silent."""
    found = verdict((), [change("update_thing", {"thing_id": "T-1"})], [], BUILT_IN_TEMPLATES[process])
    assert (found.passed, found.requires_approval) == (True, False)


_HELD = Rule(id="HELD", condition='tool == "discharge_stay" && hold == true', action="block")
_ANY_HELD = Rule(id="HELD", condition="hold == true", action="block")
_STAY, _SUPPLIER = _tool("get_stay", stay_id="string"), _tool("get_supplier", supplier_id="string")
_ROWS: Json = {"stays": [{"stay_id": "S-1", "patient_id": "P-1"}, {"stay_id": "S-2", "patient_id": "P-2"}]}
_IN_LIST = (read("list_stays", _ROWS), read("get_patient", {"patient_id": "P-1", "hold": False}, patient_id="P-1"))
_BY_ITSELF = (read("get_stay", {"stay_id": "S-1", "patient_id": "P-1"}, stay_id="S-1"), *_IN_LIST[1:])
_LINES: Json = {"order_id": "O-1", "supplier_id": "73", "lines": [{"sku": "A-7", "packs": 3}]}
_ARTICLE: JsonObject = {"sku": "A-7", "label": "gloves", "supplier_id": "73", "hold": False}
_ORDERED = (read("get_order", _LINES, order_id="O-1"), read("get_item", _ARTICLE, sku="A-7"))
_PLACED = Rule(id="HELD", condition='tool == "place_order" && hold == true', action="block")
_SHORT: Json = {"hits": [{"supplier_id": "72", "hold": False}, {"supplier_id": "73", "name": "Glovers"}]}


@pytest.mark.promise("policy.nearest_is_read")
@each_row(
    ("facts", "rule", "expected"),
    (_IN_LIST, _HELD, [("get_stay", {"stay_id": "S-1"})]),  # of the stay only a row was seen
    (_IN_LIST, _ANY_HELD, [("get_stay", {"stay_id": "S-1"})]),
    (_IN_LIST, Rule(id="x", condition='tool == "bill_stay" && hold == true', action="block"), []),
    (_IN_LIST, Rule(id="x", condition="patient_id == 'P-9'", action="block"), []),  # the row has it
    (_BY_ITSELF, _HELD, []),
)
def test_a_record_that_only_a_list_showed_is_read_before_a_field_is_taken_from_another(
    facts: tuple[Fact, ...], rule: Rule, expected: list[tuple[str, JsonObject]]
) -> None:
    call: JsonObject = {"stay_id": "S-1"}
    assert _wanted(call, _STAY, facts=facts, named="discharge_stay", rule=rule) == expected


@pytest.mark.promise("policy.nearest_is_read")
@each_row(
    ("facts", "rule", "expected"),
    (_ORDERED, _PLACED, [("get_supplier", {"supplier_id": "73"})]),  # nearer than the article, which was read
    (_ORDERED, Rule(id="x", condition="hold == true", action="block"), [("get_supplier", {"supplier_id": "73"})]),
    (_ORDERED[:1], Rule(id="x", condition="hold == true", action="block"), []),  # nobody has such a field
    # a row without the field is no reading of the record
    ((*_ORDERED[:1], read("find_suppliers", _SHORT, "f9")), _PLACED, [("get_supplier", {"supplier_id": "73"})]),
    (
        (*_ORDERED[:1], read("find_suppliers", _SHORT, "f9")),
        Rule(id="x", condition='tool == "place_order" && terms.hold', action="block"),  # which it may hold
        [("get_supplier", {"supplier_id": "73"})],
    ),
    (  # two steps away: the order's contract, and its supplier
        (
            read("get_order", {"order_id": "O-1", "contract_id": "K-1"}, order_id="O-1"),
            read("get_contract", {"contract_id": "K-1", "supplier_id": "73"}, contract_id="K-1"),
        ),
        _PLACED,
        [("get_supplier", {"supplier_id": "73"})],
    ),
    (  # which only a record leads to that was not read by itself
        (read("list_orders", [{"order_id": "O-1", "lines": 3}]), read("get_clerk", {"clerk_id": "K-1"}, "f2")),
        Rule(id="x", condition='tool == "place_order" && supplier.hold', action="block"),
        [("get_order", {"order_id": "O-1"})],
    ),
)
def test_a_record_to_which_the_named_one_leads_is_read_before_a_field_is_taken_from_further_away(
    facts: tuple[Fact, ...], rule: Rule, expected: list[tuple[str, JsonObject]]
) -> None:
    readers = (_SUPPLIER, _tool("get_order", order_id="string"))
    assert _wanted({"order_id": "O-1"}, *readers, facts=facts, named="place_order", rule=rule) == expected


@pytest.mark.promise("policy.binding")
@each_row(
    ("called", "fact", "is_it"),
    ({"sku": "A-1046"}, read("list_assets", [{"sku": "A-1046", "worth": 5}, {"sku": "A-7"}]), True),
    ({"device_id": "D-1", "serial": "SN-2"}, read("get_asset", {"id": "D-2", "serial": "SN-2", "worth": 5}), False),
    ({"sku": "A-1"}, read("list_assets", [{"sku": "A-1046", "worth": 5}]), False),
    ({"employee": "E-1"}, read("get_shift", {"employee": "E-1", "worth": 5}, employee="E-1"), False),  # his shift
    (
        {"supplier_id": "73"},
        read("lookup", {"order_id": "O-1", "supplier_id": "73", "worth": 5}, supplier_id="73"),
        False,
    ),
)
def test_a_record_is_called_by_its_own_number_and_not_by_that_of_another(
    called: JsonObject, fact: Fact, is_it: bool
) -> None:
    tool = "suspend_employee" if "employee" in called else "pay_supplier" if "supplier_id" in called else "retire_asset"
    assert (bind_fields(build_call_view(tool, called, (fact,)), ["worth"]).fields.get("worth") == 5) is is_it


@pytest.mark.promise("policy.binding")
def test_an_article_that_is_known_by_its_sku_is_not_its_supplier() -> None:
    """It names its supplier, and the call names the article by the argument by which it was read."""
    supplier = read("get_supplier", {"supplier_id": "73", "hold": True}, supplier_id="73")
    for facts in ((*_ORDERED, supplier), (supplier, *_ORDERED)):
        assert bind_fields(build_call_view("place_order", {"order_id": "O-1"}, facts), ["hold"]).fields["hold"] is True
    for sku in ("A-7", "GLV-M"):
        article = read("get_item", {**_ARTICLE, "sku": sku}, sku=sku)
        moved = build_call_view("move_stock", {"sku": sku, "to_site": "HL"}, (article,))
        assert bind_fields(moved, ["hold"]).fields["hold"] is False


def test_the_record_that_a_notice_names_is_read_where_a_rule_asks_a_field_of_it() -> None:
    notice = tool("send_message", ToolClass.NOTIFY)
    rule = Rule(id="no-contact", condition='tool == "send_message" && do_not_contact', action="block")
    call = change("send_message", {"claim_id": "C-1"}).model_copy(update={"tool_class": ToolClass.NOTIFY})
    for policies, expected in (((Policy(id="house", rules=(rule,)),), [{"claim_id": "C-1"}]), ((), [])):
        assert [one.arguments for one in find_missing_reads(plan(call), tools(notice, _GET), (), policies)] == expected
