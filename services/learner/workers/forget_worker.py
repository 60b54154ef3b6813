"""Carries out requests to forget, until nothing from before a request can come back."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

import structlog

from services.learner.adapters.redis_forgetting import RedisForgetting
from shared.contracts.learning_files import ForgetRequest, ForgetScope, ForgetState

CLAIM_SECONDS = 30.0
_RETRY_SECONDS = 0.5

log = structlog.get_logger()

_REMAINING_TASK_RECORDS = (
    "task records, journals and the audit trail of writes: business records; they leave Redis 7 days after their task "
    "ended, and an archive keeps them until it is emptied"
)
_ALWAYS_REMAINING = {
    "files": "exports and training rows: where they were written; RL_CACHE_DIR until the learner writes it again",
    "dead_letters": "outcomes that could not be learned, and come back if they are put back: purple dlq drops them",
}
_REMAINING_BUSY_SESSION = "the session's own memory: it is being worked on; ask again once its tasks have ended"
_REMAINING_BY_SCOPE: Mapping[ForgetScope, Mapping[str, str]] = {
    ForgetScope.ENTITY: {
        "tasks": _REMAINING_TASK_RECORDS,
        "conversations": "what sessions remember of their own turns: forget the session too",
        "statistics": "counts and arms: they name nobody",
    },
    ForgetScope.SESSION: {"tasks": _REMAINING_TASK_RECORDS, "statistics": "counts and arms: they name nobody"},
    ForgetScope.TENANT: {
        "tasks": _REMAINING_TASK_RECORDS,
        "conversations": "what sessions remember of their own turns: forget each session too",
        "made_tools": "calculators that were made, and the switches: they are the operators'",
    },
}


class ForgetRequestWorker:
    """Carries out requests to forget. ``finished_count``: how many it has finished."""

    def __init__(self, forgetting: RedisForgetting) -> None:
        self._forgetting = forgetting
        self.finished_count = 0

    async def carry_out_next(self, now: datetime) -> int:
        """Carries out the next waiting request; returns 1, or 0 if none waits."""
        requests = await self._forgetting.claim_due_requests(1, CLAIM_SECONDS)
        for request in requests:
            await self._carry_out(request, now)
        return len(requests)

    async def _carry_out(self, request: ForgetRequest, now: datetime) -> None:
        """Removes what the request names. The request comes again until no older outcome can bring anything back."""
        is_under_way = await self._forgetting.has_older_outcomes(request)
        counts = Counter(request.removed)
        counts.update(await self._forgetting.remove_requested_data(request))
        state = ForgetState.WORKING if is_under_way else ForgetState.DONE
        remainders = {**_REMAINING_BY_SCOPE[request.scope], **_ALWAYS_REMAINING}
        if counts.pop("session_busy", 0):
            remainders["conversation"] = _REMAINING_BUSY_SESSION
        changes: dict[str, object] = {"state": state, "removed": dict(counts), "left": remainders, "changed_at": now}
        if not is_under_way:
            changes["subject"] = ""
        changed_request = request.model_copy(update=changes)
        is_noted = await self._forgetting.store_request_state(changed_request, _RETRY_SECONDS if is_under_way else None)
        if is_noted and not is_under_way:
            self.finished_count += 1
            log.info(
                "forget_request_completed", request=request.request_id, scope=request.scope.value, removed=dict(counts)
            )
