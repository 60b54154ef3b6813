"""The adapter against a server whose transport fails on purpose: every failure is a sentence, none an answer."""

import asyncio
import socket
from decimal import Decimal

import pytest
from pydantic import JsonValue

from services.executor.ports.models import (
    Message,
    ModelRequest,
    ModelUnavailable,
    TextBlock,
    Tier,
    ToolDefinition,
    ToolResult,
    ToolUse,
)
from shared.domain.exact_json import Json
from shared.infra.anthropic_model import AnthropicModel, Limits
from tests.doubles.mock_anthropic import GARBAGE, SILENCE, Play, cut, error, message, mock_anthropic
from tests.integration.planner_server import model_at

_REQUEST = ModelRequest(Tier.SONNET, ("role", "state"), (Message("user", (TextBlock("hello"),)),))
_BRIEF = Limits(seconds=0.3, connect_seconds=0.3, retries=0, pauses=())
_AT_ONCE = Limits(seconds=10, retries=0, pauses=(0.0, 0.0))


@pytest.mark.promise("model.failures")
@pytest.mark.parametrize(
    ("play", "said"),
    [
        (error(401, "invalid x-api-key"), "refused the API key"),
        (error(404, "model: x"), "no model"),
        (error(429), "rate limit"),
        (error(529), "overloaded"),
        (error(500), "on the endpoint's side"),
        (error(400, "messages: wrong"), "refused the request"),
        (GARBAGE, "no message"),
        (Play(200, '{"type": "message"}'), "no message"),
        (Play(200, "[1, 2]"), "no message"),
        (Play(200, ""), "no message"),
        (message(stop_reason=None), "broke off"),
        (message(stop_reason="refusal"), "refused to answer"),
        (cut(message("a long answer" * 50)), "could not be reached"),
        (SILENCE, "in time"),
    ],
)
async def test_every_failure_is_a_sentence_that_names_its_cause(play: Play, said: str) -> None:
    """Whatever the endpoint does, the caller sees ``ModelUnavailable`` with words for people."""
    async with mock_anthropic(play) as mock, model_at(mock.url, _BRIEF) as model:
        with pytest.raises(ModelUnavailable, match=said):
            await model.complete(_REQUEST)


@pytest.mark.promise("model.failures")
async def test_a_refused_connection_is_said_to_be_one() -> None:
    """Nobody listens there: the endpoint could not be reached."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    async with model_at(url, _BRIEF) as model:
        with pytest.raises(ModelUnavailable, match="could not be reached"):
            await model.complete(_REQUEST)


@pytest.mark.promise("model.retries")
@pytest.mark.parametrize("status", [429, 500, 529])
async def test_a_passing_failure_is_tried_again(status: int) -> None:
    """Overload that passes is not seen by the caller; the number of attempts is bounded."""
    async with mock_anthropic(error(status), message("done")) as mock, model_at(mock.url) as model:
        reply = await model.complete(_REQUEST)
    assert (reply.text, len(mock.asked)) == ("done", 2)


@pytest.mark.promise("model.retries")
async def test_attempts_are_bounded() -> None:
    """One retry means two requests, not more."""
    async with mock_anthropic(error(529)) as mock, model_at(mock.url, Limits(retries=1)) as model:
        with pytest.raises(ModelUnavailable):
            await model.complete(_REQUEST)
    assert len(mock.asked) == 2


@pytest.mark.promise("model.outage")
@pytest.mark.parametrize("away", [cut(message("lost" * 50)), error(502), error(503)])
async def test_an_endpoint_that_is_away_for_a_moment_is_asked_anew(away: Play) -> None:
    """Beyond the SDK's own attempts."""
    async with mock_anthropic(away, away, message("done")) as mock, model_at(mock.url, _AT_ONCE) as model:
        reply = await model.complete(_REQUEST)
    assert (reply.text, len(mock.asked)) == ("done", 3)


@pytest.mark.promise("model.outage")
@pytest.mark.parametrize("play", [GARBAGE, message(stop_reason=None), message(stop_reason="refusal"), error(401)])
async def test_a_reply_that_came_is_not_paid_for_again(play: Play) -> None:
    """Nor is a refusal answered by insisting."""
    async with mock_anthropic(play) as mock, model_at(mock.url, _AT_ONCE) as model:
        with pytest.raises(ModelUnavailable):
            await model.complete(_REQUEST)
    assert len(mock.asked) == 1


