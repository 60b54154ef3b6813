"""Processes out of a file: followed only under the rules of one that a model designs."""

import pytest
from pydantic import JsonValue

from services.executor.core.process.synthesis import import_processes, read_definitions, read_kept
from shared.contracts.learning_files import FileReport, FileRequest, LearningFile
from shared.domain.words import FsmState
from tests.doubles.memory_learned import MemoryLearned
from tests.each_row import each_row

STATES: JsonValue = ["DECOMPOSE", "ASSESS", "COMPUTE", "POLICY_CHECK", "MUTATE", "COMPLETE"]
A_PROCESS: dict[str, JsonValue] = {
    "states": STATES,
    "hitl_required": True,
    "risk_level": "medium",
    "connector_hints": ["crm"],
    "state_instructions": {"ASSESS": "Read the grant's budget first."},
}


async def _imported(learned: MemoryLearned, content: JsonValue, *, dry_run: bool = False) -> FileReport:
    request = FileRequest(tenant="acme", file=LearningFile.SYNTHESIZED, content=content, dry_run=dry_run)
    return await import_processes(learned, request)


@pytest.mark.promise("files.processes")
@each_row(
    ("name", "process", "problem"),
    [
        ("payroll", A_PROCESS, "built in"),
        ("Grant Award", A_PROCESS, "snake case"),
        ("unknown", A_PROCESS, "snake case"),
        ("grant_award", {**A_PROCESS, "states": ["DECOMPOSE", "MUTATE"]}, "grant_award"),
        ("grant_award", {**A_PROCESS, "states": ["FLY"]}, "states"),
        ("grant_award", {**A_PROCESS, "risk_level": "none"}, "risk"),
        ("grant_award", {**A_PROCESS, "states": None}, "states"),
        ("grant_award", {"template": {"process_type": "other", "states": STATES}}, "another process"),
        ("grant_award", {"template": {"states": float("inf")}}, "no JSON"),
        ("grant_award", [], "no object"),
    ],
)
async def test_a_file_with_a_process_that_cannot_be_followed_is_refused_whole(
    name: str, process: JsonValue, problem: str
) -> None:
    learned = MemoryLearned()
    report = await _imported(learned, {name: process, "visa_renewal": A_PROCESS})
    assert problem in report.problems[0]
    assert learned.processes == {}


@pytest.mark.promise("files.processes")
async def test_a_process_that_is_kept_already_stays() -> None:
    learned = MemoryLearned()
    first = await _imported(learned, {"grant_award": A_PROCESS})
    other: JsonValue = {**A_PROCESS, "risk_level": "high"}
    told = await _imported(learned, {"grant_award": other, "visa_renewal": other}, dry_run=True)
    again = await _imported(learned, {"grant_award": other, "visa_renewal": other})
    assert (first.taken, told.taken, again.taken, again.known) == (1, 1, 1, 1)
    assert read_kept("grant_award", learned.processes["acme", "grant_award"]).risk == "medium"


@pytest.mark.promise("files.processes")
@each_row(("wanted", "asks"), [(True, True), (None, True), (False, False)])
def test_a_person_is_asked_unless_the_file_says_that_none_is(wanted: bool | None, asks: bool) -> None:
    """And always where a wrong write would be bad."""
    found = read_definitions({"definitions": {"grant_award": {**A_PROCESS, "hitl_required": wanted}}})["grant_award"]
    risky = read_definitions({"grant_award": {**A_PROCESS, "hitl_required": wanted, "risk_level": "high"}})
    assert (FsmState.APPROVAL_GATE in found.states) == asks
    assert FsmState.APPROVAL_GATE in risky["grant_award"].states
    assert found.instructions[FsmState.ASSESS] == "Read the grant's budget first."


@each_row("content", [[], "x", 5, None])
async def test_what_is_no_object_of_processes_is_refused(content: JsonValue) -> None:
    assert (await _imported(MemoryLearned(), content)).problems == ("it is no object of processes",)
