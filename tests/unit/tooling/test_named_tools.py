"""Tools that a task names although no server lists them: recognised as names, classified, refused where forbidden."""

import pytest

from services.executor.core.prime.prime import find_unlisted_tools_in_text
from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain.words import ToolClass
from tests.each_row import each_row

BRIDGE = Connection(id="bridge", url="http://bridge")


def names(text: str, *listed: str) -> list[str]:
    return [tool.name for tool in find_unlisted_tools_in_text(text, BRIDGE, listed)]


@pytest.mark.promise("tools.named_by_task")
@each_row(
    ("text", "found"),
    ("First get_order_status, then cancel_order.", ["cancel_order", "get_order_status"]),
    ("Call sync_ledger for March.", ["sync_ledger"]),
    ("Use the tool `reconcile_books` please.", ["reconcile_books"]),
    ("Finish with close_period(period='2026-03').", ["close_period"]),
    ("The book_meeting tool fits.", ["book_meeting"]),
    ("Using freeze_card, stop card 7.", ["freeze_card"]),
    ("If not found, call create_vendor.", ["create_vendor"]),
)
def test_a_tool_named_in_full_is_found(text: str, found: list[str]) -> None:
    assert names(text) == found


@pytest.mark.promise("tools.named_by_task")
@each_row(
    "text",
    "Refund order ORD-1, whose order_id is in the mail.",
    "Set the display_name and the update_date of account_number 5.",
    "Use order_id ORD_2024_17 and region eu_west_1.",
    "See report_final.pdf at https://x.example/get_report and /srv/create_user.",
    "Do not call delete_user.",
    "Solve it without using update_salary.",
    "Get the order and cancel it.",
)
def test_fields_files_and_forbidden_tools_are_not_taken_for_tools(text: str) -> None:
    assert names(text) == []


@pytest.mark.promise("tools.named_by_task")
def test_the_class_comes_from_the_name_and_only_the_catalogue_lowers_it() -> None:
    text = "First get_order, approve_order, send_reminder, then call frobnicate_order."
    trusted = BRIDGE.model_copy(update={"catalogue": {"frobnicate_order": CatalogueEntry(tool_class=ToolClass.READ)}})
    classes = {tool.name: tool.tool_class for tool in find_unlisted_tools_in_text(text, BRIDGE, ())}
    lowered = {
        tool.name: tool.tool_class for tool in find_unlisted_tools_in_text("Call frobnicate_order.", trusted, ())
    }
    assert classes == {
        "approve_order": ToolClass.CHANGE,
        "frobnicate_order": ToolClass.CHANGE,
        "get_order": ToolClass.READ,
        "send_reminder": ToolClass.NOTIFY,
    }
    assert lowered == {"frobnicate_order": ToolClass.READ}
