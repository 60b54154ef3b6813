"""What the command line says to a gateway, how it follows a task there, and what it tells a person."""

import re
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from cli.console import CommandError, format_local_time, out
from cli.gateway.client import API_KEY_VARIABLE, GatewayClient, read_key_variable
from cli.gateway.live import LiveEventPrinter, format_detailed_line, format_plain_line
from cli.gateway.messages import Event, OutgoingMessage, Speaker, TaskView, parse_task_view
from cli.learn import split_for_requests
from cli.send import describe_how_to_approve, list_policy_notes, print_task_view, send_and_follow
from cli.stack.plan import StackOptions
from cli.task import print_task
from cli.up import suggest_command
from shared.contracts.learning_files import LearningFile
from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row


def test_a_message_names_its_speaker_and_the_task_it_continues() -> None:
    said = OutgoingMessage("approve", Speaker("dana", ("approver",), ("manager",)), task_id="t-1").build_params()
    message = said["message"]
    assert isinstance(message, dict)
    assert message["taskId"] == "t-1"
    assert said["metadata"] == {"principal": {"id": "dana", "roles": ["approver"], "levels": ["manager"]}}


def test_the_answer_is_the_first_text_of_the_first_artifact_or_else_the_message_of_the_status() -> None:
    result: JsonObject = {
        "id": "t-1",
        "status": {"state": "completed"},
        "artifacts": [{"parts": [{"kind": "text", "text": "Done."}]}, {"parts": [{"text": "a log"}]}],
        "metadata": {"strategy": "fsm"},
    }
    view = parse_task_view(result)
    assert (view.id, view.state, view.answer, view.metadata) == ("t-1", "completed", "Done.", {"strategy": "fsm"})
    view = parse_task_view(
        {"id": "t", "status": {"state": "failed", "message": {"parts": [{"text": "Redis is down."}]}}}
    )
    assert (view.answer, view.is_completed_or_waiting) == ("Redis is down.", False)


def test_an_event_becomes_one_line_that_starts_with_what_it_names_and_the_end_of_a_turn_none() -> None:
    event = Event("1-0", "tool", datetime.now(UTC), {"class": "read", "tool": "get_thing"})
    assert format_detailed_line(event) == "get_thing  class=read"
    assert format_detailed_line(Event("1-0", "turn_finished", datetime.now(UTC), {})) is None


def test_metadata_is_named_as_in_the_gateway_s_own_records_and_counts_in_it_are_whole_numbers() -> None:
    """The official types carry every number as a fraction; `3.0` tool calls are three."""
    metadata: JsonObject = {"modelNotice": "a planner", "approvalId": "a1", "toolCalls": Decimal("3.0")}
    view = parse_task_view({"id": "t", "status": {"state": "completed"}, "metadata": metadata})
    assert view.metadata == {"model_notice": "a planner", "approval_id": "a1", "tool_calls": 3}
    assert isinstance(view.metadata["tool_calls"], int)


_ASKED = {"tool": "get_expense", "tool_class": "read", "connection": "default", "asked": '{"id":"E-1"}', "ok": True}


@pytest.mark.promise("cli.send")
@each_row(
    ("kind", "data", "said"),
    ("state", {"state": "ASSESS", "process_type": "general"}, "ASSESS  reads what it needs"),
    ("state", {"state": "OF_TOMORROW"}, "OF_TOMORROW"),
    ("tool", _ASKED, 'get_expense {"id":"E-1"}'),
    ("tool", {**_ASKED, "asked": None, "ok": False}, "get_expense: it failed"),
    ("tool", {"tool": "pay", "state": "ASSESS", "refused": "not offered"}, "pay: refused, not offered"),
    ("plan", {"calls": ["approve_expense", "notify"], "number": 1}, "approve_expense, notify"),
    ("verdict", {"passed": True, "why": None}, "the rules allow it"),
    ("verdict", {"passed": True, "rules": ["R"], "why": ["Over $500.", "late"]}, "Over $500; late"),
    ("approval", {"status": "waiting", "level": "finance", "deadline": "d"}, "waits for finance"),
    ("approval", {"status": "approved", "by": "dana", "approval_id": "a"}, "approved by dana"),
    ("approval", {"status": "waiting", "doubts": ["c1"]}, "waits for an operator"),
    ("write", {"status": "verified", "call": "c1", "tool": "pay", "note": "read back"}, "pay: verified (read back)"),
    ("write", {"call": "c1", "tool": "pay", "silent": "no answer"}, "pay: no answer"),
    ("note", {"problem": "the archive is away"}, "the archive is away"),
    ("status", {"status": "input-required", "reason": "Many lines"}, "input-required"),
)
def test_a_person_reads_what_happens_without_what_only_operators_need(kind: str, data: JsonObject, said: str) -> None:
    assert format_plain_line(Event("1-0", kind, datetime.now(UTC), data)) == said


