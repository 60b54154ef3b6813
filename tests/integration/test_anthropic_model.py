"""The adapter against a server whose transport fails on purpose: every failure is a sentence, none an answer."""

import asyncio
import itertools
import json
import socket
import time
from decimal import Decimal
from email.utils import formatdate
from typing import get_args

import pytest
from pydantic import JsonValue
from structlog.testing import capture_logs

from shared.domain.exact_json import Json, JsonObject, dumps
from shared.infra.anthropic_model import AnthropicModel, ModelLimits
from shared.infra.anthropic_request import MOST_REPLY_CHARACTERS, SCHEMA_INSTRUCTION
from shared.ports.models import (
    Message,
    ModelAway,
    ModelRefused,
    ModelReply,
    ModelRequest,
    ModelUnavailable,
    OpaqueBlock,
    SingleRequestText,
    StopReason,
    TextBlock,
    Tier,
    ToolDefinition,
    ToolResult,
    ToolUse,
)
from tests.doubles.mock_anthropic import GARBAGE, REDIRECT, SILENCE, Asked, Play, cut, error, message, mock_anthropic
from tests.each_row import each_row
from tests.integration.planner_server import model_at

_REQUEST = ModelRequest(Tier.LARGE, ("role", "state"), (Message("user", (TextBlock("hello"),)),))
_THEIRS = "organization acme-42 owes 3 invoices"
_ONCE = ModelLimits(retries=0, pauses=())
_BRIEF = _ONCE._replace(seconds=0.3)
_MARK = ', "cache_control": {"type": "ephemeral"}'
_AT_ONCE = ModelLimits(retries=0, pauses=(0.0, 0.0))
_NO_RETRY = ModelLimits(retries=0)


async def _answer(
    *plays: Play, request: ModelRequest = _REQUEST, limits: ModelLimits | None = None, fallback: str | None = None
) -> tuple[ModelReply, list[Asked]]:
    """The reply to a request, and what the endpoint was asked for it."""
    async with mock_anthropic(*plays) as mock, model_at(mock.url, limits, fallback) as model:
        return await model.complete(request), mock.asked


async def _failure(
    *plays: Play, limits: ModelLimits | None = None, fallback: str | None = None
) -> tuple[ModelUnavailable, int]:
    """How a request fails, and how often the endpoint was asked."""
    async with mock_anthropic(*plays) as mock, model_at(mock.url, limits, fallback) as model:
        with pytest.raises(ModelUnavailable) as failed:
            await model.complete(_REQUEST)
    return failed.value, len(mock.asked)


@pytest.mark.promise("model.failures")
@each_row(
    ("play", "said", "kind"),
    (error(401, "invalid x-api-key"), "refused the API key", ModelUnavailable),
    (error(403), "refused the API key", ModelUnavailable),
    (error(404, "model: x"), "no model", ModelUnavailable),
    (error(408), "overloaded", ModelAway),
    (error(429), "rate limit", ModelAway),
    (error(529), "overloaded", ModelAway),
    (error(500), "on the endpoint's side", ModelAway),
    (error(502), "away", ModelAway),
    (error(503), "away", ModelAway),
    (error(400, "messages: wrong"), "refused the request", ModelUnavailable),
    (error(413), "refused the request", ModelUnavailable),
    (GARBAGE, "no message", ModelUnavailable),
    (Play(200, '{"type": "message"}'), "no message", ModelUnavailable),
    (Play(200, "[1, 2]"), "no message", ModelUnavailable),
    (Play(200, ""), "no message", ModelUnavailable),
    (message(stop_reason=None), "broke off", ModelUnavailable),
    (message(stop_reason="refusal"), "refused to answer", ModelRefused),
    (cut(message("a long answer" * 50)), "could not be reached", ModelAway),
    (SILENCE, "in time", ModelAway),
    (REDIRECT, "redirects (307), which is not followed", ModelUnavailable),
)
async def test_every_failure_is_a_sentence_that_names_its_cause(
    play: Play, said: str, kind: type[ModelUnavailable]
) -> None:
    """Whatever the endpoint does, the caller sees ``ModelUnavailable`` with words for people, and whether it passes."""
    failed, _ = await _failure(play, limits=_BRIEF if play is SILENCE else _ONCE)
    assert said in str(failed)
    assert next((one for one in (ModelAway, ModelRefused) if isinstance(failed, one)), ModelUnavailable) is kind


