"""Ready-made cases for tests."""

from datetime import timedelta

from shared.contracts.knowledge import CaseEntry
from shared.domain.cases import CaseOutcome
from shared.domain.words import Strategy
from tests.doubles.redis_tasks import NOON


def a_case(number: int = 1, words: str = "expense claim", hours_old: float = 1, **known: object) -> CaseEntry:
    facts: dict[str, object] = {
        "case_id": f"case-{number}",
        "session_id": "s1",
        "task_id": f"t{number}",
        "summary": words,
        "keywords": tuple(words.split()),
        "outcome": CaseOutcome.SUCCESS,
        "quality": 0.9,
        "tool_count": 3,
        "domain": "expense_approval",
        "strategy": Strategy.FSM,
        "at": NOON - timedelta(hours=hours_old),
    }
    return CaseEntry.model_validate({**facts, **known})


def a_failure(number: int = 1, words: str = "expense claim", **known: object) -> CaseEntry:
    return a_case(number, words, **{"outcome": CaseOutcome.FAILURE, "quality": 0.4, **known})  # type: ignore[arg-type]  # keywords of both kinds
