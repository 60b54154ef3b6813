"""What proves a write whose record nests, is one of many or gone, and whose server has its own names and writings."""

from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from services.executor.core.figures.columns import comparison_keys, shows_same_value
from services.executor.core.write.field_proof import WriteEvidence, prove_rows
from services.executor.core.write.settling import judge_answered_write, judge_failed_write, judge_unanswered_write
from shared.contracts.plan import ReadBack
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.words import WriteStatus
from tests.each_row import each_row
from tests.unit.executor_core.makers import entry
from tests.unit.policy.generated import soon

pytestmark = pytest.mark.promise("I4.proof")

VERIFIED, UNVERIFIED = WriteStatus.VERIFIED, WriteStatus.UNVERIFIED
SHOP: JsonObject = {"order_id": "O-1"}
DENIED = entry(WriteStatus.DENIED).model_copy(update={"refusal": "no"})


def wrote(
    tool: str, arguments: JsonObject, before: Json, after: Json, result: Json = "ok", asked: JsonObject | None = None
) -> WriteEvidence:
    return WriteEvidence(tool, arguments, {}, before, result, after, SHOP if asked is None else asked, "get_order")


def order(**fields: Json) -> JsonObject:
    """An order as servers nest it, with two addresses and two lines."""
    return {
        "id": "O-1", "status": "open", "total": 40, "billing": {"city": "Bonn"}, "address": {"city": "Ulm", "zip": "1"},
        "lines": [{"line_id": "L-1", "quantity": 1}, {"line_id": "L-2", "quantity": 2}], **fields,
    }  # fmt: skip


def lines(first: int, second: int) -> Json:
    return [{"line_id": "L-1", "quantity": first}, {"line_id": "L-2", "quantity": second}]


@each_row(
    ("shown", "is_proved"),
    [
        (wrote("delete_order", SHOP, [order()], []), True),
        (wrote("remove_tag", {**SHOP, "tag": "new"}, order(tags=["new", "big"]), order(tags=["big"])), True),
        (wrote("set_limit", {**SHOP, "limit": 50}, order(limit=40), order(limit=50)), True),
        (wrote("add_note", {**SHOP, "text": "a"}, [], [{"note_id": "N-1", "order_id": "O-1", "text": "a"}]), True),
        (wrote("approve_order", SHOP, order(), order(status="approved")), True),
        (wrote("submit_order", SHOP, order(), order(status="failed")), False),
        (wrote("decide_order", SHOP, order(), order(status="decided", decision="granted")), True),
        (wrote("approve_order", SHOP, order(), order(status="decided", decision="denied")), False),
        (wrote("deny_order", SHOP, order(), order(status="decided", decision="approved")), False),
        (wrote("reject_order", SHOP, order(), order(status="closed", check="passed")), True),
        (wrote("submit_order", SHOP, order(), order(status="filed", previous_status="denied")), True),
    ],
)
def test_each_rule_proves_its_own_kind_of_write(shown: WriteEvidence, is_proved: bool) -> None:
    ((_, found),) = prove_rows(shown)
    assert bool(found.shown) is is_proved


def switched(
    tool: str,
    before: JsonObject,
    after: JsonObject,
    arguments: JsonObject | None = None,
    beside: JsonObject | None = None,
) -> WriteEvidence:
    other: Json = {"id": "O-2", "active": True, **(beside or {})}
    return wrote(tool, {**SHOP, **(arguments or {})}, [order(**before), other], [order(**after), other])


ON: JsonObject = {"active": True}
OFF: JsonObject = {"active": False}


@each_row(
    "shown",
    [
        switched("release_hold", ON, OFF),
        switched("deactivate_order", ON, OFF, {"reason": "the customer left"}),
        switched("activate_order", OFF, ON),
        switched("unlock_order", {"is_locked": True}, {"is_locked": False}),
        switched("lock_order", {"locked": False}, {"locked": True}),
        switched("reopen_order", {"open": False}, {"open": True}),
        switched("close_order", {"access": {"open": True}}, {"access": {"open": False}}),
    ],
)
def test_a_verb_that_switches_something_on_or_off_is_proved_by_the_one_field_that_was_switched(
    shown: WriteEvidence,
) -> None:
    assert judge_answered_write(shown).status == VERIFIED
    assert judge_answered_write(shown._replace(after=shown.before)).status == UNVERIFIED
    again = judge_answered_write(shown._replace(before=shown.after))
    assert again.status == UNVERIFIED


@each_row(
    "shown",
    [
        switched("release_order", ON, OFF),  # which might as well be cancelled
        switched("release_hold", OFF, ON),
        switched("activate_order", ON, OFF),
        switched("deactivate_order", ON, {**OFF, "blocked": True}),  # nor had it this field before
        switched("deactivate_order", {**ON, "insured": True}, {**OFF, "insured": False}),
        switched("deactivate_order", ON, {**OFF, "status": "failed"}),
        switched("deactivate_order", {}, OFF),
        switched("approve_order", ON, OFF),
        switched("unlock_order", {"locked": False}, {"locked": True}),
        switched("update_order", ON, OFF, {"size": "large"}),
        switched("suspend_order", ON, OFF, {"until": "2026-12-20"}),
    ],
)
def test_a_field_that_the_verb_does_not_switch_or_that_is_not_alone_proves_nothing(shown: WriteEvidence) -> None:
    assert judge_answered_write(shown).status == UNVERIFIED


def test_of_two_records_only_the_one_that_the_call_names_proves_a_switch() -> None:
    others: list[JsonObject] = [{"id": "O-2", "active": True}, {"id": "O-2", "active": False}]
    was, now = ([order(active=True), other] for other in others)
    assert judge_answered_write(wrote("deactivate_order", SHOP, [*was], [*now])).status == UNVERIFIED


@each_row(
    ("before", "after", "status"),
    ({"held": 640, "released": 0}, {"held": 0, "released": 640}, VERIFIED),
    ({"held": 640, "released": 0}, {"held": 0, "released": 64}, UNVERIFIED),
    ({"id": "D-2", "held": 640, "released": 0}, {"id": "D-2", "held": 0, "released": 640}, UNVERIFIED),
)
def test_an_answer_that_was_asked_with_the_id_of_the_call_is_about_it_however_it_nests(
    before: Json, after: Json, status: WriteStatus
) -> None:
    was, now = ({"deposit": one, "currency": "EUR"} for one in (before, after))
    write = wrote("release_deposit", {**SHOP, "amount": 640}, was, now)
    assert judge_answered_write(write).status == status


