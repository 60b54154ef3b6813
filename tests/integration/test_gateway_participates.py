"""An assessor measures this worker: what its messages come to at the gateway, on a real store."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple, cast

import httpx
import pytest
from cryptography.fernet import Fernet
from pydantic import JsonValue
from redis.asyncio import Redis
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from typing_extensions import override

from services.assessor.adapters.a2a_participant import A2aParticipant
from services.assessor.adapters.a2a_replies import read_replies
from services.assessor.ports.participants import ParticipantFailed
from services.gateway.features.identity.model import Caller
from services.gateway.features.participation import OpenAssessments
from shared.contracts.assessment.messages import (
    DEFAULT_ASSESSMENT_INSTRUCTIONS,
    AssessmentComplete,
    AssessmentStart,
    InitialStateSummary,
    TurnComplete,
    TurnStart,
    parse_participant_reply,
)
from shared.contracts.task import Principal, TaskRecord, TurnKind
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.infra.keys import PARTICIPATION_SECONDS, participation_key
from tests.each_row import each_row
from tests.http_client import open_http
from tests.integration.gateway_stage import Stage, at, gateway, gateway_on, stage
from tests.serving import serving
from tests.sse_reading import rpc_stream

SECRET = "5e" * 32
NOW = "2026-03-02T09:00:00Z"
KEY = Fernet.generate_key().decode()
START: JsonObject = {
    "message_type": "assessment_start",
    "ues_url": "http://127.0.0.1:8080",
    "api_key": SECRET,
    "assessment_instructions": DEFAULT_ASSESSMENT_INSTRUCTIONS,
    "current_time": NOW,
    "initial_state_summary": {},
}
WORDS = "Tend my mail."
COMPLETE: JsonObject = {"message_type": "assessment_complete", "reason": "scenario_complete"}


def _turn(number: int = 1) -> JsonObject:
    return {"message_type": "turn_start", "turn_number": number, "current_time": NOW, "events_processed": 0}


@pytest.fixture(autouse=True)
async def _world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """A world in whose chat the user has asked for something; any path before it is one more world."""

    async def chat(_: Request) -> JSONResponse:
        said = {"message_id": "m1", "conversation_id": "user-assistant", "role": "user", "content": WORDS}
        return JSONResponse({"messages": [{**said, "timestamp": NOW}], "total_count": 1, "returned_count": 1})

    routes = [Route("/chat/query", chat, methods=["POST"]), Route("/other/chat/query", chat, methods=["POST"])]
    async with serving(Starlette(routes=routes)) as url:
        monkeypatch.setitem(START, "ues_url", url)
        yield


class Way(NamedTuple):
    """How one assessor words its messages: where to, in which protocol, as data or as text."""

    path: str = "/"
    version: str = ""
    method: str = "message/send"
    as_text: bool = False

    def body(self, said: JsonObject, message_id: str, context: str | None, metadata: JsonObject) -> JsonObject:
        part: JsonObject = {"text": dumps(said)} if self.as_text else {"data": said}
        message: JsonObject = {"messageId": message_id, "role": "ROLE_USER", "parts": [part]}
        params: JsonObject = {"message": message, "metadata": metadata}
        if self.method.startswith("tasks/"):
            params |= {"id": message_id, "sessionId": context}
        elif context:
            message["contextId"] = context
        return {"jsonrpc": "2.0", "id": 1, "method": self.method, "params": params} if self.method else params


WAYS = {
    "0.3": Way(),
    "0.3 as text": Way(as_text=True),
    "1.0": Way(version="1.0", method="SendMessage"),
    "REST 1.0": Way("/message:send", "1.0", ""),
    "REST 0.3": Way("/v1/message:send", "0.3", ""),
    "tasks/send": Way(method="tasks/send"),
}
_LONG = {"0.3 as text", "REST 1.0", "REST 0.3"}
EACH_WAY = pytest.mark.parametrize(
    "way", [pytest.param(way, marks=[pytest.mark.long] if name in _LONG else [], id=name) for name, way in WAYS.items()]
)
OLD_AND_OLDEST = pytest.mark.parametrize(
    "way", [pytest.param(WAYS["0.3"], id="0.3"), pytest.param(WAYS["tasks/send"], marks=pytest.mark.long, id="legacy")]
)
_COUNT = iter(range(1_000_000))


async def _said(
    play: Stage, said: JsonObject, context: str | None = "c1", way: Way = WAYS["0.3"], **metadata: Json
) -> JsonObject:
    """The answer; each message has an id of its own."""
    headers = {"A2A-Version": way.version} if way.version else {}
    body = way.body(said, f"m{next(_COUNT)}", context, metadata)
    return loads_object((await play.client.post(way.path, json=body, headers=headers)).text)


def _as(name: str) -> JsonObject:
    return {"id": name}


@asynccontextmanager
async def _stage(redis: Redis, redis_url: str, **settings: object) -> AsyncIterator[Stage]:
    async with stage(redis, redis_url, **{"assessment_key": KEY, **settings}) as play:
        yield play


@pytest.fixture
async def play(redis: Redis, redis_url: str) -> AsyncIterator[Stage]:
    async with _stage(redis, redis_url) as running:
        yield running


def _records(play: Stage) -> Sequence[TaskRecord]:
    return [work.record for work in play.worker.works]


async def _everything(redis: Redis) -> bytes:
    """All that is stored, as the server itself writes it down, uncompressed."""
    await redis.config_set("rdbcompression", "no")
    kept = [name.encode() + (await redis.dump(name) or b"") async for name in redis.scan_iter()]
    await redis.config_set("rdbcompression", "yes")
    return b"".join(kept)


@pytest.mark.promise("participant.session", "participant.shapes")
@EACH_WAY
async def test_an_assessment_begins_and_each_turn_is_a_task_of_it(way: Way, play: Stage) -> None:
    """In every dialect. A start takes no executor; a turn's task has the user's words and what the turn says."""
    begun = await _said(play, START, way=way)
    replies = [await _said(play, _turn(number), way=way) for number in (1, 2)]
    assert "The assessment has begun" in dumps(begun)
    turns = _records(play)
    assert [turn.session_id for turn in turns] == ["c1", "c1"]
    assert {turn.request.text for turn in turns} == {WORDS}
    practice = [turn.request.practice for turn in turns]
    assert [(one.turn, one.current_time == one.began) for one in practice if one] == [(1, True), (2, True)]
    assert {turn.request.tools_endpoint for turn in turns} == {turns[0].request.tools_endpoint}
    assert "/worlds/default/c1/" in str(turns[0].request.tools_endpoint)
    for reply in replies:
        assert _answer(reply) == {"message_type": "turn_complete", "notes": "read", "time_step": "PT2H"}


def _answer(reply: JsonObject) -> JsonValue:
    """As our assessor finds it."""
    return read_replies(cast(JsonValue, reply.get("result", reply))).data


@pytest.mark.promise("participant.session")
@OLD_AND_OLDEST
async def test_messages_without_a_context_meet_the_latest_assessment(way: Way, play: Stage) -> None:
    """The public assessor opens a context with every message; another start is another session."""
    for _ in range(2):
        await _said(play, START, None, way)
        for number in (1, 2):
            await _said(play, _turn(number), None, way)
    sessions = [record.session_id for record in _records(play)]
    assert sessions[0] == sessions[1] != sessions[2] == sessions[3]


@pytest.mark.promise("participant.session")
async def test_a_stream_is_told_that_an_assessment_has_begun_and_how_its_turn_goes(play: Stage) -> None:
    told = []
    for said in (START, _turn()):
        params = at(Way().body(said, f"s{next(_COUNT)}", "c1", {}), "params")
        async with rpc_stream(play.client, "message/stream", cast(JsonObject, params)) as reader:
            told.append([event.result for event in await reader.events()])
    begun, turn = told
    assert [update["kind"] for update in begun] == ["message"]
    assert [update["kind"] for update in turn][:1] == ["task"]
    assert at(turn[-2], "artifact.parts.0.data.message_type") == "turn_complete"
    assert at(turn[-1], "final") is True


STREAMS = {
    "0.3": Way(method="message/stream"),
    "1.0": Way(version="1.0", method="SendStreamingMessage"),
    "REST 1.0": Way("/message:stream", "1.0", ""),
    "REST 0.3": Way("/v1/message:stream", "0.3", ""),
    "the early protocol": Way(method="tasks/sendSubscribe"),
}


@pytest.mark.promise("participant.shapes")
async def test_each_kind_of_stream_tells_the_beginning_in_one_event(play: Stage) -> None:
    told = {}
    for name, way in STREAMS.items():
        headers = {"A2A-Version": way.version} if way.version else {}
        body = way.body(START, f"m{next(_COUNT)}", name, {})
        reply = await play.client.post(way.path, json=body, headers=headers)
        told[name] = [line for line in reply.text.splitlines() if line.startswith("data:")]
    assert {name: len(lines) for name, lines in told.items()} == dict.fromkeys(STREAMS, 1)
    assert all("The assessment has begun" in lines[0] for lines in told.values())


@pytest.mark.promise("participant.killed")
async def test_any_replica_answers_for_an_assessment_that_another_began(redis: Redis, redis_url: str) -> None:
    """So one that dies in the middle of it, or comes back, costs no more than the turn that it waited for."""
    async with _stage(redis, redis_url) as play, gateway(redis_url, assessment_key=KEY) as other:
        await _said(play, START)
        async with open_http(base_url=other, timeout=20, trust_env=False) as client:
            turn = await _said(Stage(other, client, play.worker, redis), _turn())
        await _said(play, COMPLETE)
    assert at(turn, "result.status.state") == "completed"
    assert _records(play)[0].session_id == "c1"
    assert await redis.exists(participation_key("default", "c1")) == 0


@pytest.mark.promise("participant.reply")
async def test_our_own_assessors_client_begins_asks_and_ends(redis: Redis, redis_url: str) -> None:
    async with _stage(redis, redis_url) as play, open_http(trust_env=False) as http:
        agent = A2aParticipant(play.url, http)
        start = AssessmentStart.model_validate({**START, "initial_state_summary": InitialStateSummary()})
        await agent.tell(start)
        reply = parse_participant_reply(await agent.ask(TurnStart.model_validate(_turn()), 20))
        await agent.tell(AssessmentComplete(reason="scenario_complete"))
        with pytest.raises(ParticipantFailed, match="no assessment of yours runs in this context"):
            await agent.ask(TurnStart.model_validate(_turn(2)), 20)
    assert reply == TurnComplete(notes="read", time_step="PT2H")


@pytest.mark.promise("assessor.patience", "participant.killed")
async def test_a_lone_gateway_may_restart_between_two_messages_of_our_assessor(redis: Redis, redis_url: str) -> None:
    """The turn that meets nobody there is asked again, and known to the gateway that comes back."""
    away = _Away()
    async with _stage(redis, redis_url), httpx.AsyncClient(trust_env=False, transport=away) as http:
        async with gateway(redis_url, assessment_key=KEY) as url:
            agent = A2aParticipant(url, http)
            await agent.tell(AssessmentStart.model_validate({**START, "initial_state_summary": InitialStateSummary()}))
        async with asyncio.TaskGroup() as group:
            turn = group.create_task(agent.ask(TurnStart.model_validate(_turn()), 20))
            await asyncio.wait_for(away.noticed.wait(), 10)
            async with gateway_on(httpx.URL(url).port or 0, redis_url, assessment_key=KEY):
                await asyncio.wait({turn})
    assert parse_participant_reply(turn.result()) == TurnComplete(notes="read", time_step="PT2H")


class _Away(httpx.AsyncHTTPTransport):
    """``noticed`` is set when a connection was refused."""

    def __init__(self) -> None:
        super().__init__()
        self.noticed = asyncio.Event()

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            return await super().handle_async_request(request)
        except httpx.ConnectError:
            self.noticed.set()
            raise


@pytest.mark.promise("participant.reply")
async def test_the_first_artifact_with_data_answers_a_turn_however_it_ended(play: Stage) -> None:
    """Which is what the public assessor looks for in the task that a blocking call of 0.3 gives it."""
    ends = {"fail": "failed", "block": "rejected", "go": "completed"}
    await _said(play, START)
    replies = [await _said(play, _turn(number), script=script) for number, script in enumerate(ends, start=1)]
    assert [at(reply, "result.status.state") for reply in replies] == list(ends.values())
    assert [at(_first_data(reply), "message_type") for reply in replies] == ["turn_complete"] * 3


def _first_data(reply: JsonObject) -> Json:
    artifacts = cast("list[JsonObject]", at(reply, "result.artifacts"))
    parts = [part for artifact in artifacts for part in cast("list[JsonObject]", artifact["parts"])]
    return next(part["data"] for part in parts if part["kind"] == "data")


@pytest.mark.promise("participant.every_end")
async def test_a_world_that_cannot_be_asked_is_told_at_once(play: Stage) -> None:
    await _said(play, {**START, "ues_url": "http://127.0.0.1:9"})
    reply = await _said(play, _turn())
    told = parse_participant_reply(cast("dict[str, JsonValue]", _answer(reply)))
    assert isinstance(told, TurnComplete)
    assert "the assessed world cannot be asked" in str(told.notes)
    assert play.worker.works == []


@pytest.mark.promise("participant.key_sealed")
async def test_the_key_is_sealed_and_nowhere_else(redis: Redis, play: Stage, capfd: pytest.CaptureFixture[str]) -> None:
    """Not in what is stored, told or logged; whoever has the installation's key opens it, and nobody else."""
    begun = await _said(play, START)
    reply = await _said(play, _turn())
    story = (await play.client.get(f"/tasks/{at(reply, 'result.id')}/events")).text
    stored, logged = await _everything(redis), "".join(capfd.readouterr())
    assert b"ues_url" in stored
    assert SECRET.encode() not in stored
    assert SECRET not in f"{begun}{reply}{story}{logged}"
    kept = OpenAssessments(redis, [KEY])
    running = await kept.find_assessment("default", "c1")
    assert running is not None
    assert (running.turns, kept.decrypt_key(running)) == (1, SECRET)
    assert SECRET not in repr(running)
    assert 0 < await redis.ttl(participation_key("default", "c1")) <= PARTICIPATION_SECONDS