@pytest.mark.promise("cli.send")
@each_row(
    ("kind", "data"),
    ("submitted", {"turn_id": "x"}),
    ("phase", {"phase": "PRIME"}),
    ("model", {"step": "talk:1", "tier": "haiku"}),
    ("note", {"strategy": "fsm"}),
    ("insight", {"parts": 1}),
    ("write", {"status": "sent", "call": "c1", "tool": "pay", "note": "the server answered"}),
    ("turn_finished", {}),
    ("of_tomorrow", {"x": 1}),
)
def test_what_only_operators_need_has_no_plain_line(kind: str, data: JsonObject) -> None:
    assert format_plain_line(Event("1-0", kind, datetime.now(UTC), data)) is None


_EVENT = 'id: {id}\nevent: note\ndata: {{"kind": "note", "at": "2026-01-05T12:00:00Z", "data": {{}}}}\n\n'
_FIRST = _EVENT.format(id="1-0")
_LAST_WORDS = ": this replica stops\nretry: 1000\n\n"


class _Body(httpx.AsyncByteStream):
    """What comes of a stream, and then perhaps a break."""

    def __init__(self, text: str, *, breaks: bool) -> None:
        self._text, self._breaks = text, breaks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._text.encode()
        if self._breaks:
            raise httpx.ReadError("the replica is gone")


async def _told(bodies: Sequence[_Body]) -> tuple[list[str], list[str | None]]:
    """The ids that a person sees, and what each request said it had seen."""
    said: list[str | None] = []
    left = iter(bodies)

    def answer(request: httpx.Request) -> httpx.Response:
        said.append(request.headers.get("Last-Event-ID"))
        return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, stream=next(left))

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        client = GatewayClient("http://gateway", http)
        return [event.id async for event in client.stream_events("t1")], said


@pytest.mark.promise("cli.send")
@each_row(("first", "breaks"), [(_FIRST + _LAST_WORDS, False), (_FIRST, True)])
async def test_a_story_goes_on_when_its_replica_leaves_or_breaks(first: str, breaks: bool) -> None:
    ids, said = await _told([_Body(first, breaks=breaks), _Body(_EVENT.format(id="2-0"), breaks=False)])
    assert ids == ["1-0", "2-0"]
    assert said == [None, "1-0"]


@pytest.mark.promise("cli.send")
async def test_the_events_of_a_task_are_read_under_its_own_id_whatever_a_client_has_chosen() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.raw_path.decode())
        return httpx.Response(200, headers={"Content-Type": "text/event-stream"})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        assert [event async for event in GatewayClient("http://gateway", http).stream_events("May 5?#1")] == []
    assert asked == ["/tasks/May%205%3F%231/events"]


@pytest.mark.promise("cli.send")
async def test_a_task_is_named_as_soon_as_it_is_accepted_and_when_its_gateway_stops() -> None:
    """Whoever wants to end it from elsewhere needs its id; nothing says then that no stack ever ran."""
    written, shown = StringIO(), list[str]()

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            shown.append(written.getvalue())
            raise httpx.ConnectError("it is gone")
        return httpx.Response(200, json={"result": {"id": "t1", "status": {"state": "submitted"}}})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        client, story = GatewayClient("http://gateway", http), LiveEventPrinter(Console(file=written))
        with pytest.raises(CommandError) as told:
            await send_and_follow(client, OutgoingMessage("x", Speaker()), story, "")
    assert "task t1" in shown[0]
    assert "Task t1 was accepted" in told.value.sentence
    assert "task show t1" in told.value.sentence


@each_row(("server", "suggests"), [("", "expense claims"), ("http://tools.example/mcp", "--dry-run")])
def test_the_first_command_that_is_suggested_suits_the_tools(server: str, suggests: str) -> None:
    said = suggest_command(StackOptions(Path(), {"GREEN_AGENT_MCP_URL": server}))
    assert suggests in said
    assert ("expense claims" in said) is (not server)


def test_many_entities_are_sent_in_pieces_and_everything_else_whole() -> None:
    rows: list[Json] = [{"kind": "vendor", "value": f"v{number}"} for number in range(600)]
    sent_pieces = split_for_requests(LearningFile.ENTITIES, {"entities": rows})
    sent = [row for _, content in sent_pieces if isinstance(content, dict) for row in _rows(content["entities"])]
    assert (len(sent_pieces), sent) == (3, rows)
    assert split_for_requests(LearningFile.CASE_LOG, rows) == [(LearningFile.CASE_LOG, rows)]
    assert split_for_requests(LearningFile.ENTITIES, "x") == [(LearningFile.ENTITIES, "x")]


def _rows(value: Json) -> list[Json]:
    assert isinstance(value, list)
    return value


