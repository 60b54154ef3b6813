"""A gateway on a real socket and a real state store, with a scripted worker in the executor's place."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from typing import NamedTuple, cast

import httpx
from arq.constants import job_key_prefix
from pydantic import JsonValue
from redis.asyncio import Redis

from services.executor.adapters.redis_sessions import RedisSessions
from services.executor.adapters.redis_upkeep import Reaper
from services.executor.core.authorize.approval import (
    InvalidDecision,
    add_decision,
    build_approval_request,
    write_approver_brief,
)
from services.executor.ports.turns import Lease, SessionState, Timer, TurnEnd, TurnWork
from services.gateway.bootstrap import build_app
from services.gateway.first_key import create_first_key
from services.gateway.settings import GatewaySettings
from shared.contracts.approval import Approval
from shared.contracts.plan import ArgumentOrigin, PlannedCall, WritePlan
from shared.contracts.policy import TriggeredRule, Verdict
from shared.contracts.task import TaskEvent, TaskRecord, TurnKind
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.domain.words import RuleAction, TaskState, ToolClass
from shared.infra.keys import DOORBELL_KEY, QUEUE_KEY
from shared.infra.redis import connect
from shared.infra.wakes import job_from_bytes
from tests.doubles.heard_wakes import HeardWakes
from tests.http_client import open_http, rpc_body
from tests.serving import listening, serving_on

PATIENCE = 60.0  # a busy machine may take long; nothing waits for it to be over
_LOOK_SECONDS = 3.0


class ScriptedWorker:
    """Ends each turn as its text says; one that begins with one of ``held_words`` waits for ``release``. ``seen`` lists
    the texts as they began.
    """

    held_words: tuple[str, ...] = ("hold",)

    def __init__(self, redis: Redis, url: str) -> None:
        self._bell = connect(url)
        self._sessions = RedisSessions(redis, owner="script", lease_seconds=30)
        self._upkeep = Reaper(redis, HeardWakes())
        self._held: dict[tuple[str, str], bool] = {}  # what is claimed here; was it woken meanwhile?
        self.release = asyncio.Event()
        self.works: list[TurnWork] = []
        self._news = asyncio.Condition()

    @property
    def seen(self) -> list[str]:
        return [work.turn.text for work in self.works]

    async def has_begun(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: len(self.works) >= count)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._reap(group))
            while True:
                await cast(Awaitable[object], self._bell.blpop([DOORBELL_KEY]))
                names = [str(name) for name, _ in await self._bell.zpopmin(QUEUE_KEY, 100)]
                jobs = await self._bell.mget([job_key_prefix + name for name in names]) if names else []
                for job in jobs:
                    group.create_task(self._claim(str(job)))

    async def aclose(self) -> None:
        await self._bell.aclose()

    async def _reap(self, group: asyncio.TaskGroup) -> None:
        """A wake may be lost where the machine is busy: as an executor's reaper, look who waits and was not woken."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            for waiting in (await self._upkeep.find_overdue()).unwoken:
                group.create_task(self._claim_session(waiting.tenant, waiting.session_id))

    async def _claim(self, job: str) -> None:
        tenant, session_id = cast(list[str], job_from_bytes(job.encode())["a"])
        await self._claim_session(tenant, session_id)

    async def _claim_session(self, tenant: str, session_id: str) -> None:
        if (tenant, session_id) in self._held:
            self._held[tenant, session_id] = True
            return
        self._held[tenant, session_id] = True
        while self._held[tenant, session_id]:
            self._held[tenant, session_id] = False
            await self._work_off(tenant, session_id)
        del self._held[tenant, session_id]

    async def _work_off(self, tenant: str, session_id: str) -> None:
        lease = await self._sessions.claim(tenant, session_id)
        while lease and (work := await self._sessions.begin_next_turn(lease)):
            await self._play(lease, work)

    async def _begun(self, work: TurnWork) -> None:
        async with self._news:
            self.works.append(work)
            self._news.notify_all()

    async def _play(self, lease: Lease, work: TurnWork) -> None:
        await self._begun(work)
        script = _script(work)
        if script.startswith(self.held_words):
            await self.release.wait()
        store = self._sessions.turn_store(lease, work)
        record, approval = _asked_or_decided(work, await store.read_approval())
        timer = Timer(approval.deadline, approval.approval_id) if approval else None
        if script.startswith("rest") and work.turn.kind is TurnKind.MESSAGE:
            timer = Timer(record.updated_at + timedelta(hours=1), "quiet:")
            record = _resting(record, timer)
        events = (TaskEvent(kind="phase", at=record.updated_at, data={"phase": "EXECUTE"}),)
        await store.finish(
            TurnEnd(record=record, session=SessionState(), events=events, approval=approval, timer=timer)
        )


