"""What goes ahead of a session's messages: a cancel, an approver's answer, a decision on a write in doubt."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from services.gateway.edge.errors import NotCancelable, NothingToResolve, NoVisibleTask
from services.gateway.edge.fields import choice_at, required_id_at, short_text_at
from services.gateway.edge.ids import derive_id
from services.gateway.features.identity.model import Caller, check_operator, may_stop
from services.gateway.features.tasks.intake import IntakeTime
from services.gateway.features.tasks.service import TaskService
from shared.contracts.task import TaskRecord, Turn, TurnKind
from shared.domain.exact_json import JsonObject, objects_in
from shared.domain.words import Resolution, TaskState
from shared.ports.tasks import Tasks

_LONGEST_COMMENT = 2000


class ResolutionWord(NamedTuple):
    """A decision on a write in doubt. ``call``: the call's id in the plan."""

    call: str
    resolution: Resolution
    comment: str = ""


def read_word(body: JsonObject) -> ResolutionWord:
    """Parse ``{"call", "resolution", "comment"}``; raises ``InvalidField``."""
    resolution, comment = choice_at(body, "resolution", Resolution), short_text_at(body, "comment", _LONGEST_COMMENT)
    return ResolutionWord(required_id_at(body, "call", "call"), resolution, comment)


_SECONDS = 15.0  # that a client waits until what it sent has taken effect


class TaskSignals:
    """Passes signals to tasks. ``limit``: for how long a client waits until its signal has taken effect (seconds)."""

    def __init__(
        self, tasks: Tasks, service: TaskService, moment: Callable[[], IntakeTime], limit: float = _SECONDS
    ) -> None:
        self._tasks, self._service, self._moment, self._limit = tasks, service, moment, limit

    async def cancel(self, task_id: str, caller: Caller) -> TaskRecord:
        """Cancel a task and wait a little for its end; raises ``NotCancelable`` if it had ended.

        A Redis that lost its last writes may have lost the signal, so if the wait ends before the signal took effect,
        it is sent once more, as the same turn: what is acknowledged is stored at that time.
        """
        record = await self._service.read(task_id, caller)
        if not may_stop(caller.principal, record):
            raise NoVisibleTask(task_id)
        turn = cancel_turn(record, caller, self._moment())
        after = None if record.state.is_terminal else await self._send(record, turn)
        if after is None:
            raise NotCancelable(task_id, (await self._service.now(record)).state.value)
        is_over = after.state.is_terminal or turn.turn_id in after.turns_done
        if not is_over and not await self._tasks.signal(record.tenant, record.session_id, turn):
            after = await self._service.now(record)
        if after.state.is_terminal and after.state is not TaskState.CANCELED:
            raise NotCancelable(task_id, after.state.value)
        return after

    async def resolve(self, task_id: str, word: ResolutionWord, caller: Caller) -> tuple[TaskRecord, bool]:
        """Pass an operator's decision on a write in doubt to its task, and wait a little.

        Returns the task, and whether the decision has taken effect; if not, it will. Raises ``NotAnOperator``,
        ``NoVisibleTask`` and ``NothingToResolve``. The same decision of the same operator is the same turn, however
        often it is sent.
        """
        check_operator(caller)
        record = await self._service.read(task_id, caller)
        doubt = _doubt_of(record, word.call)
        if doubt is None:
            if _is_heeded(record, word, caller):
                return record, True
            raise NothingToResolve(record.task_id, word.call, _why_not(record, word.call))
        turn = _resolution_turn(record, word, doubt, caller, self._moment().now)
        after = await self._send(record, turn)
        if after is None:
            raise NothingToResolve(task_id, word.call, "the task has ended")
        heeded = _is_heeded(after, word, caller)
        if not heeded:
            _check_not_refused(after, turn, word)
        return after, heeded

    async def send_signal(self, record: TaskRecord, turn: Turn) -> TaskRecord:
        """Put a turn ahead of the session's messages, wait a little for its end, and return the task."""
        is_new = turn.turn_id not in record.turns_done
        after = await self._send(record, turn) if is_new else None
        return after or await self._service.now(record)

    async def _send(self, record: TaskRecord, turn: Turn) -> TaskRecord | None:
        """The task after the turn's end, or after a little while; None if it had ended."""
        if not await self._tasks.signal(record.tenant, record.session_id, turn):
            return None
        await self._service.wait_for_end(record, turn.turn_id, self._limit)
        return await self._service.now(record)


def cancel_turn(record: TaskRecord, caller: Caller, moment: IntakeTime) -> Turn:
    """The turn by which a caller cancels a task."""
    return Turn(
        turn_id=moment.fresh_id,
        task_id=record.task_id,
        kind=TurnKind.CANCEL,
        principal=caller.principal,
        received_at=moment.now,
    )


def _resolution_turn(record: TaskRecord, word: ResolutionWord, doubt: str, caller: Caller, now: datetime) -> Turn:
    return Turn(
        turn_id=derive_id("resolution", caller.tenant, record.task_id, doubt, word.resolution, caller.principal.id),
        task_id=record.task_id,
        kind=TurnKind.RESOLUTION,
        principal=caller.principal,
        received_at=now,
        text=word.resolution.value,
        data={"doubt": doubt, "call_id": word.call, "resolution": word.resolution.value, "comment": word.comment},
    )


def _is_heeded(record: TaskRecord, word: ResolutionWord, caller: Caller) -> bool:
    """Whether the last decision on the call is this one, by this operator."""
    last = _last_resolution(record, word.call)
    return last is not None and (last.get("resolution"), last.get("by")) == (word.resolution.value, caller.principal.id)


def _check_not_refused(record: TaskRecord, turn: Turn, word: ResolutionWord) -> None:
    """Raises ``NothingToResolve`` if a decision that has not taken effect never will, with the reason."""
    last = _last_resolution(record, word.call)
    if record.state.is_terminal or (last is not None and last.get("doubt") == turn.data["doubt"]):
        raise NothingToResolve(record.task_id, word.call, _why_not(record, word.call))
    if turn.turn_id in record.turns_done:
        raise NothingToResolve(record.task_id, word.call, record.reason or "the word did not count")


def _doubt_of(record: TaskRecord, call: str) -> str | None:
    doubts = objects_in(record.metadata.get("doubts")) if not record.state.is_terminal else []
    return next((str(item["doubt"]) for item in doubts if item.get("call_id") == call), None)


def _last_resolution(record: TaskRecord, call: str) -> JsonObject | None:
    said = reversed(objects_in(record.metadata.get("resolutions")))
    return next((item for item in said if item.get("call_id") == call), None)


def _why_not(record: TaskRecord, call: str) -> str:
    last = _last_resolution(record, call)
    if last is not None:
        return f"{last.get('by')} said {last.get('resolution')!r} of it at {last.get('at')}"
    if record.state.is_terminal:
        return f"the task has ended ({record.state.value})"
    return "no write of that name is in doubt"
