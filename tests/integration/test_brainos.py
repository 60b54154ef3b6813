"""The BrainOS client against a server of ours: what is sent, how a stream is read, and what counts as not available."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from services.executor.adapters.brainos import BrainOS, BrainOSAccount
from services.executor.ports.services import (
    OrchestratorMessage,
    OrchestratorReply,
    OrchestratorResult,
    OrchestratorUnavailable,
    ProposedToolCall,
)
from shared.domain.exact_json import Json, loads
from tests.doubles.mock_brainos import MockBrainOS, Round, answer, call, events, mock_brainos
from tests.each_row import each_row

FIRST = OrchestratorMessage("c-1", "Approve claim C-1", "who you are")
_READ = events({"tool_call": {"name": "get_claim", "params": {"amount": 1}}}).stream.replace(
    '"amount":1', '"amount":1.10'
)


def _asked(tool: str, **params: Json) -> ProposedToolCall:
    return ProposedToolCall(tool, params)


@asynccontextmanager
async def _client(*rounds: Round, seconds: float = 5.0) -> AsyncIterator[tuple[BrainOS, MockBrainOS]]:
    async with mock_brainos(*rounds) as brain:
        client = BrainOS(BrainOSAccount(f"{brain.url}/", "a-key", "org-1"), seconds)
        try:
            yield client, brain
        finally:
            await client.close()


@pytest.mark.promise("brainos.protocol")
async def test_a_message_goes_out_with_its_conversation_context_and_keys() -> None:
    async with _client(answer("yes")) as (client, brain):
        await client.send(FIRST)
    [heard] = brain.heard
    assert heard.path.startswith("POST /api/copilot/chat ")
    sent = {name: heard.headers[name] for name in ("authorization", "x-organization-id", "accept")}
    assert sent == {"authorization": "Bearer a-key", "x-organization-id": "org-1", "accept": "text/event-stream"}
    context = {"systemContext": "who you are"}
    assert heard.body == {"message": "Approve claim C-1", "conversationId": "c-1", "extraParams": context}


@pytest.mark.promise("brainos.protocol")
async def test_a_follow_up_brings_the_results_and_no_context() -> None:
    async with _client(answer("yes")) as (client, brain):
        await client.send(
            OrchestratorMessage("c-1", "Tool results:", results=(OrchestratorResult("get_claim", {"ok": True}),))
        )
    results = [{"name": "get_claim", "result": {"ok": True}}]
    assert brain.heard[0].body == {"message": "Tool results:", "conversationId": "c-1", "toolResults": results}


@pytest.mark.promise("brainos.protocol")
@each_row(
    ("stream", "said"),
    (events({"text": "Hel"}, {"text": "lo"}), OrchestratorReply("Hello")),
    (events({"text": "draft"}, {"answer": "Done"}), OrchestratorReply("Done")),
    (events({"answer": "Done"}, {"text": "."}, {"kept": "alive"}), OrchestratorReply("Done.")),
    (events(call("a", x="1"), {"text": "so"}, call("b")), OrchestratorReply("so", (_asked("a", x="1"), _asked("b")))),
    (Round(f": a comment\n\n{_READ}"), OrchestratorReply("", (_asked("get_claim", amount=loads("1.10")),))),
    (Round('data: [DONE]\n\ndata: {"answer": "late"}\n\n'), OrchestratorReply("")),
)
async def test_a_stream_is_read_to_its_end(stream: Round, said: OrchestratorReply) -> None:
    """``text`` appends, ``answer`` replaces, calls are collected; figures stay exact."""
    async with _client(stream) as (client, _):
        assert await client.send(FIRST) == said


@pytest.mark.promise("brainos.unavailable")
@each_row(
    ("stream", "why"),
    (Round(status=401), "answered 401"),
    (Round(status=500), "answered 500"),
    (Round(status=302), "answered 302"),
    (events({"text": "half"}, ends=False), "cut off"),
    (events({"text": "half"}, ends=False)._replace(cut=True), "cannot be reached"),
    (Round("data: {nonsense\n\n"), "cannot be read"),
    (Round("data: [1]\n\n"), "cannot be read"),
    (Round("<html></html>", kind="text/html"), "no event stream"),
    (events({"answer": {"x": 1}}), "no text"),
    (events({"tool_call": {"params": {}}}), "tool call that is none"),
    (events({"tool_call": {"name": "a", "params": "x"}}), "tool call that is none"),
    (events({"error": "quota"}), "reports an error"),
    (events({"text": "x" * 2_000_000}), "more than"),
)
async def test_a_reply_that_cannot_be_used_is_none(stream: Round, why: str) -> None:
    """What had come by then is dropped: half of what it wanted is not carried out."""
    async with _client(stream) as (client, _):
        with pytest.raises(OrchestratorUnavailable, match=why):
            await client.send(FIRST)


@pytest.mark.promise("brainos.unavailable")
async def test_one_that_does_not_answer_in_time_is_not_available() -> None:
    async with _client(Round(silence=True), seconds=0.1) as (client, _):
        with pytest.raises(OrchestratorUnavailable, match="did not answer within"):
            await client.send(FIRST)


@pytest.mark.promise("brainos.unavailable")
async def test_one_that_cannot_be_reached_is_not_available() -> None:
    async with mock_brainos() as gone:
        url = gone.url
    client = BrainOS(BrainOSAccount(url, "a-key", "org-1"), 5.0)
    with pytest.raises(OrchestratorUnavailable, match="cannot be reached"):
        await client.send(FIRST)
    await client.close()


@pytest.mark.promise("brainos.settings")
def test_the_key_is_in_no_text_of_the_account() -> None:
    assert "a-key" not in repr(BrainOSAccount("http://b", "a-key", "org-1"))
