"""Which errors plainly say that nothing was written: the table, read both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.tools.failures import ErrorMeaning, classify_error, says_absent, says_out_of_time
from shared.domain.exact_json import Json
from tests.each_row import each_row


@pytest.mark.promise("I4.unread_errors")
@each_row(
    "said",
    [
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
    ],
)
def test_an_error_that_names_what_is_wrong_is_a_refusal(said: Json) -> None:
    assert classify_error(said) is ErrorMeaning.REFUSED


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
    assert classify_error(said) is ErrorMeaning.OPEN


@given(reason=st.sampled_from(["not allowed", "invalid amount", "HTTP 422"]), fault=st.sampled_from(OPEN[9:15]))
def test_one_word_of_a_failure_outweighs_every_reason_beside_it(reason: str, fault: Json) -> None:
    assert classify_error([reason, fault]) is ErrorMeaning.OPEN
    assert classify_error({"message": fault, "detail": reason}) is ErrorMeaning.OPEN


@each_row(
    ("said", "absent"),
    [
        ("Order O-1 not found", True),
        ({"error": {"code": 404}}, True),
        ("no such booking", True),
        ("NOT_FOUND", True),
        ("tool get_order not found", False),
        ("internal error", False),
        ("not allowed", False),
        (None, False),
    ],
)
def test_a_read_that_finds_no_record_says_so(said: Json, absent: bool) -> None:
    assert says_absent(said) is absent


@pytest.mark.promise("I4.unread_errors")
@each_row(
    ("said", "is_out_of_time"),
    [
        ("timeout", True),
        ("timed out while committing", True),
        ({"error": "Gateway Timeout"}, True),
        ({"status": 504}, True),
        ("context deadline exceeded", True),
        ("timeout must be at least 5", False),
        ("the books are being closed", False),
        ({"error": "invalid", "params": {"note": "it timed out"}}, False),
        ("Try again later.", False),
    ],
)
def test_an_error_says_that_its_time_ran_out(said: Json, is_out_of_time: bool) -> None:
    assert says_out_of_time(said) is is_out_of_time
