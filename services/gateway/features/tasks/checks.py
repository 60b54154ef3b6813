"""Checks of a client's message: its size, its files, its tool server and its webhook."""

from typing import NamedTuple

from services.gateway.edge.errors import InvalidField
from services.gateway.features.files.service import MessageFiles
from services.gateway.features.identity.model import Caller
from services.gateway.features.tasks.message import ClientMessage
from services.gateway.features.webhooks.service import WebhookService
from shared.contracts.tenant_document import BadRecord
from shared.domain.exact_json import dumps
from shared.domain.outgoing import AllowedAddresses, why_refused
from shared.ports.tenant_records import TenantRecords


class MessageRules(NamedTuple):
    """The rules for messages. ``most_characters``: of all texts and data together, earlier turns included.

    ``most_metadata``: characters of the metadata as JSON. ``tool_addresses``: addresses of tool servers, in addition to
    those of a tenant's record. ``ids_mark_repeats``: a message with the
    id of an earlier one is a repeat of it.
    """

    most_parts: int = 100
    most_characters: int = 262_144
    most_metadata: int = 65_536
    tool_addresses: AllowedAddresses = AllowedAddresses()
    records: TenantRecords | None = None
    files: MessageFiles = MessageFiles(None, AllowedAddresses())
    webhooks: WebhookService = WebhookService()
    ids_mark_repeats: bool = True

    async def check(self, message: ClientMessage, caller: Caller) -> None:
        """Check a message's tool server, webhook and files.

        Raises ``InvalidField``, ``PushUnsupported`` and ``UnsupportedContent``.
        """
        url = message.tools_endpoint
        problem = why_refused(url, self.tool_addresses) if url else None  # the executor checks the address again
        if url and problem and not await self._has_connection(caller.tenant, url):
            raise InvalidField("metadata.tools_endpoint", problem)
        if message.webhook is not None:
            self.webhooks.check(message.webhook)
        self.files.check_files(message.files)

    def check_size(self, message: ClientMessage) -> None:
        """Raises ``InvalidField`` if the message exceeds a limit, which the error names."""
        parts = "task" if message.solver else "message.parts"
        if message.part_count > self.most_parts:
            raise InvalidField(parts, f"there are {message.part_count} parts; at most {self.most_parts} are taken")
        history = message.solver.history if message.solver else ()
        if len(message.whole_text) + sum(len(turn.content) for turn in history) > self.most_characters:
            raise InvalidField(parts, f"texts and data are over the limit of {self.most_characters} characters")
        instruction_characters = len(message.practice.instructions) if message.practice else 0
        if len(dumps(message.other_metadata)) + instruction_characters > self.most_metadata:
            raise InvalidField("metadata", f"is over the limit of {self.most_metadata} characters as JSON")

    async def _has_connection(self, tenant: str, url: str) -> bool:
        """Whether the tenant's record has a connection with that URL."""
        try:
            record = await self.records.get_current_record(tenant) if self.records else None
        except BadRecord:  # written by another version of the gateway: the executor refuses it too
            return False
        connections = record.connections if record else ()
        return any(connection.url and connection.url.rstrip("/") == url.rstrip("/") for connection in connections)
