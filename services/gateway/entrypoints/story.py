"""A task's events as server-sent events."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

import structlog

from services.gateway.core.desk import TaskDesk, ends_task
from services.gateway.ports import StoreUnavailable
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.words import TaskState

log = structlog.get_logger()
_QUIET_SECONDS = 0.5


async def story(desk: TaskDesk, record: TaskRecord, after: str, *, follow: bool) -> AsyncGenerator[bytes, None]:
    """The events after that one; ends with the current turn, unless it is to follow the task for good.

    A reader who has seen an ended task's last event gets an empty story instead of silence without end.
    """
    past = _past_turns(record)
    quiet = _QUIET_SECONDS if record.state.is_terminal else None
    try:
        async with aclosing(desk.watch(record, after)) as events:
            while True:
                async with asyncio.timeout(quiet):
                    stream_id, event = await anext(events)
                yield frame(stream_id, event)
                if ends_task(event) or (not follow and _rests(event, past)):
                    return
    except (TimeoutError, StopAsyncIteration):
        return  # nothing more will come
    except StoreUnavailable as fault:
        log.warning("story_broken", task_id=record.task_id, error=str(fault))
        yield f"event: error\ndata: {json.dumps({'error': str(fault)})}\n\n".encode()


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
