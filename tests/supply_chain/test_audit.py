"""What an audit of the locked packages comes to, without asking anybody."""

from datetime import date

import pytest
from pydantic import ValidationError

from tests.each_row import each_row
from tests.supply_chain.accepted import Accepted, Rules, allowed, read_rules
from tests.supply_chain.audit import Report, audit
from tests.supply_chain.locked import Package, all_locked, locked
from tests.supply_chain.sources import AUDIT_FILE, LOCKS
from tests.supply_chain.vulnerabilities import Answers, Reply, Vulnerability, read_answer

TODAY = date(2026, 3, 1)
LEFT, RIGHT = Package("left-pad", "1.0"), Package("right-pad", "2.0")
HOLE = Vulnerability(LEFT, ("PYSEC-1", "CVE-1"), ("1.1",))
_REASON = "It is said why, at some length."


def _audited(answers: Answers, *accepted: Accepted, licence: str = "MIT") -> Report:
    rules = Rules(licences=("MIT", "Apache-2.0"), accepted=accepted)
    return audit((LEFT, RIGHT), {LEFT: licence}, answers, rules, TODAY)


def _accepts(**said: object) -> Accepted:
    return Accepted.model_validate({"package": "left-pad", "reason": _REASON, "since": date(2026, 1, 1)} | said)


@pytest.mark.promise("supply.audit")
def test_what_nobody_has_explained_is_a_finding() -> None:
    report = _audited(Answers(frozenset({LEFT}), (HOLE,)), licence="GPL-3.0-only")

    assert report.findings == (
        "left-pad 1.0: licence GPL-3.0-only: neither allowed nor accepted in audit.toml",
        "left-pad 1.0: PYSEC-1 = CVE-1, fixed in 1.1",
    )


@pytest.mark.promise("supply.audit")
def test_what_is_accepted_by_name_passes_and_is_told_with_its_reason() -> None:
    """A vulnerability by any of its ids."""
    entries = (_accepts(licence="GPL-3.0-only"), _accepts(vulnerability="CVE-1", until=date(2026, 3, 1)))

    report = _audited(Answers(frozenset({LEFT}), (HOLE,)), *entries, licence="GPL-3.0-only")

    assert report.findings == ()
    assert [_REASON in line for line in report.accepted] == [True, True]


@pytest.mark.promise("supply.audit")
def test_what_is_accepted_for_a_while_counts_no_longer_after_it() -> None:
    report = _audited(Answers(frozenset({LEFT}), (HOLE,)), _accepts(vulnerability="CVE-1", until=date(2026, 2, 28)))

    assert [line.rpartition(": ")[2] for line in report.findings] == ["PYSEC-1 = CVE-1, fixed in 1.1", "out of date"]


@pytest.mark.promise("supply.audit")
def test_what_is_accepted_and_gone_is_a_finding_once_it_was_looked_up() -> None:
    entry = _accepts(vulnerability="CVE-1", until=date(2026, 4, 1))

    assert _audited(Answers(), entry).findings == ()
    assert len(_audited(Answers(frozenset({LEFT})), entry).findings) == 1


@pytest.mark.promise("supply.not_audited")
def test_what_could_not_be_looked_up_is_told_and_never_counted_as_clean() -> None:
    report = _audited(Answers(problems=("no route to host",)))

    assert (report.not_licensed, report.not_audited, report.complete) == ((RIGHT,), (LEFT, RIGHT), False)
    assert report.problems == ("no route to host",)


@pytest.mark.promise("supply.not_audited")
@each_row(
    "said",
    {"name": "left-pad", "skip_reason": "Dependency not found"},
    {"name": "left-pad", "version": "0.9", "vulns": []},
    {"name": "another", "version": "1.0", "vulns": []},
)
def test_an_answer_about_something_else_is_no_answer(said: dict[str, object]) -> None:
    reply = Reply.model_validate({"dependencies": [said]})

    assert read_answer(reply, [LEFT]).audited == frozenset()


@each_row(
    ("licence", "passes"),
    ("MIT", True),
    ("MIT AND Apache-2.0", True),
    ("MIT AND GPL-3.0-only", False),
    ("MIT; GPL-3.0-only", False),
    ("GPL-3.0-only OR MIT", True),
    ("(GPL-3.0-only OR MIT) AND Apache-2.0", True),
    ("ISC License (ISCL)", False),
    ("UNKNOWN", False),
    ("", False),
)
def test_of_several_licences_all_must_be_allowed_of_a_choice_one(licence: str, passes: bool) -> None:
    assert allowed(licence, ("MIT", "Apache-2.0")) is passes


@each_row(
    "said", [{}, {"licence": "x", "vulnerability": "y"}, {"vulnerability": "y"}, {"licence": "x", "reason": "because"}]
)
def test_an_entry_without_reason_or_end_is_refused(said: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        _accepts(**said)


@pytest.mark.promise("supply.audit")
def test_the_projects_own_list_can_be_read_and_names_what_is_locked() -> None:
    names = {package.name for package in all_locked(sorted(LOCKS.glob("*.txt")))}

    assert {entry.package for entry in read_rules(AUDIT_FILE).accepted} <= names


@pytest.mark.promise("supply.locked")
def test_every_image_has_the_same_versions_which_everything_is_tested_with() -> None:
    """No image holds a package, or a version of it, that the suite does not run with; each file is pinned by hash."""
    whole = locked(LOCKS / "dev.txt")
    files = [file for file in LOCKS.glob("*.txt") if file.stem not in {"audit", "langgraph", "uv"}]

    assert [file.stem for file in files if not locked(file) <= whole] == []
    assert [
        file.stem for file in files if file.read_text().count("==") > file.read_text().count("--hash=sha256:")
    ] == []
    assert [file.stem for file in files if "://" in file.read_text()] == []
