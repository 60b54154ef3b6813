"""Finding mail."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings, strategies as st

from services.simulator.core.modalities.email import EmailModality
from services.simulator.core.modality import EventMoment
from services.simulator.core.records import JsonObject
from tests.doubles.simulated_surroundings import WALL
from tests.each_row import each_row
from tests.simulator.modalities.asking import USER, refused, rows
from tests.simulator.stage import Stage

pytestmark = pytest.mark.promise("simulator.email")
_MINUTE = timedelta(minutes=1)


def mailbox(count: int) -> EmailModality:
    """Mails ``m0``, ``m1`` ... a minute apart, no two alike."""
    box = EmailModality(WALL)
    for number in range(count):
        act(box, number, _mail(number))
        if number % 3 == 0:
            act(box, number, {"operation": "mark_read", "message_ids": [f"m{number}"]})
        if number % 4 == 0:
            act(box, number, {"operation": "star", "message_ids": [f"m{number}"]})
        if number % 5 == 0:
            act(box, number, {"operation": "add_label", "message_ids": [f"m{number}"], "labels": ["a", f"b{number}"]})
        if number % 7 == 0:
            act(box, number, {"operation": "move", "message_ids": [f"m{number}"], "folder": "Later"})
    return box


def _mail(number: int) -> JsonObject:
    return {
        "operation": "receive",
        "message_id": f"m{number}",
        "thread_id": f"t{number % 3}",
        "from_address": f"Ann{number}@example.org",
        "to_addresses": [USER],
        "cc_addresses": [f"cc{number % 2}@example.org"],
        "subject": f"Subject {'odd' if number % 2 else 'even'}",
        "body_text": f"Body {number}",
        "priority": ("low", "normal", "high")[number % 3],
        "attachments": [{"filename": "a", "size": 1}] if number % 6 == 0 else [],
        "sent_at": (WALL + number * _MINUTE - timedelta(hours=1)).isoformat(),
    }


def act(box: EmailModality, minute: int, data: JsonObject) -> None:
    box.apply(box.normalise(data), EventMoment(str(UUID(int=minute)), WALL + minute * _MINUTE, None))


def found(box: EmailModality, **asked: object) -> list[str]:
    answer = box.query({**_plain(asked)}, WALL)
    return [str(mail["message_id"]) for mail in rows(answer, "emails")]


def _plain(asked: Mapping[str, object]) -> JsonObject:
    return {name: value for name, value in asked.items() if isinstance(value, str | int | bool | list)}


def minute(number: int) -> str:
    return (WALL + number * _MINUTE).isoformat()


BOX = mailbox(12)


@each_row(
    ("asked", "numbers"),
    ({"folder": "Later"}, [7, 0]),
    ({"folder": "inbox", "is_read": False, "offset": 1, "limit": 2}, [10, 8]),
    ({"is_starred": True}, [8, 4, 0]),
    ({"from_address": "aNN1"}, [11, 10, 1]),
    ({"to_address": "CC1@", "is_read": True}, [9, 3]),
    ({"subject_contains": "ODD", "limit": 1}, [11]),
    ({"body_contains": "body 1", "sort_order": "asc"}, [1, 10, 11]),
    ({"has_attachments": False, "thread_id": "t0"}, [9, 3]),
    ({"labels": ["a", "b5"]}, [5]),
    ({"labels": ["nothing"]}, []),
    ({"priority": "high", "offset": 1}, [8, 5, 2]),
    ({"received_after": minute(3), "received_before": minute(4)}, [4, 3]),
    ({"sent_after": minute(10 - 60), "sent_before": minute(10 - 60)}, [10]),
    ({"limit": 3, "offset": 2, "sort_order": "asc"}, [2, 3, 4]),
    ({"offset": 50}, []),
    ({"sort_by": "priority", "limit": 4}, [11, 8, 5, 2]),
    ({"sort_by": "subject", "sort_order": "asc", "limit": 2}, [0, 2]),
    ({"sort_by": "sent_at", "limit": 2}, [11, 10]),
)
def test_each_filter_finds_what_it_says(asked: JsonObject, numbers: list[int]) -> None:
    assert found(BOX, **asked) == [f"m{number}" for number in numbers]


def test_pages_tell_how_much_there_is_on_all_of_them() -> None:
    answer = BOX.query({"is_read": False, "limit": 3, "offset": 6, "subject_contains": None}, WALL)

    assert (answer["total_count"], answer["returned_count"]) == (8, 2)
    assert answer["query"] == {
        "is_read": False,
        "limit": 3,
        "offset": 6,
        "sort_by": "received_at",
        "sort_order": "desc",
    }


_FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "folder": st.sampled_from(["inbox", "Later", "none"]),
        "is_read": st.booleans(),
        "is_starred": st.booleans(),
        "has_attachments": st.booleans(),
        "thread_id": st.sampled_from(["t0", "t1", "none"]),
        "priority": st.sampled_from(["low", "high"]),
        "received_after": st.integers(-1, 12).map(minute),
        "received_before": st.integers(-1, 12).map(minute),
    },
)


@given(_FILTERS)
@settings(max_examples=25)
def test_several_filters_find_what_each_of_them_finds(asked: JsonObject) -> None:
    """Whichever index is used."""
    each = [set(found(BOX, **{name: value})) for name, value in asked.items()]

    assert set(found(BOX, **asked)) == set(found(BOX)).intersection(*each)


def test_mail_of_one_moment_keeps_the_order_in_which_it_came() -> None:
    box = EmailModality(WALL)
    for number in range(5):
        box.apply(box.normalise(_mail(number)), EventMoment(str(UUID(int=9 - number)), WALL, None))

    assert found(box, sort_order="asc") == ["m0", "m1", "m2", "m3", "m4"]
    assert found(box) == ["m4", "m3", "m2", "m1", "m0"]


@pytest.mark.promise("simulator.refusals")
@pytest.mark.parametrize(
    ("field", "value"),
    [("limit", 0), ("limit", 1001), ("offset", -1), ("sort_by", "colour"), ("sort_order", "up"), ("is_read", "maybe")],
)
async def test_a_query_of_the_wrong_shape_is_refused(stage: Stage, field: str, value: object) -> None:
    await refused(stage, "/email/query", field, **{field: value})