@pytest.mark.promise("participant.walls")
async def test_only_the_installations_key_gives_the_name_of_a_world(redis: Redis) -> None:
    """Tenant, caller and message id are no secrets, and whoever knows the name is in that world."""
    caller, other = Caller("acme", Principal(id="green")), Fernet.generate_key().decode()
    ours, same, others = (
        OpenAssessments(redis, keys).derive_assessment_name(caller, "m1") for keys in ([KEY], [KEY, other], [other])
    )
    assert ours == same != others
    assert ours != OpenAssessments(redis, [KEY]).derive_assessment_name(caller, "m2")


@pytest.mark.promise("participant.no_echo")
async def test_a_start_not_taken_stores_and_tells_nothing(
    redis: Redis, play: Stage, capfd: pytest.CaptureFixture[str]
) -> None:
    wrong: list[JsonObject] = [
        {**START, "current_time": "noon"},
        {**START, "message_type": "assessment_begin"},
        {**START, "assessment_instructions": "Do as you like"},
        {"message": START},
    ]
    refused = [await _said(play, said, way=Way(as_text=as_text)) for said in wrong for as_text in (False, True)]
    assert {at(reply, "error.code") for reply in refused} == {-32602}
    assert all("assessment_start" in str(at(reply, "error.message")) for reply in refused)
    assert SECRET not in f"{refused}{capfd.readouterr()}"
    assert (await redis.keys("*session*"), await redis.keys("*parti*"), play.worker.works) == ([], [], [])


