"""A client for a user environment simulator's REST interface: what a user does there."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Self

import httpx
from pydantic import JsonValue

from shared.contracts.ues import modalities
from shared.infra.tls import load_client_tls_context
from shared.infra.ues.connection import FieldValue, WorldConnection, WorldEndpoints, drop_none_values


class TimeEndpoints(WorldEndpoints):
    async def get_state(self) -> modalities.TimeState:
        return await self._connection.get(modalities.TimeState, "/simulator/time")


class CalendarEndpoints(WorldEndpoints):
    modality = "calendar"

    async def get_state(self) -> modalities.CalendarState:
        return await self._connection.get(modalities.CalendarState, "/calendar/state")

    async def query(self, **filters: FieldValue | None) -> modalities.CalendarEventsAnswer:
        return await self._connection.post_read(
            modalities.CalendarEventsAnswer, "/calendar/query", drop_none_values(**filters)
        )

    async def create(
        self, *, title: str, start: datetime, end: datetime, **fields: FieldValue | None
    ) -> modalities.ActionResult:
        """Creates an appointment. ``fields``: further fields (attendees, location, ...) as the server names them."""
        return await self.post_action("create", title=title, start=start, end=end, **fields)

    async def update(self, event_id: str, **changes: FieldValue | None) -> modalities.ActionResult:
        return await self.post_action("update", event_id=event_id, **changes)

    async def delete(
        self, event_id: str, recurrence_scope: str | None = None, recurrence_id: str | None = None
    ) -> modalities.ActionResult:
        return await self.post_action(
            "delete", event_id=event_id, recurrence_scope=recurrence_scope, recurrence_id=recurrence_id
        )

    async def respond_to_event(
        self, event_id: str, attendee_email: str, response: str, comment: str | None = None
    ) -> modalities.ActionResult:
        """Answers an invitation for an attendee. ``response``: accepted, declined or tentative."""
        answer = {"attendee_email": attendee_email, "response": response, "comment": comment}
        return await self.post_action("respond", event_id=event_id, **answer)


class ChatEndpoints(WorldEndpoints):
    modality = "chat"

    async def get_state(self) -> modalities.ChatState:
        return await self._connection.get(modalities.ChatState, "/chat/state")

    async def query(self, **filters: FieldValue | None) -> modalities.ChatMessagesAnswer:
        return await self._connection.post_read(
            modalities.ChatMessagesAnswer, "/chat/query", drop_none_values(**filters)
        )

    async def send(
        self,
        role: str,
        content: str | Sequence[Mapping[str, JsonValue]],
        conversation_id: str = "default",
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> modalities.ActionResult:
        """Adds a message to a conversation. ``role``: user or assistant."""
        return await self.post_action(
            "send", role=role, content=content, conversation_id=conversation_id, metadata=metadata
        )

    async def delete(self, message_id: str) -> modalities.ActionResult:
        return await self.post_action("delete", message_id=message_id)

    async def clear(self, conversation_id: str) -> modalities.ActionResult:
        return await self.post_action("clear", conversation_id=conversation_id)


def _make_message_action(action: str) -> Callable[[WorldEndpoints, Sequence[str]], Awaitable[modalities.ActionResult]]:
    """A method that carries out an action on the messages of its ``message_ids``."""

    async def carry_out_action(self: WorldEndpoints, message_ids: Sequence[str]) -> modalities.ActionResult:
        return await self.post_action(action, message_ids=message_ids)

    return carry_out_action


class EmailEndpoints(WorldEndpoints):
    modality = "email"

    async def get_state(self) -> modalities.EmailState:
        return await self._connection.get(modalities.EmailState, "/email/state")

    async def query(self, **filters: FieldValue | None) -> modalities.EmailsAnswer:
        return await self._connection.post_read(modalities.EmailsAnswer, "/email/query", drop_none_values(**filters))

    async def send(self, **mail: FieldValue | None) -> modalities.ActionResult:
        """Sends a mail from the user."""
        return await self.post_action("send", **mail)

    async def receive(self, **mail: FieldValue | None) -> modalities.ActionResult:
        """Delivers a mail to the user at once. The assessor's ``EventsEndpoints.create`` creates later ones."""
        return await self.post_action("receive", **mail)

    mark_read, mark_unread = _make_message_action("read"), _make_message_action("unread")
    star, unstar = _make_message_action("star"), _make_message_action("unstar")
    archive, delete = _make_message_action("archive"), _make_message_action("delete")  # into the trash

    async def label(self, message_ids: Sequence[str], labels: Sequence[str]) -> modalities.ActionResult:
        return await self.post_action("label", message_ids=message_ids, labels=labels)

    async def unlabel(self, message_ids: Sequence[str], labels: Sequence[str]) -> modalities.ActionResult:
        return await self.post_action("unlabel", message_ids=message_ids, labels=labels)

    async def move(self, message_ids: Sequence[str], folder: str) -> modalities.ActionResult:
        return await self.post_action("move", message_ids=message_ids, folder=folder)


class SmsEndpoints(WorldEndpoints):
    modality = "sms"

    async def get_state(self) -> modalities.SmsState:
        return await self._connection.get(modalities.SmsState, "/sms/state")

    async def query(self, **filters: FieldValue | None) -> modalities.SmsMessagesAnswer:
        return await self._connection.post_read(modalities.SmsMessagesAnswer, "/sms/query", drop_none_values(**filters))

    async def send(self, **message: FieldValue | None) -> modalities.ActionResult:
        """Sends a message from the user."""
        return await self.post_action("send", **message)

    async def receive(self, **message: FieldValue | None) -> modalities.ActionResult:
        """Delivers a message to the user at once. The assessor's ``EventsEndpoints.create`` creates later ones."""
        return await self.post_action("receive", **message)

    mark_read, mark_unread = _make_message_action("read"), _make_message_action("unread")
    delete = _make_message_action("delete")

    async def react(self, message_id: str, phone_number: str, emoji: str) -> modalities.ActionResult:
        return await self.post_action("react", message_id=message_id, phone_number=phone_number, emoji=emoji)


class AsyncUESClient:
    """A client of one simulated world: ``async with AsyncUESClient(base_url=..., api_key=...) as ues: ...``.

    Every failure is a ``UESError``. ``retry_enabled``: reads and deletions are retried up to ``max_retries`` times
    after a time-out, a lost connection, or a 502, 503 or 504; other requests only if they were never sent.
    ``base_url`` may include the path of a world. All modalities share one HTTP connection pool, or the given
    ``transport``.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8000",
        timeout: float = 30.0,
        retry_enabled: bool = False,
        max_retries: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
        api_key: str | None = None,
    ) -> None:
        headers = {"X-API-Key": api_key} if api_key else {}
        self.base_url = base_url.rstrip("/")
        self._http = httpx.AsyncClient(
            base_url=self.base_url,
            timeout=timeout,
            transport=transport,
            headers=headers,
            trust_env=False,
            verify=load_client_tls_context(),
        )
        self._add_endpoints(WorldConnection(self._http, 1 + max_retries if retry_enabled else 1))

    def _add_endpoints(self, connection: WorldConnection) -> None:
        """Creates the clients of the clock and of each modality; subclasses add theirs."""
        self._connection = connection
        self.time = TimeEndpoints(connection)
        self.email = EmailEndpoints(connection)
        self.sms = SmsEndpoints(connection)
        self.chat = ChatEndpoints(connection)
        self.calendar = CalendarEndpoints(connection)

    async def health(self) -> JsonValue:
        return await self._connection.get_json("/health")

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
