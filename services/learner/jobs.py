"""Joins the jobs next to learning: memory (facts, requests to forget) and learning files."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

import structlog
from pydantic import JsonValue
from redis.asyncio import Redis

from services.learner.adapters.learning_folder import LearningFolder
from services.learner.adapters.redis_forgetting import RedisForgetting
from services.learner.adapters.redis_knowledge import RedisFactRepository, RedisKnowledge
from services.learner.adapters.redis_learned_files import RedisImportRepository
from services.learner.adapters.redis_outcomes import REMEMBERING_GROUP, RedisOutcomes
from services.learner.core.files.benchmark_report import make_report_importer, validate_report_rows
from services.learner.core.files.importer import Importer
from services.learner.core.training import TrainingObjectLoader
from services.learner.ports.outcomes import TrainingObjectStore
from services.learner.settings import LearnerSettings, MemorySettings
from services.learner.workers.fact_worker import TASKS_AT_ONCE, FactWorker, ModelFactFinder, TenantBudgets
from services.learner.workers.follower import OutcomeFollower
from services.learner.workers.forget_worker import ForgetRequestWorker
from services.learner.workers.learner import Learner
from services.learner.workers.loops import (
    TrainingLoadStatus,
    keep_doing_due_work,
    keep_following,
    keep_loading_training_objects,
)
from services.learner.workers.rememberer import Rememberer
from shared.contracts.learning_files import LearningFile, LearningImportRequest
from shared.domain.model_price import find_highest_prices
from shared.infra import keys
from shared.infra.daily_spend import RedisSpend
from shared.infra.learned_files import read_learned_files
from shared.infra.lua import Scripts
from shared.infra.model_prices import load_prices
from shared.infra.model_wrappers import ClosableModel, CountedModel, LazyModel
from shared.infra.rpc import RpcQueue, serve_imports
from shared.infra.starting import CannotStart
from shared.infra.tenant_records import RedisTenantRecords
from shared.ports.meter import NO_METER, Meter
from shared.ports.models import Tier
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()
_MODEL_SECONDS = 30.0


@dataclass
class MemoryJobs:
    """The jobs of this process that keep entities and predictions, find facts, and carry out requests to forget.
    ``worker``: None if facts are not found here.
    """

    rememberer: Rememberer
    follower: OutcomeFollower
    outcomes: RedisOutcomes
    forgetter: ForgetRequestWorker
    worker: FactWorker | None = None
    close: Callable[[], Awaitable[None]] | None = None

    async def run(self, learner: Learner, every_seconds: float, stop: asyncio.Event) -> None:
        """Runs until ``stop`` is set. A model call in progress is then abandoned, and its task searched again later."""
        async with asyncio.TaskGroup() as group:
            finding = group.create_task(self._keep_finding_facts(stop))
            group.create_task(keep_doing_due_work(self.forgetter.carry_out_next, 1, stop, "forgetting"))
            group.create_task(keep_following(self.follower, self.outcomes, learner, every_seconds, stop))
            await stop.wait()
            finding.cancel()

    def describe_status(self) -> dict[str, JsonValue]:
        """What this process has remembered, found and forgotten since its start."""
        memory_counts = asdict(self.rememberer.counts)
        facts: JsonValue = asdict(self.worker.counts) if self.worker else "off"
        return {**memory_counts, "facts": facts, "forgotten": self.forgetter.finished_count}

    async def _keep_finding_facts(self, stop: asyncio.Event) -> None:
        if self.worker is None or self.close is None:
            return
        try:
            await keep_doing_due_work(self.worker.search_next_tasks, TASKS_AT_ONCE, stop, "fact search")
        finally:
            await self.close()


def build_memory_jobs(
    settings: MemorySettings,
    redis: Redis,
    owner: str,
    lease_seconds: float,
    learner: Learner,
    meter: Meter = NO_METER,
) -> MemoryJobs:
    wants_facts = settings.learn_knowledge == "on"
    rememberer = Rememberer(RedisKnowledge(redis), wants_facts=wants_facts)
    outcomes = RedisOutcomes(redis, owner, lease_seconds, REMEMBERING_GROUP)
    follower = OutcomeFollower(outcomes, rememberer.apply_outcomes, lambda: learner.partitions)
    forgetter = ForgetRequestWorker(RedisForgetting(redis, settings.open_session_archive()))
    if not wants_facts:
        return MemoryJobs(rememberer, follower, outcomes, forgetter)

    model = LazyModel(lambda: _build_fact_model(settings))
    prices = load_prices()
    counted_model = CountedModel(model, {Tier.SMALL: settings.haiku_model}, meter)
    finder = ModelFactFinder(counted_model, prices.get(settings.haiku_model) or find_highest_prices(prices.values()))
    budgets = TenantBudgets(RedisSpend(redis), RedisTenantRecords(redis))
    worker = FactWorker(RedisFactRepository(redis), finder, budgets)
    return MemoryJobs(rememberer, follower, outcomes, forgetter, worker, model.close)


def _build_fact_model(settings: MemorySettings) -> ClosableModel:
    from shared.infra.anthropic_model import AnthropicModel, ModelLimits  # the SDK takes long to load

    return AnthropicModel(
        tiers={Tier.SMALL: settings.haiku_model},
        api_key=settings.anthropic_api_key,
        base_url=settings.anthropic_base_url or None,
        limits=ModelLimits(seconds=_MODEL_SECONDS, pauses=()),
    )


_PROCESS_REQUEST_SECONDS = 3600.0  # an executor may be started long after the learner
_SYNC_TIMEOUT_SECONDS = 5.0


class FolderBackup:
    """Keeps a copy of what is learned of one tenant in a folder's files; imports them if Redis holds nothing of it."""

    def __init__(
        self, folder: LearningFolder, redis: Redis, importer: Importer, tenant: str, every_seconds: float
    ) -> None:
        self._folder = folder
        self._redis = redis
        self._importer = importer
        self._tenant, self._every = tenant, every_seconds
        self._waiting: dict[LearningFile, JsonValue] = {}  # what is still to be imported
        self._has_synced = False

    async def run(self) -> None:
        """Synchronises at intervals until cancelled. Failures are logged and tried again."""
        while True:
            await self._try_to_sync()
            await asyncio.sleep(self._every if self._has_synced else min(1.0, self._every))

    async def close(self) -> None:
        """Writes the files a last time, unless none were ever synchronised."""
        if self._has_synced:
            await self._try_to_sync()

    async def _sync_files(self) -> None:
        """Imports the files if Redis has lost its content, then writes them."""
        if not self._waiting and await self._is_memory_empty():
            contents = await asyncio.to_thread(self._folder.read_files)
            self._waiting = {file: content for file, content in contents.items() if content}
        for file, content in list(self._waiting.items()):
            await self._import_file(LearningImportRequest(tenant=self._tenant, file=file, content=content))
            del self._waiting[file]
        files = await read_learned_files(self._redis, self._tenant)
        if not (self._has_synced and await self._is_memory_empty()):  # lost meanwhile: the next step fills it again
            await asyncio.to_thread(self._folder.write_changed_files, files)
        self._has_synced = True

    async def _is_memory_empty(self) -> bool:
        """Whether Redis has nothing that was learned of the tenant, and no request to forget."""
        names = keys.learned_keys(self._tenant)
        key_names = (names.counts, names.cases, names.arms, names.knowledge, names.entities, names.forgets)
        return await Scripts(self._redis).execute("EXISTS", *key_names) == 0

    async def _import_file(self, request: LearningImportRequest) -> None:
        """Imports one file, or hands it to the executor if it holds processes. Problems are logged."""
        if request.file is LearningFile.SYNTHESIZED:  # the executor keeps processes
            await RpcQueue(self._redis, "executor").post_request(request.model_dump_json(), _PROCESS_REQUEST_SECONDS)
            return
        report = await self._importer.import_file(request)
        log.info("learning_file_imported", **report.model_dump(mode="json", exclude={"v", "dry_run"}))

    async def _try_to_sync(self) -> None:
        try:
            async with asyncio.timeout(_SYNC_TIMEOUT_SECONDS + self._every):
                await self._sync_files()
        except (StoreUnavailable, OSError) as error:  # a time-out is an OSError, too
            log.warning("learning_files_not_synced", error=f"{type(error).__name__}: {error}")


