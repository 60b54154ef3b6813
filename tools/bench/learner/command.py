"""``python -m tools.bench.learner``: the learner's speed, and what its bandit's choices cost."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from shared.domain.exact_json import Json, JsonObject, dumps, to_exact
from shared.infra.process import freeze_startup_objects
from tools.bench.learner.plot import CannotPlot, plot
from tools.bench.learner.rates import LearnerRates, measure_rates
from tools.bench.learner.regret import SCENES, RegretCourse, measure_regret

SHARE_TARGET = 0.5
EVENTS, ROUNDS = 10_000, 3
SEEDS = 200
CHOICES = 1_000
PLOTTED_CHOICES = 10_000


class LearnerFigures(NamedTuple):
    rates: LearnerRates
    courses: tuple[RegretCourse, ...]
    seeds: int

    @property
    def missed(self) -> list[str]:
        """A sentence for each target that was not met."""
        found = []
        if self.rates.share < SHARE_TARGET:
            found.append(f"{self.rates.share} of a bare reader's rate, target at least {SHARE_TARGET}")
        found += [f"regret above its bound for arms of {one.arms}" for one in self.courses if one.exceeds]
        found += [f"regret grows faster than its bound for arms of {one.arms}" for one in self.courses if one.outgrows]
        return found

    def as_json(self) -> JsonObject:
        typical = self.rates.typical
        return {
            "events_per_second": round(typical.learner),
            "bare_reader_events_per_second": round(typical.bare),
            "share_of_bare_reader": to_exact(self.rates.share),
            "without_decoding_events_per_second": round(typical.undecoded),
            "regret": [_course_as_json(one, self.seeds) for one in self.courses],
            "missed": list(self.missed),
        }


def _course_as_json(one: RegretCourse, seeds: int) -> Json:
    last = {"regret": round(one.regret[-1], 1), "bound": round(one.bound[-1], 1)}
    return {
        "arms": one.arms,
        "seeds": seeds,
        "choices": one.after[-1],
        **{name: to_exact(x) for name, x in last.items()},
    }


def bench(arguments: Sequence[str]) -> int:
    """Measure and say the figures on stdout; with ``--check``, 1 if a target is missed, each named on stderr."""
    options = _options(arguments)
    choices = PLOTTED_CHOICES if options.plot else CHOICES
    courses = tuple(measure_regret(scene, choices, options.seeds) for scene in SCENES)
    try:
        if options.plot:
            plot(courses, options.seeds, options.plot)
    except CannotPlot as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    freeze_startup_objects()
    figures = LearnerFigures(asyncio.run(measure_rates(options.events, ROUNDS)), courses, options.seeds)
    shown = figures.as_json()
    text = dumps(shown) if options.json else "\n".join(f"{name:32} {dumps(value)}" for name, value in shown.items())
    sys.stdout.write(f"{text}\n")
    sys.stderr.write("".join(f"Missed: {sentence}\n" for sentence in figures.missed if options.check))
    return int(options.check and bool(figures.missed))


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.learner")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--plot", type=Path, help="write the regret's picture (SVG) to this file")
    return parser.parse_args(arguments)
