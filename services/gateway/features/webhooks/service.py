"""Registers, shows and removes webhooks of tasks, for callers who may do so."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from services.gateway.edge.errors import InvalidField, NoVisibleTask, PushUnsupported, UnknownWebhook
from services.gateway.features.identity.model import Caller, may_see_all_tasks, may_set_webhooks
from services.gateway.features.webhooks import model as hooks
from services.gateway.features.webhooks.secrets import WebhookMasterSecrets
from shared.contracts.task import TaskRecord
from shared.domain.outgoing import AllowedAddresses, why_refused

_CONFIG_PATH = "pushNotificationConfig"


class WebhookRegistrar(NamedTuple):
    """Registers webhooks. ``addresses``: those that they may have; ``most_webhooks``: how many a task may have."""

    webhooks: hooks.WebhookStore
    addresses: AllowedAddresses
    secrets: WebhookMasterSecrets
    most_webhooks: int = 10

    def check(self, webhook: hooks.TaskWebhook) -> None:
        """Raises ``InvalidField`` for a URL that the gateway may not call."""
        if problem := why_refused(webhook.url, self.addresses):
            raise InvalidField(f"{_CONFIG_PATH}.url", problem)

    async def register(self, record: TaskRecord, webhook: hooks.TaskWebhook, *, includes_past: bool = False) -> None:
        """Register a webhook for updates from now on, or from the task's start. Without an id, it gets the task's.

        Raises ``InvalidField`` for its URL, or if the task has too many webhooks.
        """
        self.check(webhook)
        identified = webhook.model_copy(update={"config_id": webhook.config_id or record.task_id})
        try:
            await self.webhooks.put(record, identified, includes_past=includes_past, limit=self.most_webhooks)
        except hooks.TooManyWebhooks:
            raise InvalidField(_CONFIG_PATH, f"a task has at most {self.most_webhooks} webhooks") from None


# The task of that id; raises ``NoVisibleTask`` if the caller may not see it.
ReadTask = Callable[[str, Caller], Awaitable[TaskRecord]]


class WebhookService:
    """Registers, shows and removes webhooks of tasks. Callers who may read a task may see its webhooks.

    ``registrar``: None if webhooks are not offered; all methods then raise ``PushUnsupported``. All raise
    ``NoVisibleTask`` and may raise ``StoreUnavailable``.
    """

    def __init__(self, read_task: ReadTask, registrar: WebhookRegistrar | None) -> None:
        self._read_task, self._registrar = read_task, registrar

    @property
    def are_offered(self) -> bool:
        return self._registrar is not None

    async def register(self, task_id: str, webhook: hooks.TaskWebhook, caller: Caller) -> None:
        """Register a webhook; it replaces one with the same id. Raises ``InvalidField``."""
        registrar = self._require_registrar()
        await registrar.register(await self._read_settable_task(task_id, caller), webhook)

    async def list_webhooks(self, task_id: str, caller: Caller) -> Sequence[hooks.RegisteredWebhook]:
        registrar = self._require_registrar()
        return await registrar.webhooks.list_webhooks(await self._read_task(task_id, caller))

    async def find(self, task_id: str, config_id: str | None, caller: Caller) -> hooks.TaskWebhook:
        """The webhook with that id, or the task's first if the id is None; raises ``UnknownWebhook``."""
        webhooks = [registered.webhook for registered in await self.list_webhooks(task_id, caller)]
        for webhook in webhooks:
            if config_id in (None, webhook.config_id):
                return webhook
        raise UnknownWebhook(f"task {task_id!r} has no webhook{f' {config_id!r}' if config_id else ''}")

    async def remove(self, task_id: str, config_id: str, caller: Caller) -> None:
        """Remove a webhook, if it exists."""
        registrar = self._require_registrar()
        await registrar.webhooks.drop(await self._read_settable_task(task_id, caller), config_id)

    async def list_failing_deliveries(self, caller: Caller) -> Sequence[hooks.FailingDelivery]:
        """The tenant's failing webhooks and notices; empty if the caller may not see all tasks."""
        webhooks = self._require_registrar().webhooks
        return await webhooks.list_failing_deliveries(caller.tenant) if may_see_all_tasks(caller.principal) else ()

    def list_secrets(self, tenant: str) -> tuple[str, ...]:
        """The tenant's webhook secrets, the newest first; callers must check that an operator asks."""
        return self._require_registrar().secrets.derive_secrets(tenant)

    def _require_registrar(self) -> WebhookRegistrar:
        if self._registrar is None:
            raise PushUnsupported
        return self._registrar

    async def _read_settable_task(self, task_id: str, caller: Caller) -> TaskRecord:
        """The task, if the caller may set its webhooks."""
        record = await self._read_task(task_id, caller)
        if not may_set_webhooks(caller.principal, record):
            raise NoVisibleTask(record.task_id)
        return record