@dataclass
class FileJobs:
    """The jobs that import files, load training rows and reports from a bucket, and back up to a folder."""

    redis: Redis
    settings: LearnerSettings
    backup: FolderBackup | None
    importer: Importer
    seeding: TrainingLoadStatus = field(default_factory=TrainingLoadStatus)
    reports: TrainingLoadStatus = field(default_factory=TrainingLoadStatus)

    async def run(self) -> None:
        """Runs the file jobs until cancelled. Call ``close`` then, once nothing is learned any more."""
        async with asyncio.TaskGroup() as group:
            group.create_task(
                serve_imports(RpcQueue(self.redis, "learner"), LearningFile.CASE_LOG, self.importer.import_file)
            )
            if self.settings.s3_training_bucket:
                every = self.settings.s3_training_hours * 3600
                group.create_task(keep_loading_training_objects(self._make_row_loader, self.seeding, every))
                group.create_task(keep_loading_training_objects(self._make_report_loader, self.reports, every))
            if self.backup is not None:
                group.create_task(self.backup.run())

    async def close(self) -> None:
        if self.backup is not None:
            await self.backup.close()

    def _make_row_loader(self) -> TrainingObjectLoader:
        bucket = self._open_bucket(self.settings.s3_training_prefix)
        return TrainingObjectLoader(bucket, RedisImportRepository(self.redis), self.settings.s3_training_tenant, _now)

    def _make_report_loader(self) -> TrainingObjectLoader:
        """A loader of benchmark reports: their failures become cases, and the causes become facts."""
        tenant, repository = self.settings.s3_training_tenant, RedisImportRepository(self.redis)
        bucket = self._open_bucket(self.settings.s3_reports_prefix)
        teacher = make_report_importer(self.importer, tenant, _now)
        return TrainingObjectLoader(bucket, repository, tenant, _now, validate_report_rows, teacher)

    def _open_bucket(self, prefix: str) -> TrainingObjectStore:
        from services.learner.adapters.s3_training import S3ObjectStore  # boto3 takes long to load, and few need it

        return S3ObjectStore(self.settings.s3_training_bucket, prefix)


def build_file_jobs(settings: LearnerSettings, redis: Redis) -> FileJobs:
    """The file jobs. Raises ``CannotStart`` for a folder that cannot be used."""
    importer = Importer(RedisImportRepository(redis), _now)
    if settings.rl_cache_dir is None:
        return FileJobs(redis, settings, None, importer)
    folder = LearningFolder(settings.rl_cache_dir)
    try:
        folder.create_if_missing()
    except OSError as error:
        raise CannotStart(f"RL_CACHE_DIR cannot be used: {error}") from error
    backup = FolderBackup(folder, redis, importer, settings.rl_cache_tenant, settings.rl_cache_seconds)
    return FileJobs(redis, settings, backup, importer)


def _now() -> datetime:
    return datetime.now(UTC)
