"""A record and the events of a step are read as they were stored, by this revision and later ones."""

from datetime import UTC, datetime

import pytest

from shared.contracts.task import TaskEvent
from shared.infra.compression import DECODING_ERRORS
from shared.infra.stored_tasks import (
    pack_task_events,
    pack_task_record,
    parse_task_events,
    parse_task_record,
    unpack_task_events_json,
)
from tests.doubles.redis_tasks import a_record
from tests.each_row import each_row

_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_EVENTS = [TaskEvent(kind="note", at=_AT, data={"said": f"Müller {number}"}) for number in range(3)]
_ENTRY = pack_task_events(_EVENTS).decode(errors=DECODING_ERRORS)


@pytest.mark.promise("upgrade.opened")
def test_a_record_is_read_as_it_was_packed_also_one_of_an_older_revision() -> None:
    record = a_record("s1")
    assert parse_task_record(pack_task_record(record)) == record
    assert parse_task_record(pack_task_record(record).decode(errors=DECODING_ERRORS)) == record
    record = a_record("s1")
    assert parse_task_record(record.stored_json()) == record


@pytest.mark.promise("upgrade.opened")
def test_the_events_of_an_entry_have_the_ids_up_to_its_own_and_one_of_an_older_revision_is_read() -> None:
    assert [*parse_task_events("7-5", _ENTRY)] == [
        (f"7-{place}", event) for place, event in zip((3, 4, 5), _EVENTS, strict=True)
    ]
    (event, *_) = _EVENTS
    assert [*parse_task_events("7-0", event.stored_json())] == [("7-0", event)]
    assert unpack_task_events_json(event.stored_json()) == f"[{event.stored_json()}]"


@pytest.mark.promise("upgrade.opened")
def test_what_was_packed_before_is_read() -> None:
    """It was packed with the shapes as they were at first: to change such a file spoils every task."""
    packed = bytes.fromhex(
        "68bfe9bccbe08bc691c38dcc740d0c750d8c420c8cad0c4cac0c4c519c9a0836d3f7f09e9c1c609bca004fe5408a39865432c708e4310028d83e7c"
    )
    assert [*parse_task_events("7-2", packed.decode(errors=DECODING_ERRORS))] == [
        (f"7-{place}", event) for place, event in enumerate(_EVENTS)
    ]


@each_row("entry", ["", "spoilt"])
def test_an_entry_that_is_none_is_said(entry: str) -> None:
    with pytest.raises(ValueError, match=r"cannot be decompressed|its end is missing"):
        unpack_task_events_json(entry)
