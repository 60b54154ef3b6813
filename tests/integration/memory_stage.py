"""A learner's memory on Redis, driven step by step."""

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime

from redis.asyncio import Redis

from services.gateway.features.memory import TenantMemories
from services.learner.adapters.redis_forgetting import RedisForgetting
from services.learner.adapters.redis_knowledge import RedisFactRepository, RedisKnowledge
from services.learner.adapters.redis_lessons import RedisLessons
from services.learner.adapters.redis_outcomes import REMEMBERING_GROUP, RedisOutcomes
from services.learner.ports.memory import RawFact
from services.learner.workers.fact_worker import FactWorker, TenantBudgets
from services.learner.workers.follower import OutcomeFollower
from services.learner.workers.forget_worker import ForgetRequestWorker
from services.learner.workers.learner import Learner
from services.learner.workers.rememberer import Rememberer
from shared.contracts.learning_files import ForgetRequest, ForgetScope
from shared.contracts.outcome import OutcomeTexts, TaskOutcome
from shared.domain.exact_json import JsonObject
from shared.domain.partition import PARTITIONS
from shared.infra.daily_spend import RedisSpend
from shared.infra.tenant_records import RedisTenantRecords
from tests.doubles.scripted_facts import ScriptedFacts
from tests.integration.learner_stage import an_outcome, leave

LEASE = 5.0
TERMS = RawFact(
    subject="Initech Ltd",
    attribute="payment terms",
    value="net 30",
    text="Initech Ltd pays within 30 days.",
    confidence=0.6,
)


def an_outcome_of(
    text: str, number: int = 1, tenant: str = "acme", session: str = "s1", **known: object
) -> TaskOutcome:
    said = OutcomeTexts(task=text, answer=str(known.pop("answer", "Done.")))
    at = {"ended_at": datetime.now(UTC), "summary": text}
    return an_outcome(number, tenant, session, **{**at, "said": said, **known})


class MemoryStage:
    """``say`` is what the model finds in a task's sections."""

    def __init__(self, redis: Redis, say: Callable[[JsonObject], Sequence[RawFact]] | None = None) -> None:
        self.redis = redis
        self.facts = ScriptedFacts(say or (lambda _: [TERMS]))
        self.memories = TenantMemories(redis)
        self.learner = Learner(RedisOutcomes(redis, "one", LEASE), RedisLessons(redis))
        self.rememberer = Rememberer(RedisKnowledge(redis), wants_facts=True)
        self.follower = self.a_follower("one")
        self.worker = FactWorker(
            RedisFactRepository(redis), self.facts, TenantBudgets(RedisSpend(redis), RedisTenantRecords(redis))
        )
        self.forgetter = ForgetRequestWorker(RedisForgetting(redis, None))

    def a_follower(self, name: str, held: Collection[int] = range(PARTITIONS)) -> OutcomeFollower:
        outcomes = RedisOutcomes(self.redis, name, LEASE, REMEMBERING_GROUP)
        return OutcomeFollower(outcomes, self.rememberer.apply_outcomes, lambda: held)

    async def remembers(self) -> None:
        """Until every outcome is remembered."""
        self.follower.expect_outcomes_in(range(PARTITIONS))
        while await self.follower.run_once():
            pass

    async def finds_facts(self) -> None:
        """Until nothing is to be done now; what was put off waits."""
        while await self.worker.search_next_tasks(datetime.now(UTC)):
            pass

    async def takes_in(self, *outcomes: TaskOutcome) -> None:
        """They end; they are remembered, and their facts found."""
        await leave(self.redis, outcomes)
        await self.remembers()
        await self.finds_facts()

    async def learns(self) -> None:
        await self.learner.update_share()
        self.learner.expect_outcomes_in(self.learner.partitions)
        while await self.learner.run_once():
            pass

    async def forget(self, scope: ForgetScope, subject: str = "", tenant: str = "acme") -> ForgetRequest:
        """Asked for, and one round of carrying it out."""
        request = ForgetRequest(
            request_id=f"r-{scope.value}",
            tenant=tenant,
            scope=scope,
            subject=subject,
            asked_by="olga",
            asked_at=datetime.now(UTC),
        )
        await self.memories.submit_forget_request(request)
        return await self.goes_on(request)

    async def goes_on(self, request: ForgetRequest) -> ForgetRequest:
        await self.forgetter.carry_out_next(datetime.now(UTC))
        found = await self.memories.find_forget_request(request.tenant, request.request_id)
        assert found is not None
        return found

    async def entities(self, tenant: str = "acme") -> dict[str, int]:
        things = (await self.memories.read_memory(tenant)).linked_entities
        return {thing.entity.value: thing.entity.seen for thing in things}

    async def texts(self, tenant: str = "acme") -> list[str]:
        return [fact.text for fact in (await self.memories.read_memory(tenant)).facts]
