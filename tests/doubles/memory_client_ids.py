"""What is remembered of clients' own task ids, in memory."""

from collections import defaultdict

from typing_extensions import override

from services.gateway.features.tasks.store import FoundTask, MessageKey, RedisClientIds
from shared.ports.tasks import Tasks


class MemoryClientIds(RedisClientIds):
    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._newest: dict[tuple[str, str], str] = {}
        self._signalled: dict[MessageKey, str] = defaultdict(str)
        self._answered: dict[MessageKey, str] = defaultdict(str)

    @override
    async def find_task(self, key: MessageKey) -> FoundTask:
        newest = self._newest.get((key.tenant, key.alias), key.alias)
        return FoundTask(
            key, await self._tasks.get_record(key.tenant, newest), self._signalled[key], self._answered[key]
        )

    @override
    async def record_task(self, key: MessageKey, task_id: str) -> None:
        self._newest[key.tenant, key.alias] = task_id

    @override
    async def record_signal(self, key: MessageKey, turn_id: str) -> None:
        self._signalled[key] = turn_id

    @override
    async def record_answer_received(self, key: MessageKey, turn_id: str) -> None:
        self._answered[key] = turn_id
