"""Code chooses the read that proves a write: by the operator's word, by what was read, by what call and answer name."""

import pytest

from services.executor.core.records.read_backs import choose_read_back
from services.executor.core.records.references import find_made_id, resolve_references
from services.executor.core.session.values import Fact
from services.executor.core.tools.record_tree import NoSuchPath
from services.executor.ports.tools import Tool
from shared.contracts.plan import ReadBack
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.unit.executor_core.makers import fact, tool, tools
from tests.unit.policy.generated import soon


def schema(*names: str) -> JsonObject:
    """The names are needed, but for those in brackets; ``order_id:integer`` says the type."""
    properties: dict[str, Json] = {}
    for name in names:
        bare, _, kind = name.strip("[]").partition(":")
        properties[bare] = {"type": kind} if kind else {}
    needed: list[Json] = [name.partition(":")[0] for name in names if not name.startswith("[")]
    return {"type": "object", "properties": properties, "required": needed}


def read(name: str, *arguments: str) -> Tool:
    return tool(name, ToolClass.READ, schema(*arguments))


def change(name: str, *arguments: str, read_back: str | None = None, **expect: str) -> Tool:
    made = tool(name, ToolClass.CHANGE, schema(*arguments))
    return made._replace(catalogue=CatalogueEntry(read_back=read_back, expect=dict(expect)))


def asked_fact(reader: str, arguments: JsonObject, result: Json, ref: str = "f1", ok: bool = True) -> Fact:
    return fact(result, ref, reader, ok, arguments)


pytestmark = pytest.mark.promise("I4.partners")


Chosen = tuple[str, JsonObject] | None


def chosen(write: Tool, given: JsonObject, *readers: Tool, facts: tuple[Fact, ...] = (), barred: str = "") -> Chosen:
    found = choose_read_back(
        write, given, tools(write, *readers), facts, "c1", lambda name: "a rule" if name == barred else None
    )
    return _brief(found)


def _brief(found: ReadBack | None) -> Chosen:
    return (found.tool, loads_object(found.arguments_json)) if found else None


GET_CLAIM = read("get_claim", "claim_id")
CLAIM: JsonObject = {"claim_id": "C-1"}
APPROVE = change("approve_claim", "claim_id")
SHOWN = asked_fact("find_claims", {"branch": "north", "limit": 9}, [{"id": "C-1"}, {"id": "C-2"}])


@each_row(
    ("write", "given", "readers", "expected"),
    (APPROVE, CLAIM, [GET_CLAIM], ("get_claim", CLAIM)),
    (change("claims.approve", "id"), {"id": "C-1"}, [GET_CLAIM], ("get_claim", CLAIM)),
    (change("claim_approve", "id"), {"id": "C-1"}, [read("claims.get", "id")], ("claims.get", {"id": "C-1"})),
    (change("update_claim", "claim"), {"claim": {"id": "C-1"}}, [GET_CLAIM], ("get_claim", CLAIM)),
    (APPROVE, {"claim_id": 12}, [read("get_claim", "claim_id:string")], ("get_claim", {"claim_id": "12"})),
    (APPROVE, {"claim_id": "12"}, [read("get_claim", "claim_id:integer")], ("get_claim", {"claim_id": 12})),
    (APPROVE, CLAIM, [read("get_claim_by_id", "id"), read("get_claim_notes", "claim_id")],
     ("get_claim_by_id", {"id": "C-1"})),
    (APPROVE, CLAIM, [read("list_claims", "[claim_id]", "[status]")], ("list_claims", CLAIM)),
    (APPROVE, CLAIM, [read("list_claims")], ("list_claims", {})),
    (change("hand_over", "claim_id"), CLAIM, [read("list_claims")], ("list_claims", {})),
    (APPROVE, CLAIM, [read("get_claim", "claim_id", "branch")], None),
    (APPROVE, CLAIM, [read("get_claim_statistics"), read("get_vendor", "id")], None),
    (APPROVE, CLAIM, [change("reject_claim", "claim_id")], None),
    (APPROVE, CLAIM, [read("get_approval", "approval_id"), GET_CLAIM], ("get_claim", CLAIM)),
    (change("close_application", "application_id"), {"application_id": "B-1"},
     [read("get_applicant", "applicant_id")], None),
    (change("add_address", "address_id"), {"address_id": "A-1"}, [read("get_addresses", "address_id")],
     ("get_addresses", {"address_id": "A-1"})),
    (change("change_delivery_address", "order_id", "address"), {"order_id": "O-1", "address": {"city": "Bonn"}},
     [read("get_order", "order_id"), read("get_customer", "customer_id")], ("get_order", {"order_id": "O-1"})),
)  # fmt: skip
def test_a_change_is_read_back_by_what_it_names(
    write: Tool, given: JsonObject, readers: list[Tool], expected: Chosen
) -> None:
    assert chosen(write, given, *readers) == expected


