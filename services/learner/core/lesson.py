"""What one outcome teaches: a case for the log, and a reward for the strategy that was used."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice

from pydantic import ValidationError

from services.learner.ports.outcomes import Lesson, Pull
from shared.contracts.case import CaseEntry
from shared.contracts.outcome import TaskOutcome
from shared.domain.bandit import reward_units
from shared.domain.cases import judged
from shared.domain.keywords import keywords
from shared.domain.quality import Formula
from shared.domain.redaction import redacted
from shared.domain.words import Strategy, WriteStatus

_EARLIEST, _LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
_FORMULAS = frozenset(Formula)
_PART = re.compile(r"[a-z_]{1,30}")
_PARTS = 20
_SUMMARY = 200  # characters
_NOTES = 10  # entries each of what worked and what failed
_SAID = 200  # characters of one of them


class Unreadable(ValueError):
    """The event is no outcome; the message says what is wrong with it, without repeating it."""


def read(event: str) -> TaskOutcome:
    """The outcome that a text holds; raises ``Unreadable``."""
    try:
        outcome = TaskOutcome.model_validate_json(event)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in wrong["loc"]) or "the event"
        raise Unreadable(f"{where}: {wrong['msg']}") from None
    if not (outcome.event_id and outcome.tenant):
        raise Unreadable("the event has no id or no tenant")
    if "\n" in outcome.event_id:
        raise Unreadable("event_id: has a line break")
    if not 0 <= outcome.quality <= 1:
        raise Unreadable("quality: not between 0 and 1")
    if outcome.ended_at.tzinfo is None or not _EARLIEST <= outcome.ended_at <= _LATEST:
        raise Unreadable("ended_at: no time of this age, or without its zone")
    return outcome


def lesson_of(outcome: TaskOutcome) -> Lesson:
    """The lesson of one outcome. The quality is taken as it was measured."""
    pull = Pull(outcome.process_type, outcome.strategy) if outcome.strategy_applied else None
    units = reward_units(outcome.quality)
    return Lesson(outcome.event_id, outcome.tenant, _case(outcome), units, pull, is_example=not outcome.dry_run)


def _case(outcome: TaskOutcome) -> CaseEntry:
    """The case without anything that the privacy guard marks, whoever sent the event."""
    summary = redacted(outcome.summary)
    return CaseEntry(
        case_id=outcome.event_id,
        session_id=outcome.session_id,
        task_id=outcome.task_id,
        summary=summary[:_SUMMARY],
        keywords=keywords(summary),
        outcome=judged(outcome.state, outcome.quality),
        quality=outcome.quality,
        formula=_formula(outcome),
        parts=_parts(outcome),
        worked=_notes(_worked(outcome)),
        failed=_notes(_failed(outcome)),
        tool_count=outcome.tool_calls,
        domain=outcome.process_type,
        strategy=_carried_by(outcome),
        at=outcome.ended_at,
    )


def _formula(outcome: TaskOutcome) -> str:
    said = outcome.details.get("quality_parts")
    name = said.get("formula") if isinstance(said, dict) else None
    return name if isinstance(name, str) and name in _FORMULAS else ""


def _parts(outcome: TaskOutcome) -> dict[str, float]:
    """What the score is the sum of, by names that are words; a text among them is none of it."""
    said = outcome.details.get("quality_parts")
    parts: dict[str, float] = {}
    for name, part in said.items() if isinstance(said, dict) else ():
        if isinstance(part, int | float) and abs(part) <= 1 and _is_part(name) and len(parts) < _PARTS:
            parts[name] = float(part)
    return parts


def _carried_by(outcome: TaskOutcome) -> Strategy:
    """The strategy that did the work: fsm, where the chosen one could not be applied."""
    return Strategy.FSM if outcome.details.get("strategy_fell_back") else outcome.strategy


def _worked(outcome: TaskOutcome) -> Iterator[str]:
    verified = outcome.writes.get(WriteStatus.VERIFIED, 0)
    if verified:
        yield f"writes verified: {verified}"
    if outcome.policy_passed:
        yield "policy passed"
    yield from outcome.worked


def _failed(outcome: TaskOutcome) -> Iterator[str]:
    if outcome.reason:
        yield outcome.reason
    for status, count in sorted(outcome.writes.items()):
        if status != WriteStatus.VERIFIED and count:
            yield f"writes {status}: {count}"
    if outcome.policy_passed is False:
        yield "policy did not pass"
    yield from outcome.failed


def _notes(said: Iterator[str]) -> tuple[str, ...]:
    return tuple(map(_note, islice(said, _NOTES)))


@lru_cache(maxsize=4_096)  # the same few names of tools, over and over
def _note(text: str) -> str:
    return redacted(text)[:_SAID]


@lru_cache(maxsize=256)
def _is_part(name: str) -> bool:
    return _PART.fullmatch(name) is not None
