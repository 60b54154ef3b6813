"""The user's text messages."""

import pytest

from services.simulator.core.records import JsonObject
from tests.simulator.modalities.asking import PHONE, do, event_data, fails, part, refused, rows, undo
from tests.simulator.stage import Stage

pytestmark = pytest.mark.promise("simulator.sms")
ANN, BO = "+15551110001", "+15551110002"


async def receive(stage: Stage, body: str = "Hi", sender: str = ANN, **more: object) -> str:
    return await do(stage, "/sms/receive", from_number=sender, to_numbers=[PHONE], body=body, **more)


async def send(stage: Stage, body: str = "Hello", to: tuple[str, ...] = (ANN,), **more: object) -> str:
    return await do(stage, "/sms/send", from_number=PHONE, to_numbers=list(to), body=body, **more)


async def message(stage: Stage, message_id: str) -> JsonObject:
    return part(await stage.get("/sms/state"), "messages", message_id)


async def thread_of(stage: Stage, message_id: str) -> str:
    return str((await message(stage, message_id))["thread_id"])


async def conversation(stage: Stage, thread_id: str) -> dict[str, object]:
    return dict(part(await stage.get("/sms/state"), "conversations", thread_id))


async def event(stage: Stage, **data: object) -> None:
    """An action without a route, which succeeds."""
    queued = await stage.post("/events/immediate", {"modality": "sms", "data": data})
    await stage.post("/simulator/time/advance", {"seconds": 1})
    assert (await stage.get(f"/events/{queued['event_id']}"))["error_message"] is None


async def found(stage: Stage, **asked: object) -> list[object]:
    return [one["body"] for one in rows(await stage.post("/sms/query", asked), "messages")]


async def test_messages_between_two_are_one_conversation(stage: Stage) -> None:
    received = await receive(stage)
    sent = await send(stage)

    state = await stage.get("/sms/state")
    incoming, outgoing = part(state, "messages", received), part(state, "messages", sent)
    assert (incoming["direction"], incoming["is_read"], incoming["delivery_status"]) == ("incoming", False, "delivered")
    assert (outgoing["direction"], outgoing["is_read"], outgoing["delivery_status"]) == ("outgoing", True, "sent")
    assert incoming["thread_id"] == outgoing["thread_id"]
    kept = part(state, "conversations", str(incoming["thread_id"]))
    assert (kept["conversation_type"], kept["message_count"], kept["unread_count"]) == ("one_on_one", 2, 1)
    assert (state["user_phone_number"], state["total_message_count"], state["unread_count"]) == (PHONE, 2, 1)


async def test_more_than_two_are_a_group(stage: Stage) -> None:
    thread = await thread_of(stage, await send(stage, to=(ANN, BO)))
    again = await thread_of(stage, await send(stage, to=(BO, ANN)))

    assert thread == again
    assert (await conversation(stage, thread))["conversation_type"] == "group"


@pytest.mark.promise("simulator.privacy")
async def test_nobody_sends_under_anothers_number(stage: Stage) -> None:
    assert "not the user's number" in await fails(stage, "/sms/send", from_number=ANN, to_numbers=[BO], body="x")
    assert "not come from the user" in await fails(stage, "/sms/receive", from_number=PHONE, to_numbers=[BO], body="x")


async def test_messages_are_read_and_unread_again(stage: Stage) -> None:
    first, second = await receive(stage), await receive(stage)
    await do(stage, "/sms/read", message_ids=[first, second])
    assert (await conversation(stage, await thread_of(stage, first)))["unread_count"] == 0

    await do(stage, "/sms/unread", message_ids=[first])

    unread, read = await message(stage, first), await message(stage, second)
    assert (unread["is_read"], unread["read_at"], unread["delivery_status"]) == (False, None, "delivered")
    assert read["read_at"] == "2026-03-01T09:00:00Z"


async def test_the_log_names_every_message_that_was_read_or_deleted(stage: Stage) -> None:
    both = [await receive(stage), await receive(stage)]
    await do(stage, "/sms/read", message_ids=both)
    await do(stage, "/sms/delete", message_ids=both)

    [read, deleted] = (await event_data(stage))[-2:]
    assert (read["operation"], read["new_status"]) == ("update_delivery_status", "read")
    assert deleted["operation"] == "delete_message"
    assert read["message_ids"] == deleted["message_ids"] == both
    assert read["message_id"] == both[0]


async def test_a_deleted_message_stays_marked_and_unread_no_more(stage: Stage) -> None:
    received = await receive(stage)
    before = await stage.get("/sms/state")

    await do(stage, "/sms/delete", message_ids=[received])

    assert (await message(stage, received))["is_deleted"] is True
    assert (await stage.get("/sms/state"))["unread_count"] == 0
    await undo(stage)
    assert await stage.get("/sms/state") == before


