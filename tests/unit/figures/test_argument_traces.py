"""Each argument of a call is traced to the task, an answer's field, a calculation or nothing."""

from decimal import Decimal

from services.executor.core.figures.arguments import hints_of
from services.executor.core.figures.trace import (
    OriginKind,
    TraceSources,
    index_facts,
    numbers_of_answer,
    trace_argument,
    untraced_figures,
)
from shared.domain.exact_json import Json, JsonObject, dumps
from tests.each_row import each_row
from tests.unit.figures.reading_stage import NOW, as_facts, sources, trace

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


def test_a_field_names_its_record_so_that_a_siblings_amount_can_be_told_apart() -> None:
    found = trace("amount", 80, sources("Pay EXP-1", {"c1": _CLAIMS}))
    assert found.strictness_met
    assert [(one.path, one.record and one.record.identifier) for one in found.origins] == [
        ("claims[1].amount", "EXP-2")
    ]


_PEOPLE: Json = [{"id": "E1", "first": "Ada", "last": "Byron"}, {"id": "E2", "first": "Bob", "last": "Lovelace"}]


@each_row(
    ("name", "value", "fact", "is_enough"),
    [
        *(("amount", Decimal("1234.50"), {"id": "A1", "sum": shown}, True) for shown in
          (Decimal("1234.50"), "1,234.50", "1.234,50 EUR", "1234.5", "$1,234.50")),
        ("amount", Decimal("12.50"), {"id": "A1", "sum_cents": 1250}, True),
        ("amount", 500, {"claim_id": 500, "status": "open"}, False),
        ("claim_id", 80, _CLAIMS, False),
        ("claim_id", "EXP-9", "Created claim EXP-9 for 120.00 EUR", False),
        ("iban", _IBAN, {"content": [{"type": "text", "text": dumps({"id": 7, "iban": _IBAN})}]}, True),
        ("to", "bob@example.com", {"id": "m1", "from": "Bob Lee <bob@example.com>"}, True),
        ("to", "Robert <bob@example.com>", {"id": "m1", "from": "Bob Lee <bob@example.com>"}, True),
        ("to", "bob@a.b.example", {"id": "m1", "from": "bob@a-b.example"}, False),
        ("recipient", "Ada Lovelace", {"id": "E1", "first": "Ada", "last": "Lovelace"}, True),
        ("recipient", "Ada Lovelace", _PEOPLE, False),
        ("amount", 77, _CLAIMS, False),
        ("note", "Paid 80 for EXP-2, not 81 for EXP-3.", _CLAIMS, True),
    ],
)  # fmt: skip
def test_a_whole_field_of_the_right_kind_is_enough(name: str, value: Json, fact: Json, is_enough: bool) -> None:
    """In any writing; a name of one record's parts; of a free text nothing has to be found."""
    assert trace(name, value, sources("", {"c1": fact})).strictness_met is is_enough


@each_row(
    ("name", "value", "fact"),
    [
        ("amount", 999, _CLAIMS),
        ("iban", _IBAN, _CLAIMS),
        ("invoice_id", "INV-77", _CLAIMS),
        ("iban", _IBAN, {"id": "m1", "body": dumps({"iban": _IBAN})}),
    ],
)
def test_what_stands_only_in_somebodys_text_is_marked_and_not_enough(name: str, value: Json, fact: Json) -> None:
    """JSON within a mail's body is still somebody's text."""
    found = trace(name, value, sources("Pay EXP-2", {"c1": fact}))
    assert (found.origin, found.free_text_only, found.strictness_met) == (OriginKind.FACT, True, False)


def test_objects_keyed_by_an_identifier_are_records() -> None:
    index = index_facts(as_facts({"c1": {"EXP-4": {"amount": 5}}}), NOW)
    (origin,) = index.find_origins(5, hints_of("amount", {}, 5))
    assert origin.record is not None
    assert origin.record.identifier == "EXP-4"


