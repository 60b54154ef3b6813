"""Joins what brings and keeps learned things as files: training rows, imports, the folder of RL_CACHE_DIR."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue
from redis.asyncio import Redis

from services.learner.adapters.cache_folder import CacheFolder
from services.learner.adapters.redis_case_repository import RedisCaseRepository
from services.learner.adapters.redis_import_repository import RedisImportRepository
from services.learner.core.files.importer import Importer
from services.learner.core.files.report import report_rows, report_teacher
from services.learner.core.training import Seeder
from services.learner.entrypoints.cache import Cache, LearnedCache
from services.learner.entrypoints.loops import SeedingStatus, keep_seeded
from services.learner.settings import LearnerSettings
from shared.contracts.learning_files import FileRequest, LearningFile
from shared.infra import keys
from shared.infra.learned_files import learned_files
from shared.infra.lua import Scripts
from shared.infra.rpc import RpcQueue, keep_importing
from shared.infra.starting import CannotStart

_HANDED_ON_SECONDS = 3600.0  # an executor may be started long after the learner


@dataclass
class FileJobs:
    redis: Redis
    settings: LearnerSettings
    owner: str
    cache: Cache | None
    importer: Importer
    seeding: SeedingStatus = field(default_factory=SeedingStatus)
    reports: SeedingStatus = field(default_factory=SeedingStatus)

    async def run(self) -> None:
        """Until cancelled; then ``close``, once nothing is learned any more."""
        async with asyncio.TaskGroup() as group:
            group.create_task(
                keep_importing(RpcQueue(self.redis, "learner"), LearningFile.CASE_LOG, self.importer.carry_out)
            )
            if self.settings.s3_training_bucket:
                every = self.settings.s3_training_hours * 3600
                group.create_task(keep_seeded(self._make_seeder, self.seeding, every))
                group.create_task(keep_seeded(self._make_report_seeder, self.reports, every))
            if self.cache is not None:
                group.create_task(self.cache.run())

    async def close(self) -> None:
        if self.cache is not None:
            await self.cache.close()

    def _make_seeder(self) -> Seeder:
        from services.learner.adapters.s3_training import S3Training  # boto3 takes long to load, and few need it

        bucket = S3Training(self.settings.s3_training_bucket, self.settings.s3_training_prefix)
        return Seeder(bucket, RedisCaseRepository(self.redis, self.owner), self.settings.s3_training_tenant, _now)

    def _make_report_seeder(self) -> Seeder:
        """Benchmark reports: their failures become cases, and what tasks failed of becomes facts.

        It looks as the same owner as the other one: neither has to wait for the other.
        """
        from services.learner.adapters.s3_training import S3Training  # boto3 takes long to load, and few need it

        tenant, repository = self.settings.s3_training_tenant, RedisCaseRepository(self.redis, self.owner)
        bucket = S3Training(self.settings.s3_training_bucket, self.settings.s3_reports_prefix)
        return Seeder(bucket, repository, tenant, _now, report_rows, report_teacher(self.importer, tenant, _now))


def build_file_jobs(settings: LearnerSettings, redis: Redis, owner: str) -> FileJobs:
    """Raises ``CannotStart`` for a folder that cannot be used."""
    importer = Importer(RedisImportRepository(redis), _now)
    folder = settings.rl_cache_dir
    cache = None if folder is None else _cache(settings, folder, redis, importer)
    return FileJobs(redis, settings, owner, cache, importer)


def _cache(settings: LearnerSettings, path: Path, redis: Redis, importer: Importer) -> Cache:
    folder, tenant = CacheFolder(path), settings.rl_cache_tenant
    try:
        folder.prepare()
    except OSError as error:
        raise CannotStart(f"RL_CACHE_DIR cannot be used: {error}") from error

    async def is_new() -> bool:
        names = keys.learned_keys(tenant)
        told = (names.counts, names.cases, names.arms, names.knowledge, names.entities, names.forgets)
        return await Scripts(redis).command("EXISTS", *told) == 0

    async def files() -> Mapping[LearningFile, JsonValue]:
        return await learned_files(redis, tenant)

    async def hand_on(request: FileRequest) -> None:
        await RpcQueue(redis, "executor").leave(request.model_dump_json(), _HANDED_ON_SECONDS)

    return Cache(folder, LearnedCache(tenant, is_new, files, hand_on), importer, settings.rl_cache_seconds)


def _now() -> datetime:
    return datetime.now(UTC)
