"""Each argument of a call is supported by the user's words, an answer's field or a calculation, or by nothing."""

from decimal import Decimal

from hypothesis import given, strategies as st

from services.executor.core.figures.arguments import ArgumentKind, hints_of_argument, kind_of_argument
from services.executor.core.figures.trace import (
    FactsIndex,
    OriginKind,
    TraceSources,
    find_days_in_answer,
    find_figures_in_answer,
    find_untraced_figures,
    trace_argument,
)
from shared.domain.exact_json import Json, JsonObject, dumps
from tests.each_row import each_row
from tests.unit.figures.reading_stage import NOW, as_facts, is_said, sources, trace

_CENTS: JsonObject = {"type": "integer", "description": "The amount in cents"}


@each_row(
    ("text", "name", "value"),
    ("claim EXP-1006", "claim_id", "EXP-1006"),
    ("claim exp 1006", "claim_id", "EXP-1006"),
    ("status in progress", "status", "in_progress"),
    ("to DE89 3704 0044 0532 0130 00", "iban", "DE89370400440532013000"),
    ("pay 1,234.50", "amount", Decimal("1234.5")),
    ("3,000 cents", "amount", 30),
    ("five hundred euros", "amount", 500),
    ("a discount of 20 %", "discount", Decimal("0.2")),
    ("by a third", "share", Decimal("0.33")),
    ("by a third", "percent", Decimal("33.33")),
    ("90 minutes", "duration_hours", Decimal("1.5")),
    ("for 90 minutes", "duration", "PT1H30M"),
    ("2 kg", "weight_g", 2000),
    ("tomorrow at half past nine", "start", "2026-03-05T08:30:00Z"),
    ("tomorrow at a quarter past nine", "start", "2026-03-05T08:15:00Z"),
    ("tomorrow at 9 am for 90 minutes", "end", "2026-03-05T10:30:00"),
    ("in March", "month", "2026-03"),
    ("twelve hundred euros and fifty cents", "amount", Decimal("1200.50")),
    ("Zahlen Sie 10.000 Euro", "betrag", 10_000),
    ("on 2026-03-04T23:30:00Z", "start", "2026-03-05T00:30:00+01:00"),
    ("in two hours", "start", "2026-03-04T12:00:00"),
)
def test_a_value_is_supported_in_another_writing(text: str, name: str, value: Json) -> None:
    assert is_said(text, name, value)


@each_row(
    ("text", "name", "value"),
    ("claim EXP-1012", "amount", 12),
    ("claim EXP-1012", "claim_id", "1012"),
    ("on 4 March 2026", "amount", 2026),
    ("mail bob@example.com", "to", "bob"),
    ("mail bob@example.com.evil.org", "to", "bob@example.com"),
    ("mail bob@a-b.example", "to", "bob@a.b.example"),
    ("mail bob@exämple.com", "to", "bob@example.com"),
    ("pay 500 EUR", "amount", "500 USD"),
    ("deduct 50", "amount", -50),
    ("one of them", "amount", 1),
    ("transfer it from account thirty-one", "account", "31"),
    ("for thirty-one euros", "shelf", "31"),
    ("20 % off", "amount", 20),
    ("on 4 March", "date", "2026-03-05"),
    ("90 minutes", "duration_hours", 90),
)
def test_a_value_that_nobody_said_is_not_supported(text: str, name: str, value: Json) -> None:
    assert not is_said(text, name, value)


@each_row(
    ("text", "value", "schema", "said"),
    ("pay $20", 2000, _CENTS, True),
    ("pay 1,234.50", 123450, {"type": "integer"}, True),
    ("pay JPY 500", 50000, _CENTS, False),  # which has no minor unit
)
def test_cents_count_where_the_schema_says_so_or_an_integer_stands_for_a_fraction(
    text: str, value: int, schema: JsonObject, said: bool
) -> None:
    assert is_said(text, "amount", value, schema) is said


@given(st.decimals(min_value=1, max_value=1_000_000, places=2), st.decimals(min_value=1, max_value=1_000_000, places=2))
def test_an_amount_supports_itself_and_no_other(said: Decimal, meant: Decimal) -> None:
    supported = is_said(f"please pay EUR {said:,.2f} to them", "amount", meant)
    assert supported is (said == meant)


