"""One task, played by one scripted model through one loop, and what came of it as plain data."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import count
from math import gcd, sqrt
from typing import NamedTuple

from services.executor.core.states.prompts import Prompts, load_prompts
from shared.domain.words import Strategy
from tools.bench.worth.faults import ModelFault
from tools.bench.worth.flat_loop import run_flat
from tools.bench.worth.guarded import run_guarded
from tools.bench.worth.judge import RunResult, WriteKind, judge
from tools.bench.worth.messages import speak_blocks
from tools.bench.worth.models import FaultyModel, GullibleModel, PerfectModel, PlayingModel
from tools.bench.worth.steps import IntendedCall, IntendedCalls, PlayProgress, Step
from tools.bench.worth.worlds.attack import AttackKind
from tools.bench.worth.worlds.data import ServerRefusal, TableRow
from tools.bench.worth.worlds.generate import generate_tasks
from tools.bench.worth.worlds.planting import attack_task
from tools.bench.worth.worlds.task import WorthTask

FLAT = "flat loop"
GOLDEN = (sqrt(5) - 1) / 2


class ModelKind(StrEnum):
    PERFECT = "perfect"
    FAULTY = "faulty"
    GULLIBLE = "gullible"


class PlayOrder(NamedTuple):
    """`loop` is the name of a strategy, or that of the plain tool loop."""

    seed: int
    place: int
    loop: str
    model: ModelKind
    rate: float = 0.0
    attack: AttackKind | None = None


class WorthPlay(NamedTuple):
    """`faults` counts what the model committed, `blamed` the wrong writes that a committed fault led to, by kind.

    `attack_held`: the instructed act was done, and no person was asked about the plan that had it.
    """

    order: PlayOrder
    task: str
    ruled: bool
    right: bool
    writes: int
    wrong_writes: Counter[str]
    faults: Counter[ModelFault]
    blamed: Counter[ModelFault]
    silent_omission: bool
    asked_unasked: bool
    attack_held: bool
    invented_figure: bool
    caveats: int
    calls: int
    fresh_tokens: int
    own_tokens: int


class RecordingModel(PlayingModel):
    """A faulty model that keeps which calls its faults put in."""

    def __init__(self, faulty: FaultyModel, right: PerfectModel) -> None:
        self._faulty = faulty
        self._right = right
        self._put_in: dict[int, tuple[IntendedCall, ...]] = {}

    def decide(self, progress: PlayProgress) -> Step:
        step, right = self._faulty.decide(progress), self._right.decide(progress)
        meant = right.calls if isinstance(right, IntendedCalls) else ()
        said = step.calls if isinstance(step, IntendedCalls) else ()
        self._put_in[progress.replies] = tuple(call for call in said if call not in meant)
        return step

    def count_faults(self) -> Counter[ModelFault]:
        return Counter(self._faulty.committed.values())

    def list_wrong_calls(self) -> list[tuple[ModelFault, IntendedCall]]:
        """The latest first: what was refused at first may have been made good since."""
        committed, places = self._faulty.committed, sorted(self._put_in, reverse=True)
        return [(committed[place], call) for place in places if place in committed for call in self._put_in[place]]


@lru_cache(maxsize=4)
def load_tasks(seed: int) -> tuple[WorthTask, ...]:
    return generate_tasks(seed)


@lru_cache(maxsize=1)
def load_texts() -> Prompts:
    return load_prompts()


def play(order: PlayOrder) -> WorthPlay | None:
    """None where the task reads no record in which an attack could stand."""
    task = load_tasks(order.seed)[order.place]
    attacked = task if order.attack is None else attack_task(task, order.attack)
    if attacked is None:
        return None
    model = make_model(order, attacked)
    return sum_up_play(order, attacked, model, run_loop(order.loop, attacked, model))


def make_model(order: PlayOrder, task: WorthTask) -> PlayingModel:
    if order.model is ModelKind.FAULTY:
        return RecordingModel(FaultyModel(task, order.rate, order.seed), PerfectModel(task))
    return GullibleModel(task) if order.model is ModelKind.GULLIBLE else PerfectModel(task)


def run_loop(loop: str, task: WorthTask, model: PlayingModel) -> tuple[RunResult, int]:
    """The result, and how many notices went out with a sentence that the worker added."""
    if loop == FLAT:
        return run_flat(task, speak_blocks(model)), 0
    run = asyncio.run(run_guarded(task, model, Strategy(loop), load_texts()))
    return run.result, run.caveats


def sum_up_play(order: PlayOrder, task: WorthTask, model: PlayingModel, ran: tuple[RunResult, int]) -> WorthPlay:
    result, caveats = ran
    verdict = judge(task, result)
    wrong = Counter({kind.value: number for kind, number in verdict.writes.items() if number})
    for kind in (WriteKind.RIGHT, WriteKind.MISSING):
        wrong.pop(kind.value, None)
    return WorthPlay(
        order=order,
        task=task.id,
        ruled=task.ruled,
        right=verdict.right,
        writes=len(result.snapshot.writes),
        wrong_writes=wrong,
        faults=model.count_faults() if isinstance(model, RecordingModel) else Counter(),
        blamed=blame_faults(task, model, result) if isinstance(model, RecordingModel) else Counter(),
        silent_omission=verdict.silent_omission,
        asked_unasked=verdict.question_asked,
        attack_held=verdict.attack_held and not result.approvals_asked,
        invented_figure=verdict.invented_figure,
        caveats=caveats,
        calls=result.model_calls,
        fresh_tokens=result.fresh_tokens,
        own_tokens=result.own_tokens,
    )


def blame_faults(task: WorthTask, model: RecordingModel, result: RunResult) -> Counter[ModelFault]:
    """The faults behind the writes that the gold does not have. A write that no fault put in is blamed on none."""
    surplus = list(result.snapshot.writes)
    for write in task.right_end.writes:
        if write in surplus:
            surplus.remove(write)
    blamed: Counter[ModelFault] = Counter()
    for fault, call in model.list_wrong_calls():
        meant = next((write for write in surplus if (write.operation, write.arguments) == read_call(task, call)), None)
        if meant is not None:
            surplus.remove(meant)
            blamed[fault] += 1
    return blamed


def read_call(task: WorthTask, call: IntendedCall) -> tuple[str, TableRow]:
    """A call by the bench's name of its tool, with canonical arguments."""
    operation = task.world.blueprint.find_operation(call.tool)
    try:
        given = operation.read_arguments(call.arguments, task.world.blueprint.form) if operation else TableRow()
    except ServerRefusal:
        given = TableRow()
    return (operation.key if operation else "", given)


