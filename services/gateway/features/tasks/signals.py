"""Signals: turns that are handled before the queued messages of their session.

These are cancels, approvers' answers, and decisions on writes in doubt, which operators make by
``POST /tasks/{id}/resolve``.
"""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.edge.errors import NotCancelable, NothingToResolve, NoVisibleTask
from services.gateway.edge.fields import choice_at, required_id_at, short_text_at
from services.gateway.edge.ids import derive_id
from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, api_path
from services.gateway.features.identity.model import Caller, may_stop, require_operator_role
from services.gateway.features.tasks.intake import TimeAndFreshId, build_signal
from services.gateway.features.tasks.service import TaskService
from services.gateway.features.tasks.views import build_public_view
from shared.contracts.task import TaskRecord, Turn, TurnKind
from shared.domain.exact_json import JsonObject, objects_in
from shared.domain.words import DoubtResolutionKind, TaskState
from shared.ports.tasks import Tasks

_LONGEST_COMMENT = 2000


class WriteResolution(NamedTuple):
    """An operator's decision on a write in doubt. ``call_id``: the id of the write's call in the plan."""

    call_id: str
    resolution: DoubtResolutionKind
    comment: str = ""


def parse_resolution(body: JsonObject) -> WriteResolution:
    """Parse ``{"call", "resolution", "comment"}``; raises ``InvalidField``."""
    resolution = choice_at(body, "resolution", DoubtResolutionKind)
    comment = short_text_at(body, "comment", _LONGEST_COMMENT)
    return WriteResolution(required_id_at(body, "call"), resolution, comment)


_WAIT_SECONDS = 15.0  # that a client waits until what it sent has taken effect


class TaskSignals:
    """Sends signals to tasks. ``wait_seconds``: the seconds that a client waits for its signal to take effect."""

    def __init__(
        self,
        tasks: Tasks,
        service: TaskService,
        take_time_and_id: Callable[[], TimeAndFreshId],
        wait_seconds: float = _WAIT_SECONDS,
    ) -> None:
        self._tasks = tasks
        self._service = service
        self._wait_seconds = wait_seconds
        self._take_time_and_id = take_time_and_id

    async def cancel_task(self, task_id: str, caller: Caller) -> TaskRecord:
        """Cancel a task and wait a little for its end, which the returned record may still lack. Raises
        ``NotCancelable`` if the task had ended, ``NoVisibleTask`` if the caller may not stop it.

        If the signal has not taken effect by then, it is sent once more, as the same turn, in case Redis has lost it in
        a failover.
        """
        record = await self._service.get_task(task_id, caller)
        if not may_stop(caller.principal, record):
            raise NoVisibleTask(task_id)
        turn = build_signal(record, caller, TurnKind.CANCEL, self._take_time_and_id())
        signalled = None if record.state.is_terminal else await self._signal_and_wait(record, turn)
        if signalled is None:
            raise NotCancelable(task_id, (await self._service.reread_record(record)).state.value)
        is_over = signalled.state.is_terminal or turn.turn_id in signalled.turns_done
        if not is_over and not await self._tasks.signal(record.tenant, record.session_id, turn):
            signalled = await self._service.reread_record(record)
        if signalled.state.is_terminal and signalled.state is not TaskState.CANCELED:
            raise NotCancelable(task_id, signalled.state.value)
        return signalled

    async def resolve_write(self, task_id: str, resolution: WriteResolution, caller: Caller) -> tuple[TaskRecord, bool]:
        """Send an operator's decision on a write in doubt to its task, and wait a little.

        Returns the task, and whether the decision has taken effect yet. A repeat of the decision by the same operator
        is the same turn. Raises ``NotAnOperator``, ``NoVisibleTask`` and ``NothingToResolve``.
        """
        require_operator_role(caller)
        record = await self._service.get_task(task_id, caller)
        doubt = _find_doubt(record, resolution.call_id)
        if doubt is None:
            if _is_latest_recorded_decision(record, resolution, caller):
                return record, True
            raise NothingToResolve(record.task_id, resolution.call_id, _why_not_resolvable(record, resolution.call_id))
        turn = _build_resolution_turn(record, resolution, doubt, caller, self._take_time_and_id().now)
        signalled = await self._signal_and_wait(record, turn)
        if signalled is None:
            raise NothingToResolve(task_id, resolution.call_id, "the task has ended")
        has_effect = _is_latest_recorded_decision(signalled, resolution, caller)
        if not has_effect:
            _check_still_resolvable(signalled, turn, resolution)
        return signalled, has_effect

    async def send_signal(self, record: TaskRecord, turn: Turn) -> TaskRecord:
        """Store a turn ahead of its session's queued messages, wait a little for its end, and return the task.

        Raises ``NoVisibleTask`` if the task is no longer stored.
        """
        is_new = turn.turn_id not in record.turns_done
        signalled = await self._signal_and_wait(record, turn) if is_new else None
        return signalled or await self._service.reread_record(record)

    async def _signal_and_wait(self, record: TaskRecord, turn: Turn) -> TaskRecord | None:
        """Store the turn and wait for its end, up to the limit; returns the task then, None if it had already ended."""
        if not await self._tasks.signal(record.tenant, record.session_id, turn):
            return None
        await self._service.wait_for_turn_end(record, turn.turn_id, self._wait_seconds)
        return await self._service.reread_record(record)


