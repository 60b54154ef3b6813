"""Agents that are measured, over real HTTP, and who follows."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from typing_extensions import override

from services.assessor.adapters.a2a_participant import A2aParticipant
from services.assessor.adapters.proctor_client import ProctorClient
from services.assessor.ports.participants import Emitter
from shared.contracts.assessment.messages import JsonObject, Update
from tests.assessor.scenes import BEN, USER
from tests.doubles.scripted_participant import ScriptedParticipant
from tests.http_client import open_http
from tests.serving import listening, serving_on


class Following(Emitter):
    """Keeps every update."""

    def __init__(self) -> None:
        self.updates: list[Update] = []

    @override
    async def emit(self, update: Update) -> None:
        self.updates.append(update)

    def kinds(self) -> list[str]:
        return [update.message_type.removeprefix("update_") for update in self.updates]


class Gold:
    """Reads the chat, answers Ben, and is done in the turn after."""

    def __init__(self) -> None:
        self.participant = ScriptedParticipant(self.turn)
        self.inbox: list[str] = []

    @property
    def start(self) -> JsonObject:
        return self.participant.heard[0]

    def world(self) -> ProctorClient:
        return ProctorClient(str(self.start["ues_url"]), api_key=str(self.start["api_key"]))

    async def turn(self, said: JsonObject) -> JsonObject:
        async with self.world() as ues:
            self.inbox = [mail.subject for mail in (await ues.email.query(folder="inbox")).emails]
            if said["turn_number"] != 1:
                return {"message_type": "early_completion", "reason": "All done."}
            await ues.chat.get_state()
            await ues.email.send(
                from_address=USER,
                to_addresses=[BEN],
                subject="Re: Friday?",
                body_text="Friday is fine, thank you.",
                in_reply_to="ask",
                thread_id="thread-ask",
            )
        return {"message_type": "turn_complete", "time_step": "PT1H"}


@asynccontextmanager
async def reached(participant: ScriptedParticipant) -> AsyncIterator[A2aParticipant]:
    """The participant as an assessor has it, served for as long as the context lasts."""
    with listening() as (listener, url):
        participant.url = url
        async with serving_on(listener, participant.app()), open_http(trust_env=False) as http:
            yield A2aParticipant(url, http, poll_seconds=0.01)
