"""Outcomes as executors leave them, to measure with: a usual task with two writes, in many sessions of some tenants."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from redis.asyncio import Redis

from shared.contracts.outcome import TaskOutcome
from shared.domain.words import Strategy, TaskState
from shared.infra import keys
from shared.infra.stored_outcomes import pack_outcome_with_own_digest

_TENANTS, _SESSIONS = 10, 50
_AT_ONCE = 500
_KINDS = ("expense_approval", "payroll", "procurement", "general")
_PARTS = {"formula": "signals", "baseline": 0.5, "policy_kept": 0.15, "writes_verified": 0.15, "needs_met": 0.1}
_DETAILS = {
    "classification": {"process_type": "expense_approval", "by": "words", "why": "claim", "confidence": 1.0},
    "partial": False,
    "insight": {},
    "strategy_fell_back": None,
    "spend": {"tokens": 4112, "dollars": "0.0123", "calls": 8},
    "verdict": {"passed": True, "level": None, "rules": ["limit"], "refused": [], "policy_hash": "a" * 64},
    "quality_parts": _PARTS,
    "improved": None,
}


async def leave_outcomes(redis: Redis, count: int, run: str) -> tuple[str, ...]:
    """Put so many on their streams; the tenants that they are of. ``run`` keeps them apart from others."""
    for first in range(0, count, _AT_ONCE):
        async with redis.pipeline(transaction=False) as pipe:
            for outcome in _outcomes(range(first, min(count, first + _AT_ONCE)), run):
                stream = keys.partition_keys_of(outcome.tenant, outcome.session_id).outcomes
                pipe.xadd(stream, {"id": outcome.event_id, "o": pack_outcome_with_own_digest(outcome)})
            await pipe.execute()
    return tuple(_tenant(number, run) for number in range(_TENANTS))


def _tenant(number: int, run: str) -> str:
    return f"bench-{run}-{number % _TENANTS}"


def _outcomes(numbers: Sequence[int], run: str) -> Iterator[TaskOutcome]:
    now = datetime.now(UTC)
    for number in numbers:
        yield TaskOutcome.model_validate(
            {
                "event_id": f"{run}-{number}:1",
                "tenant": _tenant(number, run),
                "session_id": f"s{number // _TENANTS % _SESSIONS}",
                "task_id": f"{run}-{number}",
                "state": TaskState.COMPLETED,
                "process_type": _KINDS[number % len(_KINDS)],
                "strategy": tuple(Strategy)[number % len(Strategy)],
                "quality": 0.5 + number % 50 / 100,
                "summary": f"Process expense claim EXP-{number}: check it against the travel policy and tell the team.",
                "tool_calls": 5,
                "model_calls": 7,
                "writes": {"verified": 2},
                "policy_passed": True,
                "reason": None,
                "duration_ms": 900,
                "ended_at": now + timedelta(milliseconds=number),
                "worked": ("get_expense", "list_policies", "approve_expense", "send_message"),
                "details": _DETAILS,
            }
        )
