"""Facts, entities and predictions of tenants on Redis, and the tasks that are still to be searched for facts."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar, cast

from redis.exceptions import ResponseError

from services.learner.ports import memory
from shared.contracts.base import Contract
from shared.contracts.knowledge import EntityLinks, KnownEntity, KnownFact, PredictionAccuracy
from shared.contracts.relevance import ENTITIES_KEPT, ENTITY_LIFETIME, FACTS_KEPT
from shared.infra import keys
from shared.infra.learned_files import parse_contract_rows
from shared.infra.lua import Argument, ScriptedStore, bounded_redis_calls, store_unavailable
from shared.ports.store import StoreUnavailable

# What a server says of the data it has, not of itself: trying later alone does not help.
SPOILED_DATA_ERRORS = ("WRONGTYPE", "not an integer", "would overflow")


@contextmanager
def translate_spoiled_data() -> Iterator[None]:
    """Raises ``MemorySpoiled`` for a ``StoreUnavailable`` inside, if the server says that its data are at fault."""
    try:
        yield
    except StoreUnavailable as error:
        if any(words in str(error) for words in SPOILED_DATA_ERRORS):
            raise memory.MemorySpoiled(str(error)) from error
        raise


class RedisFactRepository(ScriptedStore):
    """Stores the facts that are known of each tenant, and the queue of tasks that a model is still to search for facts.

    Every method may raise ``StoreUnavailable``; ``find_task_to_search``, ``read_facts`` and ``store_facts`` also
    ``MemorySpoiled``.
    """

    async def claim_tasks_to_search(self, limit: int, seconds: float) -> Sequence[tuple[str, str]]:
        """Claims tasks to be searched for facts, for that many seconds; returns ``(tenant, event id)`` of each."""
        members = await self._scripts.run("claim_due", [keys.OPEN_FACT_SEARCHES], [limit, int(seconds * 1000)])
        return [keys.unpack_member(keys.FactSearchMember, member) for member in cast("list[str]", members)]

    async def find_task_to_search(self, tenant: str, event_id: str) -> memory.TaskToSearchForFacts | None:
        """The task of that event; None if it was searched or forgotten, or this version cannot read it."""
        with translate_spoiled_data():
            row = await self._scripts.execute("HGET", keys.learned_keys(tenant).fact_todos, event_id)
        return memory.TaskToSearchForFacts.parse_row(row)

    async def read_facts(self, tenant: str) -> memory.KnownFacts:
        names = keys.learned_keys(tenant)
        with translate_spoiled_data():
            async with bounded_redis_calls(), self._redis.pipeline(transaction=False) as pipe:
                pipe.hget(names.memory, "version")
                pipe.lrange(names.knowledge, 0, FACTS_KEPT - 1)
                version, rows = cast("tuple[str | None, list[str]]", await pipe.execute())
        parsed_rows = [(row, KnownFact.parse_row(row)) for row in rows]
        return memory.KnownFacts(version or "0", tuple((row, fact) for row, fact in parsed_rows if fact is not None))

    async def store_facts(
        self, todo: memory.TaskToSearchForFacts, change: memory.FactChange, counts: Mapping[str, int], version: str = ""
    ) -> bool:
        """Stores the change, adds ``counts`` to the tenant's counts by name, and takes the task (``todo``) off the
        queue, in one step.

        ``version``: that of the memory from which the change was computed; only ``NO_FACT_CHANGE`` may go without.
        Returns False, with nothing stored, if the memory has another version by now.
        """
        names = keys.learned_keys(todo.tenant)
        removed_rows, added_facts = change
        arguments: list[Argument] = [todo.event_id, version, FACTS_KEPT, len(removed_rows), len(added_facts)]
        arguments += [*removed_rows, *(fact.stored_json() for fact in added_facts)]
        for name, count in counts.items():
            arguments += [name, count]
        with translate_spoiled_data():
            reply = await self._scripts.run("keep_facts", [names.knowledge, names.fact_todos, names.memory], arguments)
        return reply != -1

    async def finish_searches(self, searched: Sequence[tuple[str, str]]) -> None:
        """Removes events that were searched for facts; one that was queued again meanwhile is postponed instead."""
        members = [keys.pack_member(keys.FactSearchMember(*event)) for event in searched]
        async with bounded_redis_calls(), self._redis.pipeline(transaction=False) as pipe:
            pipe.zrem(keys.OPEN_FACT_SEARCHES, *members)
            for tenant, event_id in searched:
                pipe.hexists(keys.learned_keys(tenant).fact_todos, event_id)
            _, *waits = cast("list[object]", await pipe.execute(raise_on_error=False))
        await asyncio.gather(
            *(
                self.postpone_search(*event, 1.0)
                for event, is_there in zip(searched, waits, strict=True)
                if is_there == 1
            )
        )

    async def give_up_search(self, tenant: str, event_id: str) -> None:
        """Stops searching a task for facts, and counts it as given up if its tenant's memory can be written."""
        names = keys.learned_keys(tenant)
        key_names = [names.knowledge, names.fact_todos, names.memory]
        with suppress(memory.MemorySpoiled), translate_spoiled_data():
            await self._scripts.run("keep_facts", key_names, [event_id, "", 0, 0, 0, "facts_given_up", 1])
        with suppress(memory.MemorySpoiled), translate_spoiled_data():
            await self._scripts.execute("HDEL", names.fact_todos, event_id)  # where it could not be counted

    async def postpone_search(self, tenant: str, event_id: str, seconds: float) -> None:
        member = keys.pack_member(keys.FactSearchMember(tenant, event_id))
        await self._scripts.run("queue_due", [keys.OPEN_FACT_SEARCHES], ["CH", int(seconds * 1000), member])


