"""The client against our own simulator, inside the test's own process."""

from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest

from services.assessor.adapters.proctor_client import ProctorClient
from services.simulator.bootstrap import build
from services.simulator.settings import SimulatorSettings
from shared.contracts.ues.modalities import JsonObject
from shared.infra.ues.connection import APIError, ConflictError

ADMIN = "a" * 64
USER = "user@example.com"
ANNA = "anna@corp.example"
pytestmark = pytest.mark.promise("assessor.ues_client")


@pytest.fixture
async def transport() -> AsyncIterator[httpx.ASGITransport]:
    settings = SimulatorSettings.model_validate({"ues_admin_key": ADMIN})
    app = build(settings)
    async with app.router.lifespan_context(app):
        yield httpx.ASGITransport(app)


@pytest.fixture
async def ues(transport: httpx.ASGITransport) -> AsyncIterator[ProctorClient]:
    async with ProctorClient("http://ues", transport=transport, api_key=ADMIN) as client:
        await client.simulation.start(auto_advance=False)
        yield client


async def test_mail_goes_out_and_is_found(ues: ProctorClient) -> None:
    done = await ues.email.send(from_address=USER, to_addresses=[ANNA], subject="Plan", body_text="Friday?")

    state = await ues.email.get_state()
    found = await ues.email.query(received_after=done.scheduled_time, sort_order="asc")

    assert done.status == "executed"
    assert [mail.subject for mail in found.emails] == ["Plan"]
    assert state.count_in_folder("sent") == 1


async def test_an_event_of_later_happens_when_its_time_comes(ues: ProctorClient) -> None:
    now = (await ues.time.get_state()).current_time
    mail: JsonObject = {"from_address": ANNA, "to_addresses": [USER], "subject": "Re: Plan", "body_text": "Yes."}
    due = now + timedelta(seconds=90)
    await ues.events.create(scheduled_time=due, modality="email", data={"operation": "receive", **mail})

    early = await ues.time.advance(60)
    late = await ues.time.advance(60)

    assert (early.events_executed, late.events_executed) == (0, 1)
    (mail_there,) = (await ues.email.get_state()).emails.values()
    assert mail_there.received_at == due


async def test_what_a_key_did_is_told_by_its_id(ues: ProctorClient, transport: httpx.ASGITransport) -> None:
    key = await ues.keys.create("somebody", ["chat:send", "chat:state"])
    async with ProctorClient("http://ues", transport=transport, api_key=key.secret) as user:
        await user.chat.send("assistant", "Done.", "user-assistant")
        with pytest.raises(APIError, match="time:advance") as refused:
            await user.time.advance(1)

    events = (await ues.events.list_events(status="executed")).events
    log = await ues.access_logs.show(key_id=key.key_id)

    assert [(event.agent_id, event.operation) for event in events] == [(key.key_id, "send_message")]
    assert refused.value.status_code == 403
    assert [entry.path for entry in log.logs] == ["/simulator/time/advance", "/chat/send"]


async def test_a_revoked_key_opens_nothing(ues: ProctorClient, transport: httpx.ASGITransport) -> None:
    key = await ues.keys.create("somebody", ["time:read"])
    await ues.keys.revoke(key.key_id)

    async with ProctorClient("http://ues", transport=transport, api_key=key.secret) as user:
        with pytest.raises(APIError, match="revoked"):
            await user.time.get_state()
    with pytest.raises(ConflictError):
        await ues.keys.revoke(key.key_id)


async def test_text_messages_and_chat_are_read(ues: ProctorClient) -> None:
    await ues.sms.receive(from_number="+15551110000", to_numbers=["+15550000000"], body="Running late")
    await ues.chat.send("user", "Answer the text.", "user-assistant")

    assert [text.body for text in (await ues.sms.query(sort_order="asc")).messages] == ["Running late"]
    assert (await ues.chat.get_state()).messages[0].text == "Answer the text."
    assert await ues.events.next() is None
