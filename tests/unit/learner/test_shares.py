"""How learners divide the partitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from services.learner.core.learner import partitions_of_learner
from services.learner.ports.outcomes import Roster
from shared.domain.partition import PARTITIONS


def test_a_learner_alone_takes_everything() -> None:
    assert partitions_of_learner(Roster("a", ["a"])) == frozenset(range(PARTITIONS))


def test_one_that_nobody_has_seen_yet_counts_itself() -> None:
    assert len(partitions_of_learner(Roster("b", ["a"]))) == PARTITIONS // 2


@pytest.mark.promise("learner.shared_work")
@given(learners=some.integers(1, 70))
def test_every_partition_is_one_learners_and_nobody_has_too_many(learners: int) -> None:
    names = [f"l{number}" for number in range(learners)]
    shares = [partitions_of_learner(Roster(name, names[number:] + names[:number])) for number, name in enumerate(names)]
    assert sum(map(len, shares)) == len(frozenset().union(*shares)) == PARTITIONS
    assert max(map(len, shares)) <= -(-PARTITIONS // learners)