@pytest.mark.promise("model.outage")
async def test_an_endpoint_that_stays_away_is_given_up() -> None:
    async with mock_anthropic(error(503)) as mock, model_at(mock.url, _AT_ONCE) as model:
        with pytest.raises(ModelUnavailable, match="away"):
            await model.complete(_REQUEST)
    assert len(mock.asked) == 3


@pytest.mark.promise("model.fallback")
@pytest.mark.parametrize("status", [404, 500, 529])
async def test_the_fallback_serves_where_the_model_is_not_to_be_had(status: int) -> None:
    """The second model is asked the same, after the first one's attempts are used up."""
    plays = error(status), message("from the fallback")
    async with (
        mock_anthropic(*plays) as mock,
        model_at(mock.url, Limits(retries=0), fallback="other-model") as model,
    ):
        reply = await model.complete(_REQUEST)
    assert reply.text == "from the fallback"
    assert [asked.body["model"] for asked in mock.asked] == ["offline-planner-1", "other-model"]


@pytest.mark.promise("model.fallback")
async def test_a_wrong_key_or_request_does_not_turn_to_the_fallback() -> None:
    """What is wrong with the request is wrong for every model."""
    async with mock_anthropic(error(401)) as mock, model_at(mock.url, fallback="other-model") as model:
        with pytest.raises(ModelUnavailable):
            await model.complete(_REQUEST)
    assert len(mock.asked) == 1


async def test_cancelling_a_call_ends_it() -> None:
    """Cancellation passes through: it is no failure of the model."""
    async with mock_anthropic(SILENCE) as mock, model_at(mock.url) as model:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await model.complete(_REQUEST)


@pytest.mark.promise("money.exact_from_the_model")
async def test_figures_of_a_call_arrive_digit_for_digit() -> None:
    """What the SDK would make a float of stays the decimal that was written (I8)."""
    use: Json = {"type": "tool_use", "id": "t1", "name": "pay", "input": {"amount": Decimal("0.1000000000000000055")}}
    async with mock_anthropic(message(stop_reason="tool_use", content=[use])) as mock, model_at(mock.url) as model:
        reply = await model.complete(_REQUEST)
    assert reply.tool_uses[0].input == {"amount": Decimal("0.1000000000000000055")}
    assert reply.usage._asdict() == {"input": 11, "output": 3, "cache_read": 5, "cache_write": 0}


@pytest.mark.promise("model.request")
async def test_the_request_is_what_the_api_takes_now() -> None:
    """A cache breakpoint after the stable prefix, closed tools strict, a schema as output format, no sampling."""
    closed: dict[str, JsonValue] = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    tools = (
        ToolDefinition("strict", "Closed.", {**closed, "additionalProperties": False}),
        ToolDefinition("loose", "Open.", closed),
    )
    turns = (
        Message("user", (TextBlock("go"),)),
        Message("assistant", (ToolUse("t1", "strict", {"id": "1", "amount": Decimal("2.50")}),)),
        Message("user", (ToolResult("t1", "{}", is_error=True),)),
    )
    schema: dict[str, JsonValue] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    asked = ModelRequest(Tier.HAIKU, ("role", "state"), turns, tools, schema, 77)
    async with mock_anthropic() as mock, model_at(mock.url) as model:
        await model.complete(asked)
    body = mock.asked[0].body
    assert body["system"] == [
        {"type": "text", "text": "role"},
        {"type": "text", "text": "state", "cache_control": {"type": "ephemeral"}},
    ]
    assert [("strict" in tool, tool["name"]) for tool in _objects(body["tools"])] == [
        (True, "strict"),
        (False, "loose"),
    ]
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    assert body["tool_choice"] == {"type": "auto"}
    assert body["max_tokens"] == 77
    assert not {"temperature", "top_p", "top_k"} & set(body)
    assert mock.asked[0].headers["authorization"] == "Bearer sk-test"


@pytest.mark.promise("strategy.moa.two_drafts")
@pytest.mark.parametrize(("name", "said"), [("claude-sonnet-4-6", {"effort": "high"}), ("claude-haiku-4-5", None)])
async def test_effort_is_asked_of_a_model_that_takes_it_and_of_no_other(name: str, said: dict[str, str] | None) -> None:
    asked = ModelRequest(Tier.HAIKU, ("role",), (Message("user", (TextBlock("go"),)),), effort="high")
    async with mock_anthropic() as mock:
        model = AnthropicModel(dict.fromkeys(Tier, name), "sk-test", mock.url)
        await model.complete(asked)
        await model.close()
    assert mock.asked[0].body.get("output_config") == said


def _objects(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
