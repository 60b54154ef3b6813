"""Which words of a task are somebody's name."""

import pytest

from services.planner.core.selection import names_in


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("Which kites are torn? Answer with a JSON list of their ids.", []),
        ("Write the totals of Ann Lee as CSV.", ["Ann Lee"]),
    ],
)
def test_the_form_of_an_answer_is_nobodys_name(task: str, names: list[str]) -> None:
    assert names_in(task) == names
