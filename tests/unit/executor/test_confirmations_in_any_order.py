"""Whatever people say, in whatever order, and whatever changes meanwhile: nothing is written before all have agreed."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.executor.core.states.machine import TEMPLATES
from shared.contracts.task import Turn
from shared.domain.words import Role, TaskState
from tests.unit.executor.begun_as import begun_as
from tests.unit.executor.stage import APPROVE, CLERK, Stage, deadline, decision, message

_NEEDED = len(TEMPLATES["subscription_migration"].confirmations)
_OWN = CLERK.model_copy(update={"roles": (Role.APPROVER,), "levels": ("manager",)})
_WORDS = ("yes", "yes", "yes", "yes", "change", "words", "own", "early", "no")


def _turn(word: str, number: int) -> Turn:
    name = f"turn-{number}"
    match word:
        case "yes" | "no":
            return decision("approve" if word == "yes" else "reject", turn_id=name)
        case "own":
            return decision("approve", _OWN, name)
        case "early":
            return deadline(name)
    return message("any news?", name)


class _Expected:
    """What the gate has to know: how many confirmations of the present plan are given, and whether a no came."""

    def __init__(self) -> None:
        self.given, self.changed, self.refused = 0, False, False

    def hear(self, word: str) -> None:
        if word == "yes":
            self.given = 0 if self.changed else self.given + 1
            self.changed = False
        self.changed = self.changed or word == "change"
        self.refused = self.refused or word == "no"

    @property
    def state(self) -> TaskState:
        if self.refused:
            return TaskState.REJECTED
        return TaskState.COMPLETED if self.agreed else TaskState.INPUT_REQUIRED

    @property
    def agreed(self) -> bool:
        return self.given == _NEEDED


async def _heard(words: Sequence[str]) -> tuple[Stage, _Expected]:
    stage, expected = await begun_as(TEMPLATES["subscription_migration"], APPROVE), _Expected()
    await stage.run()
    for number, word in enumerate(words, 2):
        if expected.agreed or expected.refused:
            break
        expected.hear(word)
        if word == "change":
            stage.claims.rows["C-1"]["amount"] = f"{number}00.00"
        else:
            await stage.run(_turn(word, number))
        assert (stage.turns.record.state, len(stage.claims.applied)) == (expected.state, int(expected.agreed))
    return stage, expected


@pytest.mark.promise("gate.confirmations")
@settings(max_examples=15)
@given(st.lists(st.sampled_from(_WORDS), min_size=3, max_size=14))
def test_nothing_is_written_before_all_confirmations_of_one_plan_are_given(words: list[str]) -> None:
    stage, expected = asyncio.run(_heard(words))
    confirmed = stage.turns.record.metadata["confirmations"]
    assert isinstance(confirmed, list)
    if not expected.refused:
        assert len(confirmed) == expected.given
