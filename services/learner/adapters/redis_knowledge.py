"""Entities and predictions of tenants on Redis: read in one round trip, written in one step."""

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

import structlog
from pydantic import ValidationError
from redis.asyncio import Redis
from redis.exceptions import ResponseError
from typing_extensions import override

from services.learner.adapters.fact_rows import telling_spoiled, todo_row
from services.learner.ports.memory import KnowledgeRepository, MemoryChange, Prediction, StoredKnowledge
from shared.contracts.accuracy import Accuracy
from shared.contracts.base import Contract
from shared.contracts.knowledge import EntityLinks, KnownEntity
from shared.domain.known import ENTITIES_KEPT, ENTITY_LASTS
from shared.infra import keys
from shared.infra.lua import Argument, Scripts, answering, unavailable

TODOS_KEPT = 200  # tasks of a tenant whose facts are still to be found

log = structlog.get_logger()
Row = TypeVar("Row", bound=Contract)


class RedisKnowledge(KnowledgeRepository):
    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._scripts = Scripts(redis)

    @override
    async def read_known(
        self, tenant: str, event_ids: Sequence[str], entities: Sequence[str], predictions: Sequence[Prediction]
    ) -> StoredKnowledge:
        with telling_spoiled():
            scores, version, things, links, accuracy = await self._read(tenant, event_ids, entities, predictions)
        marked = zip(event_ids, cast("list[float | None]", scores), strict=True)
        return StoredKnowledge(
            version=str(version or "0"),
            remembered=frozenset(event_id for event_id, score in marked if score is not None),
            entities=_rows(KnownEntity, entities, things),
            links=_rows(EntityLinks, entities, links),
            accuracy=_rows(Accuracy, predictions, accuracy),
        )

    async def _read(
        self, tenant: str, event_ids: Sequence[str], entities: Sequence[str], predictions: Sequence[Prediction]
    ) -> list[object]:
        names = keys.learned_keys(tenant)
        tried = [keys.accuracy_field(*one) for one in predictions]
        async with answering(), self._redis.pipeline(transaction=False) as pipe:
            pipe.zmscore(names.remembered, list(event_ids))
            pipe.hget(names.memory, "version")
            for name, fields in ((names.entities, entities), (names.entity_links, entities), (names.accuracy, tried)):
                pipe.hmget(name, [*fields, ""])  # never without a field
            return cast("list[object]", await pipe.execute())

    @override
    async def keep(self, change: MemoryChange, version: str) -> bool:
        """A step that was taken already, whose reply was lost, is not taken again: its events are known by then."""
        names = keys.learned_keys(change.tenant)
        first = [names.remembered, names.entities, names.entity_links, names.entity_ages]
        rest = [names.accuracy, names.fact_todos, names.memory]
        calls: list[tuple[str, list[str], list[Argument]]]
        calls = [("remember", [*first, *rest], _arguments(change, version))]
        if change.todos:
            calls.append(("queue_due", *_queueing(change.tenant, [todo.event_id for todo in change.todos])))
        replies = await self._scripts.run_all(calls)
        with telling_spoiled():
            for refusal in replies:
                if isinstance(refusal, ResponseError):
                    raise unavailable(refusal)
        return replies[0] == 1

    @override
    async def queue(self, tenant: str, event_ids: Sequence[str]) -> None:
        await self._scripts.run("queue_due", *_queueing(tenant, event_ids))


def _queueing(tenant: str, event_ids: Sequence[str]) -> tuple[list[str], list[Argument]]:
    return [keys.FACT_FINDING], ["NX", 0, *(keys.pack(keys.FactMember(tenant, event_id)) for event_id in event_ids)]


def _arguments(change: MemoryChange, version: str) -> list[Argument]:
    todos = {todo.event_id: todo_row(todo) for todo in change.todos}
    known_ms, expiry_ms = keys.APPLIED_SECONDS * 1000, int(ENTITY_LASTS.total_seconds() * 1000)
    arguments: list[Argument] = [version, known_ms, ENTITIES_KEPT, expiry_ms, TODOS_KEPT]
    arguments += [len(change.event_ids), len(change.entities), len(change.accuracy)]
    for event_id in change.event_ids:
        arguments += [event_id, todos.get(event_id, "")]
    for field, row in change.entities.items():
        arguments += [field, row.stored_json(), change.links[field].stored_json()]
    for one, accuracy in change.accuracy.items():
        arguments += [keys.accuracy_field(*one), accuracy.stored_json()]
    return arguments


Key = TypeVar("Key")


def _rows(kind: type[Row], fields: Sequence[Key], found: object) -> Mapping[Key, Row]:
    """What of the rows can be read; what another version wrote begins anew."""
    rows: dict[Key, Row] = {}
    for field, row in zip(fields, cast("list[str | None]", found), strict=False):
        try:
            if row is not None:
                rows[field] = kind.model_validate_json(row)
        except ValidationError as error:
            log.warning("lesson_unreadable", kind=kind.__name__, errors=error.error_count())
    return rows
