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


def test_a_field_without_a_value_is_empty() -> None:
    told = "This account is on file: id is AC-1; balance is 49858; remarks is ."
    assert read_told_record(told) == {"told": "This account is on file", "id": "AC-1", "balance": 49858, "remarks": ""}
    assert read_told_record("id is 17; note is; total:") == {"id": 17, "note": "", "total": ""}


def test_sentences_after_the_last_value_are_not_part_of_it() -> None:
    told = "On file: status is duplicate; note is Call first.; original is INV-7. One of its entries: line L1, price 5."
    assert read_told_record(told) == {
        "told": "On file. One of its entries: line L1, price 5",
        "status": "duplicate",
        "note": "Call first.",
        "original": "INV-7",
    }
    told = "id is 17; note is Please call. Nobody answers at noon."
    assert read_told_record(told) == {"id": 17, "note": "Please call. Nobody answers at noon"}
