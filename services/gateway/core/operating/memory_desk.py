"""What operators see of a tenant's memory, and what they have forgotten."""

from collections.abc import Callable, Sequence
from datetime import datetime

from services.gateway.core.errors import InvalidField, NoSuchRequest
from services.gateway.core.tasks.resolve import check_operator
from services.gateway.ports.identity import Caller
from services.gateway.ports.memory import Forgets, Memories, Remembered
from shared.contracts.case import CaseEntry
from shared.contracts.forget import ForgetRequest, ForgetScope


class MemoryDesk:
    """Every method raises ``NotAnOperator``, and may raise ``StoreUnavailable``. A tenant sees its own alone."""

    def __init__(
        self, memories: Memories, forgets: Forgets, clock: Callable[[], datetime], new_id: Callable[[], str]
    ) -> None:
        self._memories, self._forgets, self._clock, self._new_id = memories, forgets, clock, new_id

    async def cases(self, caller: Caller) -> Sequence[CaseEntry]:
        check_operator(caller)
        return await self._memories.cases(caller.tenant)

    async def remembered(self, caller: Caller) -> Remembered:
        check_operator(caller)
        return await self._memories.remembered(caller.tenant)

    async def forget(self, caller: Caller, scope: ForgetScope, subject: str) -> ForgetRequest:
        """Ask for it. A learner does it, in a moment: ``progress`` tells how far it is."""
        check_operator(caller)
        if (scope is ForgetScope.TENANT) is bool(subject.strip()):
            raise InvalidField("subject", "names the entity or the session; it is empty for all of a tenant's")
        request = ForgetRequest(
            request_id=self._new_id(),
            tenant=caller.tenant,
            scope=scope,
            subject=subject.strip(),
            asked_by=caller.principal.id,
            asked_at=self._clock(),
        )
        await self._forgets.ask(request)
        return request

    async def progress(self, caller: Caller, request_id: str) -> ForgetRequest:
        """Also raises ``NoSuchRequest``."""
        check_operator(caller)
        found = await self._forgets.find(caller.tenant, request_id)
        if found is None:
            raise NoSuchRequest(request_id)
        return found

    async def requests(self, caller: Caller) -> Sequence[ForgetRequest]:
        check_operator(caller)
        return await self._forgets.of(caller.tenant)
