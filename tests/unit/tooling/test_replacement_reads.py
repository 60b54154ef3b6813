"""What may stand in for a tool that is gone: the same question under another name, and never anything stronger."""

from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from services.executor.core.reads.recovering import find_renamed_reads, find_single_reads, has_opposites
from services.executor.core.tools import classes as verbs
from services.executor.core.tools.failures import ReadFailureKind, classify_failure, convert_to_wanted_types
from services.executor.ports.tools import ReadCall, Tool, ToolAnswer
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TOOL_CLASSES_BY_STRICTNESS, ToolClass
from tests.each_row import each_row


def tool(
    name: str, fields: str = "", kind: ToolClass = ToolClass.READ, server: str = "a", required: bool = True
) -> Tool:
    names = fields.split()
    properties: JsonObject = {field: {} for field in names}
    schema: JsonObject = {"type": "object", "properties": properties, "required": [*names] if required else []}
    return Tool(server, name, "", schema, kind, "test", CatalogueEntry())


def called(found: list[ReadCall]) -> list[tuple[str, JsonObject]]:
    return [(one.tool.name, one.arguments) for one in found]


@pytest.mark.promise("recover.kinds")
@each_row(
    ("content", "is_error", "kind"),
    ({"data": [], "total": None}, False, None),
    (None, False, None),
    ({"found": False, "error": "no such claim"}, False, None),
    ({"id": "J-1", "error": "service unavailable"}, False, None),
    ("Unknown tool: get_claim", True, ReadFailureKind.TOOL_GONE),
    ("There is no tool get_claim.", True, ReadFailureKind.TOOL_GONE),
    ({"error": "tool get_claim has been removed"}, False, ReadFailureKind.TOOL_GONE),
    ("Method not found", True, ReadFailureKind.TOOL_GONE),
    ("claim C-1 not found", True, ReadFailureKind.NOT_FOUND),
    ("no such claim", True, ReadFailureKind.NOT_FOUND),
    ("HTTP 404", True, ReadFailureKind.NOT_FOUND),
    ("no such column: amount", True, ReadFailureKind.OTHER),
    ("column amount does not exist", True, ReadFailureKind.OTHER),
    ("Permission denied", True, ReadFailureKind.NOT_PERMITTED),
    ("HTTP 403", True, ReadFailureKind.NOT_PERMITTED),
    ("the tool get_claim is not available for your role", True, ReadFailureKind.NOT_PERMITTED),
    ({"error": "missing scope claims:read"}, False, ReadFailureKind.NOT_PERMITTED),
    ({"error": "insufficient privileges"}, False, ReadFailureKind.NOT_PERMITTED),
    ("the query timed out", True, ReadFailureKind.FOR_THE_MOMENT),
    ("context deadline exceeded", True, ReadFailureKind.FOR_THE_MOMENT),
    ("the contract timed its payments badly", True, ReadFailureKind.OTHER),
    ("claim_id must be an integer", True, ReadFailureKind.WRONG_TYPE),
    ("Input should be a valid string", True, ReadFailureKind.WRONG_TYPE),
    ("'7' is not of type 'integer'", True, ReadFailureKind.WRONG_TYPE),
    ("the number of the claim is closed", True, ReadFailureKind.OTHER),
    ("power tool storage is full", True, ReadFailureKind.OTHER),
    ("429 Too Many Requests", True, ReadFailureKind.FOR_THE_MOMENT),
    ({"error": "HTTP 503"}, False, ReadFailureKind.FOR_THE_MOMENT),
    ("temporarily unavailable, try again later", True, ReadFailureKind.FOR_THE_MOMENT),
    ("database is locked", True, ReadFailureKind.FOR_THE_MOMENT),
    ("at most 1 ids", True, ReadFailureKind.TOO_MUCH),
    ("CHECK constraint failed: amount", True, ReadFailureKind.OTHER),
    ("amount is required", True, ReadFailureKind.OTHER),
    ("order 503 is closed", True, ReadFailureKind.OTHER),
)
def test_a_failure_is_told_by_what_the_server_says_and_an_empty_answer_is_none(
    content: Json, is_error: bool, kind: ReadFailureKind | None
) -> None:
    assert classify_failure(ToolAnswer(content, is_error)) is kind


@pytest.mark.promise("recover.types")
@each_row(
    ("arguments", "error", "mended"),
    ({"n": "42"}, "n must be an integer", {"n": 42}),
    ({"n": 42}, "Input should be a valid string", {"n": "42"}),
    ({"n": "4.20", "m": "x"}, "n: expected number", {"n": Decimal("4.20"), "m": "x"}),
    ({"on": "TRUE"}, "on must be a boolean", {"on": True}),
    ({"ids": "C-1"}, "ids must be a list", {"ids": ["C-1"]}),
    ({"id": ["C-1"]}, "id is not of type 'string'", {"id": "C-1"}),
    ({"id": ["7"]}, "id must be an int", {"id": 7}),
    ({"a": "1", "b": "2"}, [{"loc": ["b"], "msg": "Input should be a valid integer"}], {"a": "1", "b": 2}),
    ({"n": "007"}, "n must be an integer", None),
    ({"n": "C-1"}, "n must be a number", None),
    ({"n": True}, "n must be a string", None),
    ({"n": None}, "n must be a string", None),
    ({"ids": ["a", "b"]}, "ids must be a string", None),
    ({"n": 42}, "n must be an integer", None),
    ({"a": "1", "b": "2"}, "must be an integer", None),
    ({"n": "42"}, "n must be positive", None),
)
def test_a_value_is_sent_in_the_type_that_the_server_names_if_it_stays_the_same(
    arguments: JsonObject, error: Json, mended: JsonObject | None
) -> None:
    said: Json = {"detail": error} if isinstance(error, list) else error
    assert convert_to_wanted_types(arguments, said) == mended


