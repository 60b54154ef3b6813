"""The conversation that a message stands in: its last messages whole, the older ones as a summary."""

from collections.abc import Sequence

from services.assessor.core.prompts.texts import SUMMARY
from services.assessor.ports.simulated_world import SimulatedWorld
from shared.contracts.ues.modalities import Email, SmsMessage
from shared.domain.exact_json import Json, JsonObject
from shared.domain.sections import render_sections
from shared.ports.models import Message, Model, ModelRequest, ModelUnavailable, TextBlock, Tier

_WHOLE = 10
_SUMMARY_TOKENS = 400


class ThreadDescriber:
    """Describes a message with the earlier ones of its thread, as JSON for a prompt. Older messages are summarized by
    a model; without one they are counted.
    """

    def __init__(self, client: SimulatedWorld, model: Model | None) -> None:
        self._client = client
        self._model = model

    async def of_email(self, mail: Email) -> JsonObject:
        results = await self._client.email.query(thread_id=mail.thread_id, sort_order="asc")
        before = [_mail_as_json(other) for other in results.emails if other.message_id != mail.message_id]
        return {**await self._build_section(before), "message": _mail_as_json(mail)}

    async def of_sms(self, text: SmsMessage) -> JsonObject:
        results = await self._client.sms.query(thread_id=text.thread_id, sort_order="asc")
        before = [_sms_as_json(other) for other in results.messages if other.message_id != text.message_id]
        return {**await self._build_section(before), "message": _sms_as_json(text)}

    async def _build_section(self, messages: Sequence[JsonObject]) -> JsonObject:
        older, last = messages[:-_WHOLE], messages[-_WHOLE:]
        section: JsonObject = {"conversation": list(last)}
        return {"earlier": await self._summarize(older), **section} if older else section

    async def _summarize(self, older: Sequence[JsonObject]) -> Json:
        counted = f"{len(older)} earlier messages are not shown."
        if self._model is None:
            return counted
        text = render_sections({"conversation": list(older)})
        messages = (Message("user", (TextBlock(text),)),)
        try:
            reply = await self._model.complete(
                ModelRequest(Tier.SMALL, (SUMMARY,), messages, max_tokens=_SUMMARY_TOKENS)
            )
        except ModelUnavailable:
            return counted  # the last messages are enough to answer by
        return reply.text or counted


def _mail_as_json(mail: Email) -> JsonObject:
    return {
        "from": mail.from_address,
        "to": list(mail.to_addresses),
        "cc": list(mail.cc_addresses),
        "at": mail.received_at.isoformat(),
        "subject": mail.subject,
        "body": mail.body_text,
    }


def _sms_as_json(text: SmsMessage) -> JsonObject:
    return {"from": text.from_number, "to": list(text.to_numbers), "at": text.sent_at.isoformat(), "body": text.body}
