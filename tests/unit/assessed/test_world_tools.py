"""The bridge: a simulated world as an MCP server, what a call comes to, and what goes wrong."""

import asyncio

import httpx
import pytest
from jsonschema import Draft202012Validator
from typing_extensions import override

from services.assessor.core.permissions import USER_PERMISSIONS
from services.executor.core.records.read_backs import predict_proving_read
from services.executor.ports.tools import ToolSilent
from services.gateway.worlds.tool_calls import OPERATIONS, BridgedWorld, WorldCallStatus, WorldToolCaller
from shared.domain.exact_json import JsonObject, dumps
from shared.domain.words import ToolClass
from tests.http_client import open_http
from tests.unit.assessed.world_stage import URL, USER, WorldStage

ANNA = "anna@corp.example"
BEN = "+15551110000"


@pytest.mark.promise("participant.world_tools")
async def test_each_permission_of_a_users_key_has_its_tool_and_no_tool_needs_another(world: WorldStage) -> None:
    offered = await world.tools.discover(world.connection)

    assert {kind.permission for kind in OPERATIONS.values()} == set(USER_PERMISSIONS)
    assert [tool.name for tool in offered] == sorted(OPERATIONS)
    for tool in offered:
        Draft202012Validator.check_schema(tool.input_schema)
        assert "anyOf" not in dumps(tool.input_schema)
        assert tool.description


@pytest.mark.promise("I1.world_tools")
async def test_whatever_sends_or_alters_is_a_change_and_is_proved_by_a_read(world: WorldStage) -> None:
    """Mail and texts too: they are what the user asked for. Each has a read that can be asked without its answer."""
    offered = await world.tools.discover(world.connection)

    changes = [tool for tool in offered if tool.tool_class is ToolClass.CHANGE]
    reads = {tool.name for tool in offered if tool.tool_class is ToolClass.READ}

    words = {OPERATIONS[name].permission.split(":")[1] for name in reads}
    assert words == {"state", "query", "read"}  # of the clock
    assert len(changes) == 21  # twenty permissions, and answering a mail beside sending one
    for tool in changes:
        found = predict_proving_read(tool, offered)
        assert found is not None
        assert found.reader == OPERATIONS[tool.name].read_back, tool.name


@pytest.mark.promise("participant.world_tools")
async def test_an_answer_stays_in_its_thread(world: WorldStage) -> None:
    asked = await world.mail(ANNA, "Plan")

    await world.said("reply_to_email", message_id=asked, body_text="Friday it is.")

    state = await world.proctor.email.get_state()
    (answer,) = [mail for mail in state.emails.values() if mail.from_address == USER]
    assert (answer.subject, answer.to_addresses, answer.in_reply_to) == ("Re: Plan", (ANNA,), asked)
    assert answer.thread_id == state.emails[asked].thread_id
    replies = await world.said("find_email_replies", message_id=asked)
    assert "Friday it is." in dumps(replies["replies"])


@pytest.mark.promise("participant.world_tools")
@pytest.mark.parametrize(
    ("tool", "more", "reader", "shows"),
    [
        ("star_email", {}, "get_email", {"is_starred": True}),
        ("mark_email_read", {}, "get_email", {"is_read": True}),
        ("archive_email", {}, "get_email", {"folder": "archive"}),
        ("delete_email", {}, "get_email", {"folder": "trash"}),
        ("move_email", {"folder": "spam"}, "get_email", {"folder": "spam"}),
        ("label_email", {"label": "bills"}, "get_email_label", {"present": True}),
    ],
)
async def test_what_is_done_to_a_mail_is_shown_by_its_read(
    world: WorldStage, tool: str, more: dict[str, str], reader: str, shows: dict[str, object]
) -> None:
    mail = await world.mail(ANNA, "Bill")
    asked = {name: value for name, value in more.items() if name == "label"}

    await world.said(tool, message_id=mail, **more)

    shown = await world.said(reader, message_id=mail, **asked)
    assert {name: shown[name] for name in shows} == shows


