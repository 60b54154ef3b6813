"""`python -m tools.bench.worth --seed 1`: one JSON object on stdout; progress on stderr."""

import argparse
import json
import sys
from pathlib import Path

from shared.domain.words import Strategy
from tools.bench.worth.kept_plays import CannotKeepPlays, KeptPlays
from tools.bench.worth.measure import RATES, WorthOptions, describe, measure, show_progress
from tools.bench.worth.plays import ModelKind
from tools.bench.worth.tally import TARGET_RATE


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.worth", description=__doc__)
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--tasks", type=int)
    parser.add_argument("--strategies", default=",".join(Strategy))
    parser.add_argument("--models", default=",".join(ModelKind))
    parser.add_argument("--rates", default=",".join(map(str, RATES)))
    parser.add_argument("--kept", type=Path)
    given = parser.parse_args()
    strategies = tuple(Strategy(name).value for name in given.strategies.split(","))
    models = tuple(ModelKind(name) for name in given.models.split(","))
    rates = tuple(map(float, given.rates.split(",")))
    if TARGET_RATE not in rates:
        parser.error(f"a target is set for faults in {TARGET_RATE:.0%} of the replies: name {TARGET_RATE} in --rates")
    options = WorthOptions(tuple(given.seed or (1,)), given.tasks, strategies, models, rates)
    try:
        kept = KeptPlays(given.kept) if given.kept else None
    except CannotKeepPlays as problem:
        parser.error(str(problem))
    sys.stdout.write(json.dumps(describe(options, measure(options, show_progress, kept))) + "\n")


if __name__ == "__main__":
    main()
