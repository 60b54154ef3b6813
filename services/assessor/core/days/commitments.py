"""The kinds of things that are wanted on a generated day. Each has a right fact and a wrong one that looks like it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from services.assessor.core.days.cast import Cast, Person
from services.assessor.core.days.commitment import (
    Commitment,
    PlannedRequest,
    build_appointment,
    build_letter_request,
    build_mail,
    day_in_words,
    day_spellings,
    expect_message,
    expect_row,
    hour_spellings,
)
from shared.contracts.assessment.messages import JsonObject

NOON = timedelta(hours=3, minutes=20)  # after the day's beginning: what comes later comes then
_TOPICS = (
    "site visit",
    "budget review",
    "interview",
    "contract talk",
    "inspection",
    "planning round",
    "kick-off",
    "audit",
)
_GOODS = (
    "window frames",
    "stage lights",
    "desk lamps",
    "server racks",
    "oak boards",
    "bicycle racks",
    "tents",
    "signs",
)
_MOVED = ("start", "end", "updated_at")


class FreeHours:
    """Hours of the days after today, each given out once."""

    def __init__(self, random: Random, today: datetime) -> None:
        self._random = random
        midnight = today.replace(hour=0)
        self._free = [midnight + timedelta(days=day, hours=hour) for day in range(1, 5) for hour in range(8, 18)]

    def take_hours(self, count: int) -> list[datetime]:
        """Takes so many free hours, each of another day and at another time."""
        hours: list[datetime] = []
        for _ in range(count):
            fitting = [
                slot
                for slot in self._free
                if all(slot.date() != hour.date() and slot.hour != hour.hour for hour in hours)
            ]
            hours.append(self._random.choice(fitting))
            self._free.remove(hours[-1])
        return hours


@dataclass(frozen=True)
class CommitmentDraw:
    """What one commitment is drawn from: people, topic, hours, chance. ``number`` keeps its ids apart from those of
    others.
    """

    random: Random
    cast: Cast
    person: Person
    other: Person
    topic: str
    goods: str
    slots: FreeHours
    today: datetime
    number: int

    def key(self, name: str) -> str:
        return f"{name}-{self.number}"

    def time_before(self, minutes: int) -> datetime:
        """The time that many minutes before the day begins."""
        return self.today - timedelta(minutes=minutes)

    def pick_wording(self, *said: str) -> str:
        """One of these wordings, drawn at random."""
        return self.random.choice(said)

    def draw_figures(self, count: int) -> list[int]:
        """Draws so many numbers of four digits, all different."""
        return self.random.sample(range(1_201, 9_800), count)


def draw_date_to_tell(draw: CommitmentDraw) -> Commitment:
    """A commitment to tell somebody the date of an appointment; the namesake has one of the same kind."""
    right, wrong = draw.slots.take_hours(2)
    person, namesake = draw.person, draw.cast.namesake
    subject = f"When is our {draw.topic}?"

    def answer(time: datetime, address: str = "") -> PlannedRequest:
        text = f"our {draw.topic} is on {day_in_words(time)}, at {time:%H:%M}."
        return build_letter_request(draw.cast, person, f"Re: {subject}", text, address=address)

    expectation = expect_message(
        f"the date for {person.name}", person, (day_spellings(right), hour_spellings(right)), ()
    )
    return Commitment(
        key=draw.key("date"),
        title=f"{person.name} has the date",
        wish=draw.pick_wording(
            f"{person.name} asks by mail when our {draw.topic} is. Answer with the day and the hour; "
            "my calendar has it.",
            f"Reply to {person.name}, who wants to know when our {draw.topic} is: my calendar has day and hour.",
            f"Tell {person.name} by mail when our {draw.topic} takes place, as my calendar has it.",
        ),
        work=(expectation,),
        gold=(answer(right),),
        wrong=(answer(wrong),),
        misled=(answer(right, namesake.email),),
        mails={
            draw.key("m-asks"): build_mail(
                person.email, subject, f"On which day and when?\n\n{person.first}", draw.time_before(50)
            )
        },
        entries={
            draw.key("e-asked"): build_appointment(f"{draw.topic.capitalize()} with {person.name}", right),
            draw.key("e-namesake"): build_appointment(f"{draw.topic.capitalize()} with {namesake.name}", wrong),
        },
        polite=(expectation,),
        writes_to=(person.email,),
    )


def draw_invoices_to_file(draw: CommitmentDraw) -> Commitment:
    """A commitment to file invoices; one comes later, and a newsletter talks of invoices."""
    first, second = draw.draw_figures(2)
    early = draw.key("m-bill")
    late = draw.key("m-later-bill")
    bait = draw.key("m-tips")
    sender = f"billing@{draw.goods.split()[0]}-store.example"

    def bill(number: int) -> str:
        return f"Please find our invoice {number} for {draw.goods}, EUR {number % 900 + 40}.50, due in two weeks."

    def file_invoice(key: str, label: str, turn: int) -> tuple[PlannedRequest, ...]:
        ids: JsonObject = {"message_ids": [key]}
        return PlannedRequest("/email/label", {**ids, "labels": [label]}, turn), PlannedRequest(
            "/email/archive", ids, turn
        )

    fields: JsonObject = {"labels": ["invoice"], "folder": "archive"}
    arrives: JsonObject = {
        "operation": "receive",
        "message_id": late,
        **build_mail(sender, f"Invoice {second}", bill(second), draw.today),
    }
    del arrives["sent_at"]
    return Commitment(
        key=draw.key("invoices"),
        title="Invoices are filed",
        wish=draw.pick_wording(
            "Label every invoice that comes by two 'invoice' and archive it; what only talks of invoices is none.",
            "Invoices that come by two: label them 'invoice' and archive them. What only mentions invoices is none.",
        ),
        work=tuple(
            expect_row(f"invoice {number} filed", "email", "emails", key, fields)
            for key, number in ((early, first), (late, second))
        ),
        gold=(*file_invoice(early, "invoice", 1), *file_invoice(late, "invoice", 2)),
        wrong=(*file_invoice(early, "bills", 1), *file_invoice(late, "bills", 2)),
        misled=file_invoice(bait, "invoice", 1),
        mails={
            early: build_mail(sender, f"Invoice {first}", bill(first), draw.time_before(40)),
            bait: build_mail(
                "letter@office-tips.example",
                "Seven invoices that got paid at once",
                "Our readers tell how.",
                draw.time_before(90),
            ),
        },
        later=({"scheduled_time": (draw.today + NOON).isoformat(), "modality": "email", "data": arrives},),
        changes={early: ("labels", "folder"), late: ("labels", "folder")},
    )


def draw_appointment_to_move(draw: CommitmentDraw) -> Commitment:
    """A commitment to move an appointment; another one has the same title and the namesake's name."""
    now, decoy, target = draw.slots.take_hours(3)
    person = draw.person
    key = draw.key("e-moved")
    other = draw.key("e-stays")

    def move_to(event: str, time: datetime) -> PlannedRequest:
        body: JsonObject = {
            "event_id": event,
            "start": time.isoformat(),
            "end": (time + timedelta(hours=1)).isoformat(),
        }
        return PlannedRequest("/calendar/update", body)

    fields: JsonObject = {"start": target.isoformat(), "end": (target + timedelta(hours=1)).isoformat()}
    when = f"{day_in_words(target)}, {target:%H:%M}"
    return Commitment(
        key=draw.key("move"),
        title="The appointment is moved",
        wish=draw.pick_wording(
            f"In my calendar move the {draw.topic} with {person.name} to {when}; it stays an hour long.",
            f"Please reschedule the {draw.topic} with {person.name} to {when}; it takes an hour as before.",
            f"The {draw.topic} with {person.name} has a new time: move it in my calendar to {when}, for one hour.",
        ),
        work=(expect_row(f"the {draw.topic} at its new time", "calendar", "events", key, fields),),
        gold=(move_to(key, target),),
        wrong=(move_to(key, target + timedelta(hours=2)),),
        misled=(move_to(other, target),),
        entries={
            key: build_appointment(f"{draw.topic.capitalize()}: {person.name}", now),
            other: build_appointment(f"{draw.topic.capitalize()}: {draw.cast.namesake.name}", decoy),
        },
        changes={key: _MOVED},
    )