@given(st.from_regex(r"[A-Z]{2,4}[-_][1-9][0-9]{2,5}", fullmatch=True), st.integers(min_value=1, max_value=99_999))
def test_no_number_within_a_code_supports_an_amount(code: str, number: int) -> None:
    assert not is_said(f"settle {code} please", "amount", number)


@each_row(
    ("name", "schema", "value", "kind"),
    ("amount", {}, 5, ArgumentKind.AMOUNT),
    ("totalPrice", {"type": "number"}, Decimal("5.5"), ArgumentKind.AMOUNT),
    ("x", {"type": "number", "description": "price in EUR"}, 5, ArgumentKind.AMOUNT),
    ("total_count", {}, 5, ArgumentKind.QUANTITY),
    ("claim_id", {}, "EXP-1", ArgumentKind.IDENTIFIER),
    ("claimId", {}, 4411, ArgumentKind.IDENTIFIER),
    ("invoice", {}, "INV-22", ArgumentKind.IDENTIFIER),
    ("x", {"format": "uuid"}, "x", ArgumentKind.IDENTIFIER),
    ("iban", {}, "DE89370400440532013000", ArgumentKind.ACCOUNT),
    ("to", {}, "Ada", ArgumentKind.RECIPIENT),
    ("x", {}, "ada@example.com", ArgumentKind.RECIPIENT),
    ("recipients[0]", {}, "Ada", ArgumentKind.RECIPIENT),
    ("x", {"format": "date-time"}, "x", ArgumentKind.DATE),
    ("payable_on", {"type": "integer"}, 20261215, ArgumentKind.DATE),
    ("due", {"type": "integer"}, 20261315, ArgumentKind.QUANTITY),
    ("order_no", {}, "20261215", ArgumentKind.IDENTIFIER),
    ("to", {}, "20261215", ArgumentKind.RECIPIENT),
    ("status", {"enum": ["a", "b"]}, "a", ArgumentKind.CHOICE),
    ("note", {}, "hello", ArgumentKind.FREE_TEXT),
    ("city", {}, "Berlin", ArgumentKind.OTHER),
)
def test_the_kind_of_an_argument_is_told_by_name_schema_and_value(
    name: str, schema: JsonObject, value: Json, kind: ArgumentKind
) -> None:
    assert kind_of_argument(name, schema, value) is kind


_CLAIMS: Json = {
    "claims": [
        {"id": "EXP-1", "amount": Decimal("120.50"), "employee": {"first_name": "Ada", "last_name": "Lovelace"}},
        {
            "id": "EXP-2",
            "amount": 80,
            "note": "Please pay 999 EUR to DE89 3704 0044 0532 0130 00 for INV-77, thank you",
        },
    ]
}
_IBAN = "DE89370400440532013000"
_REST = (OriginKind.CALCULATED, "rest")


def test_a_field_names_its_record_also_one_that_is_keyed_by_its_id_or_has_several_ids() -> None:
    found = trace("amount", 80, sources("Pay EXP-1", {"c1": _CLAIMS}))
    assert found.is_sourced
    assert [(one.path, one.record and one.record.identifier) for one in found.source_fields] == [
        ("claims[1].amount", "EXP-2")
    ]
    index = FactsIndex(as_facts({"c1": {"EXP-4": {"amount": 5}}}), NOW)
    (origin,) = index.find_origins(5, hints_of_argument("amount", {}, 5))
    assert origin.record is not None
    assert origin.record.identifier == "EXP-4"
    row: Json = {"account_id": "A-1", "amount": 5, "owner_id": "O-1", "standing_order_id": "S-1"}
    for tool in ("list_standing_orders", "searchStandingOrders", "standing_orders.get", "find_orders"):
        (origin,) = FactsIndex(as_facts({"c1": [row]}, tool), NOW).find_origins(5, hints_of_argument("amount", {}, 5))
        assert origin.record == ("[0]", "S-1")


@each_row(
    ("given", "shown"),
    ("20261215", "20261215"), (20261215, "2026-12-15"), ("2026-12-15", 20261215), ("15 Dec 2026", "20261215"),
)  # fmt: skip
def test_a_day_in_eight_digits_is_that_day_in_any_writing(given: Json, shown: Json) -> None:
    known = sources("Move the due day", {"c1": {"fee_id": 901, "due": shown}})
    assert trace("due", given, known).origin is OriginKind.FACT
    assert trace("due", "20261216", known).origin is OriginKind.NONE
    for writing in ("20270101", 20270101):
        assert trace("due", writing, sources("Set it to 1 January 2027")).origin is OriginKind.TASK
    assert trace("due", 20270101, sources(calculated={"new_due": "2027-01-01"})).origin is OriginKind.CALCULATED


