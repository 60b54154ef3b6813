"""Texts as long as a request may have, made of one repeated piece: each is read once through, not once for each piece.

A reader that looks at the whole text for each of its pieces takes minutes here, and its process does nothing else.
"""

from datetime import UTC, date, datetime

from services.executor.core.figures.mentions import find_amounts, find_mentions
from services.executor.core.prime.prime import find_named_tools
from services.executor.core.records.asked_fields import asked_fields
from services.gateway.features.solver.service import extract_answers
from shared.contracts.policy import Policy, Rule
from shared.contracts.tenant import Connection
from tests.each_row import each_row

LONG = 262_144
NOW = datetime(2026, 1, 5, tzinfo=UTC)


def repeated(piece: str) -> str:
    return (piece * (LONG // len(piece) + 1))[:LONG]


@each_row("piece", ["in ", "in 30 days "])
def test_dates_of_a_long_text_are_found(piece: str) -> None:
    assert find_mentions(repeated(piece), NOW).text == repeated(piece)


def test_an_edge_of_a_period_far_from_its_month_is_read() -> None:
    """One word that begins a date, and nothing but articles behind it."""
    assert find_mentions(f"end {repeated('of the ')}", NOW).dates == ()


def test_amounts_beside_words_in_a_long_text_are_found() -> None:
    assert find_amounts(repeated("two foo 3 "), date(2026, 1, 5)).keys() >= {2, 3}


def test_tools_that_a_long_text_names_are_found() -> None:
    connection = Connection(id="office", url="http://office.test")
    assert find_named_tools(repeated("call no_such "), connection, ())[0].name == "no_such"


def test_an_answer_with_a_long_gap_is_split() -> None:
    assert extract_answers(f"Paris{' ' * LONG},Berlin", "list", in_given_order=True) == ("Paris", "Berlin")


def test_fields_of_a_condition_whose_quotes_nobody_closes_are_found() -> None:
    rule = Rule(id="r", condition="amount > 5 && x == " + repeated('\\"') + "\\", action="block")
    assert asked_fields([Policy(id="p", rules=(rule,))]) == ("amount", "x")


def test_words_in_a_long_text_are_looked_for() -> None:
    read = find_mentions(repeated("a-1 "), NOW)
    assert (read.has_phrase("a"), read.has_words("a")) == (False, False)
