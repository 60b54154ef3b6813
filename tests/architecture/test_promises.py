"""The manifest of promises and the marks of the tests keep each other honest."""

from pathlib import Path

import pytest

from tests.architecture.promise_marks import Mark, marks_in
from tests.architecture.promise_report import Promise, mismatches, outcome_of, read_results

_MODULE = """
import pytest
pytestmark = pytest.mark.promise("all")

@pytest.mark.promise("one")
def test_first(): ...

class TestGroup:
    @pytest.mark.promise("two")
    async def test_second(self): ...
"""


def _mark(promise: str) -> Mark:
    return Mark(promise, "tests.test_x", "test_it", "tests/test_x.py:1")


def test_marks_of_functions_classes_and_modules_are_found() -> None:
    """A mark on the module counts for each of its tests; a class's name stands before its tests."""
    found = {(mark.promise, mark.test) for mark in marks_in(_MODULE, "tests.test_x", "tests/test_x.py")}
    assert found == {
        ("all", "test_first"),
        ("one", "test_first"),
        ("all", "TestGroup.test_second"),
        ("two", "TestGroup.test_second"),
    }


@pytest.mark.promise("promises.tied")
def test_a_promise_without_a_test_is_a_fault() -> None:
    faults = mismatches([Promise("a", "It does", "seed 000")], [])
    assert faults == ("a: no test proves it",)


@pytest.mark.promise("promises.tied")
def test_a_test_that_names_an_unknown_promise_is_a_fault() -> None:
    faults = mismatches([], [_mark("b")])
    assert faults == ("tests/test_x.py:1: names the unknown promise 'b'",)


def test_a_promise_listed_twice_is_a_fault() -> None:
    promise = Promise("a", "It does", "seed 000")
    assert mismatches([promise, promise], [_mark("a")]) == ("a: listed 2 times",)


def test_a_test_of_many_cases_is_as_good_as_its_worst(tmp_path: Path) -> None:
    """The last run's file names each case; a promise is proved only by all of them."""
    results = tmp_path / "tests.xml"
    results.write_text(
        '<testsuites><testsuite><testcase classname="tests.test_x" name="test_it[1]"/>'
        '<testcase classname="tests.test_x" name="test_it[2]"><failure/></testcase></testsuite></testsuites>'
    )
    assert outcome_of(_mark("a"), read_results(results)) == "failed"


def test_without_a_run_nothing_is_claimed(tmp_path: Path) -> None:
    assert outcome_of(_mark("a"), read_results(tmp_path / "absent.xml")) == "not run"
