"""What a rule's field is bound to: the argument, else the named record, else the nearest one that it leads to."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from services.executor.core.records.binding import BoundFields, bind_fields, build_call_view
from services.executor.core.session.values import Fact
from services.executor.core.tools.record_tree import NO_RECORD_KEYS, RecordKeys
from services.policy.core.evaluate import evaluate
from shared.contracts.policy import Policy, Rule
from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row
from tests.unit.authorize.verdicts import change, is_let_through, read, request, verdict

pytestmark = pytest.mark.promise("policy.binding")

_CLAIM: JsonObject = {"id": "C-1", "employee_id": "E-1", "amount": Decimal("50.00")}
_CALL: JsonObject = {"claim_id": "C-1"}


def _bound(
    *facts: Fact, tool: str = "approve_claim", call: JsonObject = _CALL, asked: tuple[str, ...] = ()
) -> BoundFields:
    return bind_fields(build_call_view(tool, call, facts), asked)


def test_the_argument_goes_before_the_record_and_that_before_those_it_leads_to() -> None:
    facts = [
        read("get_department", {"id": "D-1", "amount": 3, "grade": 9, "frozen": False, "city": "Rome"}, "f1"),
        read("get_employee", {"id": "E-1", "department_id": "D-1", "amount": 2, "grade": 3}, "f2"),
        read("get_claim", _CLAIM, "f3"),
    ]
    assert _bound(*facts).fields == {
        "claim_id": "C-1",
        "id": "C-1",
        "employee_id": "E-1",
        "department_id": "D-1",
        "amount": Decimal("50.00"),
        "grade": 3,
        "frozen": False,
        "city": "Rome",
    }
    assert _bound(*facts, call={**_CALL, "amount": 7}).fields["amount"] == 7
    assert _bound(*facts, call={**_CALL, "amount": 7}).recorded["amount"] == Decimal("50.00")


def test_an_argument_that_is_only_an_alias_does_not_hide_the_named_records_own_field() -> None:
    invoice = read("get_invoice", {"invoice": {"id": "I-1", "figures": {"total": 24_800, "paid": 0}}}, "f1")
    half: JsonObject = {"invoice_id": "I-1", "amount": 12_400}
    bound = _bound(invoice, tool="pay_invoice", call=half, asked=("total",))
    assert bound.fields["total"] == 24_800  # what is paid of it is no total
    assert {"total": 12_400} in bound.mentioned_records  # and yet sets off a rule that it meets
    bare = read("get_invoice", {"invoice": {"id": "I-1", "paid": 0}}, "f1")
    assert _bound(bare, tool="pay_invoice", call=half, asked=("total",)).fields["total"] == 12_400


@each_row("tool", "cancel_order", "cancel_all_orders", "shop.orders/cancel")
def test_a_tool_is_about_the_same_record_however_its_name_is_written(tool: str) -> None:
    facts = [
        read("get_order", {"id": "O-1", "customer_id": "C-1", "total": 100}, "f1", order_id="O-1"),
        read("get_customer", {"id": "C-1", "total": 9999}, "f2", customer_id="C-1"),
    ]
    bound = _bound(*facts, tool=tool, call={"order_id": "O-1", "customer_id": "C-1"}, asked=("total",))
    assert (bound.fields.get("total"), bound.unknown) == (100, ())


@each_row(
    "answer",
    {"application": {"file_no": "EV-5", "applicant": {"id": "AP-1"}, "visitors": 2400}},
    {"rows": [{"attended": 10, "file_no": "EV-4", "visitors": 10}, {"file_no": "EV-5", "visitors": 2400}]},
    {"visitors": 2400, "file_no": "EV-5", "permit_no": "P-1"},  # of two numbers the one that it was asked for
)
def test_a_record_that_no_word_of_its_kind_identifies_is_known_by_its_number(answer: Json) -> None:
    seen = read("get_application", answer, file_no="EV-5")

    bound = _bound(seen, tool="grant_permit", call={"file_no": "EV-5"}, asked=("visitors",))

    assert bound.fields["visitors"] == 2400
    assert _bound(seen, tool="grant_permit", call={"file_no": "EV-9"}, asked=("visitors",)).unknown == ("visitors",)


@each_row(
    ("tool", "key", "row"),
    ("refund_guest", "guest_id", {"guest_id": "G-1", "room": "12", "status": "confirmed"}),
    ("refund_guest", "guest_no", {"guest_no": "G-1", "room": "12", "status": "confirmed"}),
)
def test_a_record_with_the_number_of_another_kind_is_not_that_one(tool: str, key: str, row: Json) -> None:
    bound = _bound(read("list_bookings", [row]), tool=tool, call={key: "G-1", "amount": 5}, asked=("status",))

    assert "status" not in bound.fields


@each_row(
    "answer",
    {"id": 901, "disputed": False},
    {"result": {"invoice": {"id": 901, "disputed": False}}},
    {"invoices": [{"id": 901, "disputed": False}, {"id": 902, "disputed": True}]},
)
def test_a_record_of_another_kind_by_the_words_before_the_last_is_not_the_called_one(answer: Json) -> None:
    """Both kinds count from one on: rent invoice 901 is no repair invoice 901."""
    other, own = read("get_rent_invoice", answer, "f1"), read("get_repair_invoice", {"id": 901, "disputed": True}, "f2")

    readers = RecordKeys(read_tools=frozenset({"get_rent_invoice", "get_repair_invoice"}))

    def bound(tool: str, *facts: Fact, call: JsonObject | None = None) -> BoundFields:
        return bind_fields(build_call_view(tool, call or {"invoice_id": 901}, facts, readers), ("disputed",))

    within: list[JsonObject] = [
        {"rows": [{"invoice_id": 901}]},
        {"invoice": {"id": 901}},
        {"payment": {"invoice_id": 901}},
    ]
    for call in within:
        assert "disputed" not in bound("pay_repair_invoice", other, call=call).fields
        assert bound("pay_repair_invoice", other, own, call=call).fields["disputed"] is True
    assert bound("pay_repair_invoice", other).unknown == ("disputed",)
    assert bound("pay_repair_invoice", other, own).fields["disputed"] is True
    assert bound("pay_rent_invoice", other, own).fields["disputed"] is False
    for tool in ("pay_invoice", "pay_overdue_invoice"):
        assert bound(tool, other).fields["disputed"] is False


def test_a_record_of_another_kind_with_the_same_id_is_not_the_called_one_where_tools_read_such() -> None:
    lease = read("get_lease", {"lease": {"id": "L-1", "frozen": False}})
    shown = read("get_deposit", {"record": {"case": {"id": "L-1", "frozen": True}}}, "f2")
    readers = RecordKeys(read_tools=frozenset({"get_deposit", "get_lease"}))

    def bound(keys: RecordKeys, *facts: Fact) -> BoundFields:
        return bind_fields(build_call_view("return_deposit", {"deposit_id": "L-1"}, facts, keys), ("frozen",))

    assert "frozen" not in bound(readers, lease).fields
    assert bound(readers, lease, shown).fields["frozen"] is True
    assert bound(NO_RECORD_KEYS, lease).fields["frozen"] is False


_PATRON: JsonObject = {
    "patron_id": 7,
    "account": {"blocked": False, "fees": {"owed": 3}},
    "guardian": {"name": "Ann", "adult": True},
}
_PATRONS = (
    read("get_loan", {"loan_id": "L-1", "patron_id": 7}, "f1", loan_id="L-1"),
    read("get_patron", {"patron": _PATRON}, "f2", patron_id=7),
    read(
        "get_patron", {"patron": {"patron_id": 8, "account": {"blocked": True, "fees": {"owed": 9}}}}, "f3", patron_id=8
    ),
)


@pytest.mark.parametrize(("tool", "call"), [("renew_loan", {"loan_id": "L-1"}), ("extend_patron", {"patron_id": 7})])
@each_row(
    ("asked", "value"),
    ("patron.blocked", None),  # whose object it is, only a path says
    ("patron.account.blocked", False),
    ("account.blocked", False),
    ("patron.owed", None),
    ("account.fees.owed", 3),
    ("patron.guardian.adult", True),
    ("patron.adult", None),  # the guardian's own
    ("patron.fees.blocked", None),
)
def test_a_dot_goes_into_the_record_of_that_kind_and_into_the_objects_within_it(
    asked: str, value: Json, tool: str, call: JsonObject
) -> None:
    def find_value(*facts: Fact) -> Json:
        found: Json = {**_bound(*facts, tool=tool, call=call, asked=(asked,)).fields}
        for step in asked.split("."):
            found = found.get(step) if isinstance(found, dict) else None
        return found

    assert find_value(*_PATRONS) == find_value(*_PATRONS[:2]) == value
    assert find_value(_PATRONS[0], _PATRONS[2]) is None
    row = read("find_patrons", [{"patron_id": 7, "since": 2019}], "f4")
    assert find_value(_PATRONS[0], row, _PATRONS[2]) is None


@each_row(
    ("flags", "value"),
    ({"hot": {"locked": True}}, True),
    ([{"hot": {"locked": True}}], None),
    (None, None),
    ({"h1": {"locked": True}, "h2": {"locked": False}}, None),
)
def test_a_path_steps_over_no_record_that_has_its_first_step_in_another_shape(flags: Json, value: Json) -> None:
    order = read("get_order", {"order_id": "O-1", "customer_id": "K-1", "flags": flags}, "f1", order_id="O-1")
    customer = read(
        "get_customer", {"customer_id": "K-1", "flags": {"hot": {"locked": False}}}, "f2", customer_id="K-1"
    )
    fields = _bound(order, customer, tool="cancel_order", call={"order_id": "O-1"}, asked=("flags.hot.locked",)).fields
    found = fields.get("flags")
    hot = found.get("hot") if isinstance(found, dict) else None
    assert (hot.get("locked") if isinstance(hot, dict) else None) is value


@each_row("other", [None, False, True])
def test_a_record_as_near_as_the_one_that_has_a_field_may_say_otherwise(other: bool | None) -> None:
    """Both leases lead to a unit; that of the second nobody read, or it says the same, or not."""
    facts = [
        read("get_lease", {"lease_id": "L-1", "unit_id": "U-1"}, "f1", lease_id="L-1"),
        read("get_lease", {"lease_id": "L-2", "unit_id": "U-2"}, "f2", lease_id="L-2"),
        read("get_unit", {"unit_id": "U-1", "sealed": False}, "f3", unit_id="U-1"),
    ]
    facts += [] if other is None else [read("get_unit", {"unit_id": "U-2", "sealed": other}, "f4", unit_id="U-2")]
    bound = _bound(*facts, tool="swap_leases", call={"lease_ids": ["L-1", "L-2"]}, asked=("sealed", "unit.sealed"))
    assert ("sealed" in bound.fields, bound.unknown) == (
        (True, ()) if other is False else (False, ("sealed", "unit.sealed"))
    )


@each_row(
    ("row", "known"), ({}, False), ({"state": "open"}, True), ({"state": "disputed"}, False), ({"state": None}, False)
)
def test_a_called_record_of_which_only_a_row_without_the_field_was_seen_may_say_otherwise(
    row: JsonObject, known: bool
) -> None:
    whole = read("get_invoice", {"invoice_id": "I-1", "state": "open"}, "f1", invoice_id="I-1")
    listed = read("list_invoices", {"invoices": [{"invoice_id": "I-1"}, {"invoice_id": "I-2", **row}]}, "f2")
    asked = ("state", "invoice.state")
    bound = _bound(whole, listed, tool="payment_run", call={"invoice_ids": ["I-1", "I-2"]}, asked=asked)
    assert ("state" in bound.fields, bound.unknown) == ((True, ()) if known else (False, asked))


@each_row(
    ("answer", "asked", "known"),
    ({"held": "5.00"}, {"lease_id": "L-1"}, True),
    ({"deposit": {"id": 9, "held": "5.00"}}, {"lease_id": "L-1"}, True),
    ({"held": "5.00"}, {"lease_id": "L-2"}, False),
    ({"deposits": [{"held": "5.00"}, {"held": "6.00"}]}, {"lease_id": "L-1"}, False),
)
def test_a_record_that_goes_by_its_holders_key_is_the_called_one(answer: Json, asked: JsonObject, known: bool) -> None:
    lease = read("get_lease", {"lease_id": "L-1", "rent": 845}, "f1", lease_id="L-1")
    deposit, call = read("get_deposit", answer, "f2", **asked), {"lease_id": "L-1", "refund": "1.00"}
    bound = _bound(lease, deposit, tool="release_deposit", call={**call}, asked=("held",))
    assert bound.fields.get("held") == ("5.00" if known else None)


def test_what_was_read_about_a_record_still_speaks_for_it_where_it_has_its_number() -> None:
    facts = [
        read("get_customer", {"customer_no": "C-7", "name": "Ann"}, "f1"),
        read("get_screening", {"customer_no": "C-7", "result": "hit"}, "f2", customer_no="C-7"),
    ]
    assert _bound(*facts, tool="pay_customer", call={"customer_no": "C-7"}, asked=("result",)).fields["result"] == "hit"


def test_a_part_of_the_named_record_is_its_own_though_the_tool_is_called_after_it() -> None:
    lease = read("get_lease", {"lease": {"id": "L-1", "deposit": {"held": 90, "status": "disputed"}}}, "f1")
    other = read("get_deposit", {"deposit": {"id": "D-9", "status": "held"}}, "f2")
    call: JsonObject = {"lease_id": "L-1", "amount": 5}
    bound = _bound(lease, other, tool="pay_out_deposit", call=call, asked=("deposit.status",))
    assert (bound.fields["deposit"], bound.unknown) == ({"status": "disputed"}, ())
    listed = read("get_lease", {"lease": {"id": "L-1", "deposits": [{"status": "disputed"}, {"status": "held"}]}}, "f1")
    assert "deposit" not in _bound(listed, tool="pay_out_deposit", call=call, asked=("deposit.status",)).fields


def test_three_steps_are_too_far() -> None:
    facts = [
        read("get_claim", _CLAIM, "f1"),
        read("get_employee", {"id": "E-1", "department_id": "D-1"}, "f2"),
        read("get_department", {"id": "D-1", "company_id": "CO-1"}, "f3"),
        read("get_company", {"id": "CO-1", "listed": True}, "f4"),
    ]
    assert "listed" not in _bound(*facts).fields
    assert _bound(*facts[1:], tool="raise_employee", call={"employee_id": "E-1"}).fields["listed"] is True


@each_row(
    ("tool", "result", "call"),
    ("get_claim", {"claim": {"id": "C-1", "amount": 9}}, {"claim_id": "C-1"}),
    ("get_claim", {"id": "C-1", "totals": {"totalAmount": 9}}, {"claim": "C-1"}),
    ("get_claim", {"claim_no": "C-1", "claim_amount": "9"}, {"claimNumber": "C-1"}),
    ("list_claims", {"C-1": {"amount": 9}, "C-2": {"amount": 1}}, {"claim_id": "C-1"}),
    ("list_expenses", [{"id": "7", "cost": 9}, {"id": "8", "cost": 1}], {"claim_id": 7}),
    ("get_employee", {"id": "E-1", "claims": [{"id": "C-1", "amount": 9}]}, {"payload": {"claim_id": "C-1"}}),
)
def test_a_record_is_found_wherever_it_stands_and_however_it_is_named(
    tool: str, result: Json, call: JsonObject
) -> None:
    """Nested, keyed by id, numbered, under another name; and the field under its common other names."""
    assert str(_bound(read(tool, result), call=call, asked=("amount",)).fields["amount"]) == "9"


@each_row(
    "wrap",
    lambda record: {"response": {"status": 200, "body": {"result": record}}},
    lambda record: {"success": True, "error": None, "data": record},
    lambda record: {"response": {"code": "ok", "payload": {"status": 200, "item": record}}},
)
def test_how_a_request_ended_is_no_field_of_the_record_that_it_gave(wrap: Callable[[JsonObject], JsonObject]) -> None:
    claim: JsonObject = {"claim_id": "C-1", "owner_id": "E-1", "amount": 9, "status": "blocked"}
    facts = [
        read("get_claim", wrap(claim), claim_id="C-1"),
        read("get_owner", wrap({"owner_id": "E-1", "vip": True}), "f2"),
    ]
    bound = _bound(*facts, asked=("status", "vip"))
    assert (bound.fields["status"], bound.fields["vip"], bound.recorded.get("status")) == ("blocked", True, "blocked")


@pytest.mark.parametrize("status", [7, "blocked"])
def test_a_status_that_is_no_requests_end_is_the_outer_records_own(status: Json) -> None:
    shown = read("get_claim", {"status": status, "details": {"claim_id": "C-1", "amount": 9}}, claim_id="C-1")
    assert _bound(shown, asked=("status",)).fields["status"] == status


def test_an_answer_without_an_id_is_the_record_that_was_asked_for_and_one_that_was_read_again_replaces_it() -> None:
    facts = [read("get_claim", {"amount": 9}, claim_id="C-1"), read("get_claim", {"amount": 1}, "f2", claim_id="C-2")]
    assert _bound(*facts).fields["amount"] == 9
    again = [read("get_claim", {"id": "C-1", "status": one}, f"f{one}", claim_id="C-1") for one in ("open", "paid")]
    assert _bound(*again).fields["status"] == "paid"


@each_row(
    "other",
    [read("list_claims", [_CLAIM, {"id": "C-2", "flagged": True}])],
    [read("get_claim", _CLAIM), read("get_claim", {"id": "C-2", "employee_id": "E-1", "flagged": True}, "f2")],
    [read("get_claim", _CLAIM), read("get_receipt", {"flagged": True}, "f2", claim_id="C-2")],
    [read("get_claim", _CLAIM), read("get_limits", {"flagged": True}, "f2")],
    [read("get_claim", {**_CLAIM, "duplicate_of": {"id": "C-2", "flagged": True}})],
    [read("get_claim", {"id": "C-1", "flagged": True}).model_copy(update={"ok": False})],
)
def test_a_field_of_another_record_is_not_the_calls(other: list[Fact]) -> None:
    assert "flagged" not in _bound(*other).fields


def test_what_speaks_of_the_named_record_is_near_and_what_speaks_of_another_is_not() -> None:
    scans: Json = [{"id": "R-1", "claim_id": "C-1", "scan": "ok"}, {"id": "R-2", "claim_id": "C-2", "scan": "bad"}]
    assert _bound(read("get_claim", _CLAIM), read("list_scans", scans, "f2")).fields["scan"] == "ok"


@each_row(
    ("facts", "more"),
    (  # the nearest disagree, and a farther one does not decide
        [
            read("get_claim", {**_CLAIM, "amount": 50}, "f1"),
            read("list_claims", [{"id": "C-1", "amount": 60}], "f2"),
            read("get_employee", {"id": "E-1", "amount": 70}, "f3"),
        ],
        {},
    ),
    ([read("get_claim", _CLAIM)], {"amount": {"$ref": "c0.amount"}}),  # which an earlier call will answer
    (  # other claims have an amount: that this one has none does not make its employee's count
        [
            read("list_claims", [{"id": "C-1", "employee_id": "E-1"}, {"id": "C-2", "amount": 1}], "f1"),
            read("get_employee", {"id": "E-1", "amount": 2}, "f2"),
        ],
        {},
    ),
)
def test_a_field_of_which_nobody_can_say_what_it_is_is_unknown(facts: list[Fact], more: JsonObject) -> None:
    found = _bound(*facts, call={**_CALL, **more}, asked=("amount",))
    assert ("amount" in found.fields, found.unknown) == (False, ("amount",))


def test_a_record_that_nobody_read_leaves_all_but_the_arguments_unknown() -> None:
    """So it is of a number that names the called kind itself."""
    facts = [read("get_employee", {"id": "E-1", "amount": 2, "blocked": False})]
    call: JsonObject = {"claim_id": "C-1", "employee_id": "E-1", "currency": "EUR"}
    found = _bound(*facts, call=call, asked=("amount", "blocked", "currency", "tier"))
    assert (found.fields, found.unknown) == ({**call, "id": "C-1"}, ("amount", "blocked"))
    customer, call = read("get_customer", {"id": "K-1", "total": 4}), {"order": 17, "customer_id": "K-1"}
    found = _bound(customer, tool="close_order", call=call, asked=("total",))
    assert ("total" in found.fields, found.unknown) == (False, ("total",))


@each_row(
    ("tool", "call"),
    ("create_claim", {"claim_id": "C-9", "employee_id": "E-1"}),
    ("raise_employee", {"employee_id": "E-1", "request_id": "REQ-1", "idempotency_key": "k-1"}),
)
def test_what_is_only_made_and_what_is_no_record_need_not_have_been_read(tool: str, call: JsonObject) -> None:
    assert _bound(read("get_employee", {"id": "E-1", "grade": 2}), tool=tool, call=call).fields["grade"] == 2


def test_a_dotted_field_is_that_of_the_nearest_record_of_the_kind() -> None:
    facts = [
        read("get_refund", {"id": "R-1", "order_id": "O-1", "amount": 5}, "f1"),
        read("list_orders", [{"id": "O-1", "total": 90}, {"id": "O-2", "total": 1}], "f2"),
    ]
    call: JsonObject = {"refund_id": "R-1"}
    found = _bound(*facts, tool="approve_refund", call=call, asked=("order.total", "order.tier", "customer.tier"))
    assert (found.fields["order"], found.unknown) == ({"total": 90}, ())


def test_the_tools_own_kind_goes_before_others_that_the_call_names() -> None:
    facts = [
        read("get_claim", {"id": "C-1", "amount": 8240}, "f1"),
        read("get_budget", {"id": "B-1", "amount": 86, "left": 5}, "f2"),
    ]
    found = _bound(*facts, call={"budget_id": "B-1", "claim_id": "C-1"}).fields
    assert (found["amount"], found["left"]) == (8240, 5)


def test_what_refers_to_a_record_that_the_call_leads_to_may_set_a_rule_off_and_clears_none() -> None:
    """The screening of the order's customer; not what it says of a field that somebody nearer has."""
    facts = [
        read("get_order", {"id": "O-1", "customer_id": "K-1", "amount": 8240}, "f1"),
        read("get_customer", {"id": "K-1", "tier": 1}, "f2"),
        read("list_screenings", [{"id": "S-1", "customer_id": "K-1", "sanctioned": True, "amount": 1}], "f3"),
        read("list_notes", [{"id": "N-1", "customer_id": "K-1", "order_id": "O-2", "sanctioned": False}], "f4"),
    ]
    found = _bound(*facts, tool="refund_order", call={"order_id": "O-1"}, asked=("sanctioned",))
    assert ("sanctioned" in found.fields, found.unknown) == (False, ())
    assert [one["sanctioned"] for one in found.distant_records] == [True]
    assert all("amount" not in one for one in found.distant_records)


