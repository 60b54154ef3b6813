"""What breaks beside the learning is said, and stops no learning."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NoReturn

import pytest
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.adapters.redis_learned import RedisLearned
from services.executor.core.process.synthesis import import_processes
from services.learner.adapters.redis_forgetting import RedisForgetting
from services.learner.adapters.redis_learned_files import RedisImportRepository
from services.learner.core.files.importer import Importer
from services.learner.core.memory.forgetting import ForgetRequestWorker
from services.learner.core.training import Seeder
from services.learner.entrypoints.loops import SeedingStatus, keep_forgetting, keep_seeded
from services.learner.ports.files import StoredFile
from shared.contracts.learning_files import FileReport, FileRequest, ForgetRequest, LearningFile
from shared.infra.rpc import RpcQueue, keep_importing
from tests.integration.gateway_stage import PATIENCE

pytestmark = pytest.mark.promise("memory.edges")

_A_CASE = {"summary": "Pay", "outcome": "success", "quality": 0.7, "at": "2026-11-01T10:00:00Z"}


class _Broken(RedisImportRepository):
    @override
    async def read_stored(self, tenant: str) -> StoredFile:
        raise TypeError(tenant)


async def test_a_file_over_which_an_import_breaks_is_answered(redis: Redis) -> None:
    serving = asyncio.create_task(
        keep_importing(
            RpcQueue(redis, "learner"),
            LearningFile.CASE_LOG,
            Importer(_Broken(redis), lambda: datetime.now(UTC)).carry_out,
        )
    )
    request = FileRequest(tenant="acme", file=LearningFile.CASE_LOG, content=[_A_CASE])
    try:
        answers = [await RpcQueue(redis, "learner").ask(request.model_dump_json(), PATIENCE) for _ in range(2)]
    finally:
        serving.cancel()
    told = [FileReport.model_validate_json(answer or "").problems for answer in answers]
    assert told == [("it cannot be imported: TypeError",)] * 2


async def test_a_file_of_processes_over_which_an_import_breaks_is_answered(redis: Redis) -> None:
    class Breaks(RedisLearned):
        @override
        async def process_types(self, tenant: str) -> tuple[str, ...]:
            raise TypeError(tenant)

    serving = asyncio.create_task(
        keep_importing(RpcQueue(redis, "executor"), LearningFile.SYNTHESIZED, partial(import_processes, Breaks(redis)))
    )
    request = FileRequest(tenant="acme", file=LearningFile.SYNTHESIZED, content={})
    try:
        answer = await RpcQueue(redis, "executor").ask(request.model_dump_json(), PATIENCE)
    finally:
        serving.cancel()
    assert FileReport.model_validate_json(answer or "").problems == ("it cannot be imported: TypeError",)


async def test_a_bucket_that_cannot_be_opened_is_tried_again() -> None:
    """As one of a profile that is written nowhere."""
    tried = asyncio.Semaphore(0)
    loop = asyncio.get_running_loop()

    def opened() -> Seeder:
        loop.call_soon_threadsafe(tried.release)
        raise ValueError("no such profile")

    status = SeedingStatus()
    seeding = asyncio.create_task(keep_seeded(opened, status, 0.01))
    async with asyncio.timeout(PATIENCE):
        for _ in range(3):
            await tried.acquire()
    seeding.cancel()
    assert "no such profile" in status.problem


async def test_a_request_to_forget_over_which_something_breaks_stops_nothing(redis: Redis) -> None:
    claimed = asyncio.Event()

    class Breaks(RedisForgetting):
        first = True

        @override
        async def claim(self, most: int, seconds: float) -> Sequence[ForgetRequest]:
            if self.first:
                self.first = False
                _break()
            claimed.set()
            return []

    stop = asyncio.Event()
    forgetting = asyncio.create_task(keep_forgetting(ForgetRequestWorker(Breaks(redis, None)), stop))
    async with asyncio.timeout(PATIENCE):
        await claimed.wait()
        stop.set()
        await forgetting


def _break() -> NoReturn:
    raise TypeError
