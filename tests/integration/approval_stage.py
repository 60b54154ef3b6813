"""A gateway on a real socket, a real state store, and the executor's own core behind it, with a scripted model."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.adapters.redis_upkeep import Reaper
from services.executor.ports.turns import Lease, TurnWork
from services.gateway.first_key import create_first_key
from shared.contracts.policy import TriggeredRule
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.words import RuleAction
from shared.infra.wakes import ArqWakes
from tests.http_client import open_http
from tests.integration.gateway_stage import PATIENCE, ScriptedWorker, gateway, list_at
from tests.unit.executor.stage import TASK, Stage

SHORTLY = timedelta(milliseconds=300) / timedelta(hours=1)  # hours, as a tenant's record counts


class CoreWorker(ScriptedWorker):
    """Carries turns out as an executor does, in the small world of a stage."""

    def __init__(self, redis: Redis, url: str, world: Stage) -> None:
        super().__init__(redis, url)
        self._world, self._reaper = world, Reaper(redis, ArqWakes(redis))

    @override
    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run())
            group.create_task(self._look_after())

    async def _look_after(self) -> None:
        while True:
            await self._reaper.repair_once()
            await asyncio.sleep(0.05)

    @override
    async def _play(self, lease: Lease, work: TurnWork) -> None:
        await self._begun(work)
        await self._world.worker.run(work, self._sessions.turn_store(lease, work))


class Office:
    """People of a tenant who speak with the gateway over HTTP, each by a key of their own."""

    def __init__(self, client: httpx.AsyncClient, world: Stage, tokens: dict[str, str]) -> None:
        self.client, self.world, self._tokens = client, world, tokens

    async def ask(self, task_id: str = "t1", by: str = "anna") -> JsonObject:
        params = {"id": task_id, "message": {"parts": [{"text": TASK}]}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": params}
        return (await self.request("POST", "/", by, body))[1]

    async def answer(self, approval_id: str, word: str, by: str, comment: str = "") -> tuple[int, JsonObject]:
        return await self.request("POST", f"/approvals/{approval_id}", by, {"decision": word, "comment": comment})

    async def inbox(self, by: str) -> list[JsonObject]:
        found = list_at((await self.request("GET", "/approvals", by))[1], "approvals")
        return [one for one in found if isinstance(one, dict)]

    async def asked(self, by: str = "mia") -> JsonObject:
        (one,) = await self.inbox(by)
        return one

    async def task(self, task_id: str = "t1", by: str = "olga") -> JsonObject:
        return (await self.request("GET", f"/tasks/{task_id}", by))[1]

    def key_of(self, who: str) -> dict[str, str]:
        return {"X-API-Key": self._tokens[who]}

    async def request(self, method: str, path: str, by: str, body: object = None) -> tuple[int, JsonObject]:
        response = await self.client.request(method, path, json=body, headers=self.key_of(by))
        return response.status_code, loads_object(response.text)


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await is_so():
            await asyncio.sleep(0.02)


def asks(world: Stage, approvers: int = 1, **record: object) -> None:
    """A manager has to approve the world's write; ``record`` is what its tenant says of approvals."""
    rule = TriggeredRule(
        rule_id="LIMIT",
        policy_id="p",
        action=RuleAction.REQUIRE_APPROVAL,
        level="manager",
        approvers=approvers,
        reason="over the limit",
    )
    world.policy.says = {"requires_approval": True, "escalation_level": "manager", "triggered_rules": (rule,)}
    world.tenants.record = world.tenants.record.model_copy(update=record)


@asynccontextmanager
async def office(redis: Redis, redis_url: str, world: Stage, **settings: object) -> AsyncIterator[Office]:
    """anna asks; mia and max are managers, fay is of finance; olga operates. eve operates another tenant."""
    people: tuple[tuple[str, list[str], list[str]], ...] = (
        ("anna", ["client"], []),
        ("mia", ["approver"], ["manager"]),
        ("max", ["approver"], ["manager"]),
        ("fay", ["approver"], ["finance"]),
    )
    tokens = {
        name: (await create_first_key(redis_url, of, name, allows_another=False)).token for name, of in _OPERATORS
    }
    worker = CoreWorker(redis, redis_url, world)
    given = {"authentication": "keys", "profile": "production", **settings}
    async with (
        gateway(redis_url, **given) as url,
        open_http(base_url=url, timeout=PATIENCE, trust_env=False) as client,
        asyncio.TaskGroup() as group,
    ):
        here = Office(client, world, tokens)
        for name, roles, levels in people:
            wish = {"key": {"principal": name, "roles": roles, "levels": levels}}
            tokens[name] = str((await here.request("POST", "/keys/create", "olga", wish))[1]["token"])
        working = group.create_task(worker.run())
        try:
            yield here
        finally:
            working.cancel()
            await worker.aclose()


_OPERATORS = (("olga", "acme"), ("eve", "other"))
