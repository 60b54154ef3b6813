"""JSON that is right, and too much to be read while others wait."""

import pytest

from services.gateway.edge.body import MAX_DEPTH, MAX_VALUES, BadCall, parse_value
from tests.each_row import each_row

pytestmark = pytest.mark.promise("gateway.limits")


@each_row(
    ("body", "says"),
    [
        (b"[" + b"1," * MAX_VALUES + b"1]", "more than 100000 values"),
        (b"[" + b"[]," * MAX_VALUES + b"1]", "more than 100000 values"),
        (b"{" + b'"a":1,' * 10 + b'"b":[' + b"{}," * MAX_VALUES + b"1]}", "more than 100000 values"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "deeper than 64 levels"),
        (b"[" * MAX_DEPTH + b"1" + b"]" * MAX_DEPTH, "deeper than 64 levels"),
        (b"1E+999999999999", "too large"),
        (b"-1E+999999999999", "too large"),
        (b"1E-999999999999", "too small"),
        (b"9" * 4299, "too large"),
        (b"9" * 5000, "not JSON"),
        (b'{"\\ud800": 1}', "surrogate"),
    ],
)
def test_what_is_too_much_is_refused(body: bytes, says: str) -> None:
    with pytest.raises(BadCall, match=says):
        parse_value(body)


def test_what_is_within_the_limits_is_read() -> None:
    assert parse_value(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH) is not None
    assert len(str(parse_value(b"[" + b"1," * 1000 + b"1]"))) > 1000
