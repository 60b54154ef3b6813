"""Every line of the conformance table is held by tests that are there."""

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_LINE = re.compile(r"^\| (?P<section>[^|]+) \| (?P<words>[^|]+) \| (?P<tests>[^|]+) \|$", re.MULTILINE)
_LINES = [
    found.groupdict()
    for found in _LINE.finditer((_ROOT / "docs/conformance.md").read_text("utf-8"))
    if found["tests"] != "held by"
]


@pytest.mark.promise("gateway.conformance_table")
@pytest.mark.parametrize("line", _LINES, ids=[f"{line['section']} {line['words'][:40]}" for line in _LINES])
def test_a_line_names_tests_that_exist(line: dict[str, str]) -> None:
    named = re.findall(r"`([^`]+)`", line["tests"])
    assert named
    for test in named:
        file, _, function = test.partition("::")
        assert f"def {function}(" in (_ROOT / "tests" / file).read_text("utf-8"), test


def test_the_table_has_both_generations_whole() -> None:
    assert len(_LINES) > 70