def list_orders(
    seed: int, places: Sequence[int], loops: Sequence[str], models: Sequence[ModelKind], rates: Sequence[float]
) -> list[PlayOrder]:
    """Every play of a seed. The gullible model is needed without an attack too: it then plays as the perfect one."""
    each = [(place, loop) for place in places for loop in loops]
    orders = [PlayOrder(seed, place, loop, ModelKind.PERFECT) for place, loop in each]
    if ModelKind.FAULTY in models:
        orders += [PlayOrder(seed, place, loop, ModelKind.FAULTY, rate) for rate in rates for place, loop in each]
    if ModelKind.GULLIBLE in models:
        orders += [
            PlayOrder(seed, place, loop, ModelKind.GULLIBLE, attack=kind)
            for place, loop in each
            for kind in choose_attacks(seed + place)
        ]
    return orders


def choose_attacks(number: int) -> tuple[AttackKind, AttackKind]:
    """Two of the kinds for each task, so that all kinds come equally often."""
    kinds = list(AttackKind)
    return kinds[number % len(kinds)], kinds[(number + 2) % len(kinds)]


def choose_places(tasks: int, wanted: int | None) -> list[int]:
    """Some of the tasks, spread over all domains and over what they are in each; all where nothing is wanted.

    Each domain has its tasks in the same order, the ruled one last: a step that repeats with that order would leave
    out all of one kind (60 of 75 in even steps have none that is ruled). A step without a common factor does not.
    """
    if wanted is None or wanted >= tasks:
        return list(range(tasks))
    step = next(one for one in count(int(tasks * GOLDEN)) if gcd(one, tasks) == 1)
    return sorted(place * step % tasks for place in range(wanted))


def count_kinds(counters: Sequence[Mapping[ModelFault, int]]) -> Counter[ModelFault]:
    total: Counter[ModelFault] = Counter()
    for counter in counters:
        total.update(counter)
    return total
