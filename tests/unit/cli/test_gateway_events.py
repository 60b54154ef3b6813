"""Following a task from the command line, whatever becomes of the replica that tells it."""

from collections.abc import AsyncIterator, Sequence
from io import StringIO
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from cli.console import Complaint
from cli.gateway.client import GatewayClient
from cli.gateway.live import LiveStory
from cli.gateway.messages import Speaker, Utterance
from cli.send import send_and_follow
from cli.stack.plan import StackOptions
from cli.up import suggest_command
from tests.each_row import each_row

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
        return [event.id async for event in client.events("t1")], said


@pytest.mark.promise("cli.send")
@each_row(("first", "breaks"), [(_FIRST + _LAST_WORDS, False), (_FIRST, True)])
async def test_a_story_goes_on_when_its_replica_leaves_or_breaks(first: str, breaks: bool) -> None:
    ids, said = await _told([_Body(first, breaks=breaks), _Body(_EVENT.format(id="2-0"), breaks=False)])
    assert ids == ["1-0", "2-0"]
    assert said == [None, "1-0"]


@pytest.mark.promise("cli.send")
async def test_a_gateway_that_stops_while_a_task_is_followed_is_said_with_the_task() -> None:
    """The task was accepted: nothing says that no stack ever ran, and the way back to it is told."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            raise httpx.ConnectError("it is gone")
        return httpx.Response(200, json={"result": {"id": "t1", "status": {"state": "submitted"}}})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        with pytest.raises(Complaint) as told:
            await send_and_follow(GatewayClient("http://gateway", http), Utterance("x", Speaker()), None, "")
    assert "Task t1 was accepted" in told.value.sentence
    assert "task show t1" in told.value.sentence


@pytest.mark.promise("cli.send")
async def test_a_task_is_named_as_soon_as_it_is_accepted() -> None:
    """Whoever wants to end it from elsewhere needs its id, while it is still being done."""
    written, shown = StringIO(), list[str]()

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            shown.append(written.getvalue())
            raise httpx.ConnectError("it is gone")
        return httpx.Response(200, json={"result": {"id": "t1", "status": {"state": "submitted"}}})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        client, story = GatewayClient("http://gateway", http), LiveStory(Console(file=written))
        with pytest.raises(Complaint):
            await send_and_follow(client, Utterance("x", Speaker()), story, "")
    assert "task t1" in shown[0]


@each_row(("server", "suggests"), [("", "expense claims"), ("http://tools.example/mcp", "--dry-run")])
def test_the_first_command_that_is_suggested_suits_the_tools(server: str, suggests: str) -> None:
    said = suggest_command(StackOptions(Path(), {"GREEN_AGENT_MCP_URL": server}))
    assert suggests in said
    assert ("expense claims" in said) is (not server)
