"""What is marked: by check digits, by form, or by the label before it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.marks import MarkKind, marked_values, marks
from shared.domain.redaction import redact_text, without_marks
from tests.each_row import each_row
from tests.unit.privacy.marked_values import VALUES, a_text_with


@pytest.mark.promise("privacy.marks")
@each_row(
    ("text", "found"),
    [
        ("card 4111 1111 1111 1111 12/29", {"4111 1111 1111 1111": MarkKind.CARD}),
        ("pay 4012888888881881.", {"4012888888881881": MarkKind.CARD}),
        ("IBAN DE89 3704 0044 0532 0130 00 then pay", {"DE89 3704 0044 0532 0130 00": MarkKind.IBAN}),
        ("GB82 WEST 1234 5698 7654 32 FROM acct", {"GB82 WEST 1234 5698 7654 32": MarkKind.IBAN}),
        ("Her ssn: 536904399", {"536904399": MarkKind.SSN}),
        ("it is 536-90-4399", {"536-90-4399": MarkKind.SSN}),
        ("Set the password to Winter2026!", {"Winter2026!": MarkKind.PASSWORD}),
        ("password: USR-12", {"USR-12": MarkKind.PASSWORD}),
        ("Reset the password: Winter-2026!", {"Winter-2026!": MarkKind.PASSWORD}),
        ('{"new_password": "USR-12"}', {"USR-12": MarkKind.PASSWORD}),
        ("password for Bob: sesame.", {"sesame": MarkKind.PASSWORD}),
        ('{"password":"p4ss word","api_key":null}', {"p4ss word": MarkKind.PASSWORD}),
        ('{\\"new_password\\":\\"open sesame\\"}', {"open sesame": MarkKind.PASSWORD}),
        ("postgres://u:secretpw@db/x", {"secretpw": MarkKind.SECRET}),
        ("Authorization: Bearer abcdefghijklmnop1234", {"abcdefghijklmnop1234": MarkKind.SECRET}),
    ],
)
def test_a_marked_value_is_found_where_it_stands(text: str, found: dict[str, MarkKind]) -> None:
    assert marked_values(text) == found


@pytest.mark.promise("privacy.marks")
@each_row(
    "text",
    [
        "order 4111111111111112 fails the check digit",
        "at 1732233445566 ms",
        "ISO 9001, invoice 2026-000123-0001, phone 555-123-4567",
        "1234.4111111111111111 is a fraction",
        "process a password reset for user 42",
        "the password is wrong",
        "the password is required.",
        "Password: reset required",
        "Reset the password: USR-12",
        '{"reset_password": "USR-12"}',
        "rotate_api_key: INT-5, then tell INT-5's owner",
        "API key is invalid",
        "the social security office at 12 Main Street",
        "DE89 is no account",
        '{"password": null, "token": ""}',
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert marks(text) == ()
    assert redact_text(text) == text


@pytest.mark.promise("privacy.marks")
@given(st.sampled_from(list(VALUES)), st.text(alphabet=" .,;\n\"'{}:[]()abcXYZ", max_size=20))
def test_a_value_is_found_in_any_surroundings(value: str, around: str) -> None:
    text = f"{around} {VALUES[value]} {around}"
    assert value in marked_values(text)
    assert value not in redact_text(text)


@pytest.mark.promise("privacy.marks")
@given(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=5))
def test_several_values_are_all_found(values: list[str]) -> None:
    assert set(values) <= set(marked_values(a_text_with(values)))


@pytest.mark.promise("privacy.marks")
def test_data_is_redacted_by_its_fields_too() -> None:
    told = without_marks({"password": "abc", "cards": [4111111111111111], "n": 1.5, "deep": ({"x": "536-90-4399"},)})
    assert told == {"password": "[password]", "cards": ["[card]"], "n": 1.5, "deep": ({"x": "[ssn]"},)}


@pytest.mark.promise("privacy.marks")
@each_row(
    "text", ["4" * 60_000, "DE89 " * 12_000, "password " * 8_000, "1234 " * 12_000, "://a:" * 12_000, "eyJ" * 20_000,
             "-----BEGIN PRIVATE KEY-----" * 2_000, "api key for a b " * 4_000]
)  # fmt: skip
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    marks(text)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "text", ["pwd=a1b2", "AKIAABCDEFGHIJKLMNOP", "30569309025904", "4539578763621486", "DE89370400440532013000"]
)
def test_the_shortest_of_its_kind_is_marked(text: str) -> None:
    assert marked_values(text)


def test_a_number_in_json_is_redacted_if_it_is_a_card() -> None:
    assert without_marks({"a": 30569309025904, "b": 3056930902590}) == {"a": "[card]", "b": 3056930902590}
