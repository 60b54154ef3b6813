"""What looking at a large mailbox costs: time of the processor, the best of several looks."""

import time
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest

from services.simulator.core.modalities.email import EmailModality
from services.simulator.core.modality import EventMoment
from services.simulator.core.records import JsonObject
from tests.doubles.simulated_surroundings import WALL
from tests.simulator.modalities.asking import USER

pytestmark = pytest.mark.promise("simulator.state_cost")
MANY = 3_000
UNCHANGED = 0.005  # seconds: the public simulator takes 0.027
INDEXED = 0.002


def _receive(number: int) -> JsonObject:
    addresses: JsonObject = {"from_address": f"ann{number % 50}@example.org", "to_addresses": [USER]}
    where: JsonObject = {"message_id": f"m{number}", "thread_id": f"t{number % 300}"}
    return {"operation": "receive", **where, **addresses, "subject": f"Subject {number}", "body_text": "words " * 40}


@pytest.fixture(scope="module")
def full() -> EmailModality:
    box = EmailModality(WALL)
    for number in range(MANY):
        moment = EventMoment(str(UUID(int=number)), WALL + timedelta(seconds=number), None)
        box.apply(box.normalise(_receive(number)), moment)
    return box


def best(look: Callable[[int], object]) -> float:
    """Several looks, since others use the processor too."""
    spent = []
    for number in range(10):
        begun = time.process_time()
        look(number)
        spent.append(time.process_time() - begun)
    return min(spent)


def test_a_mailbox_that_has_not_changed_is_shown_cheaply(
    full: EmailModality, record_property: Callable[[str, object], None]
) -> None:
    """Also when time has moved on."""
    first = full.state_json(WALL)

    spent = best(lambda number: full.state_json(WALL + timedelta(days=1, seconds=number)))

    record_property("shown", f"email/state at {MANY} mails, unchanged: {spent * 1000:.2f} ms of CPU")
    assert len(first) > MANY * 240
    assert spent < UNCHANGED


@pytest.mark.parametrize(
    "asked",
    [
        {"limit": 50},
        {"folder": "inbox", "limit": 50},
        {"folder": "inbox", "is_read": False, "limit": 50, "offset": 1_000},
        {"is_read": False, "limit": 50, "sort_order": "asc"},
        {"thread_id": "t7"},
        {"is_starred": True},
        {"folder": "archive"},
        {"received_after": (WALL + timedelta(seconds=MANY - 20)).isoformat(), "sort_order": "asc"},
        {"labels": ["nothing"]},
    ],
)
def test_common_questions_do_not_look_at_every_mail(full: EmailModality, asked: JsonObject) -> None:
    assert best(lambda _: full.query(asked, WALL)) < INDEXED
