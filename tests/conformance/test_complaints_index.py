"""No complaint is forgotten: each has a test that is there, or says why it does not arise."""

from pathlib import Path

import pytest

from tests.conformance.complaints import COMPLAINTS

_TESTS = Path(__file__).parents[1]


@pytest.mark.promise("gateway.complaints")
@pytest.mark.parametrize("name", COMPLAINTS)
def test_every_complaint_has_its_tests_or_does_not_arise(name: str) -> None:
    complaint = COMPLAINTS[name]
    assert bool(complaint.tests) is not bool(complaint.instead)
    for test in complaint.tests:
        file, _, function = test.partition("::")
        assert f"def {function}(" in (_TESTS / file).read_text("utf-8"), test


def test_the_list_is_whole() -> None:
    numbered = [f"sdk.{number}" for number in range(1, 18)] + [f"field.{number}" for number in range(1, 19)]
    assert list(COMPLAINTS) == numbered