@each_row(
    "shown",
    [
        wrote("set_note", {**SHOP, "note": "ring", "valid_from": "2026-12-01"}, order(note=None, modified_on=None),
              order(note="ring", modified_on="2026-11-29")),
        wrote("create_invoice", {"customer": "Miller", "net_amount": "1000.00"}, [],
              [{"invoice_id": 7, "customer": "Miller", "gross": "1190.00", "vat": "190.00"}], {"invoice_id": 7}, {}),
        wrote("add_line", {**SHOP, "sku": "K-7", "price": "12.50", "quantity": 3}, [],
              [{**SHOP, "sku": "K-7", "quantity": 3, "line_total": "37.50"}]),
    ],
)  # fmt: skip
def test_what_a_server_adds_or_works_out_speaks_against_no_write(shown: WriteEvidence) -> None:
    assert judge_answered_write(shown).status == VERIFIED


@each_row(
    "after",
    {"name": "x", "limit": 40, "partner": {"customer_id": 7, "limit": 50}},
    {"order_no": "O-2", "x": 1, "terms": {"limit": 50}},
)
def test_a_nested_object_with_an_id_is_no_part_of_what_was_asked_for(after: JsonObject) -> None:
    was: JsonObject = {"partner": {"customer_id": 7, "limit": 10}, "terms": {"limit": 10}}
    before: JsonObject = {key: was.get(key, value) for key, value in after.items()}
    write = wrote("set_limit", {**SHOP, "limit": 50}, before, after)
    assert judge_answered_write(write).status == UNVERIFIED


CLAIM: JsonObject = {"order_id": "O-1", "amount": 1500}
DAY = "2026-12-01"
SENT: JsonObject = {"order_id": "O-1", "iban": "DE02120300000000202051"}


@each_row(
    "shown",
    [
        wrote("update_order", {**SHOP, "quantity": 12}, order(quantity=5, version=11), order(quantity=5, version=12)),
        wrote("set_limit", {**SHOP, "limit": 50}, order(limit=10, balance=100), order(limit=10, balance=50)),
        wrote("settle_order", CLAIM, order(settled_amount=None), order(settled_amount=150, status="settled")),
        wrote(
            "suspend_order",
            {**SHOP, "until": "2026-12-20"},
            order(),
            order(suspended_until="2026-12-02", status="suspended"),
        ),
        wrote("pay_order", SENT, order(), order(paid_to="DE89370400440532013000", status="paid")),
        wrote(
            "post_payment",
            {**SHOP, "received_cents": 1500, "on": DAY},
            [],
            [{"payment_id": 9, **SHOP, "paid_cents": 150, "on": DAY}],
        ),
        wrote(
            "record_leave",
            {**SHOP, "from_date": DAY, "to_date": "2027-06-30"},
            order(leave=None),
            order(leave={"from": DAY, "to": "2027-09-30"}),
        ),
        wrote(
            "post_fee",
            {**SHOP, "kind": "lab", "on": "20270115"},
            [],
            [{"fee_id": 9, **SHOP, "kind": "lab", "due": "20270215"}],
        ),
        wrote("extend_order", {**SHOP, "until": DAY}, order(since=None, until="2026-01-01"),
              order(since=DAY, until="2026-01-01")),
        wrote("change_address", {**SHOP, "city": "Rome"}, order(city="Ulm", born=None), order(city="Ulm", born="Rome")),
        wrote("retire_order", {**SHOP, "retiredOn": DAY}, order(life={"state": "ACTIVE"}),
              order(life={"state": "RETIRED", "retiredOn": "2026-12-02"})),
        wrote("set_price", {**SHOP, "price": 25}, order(price=50), order(price=75)),
        wrote("take_parts", {**SHOP, "quantity": 25}, order(bin_code=10), order(bin_code=35)),
        wrote("ship_order", {**SHOP, "quantity": 30}, order(quantity=50, stat=10), order(quantity=50, stat=30)),
        wrote("ship_order", {**SHOP, "quantity": 30}, order(quantity=30, rank=1), order(quantity=30, rank=30)),
        wrote("correct_stock", {**SHOP, "delta": -4}, order(stock=240), order(stock=244)),
        wrote("set_order_flag", {**SHOP, "flag": True}, order(mail_flag=False), order(mail_flag=True)),
        wrote("release_order", {**SHOP, "amount": 640}, order(held=640, freed=0), order(held=0, freed=64)),
    ],
)  # fmt: skip
def test_a_field_that_stayed_or_got_another_value_is_not_made_good_by_what_else_changed(shown: WriteEvidence) -> None:
    assert judge_answered_write(shown).status == UNVERIFIED


@each_row(
    "shown",
    [
        wrote("update_order", {**SHOP, "quantity": 12}, order(pieces=5), order(pieces=12)),
        wrote("pay_order", {**SHOP, "amount": 20}, order(amount=40, balance=40), order(amount=40, balance=20)),
        wrote("settle_order", CLAIM, order(settled_amount=None), order(settled_amount=1500, status="settled")),
        wrote("pay_order", SENT, order(), order(paid_to="DE02 1203 0000 0000 2020 51", status="paid")),
        wrote("pay_order", SENT, order(), order(paid_from="DE89370400440532013000", status="paid")),
        wrote(
            "ship_order",
            {**SHOP, "at": "2026-12-01"},
            order(),
            order(shipped_at="2026-12-01T09:12:11Z", status="shipped"),
        ),
        wrote(
            "ship_order",
            {**SHOP, "quantity": 2},
            order(shipped_quantity=1),
            order(shipped_quantity=3, status="shipped"),
        ),
        wrote("approve_order", {**SHOP, "by": "E-1"}, order(), order(approved_by="Eva Example", status="approved")),
        wrote("update_order", {**SHOP, "plan": "gold"}, order(plan="silver"), order(plan="silver", next_plan="gold")),
        wrote("reschedule_visit", {**SHOP, "on": DAY}, order(on="2026-11-30"),
              order(on="2026-11-30", rescheduled_to=DAY)),
        wrote("retire_order", {**SHOP, "retiredOn": DAY}, order(life={"state": "ACTIVE"}),
              order(life={"state": "RETIRED", "retiredOn": DAY})),
        wrote("ship_order", {**SHOP, "quantity": 30}, order(quantity=30, sent=0), order(quantity=30, sent=30)),
        wrote("receive_goods", {**SHOP, "quantity": 900}, order(received=900), order(received=1800, status="done")),
        wrote("advance_order", {**SHOP, "to": 30}, order(step="a", stat=20), order(step="b", stat=30)),
        wrote("assign_seat", {**SHOP, "seat": 12}, order(seat_number=None), order(seat_number=12)),
        wrote("correct_stock", {**SHOP, "delta": -4}, order(stock=240), order(stock=236)),
        wrote("set_order_flag", {**SHOP, "flag": True}, order(order_flag=False), order(order_flag=True)),
        wrote("set_pay_block", {**SHOP, "block": False}, order(pay_block=True), order(pay_block=False)),
    ],
)  # fmt: skip
def test_a_field_under_another_name_shows_the_value_of_the_call(shown: WriteEvidence) -> None:
    assert judge_answered_write(shown).status == VERIFIED


