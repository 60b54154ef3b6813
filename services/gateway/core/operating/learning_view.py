"""What clients see of a tenant's learning: the four parts of ``GET /rl/status`` (seed 000)."""

from collections.abc import Mapping

from pydantic import JsonValue

from services.gateway.ports.learning import Learning
from shared.domain.bandit import REWARD_UNITS, Arm, ucb1
from shared.domain.cases import CASES_KEPT, CaseOutcome


def learning_view(learning: Learning) -> dict[str, JsonValue]:
    """``n`` pulls, ``q`` the mean reward, ``ucb`` the present score of each arm; null for one that was never tried."""
    return {
        "case_log": _case_log(learning),
        "bandit": {process_type: _arms(arms) for process_type, arms in sorted(learning.arms.items())},
        "tool_registry": {"size": learning.tools},
        "fsm_synthesis_cache": {"size": learning.synthesized},
    }


def _case_log(learning: Learning) -> dict[str, JsonValue]:
    """``size`` and ``cap`` are of the log; the rest counts every task that has ever ended."""
    counts = learning.counts
    events = counts.get("events", 0)
    quality = counts.get("quality_units", 0) / (events * REWARD_UNITS) if events else None
    return {
        "size": learning.cases,
        "cap": CASES_KEPT,
        "total": events,
        **{outcome.value: counts.get(outcome.value, 0) for outcome in CaseOutcome},
        "mean_quality": None if quality is None else round(quality, 4),
    }


def _arms(arms: Mapping[str, Arm]) -> dict[str, JsonValue]:
    pulls = sum(arm.n for arm in arms.values())
    return {strategy: _arm(arm, ucb1(arm, pulls)) for strategy, arm in sorted(arms.items())}


def _arm(arm: Arm, score: float | None) -> dict[str, JsonValue]:
    return {"n": arm.n, "q": round(arm.q, 4), "ucb": None if score is None else round(score, 4)}
