"""The turns of an assessment: the participant works, the world takes it up, the others answer, time goes on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pydantic import ValidationError

from services.assessor.core.action_log import AccessReader, ActionLogBuilder
from services.assessor.core.characters import ResponseGenerator, ScheduledResponse
from services.assessor.core.inbox import NewMessageCollector
from services.assessor.core.scenario import ScenarioConfig
from services.assessor.core.windows import APPLY, Window, arrival_time, clip, window_of_turn
from services.assessor.core.world_watch import By, WorldWatch
from services.assessor.ports.participants import Emitter, Participant, ParticipantFailed
from services.assessor.ports.simulated_world import SimulatedWorld
from services.assessor.ports.simulation import LoggedRequest
from shared.contracts.assessment.messages import (
    ActionObserved,
    EarlyCompletion,
    ErrorOccurred,
    ErrorType,
    JsonObject,
    ResponsesGenerated,
    SimulationAdvanced,
    TurnComplete,
    TurnCompleted,
    TurnStart,
    TurnStarted,
    parse_participant_reply,
)
from shared.contracts.assessment.results import ActionLogEntry
from shared.contracts.base import describe_first_error
from shared.domain.instants import format_duration
from shared.ports.simulator import SimulatorRefused

_PAGE = 500
_NOTES = 4000


@dataclass(frozen=True)
class TurnResult:
    """What came of one turn. ``error``: why the participant's answer is unusable; the turn counts all the same."""

    turn_number: int
    time_step: timedelta
    actions_taken: int = 0
    early_completion: bool = False
    notes: str | None = None
    error: str | None = None
    error_type: ErrorType | None = None

    def as_json(self) -> JsonObject:
        return {"turn_number": self.turn_number, "error_type": self.error_type, "error": self.error}


@dataclass(frozen=True)
class EndOfTurnResult:
    """What a turn caused. ``events_processed``: scheduled events that ran as time was advanced by ``advanced``."""

    actions: tuple[ActionLogEntry, ...] = ()
    responses: tuple[ScheduledResponse, ...] = ()
    events_processed: int = 0
    advanced: timedelta = timedelta()


