"""Registers, shows and removes webhooks of tasks."""

from collections.abc import Sequence

from services.gateway.edge.errors import InvalidField, PushUnsupported, UnknownWebhook
from services.gateway.features.identity.model import Caller, may_see_all_tasks
from services.gateway.features.webhooks import model
from services.gateway.features.webhooks.settings import WebhookMasterSecrets
from services.gateway.features.webhooks.store import RedisWebhooks
from shared.contracts.task import TaskRecord
from shared.domain.outgoing import AllowedAddresses, why_url_refused

_CONFIG_PATH = "pushNotificationConfig"
_NO_ADDRESSES, _NO_SECRETS = AllowedAddresses(), WebhookMasterSecrets(())


class WebhookService:
    """Registers, shows and removes webhooks of tasks, which callers must have been permitted to read or to change.

    ``webhooks``: None if webhooks are not offered; all methods then raise ``PushUnsupported``. ``addresses``: those
    that webhooks may have. ``most_webhooks``: how many a task may have. All methods may raise ``StoreUnavailable``.
    """

    def __init__(
        self,
        webhooks: RedisWebhooks | None = None,
        addresses: AllowedAddresses = _NO_ADDRESSES,
        secrets: WebhookMasterSecrets = _NO_SECRETS,
        most_webhooks: int = 10,
    ) -> None:
        self._webhooks, self._addresses = webhooks, addresses
        self._secrets, self._most_webhooks = secrets, most_webhooks

    @property
    def offers_webhooks(self) -> bool:
        return self._webhooks is not None

    def require_permitted_url(self, webhook: model.TaskWebhook) -> None:
        """Raises ``InvalidField`` for a URL that the gateway may not call."""
        self._require_webhooks()
        if problem := why_url_refused(webhook.url, self._addresses):
            raise InvalidField(f"{_CONFIG_PATH}.url", problem)

    async def register_webhook(
        self, record: TaskRecord, webhook: model.TaskWebhook, *, includes_past: bool = False
    ) -> None:
        """Register a webhook for updates from now on, or from the task's start. It replaces the task's webhook of the
        same id; a webhook without id gets the task's. Raises ``InvalidField`` for its URL, or if the task has too many.
        """
        self.require_permitted_url(webhook)
        identified = webhook.model_copy(update={"config_id": webhook.config_id or record.task_id})
        limit = self._most_webhooks
        try:
            await self._require_webhooks().register_webhook(
                record, identified, includes_past=includes_past, limit=limit
            )
        except model.TooManyWebhooks:
            raise InvalidField(_CONFIG_PATH, f"a task has at most {limit} webhooks") from None

    async def list_webhooks(self, record: TaskRecord) -> Sequence[model.RegisteredWebhook]:
        return await self._require_webhooks().list_webhooks(record)

    async def find_webhook(self, record: TaskRecord, config_id: str | None, shown_id: str) -> model.TaskWebhook:
        """The webhook with that id, or the task's first if the id is None; raises ``UnknownWebhook``.

        ``shown_id``: the task's id as the client knows it.
        """
        for registered in await self.list_webhooks(record):
            if config_id in (None, registered.webhook.config_id):
                return registered.webhook
        raise UnknownWebhook(f"task {shown_id!r} has no webhook{f' {config_id!r}' if config_id else ''}")

    async def remove_webhook(self, record: TaskRecord, config_id: str) -> None:
        """Remove a webhook, if it exists."""
        await self._require_webhooks().delete_webhook(record, config_id)

    async def list_failing_deliveries(self, caller: Caller) -> Sequence[model.FailingDelivery]:
        """The tenant's failing webhooks and notices; empty if the caller may not see all tasks."""
        webhooks = self._require_webhooks()
        return await webhooks.failing.list_newest(caller.tenant) if may_see_all_tasks(caller.principal) else ()

    def list_secrets(self, tenant: str) -> tuple[str, ...]:
        """The tenant's webhook secrets, the newest first; callers must check that an operator asks."""
        self._require_webhooks()
        return self._secrets.derive_secrets(tenant)

    def _require_webhooks(self) -> RedisWebhooks:
        if self._webhooks is None:
            raise PushUnsupported
        return self._webhooks
