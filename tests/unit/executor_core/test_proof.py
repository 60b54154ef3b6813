"""Proof of a write: only the record it is about, newly shown, proves it."""

import pytest
from hypothesis import given, strategies as st

from services.executor.core.write.field_proof import WriteEvidence
from services.executor.core.write.settling import judge_answered_write, judge_failed_write, judge_unanswered_write
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import WriteStatus
from tests.each_row import each_row
from tests.unit.executor_core.makers import entry

DENIED = entry(WriteStatus.DENIED).model_copy(update={"refusal": "CONSTRAINT_VIOLATION"})
OPEN: JsonObject = {"claim_id": "C-1", "status": "open"}
DONE: JsonObject = {"claim_id": "C-1", "status": "approved"}


def evidence(
    before: Json,
    after: Json,
    arguments: JsonObject | None = None,
    result: Json = None,
    expect: JsonObject | None = None,
    asked: str = "claim_id",
    tool: str = "approve_claim",
) -> WriteEvidence:
    given_: JsonObject = arguments if arguments is not None else {"claim_id": "C-1"}
    wanted: JsonObject = expect if expect is not None else {"status": "approved"}
    return WriteEvidence(tool, given_, wanted, before, result, after, {asked: given_.get(asked)}, "get_it")


@pytest.mark.promise("I4.proof")
@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(evidence({**DONE, "read_at": 1}, {**DONE, "read_at": 2}), id="only a clock moved"),
        pytest.param(evidence(None, None), id="nothing was read"),
        pytest.param(evidence(None, {"claim_id": "C-1", "found": False}), id="the read repeats the question"),
        pytest.param(
            evidence(None, {"ticket": "T-9", "found": False}, {"title": "x"}, {"ticket": "T-9"}, {}, "ticket"),
            id="an echo of the new record's name",
        ),
        pytest.param(
            evidence(None, {"filter": {"status": "approved"}, "claims": []}, asked="status"), id="an echo of a filter"
        ),
        pytest.param(evidence(OPEN, {"id": "C-2", "status": "approved"}), id="another record with a bare id"),
        pytest.param(
            evidence([{"id": "C-1", "status": "open"}],
                     [{"id": "C-1", "status": "open"}, {"id": "C-2", "copy_of": "C-1", "status": "approved"}]),
            id="a record that mentions the named one",
        ),
        pytest.param(
            evidence([{"id": 2, "priority": 1, "status": "open"}, {"id": 1, "priority": 3, "status": "open"}],
                     [{"id": 2, "priority": 1, "status": "approved"}, {"id": 1, "priority": 3, "status": "open"}],
                     {"claim_id": 1}),
            id="a small number elsewhere",
        ),
        pytest.param(
            evidence([{"number": "O-1", "status": "open"}, {"number": "O-2", "status": "open"}],
                     [{"number": "O-1", "status": "open"}, {"number": "O-2", "status": "approved"}], {"order": "O-1"}),
            id="names under other words",
        ),
        pytest.param(
            evidence({"account_id": "A-1", "currency": "EUR", "balance": 10},
                     {"account_id": "A-1", "currency": "EUR", "balance": 9},
                     {"account_id": "A-1", "currency": "EUR", "amount": 50}, "ok", {}, "account_id"),
            id="a field that was so before in a record that changed",
        ),
        pytest.param(evidence({"claim_id": "007"}, {"claim_id": "7", "status": "approved"}, {"claim_id": "007"}),
                     id="an id that only looks like the number"),
        pytest.param(evidence(OPEN, {"claim_id": "C-1", "status": "approved", "amount": "$5"},
                              {"claim_id": "C-1", "amount": "€5"}), id="another currency"),
    ],
)  # fmt: skip
def test_what_could_have_another_cause_proves_nothing(shown: WriteEvidence) -> None:
    assert judge_answered_write(shown).status is WriteStatus.UNVERIFIED


OWNED_BY_1: JsonObject = {"id": "A-1", "owner_id": "E-1", "status": "assigned"}