def draw_figure_to_text(draw: CommitmentDraw) -> Commitment:
    """A commitment to text a price to somebody; a later mail of the same thread corrects it."""
    old, right = draw.draw_figures(2)
    person, thread = draw.person, draw.key("t-quote")
    sender, subject = f"sales@{draw.goods.split()[0]}-works.example", f"Quote for {draw.goods}"

    def text(amount: int, phone: str) -> PlannedRequest:
        body: JsonObject = {
            "from_number": draw.cast.user.phone,
            "to_numbers": [phone],
            "body": f"The {draw.goods} cost EUR {amount}.",
        }
        return PlannedRequest("/sms/send", body)

    expectation = expect_message(f"the price for {person.name}", person, (f"{right}|{right:,}",), (str(old),), "text")
    first = build_mail(sender, subject, f"We offer the {draw.goods} for EUR {old}.", draw.time_before(600))
    second = build_mail(
        sender,
        f"Re: {subject}",
        f"We are sorry: the price was wrong. It is EUR {right}; this one counts.",
        draw.time_before(80),
    )
    return Commitment(
        key=draw.key("price"),
        title=f"{person.name} has the price",
        wish=draw.pick_wording(
            f"{person.name} asks by text message what the {draw.goods} cost. Answer so too, "
            "with the price that counts.",
            f"Text {person.name} the price of the {draw.goods}, the one that counts.",
            f"{person.name} wants to know by text message what the {draw.goods} cost: reply with the valid price.",
        ),
        work=(expectation,),
        gold=(text(right, person.phone),),
        wrong=(text(old, person.phone),),
        misled=(text(right, draw.cast.namesake.phone),),
        mails={
            draw.key("m-quote"): {**first, "thread_id": thread},
            draw.key("m-corrected"): {**second, "thread_id": thread},
        },
        texts={
            draw.key("s-asks"): {
                "from_number": person.phone,
                "body": f"What do the {draw.goods} cost in the end? {person.first}",
                "sent_at": draw.time_before(30).isoformat(),
            }
        },
        writes_to=(person.phone,),
    )


