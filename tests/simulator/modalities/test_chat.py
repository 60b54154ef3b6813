"""The user and the assistant."""

import pytest

from services.simulator.core.modalities.chat import ChatModality
from services.simulator.core.modality import EventMoment
from services.simulator.core.records import JsonObject
from tests.doubles.simulated_surroundings import WALL
from tests.each_row import each_row
from tests.simulator.modalities.asking import do, event_data, fails, part, refused, rows
from tests.simulator.stage import Stage

pytestmark = pytest.mark.promise("simulator.chat")


async def say(stage: Stage, content: object, role: str = "user", conversation: str = "user-assistant") -> str:
    return await do(stage, "/chat/send", role=role, content=content, conversation_id=conversation)


async def said(stage: Stage, **asked: object) -> list[object]:
    return [message["content"] for message in rows(await stage.post("/chat/query", asked), "messages")]


async def test_what_is_said_stands_in_its_conversation(stage: Stage) -> None:
    first = await say(stage, "Please clean up my inbox")
    await stage.post("/simulator/time/advance", {"seconds": 60})
    await say(stage, "Done", role="assistant")

    state = await stage.get("/chat/state")

    [message, _] = rows(state, "messages")
    assert (message["message_id"], message["role"], message["metadata"]) == (first, "user", {})
    assert (state["total_message_count"], state["conversation_count"], state["max_history_size"]) == (2, 1, 1000)
    assert part(state, "conversations", "user-assistant") == {
        "conversation_id": "user-assistant",
        "created_at": "2026-03-01T09:00:00Z",
        "last_message_at": "2026-03-01T09:01:00Z",
        "message_count": 2,
        "participant_roles": ["user", "assistant"],
        "user_message_count": 1,
        "assistant_message_count": 1,
    }


async def test_a_conversation_that_is_not_named_is_the_default(stage: Stage) -> None:
    await do(stage, "/chat/send", role="user", content="Hello", metadata={"mood": "good", "why": None})

    [message] = rows(await stage.get("/chat/state"), "messages")
    assert (message["conversation_id"], message["metadata"]) == ("default", {"mood": "good", "why": None})
    assert (await event_data(stage))[0]["operation"] == "send_message"


async def test_content_may_be_blocks(stage: Stage) -> None:
    blocks = [
        {"type": "text", "text": "Look"},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    ]
    await say(stage, blocks)

    assert len(await said(stage, search="LOOK")) == 1
    assert "https://example.org/a.png" in str(await said(stage))


async def test_messages_are_found(stage: Stage) -> None:
    await say(stage, "one")
    await say(stage, "two", role="assistant")
    await say(stage, "three", conversation="other")

    assert await said(stage) == ["one", "two", "three"]
    assert await said(stage, sort_order="desc") == ["three", "two", "one"]
    assert await said(stage, conversation_id="user-assistant") == ["one", "two"]
    assert await said(stage, role="assistant") == ["two"]
    assert await said(stage, search="T") == ["two", "three"]
    assert await said(stage, limit=1, offset=1) == ["two"]
    assert await said(stage, sort_by="role") == ["two", "one", "three"]
    assert await said(stage, since="2026-03-01T09:00:01Z") == []
    assert await said(stage, until="2026-03-01T09:00:00Z") == ["one", "two", "three"]


async def test_a_question_changes_nothing(stage: Stage) -> None:
    """However it sorts: the simulation can still be stopped and started."""
    await say(stage, "one")
    await stage.post("/simulator/time/advance", {"seconds": 1})
    await say(stage, "two")
    before = await stage.get("/chat/state")

    await said(stage, sort_order="desc")

    assert await stage.get("/chat/state") == before
    await stage.post("/simulation/stop")
    await stage.post("/simulation/start", {})


async def test_a_conversation_is_cleared_alone(stage: Stage) -> None:
    await say(stage, "one")
    await say(stage, "two", conversation="other")

    await do(stage, "/chat/clear", conversation_id="other")

    assert list(part(await stage.get("/chat/state"), "conversations")) == ["user-assistant"]
    assert await said(stage) == ["one"]


@pytest.mark.promise("simulator.failed_actions")
async def test_what_is_not_there_cannot_be_deleted(stage: Stage) -> None:
    assert "no message x" in await fails(stage, "/chat/delete", message_id="x")
    assert "no conversation x" in await fails(stage, "/chat/clear", conversation_id="x")


@pytest.mark.promise("simulator.refusals")
@each_row(
    "body",
    {"role": "user", "content": " "},
    {"role": "user", "content": [{"type": "image", "source": {"type": "url"}}]},
    {"role": "user", "content": [{"type": "smell", "text": "x"}]},
)
async def test_a_message_that_says_nothing_is_refused(stage: Stage, body: dict[str, object]) -> None:
    await refused(stage, "/chat/send", "content", **body)


def test_old_messages_make_room_and_come_back_with_undo() -> None:
    chat = ChatModality(WALL)
    exported = chat.export()
    chat.load({**exported, "max_history_size": 2})
    for number in range(2):
        _say(chat, number)
    before = chat.export()

    third = chat.apply(chat.normalise(_message(2)), _moment(2))

    assert [message["content"] for message in rows(chat.export(), "messages")] == ["1", "2"]
    chat.take_back(third.changes)
    assert chat.export() == before


def _say(chat: ChatModality, number: int) -> None:
    chat.apply(chat.normalise(_message(number)), _moment(number))


def _message(number: int) -> JsonObject:
    return {"operation": "send_message", "role": "user", "content": str(number)}


def _moment(number: int) -> EventMoment:
    return EventMoment(f"00000000-0000-0000-0000-{number:012d}", WALL, None)