def _build_resolution_turn(
    record: TaskRecord, resolution: WriteResolution, doubt: str, caller: Caller, now: datetime
) -> Turn:
    word, call_id = resolution.resolution.value, resolution.call_id
    moment = TimeAndFreshId(
        now, derive_id("resolution", caller.tenant, record.task_id, doubt, word, caller.principal.id)
    )
    data: dict[str, JsonValue] = {"doubt": doubt, "call_id": call_id, "resolution": word, "comment": resolution.comment}
    return build_signal(record, caller, TurnKind.RESOLUTION, moment, word, **data)


def _is_latest_recorded_decision(record: TaskRecord, resolution: WriteResolution, caller: Caller) -> bool:
    """Whether the last recorded decision on the call is this one, by this operator."""
    last = _find_last_resolution(record, resolution.call_id)
    return last is not None and (last.get("resolution"), last.get("by")) == (
        resolution.resolution.value,
        caller.principal.id,
    )


def _check_still_resolvable(record: TaskRecord, turn: Turn, resolution: WriteResolution) -> None:
    """Raises ``NothingToResolve``, with the reason, if the operator's decision can no longer take effect."""
    last = _find_last_resolution(record, resolution.call_id)
    if record.state.is_terminal or (last is not None and last.get("doubt") == turn.data["doubt"]):
        raise NothingToResolve(record.task_id, resolution.call_id, _why_not_resolvable(record, resolution.call_id))
    if turn.turn_id in record.turns_done:
        raise NothingToResolve(record.task_id, resolution.call_id, record.reason or "the word did not count")


def _find_doubt(record: TaskRecord, call_id: str) -> str | None:
    doubts = objects_in(record.metadata.get("doubts")) if not record.state.is_terminal else []
    return next((str(doubt["doubt"]) for doubt in doubts if doubt.get("call_id") == call_id), None)


def _find_last_resolution(record: TaskRecord, call_id: str) -> JsonObject | None:
    resolutions = reversed(objects_in(record.metadata.get("resolutions")))
    return next((resolution for resolution in resolutions if resolution.get("call_id") == call_id), None)


def _why_not_resolvable(record: TaskRecord, call_id: str) -> str:
    last = _find_last_resolution(record, call_id)
    if last is not None:
        return f"{last.get('by')} said {last.get('resolution')!r} of it at {last.get('at')}"
    if record.state.is_terminal:
        return f"the task has ended ({record.state.value})"
    return "no write of that name is in doubt"


class ResolutionEndpoints(ApiEndpoints[TaskSignals]):
    def __init__(self, signals: TaskSignals, model_notice: str) -> None:
        super().__init__(signals)
        self._model_notice = model_notice

    @api_path("POST", "/tasks/{task_id}/resolve")
    async def resolve_write(self, call: ApiCall) -> Response:
        """Resolve a write in doubt: ``{"call", "resolution", "comment"}``; 202 if it takes effect later.

        409 if no such call of the task is in doubt, 404 if there is no such task that the caller may see.
        """
        resolution = parse_resolution(call.body)
        record, has_effect = await self._service.resolve_write(call.path_value("task_id"), resolution, call.caller)
        return JSONResponse(build_public_view(record, self._model_notice), status_code=200 if has_effect else 202)
