"""A client for a user environment simulator's REST interface: what a user does there."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Self

import httpx
from pydantic import JsonValue
from typing_extensions import Unpack

from shared.contracts.ues.modalities import ActionDone, CalendarState, ChatFound, ChatState, EventsFound, TimeState
from shared.infra.tls import client_tls_context
from shared.infra.ues.connection import FieldValue, PageQueryFields, WorldConnection, WorldEndpoints, without_none
from shared.infra.ues.messages import EmailEndpoints, SmsEndpoints


class TimeEndpoints(WorldEndpoints):
    async def get_state(self) -> TimeState:
        return await self._connection.get(TimeState, "/simulator/time")


class EventQueryFields(PageQueryFields, total=False):
    calendar_ids: Sequence[str] | None
    start: datetime | None
    end: datetime | None
    search: str | None
    status: str | None
    expand_recurring: bool | None


class CalendarEndpoints(WorldEndpoints):
    modality = "calendar"

    async def get_state(self) -> CalendarState:
        return await self._connection.get(CalendarState, "/calendar/state")

    async def query(self, **filters: Unpack[EventQueryFields]) -> EventsFound:
        return await self._connection.post_read(EventsFound, "/calendar/query", without_none(**filters))

    async def create(self, *, title: str, start: datetime, end: datetime, **fields: FieldValue | None) -> ActionDone:
        """Creates an appointment. ``fields``: further fields (attendees, location, ...) as the server names them."""
        return await self.post_action("create", title=title, start=start, end=end, **fields)

    async def update(self, event_id: str, **changes: FieldValue | None) -> ActionDone:
        return await self.post_action("update", event_id=event_id, **changes)

    async def delete(
        self, event_id: str, recurrence_scope: str | None = None, recurrence_id: str | None = None
    ) -> ActionDone:
        return await self.post_action(
            "delete", event_id=event_id, recurrence_scope=recurrence_scope, recurrence_id=recurrence_id
        )

    async def respond_to_event(
        self, event_id: str, attendee_email: str, response: str, comment: str | None = None
    ) -> ActionDone:
        """Answers an invitation for an attendee. ``response``: accepted, declined or tentative."""
        answer = {"attendee_email": attendee_email, "response": response, "comment": comment}
        return await self.post_action("respond", event_id=event_id, **answer)


class ChatQueryFields(PageQueryFields, total=False):
    conversation_id: str | None
    role: str | None
    since: datetime | None
    until: datetime | None
    search: str | None


class ChatEndpoints(WorldEndpoints):
    modality = "chat"

    async def get_state(self) -> ChatState:
        return await self._connection.get(ChatState, "/chat/state")

    async def query(self, **filters: Unpack[ChatQueryFields]) -> ChatFound:
        return await self._connection.post_read(ChatFound, "/chat/query", without_none(**filters))

    async def send(
        self,
        role: str,
        content: str | Sequence[Mapping[str, JsonValue]],
        conversation_id: str = "default",
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> ActionDone:
        """Adds a message to a conversation. ``role``: user or assistant."""
        return await self.post_action(
            "send", role=role, content=content, conversation_id=conversation_id, metadata=metadata
        )

    async def delete(self, message_id: str) -> ActionDone:
        return await self.post_action("delete", message_id=message_id)

    async def clear(self, conversation_id: str) -> ActionDone:
        return await self.post_action("clear", conversation_id=conversation_id)


class AsyncUESClient:
    """A client of one simulated world: ``async with AsyncUESClient(base_url=..., api_key=...) as ues: ...``.

    Every failure is a ``UESError``. ``retry_enabled``: requests that change nothing are retried up to ``max_retries``
    times after a lost connection or a 502, 503 or 504; others only if they were never sent. ``base_url`` may include
    the path of a world. All modalities share one HTTP connection pool, or the given ``transport``.
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
            verify=client_tls_context(),
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