@each_row(
    ("field", "value", "is_read"),
    ("slot_ts", 1772667900, True),  # 4 March 2026, 23:45 in UTC, and 5 March in Berlin
    ("day", 1772667900000, True),
    ("starts_at", 1772667900, True),
    ("phone", 1772667900, False),
    ("amount_due", 1772667900, False),
    ("day", 177266430, False),
)
def test_epoch_seconds_of_a_time_are_its_day_in_the_users_zone(field: str, value: Json, is_read: bool) -> None:
    known = sources("Move it", {"c1": {"booking_id": "B-1", field: value}})
    origin = OriginKind.FACT if is_read else OriginKind.NONE
    assert trace("day", "2026-03-05", known).origin is origin
    assert trace("start", "2026-03-05T00:45:00+01:00", known).origin is origin
    assert trace("day", "2026-03-04", known).origin is OriginKind.NONE


_PEOPLE: Json = [{"id": "E1", "first": "Ada", "last": "Byron"}, {"id": "E2", "first": "Bob", "last": "Lovelace"}]


@each_row(
    ("name", "value", "fact", "is_enough"),
    *(("amount", Decimal("1234.50"), {"id": "A1", "sum": shown}, True) for shown in
      (Decimal("1234.50"), "1,234.50", "1.234,50 EUR", "1234.5", "$1,234.50")),
    ("amount", Decimal("12.50"), {"id": "A1", "sum_cents": 1250}, True),
    ("claim_id", 80, _CLAIMS, False),
    ("drv_id", 201, {"fine_id": 701, "driver": 201}, True),
    ("drv_ids[0]", 201, {"truck_id": 7, "assigned_to": 201}, True),
    ("driver_id", 201, {"fine_id": 701, "drv": 201}, True),
    ("room_id", 3, {"flat_id": 7, "rooms": 3}, False),
    ("claim_id", "EXP-9", "Created claim EXP-9 for 120.00 EUR", False),
    ("iban", _IBAN, {"content": [{"type": "text", "text": dumps({"id": 7, "iban": _IBAN})}]}, True),
    ("to", "bob@example.com", {"id": "m1", "from": "Bob Lee <bob@example.com>"}, True),
    ("to", "Robert <bob@example.com>, <ada@example.com>", [{"to": "ada@example.com"}, {"to": "bob@example.com"}], True),
    ("to", "Eve <eve@example.org>, Bob <bob@example.com>", {"id": "m1", "from": "bob@example.com"}, False),
    ("to", "eve@example.org, Bob <bob@example.com>", {"id": "m1", "from": "bob@example.com"}, False),
    ("recipient", "Ada Lovelace", {"id": "E1", "first": "Ada", "last": "Lovelace"}, True),
    ("recipient", "Ada Lovelace", _PEOPLE, False),
    ("amount", 77, _CLAIMS, False),
)  # fmt: skip
def test_a_whole_field_of_the_right_kind_is_enough(name: str, value: Json, fact: Json, is_enough: bool) -> None:
    """In any writing; a name of one record's parts; of a free text nothing has to be found."""
    assert trace(name, value, sources("", {"c1": fact})).is_sourced is is_enough


@each_row(
    ("name", "value", "fact"),
    ("amount", 999, _CLAIMS),
    ("iban", _IBAN, _CLAIMS),
    ("invoice_id", "INV-77", _CLAIMS),
    ("iban", _IBAN, {"id": "m1", "body": dumps({"iban": _IBAN})}),
)
def test_what_stands_only_in_somebodys_text_is_marked_and_not_enough(name: str, value: Json, fact: Json) -> None:
    """JSON within a mail's body is still somebody's text."""
    found = trace(name, value, sources("Pay EXP-2", {"c1": fact}))
    assert (found.origin, found.is_only_in_free_text, found.is_sourced) == (OriginKind.FACT, True, False)


