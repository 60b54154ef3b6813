"""docs/security.md names promises that exist, threats of every kind at every boundary, and lifetimes as they are."""

import re

import pytest

from shared.infra import keys
from tests.architecture.promise_report import read_promises
from tests.deployment.dockerfile import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text()
_UNITS = {"minute": 60, "hour": 3600, "day": 86400}
_RETAINED = re.compile(r"^\| .* \| (\d+) (minute|hour|day)s? \| `(\w+_SECONDS)` \|$", re.MULTILINE)
_THREAT = re.compile(r"^\| ([STRIDE]) \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)
_PROMISE = re.compile(r"`(I\d+\.\w+|[a-z_]+\.[a-z_.]+)`")


def _boundaries() -> dict[str, str]:
    part = PAGE.partition("## Boundaries and threats")[2].partition("\n## ")[0]
    titled = [piece.partition("\n") for piece in part.split("\n### ")[1:]]
    return {title: text for title, _, text in titled}


@pytest.mark.promise("docs.security")
def test_the_retention_table_says_what_the_keys_live() -> None:
    """Every lifetime that has a name is in the table, with its number."""
    said = {name: int(count) * _UNITS[unit] for count, unit, name in _RETAINED.findall(PAGE)}
    named = {name: value for name, value in vars(keys).items() if name.endswith("_SECONDS") and name.isupper()}

    assert said == named


@pytest.mark.promise("docs.security")
def test_every_boundary_has_threats_of_every_kind() -> None:
    missing = {
        title: set("STRIDE") - {kind for kind, *_ in _THREAT.findall(text)} for title, text in _boundaries().items()
    }

    assert len(missing) >= 11
    assert {title: kinds for title, kinds in missing.items() if kinds} == {}


@pytest.mark.promise("docs.security")
def test_each_control_is_shown_by_promises_that_exist() -> None:
    """A promise has tests, or the check of the promises fails. What is shown by nothing says so with a dash."""
    known = {promise.id for promise in read_promises()}
    shown = [(threat, by) for text in _boundaries().values() for _, threat, _, by in _THREAT.findall(text)]

    assert [threat for threat, by in shown if not _PROMISE.findall(by) and by != "-"] == []
    assert sorted({found for _, by in shown for found in _PROMISE.findall(by)} - known) == []
