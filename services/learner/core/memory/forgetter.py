"""Carries out requests to forget, until nothing of before the request can come back."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

import structlog

from services.learner.ports.memory import Forgetting
from shared.contracts.forget import ForgetRequest, ForgetScope, ForgetState

CLAIM_SECONDS = 30.0
_AGAIN_SECONDS = 0.5

log = structlog.get_logger()

_RECORDS = (
    "task records, journals and the audit trail of writes: business records; they leave Redis 7 days after their task "
    "ended, and an archive keeps them until it is emptied"
)
_FILES = "exports and training rows: where they were written; RL_CACHE_DIR until the learner writes it again"
_LETTERS = "outcomes that could not be learned, and come back if they are put back: purple dlq drops them"
_LEFT: Mapping[ForgetScope, Mapping[str, str]] = {
    ForgetScope.ENTITY: {
        "tasks": _RECORDS,
        "conversations": "what sessions remember of their own turns: forget the session too",
        "statistics": "counts and arms: they name nobody",
    },
    ForgetScope.SESSION: {"tasks": _RECORDS, "statistics": "counts and arms: they name nobody"},
    ForgetScope.TENANT: {
        "tasks": _RECORDS,
        "conversations": "what sessions remember of their own turns: forget each session too",
        "made_tools": "calculators that were made, and the switches: they are the operators'",
    },
}


class Forgetter:
    def __init__(self, forgetting: Forgetting) -> None:
        self._forgetting = forgetting
        self.done = 0

    async def round(self, now: datetime) -> int:
        """Carry out what is asked for; how many requests were in hand."""
        requests = await self._forgetting.claim(1, CLAIM_SECONDS)
        for request in requests:
            await self._carry_out(request, now)
        return len(requests)

    async def _carry_out(self, request: ForgetRequest, now: datetime) -> None:
        """Taken away again once nothing is under way any more: that may have brought something back meanwhile."""
        is_under_way = await self._forgetting.is_under_way(request)
        removed = Counter(request.removed)
        removed.update(await self._forgetting.take_away(request))
        state = ForgetState.WORKING if is_under_way else ForgetState.DONE
        left = {**_LEFT[request.scope], "files": _FILES, "dead_letters": _LETTERS}
        if removed.pop("session_busy", 0):
            left["conversation"] = (
                "the session's own memory: it is being worked on; ask again once its tasks have ended"
            )
        noted = request.model_copy(
            update={
                "state": state,
                "removed": dict(removed),
                "left": left,
                "changed_at": now,
                "subject": request.subject if is_under_way else "",
            }
        )
        await self._forgetting.note(noted, _AGAIN_SECONDS if is_under_way else None)
        if not is_under_way:
            self.done += 1
            log.info("forgotten", request=request.request_id, scope=request.scope.value, removed=dict(removed))