@each_row("others", [0, 1])
def test_a_record_that_is_the_whole_answer_under_its_own_key_is_the_calls_whatever_figures_are_called(
    others: int,
) -> None:
    """``{"em_1": {...}}``; the ``new_salary`` of a tool that sets salaries is no record that nobody read."""
    rows: JsonObject = {
        f"em_{place}": {"name": f"Person {place}", "salary": 3800 + place} for place in range(1 + others)
    }
    call: JsonObject = {"employeeId": "em_0", "newSalary": 4180, "startsDate": "05/01/2026"}
    bound = _bound(read("browseEmployees", rows), tool="setSalary", call=call, asked=("salary",))
    assert (bound.fields["salary"], bound.unknown) == (3800, ())


_LEASE = read("get_lease", {"lease_id": "L-7", "rent": 845})


_EDITS: list[Callable[[int], JsonObject]] = [
    lambda rent: {"field": "rent", "value": str(rent)},
    lambda rent: {"key": "L-7", "field": "rent", "value": rent},
    lambda rent: {"ops": [{"op": "replace", "path": "/rent", "value": rent}]},
    lambda rent: {"change": {"attribute": "lease.rent", "to": rent}},
    lambda rent: {"changes": {"rent": {"from": 845, "to": rent}}},
]


@each_row("edit", _EDITS)
def test_a_field_that_a_call_edits_is_judged_as_it_is_and_as_it_will_be(edit: Callable[[int], JsonObject]) -> None:
    """A limit holds for the new rent, and a lock that an edit would take off is still there."""
    rules = [Rule(id="MOST", condition="rent > 1000", action="require_approval")]

    def asks(rent: int, before: JsonObject) -> bool:
        call = change("edit_lease", {"lease_id": "L-7", **edit(rent)})
        found = evaluate(request(rules, [call], [read("get_lease", {"lease_id": "L-7", **before})]))
        assert (found.escalate, found.problems) == (False, ())
        return found.requires_approval

    assert asks(1400, {"rent": 845})
    assert not asks(900, {"rent": 845})
    assert asks(900, {"rent": 1200})
    assert asks(1400, {"floor": 1})


