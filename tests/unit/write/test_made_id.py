"""The id of what a call made is found in whatever form the server answers it; nothing is guessed."""

import pytest

from services.executor.core.records.references import find_made_id, resolve
from services.executor.core.tools.record_tree import NoSuchPath
from shared.domain.exact_json import Json
from tests.each_row import each_row

pytestmark = pytest.mark.promise("I4.partners")


@each_row(
    ("answer", "expected"),
    [
        ({"booking": {"id": 77}}, 77),
        ({"booking_id": "seaside", "room_id": 3}, "seaside"),
        ({"data": {"bookingId": 77, "room": {"id": 3}}}, 77),
        ({"bookings": [{"id": 77}]}, 77),
        ({"id": "B-7", "room": {"id": 3}}, "B-7"),
        ({"result": {"record": {"id": 77}}}, 77),
        ({"booking": 77}, 77),
        ({"booking_reference": "X9"}, "X9"),
        ([{"id": 77}], 77),
        ("B-7", "B-7"),
        (77, 77),
        ({"booking": "created"}, None),
        ({"room": {"id": 3}}, None),
        ({"room_id": 3, "ok": True}, None),
        ({"bookings": [{"id": 77}, {"id": 78}]}, None),
        ([{"id": 77}, {"id": 78}], None),
        ("created", None),
        ({"status": "ok"}, None),
        (None, None),
    ],
)
def test_the_id_of_what_was_made_is_found_in_the_answer(answer: Json, expected: Json) -> None:
    assert find_made_id(answer, "booking_id") == expected


def test_a_planned_reference_to_it_is_filled_from_the_answer() -> None:
    asked: dict[str, Json] = {"booking_id": {"$ref": "c1.<booking_id>"}}
    assert resolve(asked, {"c1": {"booking": {"id": 77}}}) == {"booking_id": 77}
    with pytest.raises(NoSuchPath):
        resolve(asked, {"c1": {"status": "ok"}})


@each_row(
    "answer",
    [{"data": {"fee_id": 905}}, {"result": {"fee": {"id": 905}}}, {"data": {"feeId": 905, "boat": {"id": 17}}}],
)
def test_a_bare_id_of_an_earlier_call_is_found_under_the_answers_wrapper(answer: Json) -> None:
    assert resolve({"fee_id": {"$ref": "c1.fee_id"}}, {"c1": answer}) == {"fee_id": 905}


@each_row(
    ("answer", "name"),
    [
        ({"data": {"fee_id": 905}, "earlier": {"fee_id": 904}}, "fee_id"),
        ({"data": {"fee_id": 905, "earlier": {"fee_id": 904}}}, "fee_id"),
        ({"data": {"id": 905}}, "boat_id"),  # whose id it is, nobody says
        ({"data": {"id": 905}}, "amount"),
        (905, "fee_id"),
    ],
)
def test_a_bare_name_that_an_answer_has_not_or_has_with_two_values_stays_an_error(answer: Json, name: str) -> None:
    with pytest.raises(NoSuchPath):
        resolve({"it": {"$ref": f"c1.{name}"}}, {"c1": answer})