OPEN_FACT_SEARCHES_KEPT = 200  # tasks of a tenant whose facts are still to be found

Row = TypeVar("Row", bound=Contract)
Key = TypeVar("Key")


class RedisKnowledge(ScriptedStore):
    """Stores the entities that tasks of a tenant named, and how often the tenant's predictions came true.

    Every method may raise ``StoreUnavailable``; ``read_stored_knowledge`` and ``store_change`` also ``MemorySpoiled``.
    """

    async def read_stored_knowledge(
        self,
        tenant: str,
        event_ids: Sequence[str],
        entities: Sequence[str],
        predictions: Sequence[memory.PredictionKey],
    ) -> memory.StoredKnowledge:
        with translate_spoiled_data():
            scores, version, known_rows, links, accuracy = await self._read_raw_rows(
                tenant, event_ids, entities, predictions
            )
        scores_by_event = zip(event_ids, cast("list[float | None]", scores), strict=True)
        return memory.StoredKnowledge(
            version=str(version or "0"),
            remembered=frozenset(event_id for event_id, score in scores_by_event if score is not None),
            entities=_parse_rows_by_field(KnownEntity, entities, known_rows),
            links=_parse_rows_by_field(EntityLinks, entities, links),
            accuracy=_parse_rows_by_field(PredictionAccuracy, predictions, accuracy),
        )

    async def _read_raw_rows(
        self,
        tenant: str,
        event_ids: Sequence[str],
        entities: Sequence[str],
        predictions: Sequence[memory.PredictionKey],
    ) -> list[object]:
        names = keys.learned_keys(tenant)
        accuracy_fields = [keys.accuracy_field(*prediction) for prediction in predictions]
        async with bounded_redis_calls(), self._redis.pipeline(transaction=False) as pipe:
            pipe.zmscore(names.remembered, list(event_ids))
            pipe.hget(names.memory, "version")
            for name in (names.entities, names.entity_links):
                pipe.hmget(name, [*entities, ""])  # never without a field
            pipe.hmget(names.accuracy, [*accuracy_fields, ""])
            return cast("list[object]", await pipe.execute())

    async def store_memory_change(self, change: memory.MemoryChange, version: str) -> bool:
        """Stores in one step what some events change, each event once, and queues their tasks to be searched for facts.

        Returns False, with nothing changed, if the tenant's memory no longer has that version. Repeating it after a
        lost reply changes nothing, because its events are known then.
        """
        names = keys.learned_keys(change.tenant)
        entity_keys = [names.remembered, names.entities, names.entity_links, names.entity_ages]
        other_keys = [names.accuracy, names.fact_todos, names.memory]
        calls: list[tuple[str, list[str], list[Argument]]]
        calls = [("remember", [*entity_keys, *other_keys], _build_change_arguments(change, version))]
        if change.todos:
            calls.append(
                ("queue_due", *_build_queue_searches_call(change.tenant, [todo.event_id for todo in change.todos]))
            )
        replies = await self._scripts.run_all(calls)
        with translate_spoiled_data():
            for refusal in replies:
                if isinstance(refusal, ResponseError):
                    raise store_unavailable(refusal)
        return replies[0] == 1

    async def queue_searches(self, tenant: str, event_ids: Sequence[str]) -> None:
        """Queues the events' tasks to be searched for facts; harmless for those that were searched or have none."""
        await self._scripts.run("queue_due", *_build_queue_searches_call(tenant, event_ids))


def _build_queue_searches_call(tenant: str, event_ids: Sequence[str]) -> tuple[list[str], list[Argument]]:
    members = [keys.pack_member(keys.FactSearchMember(tenant, event_id)) for event_id in event_ids]
    return [keys.OPEN_FACT_SEARCHES], ["NX", 0, *members]


def _build_change_arguments(change: memory.MemoryChange, version: str) -> list[Argument]:
    todos = {todo.event_id: todo.stored_json() for todo in change.todos}
    known_ms = keys.APPLIED_OUTCOME_SECONDS * 1000
    expiry_ms = int(ENTITY_LIFETIME.total_seconds() * 1000)
    arguments: list[Argument] = [version, known_ms, ENTITIES_KEPT, expiry_ms, OPEN_FACT_SEARCHES_KEPT]
    arguments += [len(change.event_ids), len(change.entities), len(change.accuracy)]
    for event_id in change.event_ids:
        arguments += [event_id, todos.get(event_id, "")]
    for field, row in change.entities.items():
        arguments += [field, row.stored_json(), change.links[field].stored_json()]
    for prediction, accuracy in change.accuracy.items():
        arguments += [keys.accuracy_field(*prediction), accuracy.stored_json()]
    return arguments


def _parse_rows_by_field(kind: type[Row], fields: Sequence[Key], rows: object) -> Mapping[Key, Row]:
    return parse_contract_rows(kind, zip(fields, cast("list[str | None]", rows), strict=False))
