"""Facts of tenants on Redis, and which tasks' facts are still to be found."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

from redis.asyncio import Redis
from typing_extensions import override

from services.learner.adapters.fact_rows import read_fact, read_todo, telling_spoiled
from services.learner.ports.memory import FactBook, FactChange, FactTodo, KnownFacts, Spoiled
from shared.domain.known import FACTS_KEPT
from shared.infra import keys
from shared.infra.lua import Argument, Scripts, answering


class RedisFactBook(FactBook):
    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._scripts = Scripts(redis)

    @override
    async def claim(self, most: int, seconds: float) -> Sequence[tuple[str, str]]:
        found = await self._scripts.run("claim_due", [keys.FACT_FINDING], [most, int(seconds * 1000)])
        return [keys.unpack_fact(member) for member in cast("list[str]", found)]

    @override
    async def find_task_to_search(self, tenant: str, event_id: str) -> FactTodo | None:
        with telling_spoiled():
            row = await self._scripts.command("HGET", keys.learned_keys(tenant).fact_todos, event_id)
        return read_todo(str(row)) if row is not None else None

    @override
    async def facts(self, tenant: str) -> KnownFacts:
        names = keys.learned_keys(tenant)
        with telling_spoiled():
            async with answering(), self._redis.pipeline(transaction=False) as pipe:
                pipe.hget(names.memory, "version")
                pipe.lrange(names.knowledge, 0, FACTS_KEPT - 1)
                version, rows = cast("tuple[str | None, list[str]]", await pipe.execute())
        read = [(row, read_fact(row)) for row in rows]
        return KnownFacts(version or "0", tuple((row, fact) for row, fact in read if fact is not None))

    @override
    async def keep(self, todo: FactTodo, change: FactChange, counts: Mapping[str, int], version: str = "") -> bool:
        names = keys.learned_keys(todo.tenant)
        arguments: list[Argument] = [todo.event_id, version, FACTS_KEPT, len(change.gone), len(change.come)]
        arguments += [*change.gone, *(fact.stored_json() for fact in change.come)]
        for name, count in counts.items():
            arguments += [name, count]
        with telling_spoiled():
            reply = await self._scripts.run("keep_facts", [names.knowledge, names.fact_todos, names.memory], arguments)
        return reply != -1

    @override
    async def finish(self, done: Sequence[tuple[str, str]]) -> None:
        """Look again whether there is something to do once they are let go: it may have been asked for meanwhile."""
        members = [keys.pack(keys.FactMember(*one)) for one in done]
        async with answering(), self._redis.pipeline(transaction=False) as pipe:
            pipe.zrem(keys.FACT_FINDING, *members)
            for tenant, event_id in done:
                pipe.hexists(keys.learned_keys(tenant).fact_todos, event_id)
            _, *waits = cast("list[object]", await pipe.execute(raise_on_error=False))
        await asyncio.gather(
            *(self.put_off(*one, 1.0) for one, is_there in zip(done, waits, strict=True) if is_there == 1)
        )

    @override
    async def give_up(self, tenant: str, event_id: str) -> None:
        names = keys.learned_keys(tenant)
        with suppress(Spoiled), telling_spoiled():
            if await self._scripts.command("HDEL", names.fact_todos, event_id):
                await self._scripts.command("HINCRBY", names.memory, "facts_given_up", 1)

    @override
    async def put_off(self, tenant: str, event_id: str, seconds: float) -> None:
        member = keys.pack(keys.FactMember(tenant, event_id))
        await self._scripts.run("queue_due", [keys.FACT_FINDING], ["CH", int(seconds * 1000), member])