def purchase(first: int, second: int, ordered: int = 4, **fields: Json) -> Json:
    """An order whose lines have neither an id nor a key of a usual name, and what was received of each."""
    lines: list[Json] = [
        {"pos": 10, "item": "valve", "qty": 4, "rcvd": first},
        {"pos": 20, "item": "pump", "qty": ordered, "rcvd": second},
    ]
    return {"po": {"po_no": 77, "stat": 20, **fields, "lines": lines}}


@each_row(
    ("tool", "qty", "after", "status"),
    ("post_receipt", 4, purchase(4, 0, stat=30), VERIFIED),
    ("post_receipt", 4, purchase(3, 0, stat=30), UNVERIFIED),
    ("post_receipt", 4, purchase(0, 0, stat=30), UNVERIFIED),  # which is 10 more, and the position is 10
    ("post_receipt", 4, purchase(0, 4, stat=30), UNVERIFIED),
    ("chg_qty", 15, purchase(0, 0, stat=15), UNVERIFIED),
    ("chg_qty", 15, purchase(0, 0, ordered=15), UNVERIFIED),
    ("approve_line", None, purchase(0, 0, state="approved"), VERIFIED),
)
def test_the_position_of_a_line_says_which_line_is_meant_and_is_no_figure_that_changed(
    tool: str, qty: int | None, after: Json, status: WriteStatus
) -> None:
    given_: JsonObject = {"po_no": 77, "pos": 10, **({} if qty is None else {"qty": qty})}
    assert judge_answered_write(wrote(tool, given_, purchase(0, 0), after, asked={"po_no": 77})).status == status


def bought(*lines: tuple[str, int], due: str = DAY) -> Json:
    rows: list[Json] = [
        {"pos": 10 * place, "item_cd": item, "qty": qty, "price_ct": 895} for place, (item, qty) in enumerate(lines, 1)
    ]
    return {"po": {"po_no": 81, "supplier_no": 5, "due": due, "lines": rows}}


@each_row(
    ("ordered", "after", "status"),
    (("FLS-V8", "BAT-HP3"), bought(("FLS-V8", 3), ("BAT-HP3", 2)), VERIFIED),
    (("GLV-L", "SYR-50"), bought(("GLV-L", 3), ("SYR-50", 2)), VERIFIED),
    (("FLS-V8", "BAT-HP3"), bought(("FLS-V8", 3)), UNVERIFIED),
    (("FLS-V8", "BAT-HP3"), bought(("FLS-V8", 2), ("BAT-HP3", 3)), UNVERIFIED),
    (("FLS-V8", "BAT-HP3"), bought(("FLS-V8", 3), ("BAT-HP3", 2), due="2027-12-01"), UNVERIFIED),
    (("GLV-L", "SYR-50"), bought(("GLV-L", 5), ("SYR-50", 2)), UNVERIFIED),
    (("FLS-V8", "FLS-V8"), bought(("FLS-V8", 3)), UNVERIFIED),
)
def test_each_line_of_what_was_made_is_looked_for_within_it(
    ordered: tuple[str, str], after: Json, status: WriteStatus
) -> None:
    rows: list[Json] = [{"item_cd": item, "qty": qty} for item, qty in zip(ordered, (3, 2), strict=True)]
    made: JsonObject = {"supplier_no": 5, "due": DAY, "lines": rows}
    shown = wrote("create_po", made, None, after, {"po_no": 81}, {"po_no": 81})
    assert judge_answered_write(shown).status == status


IN_BONN: JsonObject = {"address": {"city": "Bonn"}}
BONN: JsonObject = {"order_id": "O-1", "address": {"city": "Bonn"}}
LINE: JsonObject = {"order_id": "O-1", "line_id": "L-2", "quantity": 5}


@each_row(
    ("shown", "status"),
    (wrote("change_address", BONN, order(), order(address={"city": "Bonn", "zip": "1"})), VERIFIED),
    (wrote("change_address", BONN, {"data": [order()]}, {"data": [order(address={"city": "Bonn"})]}), VERIFIED),
    (wrote("change_address", BONN, order(), order()), UNVERIFIED),
    (wrote("change_address", BONN, order(**IN_BONN), order(**IN_BONN, total=41)), UNVERIFIED),
    (wrote("change_address", BONN, order(), order(billing={"city": "Bonn", "zip": "2"})), UNVERIFIED),
    (wrote("set_quantity", LINE, order(), order(lines=lines(5, 2))), UNVERIFIED),
    (wrote("set_quantity", LINE, order(lines={"L-1": {"quantity": 1}, "L-2": {"quantity": 2}}),
           order(lines={"L-1": {"quantity": 1}, "L-2": {"quantity": 5}})), VERIFIED),
    (wrote("set_quantity", LINE, order(lines={"L-1": {"quantity": 1}, "L-2": {"quantity": 2}}),
           order(lines={"L-1": {"quantity": 5}, "L-2": {"quantity": 2}})), UNVERIFIED),
    (wrote("update_order", {"order_id": "O-1", "lines": [{"line_id": "L-2", "quantity": 5}]}, order(),
           order(lines=lines(1, 5))), VERIFIED),
    (wrote("update_order", {"order_id": "O-1", "lines": [{"line_id": "L-2", "quantity": 5}]}, order(),
           order(lines=lines(5, 2))), UNVERIFIED),
    (wrote("update_order", {"order": {"id": "O-1", "total": 50}}, order(), order(total=50)), VERIFIED),
    (wrote("update_order", {"order": {"id": "O-1", "total": 50}}, [order(), {"id": "O-2", "total": 1}],
           [order(), {"id": "O-2", "total": 50}]), UNVERIFIED),
    (wrote("assign_order", {**SHOP, "clerk_id": "E-1"}, order(clerk_id=None), order(clerk_id="E-1")), VERIFIED),
)  # fmt: skip
def test_a_nested_field_is_proved_in_its_own_place(shown: WriteEvidence, status: WriteStatus) -> None:
    assert judge_answered_write(shown).status is status


