"""Any sequence of actions on any modality, taken back step by step."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast
from uuid import UUID

import pytest
from hypothesis import given, strategies as st
from pydantic import JsonValue

from services.simulator.core.modalities.all import MODALITIES
from services.simulator.core.modality import AppliedAction, EventMoment, Modality
from services.simulator.core.records import JsonObject, TableChange
from services.simulator.core.refusals import ActionFailed, SimulatorRefusal
from tests.doubles.simulated_surroundings import WALL
from tests.examples import examples
from tests.simulator.modalities.asking import PHONE, USER

pytestmark = pytest.mark.promise("simulator.modality_undo")

_id = st.sampled_from(["a", "b", "c", "d"])
_ids = st.lists(_id, min_size=1, max_size=2)
_day = st.sampled_from(["2026-03-02", "2026-03-03", "2026-03-09"])
_address = st.sampled_from([USER, "ann@example.org", "bo@example.org"])
_number = st.sampled_from([PHONE, "+15551110001", "+15551110002"])


def _data(operation: str, **fields: st.SearchStrategy[object]) -> st.SearchStrategy[JsonObject]:
    """The data of an action; a field may be left out where its name ends in ``_``."""
    needed: dict[str, st.SearchStrategy[object]] = {n: field for n, field in fields.items() if not n.endswith("_")}
    free: dict[str, st.SearchStrategy[object]] = {n[:-1]: field for n, field in fields.items() if n.endswith("_")}
    drawn = st.fixed_dictionaries(needed, optional=free)
    return drawn.map(lambda data: cast(JsonObject, {"operation": operation, **data}))


_MAIL = {
    "message_id": _id,
    "from_address": _address,
    "to_addresses": st.lists(_address, min_size=1, max_size=2),
    "subject": st.just("S"),
    "body_text": st.just("B"),
    "in_reply_to_": _id,
    "bcc_addresses_": st.lists(_address, max_size=1),
}
_TEXT = {
    "message_id": _id,
    "from_number": _number,
    "to_numbers": st.lists(_number, min_size=1, max_size=2),
    "body": st.just("B"),
    "message_type": st.sampled_from(["sms", "rcs"]),
}
_RULE = st.sampled_from(
    [
        None,
        {"frequency": "daily", "end_type": "count", "count": 9},
        {"frequency": "weekly", "days_of_week": ["monday", "tuesday"]},
    ]
)
_SCOPE = st.sampled_from(["this", "this_and_future", "all"])
_EMAIL: JsonObject = {"identifier_type": "email", "value": "a@b.co"}
_MOBILE: JsonObject = {"identifier_type": "phone", "value": "5551234567"}
_PERSON = st.lists(st.sampled_from([_EMAIL, _MOBILE]), min_size=1)
_ACTIONS: Mapping[str, Sequence[st.SearchStrategy[JsonObject]]] = {
    "email": [
        _data("receive", **_MAIL),
        _data("send", **_MAIL),
        _data("save_draft", **_MAIL),
        _data("send_draft", message_id=_id),
        _data("reply_all", in_reply_to=_id, body_text=st.just("B")),
        *(_data(name, message_ids=_ids) for name in ("mark_read", "star", "delete", "mark_unread")),
        _data("add_label", message_ids=_ids, labels=_ids),
        _data("remove_label", message_ids=_ids, labels=_ids),
        _data("move", message_ids=_ids, folder=_id),
    ],
    "sms": [
        _data("receive_message", **_TEXT),
        _data("send_message", **_TEXT),
        _data("update_delivery_status", message_ids=_ids, new_status=st.sampled_from(["read", "delivered", "failed"])),
        _data("delete_message", message_ids=_ids),
        _data("edit_message", message_id=_id, new_body=st.just("C")),
        _data("add_reaction", message_id=_id, phone_number=_number, emoji=_id),
        _data("remove_reaction", message_id=_id, phone_number=_number),
        _data("create_group", thread_id=_id, creator_number=_number, participant_numbers=st.lists(_number, min_size=2)),
        _data("leave_group", thread_id=_id),
        _data("add_participant", thread_id=_id, phone_number=_number),
        _data("update_conversation", thread_id=_id, pin=st.booleans(), mark_all_read=st.booleans()),
    ],
    "chat": [
        _data("send_message", message_id=_id, role=st.just("user"), content=st.just("x"), conversation_id=_id),
        _data("delete_message", message_id=_id),
        _data("clear_conversation", conversation_id=_id),
    ],
    "calendar": [
        _data(
            "create",
            event_id=_id,
            title=st.just("T"),
            start=_day.map(lambda day: f"{day}T09:00:00Z"),
            end=st.just("2026-03-09T10:00:00Z"),
            recurrence=_RULE,
            calendar_id_=_id,
            attendees_=st.just([{"email": "ann@example.org"}]),
        ),
        _data("update", event_id=_id, title=st.just("U"), recurrence_id_=_day, recurrence_scope_=_SCOPE),
        _data("delete", event_id=_id, recurrence_id_=_day, recurrence_scope_=_SCOPE),
        _data("respond", event_id=_id, attendee_email=_address, response=st.just("accepted"), recurrence_id_=_day),
        _data("create_calendar", calendar_id=_id, name=_id),
        _data("delete_calendar", calendar_id=_id),
        _data("set_default_calendar", calendar_id=_id),
    ],
    "contacts": [
        _data("create", contact_id=_id, identifiers=_PERSON, first_name_=_id, groups_=_ids),
        _data("update", contact_id=_id, company=_id, groups_=_ids),
        _data("merge", contact_id=_id, merged_contact_ids=_ids),
        *(_data(name, contact_id=_id) for name in ("delete", "block", "favorite")),
        _data("add_to_group", contact_id=_id, group=_id),
    ],
    "location": [_data("update", latitude=st.integers(0, 9), longitude=st.integers(0, 9))],
    "weather": [_data("update", lat=st.integers(0, 2), lon=st.just(0), report=st.just({"current": {"temp": 280}}))],
}


def _mail(message_id: str) -> JsonObject:
    mail: JsonObject = {"from_address": "ann@example.org", "to_addresses": [USER], "subject": "S", "body_text": "B"}
    return {"operation": "receive", "message_id": message_id, **mail}


def _text(message_id: str) -> JsonObject:
    text: JsonObject = {"from_number": "+15551110001", "to_numbers": [PHONE], "body": "B"}
    return {"operation": "receive_message", "message_id": message_id, **text}


def _event(event_id: str) -> JsonObject:
    rule: JsonObject = {"frequency": "weekly", "days_of_week": ["monday", "tuesday"]}
    times: JsonObject = {"start": "2026-03-02T09:00:00Z", "end": "2026-03-02T10:00:00Z"}
    people: JsonObject = {"attendees": [{"email": "ann@example.org"}]}
    return {"operation": "create", "event_id": event_id, "title": "T", "recurrence": rule, **times, **people}


def _chat(message_id: str) -> JsonObject:
    fields: JsonObject = {"role": "user", "content": "x", "conversation_id": message_id}
    return {"operation": "send_message", "message_id": message_id, **fields}


def _contact(contact_id: str) -> JsonObject:
    return {"operation": "create", "contact_id": contact_id, "identifiers": [_EMAIL]}


# What there is before: of what is drawn, more then means something.
_THERE: Mapping[str, Callable[[str], JsonObject]] = {
    "email": _mail,
    "sms": _text,
    "chat": _chat,
    "calendar": _event,
    "contacts": _contact,
}


# Questions that different indexes answer.
_ASKED: Mapping[str, Sequence[JsonObject]] = {
    "email": ({}, {"folder": "inbox"}, {"is_read": False}, {"folder": "a", "is_read": False}, {"labels": ["a"]}),
    "sms": ({}, {"is_read": False}, {"from_number": "+15551110001"}),
    "chat": ({}, {"conversation_id": "a", "sort_order": "desc"}),
    "calendar": ({}, {"expand_recurring": True, "limit": 50}, {"start": "2026-03-02T09:30:00Z"}),
    "contacts": ({}, {"group": "a"}, {"is_favorite": True}),
    "weather": ({"lat": 1, "lon": 0}, {"lat": 1, "lon": 0, "from_time": "2026-03-01T00:00:00Z"}),
}


class Step(NamedTuple):
    applied: AppliedAction
    before: str


def _written(modality: Modality) -> str:
    """With the order of everything."""
    return json.dumps(modality.export())


def _do(modality: Modality, data: JsonObject, number: int) -> AppliedAction | None:
    """Nothing where it is refused or fails; then nothing has changed."""
    before = _written(modality)
    try:
        return modality.apply(modality.normalise(data), EventMoment(str(UUID(int=number)), WALL, None))
    except (ActionFailed, SimulatorRefusal):
        assert _written(modality) == before
        return None


def _steps(modality: Modality, actions: Sequence[JsonObject]) -> list[Step]:
    steps = []
    for number, data in enumerate(actions):
        before = _written(modality)
        if (applied := _do(modality, data, number)) is not None:
            steps.append(Step(applied, before))
    return steps


def _check_views(modality: Modality) -> None:
    """What is kept ready is what is so."""
    fresh = MODALITIES[modality.name](WALL)
    fresh.load(modality.export())
    assert _written(fresh) == _written(modality)
    assert json.loads(modality.state_json(WALL)) == modality.state(WALL) == fresh.state(WALL)
    assert modality.compact(WALL) == fresh.compact(WALL)
    for asked in _ASKED.get(modality.name, ({},)):
        assert modality.query(asked, WALL) == fresh.query(asked, WALL)


def _kept(modality: Modality, applied: AppliedAction) -> Sequence[TableChange]:
    """The changes as a saved world has them, back again."""
    written = cast(list[list[JsonValue]], json.loads(json.dumps(modality.store.changes_as_json(applied.changes))))
    changes = modality.store.changes_from_json(written)
    assert tuple(changes) == applied.changes
    return changes


def _check(name: str, actions: Sequence[JsonObject]) -> None:
    modality = MODALITIES[name](WALL)
    there = [_THERE[name](key) for key in ("a", "b")] if name in _THERE else []
    steps = _steps(modality, [*there, *actions])
    after = _written(modality)
    _check_views(modality)

    for step in reversed(steps):
        modality.take_back(_kept(modality, step.applied))
        assert _written(modality) == step.before
        _check_views(modality)
    for step in steps:
        modality.do_again(step.applied.changes)
    assert _written(modality) == after
    _check_views(modality)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", list(_ACTIONS))
def test_any_sequence_is_taken_back_exactly(name: str) -> None:
    @given(st.lists(st.one_of(*_ACTIONS[name]), min_size=4, max_size=10))
    @examples(12, 500)
    def sequence(actions: list[JsonObject]) -> None:
        _check(name, actions)

    sequence()


def test_no_modality_is_left_out() -> None:
    assert set(_ACTIONS) == set(MODALITIES)