BOOK = change("book_room", "room_id", "guest")
BOOKED: JsonObject = {"room_id": 3, "guest": "Ann"}
ADD_NOTE = change("add_note", "claim_id", "text")
NOTED: JsonObject = {"claim_id": "C-1", "text": "late"}


@each_row(
    ("write", "given", "readers", "expected"),
    (BOOK, BOOKED, [read("get_booking", "booking_id")],
     ("get_booking", {"booking_id": {"$ref": "c1.<booking_id>"}})),
    (change("open_claim", "title"), {"title": "x"}, [read("get_claim", "id")],
     ("get_claim", {"id": {"$ref": "c1.<claim_id>"}})),
    (change("open_work_order", "room_id", "fault", read_back="get_work_order"), {"room_id": 3, "fault": "x"},
     [read("get_work_order", "wo")], ("get_work_order", {"wo": {"$ref": "c1.<wo>"}})),
    (change("open_claim", "title"), {"title": "x"}, [read("list_claims", "[status]")], ("list_claims", {})),
    (change("record_gap", "document_id"), {"document_id": "D-1"},
     [read("get_document", "document_id"), read("get_gap", "gap_id")],
     ("get_gap", {"gap_id": {"$ref": "c1.<gap_id>"}})),
    (change("add_claim_note", "claim_id", "text"), NOTED, [GET_CLAIM, read("list_notes", "claim_id")],
     ("list_notes", CLAIM)),
    (ADD_NOTE, NOTED, [GET_CLAIM], ("get_claim", CLAIM)),
    (change("register_vendor", "name"), {"name": "x"}, [read("get_registration", "registration_id")],
     ("get_registration", {"registration_id": {"$ref": "c1.<registration_id>"}})),
    (change("create_vendor", "vendor_id", "name"), {"vendor_id": "V-1", "name": "x"},
     [read("get_vendor", "vendor_id")], ("get_vendor", {"vendor_id": "V-1"})),
)  # fmt: skip
def test_what_a_call_makes_is_looked_up_by_its_kind(
    write: Tool, given: JsonObject, readers: list[Tool], expected: Chosen
) -> None:
    assert chosen(write, given, *readers) == expected


@each_row(
    ("rows", "expected"),
    ([1, 6], [{"folio_id": 1}, {"folio_id": 6}]),
    ([6, 1, 6], [{"folio_id": 6}, {"folio_id": 1}, {"folio_id": 6}]),
)  # fmt: skip
def test_rows_that_name_several_records_are_read_back_each_whichever_was_read_before(
    rows: list[int], expected: list[JsonObject]
) -> None:
    write, reader = change("post_charges", "charges"), read("get_folio", "folio_id:integer")
    arguments: JsonObject = {"charges": [{"folio_id": number, "amount": 15} for number in rows]}
    seen = [asked_fact("get_folio", {"folio_id": number}, {"folio_id": number, "charges": []}) for number in set(rows)]
    for facts in ((), seen, seen[:1], seen[::-1]):
        found = choose_read_back(write, arguments, tools(write, reader), facts, "c1")
        assert found is not None
        assert [loads_object(one.arguments_json) for one in found.of_rows or (found,)] == expected
        assert len(found.distinct_reads) == len(set(rows))
    assert choose_read_back(write, arguments, tools(write, read("get_guest", "guest_id")), (), "c1") is None


@each_row(("number", "is_read"), (50, True), (51, False))
def test_at_most_fifty_reads_prove_one_call(number: int, is_read: bool) -> None:
    """A call over more records is unverified: its reads, one after the other, would take minutes."""
    write, reader = change("post_charges", "charges"), read("get_folio", "folio_id:integer")
    arguments: JsonObject = {"charges": [{"folio_id": one, "amount": 15} for one in range(1, number + 1)]}
    assert (choose_read_back(write, arguments, tools(write, reader), (), "c1") is not None) is is_read


