"""Which strategy a new task is carried out by (seed 000, Strategy Bandit)."""

from collections.abc import Sequence

from pydantic import JsonValue

from shared.domain.bandit import Arm, Arms, Choice, choose
from shared.domain.words import Strategy

AVAILABLE = tuple(Strategy)  # in the order in which they are tried; a setting may name fewer (STRATEGIES)


def strategy_for(arms: Arms, available: Sequence[Strategy] = AVAILABLE) -> Choice:
    return choose(arms, available)


def shown(choice: Choice, arms: Arms) -> dict[str, JsonValue]:
    """Each arm's pulls, mean reward and score, as the task's metadata tells them."""
    return {strategy.value: _arm(arms.get(strategy, Arm()), score) for strategy, score in choice.scores.items()}


def _arm(arm: Arm, score: float | None) -> dict[str, JsonValue]:
    return {"n": arm.n, "q": round(arm.q, 4), "ucb": None if score is None else round(score, 4)}
