"""The user's mail."""

import pytest

from tests.doubles.simulated_surroundings import WALL
from tests.each_row import each_row
from tests.simulator.modalities.asking import USER, do, fails, part, refused, undo
from tests.simulator.stage import Stage

pytestmark = pytest.mark.promise("simulator.email")
MAIL = {"from_address": "ann@example.org", "to_addresses": [USER], "subject": "Lunch", "body_text": "At noon?"}
OWN = {"from_address": USER, "to_addresses": ["ann@example.org"], "subject": "Lunch", "body_text": "At noon?"}


async def mail(stage: Stage, message_id: str) -> dict[str, object]:
    return dict(part(await stage.get("/email/state"), "emails", message_id))


async def test_mail_that_is_received_lies_unread_in_the_inbox(stage: Stage) -> None:
    received = await do(stage, "/email/receive", **MAIL)

    state = await stage.get("/email/state")
    found = part(state, "emails", received)
    assert (found["folder"], found["is_read"], found["thread_id"]) == ("inbox", False, f"thread-{received}")
    assert found["received_at"] == found["sent_at"] == WALL.isoformat().replace("+00:00", "Z")
    assert part(state, "folders")["inbox"] == [received]
    assert (state["total_email_count"], state["unread_count"]) == (1, 1)


async def test_mail_that_is_sent_lies_read_in_sent(stage: Stage) -> None:
    sent = await do(stage, "/email/send", **OWN, cc_addresses=["bo@example.org"], priority="high")

    found = await mail(stage, sent)
    assert (found["folder"], found["is_read"], found["priority"]) == ("sent", True, "high")
    assert found["cc_addresses"] == ["bo@example.org"]


async def test_the_time_of_sending_is_kept_but_is_never_in_the_future(stage: Stage) -> None:
    early = await do(stage, "/email/receive", **MAIL, sent_at="2026-02-28T23:30:00-05:00")
    late = await do(stage, "/email/receive", **MAIL, sent_at="2027-01-01T00:00:00Z")

    assert (await mail(stage, early))["sent_at"] == "2026-03-01T04:30:00Z"
    assert (await mail(stage, late))["sent_at"] == "2026-03-01T09:00:00Z"


@pytest.mark.promise("simulator.privacy")
async def test_nobody_sends_under_another_name(stage: Stage) -> None:
    said = await fails(stage, "/email/send", **{**OWN, "from_address": "ceo@example.com"})

    assert "ceo@example.com is not the user's address" in said
    await do(stage, "/email/send", **{**OWN, "from_address": "User@Example.com"})


@pytest.mark.promise("simulator.privacy")
async def test_blind_copies_show_in_what_the_user_sent_and_nowhere_else(stage: Stage) -> None:
    sent = await do(stage, "/email/send", **OWN, bcc_addresses=["bo@example.org"])
    received = await do(stage, "/email/receive", **MAIL, bcc_addresses=["eve@example.org"])

    state = await stage.get("/email/state")
    assert part(state, "emails", sent)["bcc_addresses"] == ["bo@example.org"]
    assert part(state, "emails", received)["bcc_addresses"] == []
    assert all("bo@example.org" not in str(thread) for thread in part(state, "threads").values())


async def test_an_answer_joins_the_thread_of_the_mail_it_answers(stage: Stage) -> None:
    first = await do(stage, "/email/receive", **MAIL)
    second = await do(stage, "/email/send", **{**OWN, "subject": "Re: Lunch"}, in_reply_to=first)

    thread = part(await stage.get("/email/state"), "threads", f"thread-{first}")
    assert thread["message_ids"] == [first, second]
    assert (thread["message_count"], thread["unread_count"], thread["subject"]) == (2, 1, "Lunch")
    assert thread["participant_addresses"] == ["ann@example.org", USER]


async def test_replies_know_to_whom_they_go(stage: Stage) -> None:
    first = await do(stage, "/email/receive", **{**MAIL, "cc_addresses": ["bo@example.org", USER]})

    reply = await mail(stage, await do(stage, "/email/reply", in_reply_to=first, body_text="Yes."))
    to_all = await mail(stage, await do(stage, "/email/reply-all", in_reply_to=first, body_text="Yes."))

    assert (reply["to_addresses"], reply["cc_addresses"]) == (["ann@example.org"], [])
    assert (reply["subject"], reply["references"], reply["from_address"]) == ("Re: Lunch", [first], USER)
    assert (to_all["to_addresses"], to_all["cc_addresses"]) == (["ann@example.org"], ["bo@example.org"])
    assert reply["thread_id"] == to_all["thread_id"] == f"thread-{first}"


