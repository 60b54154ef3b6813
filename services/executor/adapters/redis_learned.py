"""What the learner has stored for a tenant, read in one round trip."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar, cast

import structlog
from pydantic import ValidationError
from redis.asyncio import Redis

from services.executor.ports.services import Experience, LearnedStore
from shared.contracts.base import Contract
from shared.contracts.knowledge import CaseEntry, KnownEntity, KnownFact, PredictionAccuracy
from shared.contracts.outcome import ThresholdKind
from shared.contracts.relevance import ENTITIES_KEPT, FACTS_KEPT
from shared.domain.bandit import Arm
from shared.domain.cases import CASES_KEPT
from shared.domain.lru_cache import WeightedCache
from shared.domain.words import Strategy
from shared.infra import keys
from shared.infra.lua import Argument, Scripts, bounded_redis_calls
from shared.infra.signatures import order_script_keys
from shared.ports.store import StoreUnavailable

_TIMEOUT_SECONDS = 1.0  # a task goes on without experience rather than wait for it
_MOST_REPORTED_TOOLS = 2000
_MOST_REPORTED_PROCESSES = 500
_MOST_ROWS_CACHED = 20_000  # of all tenants that are held as they were read last: a tenant has at most 1,700
_MOST_NAMES_CACHED = 50_000  # of all tenants

log = structlog.get_logger()
LearnedT = TypeVar("LearnedT", bound=Contract)


class RedisLearnedStore(LearnedStore):
    """What tenants' tasks have taught, stored in Redis by the learner and by executors. Every method may raise
    ``StoreUnavailable``.
    """

    def __init__(self, redis: Redis) -> None:
        self._scripts = Scripts(redis, patience=0)
        self._sent_names = WeightedCache[str, frozenset[str]](_MOST_NAMES_CACHED)
        self._lessons = WeightedCache[str, _Lessons](_MOST_ROWS_CACHED)  # the tenant read longest ago is dropped first

    async def recall(self, tenant: str, process_type: str) -> Experience:
        fields = [field for strategy in Strategy for field in keys.arm_fields(process_type, strategy)]
        accuracy_fields = [keys.accuracy_field(process_type, kind.value) for kind in ThresholdKind]
        mark, by_row, lessons = self._lessons.look_up(tenant) or _NO_LESSONS
        arguments: list[Argument] = [mark, CASES_KEPT, FACTS_KEPT, len(fields), *fields, *accuracy_fields]
        async with bounded_redis_calls(_TIMEOUT_SECONDS):
            reply = await self._scripts.run("recall", order_script_keys("recall", keys.learned_keys(tenant)), arguments)
        mark, numbers, accuracy_rows, process_types, *changed_rows = cast(
            "tuple[str, list[str | None], list[str | None], list[str], list[list[str]]]", reply
        )
        for rows in changed_rows:
            kinds = zip(_LESSON_TYPES, (*rows[:2], rows[2][:ENTITIES_KEPT]), by_row, strict=True)
            by_row = [_parse_lesson_rows(kind, tenant, kind_rows, known) for kind, kind_rows, known in kinds]
            lessons = [tuple(known.values()) for known in by_row]
            self._lessons.put(tenant, _Lessons(mark, by_row, lessons), sum(map(len, lessons)))
        cases, facts, entities = lessons
        accuracies: dict[ThresholdKind, PredictionAccuracy] = {}
        for kind, row in zip(ThresholdKind, accuracy_rows, strict=True):
            if row is not None and (parsed_rows := _parse_lesson_rows(PredictionAccuracy, tenant, [row])):
                accuracies[kind] = parsed_rows[row]
        return Experience(
            _parse_arms(numbers),
            cast("tuple[CaseEntry, ...]", cases),
            cast("tuple[KnownFact, ...]", facts),
            cast("tuple[KnownEntity, ...]", entities),
            accuracies,
            tuple(sorted(process_types)),
        )

    async def add_tool_names(self, tenant: str, names: frozenset[str]) -> None:
        """Adds the names to the tenant's set of tools; names that this process has written are not sent again."""
        sent_names = self._sent_names.look_up(tenant) or frozenset()
        new_names = names - sent_names
        if not new_names:
            return
        key = keys.learned_keys(tenant).tools
        free_places = _MOST_REPORTED_TOOLS - cast(int, await self._scripts.execute("SCARD", key))
        if free_places > 0:
            await self._scripts.execute("SADD", key, *sorted(new_names)[:free_places])
        self._sent_names.put(tenant, sent_names | new_names, weight=len(sent_names | new_names))

    async def get_policy_translation(self, tenant: str, key: str) -> str | None:
        name = keys.prose_translation_key(tenant, key)
        text = await self._execute_in_time("GETEX", name, "EX", keys.TRANSLATED_POLICY_SECONDS)
        return None if text is None else str(text)

    async def store_policy_translation(self, tenant: str, key: str, text: str) -> None:
        await self._execute_in_time(
            "SET", keys.prose_translation_key(tenant, key), text, "EX", keys.TRANSLATED_POLICY_SECONDS
        )

    async def list_synthesized_processes(self, tenant: str) -> tuple[str, ...]:
        names = await self._execute_in_time("HKEYS", keys.learned_keys(tenant).synthesized)
        return tuple(sorted(cast("list[str]", names)))

    async def get_synthesized_process(self, tenant: str, process_type: str) -> str | None:
        text = await self._execute_in_time("HGET", keys.learned_keys(tenant).synthesized, process_type)
        return None if text is None else str(text)

    async def store_synthesized_process_if_new(self, tenant: str, process_type: str, text: str) -> str:
        key = keys.learned_keys(tenant).synthesized
        stored_text, count = await self._scripts.execute_commands(("HGET", key, process_type), ("HLEN", key))
        if stored_text is None and cast(int, count) < _MOST_REPORTED_PROCESSES:
            commands = ("HSETNX", key, process_type, text), ("HGET", key, process_type)
            _, stored_text = await self._scripts.execute_commands(*commands)
        return text if stored_text is None else str(stored_text)

    async def _execute_in_time(self, *words: Argument) -> object:
        async with bounded_redis_calls(_TIMEOUT_SECONDS):
            return await self._scripts.execute(*words)


