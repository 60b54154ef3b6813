"""Archives outlive releases: what an earlier one wrote is read by this one. The golden files are never changed."""

import json
from pathlib import Path

import pytest

from services.executor.core.session.journal import restore_latest_progress
from services.executor.core.turn.replay import CannotReplay, split_into_attempts
from services.executor.ports.turns import JournalEntry
from shared.contracts.approval import ApprovalStatus
from shared.contracts.archive import ARCHIVE_VERSION, ArchivedTask, UnknownVersion, parse_archived_task
from shared.domain.words import FsmState, TaskState, WriteStatus

pytestmark = pytest.mark.promise("archive.versions")

GOLDEN = Path(__file__).parent / "golden"
V1 = (GOLDEN / "archived_task_v1.json").read_bytes()


def test_every_version_that_was_ever_written_has_a_golden_file() -> None:
    """Whoever raises the version adds the next one, written by that release."""
    assert {path.name for path in GOLDEN.glob("archived_task_v*.json")} == {
        f"archived_task_v{number}.json" for number in range(1, ARCHIVE_VERSION + 1)
    }


def test_the_first_version_is_read_whole() -> None:
    """Record, journal, writes with their proof, decisions, events."""
    task = parse_archived_task(V1)
    assert (task.record.state, task.record.answer is not None) == (TaskState.COMPLETED, True)
    assert [entry.status for entry in task.ledger.values()] == [WriteStatus.VERIFIED]
    assert [approval.status for approval in task.approvals] == [ApprovalStatus.APPROVED]
    assert {"phase", "status", "write"} <= {event.kind for event in task.events}


def test_the_journal_of_the_first_version_is_read_as_its_turns() -> None:
    """Who spoke in each turn, and the checkpoint at which the run stood at last."""
    task = parse_archived_task(V1)
    attempts = split_into_attempts(task)
    assert [attempt.start.turn.kind for attempt in attempts] == ["message", "decision"]
    assert {"tenant", "session", "experience", "tools:office"} <= attempts[0].inputs.keys()
    progress = restore_latest_progress(_entries(task))
    assert progress is not None
    assert (progress.state, progress.dossier.facts[0].tool) == (FsmState.COMPLETE, "get_claim")


def test_a_journal_from_before_turns_were_noted_is_read_and_said_not_to_be_replayable() -> None:
    """A task of the release before goes on from its checkpoints all the same."""
    task = parse_archived_task(V1)
    older = task.model_copy(
        update={"journal": tuple(step for step in task.journal if step.kind not in ("turn", "input"))}
    )
    assert restore_latest_progress(_entries(older)) == restore_latest_progress(_entries(task))
    with pytest.raises(CannotReplay, match="too old"):
        split_into_attempts(older)


def test_what_a_later_release_added_is_ignored_and_its_next_version_refused() -> None:
    said = json.loads(V1)
    assert parse_archived_task(json.dumps({**said, "colour": "purple"}).encode()) == parse_archived_task(V1)
    with pytest.raises(UnknownVersion, match=f"up to version {ARCHIVE_VERSION}"):
        parse_archived_task(json.dumps({**said, "v": ARCHIVE_VERSION + 1}).encode())


def _entries(task: ArchivedTask) -> list[JournalEntry]:
    return [JournalEntry(step.key, step.kind, step.data) for step in task.journal]