def _script(work: TurnWork) -> str:
    """What the worker goes by: the turn's text, or what the request says where all texts are the same."""
    return str(work.record.request.metadata.get("script") or work.turn.text)


def _resting(record: TaskRecord, timer: Timer) -> TaskRecord:
    """``rest ...`` waits for a time, as a task does whose notices heed quiet hours."""
    metadata = {**record.metadata, "waits_until": timer.due.isoformat()}
    return record.model_copy(update={"state": TaskState.WORKING, "reason": "waiting", "metadata": metadata})


def _asked_or_decided(work: TurnWork, asked: Approval | None) -> tuple[TaskRecord, Approval | None]:
    """``gate ...`` asks for an approval as the executor does, and decisions on it count as they do there."""
    record, turn = _ended(work), work.turn
    if turn.text.startswith("gate"):
        plan = WritePlan(task_id=turn.task_id, calls=(a_call(),))
        asked = build_approval_request(plan, a_verdict(), record.requester.id, turn.received_at, hours=1, needed=1)
        waits = {"state": TaskState.INPUT_REQUIRED, "reason": write_approver_brief(asked)}
        return record.model_copy(update=waits), asked
    if turn.kind is not TurnKind.DECISION or asked is None:
        return record, None
    try:
        return record, add_decision(asked, turn, turn.received_at)
    except InvalidDecision as why:
        waits = {"state": TaskState.INPUT_REQUIRED, "reason": f"the decision does not count: {why}"}
        return record.model_copy(update=waits), None


def a_call() -> PlannedCall:
    arguments = '{"amount":12.50,"invoice":"I-1"}'
    origins = (ArgumentOrigin(argument="amount", source="result", ref="f1.amount"),)
    common = {"call_id": "c1", "connection_id": "erp", "tool": "pay_invoice", "tool_class": ToolClass.CHANGE}
    return PlannedCall.model_validate({**common, "arguments_json": arguments, "origins": origins})


def a_verdict() -> Verdict:
    named = {"rule_id": "limit", "policy_id": "p", "level": "manager", "reason": "over the limit"}
    rule = TriggeredRule.model_validate({**named, "action": RuleAction.REQUIRE_APPROVAL})
    asks = Verdict(passed=True, requires_approval=True, escalation_level="manager", policy_hash="p", context_hash="c")
    return asks.model_copy(update={"triggered_rules": (rule,)})


def _ended(work: TurnWork) -> TaskRecord:
    turn = work.turn
    state, answer, reason = _outcome(work)
    part = "model" if turn.text.startswith("down") else None
    return work.record.model_copy(
        update={
            "state": state,
            "answer": answer,
            "reason": reason,
            "metadata": {"process_type": "general", "failed_part": part, **_doubts(work)},
            "turns_done": (*work.record.turns_done, turn.turn_id),
        }
    )


def _doubts(work: TurnWork) -> dict[str, JsonValue]:
    """``doubt ...`` leaves a write in doubt, and whoever resolves it is heeded."""
    if work.turn.text.startswith("doubt"):
        return {"doubts": [{"doubt": "key:1", "call_id": "c1"}]}
    if work.turn.kind is not TurnKind.RESOLUTION:
        return {}
    said: dict[str, JsonValue] = {**work.turn.data, "by": work.turn.principal.id, "at": "noon"}
    return {"doubts": [], "resolutions": [said]}


def _outcome(work: TurnWork) -> tuple[TaskState, str | None, str | None]:
    turn = work.turn
    match turn.kind, (turn.text if turn.kind is TurnKind.DECISION else _script(work)).split(" ")[0]:
        case TurnKind.CANCEL, _:
            return TaskState.CANCELED, None, "canceled before any write"
        case TurnKind.DECISION, "approve":
            return TaskState.COMPLETED, f"approved by {turn.principal.id}", None
        case TurnKind.DECISION, _:
            return TaskState.REJECTED, None, f"rejected by {turn.principal.id}"
        case TurnKind.RESOLUTION, _:
            return TaskState.COMPLETED, f"{turn.principal.id} says {turn.text}", None
        case _, "ask" | "doubt":
            return TaskState.INPUT_REQUIRED, None, "waits for a manager's approval"
        case _, "block":
            return TaskState.REJECTED, None, "blocked by policy limit-1"
        case _, "fail" | "down":
            return TaskState.FAILED, None, "the tool server is down"
        case _ if work.record.request.practice:
            return TaskState.COMPLETED, "read\nNext: PT2H", None
        case _:
            return TaskState.COMPLETED, f"done: {turn.text}", None