def test_what_only_speaks_of_a_field_leaves_it_as_it_is() -> None:
    edits: list[JsonObject] = [{"field": "floor", "value": 2}, {"note": "rent", "value": 2}]
    for edit in edits:
        call: JsonObject = {"lease_id": "L-7", **edit}
        assert _bound(_LEASE, tool="edit_lease", call=call, asked=("rent",)).fields["rent"] == 845


@each_row(
    "edit",
    {"field": "rent", "amount": 1400},
    {"ops": [{"op": "remove", "path": "/rent"}]},
    {"ops": [{"path": "/rent", "value": 900}, {"path": "/rent", "value": 1400}]},
    {"rent": 900, "rows": [{"rent": 1400}, {"floor": 2}]},
)
def test_what_a_field_is_to_be_is_unknown_where_a_call_does_not_say_one_value(edit: JsonObject) -> None:
    bound = _bound(_LEASE, tool="edit_lease", call={"lease_id": "L-7", **edit}, asked=("rent",))
    assert bound.unknown == ("rent",)


def test_rows_below_a_total_do_not_make_it_unknown() -> None:
    call: JsonObject = {"lease_id": "L-7", "rent": 900, "rows": [{"rent": 500}, {"rent": 400}]}
    assert _bound(_LEASE, tool="edit_lease", call=call, asked=("rent",)).fields["rent"] == 900


