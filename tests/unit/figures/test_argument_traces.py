"""Each argument of a call is traced to the task, an answer's field, a calculation or nothing."""

from datetime import date
from decimal import Decimal

import pytest

from services.executor.core.figures.arguments import FieldStanding, hints_of
from services.executor.core.figures.facts import index_facts
from services.executor.core.figures.trace import OriginKind, numbers_of_answer, trace_argument, untraced_figures
from shared.domain.exact_json import Json, dumps
from tests.unit.figures.reading_stage import NOW, sources, trace

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


def test_a_field_names_its_record_so_that_a_siblings_amount_can_be_told_apart() -> None:
    found = trace("amount", 80, sources("Pay EXP-1", {"c1": _CLAIMS}))
    assert found.strictness_met
    assert [(one.path, one.record and one.record.identifier) for one in found.origins] == [
        ("claims[1].amount", "EXP-2")
    ]


@pytest.mark.parametrize(("name", "value"), [("amount", 999), ("iban", _IBAN), ("invoice_id", "INV-77")])
def test_what_stands_only_in_somebodys_text_is_marked_and_not_enough(name: str, value: Json) -> None:
    found = trace(name, value, sources("Pay EXP-2", {"c1": _CLAIMS}))
    assert (found.origin, found.free_text_only, found.strictness_met) == (OriginKind.FACT, True, False)


def test_json_within_a_mails_body_is_still_somebodys_text() -> None:
    mail: Json = {"id": "m1", "body": dumps({"iban": _IBAN})}
    found = trace("iban", _IBAN, sources("Pay it", {"c1": mail}))
    assert (found.free_text_only, found.strictness_met) == (True, False)


def test_json_in_the_text_of_a_tools_answer_is_structured() -> None:
    answer: Json = {"content": [{"type": "text", "text": dumps({"id": 7, "iban": _IBAN})}]}
    assert trace("iban", "DE89 3704 0044 0532 0130 00", sources("", {"c1": answer})).strictness_met


def test_an_answer_that_is_prose_is_no_structured_field() -> None:
    found = trace("claim_id", "EXP-9", sources("", {"c1": "Created claim EXP-9 for 120.00 EUR"}))
    assert (found.origins[0].standing, found.strictness_met) == (FieldStanding.PROSE, False)


def test_an_identifier_is_no_source_of_an_amount() -> None:
    assert not trace("amount", 500, sources("", {"c1": {"claim_id": 500, "status": "open"}})).strictness_met


def test_an_amount_is_no_source_of_an_identifier() -> None:
    assert not trace("claim_id", 80, sources("Pay them", {"c1": _CLAIMS})).strictness_met


@pytest.mark.parametrize("shown", [Decimal("1234.50"), "1,234.50", "1.234,50 EUR", "1234.5", "$1,234.50"])
def test_a_fields_amount_is_found_in_any_writing(shown: Json) -> None:
    assert trace("amount", Decimal("1234.50"), sources("", {"c1": {"id": "A1", "sum": shown}})).strictness_met


def test_cents_of_a_field_support_an_amount() -> None:
    found = trace("amount", Decimal("12.50"), sources("", {"c1": {"id": "A1", "sum_cents": 1250}}))
    assert found.strictness_met


def test_objects_keyed_by_an_identifier_are_records() -> None:
    index = index_facts({"c1": {"EXP-4": {"amount": 5}}}, NOW)
    (origin,) = index.find_origins(5, hints_of("amount", {}, 5))
    assert origin.record is not None
    assert origin.record.identifier == "EXP-4"


def test_the_sender_of_a_mail_is_a_source_of_its_address() -> None:
    known = sources("Answer the mail", {"c1": {"id": "m1", "from": "Bob Lee <bob@example.com>"}})
    assert trace("to", "bob@example.com", known).strictness_met
    assert trace("to", "Robert <bob@example.com>", known).strictness_met


def test_an_address_that_differs_by_a_mark_is_another() -> None:
    known = sources("Answer", {"c1": {"id": "m1", "from": "bob@a-b.example"}})
    assert not trace("to", "bob@a.b.example", known).strictness_met


def test_the_task_comes_first() -> None:
    assert trace("amount", 80, sources("Pay EUR 80.00", {"c1": _CLAIMS})).origin is OriginKind.TASK


def test_an_earlier_turn_of_the_user_is_enough() -> None:
    found = trace("claim_id", "EXP-5", sources("do it", earlier=("It is about EXP-5",)))
    assert (found.origin, found.strictness_met) == (OriginKind.TASK, True)


@pytest.mark.parametrize(
    ("name", "value", "figure"),
    [
        ("amount", Decimal("41.50"), Decimal("41.5")),
        ("date", "2026-05-01", date(2026, 5, 1)),
        ("amount_cents", 4150, "41.50"),
    ],
)
def test_a_calculated_value_is_enough(name: str, value: Json, figure: Decimal | str | date) -> None:
    found = trace(name, value, sources("", calculated={"rest": figure}))
    assert (found.origin, found.where, found.strictness_met) == (OriginKind.CALCULATED, "rest", True)


def test_a_choice_comes_from_the_schema() -> None:
    found = trace("status", "approved", sources(""), {"enum": ["approved", "denied"]})
    assert found.origin is OriginKind.SCHEMA


def test_nested_arguments_are_traced_leaf_by_leaf() -> None:
    known = sources("Pay 80 to Ada", {"c1": _CLAIMS})
    lines: Json = {"lines": [{"claim_id": "EXP-2", "amount": 80}, {"claim_id": "EXP-3", "amount": 80}]}
    assert [(leaf.path, leaf.strictness_met) for leaf in trace_argument("payment", {}, lines, known)] == [
        ("payment.lines[0].claim_id", True),
        ("payment.lines[0].amount", True),
        ("payment.lines[1].claim_id", False),
        ("payment.lines[1].amount", True),
    ]


def test_figures_of_a_free_text_without_a_source_refuse_nothing() -> None:
    found = trace("note", "Paid 80 for EXP-2, not 81 for EXP-3.", sources("Pay EXP-2", {"c1": _CLAIMS}))
    assert (found.origin, found.strictness_met) == (OriginKind.NONE, True)


def test_a_full_name_is_built_from_the_names_of_one_record() -> None:
    found = trace("recipient", "Ada Lovelace", sources("", {"c1": {"id": "E1", "first": "Ada", "last": "Lovelace"}}))
    assert found.strictness_met


def test_a_name_of_two_peoples_parts_is_not_enough() -> None:
    people: Json = [{"id": "E1", "first": "Ada", "last": "Byron"}, {"id": "E2", "first": "Bob", "last": "Lovelace"}]
    assert not trace("recipient", "Ada Lovelace", sources("", {"c1": people})).strictness_met


def test_a_value_from_nowhere_has_no_origin() -> None:
    found = trace("amount", 77, sources("Pay EXP-1", {"c1": _CLAIMS}))
    assert (found.origin, found.strictness_met) == (OriginKind.NONE, False)


def test_ten_thousand_rows_are_indexed_and_each_is_found() -> None:
    rows: Json = [
        {"id": f"EXP-{number}", "amount": Decimal(number) / 4, "note": f"for INV-{number}"} for number in range(10_000)
    ]
    index = index_facts({"c1": {"rows": rows}}, NOW)
    (origin,) = index.find_origins("EXP-9876", hints_of("claim_id", {}, "EXP-9876"))
    assert (origin.path, origin.is_whole) == ("rows[9876].id", True)


@pytest.mark.parametrize(
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
