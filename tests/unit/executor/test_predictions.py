"""What was predicted for tasks like this one, and how far it can be trusted, as prompts have it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.prime.known import describe_limits
from shared.contracts.knowledge import Accuracy
from shared.contracts.outcome import Threshold, ThresholdKind
from shared.domain.estimates import Trust, confidence, drifts, trust
from shared.domain.exact_json import Json
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import Stage

_LIMIT = Threshold(kind=ThresholdKind.POLICY_LIMIT, name="amount", sign=">", value="500", source="policy: over 500")
_TASK = "Approve expense claim C-1. Claims over $500 need a manager."


def _known(*held: bool) -> Accuracy:
    return Accuracy(attempts=len(held), matches=sum(held), window=held[-10:])


def _shown(*held: bool) -> Json:
    return describe_limits([_LIMIT], {ThresholdKind.POLICY_LIMIT: _known(*held)})[0]


@pytest.mark.promise("accuracy.drift")
def test_of_the_last_five_fewer_than_two_fifths_are_a_warning_in_place_of_the_value() -> None:
    told = _shown(*[True] * 5, False, False, True, False, False)
    assert isinstance(told, dict)
    assert "limit" not in told
    assert "1 of the last 5" in str(told["drift"])
    assert told["source"] == _LIMIT.source


@pytest.mark.promise("accuracy.drift")
@each_row(
    ("held", "trusted"),
    [
        ((), None), ((False, False), None), ((True, True, True), "trust"), ((True, True, False), "verify"),
        ((False, False, False, True, True), "verify"), ((True, True, True, True, False), "trust"),
    ],
)  # fmt: skip
def test_before_that_a_value_is_trusted_or_to_be_verified(held: tuple[bool, ...], trusted: str | None) -> None:
    told = _shown(*held)
    assert isinstance(told, dict)
    assert (told["limit"], told.get("trust")) == ("> 500", trusted)


@given(st.lists(st.booleans(), max_size=30))
def test_nothing_drifts_before_five_and_what_always_held_is_trusted(held: list[bool]) -> None:
    how = trust(len(held), sum(held), held[-10:])
    assert drifts(held) is (len(held) >= 5 and sum(held[-5:]) < 2)
    assert (how is Trust.NONE) is (len(held) < 3)
    assert not (all(held) and len(held) >= 3) or how is Trust.TRUST
    assert 0 <= confidence(len(held), sum(held)) <= 1


@pytest.mark.promise("accuracy.drift", "accuracy.replayed")
async def test_a_task_is_warned_and_its_replay_is_told_the_same() -> None:
    stage = Stage(_TASK)
    known = {ThresholdKind.POLICY_LIMIT: _known(*[False] * 5)}
    stage.learned.accuracy["acme", "expense_approval"] = known
    stage.talk.process = "expense_approval"
    await stage.run()
    asked = str(stage.model.requests[1].messages)
    assert "0 of the last 5" in asked
    assert '"limit"' not in asked.partition('"known":')[2]
    done = await replayed(stage)
    assert (done.at, done.difference) == ("", "")