_TWO_LEASES = [
    read("get_lease", {"lease_id": "L-7", "status": "running"}, "f1", lease_id="L-7"),
    read("get_lease", {"lease_id": "L-8", "status": "ended"}, "f2", lease_id="L-8"),
]


@each_row(
    ("given", "blocked"),
    ({"notes": [{"lease_id": "L-7"}, {"lease": "L-8"}]}, True),
    ({"notes": [{"lease_id": "L-7"}, {"document": "L-8"}]}, True),
    ({"notes": [{"lease_id": "L-7"}, {"lease": "L-7"}]}, False),
)
def test_each_row_is_judged_by_what_it_names_however_it_names_it(given: JsonObject, blocked: bool) -> None:
    ended = Rule(id="ENDED", condition='tool == "post_notes" && status == "ended"', action="block")
    found = evaluate(request([ended], [change("post_notes", given)], _TWO_LEASES))
    assert (found.blocked, found.problems) == (blocked, ())


@each_row(("notes", "blocked"), (50, False), (51, True))
def test_rows_are_judged_one_by_one_up_to_fifty_and_beyond_what_differs_among_them_is_unknown(
    notes: int, blocked: bool
) -> None:
    sold = Rule(id="SOLD", condition='status == "sold"', action="block")
    given: JsonObject = {"notes": [{"lease_id": f"L-{7 + place % 2}"} for place in range(notes)]}
    assert evaluate(request([sold], [change("post_notes", given)], _TWO_LEASES)).blocked == blocked


