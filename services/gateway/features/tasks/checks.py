"""What a message may bring with it: a tool server, a webhook, files."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from services.gateway.edge.errors import InvalidField, PushUnsupported
from services.gateway.features.files.service import MessageFiles
from services.gateway.features.identity.model import Caller
from services.gateway.features.tasks.message import ClientMessage, MessageLimits
from services.gateway.features.webhooks.service import WebhookRegistrar
from shared.domain.outgoing import Reach, why_refused

# Whether the record of a tenant has a connection with a URL. May raise ``StoreUnavailable``.
HasConnection = Callable[[str, str], Awaitable[bool]]


class MessageRules(NamedTuple):
    """``endpoints``: where tool servers may be, beside a tenant's own connections. ``webhooks``: None if not offered.

    ``known_by_id``: a message with the id of an earlier one is the same message.
    """

    limits: MessageLimits = MessageLimits()
    endpoints: Reach = Reach()
    has_connection: HasConnection | None = None
    files: MessageFiles = MessageFiles(None, Reach())
    webhooks: WebhookRegistrar | None = None
    known_by_id: bool = True

    async def check(self, message: ClientMessage, caller: Caller) -> None:
        """Before anything is stored; raises ``InvalidField``, ``PushUnsupported`` and ``UnsupportedContent``."""
        url, has_own = message.tools_endpoint, self.has_connection
        problem = why_refused(url, self.endpoints) if url else None  # the executor checks the address again
        if url and problem and not (has_own and await has_own(caller.tenant, url)):
            raise InvalidField("metadata.tools_endpoint", problem)
        if message.webhook is not None:
            if self.webhooks is None:
                raise PushUnsupported
            self.webhooks.check(message.webhook)
        self.files.check(message.files)
