"""Every play of some seeds, on all cores that this process may use, and the figures that they come to."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from typing import NamedTuple

import structlog
from rich.console import Console
from rich.progress import track

from tools.bench.worth.faults import NATURES
from tools.bench.worth.fresh_tokens import COUNTED
from tools.bench.worth.kept_plays import KeptPlay, KeptPlays
from tools.bench.worth.plays import FLAT, ModelKind, PlayOrder, WorthPlay, choose_places, list_orders, load_tasks, play
from tools.bench.worth.tally import Tally, count_more_calls, list_missed, tally_plays
from tools.bench.worth.worlds.data import Json

RATES = (0.05, 0.10, 0.20, 0.40)
AT_ONCE = 4  # plays that a process takes at a time


class WorthOptions(NamedTuple):
    """`tasks` of each seed, all where it is None; the plain loop is always played beside the strategies.

    `rates`: the shares of replies in which the faulty model commits a fault.
    """

    seeds: tuple[int, ...]
    tasks: int | None
    strategies: tuple[str, ...]
    models: tuple[ModelKind, ...]
    rates: tuple[float, ...] = RATES

    def orders(self) -> list[PlayOrder]:
        loops = (FLAT, *self.strategies)
        return [
            order
            for seed in self.seeds
            for order in list_orders(
                seed, choose_places(len(load_tasks(seed)), self.tasks), loops, self.models, self.rates
            )
        ]


Watch = Callable[[Iterator[KeptPlay], int], Iterator[KeptPlay]]


def measure(options: WorthOptions, watch: Watch, kept: KeptPlays | None = None) -> list[WorthPlay]:
    """The plays in the order of their orders; `watch` sees each as it ends. What is kept is not played again."""
    orders = options.orders()
    played = dict(kept.plays) if kept else {}
    left = [order for order in orders if order not in played]
    with get_context("spawn").Pool(count_cores(), silence_logs) as pool:
        for done in watch(map(KeptPlay, left, pool.imap(play, left, AT_ONCE)), len(left)):
            played[done.order] = done.play
            if kept:
                kept.add(done)
    return [each for order in orders if (each := played[order]) is not None]


def count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def silence_logs() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def show_progress(plays: Iterator[KeptPlay], number: int) -> Iterator[KeptPlay]:
    return iter(track(plays, "Playing", number, console=Console(stderr=True), transient=True))


def describe(options: WorthOptions, plays: Sequence[WorthPlay]) -> dict[str, Json]:
    lines = tally_plays(plays)
    more: dict[str, Json] = {
        loop: {str(extra): number for extra, number in sorted(count_more_calls(plays, loop).items())}
        for loop in options.strategies
    }
    return {
        "seeds": [*options.seeds],
        "lines": [describe_line(line) for line in lines],
        "calls_beyond_the_plain_loop": more,
        "faults": [*(describe_faults(line) for line in lines if line.faults)],
        "missed": [*list_missed(plays, lines)],
        "note": COUNTED,
    }


def describe_line(line: Tally) -> dict[str, Json]:
    return {
        "model": line.model,
        "rate": line.rate,
        "loop": line.loop,
        "tasks": line.tasks,
        "right": line.right,
        "free_tasks": line.free,
        "free_right": line.free_right,
        "writes": line.writes,
        "wrong_writes": dict(line.wrong_writes),
        "asked_unasked": line.asked_unasked,
        "silent_omissions": line.silent_omissions,
        "attacks_held": line.attacks_held,
        "invented_figures": line.invented_figures,
        "notices_with_a_caveat": line.caveats,
        "calls_a_task": round(line.calls / line.tasks, 2),
        "fresh_tokens_a_task": line.fresh_tokens // line.tasks,
        "own_tokens_a_task": line.own_tokens // line.tasks,
    }


def describe_faults(line: Tally) -> dict[str, Json]:
    """Each kind of fault that was committed: how often, whether it can be detected, and the wrong writes it led to."""
    kinds: list[Json] = [
        {
            "kind": kind.value,
            "detectable": NATURES[kind].detectable,
            "committed": number,
            "wrong_writes": line.blamed[kind],
        }
        for kind, number in sorted(line.faults.items())
    ]
    return {"loop": line.loop, "rate": line.rate, "kinds": kinds}