@each_row("argument", "amount_cents", "amount_minor_units")
def test_an_amount_in_cents_is_not_replaced_by_an_amount_from_further_away(argument: str) -> None:
    """The folio holds one charge of 300; the fee is of 1,200.00. What the folio itself says goes before."""
    folio: JsonObject = {"folio_id": 9, "charges": [{"charge_id": 1, "amount": Decimal("300.00")}]}
    call: JsonObject = {"folio_id": 9, argument: 120_000}
    bound = _bound(read("get_folio", folio), tool="post_fee", call=call, asked=("amount",))
    assert "amount" not in bound.fields
    assert bound.unknown == ("amount",)
    plain = _bound(read("get_folio", folio), tool="post_fee", call={"folio_id": 9}, asked=("amount",))
    assert plain.fields["amount"] == Decimal("300.00")
    own = _bound(read("get_folio", {**folio, "amount": 7}), tool="post_fee", call=call, asked=("amount",))
    assert own.fields["amount"] == 7


@each_row(
    "given",
    {"amount": {"value": 20_000, "currency": "EUR"}},
    {"amount": {"value": 20_000}, "tip": {"amount": 1}},
    {"lines": [{"amount": {"value": 20_000}}]},
    {"changes": {"new_amount": 20_000}},
    {"path": ["amount"], "value": 20_000},
)
def test_what_the_call_says_of_a_field_in_any_shape_is_seen_beside_what_the_record_says(given: JsonObject) -> None:
    bill = read("get_bill", {"bill_id": 7705, "amount": 980}, bill_id=7705)
    limit = Rule(id="LIMIT", condition='tool == "correct_bill" && amount > 5000', action="block")
    calls = [change("correct_bill", {"bill_id": 7705, **given})]
    assert not is_let_through(verdict([limit], calls, [bill]), calls)