class Stage:
    """A gateway, its worker and a client of it."""

    def __init__(self, url: str, client: httpx.AsyncClient, worker: ScriptedWorker, redis: Redis) -> None:
        self.url, self.client, self.worker, self.redis = url, client, worker, redis

    async def rpc(self, method: str, params: object, version: str = "", call_id: object = 1) -> JsonObject:
        headers = {"A2A-Version": version} if version else {}
        response = await self.client.post("/", json=rpc_body(method, params, call_id), headers=headers)
        return loads_object(response.text)

    async def send(self, task_id: str, text: str, **metadata: object) -> JsonObject:
        """``tasks/send`` as the clients in the field write it: no call id, parts with only a text."""
        async with self.sending(task_id, text, **metadata) as response:
            return loads_object((await response.aread()).decode())

    def sending(self, task_id: str, text: str, **metadata: object) -> AbstractAsyncContextManager[httpx.Response]:
        """The same as its status comes, which is when the message was taken in; the answer is still to be read."""
        params = {"id": task_id, "message": {"parts": [{"text": text}]}, "metadata": metadata}
        body = {"jsonrpc": "2.0", "method": "tasks/send", "params": params}
        return self.client.stream("POST", "/", json=body)


@asynccontextmanager
async def gateway(redis_url: str, **settings: object) -> AsyncIterator[str]:
    """A gateway serving on a free port; its URL."""
    async with gateway_on(0, redis_url, **settings) as url:
        yield url


@asynccontextmanager
async def gateway_on(port: int, redis_url: str, **settings: object) -> AsyncIterator[str]:
    with listening(port) as (listener, origin):
        url = f"{origin}/"
        values = {"redis_url": redis_url, "profile": "embedded", "purple_agent_card_url": url, **settings}
        async with serving_on(listener, build_app(GatewaySettings.model_validate(values))):
            yield url


@asynccontextmanager
async def stage(redis: Redis, redis_url: str, **settings: object) -> AsyncIterator[Stage]:
    worker = ScriptedWorker(redis, redis_url)
    async with (
        gateway(redis_url, **settings) as url,
        open_http(base_url=url, timeout=PATIENCE, trust_env=False) as client,
        asyncio.TaskGroup() as group,
    ):
        working = group.create_task(worker.run())
        try:
            yield Stage(url, client, worker, redis)
        finally:
            working.cancel()
    await worker.aclose()


@asynccontextmanager
async def gateway_client(redis_url: str, **settings: object) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway that nobody works for."""
    async with (
        gateway(redis_url, **settings) as url,
        open_http(base_url=url, timeout=PATIENCE, trust_env=False) as client,
    ):
        yield client


LOCKED: Mapping[str, object] = {"authentication": "keys", "profile": "production", "allow_volatile_redis": True}


class Locked(NamedTuple):
    """A gateway that asks for keys; ``operator`` is the key of olga, who operates the tenant acme."""

    play: Stage
    operator: str

    async def post(self, path: str, body: object, key: str = "") -> tuple[int, JsonObject]:
        """By olga unless another key is given."""
        headers = {"Authorization": f"Bearer {key or self.operator}"}
        response = await self.play.client.post(path, json=body, headers=headers)
        return response.status_code, loads_object(response.text)

    async def key(self, principal: str, **wish: object) -> str:
        """A new key of the tenant."""
        status, made = await self.post("/keys/create", {"key": {"principal": principal, **wish}})
        assert status == 201, made
        return str(made["token"])


@asynccontextmanager
async def locked_stage(redis: Redis, redis_url: str, **settings: object) -> AsyncIterator[Locked]:
    made = await create_first_key(redis_url, "acme", "olga", allows_another=False)
    async with stage(redis, redis_url, **{**LOCKED, **settings}) as play:
        yield Locked(play, made.token)


def at(value: Json, path: str) -> Json:
    """The value at a dotted path: ``at(reply, "result.artifacts.0.parts.0.text")``."""
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else _field(value, step)
    return value


def list_at(value: Json, path: str = "") -> list[Json]:
    """The list there, or that the value itself is."""
    found = at(value, path) if path else value
    assert isinstance(found, list), f"{path!r} of {value!r}"
    return found


def object_at(value: Json, path: str = "") -> JsonObject:
    found = at(value, path) if path else value
    assert isinstance(found, dict), f"{path!r} of {value!r}"
    return found


def _field(value: Json, name: str) -> Json:
    assert isinstance(value, dict), f"{name!r} of {value!r}"
    return value[name]
