"""Standing instructions over what came in: which rows are tended how, what is told, and when the next turn is due."""

import pytest

from services.planner.core.request import PlannerReply
from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row
from tests.unit.planner.planner_requests import calls, fact, planned, tool

pytestmark = pytest.mark.promise("planner.tends")
NOON = "2031-05-06T12:00:00+00:00"
WRITERS: list[Json] = [
    tool("archive_letter", letter_id="string"),
    tool("star_letter", letter_id="string"),
    tool("label_letter", letter_id="string", label="string"),
    tool("move_letter", letter_id="string", folder="string"),
    tool("mark_letter_read", letter_id="string"),
    tool("mark_letter_unread", letter_id="string"),
    tool("delete_letter", letter_id="string"),
    tool("reply_to_letter", letter_id="string", body="string"),
    tool("send_chat_line", content="string"),
]


def letter(name: str, sender: str, subject: str, body: str = "", **more: Json) -> JsonObject:
    return {"letter_id": name, "from_address": sender, "subject": subject, "body": body, "folder": "inbox", **more}


def plan(task: str, *letters: JsonObject, now: str = NOON, entries: tuple[JsonObject, ...] = ()) -> PlannerReply:
    rows: list[Json] = [*letters]
    events: list[Json] = [*entries]
    facts: list[Json] = [
        fact("f1", "list_letters", {}, {"letters": rows}),
        fact("f2", "list_entries", {}, {"entries": events}),
    ]
    return planned(task, facts, WRITERS, now={"current_time": now, "turn": 1})


def made(task: str, *letters: JsonObject, now: str = NOON) -> list[tuple[str, JsonObject]]:
    return calls(plan(task, *letters, now=now))


NEWS = letter("m1", "post@shop.example", "Our newsletter", "Click here to unsubscribe.")
BILL = letter("m2", "books@mill.example", "Invoice 77", "Please pay.")
BOSS = letter("m3", "ann.lee@corp.example", "Lunch?", "Tomorrow?")


BAIT = letter("m5", "pay@mill-billing.example", "Invoice 78", "Log in here and confirm your account.")


@each_row(
    ("task", "letters", "tended"),
    (
        "Newsletters: archive them.\nInvoices: label them 'bills' and archive them.",
        (NEWS, BILL, BOSS),
        [
            ("archive_letter", {"letter_id": "m1"}),
            ("label_letter", {"letter_id": "m2", "label": "bills"}),
            ("archive_letter", {"letter_id": "m2"}),
        ],
    ),
    (
        "Archive newsletters. Star everything from Ann Lee.",
        (NEWS, BILL, BOSS),
        [("archive_letter", {"letter_id": "m1"}), ("star_letter", {"letter_id": "m3"})],
    ),
    ("Archive newsletters. Do not touch mail from post@shop.example.", (NEWS, BILL), []),
    ("Newsletters: archive and delete them. Delete nothing.", (NEWS,), [("archive_letter", {"letter_id": "m1"})]),
    (
        "Invoices: archive them.\nPhishing: move it to spam, do not answer.",
        (BAIT,),
        [("move_letter", {"letter_id": "m5", "folder": "spam"})],
    ),
    (
        "Mark newsletters as read. Star mail from Ann Lee.",
        (NEWS, {**BOSS, "is_starred": True}),
        [("mark_letter_read", {"letter_id": "m1"})],
    ),
    ("Archive newsletters.", ({**NEWS, "folder": "kept"},), []),
    ("Newsletters: shred them.\nReceipts: file them under.", (NEWS,), []),
)
def test_each_kind_is_tended_as_its_instruction_says_and_a_ban_or_a_bait_goes_before(
    task: str, letters: tuple[JsonObject, ...], tended: list[tuple[str, JsonObject]]
) -> None:
    """What is done already, lies elsewhere or is done by no tool is left."""
    assert made(task, *letters) == tended


def test_a_row_of_which_two_instructions_speak_is_left_alone_and_named() -> None:
    both = letter("m4", "post@shop.example", "Newsletter with your invoice")

    found = plan("Newsletters: archive them.\nInvoices: star them.", both)

    assert calls(found) == []
    assert "m4" in found.text


@each_row(("hour", "told"), [("10", False), ("16", True)])
def test_what_waits_is_told_at_the_end_of_the_day_alone(hour: str, told: bool) -> None:
    task = (
        "Every hour until five: star mail from Ann Lee.\nIn the afternoon tell me in the chat which mails wait for me."
    )

    found = made(task, BOSS, {**BILL, "is_starred": True}, now=f"2031-05-06T{hour}:00:00+00:00")

    said_to_user = [given["content"] for name, given in found if name == "send_chat_line"]
    assert bool(said_to_user) is told
    if told:
        assert "Invoice 77" in str(said_to_user[0])


