"""A value of a call is supported by the user's words exactly, in another writing, or not at all."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.figures.arguments import ArgumentKind, kind_of_argument
from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row
from tests.unit.figures.reading_stage import is_said

_CENTS: JsonObject = {"type": "integer", "description": "The amount in cents"}


@each_row(
    ("text", "name", "value"),
    [
        ("claim EXP-1006", "claim_id", "EXP-1006"),
        ("claim exp 1006", "claim_id", "EXP-1006"),
        ("claim 4411", "claim_id", 4411),
        ("claim 4411", "claim_id", "4411"),
        ("from ACME Ltd", "vendor", "acme ltd."),
        ("status in progress", "status", "in_progress"),
        ("to DE89 3704 0044 0532 0130 00", "iban", "DE89370400440532013000"),
        ("call +49 (30) 123-4567", "phone", "+49301234567"),
        ("pay 1,234.50", "amount", Decimal("1234.5")),
        ("pay 1.234,50 €", "amount", "1234.50 EUR"),
        ("3,000 cents", "amount", 30),
        ("3,000 cents", "amount_cents", 3000),
        ("five hundred euros", "amount", 500),
        ("a discount of 20 %", "discount", Decimal("0.2")),
        ("by a third", "share", Decimal("0.33")),
        ("by a third", "percent", Decimal("33.33")),
        ("90 minutes", "duration_hours", Decimal("1.5")),
        ("90 minutes", "duration", 5400),
        ("one and a half hours", "duration_minutes", 90),
        ("for 90 minutes", "duration", "PT1H30M"),
        ("2 kg", "weight_g", 2000),
        ("on 4 March", "date", "2026-03-04"),
        ("tomorrow at half past nine", "start", "2026-03-05T09:30:00"),
        ("tomorrow at half past nine", "start", "2026-03-05T08:30:00Z"),
        ("tomorrow at 9 am for 90 minutes", "end", "2026-03-05T10:30:00"),
        ("some day next week", "date", "2026-03-11"),
        ("in March", "month", "2026-03"),
        ("in March", "month", 3),
        ("€50", "currency", "EUR"),
        ("twelve hundred euros and fifty cents", "amount", Decimal("1200.50")),
        ("Zahlen Sie 10.000 Euro", "betrag", 10_000),
        ("on 2026-03-04T23:30:00Z", "start", "2026-03-05T00:30:00+01:00"),
        ("tomorrow 10am-11am", "end", "2026-03-05T11:00:00"),
        ("tomorrow, 9-11 am", "start", "2026-03-05T09:00:00"),
        ("in two hours", "start", "2026-03-04T12:00:00"),
        ("for half an hour", "duration_minutes", 30),
        ("on the 15th", "date", "2026-03-15"),
    ],
)
def test_a_value_is_supported_in_another_writing(text: str, name: str, value: Json) -> None:
    assert is_said(text, name, value)


@each_row(
    ("text", "name", "value"),
    [
        ("claim EXP-1012", "amount", 12),
        ("claim EXP-1012", "claim_id", "1012"),
        ("room EXP-12", "room", "12"),
        ("on 4 March 2026", "amount", 2026),
        ("call 555-123-4567", "amount", 555),
        ("mail bob@example.com", "to", "bob"),
        ("mail bob@example.com", "to", "example.com"),
        ("mail bob@example.com.evil.org", "to", "bob@example.com"),
        ("mail bob@a-b.example", "to", "bob@a.b.example"),
        ("mail bob@exämple.com", "to", "bob@example.com"),
        ("mail bob at example com", "to", "bob@example.com"),
        ("pay 500 EUR", "amount", "500 USD"),
        ("deduct 50", "amount", -50),
        ("one of them", "amount", 1),
        ("one of them", "claim_id", 1),
        ("transfer it from account thirty-one", "account", "31"),
        ("for thirty-one euros", "shelf", "31"),
        ("20 % off", "amount", 20),
        ("90 minutes", "amount", 90),
        ("pay $20", "amount", 2000),
        ("code 1-12", "code", "11-2"),
        ("on 4 March", "date", "2026-03-05"),
        ("tomorrow at 9 am", "start", "2026-03-05T11:00:00"),
        ("90 minutes", "duration_hours", 90),
        ("pay 1,234.50", "amount", Decimal("1234.05")),
    ],
)
def test_a_value_that_nobody_said_is_not_supported(text: str, name: str, value: Json) -> None:
    assert not is_said(text, name, value)


@each_row(
    ("text", "name", "value"),
    [
        ("put it on shelf thirty-one", "shelf", "31"),
        ("put it on shelf thirty-one", "shelf_id", 31),
        ("leg es in Fach einundzwanzig bitte", "locker", "21"),
    ],
)
def test_an_identifier_may_be_spelled_out(text: str, name: str, value: Json) -> None:
    """From ten on: "one of them" names no record. An account number is never spelled out."""
    assert is_said(text, name, value)


def test_cents_count_where_the_schema_says_so() -> None:
    assert is_said("pay $20", "amount", 2000, _CENTS)


def test_an_integer_for_an_amount_with_a_fraction_must_be_in_cents() -> None:
    assert is_said("pay 1,234.50", "amount", 123450, {"type": "integer"})


def test_a_currency_without_minor_units_has_none() -> None:
    assert not is_said("pay JPY 500", "amount", 50000, _CENTS)


@given(st.decimals(min_value=1, max_value=1_000_000, places=2), st.decimals(min_value=1, max_value=1_000_000, places=2))
def test_an_amount_supports_itself_and_no_other(said: Decimal, meant: Decimal) -> None:
    supported = is_said(f"please pay EUR {said:,.2f} to them", "amount", meant)
    assert supported is (said == meant)


@given(st.from_regex(r"[A-Z]{2,4}[-_][1-9][0-9]{2,5}", fullmatch=True), st.integers(min_value=1, max_value=99_999))
def test_no_number_within_a_code_supports_an_amount(code: str, number: int) -> None:
    assert not is_said(f"settle {code} please", "amount", number)


@each_row(
    ("name", "schema", "value", "kind"),
    [
        ("amount", {}, 5, ArgumentKind.AMOUNT),
        ("totalPrice", {"type": "number"}, Decimal("5.5"), ArgumentKind.AMOUNT),
        ("amount", {}, "5.00 EUR", ArgumentKind.AMOUNT),
        ("x", {"type": "number", "description": "price in EUR"}, 5, ArgumentKind.AMOUNT),
        ("total_count", {}, 5, ArgumentKind.QUANTITY),
        ("discount_percent", {}, 5, ArgumentKind.QUANTITY),
        ("nights", {}, 3, ArgumentKind.QUANTITY),
        ("claim_id", {}, "EXP-1", ArgumentKind.IDENTIFIER),
        ("claimId", {}, 4411, ArgumentKind.IDENTIFIER),
        ("invoice_number", {}, "22", ArgumentKind.IDENTIFIER),
        ("invoice", {}, "INV-22", ArgumentKind.IDENTIFIER),
        ("x", {"format": "uuid"}, "x", ArgumentKind.IDENTIFIER),
        ("iban", {}, "DE89370400440532013000", ArgumentKind.ACCOUNT),
        ("target", {}, "DE89370400440532013000", ArgumentKind.ACCOUNT),
        ("account_number", {}, "12345", ArgumentKind.ACCOUNT),
        ("to", {}, "Ada", ArgumentKind.RECIPIENT),
        ("x", {}, "ada@example.com", ArgumentKind.RECIPIENT),
        ("phone_number", {}, "12345", ArgumentKind.RECIPIENT),
        ("payee.name", {}, "Ada", ArgumentKind.RECIPIENT),
        ("recipients[0]", {}, "Ada", ArgumentKind.RECIPIENT),
        ("start", {}, "2026-03-04", ArgumentKind.DATE),
        ("x", {"format": "date-time"}, "x", ArgumentKind.DATE),
        ("status", {"enum": ["a", "b"]}, "a", ArgumentKind.CHOICE),
        ("urgent", {}, True, ArgumentKind.CHOICE),
        ("currency", {}, "EUR", ArgumentKind.CHOICE),
        ("note", {}, "hello", ArgumentKind.FREE_TEXT),
        ("x", {}, "one two three four five six seven", ArgumentKind.FREE_TEXT),
        ("city", {}, "Berlin", ArgumentKind.OTHER),
    ],
)
def test_the_kind_of_an_argument_is_told_by_name_schema_and_value(
    name: str, schema: JsonObject, value: Json, kind: ArgumentKind
) -> None:
    assert kind_of_argument(name, schema, value) is kind