@each_row(
    ("name", "value", "known", "schema", "origin"),
    [
        ("amount", 80, sources("Pay EUR 80.00", {"c1": _CLAIMS}), None, (OriginKind.TASK, "")),
        ("claim_id", "EXP-5", sources("do it", earlier=("It is about EXP-5",)), None, (OriginKind.TASK, "")),
        ("amount", Decimal("41.50"), sources(calculated={"rest": Decimal("41.5")}), None, _REST),
        ("date", "2026-05-01", sources(calculated={"rest": "2026-05-01"}), None, _REST),
        ("amount_cents", 4150, sources(calculated={"rest": "41.50"}), None, _REST),
        ("status", "approved", sources(), {"enum": ["approved", "denied"]}, (OriginKind.SCHEMA, "")),
        ("amount", 77, sources("Pay EXP-1", {"c1": _CLAIMS}), None, (OriginKind.NONE, "")),
    ],
)
def test_the_task_comes_first_then_what_was_calculated_or_may_be_chosen(
    name: str, value: Json, known: TraceSources, schema: JsonObject | None, origin: tuple[OriginKind, str]
) -> None:
    found = trace(name, value, known, schema)
    assert (found.origin, found.where if origin == _REST else "") == origin
    assert found.strictness_met is (origin[0] is not OriginKind.NONE)


def test_nested_arguments_are_traced_leaf_by_leaf() -> None:
    known = sources("Pay 80 to Ada", {"c1": _CLAIMS})
    lines: Json = {"lines": [{"claim_id": "EXP-2", "amount": 80}, {"claim_id": "EXP-3", "amount": 80}]}
    assert [(leaf.path, leaf.strictness_met) for leaf in trace_argument("payment", {}, lines, known)] == [
        ("payment.lines[0].claim_id", True),
        ("payment.lines[0].amount", True),
        ("payment.lines[1].claim_id", False),
        ("payment.lines[1].amount", True),
    ]


def test_of_several_ids_a_records_own_is_that_of_what_was_read() -> None:
    row: Json = {"account_id": "A-1", "amount": 5, "owner_id": "O-1", "standing_order_id": "S-1"}
    for tool in ("list_standing_orders", "searchStandingOrders", "standing_orders.get", "find_orders"):
        (origin,) = index_facts(as_facts({"c1": [row]}, tool), NOW).find_origins(5, hints_of("amount", {}, 5))
        assert origin.record == ("[0]", "S-1")


def test_ten_thousand_rows_are_indexed_and_each_is_found() -> None:
    rows: Json = [
        {"id": f"EXP-{number}", "amount": Decimal(number) / 4, "note": f"for INV-{number}"} for number in range(10_000)
    ]
    index = index_facts(as_facts({"c1": {"rows": rows}}), NOW)
    (origin,) = index.find_origins("EXP-9876", hints_of("claim_id", {}, "EXP-9876"))
    assert (origin.path, origin.is_whole) == ("rows[9876].id", True)


@each_row(
    ("answer", "figures"),
    [
        ("1. Paid 120.50 EUR\n2. Closed EXP-1", ["120.50 EUR", "EXP-1"]),
        ("Done on 4 March 2026 at 9:30.", []),
        ("Two of the three claims were paid, 40 % of 200 dollars.", ["40 %", "200 dollars"]),
        ("Runs on version 3.11 and v2.0.1.", []),
        ("Step 3 is done; 12 remain.", ["12"]),
        ("Moved to the 2nd floor for five hundred euros.", ["five hundred euros"]),
    ],
)
def test_an_answers_figures_are_those_that_can_be_checked(answer: str, figures: list[str]) -> None:
    assert [figure.text for figure in numbers_of_answer(answer, NOW)] == figures


def test_an_answers_figure_without_a_source_is_named() -> None:
    known = sources("Sum them up", {"c1": _CLAIMS}, calculated={"sum": Decimal("200.50")})
    assert untraced_figures("EXP-1 and EXP-2 cost 200.50, of which 7.5 was tax.", known) == ("7.5",)
