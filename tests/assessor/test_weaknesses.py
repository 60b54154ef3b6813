"""No known weakness is forgotten: each has a test that is there, or says why it does not arise."""

from pathlib import Path

import pytest

from tests.assessor.weaknesses import WEAKNESSES

_TESTS = Path(__file__).parents[1]


@pytest.mark.promise("assessor.beyond_published")
@pytest.mark.parametrize("name", WEAKNESSES)
def test_every_weakness_has_its_tests_or_does_not_arise(name: str) -> None:
    weakness = WEAKNESSES[name]
    assert bool(weakness.tests) is not bool(weakness.instead)
    for test in weakness.tests:
        file, _, function = test.partition("::")
        assert f"def {function}(" in (_TESTS / file).read_text("utf-8"), test


def test_the_list_is_whole() -> None:
    lengths = {"run": 8, "assessor": 18, "simulator": 28}
    assert list(WEAKNESSES) == [f"{kind}.{number + 1}" for kind, most in lengths.items() for number in range(most)]
