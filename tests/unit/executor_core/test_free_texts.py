"""When the words of a task refer to a text that somebody wrote."""

import pytest

from services.executor.core.plan.indirect_sources import user_refers_to_text
from tests.each_row import each_row


@pytest.mark.promise("conversation.free_text")
@each_row(
    ("text", "refers"),
    ("Pay it from the short ink note", True),
    ("Pay it from the short green ink note", False),
    ("The note of last week says it", True),
    ("The note of the last week says it", False),
)
def test_as_many_words_may_stand_before_a_text_as_behind_it(text: str, refers: bool) -> None:
    assert user_refers_to_text([text], "note", "get_claim") is refers