def _parse_arms(numbers: Sequence[str | None]) -> dict[Strategy, Arm]:
    """The arm of each strategy that has one, from a flat list of pulls and reward units in the order of ``Strategy``.

    Raises ``StoreUnavailable`` if the list has another length, or holds what is no number.
    """
    try:
        return {
            strategy: Arm(int(n), int(units or 0))
            for strategy, n, units in zip(Strategy, numbers[::2], numbers[1::2], strict=True)
            if n is not None
        }
    except ValueError as error:
        raise StoreUnavailable(f"the statistics are spoiled: {error}") from error


class _Lessons(NamedTuple):
    """A tenant's cases, facts and entities with the mark of their version, also by the row in which each is stored."""

    mark: str
    by_row: Sequence[Mapping[str, Contract]]
    lessons: Sequence[tuple[Contract, ...]]


_NO_LESSONS = _Lessons("", ({}, {}, {}), ((), (), ()))
_LESSON_TYPES: tuple[type[Contract], ...] = (CaseEntry, KnownFact, KnownEntity)


def _parse_lesson_rows(
    kind: type[LearnedT], tenant: str, rows: Sequence[str], known: Mapping[str, LearnedT] = {}
) -> dict[str, LearnedT]:
    """The parsed lessons by row; those that are ``known`` are not parsed again.

    A row that this version cannot read is logged and left out.
    """
    lessons: dict[str, LearnedT] = {}
    for row in rows:
        try:
            lessons[row] = known.get(row) or kind.model_validate_json(row)
        except ValidationError as error:
            log.warning("learned_row_unreadable", tenant=tenant, kind=kind.__name__, errors=error.error_count())
    return lessons
