"""``python -m tools.bench.simulator``: what a simulator costs, against its stated targets."""

import argparse
import json
import sys
from collections.abc import Sequence

from tools.bench.simulator.measures import SimulatorFigures, measure_all
from tools.bench.simulator.process import BenchFailed, simulator


def bench(arguments: Sequence[str]) -> int:
    """Say the figures on stdout; with ``--check``, 1 if a target is missed, each named on stderr; 2 without figures."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.simulator")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    try:
        with simulator() as running:
            figures = measure_all(running)
    except BenchFailed as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    sys.stdout.write(f"{json.dumps(figures.as_json())}\n" if options.json else _show_figures(figures))
    if not (options.check and figures.missed):
        return 0
    sys.stderr.write("".join(f"Missed: {sentence}\n" for sentence in figures.missed))
    return 1


def _show_figures(figures: SimulatorFigures) -> str:
    return "".join(f"{name.replace('_', ' ')}: {value}\n" for name, value in figures.as_json().items())