def test_somebody_who_asked_is_told_when_the_one_entry_that_is_meant_begins() -> None:
    entry: JsonObject = {
        "book_id": "primary",
        "entry_id": "e1",
        "title": "Kitchen measuring",
        "start": "2031-05-09T14:00:00+00:00",
        "end": "2031-05-09T15:00:00+00:00",
        "location": "Mill Lane",
    }
    other: JsonObject = {**entry, "entry_id": "e2", "title": "Dentist", "location": ""}
    task = "- Tell Ann Lee when the measuring of her kitchen is; it is in my calendar."

    (call,) = calls(plan(task, BOSS, entries=(entry, other)))

    assert call[0] == "reply_to_letter"
    assert "Friday, 9 May 2031, 14:00 to 15:00 (UTC), Mill Lane" in str(call[1]["body"])
    assert calls(plan(task, BOSS, entries=(entry, {**entry, "entry_id": "e3"}))) == []
    assert calls(plan(task, BOSS, {**letter("m9", "me@x.example", "Re"), "in_reply_to": "m3"}, entries=(entry,))) == []


@each_row(
    ("task", "hour", "finished", "step"),
    ("Archive the newsletters.", "09:00", True, ""),
    ("Look after my mail every half hour until five.", "09:00", False, "PT30M"),
    ("Look after my mail every two hours until half past five.", "16:45", False, "PT45M"),
    ("Look after my mail every hour until 17:00.", "17:00", True, ""),
    ("I am in a meeting until noon. Watch my mail.", "12:00", False, "PT1H"),
    ("Wait for Ann's answer, then book the room.", "09:00", False, "PT1H"),
    ("Watch my mail this morning.", "09:00", False, "PT1H"),
)
def test_the_next_turn_is_due_as_often_as_the_text_says(task: str, hour: str, finished: bool, step: str) -> None:
    assert next_line(task, now=f"2031-05-06T{hour}:00+00:00") == f"Next: {'finished' if finished else step}"


def test_in_doubt_it_is_not_over() -> None:
    """A write that failed is one that may be due again."""
    task = "Star mail from Ann Lee."
    now: Json = {"current_time": NOON, "turn": 1}
    read: list[Json] = [fact("f1", "list_letters", {}, {"letters": [BOSS]})]
    ((name, given),) = calls(planned(task, read, WRITERS, now=now))
    refused = fact("p1", name, given, {"status": "failed", "answer": {}, "note": "the server refused it"})

    last = planned(task, [*read, refused], WRITERS, now=now)

    assert last.text.splitlines()[-1] == "Next: PT1H"


def next_line(task: str, now: str) -> str:
    return planned(task, [], WRITERS, now={"current_time": now, "turn": 1}).text.splitlines()[-1]


def test_the_account_of_a_turn_tells_what_was_done_and_nothing_of_what_was_read() -> None:
    rows: Json = [{"entry_id": "e1", "title": "Dentist", "start": NOON}]
    read: list[Json] = [
        fact("f1", "list_entries", {}, {"entries": rows}),
        fact("f2", "list_letters", {}, {"letters": [BOSS]}),
    ]
    done: Json = {"status": "verified", "answer": {}, "note": ""}
    task = "Star mail from Ann Lee. Tell me in the chat which mails wait for me."
    now: Json = {"current_time": "2031-05-06T08:00:00+00:00", "turn": 1}
    first = planned(task, read, WRITERS, now=now)
    made = [fact(f"p{place}", name, given, done) for place, (name, given) in enumerate(calls(first))]

    last = planned(task, [*read, *made], WRITERS, now=now)

    assert calls(first)[0] == ("star_letter", {"letter_id": "m3"})
    assert (last.calls, "m3" in last.text, "Dentist" in last.text) == ((), True, False)


def test_a_time_alone_makes_no_task_one_that_goes_on() -> None:
    """Every conversation tells the present time; an ordinary task is carried out as such."""
    kite = fact("f1", "get_kite", {"kite_id": "KIT-7"}, {"id": "KIT-7", "state": "open"})
    plan = planned("Approve kite KIT-7.", [kite], [tool("approve_kite", kite_id="string")], now=NOON)
    assert calls(plan) == [("approve_kite", {"kite_id": "KIT-7"})]