@pytest.mark.promise("participant.world_tools")
async def test_appointments_are_made_moved_answered_and_deleted(world: WorldStage) -> None:
    made = await world.said(
        "create_calendar_event",
        title="Review",
        start="2031-05-06T10:00:00Z",
        end="2031-05-06T11:00:00Z",
        attendee_emails=[ANNA, USER],
    )
    event = str(made["event_id"])

    await world.said("update_calendar_event", event_id=event, start="2031-05-06T10:15:00+00:00", location="Room 4")
    await world.said("respond_to_invitation", event_id=event, response="tentative")
    moved = await world.said("get_calendar_event", event_id=event)
    answered = await world.said("get_invitation_response", event_id=event)
    await world.said("delete_calendar_event", event_id=event)

    assert (moved["start"], moved["location"]) == ("2031-05-06T10:15:00Z", "Room 4")
    assert moved["invited"] == f"{ANNA}, {USER}"
    assert answered["response"] == "tentative"
    assert (await world.said("get_calendar_event", event_id=event))["exists"] is False


@pytest.mark.promise("participant.world_tools")
async def test_lists_leave_out_what_is_as_usual(world: WorldStage) -> None:
    """What is read of one record tells all."""
    lone, asked = await world.mail(ANNA, "Bill"), await world.mail(ANNA, "Plan")
    await world.said("reply_to_email", message_id=asked, body_text="Friday it is.")
    await world.said("star_email", message_id=lone)
    await world.said("create_calendar_event", title="Call", start="2031-05-07T11:00:00Z", end="2031-05-07T12:00:00Z")
    await world.proctor.sms.receive(from_number=BEN, to_numbers=["+15550000000"], body="Coming?")

    mails = {str(one["message_id"]): one for one in _rows(await world.said("list_emails"), "emails")}
    (event,) = _rows(await world.said("list_calendar_events"), "events")
    (text,) = _rows(await world.said("list_texts"), "texts")
    whole = await world.said("get_email", message_id=asked)

    common = {"message_id", "from_address", "to_addresses", "subject", "body_text", "received_at", "is_read", "folder"}
    assert mails[lone].keys() == common | {"is_starred"}
    assert mails[asked].keys() == common | {"thread_id"}
    assert event.keys() == {"event_id", "title", "start", "end", "organizer"}
    assert text.keys() == {
        "message_id", "thread_id", "from_number", "to_numbers", "body", "direction", "sent_at", "is_read",
    }  # fmt: skip
    assert {"is_starred", "priority", "sent_at", "thread_id"} <= whole.keys()


def _rows(found: JsonObject, name: str) -> list[JsonObject]:
    rows = found[name]
    assert isinstance(rows, list)
    return [row for row in rows if isinstance(row, dict)]


@pytest.mark.promise("participant.world_tools")
async def test_texts_and_chat_are_sent_and_read(world: WorldStage) -> None:
    heard = await world.proctor.sms.receive(from_number=BEN, to_numbers=["+15550000000"], body="Late")

    await world.said("send_text", to_numbers=[BEN], body="No matter.")
    await world.said("mark_text_read", message_id=heard.entity_id)
    await world.said("react_to_text", message_id=heard.entity_id, emoji="👍")
    await world.said("send_chat_message", content="Ben is late.")

    assert (await world.said("find_sent_texts", body="No matter."))["total_count"] == 1
    assert (await world.said("get_text", message_id=heard.entity_id))["is_read"] is True
    assert (await world.said("get_text_reaction", message_id=heard.entity_id, emoji="👍"))["present"] is True
    assert (await world.said("find_chat_answers", content="Ben is late."))["total_count"] == 1