@pytest.mark.promise("model.failures")
async def test_an_answer_over_the_limit_is_not_read_to_its_end() -> None:
    """A body that never ends would fill the executor's memory; here the rest never comes, and nobody waits for it."""
    endless = Play(200, "x" * (4 * MOST_REPLY_CHARACTERS + 2), sent=4 * MOST_REPLY_CHARACTERS + 1)
    failed, asked = await _failure(endless, limits=_ONCE)
    assert "over the limit" in str(failed)
    assert asked == 1


@pytest.mark.promise("model.words_in_the_log")
@pytest.mark.parametrize(
    "play",
    [*(error(status, _THEIRS) for status in (400, 401, 404, 413, 429, 500, 502, 529)), Play(200, f"<p>{_THEIRS}</p>")],
)
async def test_the_endpoints_own_words_stay_in_the_log(play: Play) -> None:
    """A failure ends a task, and its reason goes to clients: what the provider says of an account is not theirs."""
    with capture_logs() as logged:
        failed, _ = await _failure(play, limits=_ONCE)
    assert _THEIRS not in str(failed)
    assert _THEIRS in str(logged)


@pytest.mark.promise("model.failures")
async def test_a_refused_connection_is_said_to_be_one() -> None:
    """Nobody listens there: the endpoint could not be reached."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    async with model_at(url, _ONCE) as model:
        with pytest.raises(ModelUnavailable, match="could not be reached"):
            await model.complete(_REQUEST)


@each_row(("variable", "scheme"), ("http_proxy", "http://"), ("all_proxy", ""))
async def test_an_endpoint_is_asked_by_the_proxy_that_the_environment_names_unless_it_excepts_it(
    variable: str, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy may be named without its scheme."""
    async with mock_anthropic(message("hello")) as mock:
        with monkeypatch.context() as here:
            here.setenv(variable, mock.url.replace("http://", scheme))
            async with model_at("http://127.0.0.2:9", _ONCE) as model:
                await model.complete(_REQUEST)
            here.setenv("no_proxy", "127.0.0.2")
            async with model_at("http://127.0.0.2:9", _ONCE) as model:
                with pytest.raises(ModelUnavailable, match="could not be reached"):
                    await model.complete(_REQUEST)
    assert [asked.headers["host"] for asked in mock.asked] == ["127.0.0.2:9"]


_NO_YEAR = "retry-after: Fri, 31 Dec 99999 23:59:59 GMT"


@pytest.mark.promise("model.failures")
@pytest.mark.parametrize(
    ("retry", "seconds"),
    [
        ("retry-after: 90", 90),
        ("retry-after-ms: 7500", 7.5),
        ("x-none: 1", None),
        ("retry-after: soon", None),
        (_NO_YEAR, None),
    ],
)
async def test_a_long_wait_that_the_endpoint_asks_for_is_left_to_the_caller(retry: str, seconds: float | None) -> None:
    """Nobody holds a worker for that long; the fallback is asked meanwhile."""
    limits = ModelLimits(retries=0 if seconds is None else 2)
    plays = error(529, retry=retry), error(429, retry=retry)
    away, asked = await _failure(*plays, limits=limits, fallback="other")
    assert isinstance(away, ModelAway)
    assert (away.retry_after, asked) == (seconds, 2)


@pytest.mark.promise("model.failures")
async def test_a_date_to_come_back_at_is_understood() -> None:
    retry = f"retry-after: {formatdate(time.time() + 300, usegmt=True)}"
    away, _ = await _failure(error(429, retry=retry))
    assert isinstance(away, ModelAway)
    assert away.retry_after == pytest.approx(300, abs=60)


@pytest.mark.promise("model.retries")
@pytest.mark.parametrize("status", [429, 500, 529])
async def test_a_passing_failure_is_tried_again(status: int) -> None:
    """Overload that passes is not seen by the caller; one retry means two requests, not more."""
    reply, asked = await _answer(error(status), message("done"))
    assert (reply.text, len(asked)) == ("done", 2)
    assert (await _failure(error(status), error(status), message(), limits=ModelLimits(retries=1)))[1] == 2


