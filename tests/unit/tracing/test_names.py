"""The page on traces names what the code names."""

import re
from pathlib import Path

import pytest

from shared.domain import span_names

_PAGE = (Path(__file__).parents[3] / "docs" / "tracing.md").read_text()
_NOT_SHOWN = {"CHAT_OPERATION", "TOOL_OPERATION"}  # the names of spans before it is known of what


def _names() -> dict[str, str]:
    said = vars(span_names).items()
    return {name: value for name, value in said if name.isupper() and isinstance(value, str) and name not in _NOT_SHOWN}


def _documented() -> set[str]:
    """What stands in backticks in the tables and in the line on events."""
    rows = [line for line in _PAGE.splitlines() if line.startswith(("| `", "Events"))]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


@pytest.mark.promise("trace.names")
def test_every_name_is_documented() -> None:
    assert set(_names().values()) - _documented() == set()


@pytest.mark.promise("trace.names")
def test_nothing_else_is_documented_as_a_name() -> None:
    prefixes = ("purple.", "gen_ai.", "http.", "url.", "error.")
    assert {name for name in _documented() if name.startswith(prefixes)} - set(_names().values()) == set()


@pytest.mark.promise("trace.names")
def test_no_two_names_are_the_same() -> None:
    assert len(set(_names().values())) == len(_names())
