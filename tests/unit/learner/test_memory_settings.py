"""Facts need a model: without one the learner says so, and does not start."""

import pytest

from services.learner.__main__ import main
from tests.refusals import refusal_of

NOWHERE = {"REDIS_URL": "unix:///nowhere.sock", "LEARN_KNOWLEDGE": "on"}


@pytest.mark.promise("knowledge.refused")
def test_facts_without_a_model_are_refused_in_a_sentence() -> None:
    ended = refusal_of(main, NOWHERE)
    assert ended.code == 2
    assert "LEARN_KNOWLEDGE is on" in ended.said
    assert "ANTHROPIC_API_KEY is not set" in ended.said
    assert "LEARN_KNOWLEDGE=off" in ended.said
    assert ended.said.count("\n") == 1


@pytest.mark.promise("knowledge.refused")
def test_another_word_than_on_and_off_is_refused() -> None:
    ended = refusal_of(main, {**NOWHERE, "LEARN_KNOWLEDGE": "maybe"})
    assert (ended.code, "LEARN_KNOWLEDGE" in ended.said) == (2, True)