_STRICT = {"profile": "production", "authentication": "off"}


@pytest.mark.promise("participant.guarded")
@each_row(
    ("settings", "taken", "refused"),
    (
        {},
        ["http://127.0.0.1:8080", "http://localhost:8080"],
        [
            "http://10.1.2.3:8080",
            "http://169.254.169.254/latest",
            "http://user:word@127.0.0.1:8080",
            "file:///etc/passwd",
            "http://green.example:8080",
        ],
    ),
    (
        {**_STRICT, "tools_allowed_hosts": "green.example:8080"},
        ["http://green.example:8080"],
        ["http://127.0.0.1:8080", "http://green.example:9090"],
    ),
)
async def test_a_world_lies_where_requests_may_go(
    settings: dict[str, object], taken: list[str], refused: list[str], redis: Redis, redis_url: str
) -> None:
    """Loopback in the embedded profile, else what the operator lists."""
    async with _stage(redis, redis_url, **settings) as play:
        replies = {url: await _said(play, {**START, "ues_url": url}) for url in (*taken, *refused)}
    assert [url for url, reply in replies.items() if "result" in reply] == taken
    told = [str(at(replies[url], "error.message")) for url in refused]
    assert all(words.startswith("assessment_start.ues_url: ") for words in told)


@pytest.mark.promise("participant.turn")
async def test_the_same_turn_again_is_the_same_task(play: Stage) -> None:
    """Also with another message id, as of a client that resends after a time-out."""
    await _said(play, START, None)
    first, again = [await _said(play, _turn(), None) for _ in range(2)]
    following = await _said(play, _turn(2), None)
    assert at(first, "result.id") == at(again, "result.id") != at(following, "result.id")
    assert len(play.worker.works) == 2


