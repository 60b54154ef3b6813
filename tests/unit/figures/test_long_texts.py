"""Texts as long as a request may have, made of one repeated piece: each is read once through, not once for each piece.

A reader that looks at the whole text for each of its pieces takes minutes here, and its process does nothing else.
"""

import re
import tracemalloc
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from stdnum import luhn

from services.executor.core.figures.finance import run_calculator
from services.executor.core.figures.identifiers import find_ids_and_figures, strip_strange_addresses
from services.executor.core.figures.mentions import find_mentions, find_number_notations
from services.executor.core.figures.operands import select_cells
from services.executor.core.figures.trace import FactsIndex, TraceSources
from services.executor.core.figures.vocabulary import may_mean_unnamed_things
from services.executor.core.model.masking import mask_request, restore_values
from services.executor.core.plan.faults import PartContext
from services.executor.core.plan.indirect_sources import DerivedValues
from services.executor.core.plan.listed_ids import find_listed_ids_without_call
from services.executor.core.plan.sources import KnownSources, SourceFinder
from services.executor.core.prime.prime import find_unlisted_tools_in_text
from services.executor.core.reads.server_call import parse_field_clauses
from services.executor.core.records.asked_fields import list_rule_fields
from services.executor.core.reflect.documents import DocumentMaterial, find_document_requests, read_source_data
from services.executor.core.reflect.quality import FoundSources, find_untraced_tokens
from services.executor.core.session.dossier import NO_PROGRESS
from services.executor.core.session.values import Fact, PartOfTask
from services.executor.core.tools.failures import classify_failure
from services.executor.core.tools.record_tree import NO_RECORD_KEYS, NoSuchPath
from services.executor.ports.tools import ToolAnswer
from services.gateway.features.solver import extract_answers
from shared.contracts.policy import Policy, Rule
from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.protected_values import ProtectedKind
from shared.domain.redaction import redact_json, redact_text
from shared.domain.words import ToolClass
from shared.ports.models import Message, ModelReply, ModelRequest, TextBlock, Tier, Usage
from tests.each_row import each_row
from tests.unit.executor_core.makers import call, fact, tool
from tests.unit.policy.generated import soon

