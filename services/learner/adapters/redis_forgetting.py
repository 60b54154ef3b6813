"""Carries out requests to forget on Redis: removes learned keys, and what a session remembers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from services.learner.adapters.redis_learned_files import LearnedCommand, change_learned_data
from services.learner.core.memory.forgetting import Removal, StoredMemory, plan_removal
from services.learner.ports.files import StoredVersions
from services.learner.ports.memory import TaskToSearchForFacts
from shared.contracts.knowledge import CaseEntry, EntityLinks, KnownEntity, KnownFact
from shared.contracts.learning_files import ForgetRequest, ForgetScope, ForgetState
from shared.domain.partition import PARTITIONS, partition_of
from shared.infra import keys
from shared.infra.lua import Scripts, bounded_redis_calls
from shared.infra.signatures import order_script_keys
from shared.ports.archive import Archive, ArchiveUnavailable
from shared.ports.store import StoreUnavailable

_MOST_TRIES = 20
REQUESTS_KEPT = 200  # of a tenant


class RedisForgetting:
    """Carries out requests to forget. ``conversations``: the archive of idle sessions, if there is one.

    Every method may raise ``StoreUnavailable``.
    """

    def __init__(self, redis: Redis, conversations: Archive | None) -> None:
        self._redis = redis
        self._scripts = Scripts(redis)
        self._conversations = conversations
        self._lines: dict[str, str] = {}  # of the server where a request was last carried out

    async def claim_due_requests(self, limit: int, seconds: float) -> Sequence[ForgetRequest]:
        """Takes up to ``limit`` requests that are due. Each is taken again after ``seconds`` unless its state is stored
        before.
        """
        members = await self._scripts.run("claim_due", [keys.OPEN_FORGET_REQUESTS], [limit, int(seconds * 1000)])
        requests: list[ForgetRequest] = []
        for packed_member in cast("list[str]", members):
            member = keys.unpack_member(keys.ForgetRequestMember, packed_member)
            row = await self._scripts.execute("HGET", keys.learned_keys(member.tenant).forgets, member.request_id)
            request = ForgetRequest.parse_row(row)
            if request is None:
                await self._scripts.execute("ZREM", keys.OPEN_FORGET_REQUESTS, keys.pack_member(member))
            else:
                requests.append(request)
        return requests

    async def remove_requested_data(self, request: ForgetRequest) -> Mapping[str, int]:
        """Removes the data that the request names; returns how many entries of each kind were removed. May be
        repeated.
        """
        forgets = keys.learned_keys(request.tenant).forgets
        self._lines[request.request_id] = str(await self._scripts.run("line_of_writes", [forgets], []))
        if request.scope is ForgetScope.TENANT:
            return await self._remove_tenant_memory(request.tenant)
        counts = await self._remove_session_or_entity(request)
        if request.scope is ForgetScope.SESSION:
            counts |= await self._forget_session(request.tenant, request.subject)
        return counts

    async def has_older_outcomes(self, request: ForgetRequest) -> bool:
        """Whether outcomes from before the request are still to be learned. Learning them could store again what was
        removed.
        """
        numbers: Iterable[int] = range(PARTITIONS)
        if request.scope is ForgetScope.SESSION:
            numbers = [partition_of(request.tenant, request.subject)]
        async with bounded_redis_calls(), self._redis.pipeline(transaction=False) as pipe:
            for number in numbers:
                pipe.xinfo_groups(keys.partition_keys(number).outcomes)
                pipe.xrevrange(keys.partition_keys(number).outcomes, count=1)
                for group in keys.OUTCOME_GROUPS:
                    pipe.xpending(keys.partition_keys(number).outcomes, group)
            replies = await pipe.execute(raise_on_error=False)
        asked_ms = int(request.asked_at.timestamp() * 1000)
        replies_each = 2 + len(keys.OUTCOME_GROUPS)
        rows = [replies[start : start + replies_each] for start in range(0, len(replies), replies_each)]
        return any(_has_unsettled_entries(groups, entries, pending, asked_ms) for groups, entries, *pending in rows)

    async def store_request_state(self, request: ForgetRequest, seconds: float | None) -> bool:
        """Stores the request with its present state. It is claimed again after ``seconds``, or never (None).

        Returns False if it must be carried out again, because the store may have lost the last removal.
        """
        name, row = keys.learned_keys(request.tenant).forgets, request.model_dump_json()
        member = keys.pack_member(keys.ForgetRequestMember(request.tenant, request.request_id))
        line = self._lines.pop(request.request_id, "")
        if seconds is None and await self._scripts.run("note_forgotten", [name], [line, request.request_id, row]):
            await self._scripts.execute("ZREM", keys.OPEN_FORGET_REQUESTS, member)
            await self._drop_oldest_requests(name)
            return True
        if seconds is not None:
            await self._scripts.execute("HSET", name, request.request_id, row)
        await self._scripts.run("queue_due", [keys.OPEN_FORGET_REQUESTS], ["CH", int((seconds or 0) * 1000), member])
        return seconds is not None

    async def _drop_oldest_requests(self, key: str) -> None:
        """Deletes the oldest finished requests beyond ``REQUESTS_KEPT``."""
        if cast(int, await self._scripts.execute("HLEN", key)) <= REQUESTS_KEPT:
            return
        rows = cast("list[str]", await self._scripts.execute("HVALS", key))
        requests = filter(None, map(ForgetRequest.parse_row, rows))
        finished_requests = [request for request in requests if request.state is ForgetState.DONE]
        finished_requests.sort(key=lambda request: request.asked_at, reverse=True)
        if dropped_ids := [request.request_id for request in finished_requests[REQUESTS_KEPT:]]:
            await self._scripts.execute("HDEL", key, *dropped_ids)

    async def _remove_tenant_memory(self, tenant: str) -> Mapping[str, int]:
        names = keys.learned_keys(tenant)
        async with bounded_redis_calls(), self._redis.pipeline(transaction=True) as pipe:
            pipe.llen(names.cases)
            pipe.llen(names.knowledge)
            for name in (names.entities, names.accuracy, names.arms):
                pipe.hlen(name)
            for kind in keys.FORGOTTEN_OF_TENANT:
                pipe.delete(getattr(names, kind))
            pipe.hincrby(names.memory, "version", 1)
            sizes = cast("list[int]", await pipe.execute())
        named_sizes = zip(("cases", "facts", "entities", "predictions", "arms"), sizes, strict=False)
        return {name: size for name, size in named_sizes if size}

    async def _remove_session_or_entity(self, request: ForgetRequest) -> dict[str, int]:
        for _ in range(_MOST_TRIES):
            memory = await self._read_stored_memory(request.tenant)
            removal = plan_removal(request, memory)
            commands = _list_removal_commands(keys.learned_keys(request.tenant), removal)
            versions = StoredVersions(rows=memory.version)
            if removal == Removal() or await change_learned_data(self._scripts, request.tenant, commands, versions):
                return removal.counts_by_kind
        raise StoreUnavailable("the tenant's memory is being written all the time")

    async def _read_stored_memory(self, tenant: str) -> StoredMemory:
        names = keys.learned_keys(tenant)
        async with bounded_redis_calls(), self._redis.pipeline(transaction=False) as pipe:
            pipe.hget(names.memory, "version")
            pipe.lrange(names.cases, 0, -1)
            pipe.lrange(names.knowledge, 0, -1)
            for name in (names.entities, names.entity_links, names.fact_todos):
                pipe.hgetall(name)
            version, cases, facts, entities, links, todos = await pipe.execute()
        return StoredMemory(
            version=str(version or "0"),
            cases=tuple((row, case) for row in cases if (case := CaseEntry.parse_row(row))),
            facts=tuple((row, fact) for row in facts if (fact := KnownFact.parse_row(row))),
            entities={field: entity for field, row in entities.items() if (entity := KnownEntity.parse_row(row))},
            links={field: entity_links for field, row in links.items() if (entity_links := EntityLinks.parse_row(row))},
            todos={event: todo for event, row in todos.items() if (todo := TaskToSearchForFacts.parse_row(row))},
        )

    async def _forget_session(self, tenant: str, session_id: str) -> Mapping[str, int]:
        """Removes what the session remembers, in Redis and the archive; returns how many of what was removed.

        If the session has work now, nothing is removed and ``{"session_busy": 1}`` is returned. Raises
        ``StoreUnavailable``.
        """
        session = keys.session_keys(tenant, session_id)
        participation = keys.participation_key(tenant, session_id)
        names = order_script_keys("forget_conversation", session, participation=participation)
        reply = await self._scripts.run("forget_conversation", names, [])
        if reply == -1:
            return {"session_busy": 1}
        is_removed = reply == 1
        try:
            if self._conversations is not None:
                is_removed = await self._conversations.delete(tenant, session_id) or is_removed
        except ArchiveUnavailable as error:
            raise StoreUnavailable(f"the archive of sessions cannot be emptied: {error}") from error
        return {"conversations": 1} if is_removed else {}


def _list_removal_commands(names: keys.LearnedKeys, removal: Removal) -> Iterator[LearnedCommand]:
    for name, texts in ((names.cases, removal.cases), (names.knowledge, removal.facts)):
        yield from (("LREM", name, (0, text)) for text in texts)
    for row, fact in removal.reduced_facts.items():
        yield "LINSERT", names.knowledge, ("BEFORE", row, fact.model_dump_json())
        yield "LREM", names.knowledge, (0, row)
    yield "HDEL", names.fact_todos, removal.todos
    for command, name in (("HDEL", names.entities), ("HDEL", names.entity_links), ("ZREM", names.entity_ages)):
        yield command, name, removal.entities
    for name, rows in ((names.entities, removal.reduced_entities), (names.entity_links, removal.links)):
        yield "HSET", name, [word for field, row in rows.items() for word in (field, row.model_dump_json())]


def _has_unsettled_entries(
    groups: object, newest_entries: object, pending: Sequence[object], requested_ms: int
) -> bool:
    """Whether a stream may have an entry from before ``requested_ms`` that some consumer group has not settled."""
    if isinstance(groups, ResponseError):  # there is no stream
        return False
    newest_ids = [entry_id for entry_id, _ in cast("list[tuple[str, object]]", newest_entries)]
    delivered_ids = [str(group["last-delivered-id"]) for group in cast("list[dict[str, object]]", groups)]
    ids_behind = [entry_id for entry_id in delivered_ids if entry_id not in newest_ids]
    if newest_ids and (not delivered_ids or any(_parse_ms(entry_id) <= requested_ms for entry_id in ids_behind)):
        return True
    summaries = [cast("dict[str, str | None]", summary) for summary in pending if isinstance(summary, dict)]
    return any(_parse_ms(oldest_id) <= requested_ms for summary in summaries if (oldest_id := summary["min"]))


def _parse_ms(entry_id: str) -> int:
    return int(entry_id.partition("-")[0])
