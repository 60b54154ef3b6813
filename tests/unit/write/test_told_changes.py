"""Of which changes a notice without one in its part does not tell: those that have provably nothing to do with it."""

from dataclasses import dataclass

import pytest

from services.executor.core.plan import notices
from services.executor.core.plan.told_changes import mark_apart
from services.executor.core.session.values import Fact, PartOfTask
from services.executor.core.tools.record_tree import NO_KEYS
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass, WriteStatus
from tests.each_row import each_row
from tests.unit.executor_core.makers import call, entry, fact, plan, tool

CANCEL, TELL = "Cancel S-2", "tell Baltic Timber that S-1 leaves on 3 May"
SAYS = "S-1 leaves on 3 May."
BODY: JsonObject = {"type": "object", "properties": {"body": {"type": "string"}}}
REFUSED, UNVERIFIED = WriteStatus.REFUSED, WriteStatus.UNVERIFIED


def read(record: JsonObject, tool_name: str) -> Fact:
    return fact(record, str(record["id"]), tool_name, asked={"id": str(record["id"])})


SHIPMENT_1: JsonObject = {"id": "S-1", "customer_id": "K-1", "state": "booked"}
SHIPMENT_2: JsonObject = {"id": "S-2", "customer_id": "K-2", "state": "planned", "note": "Oak planks"}
BALTIC: JsonObject = {"id": "K-1", "name": "Baltic Timber Ltd", "mail": "x@baltic.example"}
LINDHOLM: JsonObject = {"id": "K-2", "name": "Lindholm Mobel AB", "mail": "x@lindholm.example"}
SHIPMENTS = (read(SHIPMENT_1, "get_shipment"), read(SHIPMENT_2, "get_shipment"))
KNOWN = (*SHIPMENTS, read(BALTIC, "get_customer"), read(LINDHOLM, "get_customer"))
OAK = read({"id": 3, "name": "Oak"}, "get_customer")
INVOICE = read({"id": 5011, "shipment_id": "S-2", "payer_id": 66}, "get_invoice")
TRIP = read({"id": "T-1", "shipment_id": "S-1", "customer_id": "K-2"}, "get_trip")


@dataclass(frozen=True)
class Asked:
    """A task of two parts, a change and a notice, with what was read and what is called."""

    cancel: str = CANCEL
    tell: str = TELL
    change: JsonObject | None = None
    notice: JsonObject | None = None
    tools: tuple[str, str] = ("cancel_shipment", "notify_customer")
    facts: tuple[Fact, ...] = KNOWN
    parts: tuple[int | None, int | None] = (1, 2)
    more: tuple[PlannedCall, ...] = ()

    @property
    def plan(self) -> WritePlan:
        of, about = self.change or {"shipment_id": "S-2"}, self.notice or {"customer_id": "K-1", "body": SAYS}
        change = call(of, "c1", ToolClass.CHANGE, self.tools[0], part=self.parts[0])
        notice = call(about, "n1", ToolClass.NOTIFY, self.tools[1], part=self.parts[1])
        said = (self.cancel, self.tell)
        quotes = [PartOfTask(number=at, quote=quote, kind="do") for at, quote in enumerate(said, 1)]
        marked = mark_apart(plan(change, *self.more, notice), said, quotes, self.facts, NO_KEYS)
        told = tool(self.tools[1], ToolClass.NOTIFY, BODY)
        return notices.with_sentences(marked, {("office", self.tools[1]): told})

    def release(self, status: WriteStatus, *, after_proof: bool = False) -> notices.NoticeRelease:
        made = {one.call_id: entry(status, of=one) for one in self.plan.changes}
        return notices.may_go_out(self.plan.calls[-1], self.plan, made, after_proof=after_proof)


def says(body: str) -> Asked:
    return Asked(notice={"customer_id": "K-1", "body": body})


@pytest.mark.promise("notify.own_part")
@each_row("facts", [KNOWN, KNOWN[:3], (*KNOWN, read({"id": "S-3", "customer_id": "K-2"}, "get_shipment"))])
def test_a_notice_about_other_records_waits_for_no_change_and_has_no_sentence_on_it(facts: tuple[Fact, ...]) -> None:
    asked = Asked(facts=facts)
    assert asked.plan.calls[-1].apart_from == ("c1",)
    assert [asked.release(status) for status in (REFUSED, UNVERIFIED)] == [notices.NoticeRelease(allowed=True)] * 2


