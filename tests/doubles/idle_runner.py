"""A runner that runs nothing: what asks about it, and what offers it sessions, is tested without a store."""

from typing_extensions import override

from services.executor.core.turn.runner import Runner


class IdleRunner(Runner):
    """Says that it runs so many sessions, and notes the sessions that it was offered."""

    def __init__(self, running: int = 0, free: int = 1, *, stopping: bool = False, takes: bool = True) -> None:
        self._said_running, self._said_free, self._said_stopping = running, free, stopping
        self._takes = takes
        self.offered: list[tuple[str, str]] = []

    @property
    @override
    def running_count(self) -> int:
        return self._said_running

    @property
    @override
    def free_capacity(self) -> int:
        return self._said_free

    @property
    @override
    def is_stopping(self) -> bool:
        return self._said_stopping

    @override
    async def offer(self, tenant: str, session_id: str) -> bool:
        self.offered.append((tenant, session_id))
        return self._takes
