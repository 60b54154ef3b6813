"""The short form of a task outcome that the learner's statistics need: a header and a case, packed with the outcome."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from json import dumps
from typing import NamedTuple

from shared.contracts.knowledge import CaseEntry
from shared.contracts.outcome import TaskOutcome
from shared.domain.bandit import convert_to_reward_units
from shared.domain.cases import classify_case_outcome
from shared.domain.keywords import extract_keywords
from shared.domain.quality import QualityFormula
from shared.domain.redaction import redact_text
from shared.domain.words import Strategy, WriteStatus

NO_STRATEGY_USE = "-"
_EARLIEST, _LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
_FORMULAS = frozenset(QualityFormula)
_PART_NAME_PATTERN = re.compile(r"[a-z_]{1,30}")
_MOST_PARTS = 20
LONGEST_SUMMARY = 200  # characters
_MOST_NOTES = 10  # entries each of what worked and what failed
_LONGEST_NOTE = 200  # characters of one of them


class OutcomeDigest(NamedTuple):
    """A short form of an outcome, which the learner stores without parsing the outcome.

    ``header``: ``tenant pull units outcome at_ms day event_id``. The tenant is a JSON string without spaces. ``pull``
    is ``strategy:process type``, the latter also a JSON string, or ``-`` if the outcome names no strategy. ``units`` is
    the reward in ten-thousandths, ``outcome`` a ``CaseOutcome``. The event id is the rest of the line. ``case``: a
    ``CaseEntry`` as JSON; if empty, the event is only counted. Neither contains a line break.
    """

    header: str
    case: str


NO_DIGEST = OutcomeDigest("", "")


def why_not_learnable(outcome: TaskOutcome) -> str:
    """Why nothing can be learned from an outcome, without repeating its values; empty if something can."""
    if not (outcome.event_id and outcome.tenant):
        return "the event has no id or no tenant"
    if "\n" in outcome.event_id:
        return "event_id: has a line break"
    if not 0 <= outcome.quality <= 1:
        return "quality: not between 0 and 1"
    if outcome.ended_at.tzinfo is None or not _EARLIEST <= outcome.ended_at <= _LATEST:
        return "ended_at: no time of this age, or without its zone"
    return ""


def make_outcome_digest(outcome: TaskOutcome) -> OutcomeDigest:
    """Computes the digest of one outcome; ``NO_DIGEST`` if nothing can be learned from it, or it is of a run in a
    simulated world, which is not counted.
    """
    if outcome.practice or why_not_learnable(outcome):
        return NO_DIGEST
    case, ended_at = make_case_entry(outcome), outcome.ended_at.astimezone(UTC)
    units = convert_to_reward_units(outcome.quality)
    ended_at_ms = round(ended_at.timestamp() * 1000)
    figures = f"{units} {case.outcome} {ended_at_ms} {ended_at.date()}"
    header = f"{_quote_name(outcome.tenant)} {_format_strategy_use(outcome)} {figures} {outcome.event_id}"
    return OutcomeDigest(header, "" if outcome.dry_run else case.stored_json())


def make_case_entry(outcome: TaskOutcome) -> CaseEntry:
    """Builds the entry of an outcome for the case log, with protected values removed."""
    summary = redact_text(outcome.summary)
    return CaseEntry(
        case_id=outcome.event_id,
        session_id=outcome.session_id,
        task_id=outcome.task_id,
        summary=summary[:LONGEST_SUMMARY],
        keywords=extract_keywords(summary),
        outcome=classify_case_outcome(outcome.state, outcome.quality),
        quality=outcome.quality,
        formula=_get_quality_formula_name(outcome),
        parts=_select_numeric_score_parts(outcome),
        worked=shorten_and_redact_notes(_list_success_notes(outcome)),
        failed=shorten_and_redact_notes(_list_failure_notes(outcome)),
        tool_count=outcome.tool_calls,
        domain=outcome.process_type,
        strategy=_choose_counted_strategy(outcome),
        at=outcome.ended_at,
    )


def _format_strategy_use(outcome: TaskOutcome) -> str:
    return f"{outcome.strategy}:{_quote_name(outcome.process_type)}" if outcome.strategy_applied else NO_STRATEGY_USE


@lru_cache(maxsize=1_024)  # the same few tenants and kinds, over and over
def _quote_name(name: str) -> str:
    return dumps(name).replace(" ", r"\u0020")


def _get_quality_formula_name(outcome: TaskOutcome) -> str:
    score = outcome.details.get("quality_parts")
    name = score.get("formula") if isinstance(score, dict) else None
    return name if isinstance(name, str) and name in _FORMULAS else ""


def _select_numeric_score_parts(outcome: TaskOutcome) -> dict[str, float]:
    """The named parts of the score, at most ``_MOST_PARTS``; entries that are not numbers are left out."""
    score = outcome.details.get("quality_parts")
    parts: dict[str, float] = {}
    for name, part in score.items() if isinstance(score, dict) else ():
        if isinstance(part, int | float) and abs(part) <= 1 and _is_score_part_name(name) and len(parts) < _MOST_PARTS:
            parts[name] = float(part)
    return parts


def _choose_counted_strategy(outcome: TaskOutcome) -> Strategy:
    """The strategy whose reward the outcome counts for: ``fsm`` (no extra call of a model) if the chosen one could not
    be applied.
    """
    return Strategy.FSM if outcome.details.get("strategy_fell_back") else outcome.strategy


def _list_success_notes(outcome: TaskOutcome) -> Iterator[str]:
    verified = outcome.writes.get(WriteStatus.VERIFIED, 0)
    if verified:
        yield f"writes verified: {verified}"
    if outcome.policy_passed:
        yield "policy passed"
    yield from outcome.worked


def _list_failure_notes(outcome: TaskOutcome) -> Iterator[str]:
    if outcome.reason:
        yield outcome.reason
    for status, count in sorted(outcome.writes.items()):
        if status != WriteStatus.VERIFIED and count:
            yield f"writes {status}: {count}"
    if outcome.policy_passed is False:
        yield "policy did not pass"
    yield from outcome.failed


def shorten_and_redact_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """The first notes of a case on what worked or failed, each cut, and without protected values."""
    return tuple(map(shorten_and_redact_note, islice(notes, _MOST_NOTES)))


def shorten_and_redact_note(text: str) -> str:
    """A note of a case, cut, and without protected values."""
    redacted = _redact_short_text(text) if len(text) <= _LONGEST_NOTE else redact_text(text)
    return redacted[:_LONGEST_NOTE]


@lru_cache(maxsize=4_096)  # the same few names of tools, over and over; longer texts are not held
def _redact_short_text(text: str) -> str:
    return redact_text(text)


@lru_cache(maxsize=256)
def _is_score_part_name(name: str) -> bool:
    return _PART_NAME_PATTERN.fullmatch(name) is not None
