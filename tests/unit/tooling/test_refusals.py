"""What an answer says: a refusal, an echo of the call, or a record told in a sentence."""

from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from services.executor.core.reads.server_call import parse_field_clauses
from services.executor.core.tools.failures import echoes_call, says_record_absent, says_refused, says_timed_out
from shared.domain.exact_json import Json
from tests.each_row import each_row


@pytest.mark.promise("I4.unread_errors")
@each_row(
    "said",
    "Error executing tool pay: amount must be positive",
    {"error": "CONSTRAINT_VIOLATION", "type": "CONSTRAINT_VIOLATION"},
    {"error": {"code": 422, "message": "unit"}},
    {"status": 403},
    {"detail": [{"loc": ["params", "amount"], "msg": "field required", "type": "missing_field"}]},
    "Claim C-1 is not eligible for approval",
    "The change is not allowed after shipping",
    "Order O-1 not found",
    "over the limit",
    "insufficient funds",
    "the claim is already approved",
    "1 validation error for Pay",
    "unexpected keyword argument 'colour'",
    "the card was declined",
    "Cabin class cannot be changed for basic economy",
)
def test_an_error_that_names_what_is_wrong_is_a_refusal(said: Json) -> None:
    assert says_refused(said)


OPEN = [
    "", None, {}, {"error": ""}, {"error": True}, "Error", "failed", "something went wrong",
    "Internal Server Error", "internal error", "HTTP 502: bad gateway", {"status": 500, "error": "not allowed"},
    "timeout", "timed out while committing", "deadline exceeded", "connection reset by peer", "connection refused",
    "HTTP 409: conflict", "order already exists", "duplicate key value violates a constraint", "HTTP 429: wait",
    "rate limit exceeded", "service unavailable", "please try again later", "Unhandled exception: KeyError",
    "invalid state after partial update", {"code": 408, "message": "invalid"},
    {"error": "oops", "params": {"reason": "not allowed"}},
]  # fmt: skip


@pytest.mark.promise("I4.unread_errors")
@each_row("said", OPEN)
def test_a_failure_of_the_servers_own_or_no_reason_at_all_leaves_it_open(said: Json) -> None:
    assert not says_refused(said)


@given(reason=st.sampled_from(["not allowed", "invalid amount", "HTTP 422"]), fault=st.sampled_from(OPEN[9:15]))
def test_one_word_of_a_failure_outweighs_every_reason_beside_it(reason: str, fault: Json) -> None:
    assert not says_refused([reason, fault])
    assert not says_refused({"message": fault, "detail": reason})


@each_row(
    ("said", "absent"),
    ("Order O-1 not found", True),
    ({"error": {"code": 404}}, True),
    ("no such booking", True),
    ("tool get_order not found", False),
    ("internal error", False),
    ("not allowed", False),
    (None, False),
)
def test_a_read_that_finds_no_record_says_so(said: Json, absent: bool) -> None:
    assert says_record_absent(said) is absent


@pytest.mark.promise("I4.unread_errors")
@each_row(
    ("said", "is_out_of_time"),
    ("timeout", True),
    ("timed out while committing", True),
    ({"error": "Gateway Timeout"}, True),
    ({"status": 504}, True),
    ("context deadline exceeded", True),
    ("timeout must be at least 5", False),
    ("the books are being closed", False),
    ({"error": "invalid", "params": {"note": "it timed out"}}, False),
    ("Try again later.", False),
)
def test_an_error_says_that_its_time_ran_out(said: Json, is_out_of_time: bool) -> None:
    assert says_timed_out(said) is is_out_of_time


@each_row(
    "content",
    {"status": "ok", "tool": "pay", "params": {}},
    {"status": "ok", "tool": "pay", "params": {"amount": 5}, "session_id": "s"},
)
def test_tool_and_params_and_nothing_else_is_an_echo(content: Json) -> None:
    assert echoes_call("pay", content)


@each_row(
    "content",
    {"status": "ok", "tool": "refund", "params": {}},
    {"status": "ok", "tool": "pay", "params": "none"},
    {"status": "ok", "tool": "pay", "params": {}, "payment_id": "P-1"},
    {"status": "ok"},
)
def test_an_answer_that_says_more_or_less_is_none(content: Json) -> None:
    assert not echoes_call("pay", content)


def test_clauses_are_fields_and_sentences_after_the_last_value_are_no_part_of_it() -> None:
    told = "This claim is on file: claimId is 1185305; estimate is 4320.50; holder is Ana Lind; opened is 2026-03-01."
    assert parse_field_clauses(told) == {
        "told": "This claim is on file",
        "claimId": 1185305,
        "estimate": Decimal("4320.50"),
        "holder": "Ana Lind",
        "opened": "2026-03-01",
    }
    told = "On file: status is duplicate; note is Call first.; original is INV-7. One of its entries: line L1, price 5."
    assert parse_field_clauses(told) == {
        "told": "On file. One of its entries: line L1, price 5",
        "status": "duplicate",
        "note": "Call first.",
        "original": "INV-7",
    }
    told = "id is 17; note is Please call. Nobody answers at noon."
    assert parse_field_clauses(told) == {"id": 17, "note": "Please call. Nobody answers at noon"}


@each_row("content", "The claim is settled; nothing else happened.", "id is 17; id is 18", ["id is 17; total is 5"])
def test_anything_else_stays_as_it_is(content: object) -> None:
    assert parse_field_clauses(content) == content  # type: ignore[arg-type]


def test_leading_zeros_are_kept_and_a_field_without_a_value_is_empty() -> None:
    assert parse_field_clauses("id is 007; total is 5") == {"id": "007", "total": 5}
    told = "This account is on file: id is AC-1; balance is 49858; remarks is ."
    assert parse_field_clauses(told) == {
        "told": "This account is on file",
        "id": "AC-1",
        "balance": 49858,
        "remarks": "",
    }
    assert parse_field_clauses("id is 17; note is; total:") == {"id": 17, "note": "", "total": ""}