@pytest.mark.promise("notify.own_part")
@each_row(
    "asked",
    says("Dear Baltic Timber,\n\nyour shipment S-1 leaves on 3 May.\n\nKind regards"),
    Asked(notice={"to": "x@baltic.example", "subject": "S-1", "body": SAYS}),
    Asked(tell="write to Baltic Timber that shipment S-1 leaves on 3 May"),
    Asked(cancel="Hold K-2", change={"customer_id": "K-2"}, tools=("hold_customer", "notify_customer")),
)
def test_a_polite_letter_to_a_known_address_is_about_its_records_all_the_same(asked: Asked) -> None:
    assert asked.plan.calls[-1].apart_from == ("c1",)


@pytest.mark.promise("notify.own_part", "notify.proved_only")
@each_row(
    "asked",
    # it may tell of the change: by saying so, by a word, a name or an identifier of it or around it
    says("It is done."),
    says("Done."),
    says("Dear Baltic Timber, it is done."),
    says("S-1 leaves on 3 May. All is done."),
    says("S-1 leaves on 3 May, and it is done."),
    says("S-1 leaves on 3 May and it is done"),
    says("S-1 leaves on 3 May - as you wished"),
    says("S-1 leaves on 3 May, not S-2."),
    says("S-1 leaves on 3 May: S-1 has room, S-9 is off."),
    says("S-1 leaves on 3 May in place of the cancellation."),
    says("S-1 leaves on 3 May without the other shipment."),
    says("S-1 leaves on 3 May without planks."),
    says("S-1 leaves on 3 May without Lindholm."),
    says("S-1 leaves on 3 May for K-2."),
    says("S-1 leaves on 3 May instead."),
    says("S-1 leaves on 3 May with all else gone."),
    Asked(tell=f"{TELL} too"),
    Asked(notice={"customer_id": "K-1", "body": SAYS, "cancelled": True}),
    Asked(notice={"customer_id": "K-1", "body": SAYS, "refund": 30}),
    Asked(notice={"customer_id": "K-1", "body": SAYS, "refund": 3}, facts=(*KNOWN, OAK)),
    Asked(notice={"customer_id": "K-1", "body": SAYS, "kind": "booked"}),
    says("S-1 leaves on 3 May without S-9."),
    Asked(cancel="Take S-2 back", notice={"customer_id": "K-1", "body": "S-1 leaves on 3 May without cancellation."}),
    Asked(tools=("withdraw", "notify_customer"), notice={"customer_id": "K-1", "body": f"{SAYS} S-1 is a shipment"}),
    Asked(
        change={"shipment_id": "S-2", "why": "strike"}, notice={"customer_id": "K-1", "body": "S-1 leaves, strike S-1"}
    ),
    Asked(notice={"customer_id": 3, "body": "S-1 leaves on 3 May. It goes on 3 May."}, facts=(*KNOWN, OAK)),
    Asked(notice={"customer_id": "K-1", "body": "S-1 leaves on 3 May without 5011."}, facts=(*KNOWN, INVOICE)),
    Asked(notice={"customer_id": "K-1", "body": "S-1 leaves on 3 May for 66."}, facts=(*KNOWN, INVOICE)),
    Asked(tell="tell Baltic Timber so"),
    Asked(tell="inform Baltic Timber"),
    Asked(tell="tell Baltic Timber that it is done and that S-1 leaves on 3 May"),
    Asked(tell=f"{TELL} since the cancellation is through"),
    Asked(cancel="Cancel S-2 of Arko", notice={"customer_id": "K-1", "body": "S-1 leaves on 3 May without Arko."}),
    # it depends on the change, or follows it
    Asked(cancel="Cancel S-2. If that works,"),
    Asked(tell=f"then {TELL}"),
    # its records are not known, or the change's are not
    Asked(facts=()),
    Asked(facts=KNOWN[1:]),
    Asked(facts=KNOWN[:2]),
    Asked(facts=(KNOWN[0], *KNOWN[2:])),
    Asked(notice={"customer_id": "K-9", "body": SAYS}),
    Asked(notice={"to": "y@other.example", "body": SAYS}),
    Asked(notice={"customer_id": "K-1", "ref": {"$ref": "c1.id"}, "body": SAYS}),
    Asked(change={"shipment_id": {"$ref": "c0.id"}, "customer_id": "K-2"}),
    Asked(change={"reason": "late"}),
    Asked(change={"shipment_id": "S-2", "claim_id": "C-9"}),
    # a path of records leads from one to the other
    Asked(notice={"customer_id": "K-2", "body": SAYS}),
    Asked(notice={"to": "x@lindholm.example", "body": SAYS}),
    Asked(change={"shipment_id": "S-1"}),
    Asked(change={"customer_id": "K-1"}, tools=("cancel_account", "notify_customer")),
    Asked(facts=(*KNOWN, TRIP)),
    Asked(facts=(*KNOWN, read({"id": "S-2", "parent_shipment_id": "S-1"}, "get_parent"))),
    # its own part has a change, or no part is told
    Asked(parts=(2, 2)),
    Asked(parts=(None, 2)),
    Asked(parts=(1, None)),
)
def test_a_notice_that_may_have_to_do_with_a_change_tells_of_it(asked: Asked) -> None:
    assert asked.plan.calls[-1].apart_from == ()
    assert not asked.release(REFUSED).allowed
    assert asked.release(UNVERIFIED).sentence


