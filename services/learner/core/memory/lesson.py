"""Derives the lesson of one outcome: a case for the log, and a reward for the strategy that was used."""

import re
from datetime import date
from functools import lru_cache
from json import loads

from pydantic import ValidationError

from services.learner.ports.outcomes import Delivery, Lesson, StrategyUse
from shared.contracts.base import describe_first_error
from shared.contracts.outcome import TaskOutcome
from shared.contracts.outcome_digest import NO_STRATEGY_USE, OutcomeDigest, make_outcome_digest, why_not_learnable
from shared.domain.words import Strategy

_CASE_HEADER_PATTERN = re.compile(
    r"(\S+) (\S+) ((?:10000|\d{1,4}) (?:success|partial|failure) \d{12,13} (2\d{3}-\d\d-\d\d) ([^\n]+))",
    re.ASCII,
)


class UnreadableOutcome(ValueError):
    """The event is not a valid outcome; the message says what is wrong, without repeating its content."""


def parse_outcome(event: str) -> TaskOutcome:
    """Parses an outcome; raises ``UnreadableOutcome``."""
    try:
        outcome = TaskOutcome.model_validate_json(event)
    except ValidationError as error:
        raise UnreadableOutcome(describe_first_error(error, "the event")) from None
    if fault := why_not_learnable(outcome):
        raise UnreadableOutcome(fault)
    return outcome


def read_lesson_of_delivery(delivery: Delivery) -> Lesson | None:
    """What to learn from a delivered outcome, from its digest if it has one, else from the outcome itself; raises
    ``UnreadableOutcome``.

    None for a run in a simulated world, which is neither learned from nor counted.
    """
    if delivery.digest is not None:
        return make_lesson_from_digest(delivery.digest)
    outcome = parse_outcome(delivery.event)
    return None if outcome.practice else make_lesson(outcome)


def make_lesson(outcome: TaskOutcome) -> Lesson:
    """Computes what to learn from an outcome that ``parse_outcome`` has accepted: its case, and its strategy's
    reward.
    """
    return make_lesson_from_digest(make_outcome_digest(outcome))


def make_lesson_from_digest(digest: OutcomeDigest) -> Lesson:
    """Reads what to learn from the digest that the executor put beside the outcome, without parsing the outcome. Raises
    ``UnreadableOutcome``.
    """
    header, case_json = _CASE_HEADER_PATTERN.fullmatch(digest.header), digest.case
    is_object = case_json[:1] == "{" and case_json[-1:] == "}"
    if header is None or "\n" in case_json or (case_json and not is_object):
        raise UnreadableOutcome("the digest is malformed")
    tenant, pull, counted_line, day, event_id = header.groups()
    try:
        return Lesson(
            event_id, _parse_quoted_name(tenant), counted_line, _parse_day(day), case_json, _parse_strategy_use(pull)
        )
    except ValueError:
        raise UnreadableOutcome("the digest is malformed") from None


@lru_cache(maxsize=1_024)  # these three: the same few, over and over
def _parse_quoted_name(quoted_name: str) -> str:
    name: object = loads(quoted_name)
    if not isinstance(name, str) or not name:
        raise UnreadableOutcome("no name stands where one should be")
    return name


@lru_cache(maxsize=1_024)
def _parse_day(text: str) -> date:
    return date.fromisoformat(text)


@lru_cache(maxsize=1_024)
def _parse_strategy_use(text: str) -> StrategyUse | None:
    if text == NO_STRATEGY_USE:
        return None
    strategy, _, kind = text.partition(":")
    return StrategyUse(str(loads(kind)), Strategy(strategy))
