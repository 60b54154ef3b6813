"""How often a second each engine decides: in rounds, one engine after the other, so that a busy moment hits all."""

import statistics
from collections.abc import Mapping
from time import perf_counter

from services.policy.bench.engines import CONTEXTS, Engine

ROUNDS = 21
ROUND_SECONDS = 0.05


def rates(engines: Mapping[str, Engine]) -> dict[str, float]:
    """Evaluations a second, the median of the rounds."""
    turns = {name: _turns(engine) for name, engine in engines.items()}
    rounds = [{name: _rate(engine, turns[name]) for name, engine in engines.items()} for _ in range(ROUNDS)]
    return {name: statistics.median(one[name] for one in rounds) for name in engines}


def _turns(engine: Engine) -> int:
    """As many passes over the contexts as take about one round."""
    passes, took = 1, 0.0
    while took < ROUND_SECONDS / 4:
        passes *= 2
        took = passes * len(CONTEXTS) / _rate(engine, passes)
    return max(1, round(passes * ROUND_SECONDS / took))


def _rate(engine: Engine, passes: int) -> float:
    began = perf_counter()
    for _ in range(passes):
        for facts in CONTEXTS:
            engine(facts)
    return passes * len(CONTEXTS) / (perf_counter() - began)
