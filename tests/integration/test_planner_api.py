"""The planner over HTTP: refusals and answers in the form of the Messages API, and whole tasks in generated worlds."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple

import anthropic
import httpx
import pytest
from anthropic.types import MessageParam
from pydantic import JsonValue

from services.planner.bootstrap import build_planner
from services.planner.settings import PlannerSettings
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.infra.anthropic_model import AnthropicModel
from shared.ports.models import Message, Model, ModelRequest, TextBlock, Tier, ToolDefinition, ToolResult
from tests.doubles.generated_tools import World
from tests.each_row import each_row
from tests.integration.planner_server import MODEL, model_at, planner_server

_RULES = "Use the tools to carry the task out; then answer in plain text."
_TURNS = 20


class Offered(NamedTuple):
    """A set of tools: what reads, what writes, and how to call one. ``call`` raises ``ValueError`` to refuse."""

    readers: Sequence[ToolDefinition]
    writers: Sequence[ToolDefinition]
    call: Callable[[str, JsonObject], Json]


async def run(model: Model, task: str, tools: Offered) -> str:
    """Whatever is called is carried out at once, until the model answers in text, which is returned."""
    messages = [Message("user", (TextBlock(task),))]
    offered = (*tools.readers, *tools.writers)
    for _ in range(_TURNS):
        request = ModelRequest(Tier.SMALL, (_RULES,), tuple(messages), offered)
        reply = await model.complete(request._replace(max_tokens=4096))
        if not reply.tool_uses:
            return reply.text
        results = []
        for use in reply.tool_uses:
            answer, is_refused = _called(tools, use.name, use.input)
            results.append(ToolResult(use.id, dumps(answer), is_refused))
        messages += [Message("assistant", reply.blocks), Message("user", tuple(results))]
    raise AssertionError(f"the task did not end in {_TURNS} turns")


def _called(tools: Offered, name: str, arguments: JsonObject) -> tuple[Json, bool]:
    try:
        return tools.call(name, arguments), False
    except ValueError as refusal:
        return {"error": str(refusal)}, True


Body = dict[str, JsonValue]
_HEADERS = {"x-api-key": "sk-test", "anthropic-version": "2023-06-01"}
_USER: Body = {"role": "user", "content": "hello"}
_USE: Body = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
_TOOL: Body = {"name": "look", "input_schema": {"type": "object", "properties": {}}}


def _body(**changes: JsonValue) -> Body:
    whole: Body = {"model": MODEL, "max_tokens": 100, "messages": [_USER]}
    return {name: value for name, value in {**whole, **changes}.items() if value != "absent"}


def _client(settings: PlannerSettings | None = None, headers: dict[str, str] | None = None) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=build_planner(settings or PlannerSettings()))
    chosen = _HEADERS if headers is None else headers
    return httpx.AsyncClient(transport=transport, base_url="http://planner", headers=chosen)


@pytest.fixture
async def api() -> AsyncIterator[httpx.AsyncClient]:
    async with _client() as client:
        yield client


@pytest.mark.promise("planner.refuses_as_the_api")
@each_row(
    ("changes", "said"),
    ({"temperature": 0.5}, "temperature"),
    ({"top_p": 0.5}, "top_p"),
    ({"top_k": 5}, "top_k"),
    ({"max_tokens": "absent"}, "max_tokens: Field required"),
    ({"max_tokens": "many"}, "max_tokens"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": True}, "max_tokens"),
    ({"messages": "absent"}, "messages: Field required"),
    ({"messages": []}, "at least one message"),
    ({"messages": "hello"}, "messages"),
    ({"messages": [{"role": "system", "content": "x"}]}, "role"),
    ({"messages": [{"role": "user", "content": ""}]}, "non-empty"),
    ({"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}, "non-empty"),
    ({"messages": [{"role": "user", "content": 5}]}, "content"),
    ({"messages": [_USER, {"role": "assistant", "content": "["}]}, "prefill"),
    ({"messages": [_USER, {"role": "assistant", "content": [_USE]}, _USER]}, "`tool_result` blocks"),
    ({"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t9"}]}]}, "unexpected"),
    ({"tools": [_TOOL, _TOOL]}, "unique"),
    ({"tools": [{**_TOOL, "name": "a b"}]}, "name"),
    ({"tools": [{"name": "look"}]}, "input_schema"),
    ({"tools": [{**_TOOL, "strict": True}]}, "additionalProperties"),
    ({"tools": {}}, "tools"),
    ({"tool_choice": {"type": "any"}}, "forced"),
    ({"tool_choice": {"type": "tool", "name": "look"}}, "forced"),
    ({"stream": "yes"}, "stream"),
    ({"system": 5}, "system"),
    ({"surprise": 1}, "surprise: Extra inputs"),
    ({"output_config": {"format": {"type": "xml"}}}, "json_schema"),
    ({"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}}, "additionalProperties"),
)
async def test_what_the_api_refuses_is_refused_in_its_words(api: httpx.AsyncClient, changes: Body, said: str) -> None:
    """400 with an ``invalid_request_error`` that names the field."""
    answer = await api.post("/v1/messages", json=_body(**changes))
    error = answer.json()
    assert (answer.status_code, error["type"], error["error"]["type"]) == (400, "error", "invalid_request_error")
    assert said in error["error"]["message"]


@pytest.mark.promise("planner.refuses_as_the_api")
async def test_another_model_a_missing_key_and_an_unknown_path_have_their_own_errors(api: httpx.AsyncClient) -> None:
    """404 ``not_found_error``, 401 ``authentication_error``, 400 without the version header, 413 for too much."""
    other = await api.post("/v1/messages", json=_body(model="claude-something"))
    path = await api.get("/v1/nothing")
    async with _client(headers={}) as anonymous, _client(headers={"x-api-key": "k"}) as versionless:
        nobody = await anonymous.post("/v1/messages", json=_body())
        old = await versionless.post("/v1/messages", json=_body())
    async with _client(PlannerSettings(max_body_bytes=1024)) as narrow:
        big = await narrow.post("/v1/messages", json=_body(system="x" * 2000))
    kinds = [(a.status_code, a.json()["error"]["type"]) for a in (other, path, nobody, old, big)]
    assert kinds == [
        (404, "not_found_error"),
        (404, "not_found_error"),
        (401, "authentication_error"),
        (400, "invalid_request_error"),
        (413, "request_too_large"),
    ]


@pytest.mark.promise("planner.refuses_as_the_api")
@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff\xfe", b"NaN", b'{"model": NaN}', b"[" * 100_000])
async def test_a_body_that_is_no_json_object_is_refused(api: httpx.AsyncClient, raw: bytes) -> None:
    """Never a 500."""
    answer = await api.post("/v1/messages", content=raw)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


async def test_tokens_are_counted_and_the_model_is_listed_for_what_it_is(api: httpx.AsyncClient) -> None:
    """``count_tokens`` needs no ``max_tokens``; nobody takes the planner for a language model."""
    counted = await api.post("/v1/messages/count_tokens", json=_body(max_tokens="absent"))
    listed = (await api.get("/v1/models")).json()
    one = (await api.get(f"/v1/models/{MODEL}")).json()
    missing = await api.get("/v1/models/claude")
    assert counted.json()["input_tokens"] > 0
    assert [model["id"] for model in listed["data"]] == [MODEL]
    assert "not an LLM" in one["display_name"]
    assert missing.status_code == 404
    assert [(await api.get(path)).status_code for path in ("/health", "/ready")] == [200, 200]


async def test_the_official_client_reads_its_streams_and_its_errors() -> None:
    """The same message whole and streamed; the SDK's own error types."""
    turn: MessageParam = {"role": "user", "content": "hello"}
    async with (
        planner_server() as url,
        anthropic.AsyncAnthropic(api_key="sk-test", base_url=url, max_retries=0) as client,
    ):
        whole = await client.messages.create(model=MODEL, max_tokens=99, messages=[turn])
        async with client.messages.stream(model=MODEL, max_tokens=99, messages=[turn]) as stream:
            streamed = await stream.get_final_message()
        with pytest.raises(anthropic.NotFoundError):
            await client.messages.create(model="other", max_tokens=9, messages=[turn])
    assert [b.text for b in whole.content if b.type == "text"] == [b.text for b in streamed.content if b.type == "text"]
    assert streamed.stop_reason == "end_turn"
    assert streamed.usage.output_tokens == whole.usage.output_tokens


