"""A queue of wakes that only remembers whom it was asked to wake (``SessionWakes`` of the executor)."""

from collections.abc import Iterable, Sequence

from services.executor.ports.turns import SessionWakes


class HeardWakes(SessionWakes):
    """``queued``: sessions that stand in it already, so that they are not woken again."""

    def __init__(self, queued: Iterable[tuple[str, str]] = ()) -> None:
        self.heard: list[tuple[str, str]] = []
        self.queued = set(queued)

    async def wake_ahead(self, tenant: str, session_id: str) -> None:
        self.heard.append((tenant, session_id))

    async def wake_unless_queued(
        self, sessions: Iterable[tuple[str, str]], *, has_begun: bool = False
    ) -> Sequence[tuple[str, str]]:
        fresh = [(tenant, session_id) for tenant, session_id in sessions if (tenant, session_id) not in self.queued]
        self.heard += fresh
        return fresh