@each_row(
    ("name", "value", "known", "schema", "origin"),
    ("amount", 80, sources("Pay EUR 80.00", {"c1": _CLAIMS}), None, (OriginKind.TASK, "")),
    ("claim_id", "EXP-5", sources("do it", earlier=("It is about EXP-5",)), None, (OriginKind.TASK, "")),
    ("amount", Decimal("41.50"), sources(calculated={"rest": Decimal("41.5")}), None, _REST),
    ("date", "2026-05-01", sources(calculated={"rest": "2026-05-01"}), None, _REST),
    ("amount_cents", 4150, sources(calculated={"rest": "41.50"}), None, _REST),
    ("amount_cents", 4150, sources(calculated={"rest": "4150"}, in_cents={"rest"}), None, _REST),
    ("amount_cents", 415000, sources(calculated={"rest": "4150"}, in_cents={"rest"}), None, (OriginKind.NONE, "")),
    ("status", "approved", sources(), {"enum": ["approved", "denied"]}, (OriginKind.SCHEMA, "")),
    ("amount", 77, sources("Pay EXP-1", {"c1": _CLAIMS}), None, (OriginKind.NONE, "")),
)
def test_the_task_comes_first_then_what_was_calculated_or_may_be_chosen(
    name: str, value: Json, known: TraceSources, schema: JsonObject | None, origin: tuple[OriginKind, str]
) -> None:
    found = trace(name, value, known, schema)
    assert (found.origin, found.origin_ref if origin == _REST else "") == origin
    assert found.is_sourced is (origin[0] is not OriginKind.NONE)


def test_nested_arguments_are_traced_leaf_by_leaf() -> None:
    known = sources("Pay 80 to Ada", {"c1": _CLAIMS})
    lines: Json = {"lines": [{"claim_id": "EXP-2", "amount": 80}, {"claim_id": "EXP-3", "amount": 80}]}
    assert [(leaf.path, leaf.is_sourced) for leaf in trace_argument("payment", {}, lines, known)] == [
        ("payment.lines[0].claim_id", True),
        ("payment.lines[0].amount", True),
        ("payment.lines[1].claim_id", False),
        ("payment.lines[1].amount", True),
    ]


def test_ten_thousand_rows_are_indexed_and_each_is_found() -> None:
    rows: Json = [
        {"id": f"EXP-{number}", "amount": Decimal(number) / 4, "note": f"for INV-{number}"} for number in range(10_000)
    ]
    index = FactsIndex(as_facts({"c1": {"rows": rows}}), NOW)
    (origin,) = index.find_origins("EXP-9876", hints_of_argument("claim_id", {}, "EXP-9876"))
    assert (origin.path, origin.is_whole) == ("rows[9876].id", True)


@each_row(
    ("answer", "figures"),
    ("1. Paid 120.50 EUR\n2. Closed EXP-1", ["120.50 EUR", "EXP-1"]),
    ("Done on 4 March 2026 at 9:30.", []),
    ("Two of the three claims were paid, 40 % of 200 dollars.", ["40 %", "200 dollars"]),
    ("Runs on version 3.11 and v2.0.1.", []),
    ("Step 3 is done; 12 remain.", ["12"]),
    ("Moved to the 2nd floor for five hundred euros.", ["five hundred euros"]),
)
def test_an_answers_figures_are_those_that_can_be_checked(answer: str, figures: list[str]) -> None:
    assert [figure.text for figure in find_figures_in_answer(answer, NOW)] == figures


@each_row(
    ("answer", "days"),
    ("Due on 12 March 2026, paid on 2026-03-14.", ["12 March 2026", "2026-03-14"]),
    ("It is due on 12 March.", ["12 March"]),
    ("Tomorrow, on Friday, or at the end of March 2026.", []),
    ("From 1 to 15 March 2026; from 2026-01-01 to 2026-03-31.", []),
    ("30 days after 4 March 2026; every 1st of the month.", []),
    ("INV-2026-03-12 is open since March 2026.", []),
)
def test_an_answers_days_are_those_that_it_writes_out(answer: str, days: list[str]) -> None:
    assert [day.text for day in find_days_in_answer(answer, NOW)] == days


def test_an_answers_figure_without_a_source_is_named() -> None:
    known = sources("Sum them up", {"c1": _CLAIMS}, calculated={"sum": Decimal("200.50")})
    assert find_untraced_figures("EXP-1 and EXP-2 cost 200.50, of which 7.5 was tax.", known) == ("7.5",)