def test_a_list_of_ids_is_read_back_id_by_id_where_the_tool_is_about_them() -> None:
    write, get = change("cancel_bookings", "booking_ids"), read("get_booking", "booking_id")
    found = choose_read_back(write, {"booking_ids": ["B-5", "B-9"]}, tools(write, get), (), "c1")
    assert found is not None
    assert [loads_object(one.arguments_json) for one in found.of_rows] == [{"booking_id": "B-5"}, {"booking_id": "B-9"}]
    write = change("update_event", "event_id", "guest_ids")
    given: JsonObject = {"event_id": 4, "guest_ids": [1, 2]}
    assert chosen(write, given, read("get_event", "event_id")) == ("get_event", {"event_id": 4})


@each_row(
    ("facts", "expected"),
    ((asked_fact("read_file", {"path": "claims/C-1"}, {"claim": {"id": "C-1"}}),),
     ("read_file", {"path": "claims/C-1"})),
    ((asked_fact("find_claims", {"page": 2}, {"C-1": {"status": "open"}}),), ("find_claims", {"page": 2})),
    ((asked_fact("read_file", {"path": "claims/C-1"}, {"id": "C-1"}, ok=False),), ("get_claim", CLAIM)),
    ((asked_fact("read_file", {"path": "claims/C-2"}, {"id": "C-2"}),), ("get_claim", CLAIM)),
    ((SHOWN,), ("get_claim", CLAIM)),
    ((asked_fact("approve_claim", CLAIM, {"id": "C-1"}),), ("get_claim", CLAIM)),
)  # fmt: skip
def test_the_read_that_showed_the_record_is_asked_again(facts: tuple[Fact, ...], expected: Chosen) -> None:
    readers = (GET_CLAIM, read("read_file", "path"), read("find_claims", "[branch]", "[limit]", "[page]"))
    assert chosen(APPROVE, CLAIM, *readers, facts=facts) == expected


RELEASE = change("release_deposit", "assignment_id", "amount")
RELEASED: JsonObject = {"assignment_id": 44, "amount": 450}
GET_ASSIGNMENT = read("get_assignment", "assignment_id")
ASSIGNED = asked_fact("get_assignment", {"assignment_id": 44}, {"id": 44, "room": "E-014"})
GET_TICKET, TICKET = read("get_ticket", "ticket_id"), asked_fact("get_ticket", {"ticket_id": "T-1"}, {"id": "T-1"})


@each_row(
    ("write", "given", "readers", "seen", "expected"),
    (RELEASE, RELEASED, [GET_ASSIGNMENT, read("get_deposit", "assignment_id")], ASSIGNED, "get_deposit"),
    (change("deduct_deposit", "assignment_id", "amount"), RELEASED,
     [GET_ASSIGNMENT, read("get_deposit", "assignment_id")], ASSIGNED, "get_deposit"),
    (RELEASE, RELEASED, [GET_ASSIGNMENT, read("list_deposits", "assignment_id")], ASSIGNED, "get_assignment"),
    (RELEASE, RELEASED, [GET_ASSIGNMENT, read("get_deposit_terms", "assignment_id")], ASSIGNED, "get_assignment"),
    (change("assign_agent", "ticket_id", "agent_id"), {"ticket_id": "T-1", "agent_id": 7},
     [GET_TICKET, read("get_agent", "agent_id")], TICKET, "get_ticket"),
    (change("close_ticket", "ticket_id"), {"ticket_id": "T-1"},
     [GET_TICKET, read("get_closing", "ticket_id")], TICKET, "get_ticket"),
)  # fmt: skip
def test_what_belongs_to_the_record_that_was_read_is_read_itself_where_the_tool_is_about_it(
    write: Tool, given: JsonObject, readers: list[Tool], seen: Fact, expected: str
) -> None:
    found = chosen(write, given, *readers, facts=(seen,))
    assert found is not None
    assert found[0] == expected


