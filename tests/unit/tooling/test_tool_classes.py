"""Classes of tools: from the name, raised by the annotation, lowered by the catalogue alone."""

import pytest
from hypothesis import given, strategies as st

from services.executor.core.tools import classes as verbs
from services.executor.core.tools.classes import ToolAnnotations, classify_by_name, classify_tool
from shared.contracts.tenant import CatalogueEntry
from shared.domain.words import TOOL_CLASSES_BY_STRICTNESS, ToolClass
from tests.each_row import each_row

READ = "get_refund list_purchase_orders check_transfer_status get-terms-and-conditions getOrder crm.get_account"
READ += " bulk_get_orders mcp__crm__list_contacts GET_ORDER describe_table verify_iban search_charges query_reports"
READ += " list_access_requests get_budget find_booking view_invoice get_post_comments list_merge_requests"
COMPUTE = "calculate_variance compute_tax estimateShipping calculate_refund"
NOTIFY = "notify_employee alert_oncall remind_customer send_email send_status_message send_sms_and_email email_customer"
NOTIFY += " send_meeting_invitation send_appointment_reminder schedule_meeting_reminder schedule_reminder"
NOTIFY += " post_announcement publish_newsletter log_audit_event write_audit_log"

CHANGE = "approve_expense refund_order charge_card transfer_funds book_room report_incident request_access order_item"
CHANGE += (
    " create_refund get_or_create_user get_order_and_refund fetch_then_zap_account get_and_frobnicate find_and_replace"
)
CHANGE += " send_money send_refund_email send_payment_message schedule_payment schedule_deletion post_journal_entry"
CHANGE += " publish_release email_and_charge notify_and_delete_user check_in_guest check-out-book frobnicate orders x"
CHANGE += (
    " deleteUser removeAccess delete.get_order get_user_and_wipe_disk broadcast_transaction log_expense write_file"
)
CHANGE += " schedule_meeting schedule_visit schedule_interview book_slot ask_customer ask_expert screen_party"
CHANGE += " initiate_wire_transfer freeze_account deny_claim proceed_migration dispute_chargeback send_money_test"
CHANGE += " delete_user_report purge_audit get_and_delete_order preview_email_and_send"  # these end like reads
CHANGE += " compare_and_swap list_orders_or_cancel quick_update_row is_it_then_pay load_funds select_winner track_event"


@pytest.mark.promise("tools.class_by_name")
@each_row(
    ("names", "expected"),
    [(READ, ToolClass.READ), (COMPUTE, ToolClass.COMPUTE), (NOTIFY, ToolClass.NOTIFY), (CHANGE, ToolClass.CHANGE)],
)
def test_a_name_tells_the_class(names: str, expected: ToolClass) -> None:
    """Verbs in front and after conjunctions decide; nouns such as "refund" elsewhere do not."""
    wrong = {
        name: classify_by_name(name) for name in names.split() if classify_by_name(name).tool_class is not expected
    }

    assert not wrong


@pytest.mark.promise("tools.unknown_changes")
@each_row("name", ["", "_", "!!!", "и", "frobnicate_order", "processor", "орdеr_get", "get\u0435", "123"])
def test_an_unknown_name_changes_whatever_the_annotation_says(name: str) -> None:
    assert classify_tool(name, ToolAnnotations(read_only=True), None).tool_class is ToolClass.CHANGE


@each_row(
    ("name", "said", "expected"),
    ("delete_order", ToolAnnotations(read_only=True), ToolClass.CHANGE),
    ("get_order", ToolAnnotations(read_only=False), ToolClass.CHANGE),
    ("get_order", ToolAnnotations(read_only=True, destructive=True), ToolClass.CHANGE),
    ("get_order", ToolAnnotations(read_only=True, destructive=False), ToolClass.READ),
    ("calculate_tax", ToolAnnotations(read_only=True), ToolClass.COMPUTE),
    ("calculate_tax", ToolAnnotations(read_only=False), ToolClass.CHANGE),
    ("notify_employee", ToolAnnotations(read_only=False, destructive=False), ToolClass.NOTIFY),
    ("notify_employee", ToolAnnotations(read_only=True), ToolClass.NOTIFY),
    ("notify_employee", ToolAnnotations(read_only=False, destructive=True), ToolClass.CHANGE),
    ("get_order", None, ToolClass.READ),
)
def test_an_annotation_raises_and_never_lowers(name: str, said: ToolAnnotations | None, expected: ToolClass) -> None:
    assert classify_tool(name, said, None).tool_class is expected


@pytest.mark.promise("tools.own_annotation")
@each_row(
    ("name", "own", "said", "expected"),
    ("ask_customer", True, ToolAnnotations(read_only=True), ToolClass.READ),
    ("screen_party", True, ToolAnnotations(read_only=True), ToolClass.READ),
    ("screen_party", False, ToolAnnotations(read_only=True), ToolClass.CHANGE),
    ("screen_party", True, ToolAnnotations(read_only=True, destructive=True), ToolClass.CHANGE),
    ("screen_party", True, None, ToolClass.CHANGE),
    ("screen_and_delete_party", True, ToolAnnotations(read_only=True), ToolClass.CHANGE),
    ("delete_party", True, ToolAnnotations(read_only=True), ToolClass.CHANGE),
    ("book_slot", True, ToolAnnotations(read_only=True), ToolClass.CHANGE),
    ("get\u0435", True, ToolAnnotations(read_only=True), ToolClass.CHANGE),
)
def test_where_a_name_says_nothing_the_tenants_own_server_may_say_that_it_only_reads(
    name: str, own: bool, said: ToolAnnotations | None, expected: ToolClass
) -> None:
    """Asking or checking may change something, until somebody who knows the server says that it does not."""
    assert classify_tool(name, said, None, is_own=own).tool_class is expected


@pytest.mark.promise("tools.catalogue_lowers")
@each_row("tool_class", list(ToolClass))
def test_the_catalogue_decides_outright(tool_class: ToolClass) -> None:
    """Whatever name and server say, the operator knows better, in both directions."""
    entry = CatalogueEntry(tool_class=tool_class)

    assert classify_tool("delete_everything", ToolAnnotations(destructive=True), entry).tool_class is tool_class
    assert classify_tool("get_order", ToolAnnotations(read_only=True), entry).tool_class is tool_class


NAMES = st.lists(
    st.sampled_from(
        sorted(verbs.READ_VERBS | verbs.CHANGE_VERBS | verbs.VERBS_OR_NOUNS | verbs.MESSAGE_NOUNS | {"and", "zap"})
    )
)
HINTS = st.sampled_from([None, True, False])


@pytest.mark.promise("tools.annotation_never_lowers")
@given(words=NAMES, read_only=HINTS, destructive=HINTS)
def test_adding_an_annotation_never_lowers_a_class(
    words: list[str], read_only: bool | None, destructive: bool | None
) -> None:
    name = "_".join(words)

    plain = classify_tool(name, None, None).tool_class
    annotated = classify_tool(name, ToolAnnotations(read_only, destructive), None).tool_class

    assert TOOL_CLASSES_BY_STRICTNESS.index(annotated) >= TOOL_CLASSES_BY_STRICTNESS.index(plain)


@given(
    before=NAMES,
    verb=st.sampled_from(sorted(verbs.CHANGE_VERBS - verbs.DELIVERY_VERBS - verbs.RECORD_VERBS)),
    after=NAMES,
)
def test_an_unambiguous_verb_of_change_counts_wherever_it_stands(
    before: list[str], verb: str, after: list[str]
) -> None:
    assert classify_by_name("_".join([*before, verb, *after])).tool_class is ToolClass.CHANGE
