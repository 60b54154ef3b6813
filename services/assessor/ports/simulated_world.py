"""A simulated world as a proctor uses it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from pydantic import JsonValue

from services.assessor.ports.simulation import (
    AccessLog,
    EventList,
    EventSummary,
    ScenarioImport,
    SimulatorEvent,
    StartedSimulation,
    TimeAdvance,
    WorldKey,
)
from shared.contracts.ues.modalities import (
    ActionResult,
    CalendarState,
    ChatState,
    EmailsAnswer,
    EmailState,
    SmsMessagesAnswer,
    SmsState,
    TimeState,
)


class Mail(Protocol):
    async def get_state(self) -> EmailState: ...

    async def query(
        self,
        *,
        thread_id: str | None = None,
        received_after: datetime | None = None,
        limit: int | None = None,
        sort_order: str | None = None,
    ) -> EmailsAnswer: ...


class TextMessages(Protocol):
    async def get_state(self) -> SmsState: ...

    async def query(
        self,
        *,
        thread_id: str | None = None,
        sent_after: datetime | None = None,
        limit: int | None = None,
        sort_order: str | None = None,
    ) -> SmsMessagesAnswer: ...


class Appointments(Protocol):
    async def get_state(self) -> CalendarState: ...


class Chat(Protocol):
    async def get_state(self) -> ChatState: ...

    async def send(self, role: str, content: str, conversation_id: str = "default") -> ActionResult: ...


class Time(Protocol):
    async def get_state(self) -> TimeState: ...

    async def advance(self, seconds: float) -> TimeAdvance: ...


class Events(Protocol):
    async def list_events(
        self,
        *,
        status: str | None = None,
        start_time: datetime | None = None,
        end_time: datetime | None = None,
    ) -> EventList: ...

    async def create(
        self, *, scheduled_time: datetime, modality: str, data: Mapping[str, JsonValue]
    ) -> SimulatorEvent: ...

    async def summary(self) -> EventSummary: ...


class Simulation(Protocol):
    async def clear(self) -> None: ...

    async def start(self, auto_advance: bool = False) -> StartedSimulation: ...


class Scenarios(Protocol):
    async def import_full(
        self, scenario: Mapping[str, JsonValue], strict_modalities: bool = False
    ) -> ScenarioImport: ...


class Keys(Protocol):
    async def create(self, name: str, permissions: Sequence[str]) -> WorldKey: ...

    async def revoke(self, key_id: str) -> None: ...


class AccessLogs(Protocol):
    async def show(
        self, *, key_id: str | None = None, limit: int | None = None, offset: int | None = None
    ) -> AccessLog: ...


class Environment(Protocol):
    async def get_state(self) -> JsonValue: ...


class SimulatedWorld(Protocol):
    """The simulator's endpoints for one world, by modality and purpose. Each may raise ``SimulatorFailed``."""

    @property
    def email(self) -> Mail: ...

    @property
    def sms(self) -> TextMessages: ...

    @property
    def calendar(self) -> Appointments: ...

    @property
    def chat(self) -> Chat: ...

    @property
    def time(self) -> Time: ...

    @property
    def events(self) -> Events: ...

    @property
    def simulation(self) -> Simulation: ...

    @property
    def scenario(self) -> Scenarios: ...

    @property
    def keys(self) -> Keys: ...

    @property
    def access_logs(self) -> AccessLogs: ...

    @property
    def environment(self) -> Environment: ...
