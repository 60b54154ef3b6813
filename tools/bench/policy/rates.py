"""How often a second each engine decides: in rounds, one engine after the other, so that a busy moment hits all."""

import statistics
from collections.abc import Mapping
from time import perf_counter
from typing import NamedTuple

from tools.bench.policy.engines import CONTEXTS, Engine

ROUNDS = 51
ROUND_SECONDS = 0.02


class EngineRates(NamedTuple):
    """Evaluations a second of each engine, round by round."""

    rounds: tuple[Mapping[str, float], ...]

    def typical_rate(self, name: str) -> float:
        return statistics.median(one[name] for one in self.rounds)

    def times_faster(self, name: str, other: str) -> float:
        """How many times faster than the other, compared within each round."""
        return round(statistics.median(one[name] / one[other] for one in self.rounds), 2)


def rate_all(engines: Mapping[str, Engine]) -> EngineRates:
    """Each engine's rounds, after a first look at how many evaluations make a round."""
    passes = {name: _passes_per_round(engine) for name, engine in engines.items()}
    return EngineRates(
        tuple({name: _measure_rate(engine, passes[name]) for name, engine in engines.items()} for _ in range(ROUNDS))
    )


def _passes_per_round(engine: Engine) -> int:
    """As many passes over the contexts as take about one round."""
    passes, took = 1, 0.0
    while took < ROUND_SECONDS / 4:
        passes *= 2
        took = passes * len(CONTEXTS) / _measure_rate(engine, passes)
    return max(1, round(passes * ROUND_SECONDS / took))


def _measure_rate(engine: Engine, passes: int) -> float:
    began = perf_counter()
    for _ in range(passes):
        for facts in CONTEXTS:
            engine(facts)
    return passes * len(CONTEXTS) / (perf_counter() - began)