@each_row(
    "given",
    {"changes": {"credit": {"limit": 200_000}}},
    {"credit": {"limit": 200_000}},
    {"path": "/credit/limit", "value": 200_000},
    {"credit_limit": {"amount": 200_000, "currency": "EUR"}},
)
def test_a_field_is_known_by_the_path_that_spells_it(given: JsonObject) -> None:
    customer = read("get_customer", {"customer_id": 71, "credit_limit": 9000}, customer_id=71)
    limit = Rule(id="LIMIT", condition='tool == "update_customer" && credit_limit > 60000', action="block")
    calls = [change("update_customer", {"customer_id": 71, **given})]
    assert not is_let_through(verdict([limit], calls, [customer]), calls)


@each_row("answer", {"carrier_id": 31, "status": "active"}, {"carrier": {"id": 31, "status": "active"}})
def test_a_read_that_answers_another_record_does_not_speak_for_the_one_asked_for(answer: Json) -> None:
    shown = read("get_carrier", answer, carrier_id=32)
    bound = _bound(shown, tool="pay_carrier", call={"carrier_id": 32}, asked=("status",))
    assert (bound.fields.get("status"), bound.unknown) == (None, ("status",))


def test_many_edits_in_other_shapes_are_judged_together() -> None:
    names = [f"field{number}" for number in range(30)]
    lease = read("get_lease", {"lease_id": 7, **dict.fromkeys(names, 1)}, lease_id=7)
    edit: JsonObject = {f"new_{name}": 2 for name in names}
    calls = [change("edit_lease", {"lease_id": 7, **edit})]
    each = [Rule(id=name, condition=f'tool == "edit_lease" && {name} > 2', action="block") for name in names]
    assert is_let_through(verdict(each, calls, [lease]), calls)
    over = Rule(id="OVER", condition='tool == "edit_lease" && field7 > 1', action="block")
    assert not is_let_through(verdict([over], calls, [lease]), calls)