async def test_what_is_forwarded_carries_text_and_attachments(stage: Stage) -> None:
    file = {"filename": "menu.pdf", "size": 10, "mime_type": "application/pdf"}
    first = await do(stage, "/email/receive", **MAIL, attachments=[file])

    sent = await mail(
        stage,
        await do(stage, "/email/forward", in_reply_to=first, to_addresses=["bo@example.org"], body_text="See below."),
    )

    assert sent["subject"] == "Fwd: Lunch"
    assert "At noon?" in str(sent["body_text"])
    assert "menu.pdf" in str(sent["attachments"])


async def test_a_draft_waits_until_it_is_sent(stage: Stage) -> None:
    draft = await do(stage, "/email/draft", **OWN, message_id="d1")
    await do(stage, "/email/draft", **{**OWN, "subject": "Dinner"}, message_id="d1")
    assert part(await stage.get("/email/state"), "folders")["drafts"] == ["d1"]

    await do(stage, "/email/draft/send", message_id=draft)

    found = await mail(stage, "d1")
    assert (found["folder"], found["subject"]) == ("sent", "Dinner")
    assert "not a draft" in await fails(stage, "/email/draft/send", message_id="d1")


@pytest.mark.parametrize(
    ("path", "more", "field", "value"),
    [
        ("read", {}, "is_read", True),
        ("unread", {}, "is_read", False),
        ("star", {}, "is_starred", True),
        ("unstar", {}, "is_starred", False),
        ("archive", {}, "folder", "archive"),
        ("delete", {}, "folder", "trash"),
        ("spam", {}, "folder", "spam"),
        ("not-spam", {}, "folder", "inbox"),
        ("move", {"folder": "Invoices"}, "folder", "Invoices"),
        ("move", {"folder": "INBOX"}, "folder", "inbox"),
        ("label", {"labels": ["work", "now"]}, "labels", ["work", "now"]),
        ("unlabel", {"labels": ["work"]}, "labels", []),
    ],
)
async def test_what_is_done_to_mail_is_done_to_all_that_is_named_and_can_be_undone(
    stage: Stage, path: str, more: dict[str, object], field: str, value: object
) -> None:
    both = [await do(stage, "/email/receive", **MAIL), await do(stage, "/email/receive", **MAIL)]
    before = await stage.get("/email/state")

    await do(stage, f"/email/{path}", message_ids=both, **more)
    assert [(await mail(stage, key))[field] for key in both] == [value, value]

    await undo(stage)
    assert await stage.get("/email/state") == before


@pytest.mark.promise("simulator.failed_actions")
@pytest.mark.parametrize("path", ["read", "unread", "star", "unstar", "archive", "delete", "spam", "not-spam"])
async def test_one_unknown_message_fails_the_whole_action(stage: Stage, path: str) -> None:
    known = await do(stage, "/email/receive", **MAIL)

    assert "no message nothing" in await fails(stage, f"/email/{path}", message_ids=[known, "nothing"])


async def test_a_folder_that_was_made_stays_and_counts(stage: Stage) -> None:
    received = await do(stage, "/email/receive", **MAIL)
    await do(stage, "/email/move", message_ids=[received], folder="Invoices")
    await do(stage, "/email/archive", message_ids=[received])

    assert part(await stage.get("/email/state"), "folders")["Invoices"] == []


@pytest.mark.parametrize("view", ["compact", "summary"])
async def test_the_compact_view_counts_and_shortens(stage: Stage, view: str) -> None:
    received = await do(stage, "/email/receive", **{**MAIL, "body_text": "word " * 100})
    await do(stage, "/email/label", message_ids=[received], labels=["work"])

    state = await stage.get(f"/email/state?{view}=true")

    assert part(state, "folders", "inbox") == {"message_count": 1, "unread_count": 1}
    assert state["labels"] == {"work": 1}
    assert part(state, "statistics")["total_unread"] == 1
    found = part(state, "emails", received)
    assert (found["from"], found["to"]) == ("ann@example.org", [USER])
    assert len(str(found["body_preview"])) <= 100
    assert "body_text" not in found


@pytest.mark.promise("simulator.refusals")
@each_row(
    ("field", "value"),
    ("from_address", "not an address"),
    ("to_addresses", []),
    ("to_addresses", ["ann"]),
    ("subject", " "),
    ("body_text", ""),
    ("priority", "urgent"),
    ("attachments", [{"filename": "a", "size": 0}]),
)
async def test_mail_of_the_wrong_shape_is_refused_with_its_field(stage: Stage, field: str, value: object) -> None:
    await refused(stage, "/email/send", field, **{**OWN, field: value})


async def test_events_carry_what_has_no_route_of_its_own(stage: Stage) -> None:
    received = await do(stage, "/email/receive", **MAIL)
    data = {"operation": "mark_spam", "message_id": received}

    await stage.post("/events/immediate", {"modality": "email", "data": data})
    await stage.post("/simulator/time/advance", {"seconds": 1})

    assert (await mail(stage, received))["folder"] == "spam"
    await stage.post("/events/immediate", {"modality": "email", "data": {"operation": "burn"}}, expect=422)
