"""The matrix of docs/conformance.md: each demand, and in which cells a test asks it.

``python -m tests.conformance.matrix`` writes the page; ``test_matrix.py`` holds it to the tests.
"""

import ast
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path

from tests.conformance.cells import OF_0_3, OF_1_0, WIRE, Cell
from tests.conformance.demands import DEMANDS, GAPS, OTHER_DEMANDS, SPOKEN, Demand

_TESTS = Path(__file__).parents[1]
PAGE = _TESTS.parent / "docs" / "conformance.md"
COLUMNS: Mapping[str, tuple[Cell, ...]] = {
    "1.0": OF_1_0,
    "0.3": (*(Cell("0.3", cell.binding, "wire") for cell in WIRE), *OF_0_3),
}
_FIXTURES: Mapping[str, tuple[Cell, ...]] = {
    "wire": WIRE,
    "speaker": OF_1_0,
    "any_speaker": (*OF_1_0, *OF_0_3),
}
_WHO = {"wire": "", "new": ", client 1.x", "old": ", client 0.3"}
_BINDING = {"jsonrpc": "JSON-RPC", "rest": "REST"}
_HEAD = """\
# Conformance: what the protocols demand, and which test holds it

In our own words, as far as it concerns a server over JSON-RPC and REST; gRPC is not offered. The page is written
from `tests/conformance/demands.py` by `python -m tests.conformance.matrix`, and a test holds it to what is there.
Sections are those of the published specifications 1.0.0 and 0.3.0, by their title; with their number where the official
SDKs for Python and JavaScript name it, or where it follows from those beside it. What is a matter of the deployment
(TLS) or of what this agent does not have (required extensions, authentication within a task, custom bindings) has no
row.

Tests stand in `tests/`. Those in `tests/conformance` run with API keys through two replicas behind HAProxy. A column
is a cell: a binding, spoken in a test's own words or by an official client; the client 1.x speaks 0.3 by its own
converters. ✓: a test asks it there, and it holds. A letter says why no test does:

{gaps}

See also [how to point a suite of your own at the gateway](a2a.md#point-a-suite-or-your-own-client-at-it).
"""


@cache
def _signatures(file: str) -> Mapping[str, frozenset[str]]:
    """The arguments of each test of a file."""
    tree = ast.parse((_TESTS / file).read_text("utf-8"))
    tests = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {test.name: frozenset(argument.arg for argument in test.args.args) for test in tests}


def exists(test: str) -> bool:
    file, _, name = test.partition("::")
    return (_TESTS / file).exists() and name in _signatures(file)


def cells_of(demand: Demand) -> frozenset[Cell]:
    """Where the demand's tests ask it, by the fixture that each asks by, else by what is said of it."""
    found = set[Cell]()
    for test in demand.tests:
        file, _, name = test.partition("::")
        asked_by = _signatures(file)[name] & _FIXTURES.keys()
        found |= {cell for fixture in asked_by for cell in _FIXTURES[fixture]}
        spoken = (said.partition("/") for said in SPOKEN.get(test, "").split())
        found |= {Cell(demand.version, binding, who or "wire") for binding, _, who in spoken}
    return frozenset(found & set(COLUMNS[demand.version]))


def _row(words: Iterable[str]) -> str:
    return f"| {' | '.join(words)} |"


def _tests(tests: tuple[str, ...]) -> str:
    return "<br>".join(f"`{test}`" for test in tests)


def _matrix(version: str) -> Iterable[str]:
    columns = COLUMNS[version]
    names = [f"{_BINDING[cell.binding]}{_WHO[cell.who]}" for cell in columns]
    yield f"## Protocol {version}"
    yield _row(["section", "level", "what is demanded", *names, "held by"])
    yield "|---" * (len(columns) + 4) + "|"
    for demand in (one for one in DEMANDS if one.version == version):
        cells = cells_of(demand)
        marks = ["✓" if cell in cells else demand.gap for cell in columns]
        yield _row([demand.section, demand.level, demand.words, *marks, _tests(demand.tests)])
    yield ""


def _others() -> Iterable[str]:
    for heading, demands in groupby(OTHER_DEMANDS, key=lambda demand: demand.heading):
        yield f"## {heading}"
        yield _row(["of", "what is demanded", "held by"])
        yield "|---|---|---|"
        yield from (_row([one.section, one.words, _tests(one.tests)]) for one in demands)
        yield ""


def page() -> str:
    gaps = "\n".join(f"- {letter}: {why}." for letter, why in GAPS.items())
    lines = [line for version in COLUMNS for line in _matrix(version)]
    return "\n".join([_HEAD.format(gaps=gaps), *lines, *_others()]).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