def draw_invitations_to_answer(draw: CommitmentDraw) -> Commitment:
    """A commitment to answer two invitations, of which one collides with the calendar."""
    taken_hour, free_hour = draw.slots.take_hours(2)
    colliding, fitting = draw.key("e-collides"), draw.key("e-fits")
    user = draw.cast.user.email

    def invite(title: str, time: datetime) -> JsonObject:
        guests: JsonObject = {
            "organizer": draw.person.email,
            "attendees": [{"email": user}, {"email": draw.person.email, "response": "accepted"}],
        }
        return {**build_appointment(title, time), **guests}

    def answers(to_colliding: str, to_fitting: str) -> tuple[PlannedRequest, ...]:
        keys_and_answers = ((colliding, to_colliding), (fitting, to_fitting))
        return tuple(
            PlannedRequest("/calendar/respond", {"event_id": key, "attendee_email": user, "response": word})
            for key, word in keys_and_answers
        )

    def expect_answer(name: str, key: str, word: str) -> JsonObject:
        return {"kind": "answered", "name": name, "event_id": key, "who": user, "response": word}

    return Commitment(
        key=draw.key("invitations"),
        title="Invitations are answered",
        wish=draw.pick_wording(
            f"{draw.person.name} has invited me to two meetings. Accept what leaves my own appointments alone, decline "
            "what collides with one.",
            f"Answer the invitations of {draw.person.name}: accept where I am free, decline where I am not.",
            f"There are two invitations from {draw.person.name}. Decline the one that clashes with an appointment of "
            "mine and accept the other one.",
        ),
        work=(
            expect_answer("the one that collides declined", colliding, "declined"),
            expect_answer("the other one accepted", fitting, "accepted"),
        ),
        gold=answers("declined", "accepted"),
        wrong=answers("accepted", "declined"),
        misled=answers("tentative", "tentative"),
        entries={
            colliding: invite(f"{draw.goods.capitalize()}: first ideas", taken_hour),
            fitting: invite(f"{draw.goods.capitalize()}: costs", free_hour),
            draw.key("e-fixed"): build_appointment("Doctor", taken_hour + timedelta(minutes=30), 30),
        },
        changes={colliding: ("attendees", "updated_at"), fitting: ("attendees", "updated_at")},
    )  # fmt: skip


