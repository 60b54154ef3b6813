"""The checker of generated runs can fail: what it is to find is put into the record of a run, and it is found."""

from collections.abc import Callable

import pytest

from shared.contracts.task import TurnKind
from shared.domain.words import TaskState, ToolClass
from tests.doubles.tape import Asked, Event, Heard, Judged, Reached, Tape
from tests.doubles.unruly_json import INVENTED
from tests.each_row import each_row
from tests.unit.executor.any_run import SELF, Run, any_run
from tests.unit.executor.held import faults

Change = Callable[[Event], Event | None]
_SEEDS = 50


async def _approved_run() -> Run:
    """A run in which somebody approved a change that was then made."""
    for seed in range(_SEEDS):
        run = await any_run(seed)
        approved = any(approval.status.value == "approved" for approval in run.turns.approvals)
        if approved and any(isinstance(event, Reached) and _changes(event) for event in run.tape.events):
            return run
    raise AssertionError("no run has an approved change")


def _changes(event: Event) -> bool:
    return isinstance(event, Reached) and event.kind is ToolClass.CHANGE


def _elsewhere(event: Event) -> Event:
    return event._replace(state="ASSESS") if isinstance(event, Reached) and _changes(event) else event


def _unjudged(event: Event) -> Event | None:
    return None if isinstance(event, Judged) else event


def _blocked(event: Event) -> Event:
    if not isinstance(event, Judged) or event.verdict is None:
        return event
    return event._replace(verdict=event.verdict.model_copy(update={"blocked": True}))


def _other_arguments(event: Event) -> Event:
    if not isinstance(event, Reached) or not _changes(event):
        return event
    return event._replace(arguments={**event.arguments, "id": f"X-{INVENTED}"})


def _nobody_said_yes(event: Event) -> Event | None:
    return None if isinstance(event, Heard) and event.turn.kind is TurnKind.DECISION else event


def _own_yes(event: Event) -> Event:
    if not isinstance(event, Heard) or event.turn.kind is not TurnKind.DECISION:
        return event
    return event._replace(turn=event.turn.model_copy(update={"principal": SELF}))


def _dear(event: Event) -> Event:
    return event._replace(tokens=10**6) if isinstance(event, Asked) else event


@pytest.mark.promise("any_model.checker")
@each_row(
    ("change", "found"),
    (_elsewhere, "I1"),
    (_unjudged, "I2"),
    (_blocked, "I2"),
    (_other_arguments, "I3"),
    (_other_arguments, "I2"),
    (_nobody_said_yes, "I7"),
    (_own_yes, "I7"),
    (_dear, "I11"),
)
async def test_a_breach_on_the_tape_is_found(change: Change, found: str) -> None:
    run = await _approved_run()
    assert await faults(run) == []
    tape = Tape()
    tape.events = [kept for event in run.tape.events if (kept := change(event)) is not None]
    assert any(fault.startswith(found) for fault in await faults(run._replace(tape=tape, tokens=run.tokens or 10**5)))


@pytest.mark.promise("any_model.checker")
async def test_an_answer_that_nobody_said_and_an_end_that_is_none_are_found() -> None:
    run = await _approved_run()
    run.turns.record = run.record.model_copy(update={"state": TaskState.COMPLETED, "answer": '["never said"]'})
    assert any(fault.startswith("I9") for fault in await faults(run))
    run.turns.record = run.record.model_copy(update={"state": TaskState.SUBMITTED})
    assert "it never began" in await faults(run)
