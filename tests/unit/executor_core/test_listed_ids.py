"""What a part lists and no call names, where the calls name what belongs to the listed records."""

import pytest

from services.executor.core.plan.listed_ids import find_listed_ids_without_call
from services.executor.core.session.values import Fact, PartOfTask
from services.executor.core.tools.record_tree import NO_RECORD_KEYS
from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row
from tests.unit.executor_core.makers import call, fact

pytestmark = pytest.mark.promise("coverage.listed_ids")

_ALL = "Void the tickets of trips T-1, T-2 and T-3"


def _tickets(trip: str, *numbers: int, field: str | None = "trip_no") -> Fact:
    rows: list[Json] = [{"ticket_id": number, "gate": 2} | ({field: trip} if field else {}) for number in numbers]
    return fact({"tickets": rows}, f"f{trip}", "list_tickets", asked={"trip_no": trip})


def _unnamed(quote: str, calls: list[JsonObject], *facts: Fact) -> tuple[str, ...]:
    made = [call(given, f"c{place}", tool="void_ticket", part=1) for place, given in enumerate(calls)]
    return find_listed_ids_without_call(PartOfTask(number=1, quote=quote, kind="do"), made, facts, NO_RECORD_KEYS)


def _tickets_called(*numbers: int) -> list[JsonObject]:
    return [{"ticket_id": number} for number in numbers]


_TRIPS = (("T-1", 71), ("T-2", 72), ("T-3", 73))
_EACH = (_tickets("T-1", 71), _tickets("T-2", 72), _tickets("T-3", 73))


@each_row(
    ("called", "facts", "unnamed"),
    ((71, 72), _EACH, ("T-3",)),
    ((71, 72, 73), _EACH, ()),
    ((71, 72), [_tickets(trip, number, field=None) for trip, number in _TRIPS], ("T-3",)),
    ((71, 72), _EACH[:2], ("T-3",)),  # its tickets were not read
    ((71, 72), [*_EACH[:2], _tickets("T-3")], ()),  # it has none
    ((71, 72), [*_EACH, _tickets("T-1"), _tickets("T-2")], ("T-3",)),  # read again, once these were void
    ((74,), [*_EACH, _tickets("T-9", 74)], ()),  # of none that the part lists
    ((71, 72), [fact([{"ticket_id": 71, "trip_no": "T-1"}, {"ticket_id": 72, "trip_no": "T-2"}], tool="list_tickets")],
     ()),  # of all tickets none is of the third
    ((71, 72), [fact({"id": trip, "tickets": [{"ticket_id": number}]}, trip, "get_trip", asked={"id": trip})
                for trip, number in _TRIPS], ("T-3",)),
)  # fmt: skip
def test_a_listed_record_counts_as_named_by_a_call_for_what_belongs_to_it(
    called: tuple[int, ...], facts: list[Fact], unnamed: tuple[str, ...]
) -> None:
    assert _unnamed(_ALL, _tickets_called(*called), *facts) == unnamed


@each_row(
    "quote",
    "Void the tickets of T-1 or T-2", "Void the ticket of trip T-1, not that of T-2",
    "Void the older ticket of T-1 and T-2",
)  # fmt: skip
def test_a_part_that_chooses_is_not_meant_for_each(quote: str) -> None:
    assert _unnamed(quote, _tickets_called(71), *_EACH) == ()


def test_a_call_for_a_listed_record_itself_is_none_for_another_to_which_it_refers() -> None:
    trip = fact({"id": "T-1", "return_trip_id": "T-2"}, "r1", "get_trip", asked={"id": "T-1"})
    other = fact({"id": "T-2", "return_trip_id": None}, "r2", "get_trip", asked={"id": "T-2"})
    assert _unnamed("Void trips T-1 and T-2", [{"id": "T-1"}], trip, other) == ("T-2",)


def test_a_record_that_refers_to_the_called_one_is_reached_as_well() -> None:
    trips = [fact({"id": trip, "driver_id": "D-5"}, trip, "get_trip", asked={"id": trip}) for trip in ("T-1", "T-2")]
    driver = fact({"id": "D-5", "last_trip_id": "T-1"}, "d", "get_driver", asked={"id": "D-5"})
    assert _unnamed("Tell the driver about trips T-1 and T-2", [{"driver_id": "D-5"}], *trips, driver) == ()


@each_row(
    ("quote", "given", "unnamed"),
    ("Order 6 batteries for the HeartPro 3 and 2 flow sensors", {"item_id": "FLS", "quantity": 2}, ()),
    ("Book 4 nights for bookings 7 and 8", {"booking": 7, "nights": 4}, ("8",)),
)
def test_a_count_of_a_call_names_no_listed_number(quote: str, given: JsonObject, unnamed: tuple[str, ...]) -> None:
    assert _unnamed(quote, [given]) == unnamed


def test_the_numbers_of_a_day_and_an_hour_are_no_list() -> None:
    given: JsonObject = {"ticket_id": 71, "day": "21.03.2026", "hour": "14:45"}
    assert _unnamed("Move ticket 71 to March 21, 2026, 14:45", [given]) == ()
    assert _unnamed("Move tickets 71, 72, 73 to March 21", [given]) == ("72", "73")