@pytest.mark.promise("model.outage")
@pytest.mark.parametrize("away", [cut(message("lost" * 50)), error(502), error(503)])
async def test_an_endpoint_that_is_away_for_a_moment_is_asked_anew(away: Play) -> None:
    """Beyond the SDK's own attempts."""
    reply, asked = await _answer(away, away, message("done"), limits=_AT_ONCE)
    assert (reply.text, len(asked)) == ("done", 3)


@pytest.mark.promise("model.outage")
@pytest.mark.parametrize("play", [GARBAGE, message(stop_reason=None), message(stop_reason="refusal"), error(401)])
async def test_a_reply_that_came_is_not_paid_for_again(play: Play) -> None:
    """Nor is a refusal answered by insisting."""
    _, asked = await _failure(play, limits=_AT_ONCE)
    assert asked == 1


@pytest.mark.promise("model.outage")
async def test_an_endpoint_that_stays_away_is_given_up() -> None:
    failed, asked = await _failure(error(503), limits=_AT_ONCE)
    assert ("away" in str(failed), asked) == (True, 3)


@pytest.mark.promise("model.fallback")
@pytest.mark.parametrize("status", [404, 500, 529])
async def test_the_fallback_serves_where_the_model_is_not_to_be_had(status: int) -> None:
    """The second model is asked the same, after the first one's attempts are used up."""
    plays = error(status), message("from the fallback")
    reply, asked = await _answer(*plays, limits=_NO_RETRY, fallback="other-model")
    assert reply.text == "from the fallback"
    assert [one.body["model"] for one in asked] == ["offline-planner-1", "other-model"]


@pytest.mark.promise("model.fallback")
async def test_a_wrong_key_or_request_does_not_turn_to_the_fallback() -> None:
    """What is wrong with the request is wrong for every model."""
    _, asked = await _failure(error(401), fallback="other-model")
    assert asked == 1


async def test_cancelling_a_call_ends_it() -> None:
    """Cancellation passes through: it is no failure of the model."""
    async with mock_anthropic(SILENCE) as mock, model_at(mock.url) as model:
        asking = asyncio.create_task(model.complete(_REQUEST))
        while not mock.asked:
            await asyncio.sleep(0.01)  # between two looks
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


@pytest.mark.promise("money.exact_from_the_model")
async def test_figures_of_a_call_arrive_digit_for_digit() -> None:
    """What the SDK would make a float of stays the decimal that was written (I8)."""
    use: Json = {"type": "tool_use", "id": "t1", "name": "pay", "input": {"amount": Decimal("0.1000000000000000055")}}
    reply, _ = await _answer(message(stop_reason="tool_use", content=[use]))
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
    schema: dict[str, JsonValue] = {"additionalProperties": False, "properties": {}, "required": [], "type": "object"}
    asked = ModelRequest(Tier.SMALL, ("role", "state"), turns, tools, schema, 77)
    _, (heard,) = await _answer(request=asked)
    body = heard.body
    assert body["system"] == [
        {"type": "text", "text": "role"},
        {"type": "text", "text": "state"},
        {
            "type": "text",
            "text": SCHEMA_INSTRUCTION + json.dumps(schema, separators=(",", ":")),
            "cache_control": {"type": "ephemeral"},
        },
    ]
    assert [("strict" in tool, tool["name"]) for tool in _objects(body["tools"])] == [
        (True, "strict"),
        (False, "loose"),
    ]
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    assert body["tool_choice"] == {"type": "auto"}
    assert body["max_tokens"] == 77
    assert not {"temperature", "top_p", "top_k"} & set(body)
    assert heard.headers["authorization"] == "Bearer sk-test"


_THOUGHT = '{"type": "thinking",  "thinking": "caf\\u00e9 \\n", "signature": "Zm9v/x==", "n": 1.50}'
_UNKNOWN = '{"type":"server_tool_use","id":"s1","name":"web","input":{}}'