@each_row(
    ("arguments", "before", "after", "status"),
    ({"newAmount": 50}, {"amount": 40}, {"amount": 50}, VERIFIED),
    ({"newAmount": 50}, {"amount": 50}, {"amount": 50}, UNVERIFIED),
    ({"agreed_discount": "10%"}, {"discount_pct": 5}, {"discount_pct": 10}, VERIFIED),
    ({"agreed_discount": 10}, {"discount_pct": 5}, {"discount_pct": 7}, UNVERIFIED),
    ({"agreed_discount": 10}, {"discount_pct": 10, "x": 1}, {"discount_pct": 10, "x": 2}, UNVERIFIED),
    ({"net_ct": 1250}, {"net": 1}, {"net": "12.50"}, VERIFIED),
    ({"amount": Decimal("12.50")}, {"amount": 1}, {"amount": 1250}, UNVERIFIED),
    ({"amount": 1250}, {"amount": 1}, {"amount": {"cents": 1250, "currency": "EUR"}}, VERIFIED),
    ({"due_date": "2026-03-01"}, {"due_date": None}, {"due_date": "1 March 2026"}, VERIFIED),
    ({"due_date": "01.03.2026"}, {"due_date": None}, {"due_date": "2026-03-01T00:00:00Z"}, VERIFIED),
    ({"due_date": "2026-03-01"}, {"due_date": None}, {"due_date": "2026-03-02"}, UNVERIFIED),
    ({"start": "2026-03-01T09:00"}, {"start": None}, {"start": "2026-03-01 09:00:00"}, VERIFIED),
    ({"assignee": "bob"}, {"assigned_to": "eva"}, {"assigned_to": "bob"}, VERIFIED),
    ({"field": "status", "value": "closed"}, {"status": "open"}, {"status": "closed"}, VERIFIED),
    ({"field": "status", "value": "closed"}, {"mood": "open"}, {"mood": "closed"}, UNVERIFIED),
    ({"changes": {"status": "closed"}}, {"status": "open"}, {"status": "closed"}, VERIFIED),
    ({"quantity": 5}, {"count": 4}, {"count": 5}, UNVERIFIED),
    ({"tag": "urgent"}, {"tags": []}, {"tags": ["urgent"]}, VERIFIED),
    ({"tags": ["a", "b"]}, {"tags": ["a"]}, {"tags": ["b", "a"]}, VERIFIED),
    ({"tags": ["a", "b"]}, {"tags": []}, {"tags": ["a"]}, UNVERIFIED),
    ({"status": "closed", "reason": "paid"}, {"status": "open"}, {"status": "closed"}, VERIFIED),
    ({"status": "closed"}, {"status": "open"}, {"status": "closing"}, UNVERIFIED),
    ({"unit": "EUR", "amount": 5}, {"unit": "EUR", "amount": 1}, {"unit": "EUR", "amount": 5}, VERIFIED),
)
def test_a_field_counts_under_another_name_or_writing_where_it_changed(
    arguments: JsonObject, before: JsonObject, after: JsonObject, status: WriteStatus
) -> None:
    shown = wrote("update_order", {**SHOP, **arguments}, {"id": "O-1", **before}, {"id": "O-1", **after})
    assert judge_answered_write(shown).status is status


def samples(zinc: int, iron: int) -> list[Json]:
    return [{"testCode": "zinc", "value": zinc}, {"testCode": "iron", "value": iron}]


@each_row(
    ("arguments", "before", "after", "status"),
    ({"amount": 6540}, {"paid": 0}, {"paid": 6540}, VERIFIED),
    ({"amount": 6540}, {"money": {"left": 41000}}, {"money": {"left": 34460}}, VERIFIED),
    ({"amount": 6540}, {"paid": 0}, {"paid": 6500}, UNVERIFIED),
    ({"amount": 5}, {"views": 4}, {"views": 9}, UNVERIFIED),
    ({"visit_at": "16:30"}, {"starts": "13:00"}, {"starts": "16:30"}, VERIFIED),
    ({"extra_id": "crib"}, {"extras": {"spa": {"price": 3}}},
     {"extras": {"spa": {"price": 3}, "crib": {"price": 2}}}, VERIFIED),
    ({"test_code": "zinc", "value": 52}, {"tests": samples(9, 1)}, {"tests": samples(52, 1)}, VERIFIED),
    ({"test_code": "zinc", "value": 52}, {"tests": samples(9, 1)}, {"tests": samples(9, 52)}, UNVERIFIED),
)  # fmt: skip
def test_a_value_counts_under_any_name_where_the_named_record_changed_to_it_or_by_it(
    arguments: JsonObject, before: JsonObject, after: JsonObject, status: WriteStatus
) -> None:
    shown = wrote("update_order", {**SHOP, **arguments}, {"id": "O-1", **before}, {"id": "O-1", **after})
    assert judge_answered_write(shown).status is status


@each_row(
    ("tool", "before", "after", "status"),
    ("release_order", "waiting", "in transit", VERIFIED),
    ("release_order", "waiting", "waiting", UNVERIFIED),
    ("release_order", "waiting", "failed", UNVERIFIED),
    ("release_order", "waiting", "pending review", UNVERIFIED),
    ("release_order", "waiting", "cancelled", UNVERIFIED),
    ("drop_order", "open", "cancelled", VERIFIED),
    ("drop_order", "open", "open", UNVERIFIED),
    ("reject_order", "open", "declined", VERIFIED),
    ("stop_order", "open", "cancelled", VERIFIED),
)
def test_a_call_that_names_a_record_alone_is_proved_by_the_state_in_which_it_left_it(
    tool: str, before: str, after: str, status: WriteStatus
) -> None:
    assert judge_answered_write(wrote(tool, SHOP, order(status=before), order(status=after))).status is status
    acknowledged = wrote(tool, SHOP, order(status=before), order(status=after))._replace(result={"status": "ok"})
    assert judge_answered_write(acknowledged).status is status


