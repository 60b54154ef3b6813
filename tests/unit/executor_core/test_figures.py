"""Figures in odd texts: amounts are read exactly, and what only contains digits is no amount."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.figures.numbers import figure, normal, number_bearing_tokens
from shared.domain.exact_json import Json
from tests.each_row import each_row


@pytest.mark.promise("I8.exact_money")
@each_row(
    ("value", "number"),
    [
        ("$2,340.00", "2340"), ("12 USD", "12"), ("EUR 12.50", "12.5"), ("3K", "3000"), ("1.5m", "1500000"),
        ("-5", "-5"), ("-$5", "-5"), ("$-5", "-5"), ("\N{MINUS SIGN}5", "-5"), ("(1,234.50)", "-1234.5"),
        ("50%", "50"), ("0", "0"), ("0.05", "0.05"), ("１２", "12"), (7, "7"), (Decimal("1.10"), "1.1"),
    ],
)  # fmt: skip
def test_an_amount_is_read_as_people_write_it(value: Json, number: str) -> None:
    assert figure(value) == Decimal(number)


@each_row(
    "value",
    [
        "2026-01-15", "01/15/2026", "15:30", "+31 6 12345678", "06-12345678", "007", "00", "C-17", "1,2,3", "1,23",
        "1,234,56", "12.", ".5", "1e3", "5-", "--5", "-(5)", "(5", "5)", "", "-", "$", "one", "1 2", "²", "٣", "½",
        "0x1F", "1_000", "NaN", "Infinity", True, None, [], {},
    ],
)  # fmt: skip
def test_what_only_contains_digits_is_no_amount(value: Json) -> None:
    """Identifiers, dates, telephone numbers and lists have no value to calculate with; nor has a yes."""
    assert figure(value) is None


@pytest.mark.promise("I8.exact_money")
@given(digits=st.integers(min_value=0, max_value=10**60), places=st.integers(min_value=0, max_value=10))
def test_a_figure_of_any_length_is_exact(digits: int, places: int) -> None:
    number = Decimal(f"{digits}E-{places}")
    text = f"{number:f}"

    assert figure(text) == number
    assert figure(f"-{text}") == number.copy_negate()


@given(one=st.integers(0, 10**40), other=st.integers(0, 10**40))
def test_two_figures_have_one_spelling_only_if_they_are_equal(one: int, other: int) -> None:
    assert (normal(str(one)) == normal(f"{other}.00")) == (one == other)


@each_row(
    ("text", "tokens"),
    [
        ("pay 1,200.50, then stop.", ["1,200.50"]),
        ("claims E-1,E-2 and E-3.", ["E-1", "E-2", "E-3"]),
        ("amount:500 (see #17)", ["500", "17"]),
        ("adjust by -5, between 5-10", ["-5", "5-10"]),
        ("on 2026-01-15 at 15:30", ["2026-01-15", "15:30"]),
        ("５００ and ٥٠٠", ["500", "٥٠٠"]),
        ("nothing here", []),
    ],
)
def test_the_tokens_of_a_text_are_its_words_with_digits(text: str, tokens: list[str]) -> None:
    assert number_bearing_tokens(text) == tokens


@given(text=st.text(max_size=60))
def test_no_decimal_digit_of_any_script_escapes_the_tokens(text: str) -> None:
    """An amount that provenance does not see would need no source."""
    shown = "".join(number_bearing_tokens(text))
    assert sum(mark.isdecimal() for mark in text) == sum(mark.isdecimal() for mark in shown)


def test_spellings_of_one_amount_are_the_same_and_identifiers_only_fold_case() -> None:
    assert normal("$2,340") == normal("2340.00") == normal("2.34K") == "2340"
    assert normal("C-17") == normal("c-17") != normal("C-017")
    assert normal("-0") == normal("0")