def handed_over(after: Json) -> WriteEvidence:
    """A write that changes another identifier of its record, with an answer that was lost."""
    before: Json = {"id": "A-1", "owner_id": None, "status": "stored"}
    return WriteEvidence(
        "assign_asset", {"asset_id": "A-1", "owner_id": "E-1"}, {}, before, None, after, {}, "get_asset"
    )


@pytest.mark.promise("I4.proof")
@each_row(
    ("shown", "status"),
    (evidence(OPEN, DONE), WriteStatus.VERIFIED),
    (evidence(OPEN, DONE, expect={}), WriteStatus.VERIFIED),
    (evidence(OPEN, OPEN), WriteStatus.ABSENT),
    (evidence(OPEN, {**OPEN, "read_at": 2}), WriteStatus.IN_DOUBT),
    (evidence(OPEN, None), WriteStatus.IN_DOUBT),
    (evidence([{"id": "C-1", "status": "open"}],
              [{"id": "C-1", "status": "open"}, {"id": "C-2", "status": "approved"}]),
     WriteStatus.IN_DOUBT),
    (evidence(OPEN, {"claim_id": "C-1", "status": "approval_pending"}, expect={}), WriteStatus.IN_DOUBT),
    (evidence([{"id": "C-1", "status": "open", "t": 1}, {"id": "C-2", "status": "approved", "t": 1}],
              [{"id": "C-1", "status": "open", "t": 2}, {"id": "C-2", "status": "approved", "t": 2}], expect={}),
     WriteStatus.IN_DOUBT),
    (handed_over(OWNED_BY_1), WriteStatus.VERIFIED),
    (handed_over({"id": "A-1", "owner_id": "E-2", "status": "assigned"}), WriteStatus.IN_DOUBT),
    (handed_over({"id": "A-2", "owner_id": "E-1", "status": "assigned"}), WriteStatus.IN_DOUBT),
    (handed_over({"id": "A-1", "owner_id": "E-1", "status": "reserved"}), WriteStatus.VERIFIED),
)  # fmt: skip
def test_a_lost_answer_is_settled_by_the_named_record_alone(shown: WriteEvidence, status: WriteStatus) -> None:
    assert judge_unanswered_write(shown).status is status


RECORDS = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from(["C-1", "C-2", "C-3"]), "status": st.sampled_from(["open", "approved"])}
    ),
    max_size=4,
    unique_by=lambda record: record["id"],
)


@pytest.mark.promise("I4.proof")
@given(before=RECORDS, after=RECORDS)
def test_in_any_list_the_proof_is_the_named_record_becoming_so(
    before: list[dict[str, str]], after: list[dict[str, str]]
) -> None:
    target = {"id": "C-1", "status": "approved"}
    shown = evidence([dict(r) for r in before], [dict(r) for r in after])

    proved = judge_answered_write(shown).status is WriteStatus.VERIFIED
    assert proved == (target in after and target not in before)


@pytest.mark.promise("I4.unverified_is_said")
@each_row(
    ("read", "status", "says"),
    (evidence(OPEN, OPEN), WriteStatus.REFUSED, ""),
    (evidence(DONE, DONE), WriteStatus.REFUSED, ""),
    (evidence(OPEN, {**OPEN, "seen": 2}), WriteStatus.REFUSED, ""),
    (evidence(OPEN, DONE), WriteStatus.IN_DOUBT, "status=approved"),
    (evidence(OPEN, DONE, expect={}), WriteStatus.IN_DOUBT, "status=approved"),
    (evidence(None, DONE), WriteStatus.IN_DOUBT, "nothing is known of the state before"),
)
def test_a_refusal_is_believed_unless_the_read_back_shows_the_write(
    read: WriteEvidence, status: WriteStatus, says: str
) -> None:
    judgement = judge_failed_write(DENIED, read)
    assert judgement.status is status
    assert "CONSTRAINT_VIOLATION" in judgement.note
    assert says in judgement.note
