"""What the participant did, read and was refused, turn by turn."""

from collections import deque
from collections.abc import Sequence
from datetime import datetime
from itertools import islice

from services.assessor.ports.simulation import LoggedRequest, SimulatorEvent
from shared.contracts.assessment.results import ActionLogEntry

_DONE = frozenset({"executed", "failed"})
_NOT_SAID = frozenset({"operation", "action", "modality_type", "timestamp", "input_id"})


class ActionLogBuilder:
    """Builds the action log of a run. ``purple_agent_id``: the id of the participant's key, which the simulator's
    events name.
    """

    def __init__(self, purple_agent_id: str) -> None:
        self._who = purple_agent_id
        self._turn = 0
        self._at: datetime | None = None
        self._seen: set[str] = set()
        self._log: list[ActionLogEntry] = []

    def start_turn(self, turn: int, at: datetime | None = None) -> None:
        """Begins a turn. ``at``: its simulated time, under which requests that changed nothing are logged."""
        self._turn, self._at = turn, at

    def end_turn(self) -> None:
        """Ends the turn; actions that are added later still count for it until the next one starts."""

    def add_events_from_turn(
        self, events: Sequence[SimulatorEvent], accesses: Sequence[LoggedRequest] = ()
    ) -> tuple[list[ActionLogEntry], list[SimulatorEvent]]:
        """New entries, and the events of everybody else. An event counts once, however often it is shown.

        ``accesses``: the participant's requests, oldest first; they tell reads, refusals and the order of it all.
        """
        new = [event for event in events if event.event_id not in self._seen and event.status in _DONE]
        self._seen.update(event.event_id for event in new)
        own = [event for event in new if self._is_own(event)]
        entries = self._merge_entries(own, accesses)
        self._log += entries
        return entries, [event for event in new if not self._is_own(event)]

    def get_log(self) -> list[ActionLogEntry]:
        return list(self._log)

    def _is_own(self, event: SimulatorEvent) -> bool:
        """Whether the participant did it.

        A later consequence of an action (a reminder) has its agent too, and does not count.
        """
        brought = event.priority == 0 and "created_by_key" not in event.metadata and bool(event.metadata)
        return event.agent_id == self._who and not brought

    def _merge_entries(self, own: list[SimulatorEvent], accesses: Sequence[LoggedRequest]) -> list[ActionLogEntry]:
        waiting, entries = deque(own), list[ActionLogEntry]()
        moment = self._at
        for access in accesses:
            kind = access_kind(access)
            if kind is not None:
                entries.append(_read_entry(access, self._turn, moment or access.timestamp, kind))
            elif waiting:
                moment = waiting[0].scheduled_time
                entries.append(_action_entry(waiting.popleft(), self._turn))
        return entries + [_action_entry(event, self._turn) for event in waiting]


class AccessReader:
    """Tells which requests of a log are new; the log shows the newest first and forgets the oldest."""

    def __init__(self) -> None:
        self._known = 0

    def count_new(self, total: int) -> int:
        """How many requests came since the last call, given the log's ``total`` so far."""
        return max(0, total - self._known)

    def take_new(self, newest_first: Sequence[LoggedRequest], total: int) -> list[LoggedRequest]:
        """The requests that no earlier call returned, oldest first."""
        new_requests = list(islice(newest_first, self.count_new(total)))
        self._known = total
        return new_requests[::-1]


def access_kind(access: LoggedRequest) -> str | None:
    """The kind of a request, ``read`` or ``refused``; None for an action that was carried out, since the simulator's
    events tell of it.
    """
    reads = access.method in ("GET", "HEAD") or access.path.endswith("/query")
    if access.status_code >= 400:
        return "refused"
    return "read" if reads else None


def action_name(path: str) -> str:
    """The action's name for a request's path: ``email.query`` for ``/email/query``, ``time.state`` for
    ``/simulator/time``.
    """
    parts = [part for part in path.split("/") if part]
    if parts[:2] == ["simulator", "time"]:
        parts = parts[1:]
    return ".".join(parts) if len(parts) > 1 else f"{parts[0] if parts else 'simulator'}.state"


def _read_entry(access: LoggedRequest, turn: int, moment: datetime, kind: str) -> ActionLogEntry:
    refused = kind == "refused"
    return ActionLogEntry(
        turn=turn,
        timestamp=moment,
        action=action_name(access.path),
        success=not refused,
        error_message=f"{access.method} {access.path} was answered {access.status_code}" if refused else None,
        kind="refused" if refused else "read",
    )


def _action_entry(event: SimulatorEvent, turn: int) -> ActionLogEntry:
    parameters = {name: value for name, value in (event.data or {}).items() if name not in _NOT_SAID}
    return ActionLogEntry(
        turn=turn,
        timestamp=event.scheduled_time,
        action=f"{event.modality}.{event.operation}",
        parameters=parameters,
        success=event.status == "executed",
        error_message=event.error_message,
    )
