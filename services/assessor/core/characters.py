"""What the others in the user's world answer: by their script, else as a model plays them."""

from asyncio import Semaphore, TaskGroup
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Literal

from services.assessor.core.asking import AnswerForm, ask_form
from services.assessor.core.delays import delay_of, seeded_chance
from services.assessor.core.inbox import NewMessages
from services.assessor.core.prompts.texts import CHARACTER, INVITED
from services.assessor.core.responders import Responder, Responders, email_reply, rsvp_answer, sms_reply
from services.assessor.core.scenario import ScenarioConfig, ScriptedReply
from services.assessor.core.threads import ThreadDescriber
from services.assessor.ports.simulated_world import SimulatedWorld
from shared.contracts.assessment.messages import JsonObject
from shared.contracts.ues.modalities import CalendarEvent, Email, SmsMessage
from shared.domain.exact_json import JsonObject as Exact
from shared.ports.models import Model, ModelUnavailable, Tier

_AT_ONCE = 4
_MOST_TO_CHARACTERS = 1  # answers of one character to another in a thread: two of them must not talk for ever


class CharacterAnswer(AnswerForm):
    should_respond: bool
    reasoning: str
    body: str


class InviteAnswer(AnswerForm):
    should_respond: bool
    status: Literal["tentative", "accepted", "declined"]
    comment: str
    reasoning: str


@dataclass(frozen=True)
class ScheduledResponse:
    """An answer on its way: an event of ``modality`` with that ``data``, ``delay`` after it was caused."""

    character_id: str
    modality: str
    data: JsonObject
    delay: timedelta
    scheduled_time: datetime


@dataclass(frozen=True)
class _HeardMessage:
    """Somebody heard something and may answer."""

    responder: Responder
    modality: str
    share: float
    answer: Callable[[], Awaitable[JsonObject | None]]


