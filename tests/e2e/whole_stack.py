"""A whole stack of real processes for one test: started, spoken to, and single processes killed and replaced."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import httpx
from redis.asyncio import Redis

from cli.launcher import Stack, run_stack
from cli.stack.child import Child, wait_until_ready
from cli.stack.plan import StackOptions, find_free_ports
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.infra import keys
from shared.infra.channel_listener import ChannelListener
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from tests.e2e.commands import bare_environment
from tests.e2e.waiting import eventually, is_gone
from tests.http_client import open_http
from tests.redis_server import short_folder

TENANT = "default"


class WholeStack:
    """``http`` speaks to the gateway. Processes that a test starts in a dead one's place stop with the stack."""

    def __init__(self, stack: Stack, redis: Redis, store: TaskStore, http: httpx.AsyncClient) -> None:
        self.stack = stack
        self.redis = redis
        self.store = store
        self.http = http
        self.started: list[Child] = []

    @property
    def database(self) -> Path:
        return self.stack.options.company_database

    async def send(
        self, text: str, task_id: str, door: httpx.AsyncClient | None = None, **metadata: Json
    ) -> JsonObject:
        """One ``tasks/send``, answered when the task has ended or waits; the JSON-RPC result."""
        params: JsonObject = {"id": task_id, "message": {"role": "user", "parts": [{"text": text}]}}
        body = {"jsonrpc": "2.0", "id": task_id, "method": "tasks/send", "params": {**params, "metadata": metadata}}
        answer = loads_object((await (door or self.http).post("/", json=body)).content)
        return cast(JsonObject, answer["result"])

    async def record(self, task_id: str) -> TaskRecord:
        record = await self.store.get_record(TENANT, task_id)
        assert record is not None
        return record

    async def accepted_ms(self, task_id: str) -> int:
        """When Redis accepted the task's first turn: the gateways' own clocks are read before, in any order."""
        async for stream_id, _ in self.store.watch(TENANT, task_id):
            return int(stream_id.partition("-")[0])
        raise AssertionError(f"{task_id} has no event")

    async def event(self, task_id: str, kind: str, **data: Json) -> TaskEvent:
        """The first event of that kind with that data, when it comes."""
        async with asyncio.timeout(20):
            while await self.store.get_record(TENANT, task_id) is None:
                await asyncio.sleep(0.005)
        async for _, event in self.store.watch(TENANT, task_id):
            if event.kind == kind and data.items() <= event.data.items():
                return event
        raise AssertionError(f"no event {kind} {data}")

    async def told(self, task_id: str) -> list[TaskEvent]:
        """Everything that is told of a task, up to the end of its first turn."""
        told: list[TaskEvent] = []
        async for _, event in self.store.watch(TENANT, task_id):
            told.append(event)
            if event.kind == "turn_finished":
                return told
        raise AssertionError(f"{task_id} did not end")

    async def owner(self, session_id: str) -> int:
        """The process that owns a session, as soon as one does."""
        lease = keys.session_keys(TENANT, session_id).lease
        async with asyncio.timeout(20):
            while (owner := await self.redis.hget(lease, "owner")) is None:  # type: ignore[misc]  # sync or async
                await asyncio.sleep(0.005)
        return int(str(owner).split(":")[1])

    async def held_by(self, session_id: str) -> str | None:
        """Who holds a session's lease now."""
        lease = keys.session_keys(TENANT, session_id).lease
        owner: str | None = await self.redis.hget(lease, "owner")  # type: ignore[misc]  # sync or async
        return owner

    async def let_go(self, session_id: str) -> None:
        """Returns when nobody holds the session: its executor lets go just after the answer."""
        async with asyncio.timeout(20):
            while await self.held_by(session_id) is not None:
                await asyncio.sleep(0.005)

    async def planner_faults(self, name: str) -> None:
        """How the planner misbehaves from now on; empty for not at all."""
        url = f"{self.stack.get_url('planner')}/faults"
        (await self.http.post(url, json={"faults": name})).raise_for_status()

    async def planner_latency(self, milliseconds: int) -> None:
        """How long the planner thinks from now on."""
        url = f"{self.stack.get_url('planner')}/faults"
        (await self.http.post(url, json={"latency_ms": milliseconds})).raise_for_status()

    async def faults(self, faults: JsonObject) -> None:
        """How the company's tools misbehave from now on."""
        (await self.http.post(f"{self.stack.get_url('company')}/faults", json=faults)).raise_for_status()

    async def faults_in_force(self) -> JsonObject:
        return loads_object((await self.http.get(f"{self.stack.get_url('company')}/faults")).content)

    async def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        assert await eventually(lambda: is_gone(pid))

    def child(self, name: str) -> Child:
        """The newest process of that name."""
        return [child for child in (*self.stack.children, *self.started) if child.spec.name == name][-1]

    def start_again(self, name: str) -> Child:
        """Another process in the place of a dead one, with the same address and environment."""
        child = Child.start(self.child(name).spec, self.stack.logs)
        self.started.append(child)
        return child

    async def replaced(self, name: str) -> None:
        """Start another process in a dead one's place, and wait until it is ready."""
        await wait_until_ready((self.start_again(name),), 30)

    def executor_of(self, pid: int) -> str:
        return next(child.spec.name for child in (*self.stack.children, *self.started) if child.pid == pid)


@asynccontextmanager
async def whole_stack(executors: int = 1, folder: Path | None = None, **environ: str) -> AsyncIterator[WholeStack]:
    """A stack in a folder of its own (a short one: sockets need that), or again in one that was used before."""
    with short_folder() as fresh:
        (port,) = find_free_ports(1)
        chosen = {**bare_environment(), "ALLOW_FAULTS": "true", **environ}
        options = StackOptions(folder=folder or Path(fresh), environ=chosen, port=port, executors=executors)
        async with run_stack(options) as stack:
            redis = connect(stack.redis_url)
            async with ChannelListener(redis) as live, open_http(base_url=stack.get_url("gateway"), timeout=90) as http:
                whole = WholeStack(stack, redis, TaskStore(redis, live), http)
                try:
                    yield whole
                finally:
                    for child in whole.started:
                        await child.stop()
            await redis.aclose()