_AMOUNT_9000 = read("get_payment", {"payment_id": 3, "amount": 9000, "status": "open"}, payment_id=3)


@each_row(
    ("given", "condition"),
    ({"tip": {"amount_cents": 100}}, "amount > 5000"),
    ({"new_amount": 1}, "amount > 5000"),
    ({"status": {"to": "paid"}, "lines": [{"status": "ok"}]}, 'status == "paid"'),
)
def test_what_a_call_says_beside_a_record_clears_nothing_that_the_record_sets_off(
    given: JsonObject, condition: str
) -> None:
    calls = [change("update_payment", {"payment_id": 3, **given})]
    rule = Rule(id="R", condition=f'tool == "update_payment" && {condition}', action="block")
    assert not is_let_through(verdict([rule], calls, [_AMOUNT_9000]), calls)


@each_row("tool", "disburse_loan", "recall_loan", "draft_loan")
def test_a_verb_that_nobody_knows_does_not_make_a_verb_of_the_noun(tool: str) -> None:
    loans = [read("get_loan", {"id": 7}, "f1", id=7), read("get_loan", {"id": 8, "limit": 9000}, "f2", id=8)]
    holder = read("get_customer", {"id": 3, "limit": 5}, "f3", id=3)
    bound = _bound(*loans, holder, tool=tool, call={"loan_id": 7, "customer_id": 3}, asked=("limit",))
    assert (bound.fields.get("limit"), bound.unknown) == (None, ("limit",))


@each_row(
    ("given", "facts"),
    ({"credit_limit": {"x": 99_999}}, [_AMOUNT_9000]),
    ({"a": {"credit": {"limit": 99_999}}, "b": {"credit": {"limit": 99_998}}}, [_AMOUNT_9000]),
    ({"rows": [{"new_credit_limit": 99_999}]}, [_AMOUNT_9000]),
    ({"amount_cents": 100}, [read("list_payments", [{"payment_id": 3, "status": "open"}])]),
    ({"new_amount": 1}, [read("get_payment", {"payment_id": 3, "status": "open"}, payment_id=3)]),
)
def test_a_call_in_another_shape_neither_lifts_a_policys_limit_nor_stands_in_for_an_unknown_amount(
    given: JsonObject, facts: list[Fact]
) -> None:
    calls = [change("update_payment", {"payment_id": 3, **given})]
    rule = Rule(id="R", condition='tool == "update_payment" && amount > credit_limit', action="block")
    policy = Policy(id="house", rules=(rule,), context={"credit_limit": 5000})
    found = evaluate(request([], calls, facts, policy=policy))
    assert not is_let_through(found, calls)
