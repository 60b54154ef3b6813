"""Files of what is learned: read from state Redis; handed to learner or executor to be imported."""

from collections.abc import Mapping

from pydantic import JsonValue, ValidationError
from redis.asyncio import Redis
from typing_extensions import override

from services.gateway.ports.learning_files import LearningFiles
from services.gateway.ports.tasks import StoreUnavailable
from shared.contracts.learning_files import FileReport, LearningFile
from shared.domain.exact_json import Json, dumps
from shared.infra.errands import Errands
from shared.infra.learned_files import learned_files

_SECONDS = 20.0


class RedisLearningFiles(LearningFiles):
    def __init__(self, redis: Redis, seconds: float = _SECONDS) -> None:
        self._redis = redis
        self._seconds = seconds

    @override
    async def export(self, tenant: str) -> Mapping[LearningFile, JsonValue]:
        return await learned_files(self._redis, tenant)

    @override
    async def bring(self, tenant: str, file: LearningFile, content: Json, *, dry_run: bool) -> FileReport | None:
        doer = "executor" if file is LearningFile.SYNTHESIZED else "learner"
        errand: Json = {"tenant": tenant, "file": file.value, "content": content, "dry_run": dry_run}
        answer = await Errands(self._redis, doer).ask(dumps(errand), self._seconds)
        try:
            return None if answer is None else FileReport.model_validate_json(answer)
        except ValidationError as error:
            raise StoreUnavailable(f"the {doer} answered something that cannot be read") from error
