"""Learning stands in each task's trace, whoever left the outcome; and outcomes without one are learned as ever."""

import pytest
from redis.asyncio import Redis

from services.learner.adapters.redis_memory import RedisMemory
from services.learner.adapters.redis_outcomes import RedisOutcomes
from services.learner.core.learner import Learner
from shared.contracts.digest import digest_of
from shared.contracts.outcome import TaskOutcome
from shared.infra import keys
from tests.doubles.kept_spans import KeptSpans
from tests.integration.learner_stage import an_outcome

_TRACES = [f"00-{number:032x}-{number:016x}-01" for number in range(1, 4)]


async def _leave(redis: Redis, outcome: TaskOutcome, **besides: str) -> None:
    fields = {"id": outcome.event_id, "o": outcome.model_dump_json(), **besides}
    await redis.xadd(keys.partition_keys_of(outcome.tenant, outcome.session_id).outcomes, fields)  # type: ignore[arg-type]  # redis-py's dict is invariant


async def _left(redis: Redis) -> None:
    """With a digest and without, by executors that trace; and by one that does not, or is of the version before."""
    with_digest, without, untraced = (an_outcome(number) for number in (1, 2, 3))
    header, case = digest_of(with_digest)
    await _leave(redis, with_digest, h=header, c=case, t=_TRACES[0])
    await _leave(redis, without, t=_TRACES[1])
    await _leave(redis, untraced)


@pytest.mark.promise("trace.one_tree")
async def test_an_outcome_is_learned_within_its_tasks_trace(redis: Redis) -> None:
    await _left(redis)
    kept = KeptSpans()
    learner = Learner(RedisOutcomes(redis, "one", 5.0), RedisMemory(redis), kept.tracer)
    await learner.share()
    await learner.round()
    assert learner.counts.learned == 3
    assert {(span.name, span.trace_id) for span in kept.all} == {("learn outcome", text[3:35]) for text in _TRACES[:2]}


async def test_a_learner_that_does_not_trace_learns_the_same(redis: Redis) -> None:
    await _left(redis)
    learner = Learner(RedisOutcomes(redis, "one", 5.0), RedisMemory(redis))
    await learner.share()
    await learner.round()
    assert (learner.counts.learned, learner.counts.dead) == (3, 0)
