"""Finds reusable facts in ended tasks with a small model, a few tasks at a time, without delaying running tasks."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import NamedTuple
from zoneinfo import ZoneInfo

import structlog
from pydantic import BaseModel, JsonValue, ValidationError

from services.learner.adapters.redis_knowledge import RedisFactRepository
from services.learner.core.memory.facts import choose_facts_to_keep, merge_facts
from services.learner.ports import memory
from shared.contracts.base import describe_first_error
from shared.contracts.knowledge import KnownFact
from shared.domain.exact_json import Json, JsonObject
from shared.domain.model_price import Price
from shared.domain.sections import render_sections
from shared.infra.tenant_records import RedisTenantRecords
from shared.ports.daily_spend import Charge, DailySpend, DayCaps, read_daily_caps
from shared.ports.models import Message, Model, ModelReply, ModelRequest, ModelUnavailable, TextBlock, Tier
from shared.ports.store import StoreUnavailable

_PROMPT = (files(__package__) / "facts.md").read_text("utf-8").strip()
_MAX_TOKENS = 700
_ATTEMPTS = 2
_CHARACTERS_A_TOKEN = 4
_CORRECTION_TOKENS = 100  # tokens of what was wrong with an answer
_SECTION_ORDER = ("task", "entities", "process", "values", "answer", "correction")
_TEXT_SCHEMA: JsonValue = {"type": "string"}
_FACT_PROPERTIES: dict[str, JsonValue] = dict.fromkeys(memory.RawFact.model_fields, _TEXT_SCHEMA)
_FACT_PROPERTIES["confidence"] = {"type": "number"}


def _build_object_schema(properties: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


ANSWER_SCHEMA = _build_object_schema({"facts": {"type": "array", "items": _build_object_schema(_FACT_PROPERTIES)}})


class _FactsAnswer(BaseModel):
    """A model's answer: the facts that it found."""

    facts: tuple[memory.RawFact, ...]