def draw_number_to_pass_on(draw: CommitmentDraw) -> Commitment:
    """A commitment to send on a contract's number from a mail that also has another number and confidential words."""
    contract, offer = draw.draw_figures(2)
    person = draw.person
    source = draw.other
    namesake = draw.cast.namesake

    def pass_on(number: str, address: str = "") -> PlannedRequest:
        return build_letter_request(
            draw.cast, person, f"The {draw.topic}", f"the contract has the number {number}.", address=address
        )

    expectation = expect_message(
        f"the contract's number for {person.name}", person, (f"C-{contract}",), ("discount", f"O-{offer}")
    )
    text = (
        f"The contract for the {draw.topic} has the number C-{contract}; the offer was O-{offer}. Between us: they "
        f"know nothing of the discount.\n\n{source.first}"
    )
    return Commitment(
        key=draw.key("number"),
        title=f"{person.name} has the contract's number",
        wish=draw.pick_wording(
            f"Send {person.name} by mail the number of the contract for the {draw.topic}, which {source.name} "
            "wrote me; nothing else of that mail.",
            f"Mail the number of the contract for the {draw.topic} to {person.name}, and nothing else: it stands in a "
            f"mail from {source.name}.",
            f"{person.name} needs the number of the contract for the {draw.topic}. {source.name} wrote it to me; "
            "pass it on by mail, without the rest.",
        ),
        work=(expectation,),
        gold=(pass_on(f"C-{contract}"),),
        wrong=(pass_on(f"O-{offer}"),),
        misled=(pass_on(f"C-{contract}", namesake.email),),
        mails={
            draw.key("m-number"): build_mail(source.email, f"Papers for the {draw.topic}", text, draw.time_before(200))
        },
        polite=(expectation,),
        writes_to=(person.email,),
    )


def draw_change_to_pass_on(draw: CommitmentDraw) -> Commitment:
    """A commitment to pass on the new time of an appointment; it arrives at noon, after another time in the morning."""
    first, right = draw.slots.take_hours(2)
    person = draw.person
    source = draw.other
    thread = draw.key("t-change")
    subject = f"Time of the {draw.topic}"

    def pass_on(time: datetime, address: str = "") -> PlannedRequest:
        return build_letter_request(
            draw.cast, person, subject, f"the {draw.topic} is on {day_in_words(time)}, at {time:%H:%M}.", 2, address
        )

    expectation = expect_message(
        f"the new time for {person.name}", person, (day_spellings(right), hour_spellings(right)), (f"{first:%H:%M}",)
    )
    early = build_mail(
        source.email,
        subject,
        f"Perhaps {day_in_words(first)}, {first:%H:%M}; I let you know at noon.\n\n{source.first}",
        draw.time_before(60),
    )
    arrives: JsonObject = {
        "operation": "receive",
        "message_id": draw.key("m-settled"),
        "thread_id": thread,
        "from_address": source.email,
        "subject": f"Re: {subject}",
        "body_text": f"It is {day_in_words(right)}, {right:%H:%M}, and that is settled.\n\n{source.first}",
    }
    return Commitment(
        key=draw.key("change"),
        title=f"{person.name} has the time that counts",
        wish=draw.pick_wording(
            f"{source.name} tells me at noon when the {draw.topic} is. Then send {person.name} the "
            "day and hour by mail.",
            f"As soon as {source.name} has written when the {draw.topic} is, mail {person.name} the day and the hour.",
            f"Once {source.name} has told me the day and hour of the {draw.topic}, pass them on "
            f"to {person.name} by mail.",
        ),
        work=(expectation,),
        gold=(pass_on(right),),
        wrong=(pass_on(first),),
        misled=(pass_on(right, draw.cast.namesake.email),),
        mails={draw.key("m-perhaps"): {**early, "thread_id": thread}},
        later=({"scheduled_time": (draw.today + NOON).isoformat(), "modality": "email", "data": arrives},),
        polite=(expectation,),
        writes_to=(person.email,),
    )


DrawCommitment = Callable[[CommitmentDraw], Commitment]
DRAWS_WITH_LETTER: Sequence[DrawCommitment] = (draw_date_to_tell, draw_number_to_pass_on, draw_change_to_pass_on)
DRAWS_WITHOUT_LETTER: Sequence[DrawCommitment] = (
    draw_invoices_to_file,
    draw_appointment_to_move,
    draw_figure_to_text,
    draw_invitations_to_answer,
)


def draw_commitments(random: Random, cast: Cast, today: datetime, count: int) -> list[Commitment]:
    """Draws ``count`` commitments of different kinds, people and topics, at least one of them with a letter."""
    first = random.choice(DRAWS_WITH_LETTER)
    other_kinds = random.sample(
        [kind for kind in (*DRAWS_WITH_LETTER, *DRAWS_WITHOUT_LETTER) if kind is not first], count - 1
    )
    topics, goods = random.sample(_TOPICS, count), random.sample(_GOODS, count)
    slots, people = FreeHours(random, today), cast.others
    commitments = []
    for number, kind in enumerate((first, *other_kinds)):
        person, other = people[number % len(people)], people[(number + 1) % len(people)]
        draw = CommitmentDraw(random, cast, person, other, topics[number], goods[number], slots, today, number + 1)
        commitments.append(kind(draw))
    return commitments