def test_a_record_is_the_same_one_though_one_of_its_ids_changed() -> None:
    before: JsonObject = {"clerk_id": "E-1", "order_id": "O-1", "depot_id": "D-1"}
    changed, other = {**before, "clerk_id": "E-2"}, {**before, "order_id": "O-2", "clerk_id": "E-2"}

    def assigned(earlier: Json, later: Json) -> WriteStatus:
        return judge_answered_write(wrote("assign_order", {**SHOP, "clerk_id": "E-2"}, earlier, later)).status

    assert assigned(before, changed) is VERIFIED
    assert assigned(before, before) is UNVERIFIED
    assert assigned([before, {**other, "clerk_id": "E-3"}], [before, other]) is UNVERIFIED


NOTE: JsonObject = {"order_id": "O-1", "text": "late"}
LATE: JsonObject = {"id": 1, "text": "late"}


@each_row(
    ("before", "after", "status"),
    ([], [LATE], VERIFIED),
    ([], [LATE, {**LATE, "id": 2}], UNVERIFIED),
    ([LATE], [LATE], UNVERIFIED),
    ([LATE], [{**LATE, "id": 2}], UNVERIFIED),
    ([], [{"id": 1, "text": "late", "order_id": "O-2"}], UNVERIFIED),
    (order(notes=[]), order(notes=[LATE]), VERIFIED),
    (order(notes=[]), order(notes=[LATE, {**LATE, "id": 2}]), UNVERIFIED),
    (None, [LATE, {"id": 2, "text": "x"}], UNVERIFIED),
)
def test_what_was_made_is_exactly_one_more_record_than_before(before: Json, after: Json, status: WriteStatus) -> None:
    assert judge_answered_write(wrote("add_note", NOTE, before, after)).status is status


def test_what_a_call_without_any_id_makes_is_one_more_row() -> None:
    rows: list[Json] = [{"id": 1, "title": "x", "state": "open"}]
    for added, status in ((1, VERIFIED), (2, UNVERIFIED)):
        more: list[Json] = [{"id": 2 + place, "title": "x", "state": "open"} for place in range(added)]
        after: list[Json] = [*rows, *more]
        assert judge_answered_write(wrote("create_ticket", {"title": "x"}, rows, after, None, {})).status is status


def test_an_answers_words_prove_a_new_record_only_under_the_id_that_it_gave() -> None:
    def answered(result: Json) -> WriteStatus:
        return judge_answered_write(wrote("add_note", NOTE, [], [{"id": 1, "kind": "note"}], result)).status

    assert answered({"kind": "note"}) is UNVERIFIED
    assert answered({"id": 1, "kind": "note"}) is VERIFIED
    for guest, status in (("Ann", VERIFIED), ("Bo", UNVERIFIED)):
        made: JsonObject = {"id": 77, "room_id": 3, "guest": guest}
        asked: JsonObject = {"room_id": 3, "guest": "Ann"}
        shown = wrote("book_room", asked, None, made, {"booking": {"id": 77}}, {"booking_id": 77})
        assert judge_answered_write(shown).status is status


@each_row(
    ("tool", "arguments", "before", "after", "status"),
    ("delete_order", SHOP, order(), [], VERIFIED),
    ("cancel_order", SHOP, [order(), {"id": "O-2"}], [{"id": "O-2"}], VERIFIED),
    ("delete_order", SHOP, [{"id": "O-2"}], [{"id": "O-2"}], UNVERIFIED),
    ("delete_order", SHOP, [], [], UNVERIFIED),
    ("delete_order", SHOP, [order(), {"id": "O-2"}], [order()], UNVERIFIED),
    ("delete_order", SHOP, order(), None, UNVERIFIED),
    ("delete_order", SHOP, None, [], UNVERIFIED),
    ("delete_order", SHOP, order(), order(status="deleted"), VERIFIED),
    ("approve_order", SHOP, order(), [], UNVERIFIED),
    ("delete_order", SHOP, order(), {"order_id": "O-1", "found": False}, VERIFIED),
    ("delete_order", SHOP, {"order_id": "O-1", "found": True}, {"order_id": "O-1", "found": True}, UNVERIFIED),
    ("delete_order", SHOP, order(), {"error": "no such order"}, VERIFIED),
    ("unassign_clerk", {**SHOP, "clerk_id": "E-1"}, order(clerk_id="E-1"), order(clerk_id=None), VERIFIED),
    ("unassign_clerk", {**SHOP, "clerk_id": "E-1"}, order(clerk_id="E-1"), order(clerk_id="E-1"), UNVERIFIED),
    ("remove_line", {**SHOP, "line_id": "L-2"}, order(), order(lines=[{"line_id": "L-1"}]), VERIFIED),
    ("remove_line", {**SHOP, "line_id": "L-2"}, order(), order(lines=[{"line_id": "L-2"}]), UNVERIFIED),
    ("remove_tag", {"order_id": "O-1", "tag": "late"}, order(tags=["late", "x"]), order(tags=["x"]), VERIFIED),
    ("remove_tag", {"order_id": "O-1", "tag": "late"}, order(tags=["late", "x"]), order(tags=["late"]), UNVERIFIED),
)
def test_a_removal_is_proved_by_absence_after_presence(
    tool: str, arguments: JsonObject, before: Json, after: Json, status: WriteStatus
) -> None:
    assert judge_answered_write(wrote(tool, arguments, before, after)).status is status


REVIEWED = order(approved=False, review={"state": "open"}, lines=[{"line_id": "L-1", "status": "open"}])


