"""`python -m tools.bench.worth --seed 1`: one JSON object on stdout; progress on stderr."""

import argparse
import json
import sys

from shared.domain.words import Strategy
from tools.bench.worth.measure import WorthOptions, describe, measure, show_progress
from tools.bench.worth.plays import ModelKind


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.worth", description=__doc__)
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--tasks", type=int)
    parser.add_argument("--strategies", default=",".join(Strategy))
    parser.add_argument("--models", default=",".join(ModelKind))
    given = parser.parse_args()
    strategies = tuple(Strategy(name).value for name in given.strategies.split(","))
    models = tuple(ModelKind(name) for name in given.models.split(","))
    options = WorthOptions(tuple(given.seed or (1,)), given.tasks, strategies, models)
    sys.stdout.write(json.dumps(describe(options, measure(options, show_progress))) + "\n")


if __name__ == "__main__":
    main()
