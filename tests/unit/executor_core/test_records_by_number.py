"""Ids that are numbers tell records apart like any other ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.execute.records import fields_about
from shared.domain.exact_json import Json
from tests.unit.executor_core.makers import fact

_WAYS = st.sampled_from([int, str])
_IDS = st.integers(1, 9)


@pytest.mark.promise("policy.calls.number_ids")
@given(wanted=_IDS, ids=st.lists(_IDS, min_size=1, max_size=5, unique=True), asked=_WAYS, given_as=_WAYS)
def test_a_call_is_about_the_record_whose_number_it_names(
    wanted: int, ids: list[int], asked: type[int] | type[str], given_as: type[int] | type[str]
) -> None:
    """The call may have a text where the server has a number, or the other way round; another record is never meant."""
    rows: list[Json] = [{"id": given_as(one), "amount": one * 100} for one in ids]
    seen = fields_about({"claim_id": asked(wanted)}, [fact(rows, "f1", "list_claims")])
    assert seen.get("amount") == (wanted * 100 if wanted in ids or ids == [wanted] else _of_a_single_other(ids))


@pytest.mark.promise("policy.calls.number_ids")
def test_what_a_numbered_record_refers_to_is_known_too() -> None:
    claim: Json = {"id": 7, "employee_id": 12}
    staff: Json = [{"id": 12, "grade": "senior"}, {"id": 13, "grade": "junior"}]
    seen = fields_about({"claim_id": 7}, [fact(claim), fact(staff, "f2", "list_employees")])
    assert seen["grade"] == "senior"


@pytest.mark.promise("policy.calls.number_ids")
def test_a_record_with_another_number_under_the_same_id_is_about_something_else() -> None:
    receipt: Json = {"claim_id": 8, "flagged": True}
    assert "flagged" not in fields_about({"claim_id": 7}, [fact(receipt, "f1", "get_receipt")])


def _of_a_single_other(ids: list[int]) -> int | None:
    """A record that nothing denies is what is known of a call that names none: the same for texts."""
    return ids[0] * 100 if len(ids) == 1 else None
