"""Planted books for a test, a call of one of the company's tools, and the fields of an answer."""

from pydantic import JsonValue

from examples.company.books import CompanyBooks
from examples.company.catalogue import TOOLS
from shared.domain.exact_json import Json, JsonObject


def call(books: CompanyBooks, tool: str, **arguments: JsonValue) -> Json:
    return TOOLS[tool].call(books, arguments)


def record(books: CompanyBooks, tool: str, **arguments: JsonValue) -> JsonObject:
    """An answer that is one record."""
    answer = call(books, tool, **arguments)
    assert isinstance(answer, dict)
    return answer


def rows(answer: Json, key: str) -> list[JsonObject]:
    """The records of one page."""
    assert isinstance(answer, dict)
    found = answer[key]
    assert isinstance(found, list)
    return [row for row in found if isinstance(row, dict)]
