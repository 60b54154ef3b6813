"""What rules about earlier calls count: which calls there were, and how each went."""

import pytest

from services.executor.core.session.ledger import read_outcome
from shared.contracts.policy import CallOutcome
from shared.domain.exact_json import Json, JsonObject
from tests.unit.executor_core.makers import fact


@pytest.mark.parametrize(
    ("result", "marks", "outcome"),
    [
        ({"id": "C-1"}, {}, CallOutcome.SUCCEEDED),
        ([{"error": "of a row"}], {}, CallOutcome.SUCCEEDED),
        ({"error": ""}, {}, CallOutcome.SUCCEEDED),
        ({"error": "no such claim"}, {}, CallOutcome.UNKNOWN),
        ({"id": "C-1"}, {"by_machine": True}, CallOutcome.UNKNOWN),
        ({"id": "C-1"}, {"ok": False}, CallOutcome.FAILED),
        ({"error": "no such claim"}, {"ok": False, "by_machine": True}, CallOutcome.FAILED),
    ],
)
def test_a_read_succeeded_only_where_the_model_made_it_and_its_answer_speaks_of_no_error(
    result: Json, marks: JsonObject, outcome: CallOutcome
) -> None:
    assert read_outcome(fact(result).model_copy(update=marks)) is outcome
