"""The tasks of a seed, made once a run: nobody changes them, each play copies its world."""

from functools import cache

from tools.bench.worth.worlds.generate import generate_tasks
from tools.bench.worth.worlds.task import WorthTask


@cache
def tasks_of(*seeds: int) -> tuple[WorthTask, ...]:
    if len(seeds) == 1:
        return tuple(generate_tasks(seeds[0]))
    return tuple(task for seed in seeds for task in tasks_of(seed))