@pytest.mark.promise("model.own_blocks")
async def test_a_models_own_blocks_go_back_to_it_byte_for_byte_and_to_no_other() -> None:
    """Thinking, redacted thinking, and kinds of block that nobody here knows."""
    said = '{"content": [], "usage": {"content": 1}, "type": "message", "model": "echo", "stop_reason": "pause_turn"}'
    use = '{"type":"tool_use","id":"t1","name":"look","input":{"b":1,"a":2}}'
    play = Play(200, said.replace("[]", f"[{_THOUGHT} , {_UNKNOWN}, {use}]", 1))
    plays = play, error(529), message()
    async with mock_anthropic(*plays) as mock, model_at(mock.url, _NO_RETRY, "other-model") as model:
        reply = await model.complete(_REQUEST)
        history = (*_REQUEST.messages, Message("assistant", reply.blocks))
        await model.complete(_REQUEST._replace(messages=history))
    _, own, other = (asked.raw.decode() for asked in mock.asked)
    assert reply.stop_reason == "pause_turn"
    assert (reply.model, reply.asked) == ("echo", "offline-planner-1")
    assert f'"content":[{_THOUGHT},{_UNKNOWN},' in own
    assert ("thinking" in other, "server_tool_use" in other, '"id":"t1"' in other) == (False, False, True)


@pytest.mark.promise("model.request")
@pytest.mark.parametrize("reason", get_args(StopReason))
async def test_why_a_reply_ends_is_told_apart(reason: StopReason) -> None:
    reply, _ = await _answer(message("", reason))
    assert (reply.stop_reason, reply.tool_uses, reply.text) == (reason, (), "")


@pytest.mark.promise("model.request")
async def test_a_history_that_grows_is_cached_where_it_ended() -> None:
    """Marks: after the static prefix, the first message, the request before and this one; never more than four."""
    asked = ModelRequest(Tier.LARGE, ("rules",), (Message("user", (TextBlock("task"),)),), will_be_extended=True)
    bodies = []
    async with mock_anthropic() as mock, model_at(mock.url) as model:
        for step in range(4):
            passing = Message("user", (*asked.messages[-1].blocks, SingleRequestText("be brief")))
            await model.complete(asked._replace(messages=(*asked.messages[:-1], passing)))
            use, result = ToolUse(f"t{step}", "look", {}), ToolResult(f"t{step}", "{}")
            turn = Message("assistant", (TextBlock(" "), use)), Message("user", (result,))
            asked = asked._replace(messages=(*asked.messages, *turn))
        bodies = [json.loads(one.raw) for one in mock.asked]
    marked = [[place for place, one in enumerate(body["messages"]) if "cache_control" in str(one)] for body in bodies]
    assert marked == [[0], [0, 2], [0, 2, 4], [0, 4, 6]]
    assert [body["messages"][-1]["content"][-1]["text"] for body in bodies] == ["be brief"] * 4
    assert all("cache_control" in str(body["system"]) for body in bodies)
    assert all(str(body).count("cache_control") <= 4 for body in bodies)
    plain = [json.dumps(body["messages"][:-1]).replace(_MARK, "") for body in bodies]
    assert all(later.startswith(sooner[:-1]) for sooner, later in itertools.pairwise(plain))


@pytest.mark.promise("model.request")
async def test_a_tool_that_asks_not_to_be_strict_is_not() -> None:
    schema: dict[str, JsonValue] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    tools = ToolDefinition("read", "Reads.", schema), ToolDefinition("pay", "Pays.", schema, strict=False)
    _, (heard,) = await _answer(request=_REQUEST._replace(tools=tools))
    assert ["strict" in tool for tool in _objects(heard.body["tools"])] == [True, False]


_CLOSED: dict[str, JsonValue] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


