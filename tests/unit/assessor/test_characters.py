"""Who answers whom, with what, and when."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from services.assessor.core.characters import ResponseGenerator
from services.assessor.core.inbox import NewMessages
from services.assessor.core.scenario import ScenarioConfig
from services.assessor.ports.simulated_world import Mail, SimulatedWorld
from shared.contracts.ues.modalities import CalendarEvent, Email, EmailsAnswer, EmailState, SmsMessage
from shared.domain.exact_json import loads_object
from shared.ports.models import ModelReply, ModelRequest, ModelUnavailable, TextBlock
from tests.assessor.scenes import BEN, CARA, USER, character, scenario, world
from tests.doubles.scripted_model import ScriptedModel, json_reply, state_of, text_reply
from tests.each_row import each_row

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
pytestmark = pytest.mark.promise("assessor.characters")


class Post(Mail):
    """A mailbox of which threads are asked for."""

    def __init__(self, *mails: Email) -> None:
        self._mails = mails

    async def get_state(self) -> EmailState:
        return EmailState(emails={mail.message_id: mail for mail in self._mails})

    async def query(self, **_: object) -> EmailsAnswer:
        return EmailsAnswer(emails=self._mails)


class Small:
    def __init__(self, *mails: Email) -> None:
        self.email = Post(*mails)


def mail(sender: str = USER, *to: str, body: str = "Hello", key: str = "m1", **more: object) -> Email:
    given = {
        "message_id": key,
        "thread_id": "t",
        "from_address": sender,
        "to_addresses": to or (BEN,),
        "subject": "Day",
    }
    return Email.model_validate({**given, "body_text": body, "sent_at": NOW, "received_at": NOW, **more})


def people(ben: Mapping[str, object] | None = None, cara: Mapping[str, object] | None = None) -> ScenarioConfig:
    characters = {
        "mia": character("Mia", USER, phone="+15550000000"),
        "ben": character("Ben", BEN, phone="+15550000001", **(ben or {})),
        "cara": character("Cara", CARA, **(cara or {})),
    }
    return ScenarioConfig.model_validate({**scenario(characters=characters), "initial_state": world()})


def generator(
    config: ScenarioConfig, model: ScriptedModel | None = None, *thread: Email, seed: int = 0
) -> ResponseGenerator:
    return ResponseGenerator(
        client=cast(SimulatedWorld, Small(*thread)),
        scenario_config=config,
        response_llm=model,
        summarization_llm=model,
        seed=seed,
    )


def says(body: str, respond: bool = True) -> ScriptedModel:
    return ScriptedModel(lambda _: json_reply({"should_respond": respond, "reasoning": "so", "body": body}))


async def test_whoever_was_addressed_answers_to_the_sender_with_the_others_in_copy() -> None:
    config = people()
    new = NewMessages(
        emails=(mail(USER, BEN, cc_addresses=(CARA, "else@corp.example"), bcc_addresses=("x@y.example",)),)
    )

    answers = await generator(config, says("Fine.")).process_new_messages(new_messages=new, current_time=NOW)

    assert [(answer.character_id, answer.modality) for answer in answers] == [("ben", "email"), ("cara", "email")]
    data = answers[0].data
    assert (data["operation"], data["from_address"], data["to_addresses"]) == ("receive", BEN, [USER])
    assert (data["cc_addresses"], data["subject"], data["thread_id"]) == ([CARA, "else@corp.example"], "Re: Day", "t")
    assert (data["in_reply_to"], data["references"], data["body_text"]) == ("m1", ["m1"], "Fine.")


@each_row("words", ["Never respond to anyone.", "Is out of office.", "DO NOT RESPOND", "on vacation"])
async def test_who_never_answers_is_not_even_asked(words: str) -> None:
    model = says("Fine.")

    answers = await generator(people({"special_instructions": words}), model).process_new_messages(
        NewMessages(emails=(mail(),)), NOW
    )

    assert (answers, model.requests) == ([], [])


async def test_blind_copies_the_sender_the_user_and_who_would_not_do_not_answer() -> None:
    new = NewMessages(emails=(mail(BEN, USER, BEN, bcc_addresses=(CARA,)),))

    assert await generator(people(), says("Fine.")).process_new_messages(new, NOW) == []
    assert await generator(people(), says("", respond=False)).process_new_messages(NewMessages((mail(),)), NOW) == []


async def test_a_script_speaks_before_any_model_and_a_model_that_fails_costs_the_answer_alone() -> None:
    script = [{"contains": ["friday", "day"], "body": "Great."}, {"contains": ["monday"], "body": "No."}]
    model = says("From the model.")
    playing = generator(people({"scripted_replies": script}), model)
    new = NewMessages((mail(body="Friday?"), mail(body="MONDAY?", key="m2"), mail(body="Tuesday?", key="m3")))

    answers = await playing.process_new_messages(new, NOW)

    assert [answer.data["body_text"] for answer in answers] == ["Great.", "No."]
    assert model.requests == []

    def down(_: ModelRequest) -> ModelReply:
        raise ModelUnavailable("overloaded")

    playing = generator(people(), ScriptedModel(down))

    assert await playing.process_new_messages(NewMessages((mail(),)), NOW) == []
    assert (playing.take_problems(), playing.take_problems()) == (["ben: overloaded"], [])


async def test_answers_take_their_time_by_the_seed() -> None:
    new = NewMessages(tuple(mail(key=f"m{number}") for number in range(5)))
    script = {"scripted_replies": [{"body": "Fine."}]}

    first, again, other = [
        [answer.delay for answer in await generator(people(script), seed=seed).process_new_messages(new, NOW)]
        for seed in (1, 1, 2)
    ]

    assert first == again != other
    assert all(timedelta(minutes=5) <= delay <= timedelta(minutes=15) for delay in first)
    assert len(set(first)) == 5


async def test_two_characters_do_not_talk_for_ever() -> None:
    """Between characters the second answer in a thread is left out; the user is always answered."""
    script = {"scripted_replies": [{"body": "Fine."}]}
    playing = generator(people(script, script))
    between = [mail(CARA, BEN, key=f"c{number}") for number in range(3)]
    ours = [mail(USER, BEN, key=f"u{number}") for number in range(3)]

    answers = await playing.process_new_messages(NewMessages((*between, *ours)), NOW)

    assert [answer.data["in_reply_to"] for answer in answers] == ["c0", "u0", "u1", "u2"]


async def test_the_part_tells_relationships_and_the_last_messages_whole() -> None:
    """Older ones come as a summary."""
    thread = [mail(key=f"m{number}", body=f"Message {number}.") for number in range(13)]
    config = people({"relationships": {"mia": "his boss"}})

    def answer(request: ModelRequest) -> ModelReply:
        if state_of(request) == "THREAD SUMMARY":
            return text_reply("They greeted each other.")
        return json_reply({"should_respond": True, "reasoning": "", "body": "Fine."})

    model = ScriptedModel(answer)
    await generator(config, model, *thread).process_new_messages(NewMessages((thread[-1],)), NOW)

    (asked,) = [request for request in model.requests if state_of(request) == "CHARACTER REPLY"]
    (block,) = asked.messages[0].blocks
    assert isinstance(block, TextBlock)
    assert "Mia (mia@corp.example)" in block.text
    assert "They greeted each other." in block.text
    assert "Message 2." in block.text
    assert "Message 1." not in block.text


async def test_a_text_is_answered_to_its_sender_if_the_user_sent_it() -> None:
    script = {"scripted_replies": [{"body": "On my way."}]}
    sent = {"message_id": "s", "from_number": "+15550000000", "to_numbers": ["+15550000001"], "sent_at": NOW}
    came = {**sent, "message_id": "r", "from_number": "+15559999999", "direction": "incoming"}
    new = NewMessages(sms_messages=tuple(SmsMessage.model_validate(one) for one in (sent, came)))

    (answer,) = await generator(people(script)).process_new_messages(new, NOW)

    assert (answer.modality, answer.data["operation"]) == ("sms", "receive_message")
    assert (answer.data["from_number"], answer.data["to_numbers"]) == ("+15550000001", ["+15550000000"])


async def test_an_invitation_that_nobody_can_decide_is_tentative() -> None:
    event = CalendarEvent.model_validate(
        {"event_id": "e", "title": "Lunch", "start": NOW, "end": NOW, "organizer": USER,
         "attendees": [{"email": BEN}, {"email": USER}, {"email": CARA, "response": "accepted"}]}
    )  # fmt: skip

    (answer,) = await generator(people()).process_new_messages(NewMessages(calendar_events=(event,)), NOW)

    assert answer.data == loads_object(
        f'{{"operation": "respond", "event_id": "e", "attendee_email": "{BEN}", "response": "tentative"}}'
    )
