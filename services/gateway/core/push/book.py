"""Where the webhooks of tasks are entered, after a look at where they lead."""

from typing import NamedTuple

from services.gateway.core.errors import InvalidField
from services.gateway.core.push.secret import WebhookSecrets
from services.gateway.ports.push import TooManyWebhooks, UrlCheck, Webhook, Webhooks
from shared.contracts.task import TaskRecord

_PATH = "pushNotificationConfig"


class PushBook(NamedTuple):
    """Where webhooks are entered: ``most`` for one task."""

    webhooks: Webhooks
    urls: UrlCheck
    secrets: WebhookSecrets
    most: int = 10

    def check(self, webhook: Webhook) -> None:
        """Raise ``InvalidField`` for a URL that may not be called."""
        problem = self.urls.problem(webhook.url)
        if problem:
            raise InvalidField(f"{_PATH}.url", problem)

    async def enter(self, record: TaskRecord, webhook: Webhook, *, from_start: bool = False) -> None:
        """From now on, or from the task's start; raises ``InvalidField`` if the task has too many.

        One that has no id is known by the task's.
        """
        self.check(webhook)
        named = webhook._replace(config_id=webhook.config_id or record.task_id)
        try:
            await self.webhooks.put(record, named, from_start=from_start, most=self.most)
        except TooManyWebhooks:
            raise InvalidField(_PATH, f"a task has at most {self.most} webhooks") from None
