"""What stands at its default is not stored, and is there again when it is read."""

import pytest

from shared.contracts.approval import Approval
from shared.contracts.base import Contract
from shared.contracts.knowledge import EntityLinks, KnownEntity, KnownFact
from shared.contracts.ledger import LedgerEntry
from shared.contracts.outcome import TaskOutcome
from shared.contracts.outcome_digest import make_case_entry
from shared.contracts.task import (
    Artifact,
    ArtifactFile,
    HistoryMessage,
    PriorTurn,
    SentFile,
    SolverRequest,
    TaskRecord,
    Turn,
)
from tests.doubles.redis_tasks import NOON, a_record, a_turn
from tests.each_row import each_row
from tests.integration.learner_stage import an_outcome
from tests.integration.state_stage import an_entry

_FULL = a_record().model_copy(
    update={
        "answer": "",
        "artifacts": (
            Artifact(name="log", text="a"),
            Artifact(name="doc", file=ArtifactFile(name="f", content="eA==")),
        ),
        "answers_as": "message",
        "metadata": {"nothing": None, "none": [], "empty": {}, "zero": 0, "no": False},
        "history": (HistoryMessage(role="user", text="", message_id="m", at=NOON, parts=({"text": ""},)),),
        "later_files": (SentFile(file_id="f", size=0), SentFile(url="u")),
    }
)
_SOLVED = _FULL.model_copy(
    update={
        "request": _FULL.request.model_copy(
            update={
                "policy_doc": {},
                "solver": SolverRequest(history=(PriorTurn(role="user", content=""),), expected_format="json"),
            }
        )
    }
)


@pytest.mark.promise("state.stored_json")
@each_row("one", [a_record(), _FULL, _SOLVED, a_turn(_FULL), an_outcome(1), make_case_entry(an_outcome(1)), an_entry()])
def test_what_is_stored_is_read_as_it_was(one: Contract) -> None:
    text = one.stored_json()
    assert type(one).model_validate_json(text) == one
    assert type(one).model_validate_json(one.model_dump_json()) == one  # as an earlier release stored it
    assert '"v":' not in text.partition("metadata")[0]


@pytest.mark.promise("state.stored_json")
@each_row("kind", [TaskRecord, Turn, TaskOutcome, LedgerEntry, Approval, KnownFact, KnownEntity, EntityLinks])
def test_no_stored_contract_is_told_by_a_field_that_has_a_default(kind: type[Contract]) -> None:
    """A union by such a field could not be read again."""
    assert "discriminator" not in str(kind.model_json_schema())
