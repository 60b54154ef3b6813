"""A server that answers in sentences tells a record all the same."""

from decimal import Decimal

import pytest

from services.executor.core.reads.one_call import read_told_record


def test_clauses_are_fields() -> None:
    told = "This claim is on file: claimId is 1185305; estimate is 4320.50; holder is Ana Lind; opened is 2026-03-01."
    assert read_told_record(told) == {
        "told": "This claim is on file",
        "claimId": 1185305,
        "estimate": Decimal("4320.50"),
        "holder": "Ana Lind",
        "opened": "2026-03-01",
    }


@pytest.mark.parametrize(
    "content",
    [
        "The claim is settled; nothing else happened.",
        "id is 17",
        "id is 17; id is 18",
        {"id": 17},
        ["id is 17; total is 5"],
        None,
    ],
)
def test_anything_else_stays_as_it_is(content: object) -> None:
    assert read_told_record(content) == content  # type: ignore[arg-type]


def test_leading_zeros_are_kept() -> None:
    assert read_told_record("id is 007; total is 5") == {"id": "007", "total": 5}