@pytest.mark.promise("participant.turn")
@OLD_AND_OLDEST
async def test_a_turn_without_an_assessment_is_refused_in_clear_words(way: Way, play: Stage) -> None:
    refused = await _said(play, _turn(), way=way)
    assert "no assessment of yours runs in this context: send assessment_start first" in dumps(refused)
    assert play.worker.works == []


@pytest.mark.promise("participant.shapes")
async def test_what_only_looks_like_a_turn_is_one_where_an_assessment_runs(play: Stage) -> None:
    untyped = {key: value for key, value in _turn().items() if key != "message_type"}
    await _said(play, untyped)
    await _said(play, START, "c2")
    await _said(play, untyped, "c2")
    assert [record.request.practice is not None for record in _records(play)] == [False, True]


@pytest.mark.promise("participant.takes_over")
@pytest.mark.parametrize("context", ["c1", None])
async def test_a_second_start_takes_over_and_cancels_the_turn(context: str | None, play: Stage) -> None:
    await _said(play, START, context)
    first = await _said(play, _turn(), context, script="rest")
    await _said(play, {**START, "ues_url": f"{START['ues_url']}/other"}, context)
    await play.worker.has_begun(2)
    await _said(play, _turn(), context)
    assert at(first, "result.status.state") == "working"
    stopped, second = play.worker.works[1:]
    assert (stopped.turn.kind, stopped.turn.task_id) == (TurnKind.CANCEL, at(first, "result.id"))
    before, after = stopped.record.request.tools_endpoint, second.record.request.tools_endpoint
    assert before != after


