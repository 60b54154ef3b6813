"""The promises against the tests: the check of `make check` and the table of `make requirements`."""

import argparse
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from tests.architecture.promise_marks import Mark, marks_under

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS / "promises.md"


class Promise(NamedTuple):
    id: str
    sentence: str
    source: str


def read_promises() -> list[Promise]:
    """The rows of the page's tables, in their order."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    return [Promise(*row) for row in rows if row[0] != "id"]


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 if promises and tests do not match, or (for the table) if a promise's test failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.requirements")
    parser.add_argument("--check", action="store_true", help="only compare promises and tests")
    parser.add_argument("--results", type=Path, help="the JUnit file of the last run")
    options = parser.parse_args(arguments)
    promises, marks = read_promises(), marks_under(TESTS)
    faults = mismatches(promises, marks)
    if options.check:
        return _say(faults, len(promises), len(marks))
    outcomes = read_results(options.results)
    Console().print(table(promises, marks, outcomes))
    return int(bool(faults) or "failed" in outcomes.values())


def mismatches(promises: Sequence[Promise], marks: Sequence[Mark]) -> tuple[str, ...]:
    """Each fault as a sentence: a promise twice, a promise without a test, a test with an unknown promise."""
    ids = Counter(promise.id for promise in promises)
    proved = {mark.promise for mark in marks}
    twice = (f"{promise}: listed {count} times" for promise, count in ids.items() if count > 1)
    unproved = (f"{promise}: no test proves it" for promise in ids if promise not in proved)
    unknown = (f"{mark.place}: names the unknown promise {mark.promise!r}" for mark in marks if mark.promise not in ids)
    return (*twice, *unproved, *unknown)


def read_results(results: Path | None) -> dict[tuple[str, str], str]:
    """(module, test) -> passed, failed or skipped; a test of many cases is as good as its worst."""
    outcomes: dict[tuple[str, str], str] = {}
    if results is None or not results.is_file():
        return outcomes
    for case in ET.parse(results).iter("testcase"):  # noqa: S314  our own pytest wrote it a moment ago
        key = (case.get("classname", ""), case.get("name", "").partition("[")[0])
        outcomes[key] = _worse(outcomes.get(key), _outcome(case))
    return outcomes


def table(promises: Iterable[Promise], marks: Sequence[Mark], outcomes: Mapping[tuple[str, str], str]) -> Table:
    shown = Table("id", "promise", "source", "tests", "last run", title="What the product promises")
    for promise in promises:
        own = [mark for mark in marks if mark.promise == promise.id]
        said = Counter(outcome_of(mark, outcomes) for mark in own)
        shown.add_row(promise.id, promise.sentence, promise.source, str(len(own)), _summary(said))
    return shown


def outcome_of(mark: Mark, outcomes: Mapping[tuple[str, str], str]) -> str:
    """What the last run said of a marked test; JUnit writes a test's class behind its module."""
    scope, _, name = f"{mark.module}.{mark.test}".rpartition(".")
    return outcomes.get((scope, name), "not run")


def _outcome(case: ET.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def _worse(one: str | None, other: str) -> str:
    order = ("failed", "skipped", "passed")
    return other if one is None else min(one, other, key=order.index)


def _summary(said: Counter[str]) -> str:
    colours = {"failed": "red", "passed": "green", "skipped": "yellow", "not run": "dim"}
    parts = (f"[{colours[word]}]{count} {word}[/]" for word, count in sorted(said.items()))
    return ", ".join(parts) or "[red]no test[/]"


def _say(faults: Sequence[str], promises: int, marks: int) -> int:
    console = Console(stderr=bool(faults), highlight=False, soft_wrap=True)
    for fault in faults:
        console.print(fault, markup=False)
    if not faults:
        console.print(f"{promises} promises, {marks} marks: each promise has a test, each mark a promise.")
    return int(bool(faults))