@pytest.mark.promise("participant.world_failures")
async def test_what_cannot_be_done_is_refused_and_nothing_is_begun(world: WorldStage) -> None:
    unknown = await world.call("star_email", message_id="nobody")
    misshapen = await world.call("send_email", to_addresses="all", subject="x", body_text="y")
    invented = await world.call("advance_time", seconds=60)

    assert [reply.result for reply in (unknown, misshapen, invented)] == [WorldCallStatus.NOT_MADE] * 3
    refused = await world.tools.call(world.connection, "star_email", {"message_id": "nobody"}, 5.0)
    assert (refused.is_error, refused.not_begun) == (True, True)


@pytest.mark.promise("participant.world_failures")
async def test_a_lost_answer_is_silence_and_a_call_that_never_left_is_not(world: WorldStage) -> None:
    plan: JsonObject = {"to_addresses": [ANNA], "subject": "Plan", "body_text": "Friday?"}
    world.line.lost["/email/send"] = 1
    with pytest.raises(ToolSilent):
        await world.tools.call(world.connection, "send_email", plan, 5.0)

    world.line.lost["/email/state"] = 1
    unread = await world.tools.call(world.connection, "send_email", plan, 5.0)

    world.line.cut.add("/email/star")
    unsent = await world.call("star_email", message_id=await world.mail(ANNA, "Bill"))
    assert (unread.not_begun, unsent.result) == (True, WorldCallStatus.NOT_MADE)
    assert (await world.said("find_sent_emails", subject="Plan"))["total_count"] == 1


@pytest.mark.promise("participant.world_failures")
async def test_after_the_end_nothing_is_asked_and_a_revoked_key_is_told(world: WorldStage) -> None:
    key = str(world.keys.key)
    await world.proctor.keys.revoke(world.key_id)
    revoked = await world.tools.call(world.connection, "get_time", {}, 5.0)

    world.keys.key = None
    asked = len(world.line.paths)
    ended = await world.tools.call(world.connection, "get_time", {}, 5.0)

    assert (revoked.is_error, "over" in str(revoked.content)) == (True, True)
    assert key not in str(revoked.content)
    assert "no assessment" in str(ended.content)
    assert len(world.line.paths) == asked


@pytest.mark.promise("participant.world_tools")
async def test_any_world_is_bridged_that_a_request_names_with_its_key(world: WorldStage) -> None:
    """Whoever speaks MCP, and over whichever simulator: URL and key come with each request."""
    await world.mail(ANNA, "Bill")
    named = {"X-UES-URL": URL, "X-UES-Key": str(world.keys.key)}

    found = await _ask_bridge(world.bridge, named)
    nameless = await _ask_bridge(world.bridge, {})

    assert "Bill" in found
    assert "X-UES-URL" in nameless


