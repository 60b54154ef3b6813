"""A task's events as server-sent events."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

import structlog

from services.gateway.core.streaming.positions import Place, Resumption, Seen, resumption
from services.gateway.core.tasks.desk import TaskDesk, ends_task
from services.gateway.core.tasks.views import public_view
from services.gateway.ports.tasks import StoreUnavailable
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.words import TaskState
from shared.ports.tasks import EventsLost, Standing

log = structlog.get_logger()


async def story(
    desk: TaskDesk, standing: Standing, seen: Seen | None, notice: str, *, follow: bool
) -> AsyncGenerator[bytes, None]:
    """The events that a reader lacks; ends with the current turn, unless it is to follow the task for good.

    A reader who has seen an ended task's last event gets an empty story. One who lacks events that are kept no longer
    gets an event ``snapshot`` with the task and the gap, and what comes after it.
    """
    try:
        found = resumption(seen, standing)
        while True:
            if found.lost_after is not None:
                yield _gap(standing, found.lost_after, notice)
            try:
                async with aclosing(_frames(desk, standing, found, follow=follow)) as frames:
                    async for item in frames:
                        yield item
                return
            except EventsLost as lost:
                standing, found = await desk.standing(standing.record), Resumption(None, lost.after)
    except StoreUnavailable as fault:
        log.warning("story_broken", task_id=standing.record.task_id, error=str(fault))
        yield f"event: error\ndata: {json.dumps({'error': str(fault)})}\n\n".encode()


async def _frames(
    desk: TaskDesk, standing: Standing, found: Resumption, *, follow: bool
) -> AsyncGenerator[bytes, None]:
    record, newest = standing.record, Seen(Place.of(standing.newest or "0-0"))
    start = found.seen or (newest if found.lost_after else Seen(Place(0, 0)))
    if record.state.is_terminal and start.place >= newest.place and start.part is None:
        return
    past = _past_turns(record)
    async with aclosing(desk.watch(record, start.after)) as events:
        async for stream_id, event in events:
            yield frame(stream_id, event)
            if ends_task(event) or (not follow and _rests(event, past)):
                return
            if record.state.is_terminal and Place.of(stream_id) >= newest.place:
                return


def _gap(standing: Standing, lost_after: str, notice: str) -> bytes:
    data = {"kind": "snapshot", "gap": {"lost_after": lost_after}, "task": public_view(standing.record, notice)}
    return f"id: {standing.newest or '0-0'}\nevent: snapshot\ndata: {json.dumps(data)}\n\n".encode()


def frame(stream_id: str, event: TaskEvent) -> bytes:
    data = event.model_dump_json(include={"kind", "at", "data"})
    return f"id: {stream_id}\nevent: {event.kind}\ndata: {data}\n\n".encode()


def _past_turns(record: TaskRecord) -> frozenset[str]:
    """Turns that are over and were not the last: their ends are history, not a reason to stop."""
    waits = record.state is TaskState.INPUT_REQUIRED or bool(record.metadata.get("waits_until"))
    resting = record.state.is_terminal or waits
    return frozenset(record.turns_done[:-1] if resting else record.turns_done)


def _rests(event: TaskEvent, past: frozenset[str]) -> bool:
    """Whether a turn ends here that leaves its task to a person, or to a time."""
    waits = event.data.get("state") == TaskState.INPUT_REQUIRED or bool(event.data.get("waits_until"))
    return event.kind == "turn_finished" and waits and event.data.get("turn_id") not in past
