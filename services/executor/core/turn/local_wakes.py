"""Lets this process take sessions that its reaper found, while it has capacity, instead of queueing them."""

from collections.abc import Iterable, Sequence

from typing_extensions import override

from services.executor.core.session.context import run_in_parallel
from services.executor.core.turn.runner import Runner
from services.executor.ports.sessions import SessionWakes
from shared.ports.store import StoreUnavailable

# A process that runs more sessions leaves what is found to the queue, which spreads it. So many are claimed in the same
# round trips, before the first of them costs any time.
MOST_SESSIONS_WITH_LOCAL_WAKES = 64


class LocalFirstWakes(SessionWakes):
    """Wakes that this process takes itself while it runs few sessions; others go into the queue.

    So a dead executor's turns continue even while the queue is down or slow.
    """

    def __init__(self, runner: Runner, wakes: SessionWakes) -> None:
        self._runner = runner
        self._wakes = wakes

    @override
    async def wake_ahead(self, tenant: str, session_id: str) -> None:
        await self.wake_unless_queued([(tenant, session_id)], has_begun=True)

    @override
    async def wake_unless_queued(
        self, sessions: Iterable[tuple[str, str]], *, has_begun: bool = False
    ) -> Sequence[tuple[str, str]]:
        """Takes sessions whose turn ``has_begun`` here while few run, and queues the others first; returns those that
        were taken or queued. Without a queue all are offered here; raises ``StoreUnavailable`` unless all are taken.
        """
        all_sessions = list(sessions)
        free_slots = max(0, MOST_SESSIONS_WITH_LOCAL_WAKES - self._runner.running_count)
        for_here, for_queue = (
            (all_sessions[:free_slots], all_sessions[free_slots:]) if has_begun else ([], all_sessions)
        )
        try:
            queued = [*await self._wakes.wake_unless_queued(for_queue, has_begun=has_begun)]
        except StoreUnavailable:
            taken_here = await self._offer_sessions(all_sessions[:free_slots])
            if len(taken_here) < len(all_sessions):
                raise
            return taken_here
        taken_here = await self._offer_sessions(for_here)
        refused = [session for session in for_here if session not in taken_here]
        return [*taken_here, *queued, *await self._wakes.wake_unless_queued(refused, has_begun=has_begun)]

    async def _offer_sessions(self, sessions: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Offers the sessions to this process's runner in parallel; returns those that it took."""
        results = await run_in_parallel(self._offer_session(session) for session in sessions)
        return [session for session, is_taken in zip(sessions, results, strict=True) if is_taken]

    async def _offer_session(self, session: tuple[str, str]) -> bool:
        return self._runner.running_count < MOST_SESSIONS_WITH_LOCAL_WAKES and await self._runner.offer(*session)
