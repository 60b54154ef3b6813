"""What looking at a large mailbox costs: steps of the interpreter, which are the same on any machine."""

import sys
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from types import FrameType
from uuid import UUID

import pytest

from services.simulator.core.modalities.email import EmailModality
from services.simulator.core.modality import EventMoment
from services.simulator.core.records import JsonObject
from tests.doubles.simulated_surroundings import WALL
from tests.each_row import each_row
from tests.simulator.modalities.asking import USER

pytestmark = pytest.mark.promise("simulator.state_cost")
FEW, MANY = 300, 3_000


def _receive(number: int) -> JsonObject:
    addresses: JsonObject = {"from_address": f"ann{number % 50}@example.org", "to_addresses": [USER]}
    where: JsonObject = {"message_id": f"m{number}", "thread_id": f"t{number // 10}"}
    return {"operation": "receive", **where, **addresses, "subject": f"Subject {number}", "body_text": "words " * 40}


def _mailbox(mails: int) -> EmailModality:
    box = EmailModality(WALL)
    for number in range(mails):
        moment = EventMoment(str(UUID(int=number)), WALL + timedelta(seconds=number), None)
        box.apply(box.normalise(_receive(number)), moment)
    return box


@pytest.fixture(scope="module")
def boxes() -> tuple[EmailModality, EmailModality]:
    return _mailbox(FEW), _mailbox(MANY)


def steps(look: Callable[[], object]) -> int:
    """How many instructions a second look runs: what is kept ready is so by then."""
    count = 0

    def note(frame: FrameType, event: str, _: object) -> object:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return note

    look()
    before = sys.gettrace()
    sys.settrace(note)  # type: ignore[arg-type]  # a function that gives itself
    try:
        look()
    finally:
        sys.settrace(before)
    return count


def test_a_mailbox_that_has_not_changed_is_shown_cheaply(boxes: tuple[EmailModality, EmailModality]) -> None:
    """Also when time has moved on."""
    for box in boxes:
        box.state_json(WALL)
    few, many = [steps(partial(box.state_json, WALL + timedelta(days=1))) for box in boxes]

    assert len(boxes[1].state_json(WALL)) > MANY * 240
    assert many == few


@each_row(
    "asked",
    {"limit": 50},
    {"folder": "inbox", "is_read": False, "limit": 50, "offset": 100},
    {"is_read": False, "limit": 50, "sort_order": "asc"},
    {"thread_id": "t7"},
    {"is_starred": True},
    {"folder": "archive"},
    {"received_after": "the last ones", "sort_order": "asc"},
    {"labels": ["nothing"]},
)
def test_common_questions_do_not_look_at_every_mail(
    boxes: tuple[EmailModality, EmailModality], asked: JsonObject
) -> None:
    few, many = [
        steps(partial(box.query, _dated(asked, mails), WALL)) for box, mails in zip(boxes, (FEW, MANY), strict=True)
    ]

    assert many < few + FEW


def _dated(asked: JsonObject, mails: int) -> JsonObject:
    """With the time from which twenty mails are left, where that is asked for."""
    since = (WALL + timedelta(seconds=mails - 20)).isoformat()
    return {**asked, **({"received_after": since} if "received_after" in asked else {})}