PARTS: Json = [{"id": f"P-{number}", "name": "brake pad set", "stock": 3} for number in range(51, 57)]


def _shown(after: Json) -> list[str]:
    doubt: JsonObject = {
        "call_id": "c1",
        "tool": "order_part",
        "arguments": {"part_id": "P-51", "quantity": 5},
        "status": "in_doubt",
        "sent": "2026-11-27T13:40:00Z",
        "before": PARTS,
        "after": after,
    }
    with out.capture() as written:
        print_task({"task_id": "T1", "state": "input-required", "metadata": {"doubts": [doubt]}})
    return written.get().splitlines()


def test_a_doubt_is_a_block_with_one_row_of_a_list_a_line() -> None:
    """Both reads, whole; one that shows the same as before is not printed twice."""
    changed = _shown([{"id": "P-51", "stock": 8}])
    row = '    {"id":"P-51","name":"brake pad set","stock":3}'
    assert 'In doubt: c1 order_part {"part_id":"P-51","quantity":5}: in_doubt' in changed
    assert [line for line in changed if "P-51" in line][1:] == [row, '    {"id":"P-51","stock":8}']
    same = _shown(PARTS)
    assert "  read before and after it:" in same
    assert same.count(row) == 1
    assert _shown({"parts": PARTS}).count(row) == 2
    assert "  read after it: nothing could be read" in _shown(None)


def test_a_time_is_shown_to_the_minute_without_its_zone_and_what_is_none_as_it_is() -> None:
    """Which hour it is depends on the reader's clock."""
    assert re.fullmatch(r"2026-03-0[456] \d\d:07", format_local_time("2026-03-05T10:07:59.123456+00:00"))
    assert [format_local_time(value) for value in (None, "never", 7)] == ["", "never", "7"]


@each_row(
    ("policy", "ruled", "sentences"),
    ('{"rules": []}', {"c1": ["house"]}, 2),
    ('{"rules": []}', {"c1": ["house"], "c2": ["request"]}, 1),
    ('{"rules": []}', {}, 1),
    ("Be kind.", {"c1": ["house"]}, 1),
    (None, {"c1": ["house"]}, 1),
)
def test_rules_without_effect_are_told_below_the_answer(policy: str | None, ruled: JsonObject, sentences: int) -> None:
    metadata: JsonObject = {"policy_notes": ["no such tool is offered"], "verdict": {"ruledCalls": ruled}}
    told = list_policy_notes(metadata, policy)
    assert (told[0], len(told)) == ("Policy: no such tool is offered.", sentences)


WAITS = TaskView("t1", "input-required", "", {"approval_id": "a1", "verdict": {"escalationLevel": "manager"}})


@pytest.mark.promise("cli.send")
def test_a_name_approves_where_names_do_and_a_key_where_keys_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the command reaches another gateway than the usual one."""
    for name in (API_KEY_VARIABLE, "PURPLE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert describe_how_to_approve(WAITS, "") == "purple approvals approve a1 --as NAME --level manager"
    assert describe_how_to_approve(WAITS, "http://127.0.0.1:9110").endswith(" --url http://127.0.0.1:9110")
    monkeypatch.setenv("PURPLE_URL", "http://127.0.0.1:9110")
    assert "--url" not in describe_how_to_approve(WAITS, "http://127.0.0.1:9110")
    monkeypatch.delenv("PURPLE_URL")
    monkeypatch.setenv(API_KEY_VARIABLE, "pa_1_2")
    by_key = "purple approvals approve a1, with an approver's key of level manager in PURPLE_API_KEY"
    assert describe_how_to_approve(WAITS, "") == by_key


def test_a_task_that_goes_on_is_said_to_and_where_to_look(capsys: pytest.CaptureFixture[str]) -> None:
    print_task_view(TaskView("t1", "working", "", {}), "", None, is_answer=False)
    assert "It goes on: purple task show t1" in capsys.readouterr().err


@each_row(("held", "key"), ("pa_1_2\n", "pa_1_2"), (" pa_1_2 ", "pa_1_2"), ("", ""))
def test_a_key_is_read_without_the_white_space_around_it(monkeypatch: pytest.MonkeyPatch, held: str, key: str) -> None:
    """A file that an environment is made of may end with a line break."""
    monkeypatch.setenv(API_KEY_VARIABLE, held)
    assert read_key_variable(API_KEY_VARIABLE) == key


@each_row("held", ["pa_1\nX-Evil: 1", "pa_1_\u00fc", "pa 1"])
def test_a_key_that_no_header_can_carry_is_refused_by_its_variable_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, held: str
) -> None:
    monkeypatch.setenv(API_KEY_VARIABLE, held)
    with pytest.raises(CommandError, match="PURPLE_API_KEY holds") as refused:
        read_key_variable(API_KEY_VARIABLE)
    assert "pa" not in str(refused.value)
