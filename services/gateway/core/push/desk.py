"""Webhooks of tasks: who may set, see and remove them."""

from collections.abc import Sequence

from services.gateway.core.errors import PushUnsupported, UnknownTask, UnknownWebhook
from services.gateway.core.identity.roles import may_have_told
from services.gateway.core.push.book import PushBook
from services.gateway.core.tasks.desk import TaskDesk
from services.gateway.core.tasks.resolve import check_operator
from services.gateway.ports.identity import Caller
from services.gateway.ports.push import Failing, Registered, Webhook
from shared.contracts.task import TaskRecord
from shared.domain.words import Role


class PushDesk:
    """Whoever may read a task may have its webhooks. ``book`` is None where none are offered: ``PushUnsupported``.

    All methods raise ``UnknownTask`` and may raise ``StoreUnavailable``.
    """

    def __init__(self, desk: TaskDesk, book: PushBook | None) -> None:
        self._desk, self._book = desk, book

    @property
    def offered(self) -> bool:
        return self._book is not None

    async def enter(self, task_id: str, webhook: Webhook, caller: Caller) -> TaskRecord:
        """Raises ``InvalidField``. One of the same id is replaced."""
        book = self._open()
        record = await self._desk.read(task_id, caller)
        _check_may_set(record, caller)
        await book.enter(record, webhook)
        return record

    async def listed(self, task_id: str, caller: Caller) -> Sequence[Registered]:
        book = self._open()
        return await book.webhooks.of(await self._desk.read(task_id, caller))

    async def one(self, task_id: str, config_id: str | None, caller: Caller) -> Webhook:
        """That one, or the task's first if none is named; raises ``UnknownWebhook``."""
        found = [one.webhook for one in await self.listed(task_id, caller)]
        for webhook in found:
            if config_id in (None, webhook.config_id):
                return webhook
        raise UnknownWebhook(task_id, config_id)

    async def remove(self, task_id: str, config_id: str, caller: Caller) -> None:
        """It may be repeated: one that is not there is removed."""
        book = self._open()
        record = await self._desk.read(task_id, caller)
        _check_may_set(record, caller)
        await book.webhooks.drop(record, config_id)

    async def failing(self, caller: Caller) -> Sequence[Failing]:
        """The tenant's webhooks and notices that fail or were given up, for those who may see all its tasks."""
        book = self._open()
        seen = {Role.OPERATOR, Role.APPROVER} & {*caller.principal.roles} or not caller.principal.verified
        return await book.webhooks.failing(caller.tenant) if seen else ()

    def secrets(self, caller: Caller) -> tuple[str, ...]:
        """What the tenant's receivers verify signatures with, the newest first. Raises ``NotAnOperator``."""
        book = self._open()
        check_operator(caller)
        return book.secrets.of(caller.tenant)

    def _open(self) -> PushBook:
        if self._book is None:
            raise PushUnsupported
        return self._book


def _check_may_set(record: TaskRecord, caller: Caller) -> None:
    if not may_have_told(caller.principal, record):
        raise UnknownTask(record.task_id)