@pytest.mark.promise("simulator.failed_actions")
@pytest.mark.parametrize("path", ["read", "unread", "delete"])
async def test_one_unknown_message_fails_the_whole_action(stage: Stage, path: str) -> None:
    known = await receive(stage)

    assert "no message nothing" in await fails(stage, f"/sms/{path}", message_ids=[known, "nothing"])


async def test_reactions_come_and_go(stage: Stage) -> None:
    received = await receive(stage)
    await do(stage, "/sms/react", message_id=received, phone_number=PHONE, emoji="👍")

    [reaction] = rows(await message(stage, received), "reactions")
    assert (reaction["emoji"], reaction["phone_number"], reaction["message_id"]) == ("👍", PHONE, received)
    assert "already" in await fails(stage, "/sms/react", message_id=received, phone_number=PHONE, emoji="👍")
    assert "no part" in await fails(stage, "/sms/react", message_id=received, phone_number=BO, emoji="👍")

    await event(stage, operation="remove_reaction", message_id=received, reaction_id=reaction["reaction_id"])
    assert (await message(stage, received))["reactions"] == []


async def test_a_reaction_is_removed_without_its_emoji_in_every_shape(stage: Stage) -> None:
    received = await receive(stage)
    whose = {"message_id": received, "phone_number": PHONE}
    shapes: tuple[dict[str, object], ...] = (
        {"operation": "remove_reaction", **whose},
        {"operation": "remove_reaction", **whose, "emoji": ""},
        {"operation": "remove_reaction", "reaction_data": {**whose, "emoji": None}},
        {"action": "remove_reaction", "reaction_data": whose},
        {"operation": "remove_reaction", "message_id": received},
    )
    for data in shapes:
        await do(stage, "/sms/react", **whose, emoji="👍")
        await event(stage, **data)
        assert (await message(stage, received))["reactions"] == []


@pytest.mark.promise("simulator.privacy")
async def test_nobody_reacts_in_anothers_name_who_may_not_let_others_write(stage: Stage) -> None:
    received = await receive(stage)
    user, proctor = await stage.key("sms:react"), await stage.key("sms:react", "sms:receive")
    reaction = {"message_id": received, "emoji": "👍"}

    await stage.post("/sms/react", {**reaction, "phone_number": ANN}, expect=403, key=user.secret)
    await stage.post("/sms/react", {**reaction, "phone_number": PHONE}, key=user.secret)
    await stage.post("/sms/react", {**reaction, "phone_number": ANN}, key=proctor.secret)

    assert len(rows(await message(stage, received), "reactions")) == 2


async def test_only_rich_messages_can_be_edited(stage: Stage) -> None:
    rich, plain = await send(stage, message_type="rcs"), await send(stage)
    await event(stage, operation="edit_message", message_id=rich, new_body="Better")

    assert (await message(stage, rich))["body"] == "Better"
    queued = await stage.post(
        "/events/immediate",
        {"modality": "sms", "data": {"operation": "edit_message", "message_id": plain, "new_body": "x"}},
    )
    await stage.post("/simulator/time/advance", {"seconds": 1})
    assert (await stage.get(f"/events/{queued['event_id']}"))["status"] == "failed"


async def test_groups_are_made_and_people_come_and_go(stage: Stage) -> None:
    await event(
        stage,
        operation="create_group",
        thread_id="g",
        creator_number=PHONE,
        participant_numbers=[ANN, BO],
        group_name="Trip",
    )
    await event(stage, operation="update_group", thread_id="g", group_name="Trip to Rome")
    await event(stage, operation="add_participant", thread_id="g", phone_number="+15551110003")
    await event(stage, operation="remove_participant", thread_id="g", phone_number=BO)
    await event(stage, operation="leave_group", thread_id="g")

    group = part(await stage.get("/sms/state"), "conversations", "g")
    left = {str(one["phone_number"]): one["left_at"] is not None for one in rows(group, "participants")}
    assert left == {PHONE: True, ANN: False, BO: True, "+15551110003": False}
    assert (group["group_name"], group["created_by"]) == ("Trip to Rome", PHONE)


