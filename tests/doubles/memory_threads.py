"""What is remembered of clients' own task ids, in memory."""

from collections import defaultdict

from services.gateway.features.tasks.model import ClientThreads, Thread


class MemoryThreads(ClientThreads):
    def __init__(self) -> None:
        self._newest: dict[tuple[str, str], str] = {}
        self._noted: dict[tuple[str, str, str], Thread] = defaultdict(Thread)

    async def thread_of(self, tenant: str, client_id: str, fingerprint: str) -> Thread:
        noted = self._noted[tenant, client_id, fingerprint]
        return noted._replace(task_id=self._newest.get((tenant, client_id)))

    async def points_to(self, tenant: str, client_id: str, task_id: str) -> None:
        self._newest[tenant, client_id] = task_id

    async def note_signal(self, tenant: str, client_id: str, fingerprint: str, turn_id: str) -> None:
        key = tenant, client_id, fingerprint
        self._noted[key] = self._noted[key]._replace(signalled=turn_id)

    async def note_answer(self, tenant: str, client_id: str, fingerprint: str, turn_id: str) -> None:
        key = tenant, client_id, fingerprint
        self._noted[key] = self._noted[key]._replace(answered=turn_id)