@each_row(
    ("rows", "count"),
    ([{"student_no": 20117, "amount": 120}, {"student_no": 20118, "amount": 120}], 2),
    ([{"number": 20117, "student": "x"}, {"number": 20118, "student": "x"}], 0),  # whose number, it does not say
    ([{"phone_number": 20117}, {"phone_number": 20118}], 0),
)  # fmt: skip
def test_rows_name_their_records_by_a_number_of_a_kind(rows: list[JsonObject], count: int) -> None:
    write, reader = change("batch_fees", "rows", read_back="list_fees"), read("list_fees", "student_no")
    found = choose_read_back(write, {"rows": [*rows]}, tools(write, reader), (), "c1")
    asked = [loads_object(one.arguments_json) for one in found.of_rows] if found else []
    assert asked == ([{"student_no": row["student_no"]} for row in rows] if count else [])


def test_a_selection_that_showed_the_record_is_asked_again_where_nothing_else_shows_it() -> None:
    """Of several records the one that the tool is about is read."""
    finder = read("find_claims", "[branch]", "[limit]")
    wanted = ("find_claims", {"branch": "north", "limit": 9})
    assert chosen(change("approve_it", "claim_id"), CLAIM, finder, facts=(SHOWN,)) == wanted
    facts = (asked_fact("show", {"q": "U-1"}, {"id": "U-1"}), asked_fact("show", {"q": "C-1"}, {"id": "C-1"}, "f2"))
    given: JsonObject = {"assignee_id": "U-1", "claim_id": "C-1"}
    assign = change("assign_claim", "assignee_id", "claim_id")
    assert chosen(assign, given, read("show", "q"), facts=facts) == ("show", {"q": "C-1"})


@pytest.mark.promise("tools.catalogue_pairs")
def test_the_operators_pair_goes_before_everything_else_and_says_what_to_expect() -> None:
    """It may need the id that the answer gives."""
    paired = change("approve_claim", "claim_id", read_back="list_entries", status="approved")
    readers = (GET_CLAIM, read("list_entries", "[claim_id]"))
    facts = (asked_fact("get_claim", CLAIM, {"id": "C-1"}),)
    found = choose_read_back(paired, CLAIM, tools(paired, *readers), facts, "c1")
    expected = '{"status":"approved"}'
    assert found == ReadBack(tool="list_entries", arguments_json='{"claim_id":"C-1"}', expect_json=expected)
    paired = change("approve_claim", "claim_id", read_back="get_entry")
    wanted = ("get_entry", {"entry_id": {"$ref": "c1.<entry_id>"}})
    assert chosen(paired, CLAIM, GET_CLAIM, read("get_entry", "entry_id")) == wanted


def test_neither_a_barred_read_nor_a_notice_or_another_servers_read_has_a_part_in_it() -> None:
    shown = asked_fact("get_claim", CLAIM, {"id": "C-1"})
    assert chosen(APPROVE, CLAIM, GET_CLAIM, facts=(shown,), barred="get_claim") is None
    assert chosen(APPROVE, CLAIM, GET_CLAIM, read("list_claims"), barred="get_claim") == ("list_claims", {})
    assert chosen(APPROVE, CLAIM, GET_CLAIM._replace(connection_id="branch")) is None
    assert chosen(tool("notify_claimant", ToolClass.NOTIFY, schema("claim_id")), CLAIM, GET_CLAIM) is None
    made: JsonObject = {"claim_id": {"$ref": "c0.<claim_id>"}}  # which only an earlier answer gives
    assert chosen(APPROVE, made, GET_CLAIM) == ("get_claim", made)


def test_the_record_that_holds_the_other_id_is_read_back_and_not_the_one_it_is_given() -> None:
    """A booking has a room; the room knows nothing of it, though the tool speaks of rooms."""
    put = change("put_in_room", "booking_id", "room_id")
    given: JsonObject = {"booking_id": "B-1", "room_id": "R-2"}
    readers = [read("get_room", "room_id"), read("get_booking", "booking_id")]
    seen = asked_fact("find_bookings", {"guest": "G-1"}, [{"booking_id": "B-1", "stay": {"room_id": "R-1"}}])
    room = asked_fact("get_room", {"room_id": "R-2"}, {"room_id": "R-2", "beds": 2})
    assert chosen(put, given, *readers, facts=(room, seen)) == ("get_booking", {"booking_id": "B-1"})
    assert chosen(put, given, *readers, facts=(room,)) == ("get_room", {"room_id": "R-2"})