@pytest.mark.promise("model.any_endpoint")
@each_row(
    ("refusal", "field"),
    ("output_config: Extra inputs are not permitted", "output_config"),
    ("output_config.effort: Extra inputs are not permitted", "effort"),
    ("tools.0.custom.strict: Extra inputs are not permitted", "strict"),
    ("system.0.cache_control: Extra inputs are not permitted", "cache_control"),
    ("messages.1.content.0: Invalid `signature` in `thinking` block", "thinking"),
)
async def test_a_field_that_an_endpoint_refuses_by_name_is_left_out_then_and_later(refusal: str, field: str) -> None:
    name = "claude-sonnet-4-6"
    turns = Message("assistant", (OpaqueBlock(_THOUGHT, name),)), Message("user", (TextBlock("go on"),))
    tools = (ToolDefinition("read", "Reads.", _CLOSED),)
    asked = ModelRequest(Tier.LARGE, ("rules",), (*_REQUEST.messages, *turns), tools, _CLOSED, effort="high")
    async with mock_anthropic(error(400, refusal), message("{}")) as mock:
        model = AnthropicModel(dict.fromkeys(Tier, name), "sk-test", mock.url)
        await model.complete(asked)
        await model.complete(asked)
        await model.close()
    assert [f'"{field}"' in one.raw.decode() for one in mock.asked] == [True, False, False]
    fields = {"strict", "cache_control", "effort", "thinking", "format"} - {field, *_WITHIN.get(field, ())}
    assert all(f'"{other}"' in one.raw.decode() for one in mock.asked for other in fields)


_WITHIN = {"output_config": ("effort", "format")}


@pytest.mark.promise("model.any_endpoint")
@pytest.mark.parametrize("refusal", ["messages: at least one", "strict", "thinking", "effort", "output_config"])
async def test_a_refusal_of_what_was_not_sent_is_one(refusal: str) -> None:
    failed, asked = await _failure(error(400, refusal))
    assert ("refused the request" in str(failed), asked) == (True, 1)


@pytest.mark.promise("model.any_endpoint")
@each_row(
    "body",
    {"detail": [{"loc": ["body", "output_config"], "msg": "Extra inputs are not permitted"}]},
    {"error": "unknown field output_config"},
    {"message": "output_config is not supported"},
    {"detail": "output_config?"},
)
async def test_other_servers_forms_of_a_refusal_are_understood(body: JsonObject) -> None:
    plays = Play(422, dumps(body)), message('{"a":1}')
    reply, asked = await _answer(*plays, request=_REQUEST._replace(schema=_CLOSED))
    assert (reply.text, len(asked)) == ('{"a":1}', 2)


@pytest.mark.promise("model.any_endpoint")
@each_row(
    ("said", "read"),
    ('```json\n{"a": 1}\n```', '{"a": 1}'),
    ('Here it is:\n```\n{"a": 1}\n```\nThat is all.', '{"a": 1}'),
    ('{"a": "```json\\n1```"}', '{"a": "```json\\n1```"}'),
    ("no JSON at all", "no JSON at all"),
)
async def test_fences_around_an_answer_of_a_schema_are_taken_off(said: str, read: str) -> None:
    """And nowhere else: an answer in prose may show code."""
    async with mock_anthropic(message(said)) as mock, model_at(mock.url) as model:
        with_schema = await model.complete(_REQUEST._replace(schema=_CLOSED))
        in_prose = await model.complete(_REQUEST)
    assert (with_schema.text, in_prose.text) == (read, said)


@pytest.mark.promise("budget.doubtful_usage")
@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": -7, "output_tokens": "many"}])
async def test_an_odd_usage_is_handed_on_as_it_is_and_no_failure(usage: Json) -> None:
    reply, _ = await _answer(message(usage=usage))
    assert (reply.text, reply.usage.input) == ("done", -7 if usage else 0)


@pytest.mark.promise("strategy.moa.two_drafts")
@pytest.mark.parametrize(("name", "said"), [("claude-sonnet-4-6", {"effort": "high"}), ("claude-haiku-4-5", None)])
async def test_effort_is_asked_of_a_model_that_takes_it_and_of_no_other(name: str, said: dict[str, str] | None) -> None:
    asked = ModelRequest(Tier.SMALL, ("role",), (Message("user", (TextBlock("go"),)),), effort="high")
    async with mock_anthropic() as mock:
        model = AnthropicModel(dict.fromkeys(Tier, name), "sk-test", mock.url)
        await model.complete(asked)
        await model.close()
    assert mock.asked[0].body.get("output_config") == said


def _objects(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