async def test_faults_and_latency_are_switched_only_where_that_is_allowed() -> None:
    """Without ``--allow-faults`` there is no switch, and a request's header does nothing."""
    asking = {"x-planner-faults": "truncated"}
    async with _client() as api:
        assert (await api.post("/faults", json={"faults": "truncated"})).status_code == 404
        assert (await api.post("/v1/messages", json=_body(), headers=asking)).json()["stop_reason"] == "end_turn"
    async with _client(PlannerSettings(planner_allow_faults=True)) as api:
        assert (await api.post("/v1/messages", json=_body(), headers=asking)).json()["stop_reason"] == "max_tokens"
        switched = await api.post("/faults", json={"faults": "truncated", "latency_ms": 1})
        assert switched.json() == {"faults": {"truncated": ""}, "latency_ms": 1}
        assert (await api.post("/v1/messages", json=_body())).json()["stop_reason"] == "max_tokens"
        wrong = await api.post("/faults", json={"faults": "rudeness"})
        assert (wrong.status_code, "rudeness" in wrong.json()["error"]["message"]) == (400, True)


_AT_LEAST = 0.8


@pytest.mark.promise("planner.generalises")
@pytest.mark.parametrize("seeds", [30, pytest.param(100, marks=pytest.mark.long)])
async def test_a_read_a_computation_and_a_write_on_generated_tools(
    seeds: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nouns, names, field styles and result shapes come from a seed; the final state is checked, and one write."""
    failed: Counter[str] = Counter()
    async with planner_server() as url, model_at(url) as model:
        for seed in range(seeds):
            failed.update(await _problems(model, World(seed)))
    rate = 1 - failed.total() / seeds
    with capsys.disabled():
        print(f"\nplanner completion over {seeds} generated worlds: {rate:.0%} {dict(failed) or ''}")  # noqa: T201
    assert rate >= _AT_LEAST


async def _problems(model: AnthropicModel, world: World) -> list[str]:
    answer = await run(model, world.task.text, Offered(world.readers, world.writers, world.call))
    return [world.task.kind] if world.problems(answer) else []