@pytest.mark.promise("participant.ends")
@OLD_AND_OLDEST
async def test_with_its_end_the_key_is_gone_and_the_turn_cancelled(way: Way, redis: Redis, play: Stage) -> None:
    """The end may be told twice: whoever ends an assessment need not know whether it has ended."""
    await _said(play, START, way=way)
    await _said(play, _turn(), way=way, script="rest")
    over = [await _said(play, COMPLETE, way=way) for _ in range(2)]
    await play.worker.has_begun(2)
    refused = await _said(play, _turn(2), way=way)
    assert all("The assessment is over" in dumps(reply) for reply in over)
    assert play.worker.works[1].turn.kind is TurnKind.CANCEL
    assert "no assessment of yours" in dumps(refused)
    assert await redis.exists(participation_key("default", "c1")) == 0


@pytest.mark.promise("participant.walls")
async def test_another_principal_neither_takes_over_nor_takes_turns_nor_ends(play: Stage) -> None:
    await _said(play, START, principal=_as("one"))
    taking, turn = [await _said(play, said, principal=_as("two")) for said in (START, _turn())]
    await _said(play, COMPLETE, principal=_as("two"))
    own = await _said(play, _turn(), principal=_as("one"))
    nowhere = await _said(play, _turn(), None, principal=_as("two"))
    assert "another principal's assessment runs in this context" in str(at(taking, "error.message"))
    assert at(turn, "error.code") == at(nowhere, "error.code") == -32004
    assert at(own, "result.status.state") == "completed"


@pytest.mark.promise("participant.offered")
async def test_without_a_key_to_keep_it_under_an_assessment_is_refused_by_name(redis: Redis, redis_url: str) -> None:
    async with _stage(redis, redis_url, assessment_key="") as play:
        refused = [await _said(play, said) for said in (START, _turn(), COMPLETE)]
    assert [at(reply, "error.code") for reply in refused] == [-32004] * 3
    assert all("ASSESSMENT_KEY is not set" in str(at(reply, "error.message")) for reply in refused)
    assert await redis.keys("*participation*") == []


@pytest.mark.promise("participant.no_echo")
async def test_the_solver_takes_no_start_for_a_question(play: Stage) -> None:
    reply = await play.client.post("/api/a2a/purple-agent", json={"task_id": "t", "task": dumps(START)})
    assert reply.status_code == 422
    assert SECRET not in reply.text
    assert play.worker.works == []
