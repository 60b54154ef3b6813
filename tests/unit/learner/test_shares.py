"""How learners divide the partitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from services.learner.core.shares import fair_change
from services.learner.ports.outcomes import Roster
from shared.domain.partition import PARTITIONS

NOBODY: dict[int, str | None] = dict.fromkeys(range(PARTITIONS))


def _look(me: str, readers: dict[int, str | None], learners: int) -> None:
    """One learner looks once and does what it should."""
    change = fair_change(Roster(me, learners, readers))
    for partition in change.give:
        readers[partition] = None
    for partition in change.hold:
        readers[partition] = me


def test_a_learner_alone_takes_everything() -> None:
    assert fair_change(Roster("a", 1, NOBODY)).hold == frozenset(range(PARTITIONS))


def test_one_that_comes_later_gets_its_half() -> None:
    readers = {**NOBODY, **dict.fromkeys(range(PARTITIONS), "a")}
    _look("a", readers, 2)
    _look("b", readers, 2)
    assert sorted(map(str, readers.values())) == ["a"] * 32 + ["b"] * 32


@pytest.mark.promise("learner.shared_work")
@given(learners=some.integers(1, 70), first=some.integers(0, 69))
def test_after_two_looks_each_every_partition_has_one_reader_and_nobody_too_many(learners: int, first: int) -> None:
    names = [f"l{number}" for number in range(learners)]
    readers: dict[int, str | None] = dict.fromkeys(range(PARTITIONS), names[first % learners])
    for _ in range(2):
        for name in names:
            _look(name, readers, learners)
    held = [list(readers.values()).count(name) for name in names]
    assert sum(held) == PARTITIONS
    assert max(held) <= -(-PARTITIONS // learners)


def test_what_another_reads_is_not_taken() -> None:
    readers = {**NOBODY, **dict.fromkeys(range(40), "dead, as far as anybody knows")}
    assert fair_change(Roster("a", 1, readers)).hold == frozenset(range(40, PARTITIONS))
