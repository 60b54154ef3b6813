"""What a task has told so far, from its event stream in state Redis."""

from collections.abc import Sequence
from typing import cast

from redis.asyncio import Redis
from typing_extensions import override

from services.gateway.ports.tasks import Stories
from shared.contracts.task import TaskEvent, TaskRecord
from shared.infra import keys
from shared.infra.lua import Scripts


class RedisStories(Stories):
    def __init__(self, redis: Redis) -> None:
        self._scripts = Scripts(redis)

    @override
    async def told(self, record: TaskRecord) -> Sequence[tuple[str, TaskEvent]]:
        stream = keys.task_keys(record.tenant, record.session_id, record.task_id).events
        rows = cast("list[tuple[str, dict[str, str]]]", await self._scripts.command("XRANGE", stream, "-", "+"))
        return [(stream_id, TaskEvent.model_validate_json(fields["e"])) for stream_id, fields in rows]
