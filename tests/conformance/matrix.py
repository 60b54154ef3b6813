"""The matrix of docs/conformance.md: each demand of the protocols, in which cells a test asks it, and which test."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.conformance.cells import OF_0_3, OF_1_0, WIRE, Cell

ASKED = "✓"
PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
COLUMNS: Mapping[str, tuple[Cell, ...]] = {
    "1.0": OF_1_0,
    "0.3": (*(Cell("0.3", cell.binding, "wire") for cell in WIRE), *OF_0_3),
}
_TESTS = Path(__file__).parents[1]
_FIXTURES: Mapping[str, tuple[Cell, ...]] = {"wire": WIRE, "speaker": OF_1_0, "any_speaker": (*OF_1_0, *OF_0_3)}


class Demand(NamedTuple):
    """A row of the page; of a row that is no matter of bindings and clients, version and level are empty."""

    version: str
    level: str
    words: str
    marks: Mapping[Cell, str]
    tests: tuple[str, ...]


def read_demands() -> Iterator[Demand]:
    """The rows of the page, in its order."""
    version = ""
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("## "):
            version = line.removeprefix("## Protocol ") if line.startswith("## Protocol ") else ""
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        tests = tuple(re.findall(r"`([^`]+::[^`]+)`", cells[-1]))
        if line.startswith("| ") and tests:
            level, words = (cells[1], cells[2]) if version else ("", cells[1])
            marks = dict(zip(COLUMNS[version], cells[3:-1], strict=True)) if version else {}
            yield Demand(version, level, words, marks, tests)


def read_gaps() -> frozenset[str]:
    """The letters by which the page says why no test asks something in a cell."""
    return frozenset(re.findall(r"^- (\w): ", PAGE.read_text("utf-8"), re.MULTILINE))


def fixture_cells(test: str, version: str) -> frozenset[Cell]:
    """Where a test asks by its fixtures; a test without any of them speaks by itself, and the page says where."""
    file, _, name = test.partition("::")
    asked_by = _signatures(file)[name] & _FIXTURES.keys()
    return frozenset(cell for fixture in asked_by for cell in _FIXTURES[fixture] if cell.version == version)


def speaks_by_itself(test: str) -> bool:
    file, _, name = test.partition("::")
    return not _signatures(file)[name] & _FIXTURES.keys()


@cache
def _signatures(file: str) -> Mapping[str, frozenset[str]]:
    """The arguments of each test of a file."""
    tree = ast.parse((_TESTS / file).read_text("utf-8"))
    tests = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {test.name: frozenset(argument.arg for argument in test.args.args) for test in tests}