def test_what_an_earlier_call_makes_is_read_back_and_not_the_one_to_whom_it_is_given() -> None:
    give = change("assign_ticket", "ticket_id", "worker_id")
    given: JsonObject = {"ticket_id": {"$ref": "c0.<ticket_id>"}, "worker_id": "W-2"}
    readers = [read("get_worker", "worker_id"), read("get_ticket", "ticket_id")]
    worker = asked_fact("get_worker", {"worker_id": "W-2"}, {"id": "W-2", "name": "Ann"})
    assert chosen(give, given, *readers, facts=(worker,)) == ("get_ticket", {"ticket_id": given["ticket_id"]})


@each_row("rooms", {"R-2": {"beds": 2}, "R-3": {"beds": 1}}, [{"id": "R-2", "beds": 2}, {"id": "R-3", "beds": 1}])
def test_the_record_that_will_hold_the_id_goes_before_a_list_of_what_is_put_there(rooms: Json) -> None:
    put = change("put_in_room", "booking_no", "room_id")
    readers = [read("get_booking", "booking_no"), read("list_rooms"), read("get_room", "room_id")]
    booking: JsonObject = {"data": {"booking": {"booking_no": "B-1", "room_id": None}}}
    facts = (asked_fact("get_booking", {"booking_no": "B-1"}, booking), asked_fact("list_rooms", {}, {"rooms": rooms}))
    given: JsonObject = {"booking_no": "B-1", "room_id": "R-2"}
    assert chosen(put, given, *readers, facts=facts) == ("get_booking", {"booking_no": "B-1"})


@each_row(
    ("answer", "expected"),
    ({"booking": {"id": 77}}, 77),
    ({"booking_id": "seaside", "room_id": 3}, "seaside"),
    ({"bookings": [{"id": 77}]}, 77),
    ({"result": {"record": {"id": 77}}}, 77),
    ({"booking_reference": "X9"}, "X9"),
    (77, 77),
    ({"booking": "created"}, None),
    ({"bookings": [{"id": 77}, {"id": 78}]}, None),
    ("created", None),
    (None, None),
)
def test_the_id_of_what_was_made_is_found_in_the_answer(answer: Json, expected: Json) -> None:
    assert find_made_id(answer, "booking_id") == expected


def test_an_id_of_a_name_of_its_own_is_found_under_that_name() -> None:
    assert find_made_id({"wo": "W-94"}, "wo") == "W-94"


def test_a_planned_reference_to_it_is_filled_from_the_answer() -> None:
    asked: dict[str, Json] = {"booking_id": {"$ref": "c1.<booking_id>"}}
    assert resolve_references(asked, {"c1": {"booking": {"id": 77}}}) == {"booking_id": 77}
    with pytest.raises(NoSuchPath):
        resolve_references(asked, {"c1": {"status": "ok"}})


@each_row(
    "answer",
    [{"data": {"fee_id": 905}}, {"result": {"fee": {"id": 905}}}, {"data": {"feeId": 905, "boat": {"id": 17}}}],
)
def test_a_bare_id_of_an_earlier_call_is_found_under_the_answers_wrapper(answer: Json) -> None:
    assert resolve_references({"fee_id": {"$ref": "c1.fee_id"}}, {"c1": answer}) == {"fee_id": 905}


@each_row(
    ("answer", "name"),
    ({"data": {"fee_id": 905}, "earlier": {"fee_id": 904}}, "fee_id"),
    ({"data": {"id": 905}}, "boat_id"),  # whose id it is, nobody says
    ({"data": {"id": 905}}, "amount"),
)
def test_a_bare_name_that_an_answer_has_not_or_has_with_two_values_stays_an_error(answer: Json, name: str) -> None:
    with pytest.raises(NoSuchPath):
        resolve_references({"it": {"$ref": f"c1.{name}"}}, {"c1": answer})


def test_the_read_back_of_many_rows_is_chosen_among_many_records() -> None:
    invoices: list[Json] = [{"invoice_id": f"I-{number}", "owner_id": f"C-{number % 9}"} for number in range(2_500)]
    lister, updater = read("list_invoices"), change("update_invoices", "invoices")
    facts, toolbox = (asked_fact("list_invoices", {}, {"items": invoices}),), tools(lister, updater)
    assert soon(lambda: choose_read_back(updater, {"invoices": invoices[:500]}, toolbox, facts, "c1"))