@pytest.mark.promise("recover.never_stronger")
@each_row(
    ("gone", "other"),
    ("approve_pto_request", "deny_pto_request"),
    ("freeze_retention", "release_retention"),
    ("get_account", "set_account"),
    ("open_case", "close_case"),
    ("enable_user", "disable_user"),
    ("get_open_orders", "get_closed_orders"),
    ("list_active_users", "list_inactive_users"),
    ("get_customer_balance", "get_supplier_balance"),
    ("list_paid_invoices", "list_unpaid_invoices"),
    ("get_first_invoice", "get_last_invoice"),
    ("list_accounts_payable", "list_accounts_receivable"),
)
def test_no_opposite_and_no_write_stands_in(gone: str, other: str) -> None:
    """What the original did instead: it denied the request whose approval had failed, and said it was done."""
    for kind in ToolClass:
        assert find_renamed_reads(tool(gone, "id"), {"id": 1}, [tool(other, "id", kind)]) == []


@pytest.mark.promise("recover.synonyms")
@each_row(
    ("gone", "other", "fields"),
    ("get_claim", "fetch_claim", "claim_id"),
    ("get_claim", "get_claim_details", "claim_id"),
    ("get_claim", "retrieve_claim_by_id", "claim_id"),
    ("get_claim", "get_claim_v", "claimId"),
    ("lookup_department", "get_dept", "claim_id"),
)
def test_a_read_of_the_same_under_another_name_stands_in(gone: str, other: str, fields: str) -> None:
    found = find_renamed_reads(tool(gone, "claim_id"), {"claim_id": "C-1"}, [tool(other, fields)])
    assert called(found) == ([(other, {fields: "C-1"})] if not other.endswith("_v") else [])


@pytest.mark.promise("recover.synonyms")
@each_row(
    "other",
    tool("get_claims", "claim_id"),
    tool("get_claimant", "claim_id"),
    tool("get_claim_history", "claim_id"),
    tool("list_claim", "claim_id"),
    tool("count_claim", "claim_id"),
    tool("fetch_claim", "claim_id", server="b"),
    tool("fetch_claim", "policy_number"),
    tool("fetch_claim", "claim_id secret"),
    tool("fetch_claim", "claim_id", ToolClass.CHANGE),
    tool("fetch_and_archive_claim", "claim_id"),
    tool("get_claim", "claim_id"),
)
def test_what_asks_another_question_stands_not_in(other: Tool) -> None:
    assert find_renamed_reads(tool("get_claim", "claim_id"), {"claim_id": "C-1"}, [other]) == []


@pytest.mark.promise("recover.one_by_one")
@each_row(
    ("arguments", "fields"),
    ({"order_ids": []}, "order_id"),
    ({"order_ids": ["O"] * 21}, "order_id"),
    ({"order_ids": [{"id": 1}]}, "order_id"),
    ({"order_ids": "O-1"}, "order_id"),
    ({"order_ids": ["O-1"], "fields": ["a"]}, "order_id"),
    ({"order_ids": ["O-1"]}, "sku"),
    ({"order_ids": ["O-1"]}, "order_id secret"),
    ({"order_ids": ["O-1"], "region": "eu"}, "order_id"),
)
def test_a_read_that_does_not_plainly_come_to_single_ones_is_not_taken_apart(
    arguments: JsonObject, fields: str
) -> None:
    assert find_single_reads(tool("get_orders"), arguments, [tool("get_order", fields)]) == []


WORDS = st.sampled_from(
    sorted(verbs.READ_VERBS | verbs.CHANGE_VERBS | verbs.VERBS_OR_NOUNS | {"claim", "order", "orders", "user"})
)
NAMES = st.lists(WORDS, min_size=1, max_size=4).map("_".join)
TOOLS = st.builds(tool, NAMES, st.sampled_from(["", "id", "claim_id"]), st.sampled_from(ToolClass))
GIVEN = st.dictionaries(st.sampled_from(["id", "claim_id", "order_ids"]), st.integers() | st.lists(st.integers()))


@pytest.mark.promise("recover.never_stronger")
@given(gone=TOOLS, arguments=GIVEN, tools=st.lists(TOOLS, max_size=8))
def test_nothing_of_a_stronger_class_ever_stands_in_and_no_value_changes(
    gone: Tool, arguments: JsonObject, tools: list[Tool]
) -> None:
    asked = {repr(value) for value in arguments.values()}
    for found in (*find_renamed_reads(gone, arguments, tools), *find_single_reads(gone, arguments, tools)):
        assert TOOL_CLASSES_BY_STRICTNESS.index(found.tool.tool_class) <= TOOL_CLASSES_BY_STRICTNESS.index(
            gone.tool_class
        )
        assert found.tool.tool_class is gone.tool_class is ToolClass.READ
        assert not has_opposites(gone.name.split("_"), found.tool.name.split("_"))
    for found in find_renamed_reads(gone, arguments, tools):
        assert {repr(value) for value in found.arguments.values()} == asked