@each_row(
    ("changed", "status"),
    ({"approved": True}, VERIFIED),
    ({"status": "approved"}, VERIFIED),
    ({"review": {"state": "approved"}}, VERIFIED),
    ({"status": "approval pending"}, UNVERIFIED),
    ({"lines": [{"line_id": "L-1", "status": "approved"}]}, UNVERIFIED),
)
def test_a_state_named_by_the_tools_verb_is_proof_on_the_record_itself(
    changed: JsonObject, status: WriteStatus
) -> None:
    assert judge_answered_write(wrote("approve_order", SHOP, REVIEWED, {**REVIEWED, **changed})).status is status


@pytest.mark.promise("I4.unverified_is_said")
@each_row(
    ("arguments", "before", "after", "says"),
    ({"city": "Bonn"}, {"city": "Bonn"}, {"city": "Bonn"}, "it did so before the call as well: city=Bonn"),
    ({"amount": 5, "currency": "EUR"}, {"currency": "EUR"}, {"currency": "EUR"}, "does not show"),
    ({"city": "Bonn"}, {"town": "Bonn"}, {"town": "Bonn"}, "no read can show it"),
)
def test_only_of_fields_that_the_call_set_it_is_said_that_they_were_so_before(
    arguments: JsonObject, before: JsonObject, after: JsonObject, says: str
) -> None:
    shown = wrote("update_order", {**SHOP, **arguments}, {"id": "O-1", **before}, {"id": "O-1", **after})
    assert says in judge_answered_write(shown).note


@pytest.mark.promise("notify.proved_only")
@each_row(
    ("shown", "contradicted"),
    (wrote("set_status", {**SHOP, "status": "closed"}, order(), order()), True),
    (wrote("set_mood", {**SHOP, "mood": "calm"}, order(), order()), False),
    (wrote("set_status", {**SHOP, "status": "closed"}, order(), None), False),
    (wrote("add_note", NOTE, [LATE], [LATE]), True),
    (wrote("add_note", NOTE, [], [LATE, {**LATE, "id": 2}]), True),
    (wrote("add_note", {**NOTE, "status": "new"}, order(), order(status="held")), True),
    (wrote("add_note", NOTE, None, [], {"note": {"id": 4}}, {"note_id": 4}), True),
    (wrote("delete_order", SHOP, order(), order()), True),
    (wrote("delete_order", SHOP, order(), None), False),
    (wrote("remove_tag", {**SHOP, "tag": "late"}, order(), order()), False),
)
def test_a_read_contradicts_a_write_only_where_it_shows_something_else(
    shown: WriteEvidence, contradicted: bool
) -> None:
    judgement = judge_answered_write(shown)
    assert (judgement.status, judgement.contradicted) == (UNVERIFIED, contradicted)


def test_what_a_read_shows_instead_is_named() -> None:
    shown = wrote("set_status", {**SHOP, "status": "closed"}, order(), order())
    assert judge_answered_write(shown).note == "the read-back shows something else: status=open"


def test_a_read_that_says_yes_or_no_proves_what_the_operator_expects() -> None:
    given_: JsonObject = {"message_id": "M-1", "label": "done"}
    before, after = ({**given_, "present": present} for present in (False, True))
    shown = wrote("label_email", given_, before, after, {"message_id": "M-1"}, given_)
    assert judge_answered_write(shown._replace(expect={"present": True})).status is VERIFIED
    assert judge_answered_write(shown._replace(expect={"present": True}, after=before)).status is UNVERIFIED


WORDS = st.sampled_from(["a", "b", "c"])
NAMES = st.sampled_from(["city", "note", "level"])
NESTED = st.recursive(WORDS, lambda inner: st.dictionaries(NAMES, inner, min_size=1, max_size=2), max_leaves=4)


@given(record=st.dictionaries(NAMES, NESTED, max_size=3), clocks=st.tuples(st.integers(), st.integers()))
def test_no_running_clock_proves_a_write(record: dict[str, Json], clocks: tuple[int, int]) -> None:
    before: JsonObject = {"id": "O-1", **record, "read_at": clocks[0]}
    after: JsonObject = {"id": "O-1", **record, "read_at": clocks[1]}
    shown = wrote("update_order", {**SHOP, "city": "a", "level": "b"}, before, after)
    assert judge_answered_write(shown).status is UNVERIFIED
    assert judge_unanswered_write(shown).status is not VERIFIED


@given(arguments=st.dictionaries(NAMES, NESTED, min_size=1, max_size=3))
def test_a_server_that_stores_what_it_is_sent_is_proved_wherever_it_nests_it(arguments: dict[str, Json]) -> None:
    before: JsonObject = {"data": {"order": {"id": "O-1", "kind": "x"}}}
    after: JsonObject = {"data": {"order": {"id": "O-1", "kind": "x", **arguments}}}
    shown = wrote("update_order", {**SHOP, **arguments}, before, after, None)
    assert judge_answered_write(shown).status is VERIFIED
    assert judge_unanswered_write(shown).status is VERIFIED
    assert judge_failed_write(DENIED, shown).status is WriteStatus.IN_DOUBT


@each_row(("state", "status"), [("approved", VERIFIED), ("held", UNVERIFIED)])
def test_what_only_the_answer_says_is_proved_by_a_read_that_shows_it(state: str, status: WriteStatus) -> None:
    """The call names the order alone; its server says what the order is now."""
    answer: JsonObject = {"id": "O-1", "status": "approved"}
    assert judge_answered_write(wrote("approve_order", SHOP, order(), order(status=state), answer)).status is status


@given(arguments=st.dictionaries(NAMES, WORDS, min_size=1, max_size=3))
def test_a_server_that_only_repeats_what_it_is_asked_proves_nothing(arguments: dict[str, str]) -> None:
    given_: JsonObject = {**SHOP, **arguments}
    echo: JsonObject = {"status": "ok", "tool": "get_order", "params": dict(SHOP)}
    everything: JsonObject = {"status": "ok", "tool": "get_order", "params": given_}
    for before, after in ((None, echo), (echo, echo), (None, everything), ([], everything), (None, dict(SHOP))):
        answer: Json = {"status": "ok", "tool": "update_order", "params": given_}
        assert judge_answered_write(wrote("update_order", given_, before, after, answer)).status is UNVERIFIED


