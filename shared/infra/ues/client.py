"""A client for the REST interface of a user environment simulator, ours or another's."""

from types import TracebackType
from typing import Self

import httpx
from pydantic import JsonValue

from shared.infra.tls import trusted_certificates
from shared.infra.ues.access import AccessLogsEndpoints, KeysEndpoints, WorldsEndpoints
from shared.infra.ues.calendar import CalendarEndpoints
from shared.infra.ues.chat import ChatEndpoints
from shared.infra.ues.email import EmailEndpoints
from shared.infra.ues.line import WorldLine
from shared.infra.ues.simulation import EventsEndpoints, ScenarioEndpoints, SimulationEndpoints, TimeEndpoints
from shared.infra.ues.sms import SmsEndpoints
from shared.infra.ues.surroundings import EnvironmentEndpoints, PlainEndpoints


class AsyncUESClient:
    """``async with AsyncUESClient(base_url=..., api_key=...) as ues: await ues.email.get_state()``.

    Every failure is a ``UESError``. ``retry_enabled``: up to ``max_retries`` more attempts after a lost connection or
    a 502, 503 or 504, for what changes nothing; of the rest only what was never sent. ``base_url`` may end in the path
    of a world. All rooms share one HTTP connection pool, or the given ``transport``.
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
            verify=trusted_certificates(),
        )
        line = WorldLine(self._http, 1 + max_retries if retry_enabled else 1)
        self._line = line
        self.time = TimeEndpoints(line)
        self.simulation = SimulationEndpoints(line)
        self.events = EventsEndpoints(line)
        self.scenario = ScenarioEndpoints(line)
        self.email = EmailEndpoints(line)
        self.sms = SmsEndpoints(line)
        self.chat = ChatEndpoints(line)
        self.calendar = CalendarEndpoints(line)
        self.location = PlainEndpoints(line, "location")
        self.weather = PlainEndpoints(line, "weather")
        self.contacts = PlainEndpoints(line, "contacts")
        self.environment = EnvironmentEndpoints(line)
        self.keys = KeysEndpoints(line)
        self.access_logs = AccessLogsEndpoints(line)
        self.worlds = WorldsEndpoints(line)

    async def health(self) -> JsonValue:
        return await self._line.raw("/health")

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