class ResponseGenerator:
    """Answers messages and invitations in the name of the scenario's characters: by their scripts, else by a model.

    A character that has neither stays silent. ``problems``: which answers a model failed to give, and why.
    """

    def __init__(
        self,
        client: SimulatedWorld,
        scenario_config: ScenarioConfig,
        response_llm: Model | None,
        summarization_llm: Model | None = None,
        seed: int = 0,
    ) -> None:
        self._responders = Responders(scenario_config)
        self._scenario = scenario_config
        self._model = response_llm
        self._threads = ThreadDescriber(client, summarization_llm)
        self._seed = seed
        self._heard: Counter[str] = Counter()
        self._answered: Counter[tuple[str, str]] = Counter()
        self._limit = Semaphore(_AT_ONCE)
        self.problems: list[str] = []

    async def process_new_messages(self, new_messages: NewMessages, current_time: datetime) -> list[ScheduledResponse]:
        """The characters' answers to these messages, in the same order, each due at ``current_time`` and its delay."""
        messages_heard = [
            heard_message for message in new_messages.emails for heard_message in self._record_heard_email(message)
        ]
        messages_heard += [
            heard_message for message in new_messages.sms_messages for heard_message in self._record_heard_sms(message)
        ]
        messages_heard += [
            heard_message
            for event in new_messages.calendar_events
            for heard_message in self._record_heard_invitation(event)
        ]
        async with TaskGroup() as group:
            tasks = [
                group.create_task(self._schedule_answer(heard_message, current_time))
                for heard_message in messages_heard
            ]
        return [response for task in tasks if (response := task.result()) is not None]

    def take_problems(self) -> list[str]:
        """The problems since the last call, which are then forgotten."""
        problems, self.problems = self.problems, []
        return problems

    async def _schedule_answer(self, heard_message: _HeardMessage, now: datetime) -> ScheduledResponse | None:
        async with self._limit:
            data = await heard_message.answer()
        if data is None:
            return None
        delay = delay_of(heard_message.responder.character.response_timing, heard_message.share)
        return ScheduledResponse(heard_message.responder.character_id, heard_message.modality, data, delay, now + delay)

    def _record_heard_email(self, mail: Email) -> list[_HeardMessage]:
        between = self._responders.is_character(mail.from_address)
        words = f"{mail.subject}\n{mail.body_text}"
        return [
            self._count_heard(responder, "email", partial(self._answer_email, mail, responder, words))
            for responder in self._responders.of_email(mail)
            if not between or self._count_answer_to_character(responder, mail.thread_id)
        ]

    def _record_heard_sms(self, text: SmsMessage) -> list[_HeardMessage]:
        """Empty for a text that the user did not write: texts between others are none of the characters' business."""
        if not self._responders.is_user(text.from_number) and text.direction != "outgoing":
            return []
        return [
            self._count_heard(responder, "sms", partial(self._answer_sms, text, responder, text.body))
            for responder in self._responders.of_sms(text)
        ]

    def _record_heard_invitation(self, event: CalendarEvent) -> list[_HeardMessage]:
        words = f"{event.title}\n{event.description or ''}"
        return [
            self._count_heard(responder, "calendar", partial(self._answer_event, event, responder, words))
            for responder in self._responders.of_event(event)
        ]

    def _count_heard(
        self, responder: Responder, modality: str, answer: Callable[[], Awaitable[JsonObject | None]]
    ) -> _HeardMessage:
        self._heard[responder.character_id] += 1
        share = seeded_chance(self._seed, responder.character_id, modality, self._heard[responder.character_id])
        return _HeardMessage(responder, modality, share, answer)

    def _count_answer_to_character(self, responder: Responder, thread_id: str) -> bool:
        """Counts one more answer in a thread between characters; returns whether the responder may still give it."""
        self._answered[responder.character_id, thread_id] += 1
        return self._answered[responder.character_id, thread_id] <= _MOST_TO_CHARACTERS

    async def _answer_email(self, mail: Email, responder: Responder, words: str) -> JsonObject | None:
        body = await self._write_body(responder, words, lambda: self._threads.of_email(mail))
        return email_reply(mail, responder.character, body) if body else None

    async def _answer_sms(self, text: SmsMessage, responder: Responder, words: str) -> JsonObject | None:
        body = await self._write_body(responder, words, lambda: self._threads.of_sms(text))
        return sms_reply(text, responder.character, body) if body else None

    async def _answer_event(self, event: CalendarEvent, responder: Responder, words: str) -> JsonObject | None:
        """The answer to an invitation, tentative where none can be had; None if the character does not answer."""
        scripted = find_scripted_reply(responder, words)
        if scripted is not None:
            return rsvp_answer(event, responder.character, scripted.rsvp, scripted.body) if scripted.rsvp else None
        if self._model is None:
            return rsvp_answer(event, responder.character, "tentative", None)
        sections: Exact = {"appointment": event.model_dump(mode="json", exclude_none=True)}
        try:
            invite_answer = await ask_form(
                self._model, Tier.SMALL, INVITED, {**self._persona(responder), **sections}, InviteAnswer
            )
        except ModelUnavailable as problem:
            self.problems.append(f"{responder.character_id}: {problem}")
            return rsvp_answer(event, responder.character, "tentative", None)
        return (
            rsvp_answer(event, responder.character, invite_answer.status, invite_answer.comment)
            if invite_answer.should_respond
            else None
        )

    async def _write_body(self, responder: Responder, words: str, thread: Callable[[], Awaitable[Exact]]) -> str:
        scripted = find_scripted_reply(responder, words)
        if scripted is not None:
            return scripted.body or ""
        if self._model is None:
            return ""
        try:
            sections = {**self._persona(responder), **await thread()}
            character_answer = await ask_form(self._model, Tier.SMALL, CHARACTER, sections, CharacterAnswer)
        except ModelUnavailable as problem:
            self.problems.append(f"{responder.character_id}: {problem}")
            return ""
        return character_answer.body.strip() if character_answer.should_respond else ""

    def _persona(self, responder: Responder) -> Exact:
        """The section that says who is played; relationships name the others as the conversation does."""
        person, everybody = responder.character, self._scenario.characters
        relationships = {
            f"{everybody[key].name} ({everybody[key].email or everybody[key].phone})": relationship
            for key, relationship in person.relationships.items()
            if key in everybody
        }
        profile = person.model_dump(
            mode="json", include={"name", "email", "phone", "personality", "special_instructions", "config"}
        )
        return {"character": {**profile, "relationships": {**relationships}}}


def find_scripted_reply(responder: Responder, words: str) -> ScriptedReply | None:
    """The first entry of the character's script that fits the message; an empty reply if none fits, None without a
    script.
    """
    scripts = responder.character.scripted_replies
    if not scripts:
        return None
    return next((script for script in scripts if script.fits(words)), ScriptedReply())
