"""The planner works from the request alone: no word of the example company stands in its source."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from examples.company.books import Books
from examples.company.catalogue import TOOLS
from examples.company.seed import plant
from services.executor.core.fsm.templates import TEMPLATES
from services.planner.core.words import parts

_PLANNER = Path(__file__).parents[2] / "services" / "planner"
_WORD = re.compile(r"[A-Za-z]+")

# Everyday English verbs among the company's words: "to amount", "to note", "to phone" ...
_VERBS = frozenset(
    """
    act add allocate amount approve arrive back break broken budget call cancel cause claim close contain cover create
    date decide deliver filter get miss spent support title work
    describe design develop dispatch email file find give grant hold home issue item keep lead level light list mail
    manage mark market message name note notify number order part party phone pick place plan produce purchase query
    question reason refund reject release report request reserve research scale search second seat send service set
    ship spend stand state subject submit take text total track train trade tool update use value view visit write year
    """.split()
)
# Words of the format of a request (Messages API, JSON Schema, the schemas of the states), of Python, and of grammar.
_FORMAT = frozenset(
    """
    a an and as at by for from in is its june left no not of old on one or than that the to two was were with your
    argument arguments data description example id key kind msg number object operation planner port product ref result
    sequence status system text tool type user
    """.split()
)


def _company_words(folder: Path) -> set[str]:
    """The words of tools, schema properties, tables, columns and rows, in the singular."""
    return {_singular(word) for name in _company_names(folder) for word in parts(name) if word.isalpha()}


def _company_names(folder: Path) -> Iterator[str]:
    for tool in TOOLS.values():
        yield tool.name
        properties = tool.input_schema()["properties"]
        yield from properties if isinstance(properties, dict) else ()
    books = Books(folder / "company.db", lambda: datetime(2026, 1, 5, tzinfo=UTC))
    plant(books)
    for table in books.records("SELECT name FROM sqlite_master WHERE type = 'table'"):
        yield str(table["name"])
        for row in books.records(f"SELECT * FROM {table['name']}"):  # noqa: S608 - the database's own table names
            yield from row
            yield from (word for value in row.values() if isinstance(value, str) for word in _WORD.findall(value))
    books.close()


def _allowed() -> set[str]:
    process_words = {word for t in TEMPLATES.values() for text in (t.process_type, *t.keywords) for word in parts(text)}
    return {_singular(word) for word in process_words} | _VERBS | _FORMAT | _forms(_VERBS)


def _forms(verbs: frozenset[str]) -> set[str]:
    """``ships``, ``shipped``, ``shipping`` of the verb ``ship``; ``placed`` of ``place``."""
    doubled = {verb + verb[-1] for verb in verbs}
    stems = verbs | {verb.removesuffix("e") for verb in verbs} | doubled
    return {base + ending for base in stems for ending in ("ed", "ing", "s", "es", "al")}


def _source_words(text: str) -> set[str]:
    return {_singular(part) for name in re.findall(r"[A-Za-z_]+", text) for part in parts(name)}


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


def _offending(source: str, words: set[str]) -> set[str]:
    return {word for word in words & _source_words(source) if len(word) > 2}


@pytest.mark.promise("planner.knows_no_company")
def test_no_word_of_the_example_company_stands_in_the_planner(tmp_path: Path) -> None:
    """Tools, columns and rows of the company mean nothing to the planner, save process types and everyday verbs."""
    words = _company_words(tmp_path) - _allowed()
    found = {
        str(path.relative_to(_PLANNER)): offending
        for path in sorted(_PLANNER.rglob("*.py"))
        if (offending := _offending(path.read_text("utf-8"), words))
    }
    assert not found


@pytest.mark.promise("planner.knows_no_company")
def test_a_planted_word_of_the_company_is_found(tmp_path: Path) -> None:
    """The check can fail: a noun of the company in an identifier or in a string is seen."""
    words = _company_words(tmp_path) - _allowed()
    assert _offending('wanted = ("employee",)', words)
    assert _offending("def department_of(record): ...", words)
    assert not _offending("def approve(order): ...", words)
