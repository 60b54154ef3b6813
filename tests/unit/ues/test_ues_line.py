"""The client of a simulator: what failures become, and what is asked again."""

from collections.abc import Callable

import httpx
import pytest

from services.assessor.adapters.proctor_client import ProctorClient
from shared.infra.ues.connection import (
    APIError,
    ConflictError,
    NotFoundError,
    ProtocolError,
    ServerError,
    UESConnectionError,
    UESTimeoutError,
    ValidationError,
)
from tests.each_row import each_row

DONE = {"event_id": "e", "scheduled_time": "2026-03-02T09:00:00Z", "status": "executed", "modality": "chat"}
NOW = {"current_time": "2026-03-02T09:00:00Z"}
pytestmark = pytest.mark.promise("assessor.ues_client")


def client(answer: Callable[[httpx.Request], httpx.Response], retries: int = 0) -> ProctorClient:
    transport = httpx.MockTransport(answer)
    return ProctorClient("http://ues", transport=transport, api_key="k" * 64, retry_enabled=True, max_retries=retries)


@each_row(
    ("status", "kind"),
    [(422, ValidationError), (404, NotFoundError), (409, ConflictError), (500, ServerError), (403, APIError)],
)
async def test_each_refusal_has_its_type(status: int, kind: type[APIError]) -> None:
    async with client(lambda _: httpx.Response(status, json={"detail": "said so"})) as ues:
        with pytest.raises(kind, match="said so") as refused:
            await ues.time.advance(1)

    assert (type(refused.value), refused.value.status_code) == (kind, status)


@each_row(
    ("body", "said"),
    ({"detail": "a"}, "a"),
    ({"detail": {"message": "held", "active_holds": []}}, "held"),
    ({"error": "Validation Error", "detail": [{"loc": ["body", "to"], "msg": "Field required"}]}, "body.to: Field"),
    ({"message": "m", "error": "e"}, "m"),
)
async def test_a_refusal_says_what_the_server_said(body: object, said: str) -> None:
    async with client(lambda _: httpx.Response(400, json=body)) as ues:
        with pytest.raises(APIError, match=said):
            await ues.chat.send("user", "x")


async def test_what_is_no_answer_of_a_simulator_is_said_to_be_none() -> None:
    async with client(lambda _: httpx.Response(200, text="<html>")) as ues:
        with pytest.raises(ProtocolError, match="/simulator/time"):
            await ues.time.get_state()


class Flaky:
    """Fails so often, then answers; counts."""

    def __init__(self, times: int, error: httpx.TransportError | httpx.Response, answer: object) -> None:
        self.asked = 0
        self._times = times
        self._error = error
        self._answer = answer

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        if self.asked > self._times:
            return httpx.Response(200, json=self._answer)
        if isinstance(self._error, httpx.Response):
            return self._error
        raise self._error


async def test_a_read_is_asked_again_after_a_busy_answer() -> None:
    server = Flaky(1, httpx.Response(503), NOW)

    async with client(server, retries=2) as ues:
        await ues.time.get_state()

    assert server.asked == 2


async def test_an_action_that_may_have_been_carried_out_is_not_sent_again() -> None:
    server = Flaky(1, httpx.ReadTimeout("late"), DONE)

    async with client(server, retries=2) as ues:
        with pytest.raises(UESTimeoutError):
            await ues.chat.send("user", "x")

    assert server.asked == 1


async def test_an_action_that_was_never_sent_is_sent_again() -> None:
    server = Flaky(1, httpx.ConnectError("nobody"), DONE)

    async with client(server, retries=2) as ues:
        await ues.chat.send("user", "x")

    assert server.asked == 2


async def test_without_retries_a_lost_connection_is_told_at_once() -> None:
    server = Flaky(9, httpx.ConnectError("nobody"), NOW)

    async with client(server) as ues:
        with pytest.raises(UESConnectionError, match="GET /simulator/time"):
            await ues.time.get_state()

    assert server.asked == 1


async def test_the_key_goes_with_every_request() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=NOW)

    async with client(answer) as ues:
        await ues.time.get_state()

    assert seen[0].headers["X-API-Key"] == "k" * 64


async def test_older_servers_are_read_too() -> None:
    """Counts in place of lists of ids; the older name of an attendee's answer."""
    mails = {"folders": {"drafts": 3}, "labels": {"x": 1}}
    attendee = {"email": "a@b.example", "response_status": "accepted"}
    event = {"event_id": "1", "title": "t", "start": NOW["current_time"], "end": NOW["current_time"]}
    calendar = {"events": {"1": event | {"attendees": [attendee]}}}

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=mails if "email" in request.url.path else calendar)

    async with client(answer) as ues:
        assert (await ues.email.get_state()).count_in_folder("drafts") == 3
        assert (await ues.calendar.get_state()).events["1"].attendees[0].response == "accepted"
