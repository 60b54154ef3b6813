"""A learner that lacks something does not start; how learners divide the partitions."""

import pytest
from hypothesis import given, strategies as some

from services.learner.__main__ import main
from services.learner.ports.outcomes import LivingLearners
from services.learner.workers.learner import compute_partitions_of_learner
from shared.domain.partition import PARTITIONS
from tests.refusals import Refusal, refusal_of

NOWHERE = {"REDIS_URL": "unix:///nowhere.sock"}


def _refuses_with(ended: Refusal, sentence: str) -> None:
    assert ended.code == 2
    assert ended.said.startswith(sentence)
    assert ended.said.count("\n") == 1


@pytest.mark.promise("learner.refuses_to_start")
@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        pytest.param({}, "REDIS_URL is not set", id="nothing"),
        pytest.param({"REDIS_URL": ""}, "REDIS_URL cannot be used", id="an empty URL"),
        pytest.param({**NOWHERE, "PORT": "many"}, "PORT cannot be used", id="a port"),
        pytest.param({**NOWHERE, "LEASE_SECONDS": "0"}, "LEASE_SECONDS cannot be used", id="a lease"),
    ],
)
def test_it_names_what_it_lacks_and_exits_with_2(environment: dict[str, str], sentence: str) -> None:
    _refuses_with(refusal_of(main, environment), sentence)


NOWHERE_of_memory_settings = {"REDIS_URL": "unix:///nowhere.sock", "LEARN_KNOWLEDGE": "on"}


@pytest.mark.promise("knowledge.refused")
def test_facts_without_a_model_are_refused_in_a_sentence() -> None:
    ended = refusal_of(main, NOWHERE_of_memory_settings)
    assert ended.code == 2
    assert "LEARN_KNOWLEDGE is on" in ended.said
    assert "ANTHROPIC_API_KEY is not set" in ended.said
    assert "LEARN_KNOWLEDGE=off" in ended.said
    assert ended.said.count("\n") == 1
    ended = refusal_of(main, {**NOWHERE_of_memory_settings, "LEARN_KNOWLEDGE": "maybe"})
    assert (ended.code, "LEARN_KNOWLEDGE" in ended.said) == (2, True)


def test_one_that_nobody_has_seen_yet_counts_itself() -> None:
    assert len(compute_partitions_of_learner(LivingLearners("b", ["a"]))) == PARTITIONS // 2


@pytest.mark.promise("learner.shared_work")
@given(learners=some.integers(1, 70))
def test_every_partition_is_one_learners_and_nobody_has_too_many(learners: int) -> None:
    names = [f"l{number}" for number in range(learners)]
    shares = [
        compute_partitions_of_learner(LivingLearners(name, names[number:] + names[:number]))
        for number, name in enumerate(names)
    ]
    assert sum(map(len, shares)) == len(frozenset().union(*shares)) == PARTITIONS
    assert max(map(len, shares)) <= -(-PARTITIONS // learners)