class ModelFactFinder:
    """Finds facts with a model. ``price``: that of the smaller tier's model."""

    def __init__(self, model: Model, price: Price) -> None:
        self._model = model
        self._price = price

    def estimate_max_cost(self, sections: JsonObject) -> memory.FactCost:
        """The highest possible cost of finding facts in these sections: all attempts with the longest answers."""
        input_tokens = -(-(len(_PROMPT) + len(_render_sections(sections))) // _CHARACTERS_A_TOKEN) + _CORRECTION_TOKENS
        nanos = input_tokens * self._price.highest_input_price + _MAX_TOKENS * self._price.output
        return memory.FactCost(_ATTEMPTS, _ATTEMPTS * input_tokens, _ATTEMPTS * _MAX_TOKENS, _ATTEMPTS * nanos)

    async def find_facts(self, sections: JsonObject) -> tuple[Sequence[memory.RawFact], memory.FactCost]:
        """The facts found in a task's sections, and their cost; raises ``FactSearchFailed``."""
        cost, problem = memory.FactCost(), ""
        for _ in range(_ATTEMPTS):
            try:
                reply = await self._model.complete(_build_request({**sections, "correction": problem}))
            except ModelUnavailable as error:
                raise memory.FactSearchFailed(str(error), cost) from error
            cost = _add_reply_cost(cost, reply, self._price)
            try:
                return _FactsAnswer.model_validate_json(reply.text).facts, cost
            except ValidationError as error:
                problem = describe_first_error(error, "the answer")
        raise memory.FactSearchFailed(f"the model gave no usable facts in {_ATTEMPTS} attempts: {problem}", cost)


def _build_request(sections: JsonObject) -> ModelRequest:
    return ModelRequest(
        tier=Tier.SMALL,
        system=(_PROMPT,),
        messages=(Message("user", (TextBlock(_render_sections(sections)),)),),
        schema=ANSWER_SCHEMA,
        max_tokens=_MAX_TOKENS,
    )


def _render_sections(sections: JsonObject) -> str:
    return render_sections({name: sections[name] for name in _SECTION_ORDER if name in sections})


def _add_reply_cost(cost: memory.FactCost, reply: ModelReply, price: Price) -> memory.FactCost:
    usage, nanos = reply.usage, cost.nanos + price.compute_cost(reply.usage)
    input_tokens = cost.input_tokens + usage.all_input
    return memory.FactCost(cost.calls + 1, input_tokens, cost.output_tokens + usage.output, nanos)


CLAIM_SECONDS = 120.0
TASKS_AT_ONCE = 8
_POSTPONE_SECONDS = 30.0
_MOST_TRIES = 20
_GIVE_UP_AFTER = timedelta(hours=24)  # after so long without a model a task's facts are done without

log = structlog.get_logger()


class DateAndCaps(NamedTuple):
    """A tenant's present day, and the limits of what it may spend on that day. ``caps``: None if the tenant has none,
    and then nothing has to be reserved.
    """

    date: str
    caps: DayCaps | None = None


class TenantBudgets:
    """Budgets for finding facts, which count in the same day and under the same caps as the tenant's tasks.

    A tenant without a stored record has UTC days and no caps. All methods may raise ``StoreUnavailable`` and may be
    repeated.
    """

    def __init__(self, spend: DailySpend, records: RedisTenantRecords) -> None:
        self._spend = spend
        self._records = records

    async def read_date_and_caps(self, tenant: str, now: datetime) -> DateAndCaps | None:
        """The tenant's present day; None if its caps cannot be read, and then nothing may be spent."""
        try:
            record = await self._records.get_current_record(tenant)
        except ValueError as error:
            log.error("tenant_record_unreadable", tenant=tenant, error=str(error))
            return None
        if record is None:
            return DateAndCaps(now.astimezone(UTC).date().isoformat())
        return DateAndCaps(now.astimezone(ZoneInfo(record.time_zone)).date().isoformat(), read_daily_caps(record))

    async def reserve_cost(
        self, todo: memory.TaskToSearchForFacts, max_cost: memory.FactCost, day: DateAndCaps
    ) -> bool:
        """Reserves the highest cost of finding a task's facts; False if the day's budget is too small."""
        charge = _build_charge(todo, max_cost)
        return day.caps is None or await self._spend.reserve(todo.tenant, day.date, charge, day.caps)

    async def settle_reservation(
        self, todo: memory.TaskToSearchForFacts, cost: memory.FactCost, day: DateAndCaps
    ) -> None:
        """Counts the actual cost in place of the reservation."""
        charge = _build_charge(todo, cost)._replace(is_reserved=day.caps is not None)
        await self._spend.settle_charges(todo.tenant, day.date, [charge])


def _build_charge(todo: memory.TaskToSearchForFacts, cost: memory.FactCost) -> Charge:
    return Charge(f"facts:{todo.event_id}", cost.input_tokens + cost.output_tokens, cost.nanos)


@dataclass
class FactCounts:
    """What this process has found in its searches for facts since its start."""

    tasks: int = 0
    facts: int = 0
    failed: int = 0


class FactWorker:
    """Has a model search ended tasks for facts, and stores these, within each tenant's daily budget."""

    def __init__(self, repository: RedisFactRepository, finder: ModelFactFinder, budgets: TenantBudgets) -> None:
        self._facts = repository
        self._finder = finder
        self._budgets = budgets
        self.counts = FactCounts()

    async def search_next_tasks(self, now: datetime) -> int:
        """Searches the next waiting tasks for facts; returns how many tasks.

        A failure of one does not stop the others; the first failure is raised at the end.
        """
        claims = await self._facts.claim_tasks_to_search(TASKS_AT_ONCE, CLAIM_SECONDS)
        results = await asyncio.gather(*(self._search_task(*claim, now) for claim in claims), return_exceptions=True)
        pairs = list(zip(claims, results, strict=True))
        if finished_claims := [claim for claim, is_done in pairs if is_done is True]:
            await self._facts.finish_searches(finished_claims)
        await asyncio.gather(
            *(self._facts.postpone_search(*claim, _POSTPONE_SECONDS) for claim, is_done in pairs if is_done is False)
        )
        for failure in results:
            if isinstance(failure, BaseException):
                raise failure
        return len(claims)

    async def _search_task(self, tenant: str, event_id: str, now: datetime) -> bool:
        try:
            todo, day = await asyncio.gather(
                self._facts.find_task_to_search(tenant, event_id), self._budgets.read_date_and_caps(tenant, now)
            )
            return todo is None or await self._find_and_store_facts(todo, day, now)
        except memory.MemorySpoiled as error:
            log.error("tenant_memory_unreadable", tenant=tenant, event_id=event_id, error=str(error))
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001  # the edge of one task: facts of others are found all the same
            log.error("fact_search_failed", tenant=tenant, event_id=event_id, error=type(error).__name__)
        self.counts.failed += 1
        await self._facts.give_up_search(tenant, event_id)  # what failed once would fail again, and be paid for again
        return True

    async def _find_and_store_facts(
        self, todo: memory.TaskToSearchForFacts, day: DateAndCaps | None, now: datetime
    ) -> bool:
        """Searches a task (``todo``) for facts and stores them. It reserves the highest possible cost in the tenant's
        daily budget first.

        Returns whether the task need not be searched again.
        """
        sections = build_prompt_sections(todo)
        if day is None or not await self._budgets.reserve_cost(todo, self._finder.estimate_max_cost(sections), day):
            problem = memory.FactSearchFailed("the tenant's day has no room for it")
            return await self._give_up_if_late(todo, problem, now)
        try:
            facts, cost = await self._finder.find_facts(sections)
        except memory.FactSearchFailed as error:
            await self._budgets.settle_reservation(todo, error.cost, day)
            return await self._give_up_if_late(todo, error, now)
        settling = self._budgets.settle_reservation(todo, cost, day)
        storing = self._store_facts(todo, facts, cost, {})
        _, is_stored = await asyncio.gather(settling, storing)
        self.counts.tasks += is_stored
        self.counts.facts += len(facts) if is_stored else 0
        return is_stored

    async def _give_up_if_late(
        self, todo: memory.TaskToSearchForFacts, problem: memory.FactSearchFailed, now: datetime
    ) -> bool:
        """Gives the task up if it ended too long ago, and returns whether it did; else it is tried again later."""
        self.counts.failed += 1
        log.warning("fact_search_postponed", task_id=todo.task_id, problem=str(problem))
        if now - todo.ended_at < _GIVE_UP_AFTER:
            return False
        return await self._store_facts(todo, (), problem.cost, {"facts_given_up": 1})

    async def _store_facts(
        self,
        todo: memory.TaskToSearchForFacts,
        raw_facts: Sequence[memory.RawFact],
        cost: memory.FactCost,
        more: Mapping[str, int],
    ) -> bool:
        """Stores a task's facts and the counts of its search; False if others kept changing the tenant's memory."""
        facts = choose_facts_to_keep(raw_facts, todo)
        counts = {**_build_search_counts(facts, cost), **more}
        if not facts:
            return await self._facts.store_facts(todo, memory.NO_FACT_CHANGE, counts)
        for _ in range(_MOST_TRIES):
            known_facts = await self._facts.read_facts(todo.tenant)
            change = merge_facts(known_facts, facts)
            if await self._facts.store_facts(todo, change, counts, known_facts.version):
                return True
        return False


def build_prompt_sections(todo: memory.TaskToSearchForFacts) -> JsonObject:
    """The data of a task as the named sections of the prompt for a search for facts."""
    values: Json = [{"name": name, "value": value} for name, value in todo.values.items()]
    return {
        "process": {"process_type": todo.process_type},
        "task": todo.task,
        "answer": todo.answer,
        "values": values,
        "entities": list(todo.entities),
    }


def _build_search_counts(facts: Sequence[KnownFact], cost: memory.FactCost) -> dict[str, int]:
    return {
        "fact_tasks": 1,
        "facts_found": len(facts),
        "fact_calls": cost.calls,
        "fact_input_tokens": cost.input_tokens,
        "fact_output_tokens": cost.output_tokens,
        "fact_nanos": cost.nanos,
    }