LONG = 262_144
NOW = datetime(2026, 1, 5, tzinfo=UTC)
LENGTHS = pytest.mark.parametrize("length", [LONG // 4, pytest.param(LONG, marks=pytest.mark.long)])


def repeated(piece: str, length: int = LONG) -> str:
    return (piece * (length // len(piece) + 1))[:length]


@LENGTHS
@each_row("piece", ["in ", "in 30 days ", "in 40000 working days "])
def test_dates_of_a_long_text_are_found(piece: str, length: int) -> None:
    assert find_mentions(repeated(piece, length), NOW).text == repeated(piece, length)


@LENGTHS
def test_an_edge_of_a_period_far_from_its_month_is_read(length: int) -> None:
    """One word that begins a date, and nothing but articles behind it."""
    assert find_mentions(f"end {repeated('of the ', length)}", NOW).dates == ()


@LENGTHS
def test_amounts_beside_words_in_a_long_text_are_found(length: int) -> None:
    assert find_number_notations(repeated("two foo 3 ", length), date(2026, 1, 5)).keys() >= {2, 3}


def test_tools_that_a_long_text_names_are_found() -> None:
    connection = Connection(id="office", url="http://office.test")
    assert find_unlisted_tools_in_text(repeated("call no_such "), connection, ())[0].name == "no_such"


def test_a_text_of_clauses_with_a_long_gap_is_read() -> None:
    fields = parse_field_clauses(f"status is open; owner is Ann{' ' * LONG}Lee; limit is 3")
    assert isinstance(fields, dict)
    assert (fields["status"], fields["limit"]) == ("open", 3)


@each_row("path", [f"rows[name{' ' * LONG}x]", f"rows[name ={' ' * LONG}x", f"rows[{'a ' * LONG}]"])
def test_a_path_with_a_long_gap_is_refused(path: str) -> None:
    with pytest.raises(NoSuchPath):
        select_cells({"rows": []}, path)


def test_a_slope_through_many_points_is_computed() -> None:
    points = [Decimal(number) for number in range(LONG // 4)]
    assert run_calculator("regression_slope", [*points, *points]) == 1


def test_an_answer_with_a_long_gap_is_split() -> None:
    assert extract_answers(f"Paris{' ' * LONG},Berlin", "list", keeps_order=True) == ("Paris", "Berlin")


def test_fields_of_a_condition_whose_quotes_nobody_closes_are_found() -> None:
    rule = Rule(id="r", condition="amount > 5 && x == " + repeated('\\"') + "\\", action="block")
    assert list_rule_fields([Policy(id="p", rules=(rule,))]) == ("amount", "x")


@LENGTHS
def test_words_in_a_long_text_are_looked_for(length: int) -> None:
    read = find_mentions(repeated("a-1 ", length), NOW)
    assert (read.has_phrase("a"), read.has_words("a")) == (False, False)


@each_row("text", [repeated("a"), f"a{repeated(chr(10))}b", f"column {repeated('a.')}", repeated("no such column ")])
def test_a_long_error_of_a_server_is_classified(text: str) -> None:
    assert classify_failure(ToolAnswer(text, is_error=True)) is not None


@each_row("text", [f"{repeated(' ')}<ann@example", repeated('"a '), f"Ann {repeated(' ')}<"])
def test_a_long_text_of_a_record_that_is_no_name_with_an_address_is_looked_through(text: str) -> None:
    mail = dumps({"sender": text, "id": "M-1"})
    fact = Fact(ref="R1", connection_id="office", tool="get_mail", arguments_json="{}", result_json=mail)
    assert FactsIndex([fact], NOW).find_fields_of_words("M-1")


@each_row("piece", ["[", "<a ", "[x](", "![](a"])
def test_a_long_answer_is_looked_through_for_addresses(piece: str) -> None:
    assert strip_strange_addresses(repeated(piece), lambda _: True)


def test_numbers_in_a_long_answer_are_told_from_numbering() -> None:
    nothing = FoundSources("", (), frozenset(), frozenset())
    assert find_untraced_tokens(f"1. first\n2. second\n{'37 ' * 80_000}", nothing) == ("37",)


@each_row("piece", ["a report, ", "do not write a report and "])
def test_documents_that_a_long_text_asks_for_are_found(piece: str) -> None:
    assert find_document_requests(repeated(piece)).keys() <= {"status_report"}


def test_the_first_of_very_many_records_that_were_read_stand_in_a_document() -> None:
    rows: list[Json] = [{"id": f"INV-{number}"} for number in range(20_000)]
    fact = Fact(ref="r1", connection_id="office", tool="list_invoices", arguments_json="{}", result_json=dumps(rows))
    material = DocumentMaterial("", NO_PROGRESS.update_dossier(facts=(fact,)), ())
    assert read_source_data("records: invoice", material) == rows[:50]


def different_cards(length: int = LONG) -> list[str]:
    """So many card numbers as fill a text of the length."""
    bodies = [f"4{number * 7_919:014d}" for number in range(length // 17)]
    return [body + luhn.calc_check_digit(body) for body in bodies]


def test_each_of_many_card_numbers_in_a_long_text_is_redacted() -> None:
    cards = different_cards()
    kinds = dict.fromkeys(cards, ProtectedKind.CARD)
    assert redact_text(" ".join(cards)) == redact_text(" ".join(cards), kinds) == " ".join(["[card]"] * len(cards))
    assert redact_json({"cards": cards}, kinds) == {"cards": ["[card]"] * len(cards)}
    assert len(redact_json(dict.fromkeys(cards, 1), kinds)) == len(cards)


@each_row("words", [different_cards(), [f"PROTECTED_CARD_{number}Z" for number in range(LONG // 20)]])
def test_each_of_many_values_in_a_long_text_is_masked_and_restored(words: list[str]) -> None:
    text = "[" + ", ".join(words) + "]"
    masked = mask_request(ModelRequest(Tier.SMALL, (), (Message("user", (TextBlock(text),)),)), "")
    (block,) = masked.request.messages[0].blocks
    assert isinstance(block, TextBlock)
    assert block.text.count("PROTECTED_") == len(words) == len(masked.values)
    assert restore_values(ModelReply((block,), "end_turn", Usage(), "m"), masked).blocks == (TextBlock(text),)


def test_long_texts_that_were_masked_are_not_all_kept_in_memory() -> None:
    tracemalloc.start()
    for number in range(40):
        text = TextBlock(f"{number} " + "b " * 125_000)
        mask_request(ModelRequest(Tier.SMALL, (), (Message("user", (text,)),)), "")
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept_bytes < 6_000_000


def test_long_passwords_that_begin_alike_are_told_apart_in_a_long_text() -> None:
    labelled = " ".join(f"password: {'a' * length}1b" for length in range(8, 190))
    assert redact_text(f"{labelled} {repeated('a')}") == re.sub(r"a+1b", "[password]", labelled) + f" {repeated('a')}"


@each_row("piece", ["a", "a."])
def test_what_belongs_to_one_case_is_found_in_a_long_word(piece: str) -> None:
    assert find_ids_and_figures(f"{repeated(piece)} EXP-7") == {"exp-7"}


def test_euros_and_cents_far_apart_are_read() -> None:
    assert [number.text for number in find_mentions(f"5 euros{' ' * LONG}x 5 cents", NOW).numbers] == [
        "5 euros",
        "5 cents",
    ]


@LENGTHS
def test_ids_of_a_list_are_found_before_many_hours(length: int) -> None:
    calls = [call({"id": name}, name, part=1) for name in ("R-1", "R-2")]
    part = PartOfTask(number=1, quote=f"Close R-1, R-2 and R-3. {repeated('9 am ', length)}", kind="do")
    assert find_listed_ids_without_call(part, calls, (), NO_RECORD_KEYS) == ("R-3",)


@LENGTHS
@each_row("piece", ["all ", "not "])
def test_many_words_of_choice_leave_open_what_is_named(piece: str, length: int) -> None:
    assert not may_mean_unnamed_things(repeated(piece, length), ["R-3"], ["job"])
    assert may_mean_unnamed_things(f"{repeated(piece, length)} jobs like R-3", ["R-3"], ["job"])


@LENGTHS
@each_row("piece", ["R-3, ", "at most 5 euros "])
def test_a_call_is_compared_with_a_long_part(piece: str, length: int) -> None:
    arguments: JsonObject = {"invoice_no": "R-3", "amount": 103, "status": "open"}
    pay, text = tool("pay_invoice", ToolClass.CHANGE), repeated(piece, length)
    read = fact([{**arguments, "invoice_no": f"R-{number}"} for number in range(9)], tool="list_invoices")
    sourced = SourceFinder(KnownSources((text,), (read,), (), NOW)).find_sources(
        call(arguments, tool="pay_invoice"), pay, PartContext(text, proposed_calls=[("pay_invoice", arguments)])
    )
    assert sourced.problems == ()


def test_many_lengths_of_time_beside_many_days_are_compared_with_one_day() -> None:
    days = [date(2000, 1, 1) + timedelta(days=3 * number) for number in range(8_000)]
    lengths = [f"{number} days," for number in range(1, 3_661)]
    text = find_mentions(" ".join((*lengths, *map(str, days))), NOW)
    derived = DerivedValues(TraceSources(text, FactsIndex((), NOW), NOW, (), {}))
    assert soon(lambda: derived.ends_stated_period(date(2026, 1, 4)))
    assert [derived.ends_stated_period(day) for day in (date(2000, 1, 3), date(1999, 12, 31))] == [True, False]
