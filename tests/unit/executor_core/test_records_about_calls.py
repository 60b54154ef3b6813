"""What rules see of a call: fields of the records it is about, and never those of another one."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.dossier import Fact
from services.executor.core.execute.records import fields_about, records_in
from shared.domain.exact_json import Json
from tests.unit.executor_core.makers import fact

CALL: dict[str, Json] = {"claim_id": "C-1"}
MINE: Json = {"id": "C-1", "employee_id": "E-1", "amount": Decimal("50.00")}


def about(*facts: Fact) -> dict[str, Json]:
    return fields_about(dict(CALL), facts)


def test_the_named_record_comes_first_then_what_it_names_then_the_rest() -> None:
    seen = about(
        fact({"id": "E-1", "grade": 3, "amount": 1}, "f1", "get_employee"),
        fact(MINE, "f2"),
        fact({"limit": 500, "amount": 2}, "f3", "get_limits"),
    )
    assert (seen["amount"], seen["grade"], seen["limit"], seen["id"]) == (Decimal("50.00"), 3, 500, "C-1")


@pytest.mark.promise("policy.calls")
@pytest.mark.parametrize(
    "other",
    [
        [fact([MINE, {"id": "C-2", "flagged": True}], "f1", "list_claims")],
        [fact([MINE, {"id": "C-2", "employee_id": "E-1", "flagged": True}], "f1", "list_claims")],
        [fact(MINE), fact({"id": "C-2", "flagged": True}, "f2")],
        [fact(MINE), fact({"claim_id": "C-2", "flagged": True}, "f2", "get_receipt")],
        [fact({"claim_id": "C-2", "flagged": True}, "f1", "get_receipt")],
        [fact({"flagged": True}, ok=False)],
    ],
)
def test_a_field_of_another_record_of_the_kind_stays_unknown(other: list[Fact]) -> None:
    """An unknown field escalates; a wrong one would let the wrong thing through."""
    assert "flagged" not in about(*other)


@pytest.mark.promise("policy.calls")
def test_where_near_records_disagree_a_farther_one_does_not_decide() -> None:
    seen = about(
        fact({"id": "C-1", "amount": 50}, "f1", "get_claim"),
        fact({"id": "C-1", "amount": 60}, "f2", "list_claims"),
        fact({"amount": 70, "limit": 9}, "f3", "get_limits"),
    )
    assert "amount" not in seen
    assert seen["limit"] == 9


def test_a_record_that_refers_to_the_named_one_is_near() -> None:
    seen = about(
        fact(MINE),
        fact(
            [{"id": "R-1", "claim_id": "C-1", "scan": "ok"}, {"id": "R-2", "claim_id": "C-2", "scan": "bad"}],
            "f2",
            "find",
        ),
    )
    assert seen["scan"] == "ok"


def test_a_plain_id_does_not_hide_records_of_other_kinds() -> None:
    seen = fields_about({"id": "C-1"}, [fact(MINE), fact({"id": "B-1", "remaining": 900}, "f2", "get_budget")])
    assert seen["remaining"] == 900


@pytest.mark.promise("policy.calls")
@given(
    amounts=st.dictionaries(st.sampled_from([f"C-{n}" for n in range(9)]), st.integers(0, 99), min_size=1),
    data=st.data(),
)
def test_from_any_list_exactly_the_named_record_is_seen(amounts: dict[str, int], data: st.DataObject) -> None:
    listed = fact([{"id": id_, "amount": amount, f"only_{amount}": True} for id_, amount in amounts.items()])
    wanted = data.draw(st.sampled_from(sorted(amounts)))

    seen = fields_about({"claim_id": wanted}, [listed])
    assert seen == {"id": wanted, "amount": amounts[wanted], f"only_{amounts[wanted]}": True}


def test_records_are_found_outermost_first() -> None:
    nested: Json = {"page": 1, "items": [{"id": 1, "sub": {"x": 2}}], "meta": {"inner": {"y": 3}}}
    assert [set(record) & {"page", "id", "x", "y"} for record in records_in(nested)] == [{"page"}, {"id"}, {"x"}, {"y"}]