async def _ask_bridge(url: str, headers: dict[str, str], arguments: JsonObject | dict[str, float] | None = None) -> str:
    params = {"name": "list_emails", "arguments": arguments or {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    accepts = {"Accept": "application/json, text/event-stream"}
    async with open_http(trust_env=False) as http:
        return (await http.post(f"{url}/bridge/mcp", json=body, headers={**accepts, **headers})).text


@pytest.mark.promise("participant.world_failures")
@pytest.mark.parametrize("url", ["https://xn--a.example/", "http://[", "http://a b/"])
async def test_a_world_whose_url_is_none_was_certainly_not_asked(world: WorldStage, url: str) -> None:
    reply = await world.calls.call_tool(BridgedWorld(url, "key"), "send_chat_message", {"content": "Hello."}, 5.0)

    assert reply.result is WorldCallStatus.NOT_MADE


@pytest.mark.promise("participant.world_failures")
async def test_an_argument_that_is_a_fraction_is_refused_by_its_name(world: WorldStage) -> None:
    named = {"X-UES-URL": URL, "X-UES-Key": str(world.keys.key)}

    found = await _ask_bridge(world.bridge, named, {"limit": 2.5})

    assert "list_emails was not called: limit" in found


@pytest.mark.promise("I12.world_key")
async def test_a_key_of_any_characters_is_taken_out_of_an_answers_texts_alone() -> None:
    async with WorldToolCaller(transport=Hostile(httpx.Response(400, json={"detail": 'it is a"key'}))) as calls:
        refused = await calls.call_tool(BridgedWorld(URL, 'a"key'), "get_chat", {}, 5.0)
    async with WorldToolCaller(transport=Hostile(httpx.Response(200, json={"total_message_count": 11}))) as calls:
        counted = await calls.call_tool(BridgedWorld(URL, "1"), "get_chat", {}, 5.0)

    assert refused.content == "HTTP 400: it is (the key)"
    assert counted.content == {"total_message_count": 11, "conversation_count": 0}


@pytest.mark.promise("I12.world_key")
async def test_a_world_that_repeats_the_key_or_breaks_off_with_it_in_its_words_does_not_tell_it(
    world: WorldStage,
) -> None:
    await world.mail(ANNA, f"Is it {world.keys.key}?")

    said = await world.said("list_emails", folder="inbox")

    assert str(world.keys.key) not in dumps(said)
    assert "(the key)" in dumps(said)
    key = str(world.keys.key)
    async with WorldToolCaller(transport=Hostile(None, key)) as calls:
        reply = await calls.call_tool(BridgedWorld(URL, key), "get_time", {}, 5.0)

    assert (reply.result, key in str(reply.content)) == (WorldCallStatus.UNKNOWN, False)


class Hostile(httpx.AsyncBaseTransport):
    """A world that answers what nobody expects. Without an answer it breaks off, with words of its own."""

    def __init__(self, answer: httpx.Response | None, words: str = "") -> None:
        self.answer, self.words = answer, words

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.answer is None:
            raise httpx.RemoteProtocolError(f"illegal status line: {self.words}")
        return self.answer


@pytest.mark.promise("participant.world_failures")
@pytest.mark.parametrize("status", [200, 400])
async def test_an_answer_nested_beyond_all_reason_is_an_error_of_the_call(world: WorldStage, status: int) -> None:
    deep = httpx.Response(status, content=b"[" * 200_000)
    async with WorldToolCaller(transport=Hostile(deep)) as calls:
        reply = await calls.call_tool(BridgedWorld(URL, "key"), "get_time", {}, 5.0)

    assert reply.result is not WorldCallStatus.DONE


@pytest.mark.promise("participant.world_failures")
@pytest.mark.parametrize("start", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:00:00-14:00", "soon"])
async def test_an_appointment_at_no_possible_time_is_refused_before_it_is_sent(world: WorldStage, start: str) -> None:
    reply = await world.call("create_calendar_event", title="Plan", start=start, end="2026-03-01T10:00:00Z")

    assert reply.result is WorldCallStatus.NOT_MADE


@pytest.mark.promise("participant.world_tools")
async def test_a_mail_whose_answers_go_elsewhere_says_so(world: WorldStage) -> None:
    """Who plans an answer, and who rules on it, is not left to guess where it goes."""
    for wanted in ("collector@elsewhere.example", ANNA.upper(), None):
        await world.proctor.email.receive(
            from_address=ANNA, to_addresses=[USER], subject=str(wanted), body_text="Hi.", reply_to_address=wanted
        )

    listed = (await world.said("list_emails", folder="inbox"))["emails"]

    shown = {mail["subject"]: mail.get("reply_to_address") for mail in listed if isinstance(mail, dict)}  # type: ignore[union-attr]  # a list
    assert shown["collector@elsewhere.example"] == "collector@elsewhere.example"
    assert {value for subject, value in shown.items() if subject != "collector@elsewhere.example"} == {None}


@pytest.mark.promise("participant.world_tools")
async def test_many_calls_at_once_share_one_line(world: WorldStage) -> None:
    mails = [await world.mail(ANNA, f"Bill {number}") for number in range(5)]

    async with asyncio.TaskGroup() as group:
        for mail in mails:
            group.create_task(world.said("archive_email", message_id=mail))

    assert (await world.said("list_emails", folder="archive"))["total_count"] == 5
    assert world.line.hosts == {"ues"}