def statement(to: str = "K-1", tell: str = "send Baltic Timber a statement", **more: object) -> Asked:
    given: dict[str, object] = {"tools": ("cancel_shipment", "send_statement"), **more}
    return Asked(tell=tell, notice={"customer_id": to}, **given)  # type: ignore[arg-type]  # as the fields are


@pytest.mark.promise("notify.own_part", "notify.after_proof")
@each_row(
    "asked", statement(), statement("17", facts=(*KNOWN, read({"id": "17", "customer_name": "X"}, "get_customer")))
)
def test_a_statement_to_another_party_waits_until_the_change_is_acknowledged_and_for_no_proof(asked: Asked) -> None:
    assert asked.release(UNVERIFIED) == notices.NoticeRelease(allowed=True)
    assert not asked.release(UNVERIFIED, after_proof=True).allowed
    assert not asked.release(REFUSED).allowed


@pytest.mark.promise("notify.own_part", "notify.proved_only")
@each_row(
    "asked",
    statement("K-2"),
    statement("K-9"),
    Asked(tools=("cancel_shipment", "send_statement"), notice={"customer_id": "K-1", "refund": 30}),
    statement(tell="send Baltic Timber a statement of the cancellation"),
    statement(tell="then send Baltic Timber a statement"),
    statement(tools=("cancel_shipment", "notify_customer")),
    statement(tools=("cancel_shipment", "send_cancellation")),
    statement(tools=("cancel_shipment", "alert")),
    Asked(tell="send a statement", tools=("cancel_shipment", "send_statement"), notice={"customer_id": None}),
    statement(facts=(KNOWN[0], read({"id": "S-2", "state": "planned"}, "get_shipment"), KNOWN[2])),
    statement(more=(call({"shipment_id": "S-1"}, "c2", ToolClass.CHANGE, "cancel_shipment", part=3),)),
)
def test_a_notice_without_a_text_that_may_have_to_do_with_a_change_waits_for_its_proof(asked: Asked) -> None:
    assert not asked.release(UNVERIFIED).allowed


@pytest.mark.promise("notify.own_part")
def test_of_two_changes_a_notice_tells_of_the_one_that_its_records_have_to_do_with() -> None:
    asked = Asked(more=(call({"shipment_id": "S-1"}, "c2", ToolClass.CHANGE, "book_shipment", part=3),))
    assert asked.plan.calls[-1].apart_from == ("c1",)
    assert [one.call_id for one in notices.changes_told_by(asked.plan.calls[-1], asked.plan)] == ["c2"]


@pytest.mark.promise("notify.own_part")
def test_what_a_notice_is_apart_from_is_frozen_and_a_plan_that_was_stored_without_it_tells_of_all() -> None:
    frozen = Asked().plan
    stored: Json = {
        "call_id": "n1",
        "connection_id": "office",
        "tool": "t",
        "tool_class": "notify",
        "arguments_json": "{}",
    }
    older = WritePlan(task_id="t", calls=(frozen.calls[0], PlannedCall.model_validate(stored)))
    assert notices.changes_told_by(older.calls[1], older) == [frozen.calls[0]]
    assert WritePlan.model_validate_json(frozen.model_dump_json()) == frozen
    bare = frozen.model_copy(update={"calls": tuple(one.model_copy(update={"apart_from": ()}) for one in frozen.calls)})
    assert bare.hash != frozen.hash
