"""Who decides, as sentences name them."""

import pytest

from shared.domain.words import Level, decider


@pytest.mark.parametrize(
    ("level", "said"),
    [(None, "an approver"), ("manager", "a manager"), ("finance", "finance"), ("CFO", "the CFO")],
)
def test_a_level_is_named_as_people_name_it(level: str | None, said: str) -> None:
    assert decider(level) == said


def test_every_level_has_its_words() -> None:
    assert not [level.word for level in Level if level is not Level.MANAGER and decider(level.word).startswith("a ")]