@dataclass
class TurnPlayer:
    """Plays the turns of a run. ``timeout``: seconds that the participant has for its answer."""

    world: SimulatedWorld
    participant: Participant
    emitter: Emitter
    scenario: ScenarioConfig
    key_id: str
    log: ActionLogBuilder
    inbox: NewMessageCollector
    characters: ResponseGenerator
    timeout: float
    watch: WorldWatch | None = None
    _accesses: AccessReader = field(default_factory=AccessReader)
    _looked: datetime | None = None
    _happened: int = 0

    async def run(self, number: int) -> TurnResult:
        """Plays one turn. Raises ``SimulatorFailed``; a participant's fault is in the result's ``error``."""
        start = (await self.world.time.get_state()).current_time
        pending = (await self.world.events.summary()).pending
        self.log.start_turn(number, start)
        await self.emitter.emit(TurnStarted(turn_number=number, current_time=start, events_pending=pending))
        answered = await self._ask_participant(number, start)
        ended = await self._process_turn_end(number, start, answered)
        self.log.end_turn()
        await self.emitter.emit(
            TurnCompleted(
                turn_number=number,
                actions_taken=len(ended.actions),
                time_advanced=format_duration(ended.advanced),
                early_completion_requested=answered.early_completion,
                notes=answered.notes[:_NOTES] if answered.notes else None,
            )
        )
        return TurnResult(**{**vars(answered), "actions_taken": len(ended.actions)})

    async def look_again(self, number: int) -> Sequence[ActionLogEntry]:
        """What the participant did after its last turn was over."""
        now = (await self.world.time.get_state()).current_time
        entries = await self._collect_actions(number, self._looked or now, now)
        if entries:
            await self._look_at_world(number, "participant")
        return entries

    async def _ask_participant(self, number: int, start: datetime) -> TurnResult:
        message = TurnStart(turn_number=number, current_time=start, events_processed=self._happened)
        default = self.scenario.default_time_step
        try:
            reply = parse_participant_reply(await self.participant.ask(message, self.timeout))
        except ParticipantFailed as problem:
            return await self._end_failed_turn(TurnResult(number, default, error=str(problem), error_type=problem.kind))
        except ValueError as problem:
            return await self._end_failed_turn(
                TurnResult(number, default, error=_describe_fault(problem), error_type="protocol_error")
            )
        return _build_result(number, reply)

    async def _end_failed_turn(self, result: TurnResult) -> TurnResult:
        await self.emitter.emit(
            ErrorOccurred(
                error_type=result.error_type or "internal_error",
                error_message=result.error or "",
                recoverable=True,
                context={"turn_number": result.turn_number},
            )
        )
        return result

    async def _process_turn_end(self, number: int, start: datetime, answered: TurnResult) -> EndOfTurnResult:
        """The first second makes visible what the participant did; in the rest of the step the others answer."""
        step = timedelta() if answered.early_completion else clip(answered.time_step, start, self.scenario.end_time)
        within = window_of_turn(start, step)
        await self.world.time.advance(APPLY.total_seconds())
        actions = await self._collect_actions(number, self._looked or start, within.opens)
        await self._look_at_world(number, "participant")
        if answered.early_completion:
            return EndOfTurnResult(tuple(actions), advanced=APPLY)
        responses = await self._schedule_responses(number, within)
        happened = await self._advance_time(within)
        await self._look_at_world(number, "others")
        return EndOfTurnResult(tuple(actions), tuple(responses), happened, within.closes - start)

    async def _look_at_world(self, number: int, by: By) -> None:
        if self.watch is not None:
            await self.watch.record_changes(number, by)

    async def _collect_actions(self, number: int, since: datetime, until: datetime) -> list[ActionLogEntry]:
        events = await self.world.events.list_events(start_time=since, end_time=until)
        entries, _ = self.log.add_events_from_turn(events.events, await self._new_accesses())
        self._looked = until
        for entry in entries:
            await self.emitter.emit(_as_update(number, entry))
        return entries

    async def _new_accesses(self) -> list[LoggedRequest]:
        """The participant's requests since the last look, oldest first, as far as the server still knows them."""
        first_page = await self.world.access_logs.show(key_id=self.key_id, limit=_PAGE)
        newest = list(first_page.logs)
        while len(newest) < self._accesses.count_new(first_page.total):
            page = await self.world.access_logs.show(key_id=self.key_id, limit=_PAGE, offset=len(newest))
            if not page.logs:
                break
            newest += page.logs
        return self._accesses.take_new(newest, first_page.total)

    async def _schedule_responses(self, number: int, within: Window) -> list[ScheduledResponse]:
        new = await self.inbox.collect(within.opens)
        responses = await self.characters.process_new_messages(new_messages=new, current_time=within.opens)
        for problem in self.characters.take_problems():
            await self.emitter.emit(ErrorOccurred(error_type="internal_error", error_message=problem, recoverable=True))
        responses = [response for response in responses if await self._schedule_response(response, within)]
        character_ids = tuple(dict.fromkeys(response.character_id for response in responses))
        update = ResponsesGenerated(
            turn_number=number, responses_count=len(responses), characters_involved=character_ids
        )
        await self.emitter.emit(update)
        return responses

    async def _schedule_response(self, response: ScheduledResponse, within: Window) -> bool:
        """Schedules an answer; False, with an error event, if the simulator refuses it."""
        at = arrival_time(within, response.delay, self.scenario.late_replies)
        try:
            await self.world.events.create(scheduled_time=at, modality=response.modality, data=response.data)
        except SimulatorRefused as problem:
            problem_text = f"the answer of {response.character_id} was refused: {problem}"
            await self.emitter.emit(ErrorOccurred(error_type="ues_error", error_message=problem_text, recoverable=True))
            return False
        return True

    async def _advance_time(self, within: Window) -> int:
        """Advances time to the window's end; returns how many events ran on the way."""
        self._happened = 0
        if within.remainder:
            moved = await self.world.time.advance(within.remainder.total_seconds())
            self._happened = moved.events_executed
            await self.emitter.emit(
                SimulationAdvanced(
                    previous_time=moved.previous_time,
                    new_time=moved.current_time,
                    duration=format_duration(within.remainder),
                    events_processed=moved.events_executed,
                )
            )
        return self._happened


def _build_result(number: int, reply: TurnComplete | EarlyCompletion) -> TurnResult:
    if isinstance(reply, EarlyCompletion):
        return TurnResult(number, timedelta(), early_completion=True, notes=reply.reason)
    return TurnResult(number, reply.duration, notes=reply.notes)


def _describe_fault(problem: ValueError) -> str:
    """Names the field that is wrong, never what stood in it."""
    if not isinstance(problem, ValidationError):
        return str(problem)
    return f"the answer cannot be read: {describe_first_error(problem)}"


def _as_update(number: int, entry: ActionLogEntry) -> ActionObserved:
    return ActionObserved(
        turn_number=number,
        timestamp=entry.timestamp,
        action=entry.action,
        parameters=entry.parameters,
        success=entry.success,
        error_message=entry.error_message,
        notes=None if entry.kind == "action" else entry.kind,
    )
