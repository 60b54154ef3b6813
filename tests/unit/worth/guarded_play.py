"""A task of the bench through the worker, for tests: what a model says, and what came of it."""

import asyncio
from functools import cache

from shared.domain.words import Strategy
from tools.bench.worth.guarded import GuardedRun, run_guarded
from tools.bench.worth.models import PlayingModel
from tools.bench.worth.plays import load_tasks, load_texts
from tools.bench.worth.worlds.task import WorthTask


@cache
def all_tasks() -> list[WorthTask]:
    return [task for seed in (1, 2, 3) for task in load_tasks(seed)]


def play_guarded(task: WorthTask, model: PlayingModel, strategy: Strategy = Strategy.FSM) -> GuardedRun:
    return asyncio.run(run_guarded(task, model, strategy, load_texts()))
