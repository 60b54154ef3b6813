"""``python -m tools.bench.policy``: the condition language against its rivals, and the service under load."""

import argparse
import asyncio
import statistics
import sys
from collections.abc import Sequence
from time import process_time
from typing import NamedTuple

from services.policy.core.evaluate import decide
from services.policy.core.prepared import prepare_policies
from shared.domain.exact_json import Json, JsonObject, dumps, to_exact
from tools.bench.policy.engines import Engines, NotInstalled, load_engines
from tools.bench.policy.rates import EngineRates, rate_all
from tools.bench.policy.requests import different_rules
from tools.bench.policy.service import Answers, measure

FASTER_THAN_LIBRARIES = 3.0
SLOWER_THAN_BY_HAND = 2.0
P99_TARGET_MS = 5.0
_P99_RULES = 100
DIFFERENT_TARGET_MS = 2.0
_DIFFERENT_RULES, _DIFFERENT_ROUNDS = 1_000, 51


class PolicyFigures(NamedTuple):
    """``names``: of all engines; ``libraries``: of those that are not written by hand."""

    rates: EngineRates
    names: tuple[str, ...]
    libraries: tuple[str, ...]
    answers: tuple[Answers, ...]
    different_ms: float  # of CPU, for a verdict over 1,000 rules of which no two are alike

    @property
    def against_library(self) -> float:
        """How many times faster than the fastest library."""
        return min(self.rates.times_faster("ours", name) for name in self.libraries)

    @property
    def against_by_hand(self) -> float:
        """How many times slower than the same checks written by hand."""
        return self.rates.times_faster("by_hand_with_checks", "ours")

    @property
    def missed(self) -> list[str]:
        """A sentence for each target that was not met."""
        found = []
        if self.against_library < FASTER_THAN_LIBRARIES:
            found.append(f"{self.against_library} times the fastest library, target at least {FASTER_THAN_LIBRARIES}")
        if self.against_by_hand > SLOWER_THAN_BY_HAND:
            found.append(
                f"{self.against_by_hand} times slower than by hand with the same checks, target {SLOWER_THAN_BY_HAND}"
            )
        late = [one for one in self.answers if one.rules == _P99_RULES and one.p99_ms >= P99_TARGET_MS]
        found += [f"{one.rules} rules: p99 {one.p99_ms} ms, target under {P99_TARGET_MS} ms" for one in late]
        if self.different_ms > DIFFERENT_TARGET_MS:
            found.append(f"1,000 different rules: {self.different_ms} ms, target at most {DIFFERENT_TARGET_MS} ms")
        return found

    def as_json(self) -> JsonObject:
        rows: list[Json] = [{name: to_exact(value) for name, value in one._asdict().items()} for one in self.answers]
        return {
            "evaluations_per_second": {name: round(self.rates.typical_rate(name)) for name in self.names},
            "times_faster_than_the_fastest_library": to_exact(self.against_library),
            "times_slower_than_by_hand_with_checks": to_exact(self.against_by_hand),
            "service": rows,
            "different_rules_cpu_ms": to_exact(self.different_ms),
            "missed": list(self.missed),
        }


def bench(arguments: Sequence[str]) -> int:
    """Measure and say the figures on stdout; with ``--check``, 1 if a target is missed, each named on stderr."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.policy")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    try:
        found = load_engines()
    except NotInstalled as error:
        sys.stderr.write(f"{error}\n")
        return 2
    figures = _figures(found)
    sys.stdout.write(f"{dumps(figures.as_json())}\n" if options.json else _show_figures(figures))
    if not (options.check and figures.missed):
        return 0
    sys.stderr.write("".join(f"Missed: {sentence}\n" for sentence in figures.missed))
    return 1


def _figures(found: Engines) -> PolicyFigures:
    named = found.by_name()
    return PolicyFigures(rate_all(named), tuple(named), tuple(found.libraries), asyncio.run(measure()), _different_ms())


def _different_ms() -> float:
    request = different_rules(_DIFFERENT_RULES)
    prepared, spent = prepare_policies(request.policies), list[float]()
    for _ in range(_DIFFERENT_ROUNDS):
        began = process_time()
        decide(request, prepared)
        spent.append(process_time() - began)
    return round(statistics.median(spent) * 1_000, 3)


def _show_figures(figures: PolicyFigures) -> str:
    lines = [f"{name:28} {figures.rates.typical_rate(name):14,.0f} evaluations/s" for name in figures.names]
    lines += [
        f"{one.rules:5} rules: p50 {one.p50_ms} ms, p99 {one.p99_ms} ms; new policies p99 {one.new_p99_ms} ms; "
        f"{one.requests_per_second} requests/s"
        for one in figures.answers
    ]
    lines.append(f" 1000 different rules: {figures.different_ms} ms of CPU a verdict")
    return "\n".join(lines) + "\n"