async def test_the_user_keeps_conversations_in_order(stage: Stage) -> None:
    thread = await thread_of(stage, await receive(stage))

    await do(
        stage, "/sms/conversation", thread_id=thread, pin=True, mute=True, draft_message="Dear", mark_all_read=True
    )

    kept = await conversation(stage, thread)
    assert (kept["is_pinned"], kept["is_muted"], kept["is_archived"]) == (True, True, False)
    assert (kept["draft_message"], kept["unread_count"]) == ("Dear", 0)
    await do(stage, "/sms/conversation", thread_id=thread, pin=False, draft_message="")
    kept = await conversation(stage, thread)
    assert (kept["is_pinned"], kept["is_muted"], kept["draft_message"]) == (False, True, None)
    assert "no conversation x" in await fails(stage, "/sms/conversation", thread_id="x", pin=True)


async def test_messages_are_found(stage: Stage) -> None:
    first = await receive(stage, "one two")
    await stage.post("/simulator/time/advance", {"seconds": 60})
    await send(stage, "Three", to=(BO,))
    await receive(stage, "four", sender=BO)

    assert await found(stage) == ["four", "Three", "one two"]
    assert await found(stage, sort_order="asc", limit=1) == ["one two"]
    assert await found(stage, thread_id=await thread_of(stage, first)) == ["one two"]
    assert await found(stage, from_number=BO) == ["four"]
    assert await found(stage, to_number=BO) == ["Three"]
    assert await found(stage, body_contains="THREE") == ["Three"]
    assert await found(stage, direction="outgoing") == ["Three"]
    assert await found(stage, is_read=False) == ["four", "one two"]
    assert await found(stage, delivery_status="sent") == ["Three"]
    assert await found(stage, sent_after="2026-03-01T09:00:01Z") == ["four", "Three"]
    assert await found(stage, sent_before="2026-03-01T09:00:00Z") == ["one two"]
    assert await found(stage, has_attachments=True) == await found(stage, is_deleted=True) == []
    assert len(await found(stage, is_spam=False, message_type="sms")) == 3
    assert await found(stage, sort_by="from_number", sort_order="asc") == ["Three", "one two", "four"]


async def test_the_compact_view_has_no_messages(stage: Stage) -> None:
    await receive(stage)

    state = await stage.get("/sms/state?compact=true")

    assert (state["total_messages"], state["total_conversations"], state["unread_total"]) == (1, 1, 1)
    assert (state["update_count"], state["user_phone_number"]) == (1, PHONE)
    assert "messages" not in state


SHAPES: list[dict[str, object]] = [
    {"operation": "send_message", "from_number": PHONE, "to_numbers": [ANN], "body": "x"},
    {"operation": "send_message", "message_data": {"from_number": PHONE, "to_numbers": [ANN], "body": "x"}},
    {
        "action": "send_message",
        "message_data": {"from_number": PHONE, "to_numbers": [ANN], "body": "x"},
        "reaction_data": None,
    },
]


@pytest.mark.parametrize("data", SHAPES)
async def test_every_shape_an_action_was_written_in_is_read(stage: Stage, data: dict[str, object]) -> None:
    """And stored in the newest."""
    queued = await stage.post("/events", {"scheduled_time": "2026-03-01T09:00:01Z", "modality": "sms", "data": data})
    await stage.post("/simulator/time/advance", {"seconds": 1})

    stored = await stage.get(f"/events/{queued['event_id']}")
    kept = part(stored, "data")
    assert stored["status"] == "executed"
    assert (kept["operation"], kept["from_number"], kept["body"]) == ("send_message", PHONE, "x")
    assert not {"action", "message_data", "reaction_data"} & set(kept)


async def test_older_shapes_of_other_actions_are_read(stage: Stage) -> None:
    received = await receive(stage)
    await event(
        stage, action="add_reaction", reaction_data={"message_id": received, "phone_number": ANN, "emoji": "🎉"}
    )
    await event(stage, operation="update_delivery_status", delivery_data={"message_id": received, "new_status": "read"})

    kept = await message(stage, received)
    assert kept["is_read"] is True
    assert "🎉" in str(kept["reactions"])


@pytest.mark.promise("simulator.refusals")
@pytest.mark.parametrize(
    ("field", "value"), [("from_number", "me"), ("to_numbers", []), ("body", " "), ("message_type", "mms")]
)
async def test_messages_of_the_wrong_shape_are_refused(stage: Stage, field: str, value: object) -> None:
    body = {"from_number": PHONE, "to_numbers": [ANN], "body": "x", field: value}
    await refused(stage, "/sms/send", field, **body)


async def test_the_time_of_sending_is_kept(stage: Stage) -> None:
    early = await receive(stage, sent_at="2026-03-01T08:00:00Z")

    assert (await message(stage, early))["sent_at"] == "2026-03-01T08:00:00Z"
    assert (await message(stage, early))["delivered_at"] == "2026-03-01T09:00:00Z"
