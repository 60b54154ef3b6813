"""What the world asks of a modality (email, sms, calendar ...): read an action, apply it, show and load a state."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, NamedTuple
from uuid import UUID, uuid5

from pydantic_core import to_json

from services.simulator.core.records import JsonObject, StoredRow, TableChange, TableStore


class EventMoment(NamedTuple):
    """The event that is being applied, and its time ``now``: its own, not the end of the advance in which it runs."""

    event_id: str
    now: datetime
    agent_id: str | None

    def new_id(self, kind: str) -> str:
        """An id that is the same when the event is run again; ``kind`` tells several ids of one event apart."""
        return str(uuid5(UUID(self.event_id), kind))


class ActionOutcome(NamedTuple):
    """An action's result. ``message``: a sentence for the caller; ``entity_ids``: the messages, events or contacts it
    is about.
    """

    message: str
    entity_ids: tuple[str, ...] = ()


class AppliedAction(NamedTuple):
    outcome: ActionOutcome
    changes: tuple[TableChange, ...]


class StateHead(StoredRow):
    """The fields that every exported state begins with."""

    last_updated: datetime
    update_count: int = 0


class Modality(ABC):
    """One part of a user's world. Its whole state stands in the tables of ``store``, so undo is exact by itself.

    A subclass names its tables in ``__init__`` (after ``super().__init__()``), then calls ``self.clear(now)``.
    """

    name: ClassVar[str]
    kept: ClassVar[tuple[str, ...]] = ()  # tables that clearing leaves: who the user is

    def __init__(self) -> None:
        self.store = TableStore()
        self._head = self.store.table("head", StateHead)

    @property
    def head(self) -> StateHead:
        return self._head["head"]

    @property
    def version(self) -> int:
        """Grows with every change of the state."""
        return self.store.version

    @abstractmethod
    def normalise(self, data: JsonObject) -> JsonObject:
        """An action in its newest shape (``operation`` and flat fields), whichever shape it came in.

        ``modality_type``, ``timestamp`` and ``input_id`` may stand in it and are left out. Raises ``BadInput`` for a
        wrong shape and ``MeaninglessRequest`` for one that means nothing; whether it can be done is ``act``'s question.
        """

    @abstractmethod
    def act(self, data: JsonObject, moment: EventMoment) -> ActionOutcome:
        """Change the tables as a normalised action says; raises ``ActionFailed`` (what it changed is taken back)."""

    @abstractmethod
    def state(self, now: datetime) -> JsonObject:
        """The whole state as ``GET /{name}/state`` answers it."""

    def state_json(self, now: datetime) -> bytes:
        """``state`` as UTF-8 JSON, as the route sends it; subclasses may cache it between changes."""
        return to_json(self.state(now))

    @abstractmethod
    def compact(self, now: datetime) -> JsonObject:
        """The state as ``GET /{name}/state?compact=true`` answers it."""

    @abstractmethod
    def query(self, fields: JsonObject, now: datetime) -> JsonObject:
        """What ``POST /{name}/query`` answers; raises ``BadInput``."""

    @abstractmethod
    def export(self) -> JsonObject:
        """The state as scenarios carry it: ``modality_type``, ``last_updated``, ``update_count`` and the rest."""

    @abstractmethod
    def load(self, state: JsonObject) -> None:
        """Load an exported state; raises ``BadInput`` or ``MeaninglessRequest``: the world puts the old one back."""

    def put_initial_rows(self, now: datetime) -> None:  # noqa: B027  most states begin with nothing
        """Put in what even an empty state holds, such as a first calendar."""

    def clear(self, now: datetime) -> None:
        """Empties the state, except whose it is, and puts in what even an empty state holds."""
        self.store.clear(keep=self.kept)
        self.set_head(StateHead(last_updated=now))
        self.put_initial_rows(now)

    def set_head(self, head: StateHead) -> None:
        """Stores when and how often the state was changed; ``load`` takes this over from the loaded state."""
        self._head.put("head", head)

    def apply(self, data: JsonObject, moment: EventMoment) -> AppliedAction:
        """Carries out an action and counts it; if it fails, the tables stay as they were."""
        with self.store.recording() as changes:
            outcome = self.act(data, moment)
            self.set_head(StateHead(last_updated=moment.now, update_count=self.head.update_count + 1))
        return AppliedAction(outcome, tuple(changes))

    def take_back(self, changes: Sequence[TableChange]) -> None:
        """Undoes these changes exactly. The changes of several actions must be taken back newest first."""
        self.store.take_back(changes)

    def do_again(self, changes: Sequence[TableChange]) -> None:
        """Makes these changes again after they were taken back."""
        self.store.do_again(changes)
