"""Which entities a task is told of."""

from datetime import timedelta

import pytest

from shared.contracts.knowledge import KnownEntity
from shared.contracts.relevance import ENTITY_LIFETIME, select_entities_to_show
from tests.doubles.redis_tasks import NOON


def _entity(value: str, seen: int, *names: str, age: timedelta = timedelta(0)) -> KnownEntity:
    return KnownEntity(kind="vendor", value=value, seen=seen, last_seen=NOON - age, names=names)


@pytest.mark.promise("entities.shown")
def test_a_task_is_told_of_what_it_names_in_any_writing_if_it_was_seen_twice() -> None:
    known = [_entity("Initech Ltd", 2, "Initech"), _entity("Globex", 1), _entity("Initecher", 2)]
    assert [one.value for one in select_entities_to_show(known, "pay INITECH now, and Globex", NOON)] == ["Initech Ltd"]


@pytest.mark.promise("entities.shown")
def test_it_is_told_of_six_that_it_names_and_of_the_three_most_frequent_others() -> None:
    named = [_entity(f"Named{letter}", 2) for letter in "abcdefgh"]
    others = [_entity(f"Other{number}", number) for number in range(2, 8)]
    text = " ".join(one.value for one in named)
    found = [one.value for one in select_entities_to_show([*others, *named], text, NOON)]
    assert found == [*(f"Named{letter}" for letter in "abcdef"), "Other7", "Other6", "Other5"]


@pytest.mark.promise("entities.expire")
def test_what_was_last_named_too_long_ago_is_not_told() -> None:
    known = [_entity("Old", 5, age=ENTITY_LIFETIME + timedelta(seconds=1)), _entity("New", 5, age=ENTITY_LIFETIME)]
    assert [one.value for one in select_entities_to_show(known, "Old and New", NOON)] == ["New"]
