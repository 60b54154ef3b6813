"""Outcomes with a digest or a trace beside them and without teach the same; what breaks beside the learning is said."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NoReturn, cast

import pytest
from pydantic import JsonValue
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.adapters.redis_learned import RedisLearnedStore
from services.executor.core.process.synthesis import import_processes
from services.learner.adapters.redis_forgetting import RedisForgetting
from services.learner.adapters.redis_learned_files import RedisImportRepository
from services.learner.adapters.redis_lessons import RedisLessons
from services.learner.adapters.redis_outcomes import RedisOutcomes
from services.learner.core.files.importer import Importer
from services.learner.core.training import TrainingObjectLoader
from services.learner.ports.files import LearnedSnapshot
from services.learner.workers.forget_worker import ForgetRequestWorker
from services.learner.workers.learner import MAX_TRIES, Learner
from services.learner.workers.loops import TrainingLoadStatus, keep_doing_due_work, keep_loading_training_objects
from shared.contracts.learning_files import ForgetRequest, LearningFile, LearningImportReport, LearningImportRequest
from shared.contracts.outcome import TaskOutcome
from shared.contracts.outcome_digest import OutcomeDigest, make_outcome_digest
from shared.infra import keys
from shared.infra.compression import DECODING_ERRORS
from shared.infra.rpc import RpcQueue, serve_imports
from shared.infra.stored_outcomes import pack_outcome_with_digest, pack_outcome_with_own_digest
from shared.ports.tracing import NO_TRACER, Tracer
from tests.doubles.kept_spans import KeptSpans
from tests.integration.gateway_stage import PATIENCE
from tests.integration.learner_stage import an_outcome, case_log, unsettled

STREAM = keys.partition_keys_of("acme", "s1").outcomes
PARTITION = next(number for number in range(64) if keys.partition_keys(number).outcomes == STREAM)


async def _leave_with_digest(redis: Redis, outcomes: Iterable[TaskOutcome], **forged: str) -> None:
    for outcome in outcomes:
        packed = pack_outcome_with_digest(make_outcome_digest(outcome)._replace(**forged), outcome.stored_json())
        stream = keys.partition_keys_of(outcome.tenant, outcome.session_id).outcomes
        await redis.xadd(stream, {"id": outcome.event_id, "o": packed})


async def _learned(redis: Redis, tracer: Tracer = NO_TRACER) -> Learner:
    learner = Learner(RedisOutcomes(redis, "one", 5.0), RedisLessons(redis), tracer)
    await learner.update_share()
    for _ in range(50):
        if not await learner.run_once():
            return learner
    raise AssertionError("the learner does not come to an end")


@pytest.mark.promise("learner.digest")
async def test_only_the_first_time_an_outcome_is_handed_over_with_its_digest(redis: Redis) -> None:
    outcome = an_outcome(1)
    await _leave_with_digest(redis, [outcome])
    streams = RedisOutcomes(redis, "one", 5.0)
    (first,) = (await streams.claim_outcomes([PARTITION])).deliveries
    (second,) = (await streams.claim_outcomes([PARTITION])).deliveries
    assert (first.event, first.digest, first.tries) == (outcome.stored_json(), make_outcome_digest(outcome), 1)
    assert (second.event, second.digest, second.tries) == (outcome.stored_json(), None, 2)


@pytest.mark.promise("learner.digest")
@pytest.mark.parametrize(
    "forged", [{"header": "odd"}, {"header": ""}, {"case": "odd"}, {"header": '"acme" - 99999 success 1 2 3'}]
)
async def test_where_a_digest_is_none_the_outcome_is_read_in_its_order(redis: Redis, forged: dict[str, str]) -> None:
    await _leave_with_digest(redis, [an_outcome(1)])
    await _leave_with_digest(redis, [an_outcome(2)], **forged)
    await _leave_with_digest(redis, [an_outcome(3)])
    learner = await _learned(redis)
    assert [case.case_id for case in await case_log(redis, "acme")] == ["acme-3:1", "acme-2:1", "acme-1:1"]
    assert (learner.counts.learned, learner.counts.dead, await unsettled(redis)) == (3, 0, 0)


@pytest.mark.promise("learner.digest")
async def test_where_neither_can_be_read_the_entry_goes_whole_to_the_dead_letters(redis: Redis) -> None:
    fields = {
        "id": "bad:1",
        "o": pack_outcome_with_digest(OutcomeDigest("odd", "{}"), "poison").decode(errors=DECODING_ERRORS),
    }
    await redis.xadd(STREAM, {"id": "bad:1", "o": fields["o"].encode(errors=DECODING_ERRORS)})
    await _leave_with_digest(redis, [an_outcome(1)])
    learner = await _learned(redis)
    rows = cast("list[tuple[str, dict[str, str]]]", await redis.xrange(keys.partition_keys(PARTITION).dead))
    ((_, letter),) = rows
    assert {name: letter[name] for name in fields} == fields
    assert letter["tries"] == str(MAX_TRIES)
    assert (learner.counts.learned, learner.counts.dead) == (1, 1)


_TRACES = [f"00-{number:032x}-{number:016x}-01" for number in range(1, 4)]


async def _leave(redis: Redis, outcome: TaskOutcome, **besides: str) -> None:
    fields = {"id": outcome.event_id, "o": outcome.model_dump_json(), **besides}
    await redis.xadd(keys.partition_keys_of(outcome.tenant, outcome.session_id).outcomes, fields)  # type: ignore[arg-type]  # redis-py's dict is invariant


async def _left(redis: Redis) -> None:
    """With a digest and without, by executors that trace; and by one that does not, or is of the version before."""
    with_digest, without, untraced = (an_outcome(number) for number in (1, 2, 3))
    packed = {"id": with_digest.event_id, "o": pack_outcome_with_own_digest(with_digest), "t": _TRACES[0]}
    await redis.xadd(keys.partition_keys_of(with_digest.tenant, with_digest.session_id).outcomes, packed)  # type: ignore[arg-type]  # redis-py's dict is invariant
    await _leave(redis, without, t=_TRACES[1])
    await _leave(redis, untraced)


@pytest.mark.promise("trace.one_tree")
async def test_an_outcome_is_learned_within_its_tasks_trace(redis: Redis) -> None:
    await _left(redis)
    kept = KeptSpans()
    learner = await _learned(redis, kept.tracer)
    assert learner.counts.learned == 3
    assert {(span.name, span.trace_id) for span in kept.all} == {("learn outcome", text[3:35]) for text in _TRACES[:2]}


async def test_a_learner_that_does_not_trace_learns_the_same(redis: Redis) -> None:
    await _left(redis)
    learner = await _learned(redis)
    assert (learner.counts.learned, learner.counts.dead) == (3, 0)


_A_CASE: JsonValue = {"summary": "Pay", "outcome": "success", "quality": 0.7, "at": "2026-11-01T10:00:00Z"}


class _Broken(RedisImportRepository):
    @override
    async def read_snapshot(self, tenant: str) -> LearnedSnapshot:
        raise TypeError(tenant)


async def _problems(
    queue: RpcQueue,
    file: LearningFile,
    work: Callable[[LearningImportRequest], Awaitable[LearningImportReport]],
    content: JsonValue,
) -> list[tuple[str, ...]]:
    """What is wrong with a file, as whoever imports it says each of two times."""
    serving = asyncio.create_task(serve_imports(queue, file, work))
    request = LearningImportRequest(tenant="acme", file=file, content=content)
    try:
        answers = [await queue.request_answer(request.model_dump_json(), PATIENCE) for _ in range(2)]
    finally:
        serving.cancel()
    return [LearningImportReport.model_validate_json(answer or "").problems for answer in answers]


@pytest.mark.promise("memory.edges")
async def test_a_file_over_which_an_import_breaks_is_answered(redis: Redis) -> None:
    work = Importer(_Broken(redis), lambda: datetime.now(UTC)).import_file
    told = await _problems(RpcQueue(redis, "learner"), LearningFile.CASE_LOG, work, [_A_CASE])
    assert told == [("it cannot be imported: TypeError",)] * 2


@pytest.mark.promise("memory.edges")
async def test_a_file_of_processes_over_which_an_import_breaks_is_answered(redis: Redis) -> None:
    class Breaks(RedisLearnedStore):
        @override
        async def list_synthesized_processes(self, tenant: str) -> tuple[str, ...]:
            raise TypeError(tenant)

    work = partial(import_processes, Breaks(redis))
    told = await _problems(RpcQueue(redis, "executor"), LearningFile.SYNTHESIZED, work, {})
    assert told == [("it cannot be imported: TypeError",)] * 2


@pytest.mark.promise("memory.edges")
async def test_a_bucket_that_cannot_be_opened_is_tried_again() -> None:
    """As one of a profile that is written nowhere."""
    tried = asyncio.Semaphore(0)
    loop = asyncio.get_running_loop()

    def opened() -> TrainingObjectLoader:
        loop.call_soon_threadsafe(tried.release)
        raise ValueError("no such profile")

    status = TrainingLoadStatus()
    seeding = asyncio.create_task(keep_loading_training_objects(opened, status, 0.01))
    async with asyncio.timeout(PATIENCE):
        for _ in range(3):
            await tried.acquire()
    seeding.cancel()
    assert "no such profile" in status.problem


@pytest.mark.promise("memory.edges")
async def test_a_request_to_forget_over_which_something_breaks_stops_nothing(redis: Redis) -> None:
    claimed = asyncio.Event()

    class Breaks(RedisForgetting):
        first = True

        @override
        async def claim_due_requests(self, most: int, seconds: float) -> Sequence[ForgetRequest]:
            if self.first:
                self.first = False
                _break()
            claimed.set()
            return []

    stop = asyncio.Event()
    worker = ForgetRequestWorker(Breaks(redis, None))
    forgetting = asyncio.create_task(keep_doing_due_work(worker.carry_out_next, 1, stop, "forgetting"))
    async with asyncio.timeout(PATIENCE):
        await claimed.wait()
        stop.set()
        await forgetting


def _break() -> NoReturn:
    raise TypeError