@given(rows=st.lists(WORDS, max_size=4), added=st.lists(WORDS, max_size=3))
def test_of_any_list_exactly_one_more_row_that_shows_it_is_proof(rows: list[str], added: list[str]) -> None:
    before: Json = [{"id": place, "text": word} for place, word in enumerate(rows)]
    after: Json = [{"id": place, "text": word} for place, word in enumerate([*rows, *added])]
    proved = judge_answered_write(wrote("add_note", {**SHOP, "text": "a"}, before, after, None)).status is VERIFIED
    assert proved == (added.count("a") == 1)


@given(
    keyed=st.booleans(),
    before=st.lists(st.integers(0, 3), min_size=3, max_size=3),
    after=st.lists(st.integers(0, 3), min_size=3, max_size=3),
)
def test_only_the_named_row_of_a_table_proves_a_change(keyed: bool, before: list[int], after: list[int]) -> None:
    def table(values: list[int]) -> Json:
        if keyed:
            return {f"L-{place}": {"quantity": value} for place, value in enumerate(values)}
        return [{"id": f"L-{place}", "quantity": value} for place, value in enumerate(values)]

    shown = wrote("set_quantity", {"line_id": "L-1", "quantity": 3}, table(before), table(after), asked={})
    assert (judge_answered_write(shown).status is VERIFIED) == (before[1] != 3 and after[1] == 3)


@each_row(("boat", "status"), [(17, VERIFIED), (18, UNVERIFIED)])
def test_a_field_that_names_the_record_without_its_id_shows_what_the_call_named(boat: int, status: WriteStatus) -> None:
    """The call says ``boat_id``, the berth says ``boat``."""

    def berth(who: int | None) -> Json:
        return {"berth": {"id": 33, "pier": "C", "boat": who}}

    seen = wrote("assign_berth", {"boat_id": 17, "berth_id": 33}, berth(None), berth(boat), asked={"berth_id": 33})
    assert judge_answered_write(seen).status is status


def charge(folio: int, amount: int, text: str = "") -> JsonObject:
    return {"folio_id": folio, "amount": amount, **({"text": text} if text else {})}


def folio(number: int, *amounts: int, texts: Sequence[str] = (), lists_charges: bool = True) -> JsonObject:
    """A folio whose charges are 100 and these amounts."""
    texts = [*texts, *[""] * len(amounts)]
    rows: list[Json] = [
        {"charge_id": 10 * number + place, "amount": amount, **({"text": text} if text else {})}
        for place, (amount, text) in enumerate(zip((100, *amounts), ("", *texts), strict=False))
    ]
    return {
        "folio": {"folio_id": number, "balance": 100 + sum(amounts), **({"charges": rows} if lists_charges else {})}
    }


def posted(rows: list[Json], before: Sequence[Json], after: Sequence[Json], *asked: int) -> WriteEvidence:
    """``post_charges`` with these rows, read back by a read of each folio, or of one that all rows name."""
    reads = [
        ReadBack(tool="get_folio", arguments_json=dumps({"folio_id": number}))
        for number in asked or [row["folio_id"] for row in rows if isinstance(row, dict)]
    ]
    first, of_rows = loads_object(reads[0].arguments_json), reads if len(set(reads)) > 1 else []
    then, now = ([*shown] if of_rows else next(iter(shown), None) for shown in (before, after))
    shown = WriteEvidence("post_charges", {"charges": rows}, {}, then, {"posted": len(rows)}, now, first, "get_folio")
    return shown._replace(row_reads=of_rows)


TWO_FOLIOS: list[Json] = [charge(1, 15), charge(6, 15)]
BOTH_BEFORE = (folio(1), folio(6))


@each_row(
    ("first", "second", "status", "note"),
    ((15,), (15,), VERIFIED, "read back: balance=115"),
    ((), (15,), UNVERIFIED, "row 1 (folio_id=1): the read-back does not show what was written"),
    ((), (), UNVERIFIED, "the read-back does not show what was written"),
)
def test_of_rows_that_name_several_records_each_has_to_show_its_change(
    first: tuple[int, ...], second: tuple[int, ...], status: WriteStatus, note: str
) -> None:
    """In the reads of each, in one list of them all, and where the records show a balance alone."""
    after = (folio(1, *first), folio(6, *second))
    judged = judge_answered_write(posted(TWO_FOLIOS, BOTH_BEFORE, after))
    assert judged == (status, note, False, False)
    in_one_list = posted(TWO_FOLIOS, [], [])._replace(
        before=[*BOTH_BEFORE], after=[*after], read_arguments={}, row_reads=()
    )
    assert judge_answered_write(in_one_list) == judged
    then = [folio(number, lists_charges=False) for number in (1, 6)]
    now = [folio(1, *first, lists_charges=False), folio(6, *second, lists_charges=False)]
    assert judge_answered_write(posted(TWO_FOLIOS, then, now)).status is status


def test_a_row_that_was_made_for_another_record_is_told_with_what_is_there_of_the_other() -> None:
    judged = judge_answered_write(posted(TWO_FOLIOS, BOTH_BEFORE, (folio(1), folio(6, 15, 15))))
    assert judged.status is UNVERIFIED
    assert judged.contradicted
    assert judged.note == (
        "row 1 (folio_id=1): the read-back does not show what was written; "
        "row 2 (folio_id=6): 2 more records than before show it, where one was to be made"
    )


@each_row(
    ("rows", "after", "status", "note"),
    ([charge(2, 60), charge(2, 70)], folio(2, 60, 70), VERIFIED, "read back: amount=60, amount=70"),
    ([charge(2, 60), charge(2, 70)], folio(2, 60), UNVERIFIED,
     "row 2 (folio_id=2): the read-back does not show what was written"),
    ([charge(2, 60), charge(2, 60)], folio(2, 60), UNVERIFIED,
     "1 more record than before shows it, where 2 were to be made"),
    ([charge(2, 60), charge(2, 60)], folio(2, 60, 60, 60), UNVERIFIED,
     "3 more records than before show it, where 2 were to be made"),
    ([charge(2, 60, "hall"), charge(2, 60, "drinks")], folio(2, 60, 60), VERIFIED, "read back: amount=60"),
    ([charge(2, 60), charge(2, 60)], folio(2, 60, lists_charges=False), UNVERIFIED,
     "no read can show it: the read-back has no field that the call sets, nor shows what it makes"),
)  # fmt: skip
def test_rows_of_one_record_are_proved_by_as_many_records_and_not_by_one_balance(
    rows: list[Json], after: JsonObject, status: WriteStatus, note: str
) -> None:
    lists_charges = "charges" in dumps(after)
    judged = judge_answered_write(posted(rows, [folio(2, lists_charges=lists_charges)], [after]))
    assert (judged.status, judged.note) == (status, note)


