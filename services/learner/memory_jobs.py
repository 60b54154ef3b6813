"""Joins the memory's parts: what outcomes say beyond their case, the facts, and what is to be forgotten."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

import structlog
from pydantic import JsonValue
from redis.asyncio import Redis

from services.learner.adapters.redis_fact_book import RedisFactBook
from services.learner.adapters.redis_forgetting import RedisForgetting
from services.learner.adapters.redis_knowledge import RedisKnowledge
from services.learner.adapters.redis_outcomes import REMEMBERING, RedisOutcomes
from services.learner.adapters.redis_purse import RedisPurse
from services.learner.core.learner import Learner
from services.learner.core.memory.ask_model import ModelFacts
from services.learner.core.memory.fact_worker import FactWorker
from services.learner.core.memory.forgetting import Forgetter
from services.learner.core.memory.rememberer import Rememberer
from services.learner.entrypoints.loops import keep_finding, keep_forgetting, keep_remembering
from services.learner.settings import MemorySettings
from shared.domain.model_price import dearest
from shared.infra.late_model import ClosableModel, CountedModel, LateModel
from shared.infra.model_prices import read_prices
from shared.infra.tenant_records import RedisTenantRecords
from shared.ports.meter import Meter, NoMeter
from shared.ports.models import Tier
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()

_MODEL_SECONDS = 30.0
_NOBODY = NoMeter()


@dataclass
class MemoryJobs:
    """What this process remembers with. ``worker`` is None where facts are not found here."""

    rememberer: Rememberer
    forgetter: Forgetter
    worker: FactWorker | None = None
    close: Callable[[], Awaitable[None]] | None = None

    async def run(self, learner: Learner, stop: asyncio.Event) -> None:
        """Until asked to stop. A model call that is under way then is given up: its task is found again."""
        async with asyncio.TaskGroup() as group:
            finding = group.create_task(self._find(stop))
            group.create_task(keep_forgetting(self.forgetter, stop))
            await keep_remembering(self.rememberer, learner, stop)
            finding.cancel()
        try:
            await self.rememberer.leave()
        except StoreUnavailable as error:
            log.warning("left_without_a_word", error=str(error))

    def status(self) -> dict[str, JsonValue]:
        """What this process has remembered, found and forgotten since it started."""
        remembered = asdict(self.rememberer.counts)
        facts: JsonValue = asdict(self.worker.counts) if self.worker else "off"
        return {**remembered, "facts": facts, "forgotten": self.forgetter.done}

    async def _find(self, stop: asyncio.Event) -> None:
        if self.worker is None or self.close is None:
            return
        try:
            await keep_finding(self.worker, stop)
        finally:
            await self.close()


def build_memory_jobs(
    settings: MemorySettings,
    redis: Redis,
    owner: str,
    lease_seconds: float,
    learner: Learner,
    meter: Meter = _NOBODY,
) -> MemoryJobs:
    outcomes = RedisOutcomes(redis, owner, lease_seconds, REMEMBERING)
    wants_facts = settings.learn_knowledge == "on"
    knowledge = RedisKnowledge(redis)
    rememberer = Rememberer(outcomes, knowledge, lambda: learner.held, learner.drain_news, wants_facts=wants_facts)
    forgetter = Forgetter(RedisForgetting(redis, settings.session_archive()))
    if not wants_facts:
        return MemoryJobs(rememberer, forgetter)

    model = LateModel(lambda: _model(settings))
    prices = read_prices()
    counted = CountedModel(model, {Tier.HAIKU: settings.haiku_model}, meter)
    finder = ModelFacts(counted, prices.get(settings.haiku_model) or dearest(prices.values()))
    purse = RedisPurse(redis, RedisTenantRecords(redis))
    return MemoryJobs(rememberer, forgetter, FactWorker(RedisFactBook(redis), finder, purse), model.close)


def _model(settings: MemorySettings) -> ClosableModel:
    from shared.infra.anthropic_model import AnthropicModel, ModelLimits  # the SDK takes long to load

    return AnthropicModel(
        tiers={Tier.HAIKU: settings.haiku_model},
        api_key=settings.anthropic_api_key,
        base_url=settings.anthropic_base_url or None,
        limits=ModelLimits(seconds=_MODEL_SECONDS, pauses=()),
    )