@each_row(
    ("after", "status"),
    ([folio(1, 15), folio(6, 15)], WriteStatus.VERIFIED),
    ([folio(1), folio(6, 15)], WriteStatus.IN_DOUBT),
    ([folio(1), folio(6)], WriteStatus.ABSENT),
)
def test_without_an_answer_or_after_an_error_rows_that_are_shown_in_part_are_in_doubt(
    after: list[Json], status: WriteStatus
) -> None:
    shown = posted(TWO_FOLIOS, BOTH_BEFORE, after)._replace(result=None)
    assert judge_unanswered_write(shown).status is status
    refused = WriteStatus.REFUSED if status is WriteStatus.ABSENT else WriteStatus.IN_DOUBT
    assert judge_failed_write(DENIED, shown).status is refused


CANCELLED: JsonObject = {"status": "cancelled"}
IDS: JsonObject = {"booking_ids": ["B-5", "B-9"]}
CODES: JsonObject = {"codes": ["B-5", "B-9"], "reason": "late"}
TABLE: JsonObject = {"bookings": {"B-5": {**CANCELLED}, "B-9": {**CANCELLED}}}


@each_row(
    ("tool", "arguments", "left", "status"),
    ("cancel_bookings", IDS, "cancelled", VERIFIED),
    ("cancel_bookings", IDS, "open", UNVERIFIED),
    ("batch_cancel", CODES, "cancelled", VERIFIED),
    ("batch_cancel", CODES, "open", UNVERIFIED),
    ("update_bookings", TABLE, "cancelled", VERIFIED),
    ("update_bookings", TABLE, "open", UNVERIFIED),
)
def test_of_a_list_of_ids_or_a_table_keyed_by_them_each_record_has_to_show_it(
    tool: str, arguments: JsonObject, left: str, status: WriteStatus
) -> None:
    before: list[Json] = [{"id": key, "status": "open"} for key in ("B-5", "B-9")]
    after: list[Json] = [{"id": "B-5", "status": "cancelled"}, {"id": "B-9", "status": left}]
    shown = wrote(tool, arguments, before, after, asked={})
    judged = judge_answered_write(shown)
    assert judged.status is status
    assert ("B-9" in judged.note) == (status is UNVERIFIED)


@each_row(("made", "status"), [(("V-1", "V-2"), VERIFIED), (("V-1",), UNVERIFIED)])
def test_a_tool_for_many_makes_one_record_for_each_code_of_its_list(made: tuple[str, ...], status: WriteStatus) -> None:
    after: list[Json] = [{"voucher_id": place, "code": code, "amount": 50} for place, code in enumerate(made)]
    shown = wrote("batch_create_vouchers", {"codes": ["V-1", "V-2"], "amount": 50}, [], after, asked={})
    assert judge_answered_write(shown).status is status


@each_row(
    ("extras", "status"),
    ({"spa": {"price": 3}, "crib": {"price": 2}, "bike": {"price": 2}}, VERIFIED),
    ({"spa": {"price": 3}, "bike": {"price": 2}}, UNVERIFIED),
)
def test_rows_within_one_record_are_each_an_item_of_it(extras: JsonObject, status: WriteStatus) -> None:
    added: JsonObject = {**SHOP, "extras": [{"extra_id": "crib", "price": 2}, {"extra_id": "bike", "price": 2}]}
    shown = wrote("add_extras", added, order(extras={"spa": {"price": 3}}), order(total=42, extras=extras))
    judged = judge_answered_write(shown)
    assert judged.status is status
    assert ("row 1 (extra_id=crib)" in judged.note) == (status is UNVERIFIED)


def test_the_lines_of_one_order_are_proved_by_the_order_that_was_made() -> None:
    own: JsonObject = {"customer_id": 4, "due": "2026-03-01"}
    sold: JsonObject = {**own, "lines": [{"sku": "A1", "quantity": 2}, {"sku": "B2", "quantity": 1}]}
    for shown in (sold, own):
        made: JsonObject = {"id": "O-2", **shown}
        judged = judge_answered_write(wrote("create_order", sold, [order()], [order(), made], asked={}))
        assert judged.status is VERIFIED


def test_where_no_read_was_made_it_is_not_said_that_one_shows_nothing() -> None:
    judged = judge_answered_write(wrote("open_order", {"item": "x"}, None, None))
    note = "nothing was read back: get_order could not be asked, or did not answer"
    assert judged == (UNVERIFIED, note, False, False)


def test_many_rows_are_proved_by_a_long_list() -> None:
    """The records of both reads are walked and paired once for all rows."""
    paid: list[Json] = [{"invoice_id": f"I-{number}", "status": "paid"} for number in range(300)]

    def listed(status: str) -> list[Json]:
        return [{"invoice_id": f"I-{number}", "status": status, "vat": {"net": number}} for number in range(300)]

    others: list[Json] = [{"invoice_id": f"J-{number}", "status": "open", "vat": {"net": 1}} for number in range(300)]
    before, after = [*listed("open"), *others], [*listed("paid"), *others]
    shown = wrote("update_invoices", {"invoices": paid}, {"items": before}, {"items": after}, asked={})
    assert soon(lambda: prove_rows(shown))
    assert all(finding.shown for _, finding in prove_rows(shown))


SCALARS = (
    7, Decimal("7.0"), "7", "7,000", "7K", "€7", "7 EUR", "007", True, 1, "1", "C-7", " c-7", "open", "Open ", "",
    "2026-03-04", "2026-03-04T00:00:00Z", "2026-03-04T01:00:00+01:00", "4 March 2026", "04/03/2026", "03/04/2026",
    "20260304", 20260304, "2026-03-04 10:00", "2026-03-04T10:00:00",
)  # fmt: skip


def test_values_that_are_the_same_have_a_key_in_common() -> None:
    pairs = [(one, other) for one in SCALARS for other in SCALARS if shows_same_value(one, other)]
    assert len(pairs) > 2 * len(SCALARS)
    assert [pair for pair in pairs if comparison_keys(pair[0]).isdisjoint(comparison_keys(pair[1]))] == []
