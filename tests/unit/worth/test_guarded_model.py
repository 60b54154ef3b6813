"""The adapter: a scripted model of the bench speaks the worker's protocol, whatever the server's ways are."""

import asyncio
from collections.abc import Callable

from typing_extensions import override

from shared.domain.words import Strategy
from tests.each_row import each_row
from tests.unit.worth.generated_tasks import tasks_of
from tools.bench.worth.faults import misspell_first
from tools.bench.worth.flat_loop import run_flat
from tools.bench.worth.guarded import GuardedRun, run_guarded
from tools.bench.worth.judge import WorthEnd, judge
from tools.bench.worth.messages import speak_blocks
from tools.bench.worth.models import PerfectModel, PlayingModel
from tools.bench.worth.plays import load_texts
from tools.bench.worth.steps import IntendedCalls, PlayProgress, Step
from tools.bench.worth.worlds.task import PartKind, WorthTask
from tools.bench.worth.worlds.traits import Trait


def play_guarded(task: WorthTask, model: PlayingModel) -> GuardedRun:
    return asyncio.run(run_guarded(task, model, Strategy.FSM, load_texts()))


def pick_task(wanted: Callable[[WorthTask], bool]) -> WorthTask:
    """One without rules."""
    return next(task for task in tasks_of(1, 2, 3) if not task.ruled and wanted(task))


def has_condition(task: WorthTask) -> bool:
    """A part is to be done, and its own condition keeps it from being done."""
    served = {call.part for call in task.calls() if call.writes}
    return any(part.kind is PartKind.DO and number not in served for number, part in enumerate(task.parts))


def writes_apart(task: WorthTask) -> bool:
    """Something is read between the writes of two parts."""
    kinds = [calls[0].writes for calls in task.rounds]
    first = kinds.index(True) if True in kinds else len(kinds)
    return False in kinds[first:] and True in kinds[first + kinds[first:].index(False) :]


@each_row("trait", Trait)
def test_a_perfect_model_is_right_over_a_server_with_the_trait(trait: Trait) -> None:
    task = pick_task(lambda one: trait in one.world.blueprint.form.traits and bool(one.right_end.writes))

    run = play_guarded(task, PerfectModel(task))

    assert judge(task, run.result).right, (task.id, run.record.reason, run.record.answer)


def test_proposals_that_are_held_are_made_once_the_rest_is_read() -> None:
    task = pick_task(writes_apart)

    run = play_guarded(task, PerfectModel(task))

    assert judge(task, run.result).right, (task.id, run.record.reason, run.record.answer)


def test_a_part_whose_condition_is_not_met_is_left_and_counts_as_done() -> None:
    task = pick_task(has_condition)

    run = play_guarded(task, PerfectModel(task))

    assert run.result.end is WorthEnd.COMPLETED
    assert judge(task, run.result).right


def test_a_figure_is_calculated_at_the_price_of_one_reply() -> None:
    task = pick_task(lambda one: one.kind in ("pay_share", "reduce_fee"))

    run, flat = play_guarded(task, PerfectModel(task)), run_flat(task, speak_blocks(PerfectModel(task)))

    assert judge(task, run.result).right
    assert run.result.model_calls <= flat.model_calls + 1


class SlipsOnce(PlayingModel):
    """Misspells an argument of its first writes, and makes them right when they come back."""

    def __init__(self, task: WorthTask) -> None:
        self._perfect = PerfectModel(task)
        self._writes = {call.tool for call in task.calls() if call.writes}
        self.slips = 0

    @override
    def decide(self, progress: PlayProgress) -> Step:
        step = self._perfect.decide(progress)
        if not isinstance(step, IntendedCalls) or any(call.id in progress.outcomes for call in step.calls):
            return step
        if not all(call.tool in self._writes and call.id.endswith("-0") for call in step.calls):
            return step
        self.slips += 1
        return IntendedCalls(tuple(call._replace(arguments=misspell_first(call.arguments)) for call in step.calls))


def test_what_comes_back_with_an_error_is_made_again() -> None:
    task = pick_task(lambda one: bool(one.right_end.writes) and not has_condition(one) and not one.question)
    model = SlipsOnce(task)

    run = play_guarded(task, model)

    assert model.slips
    assert judge(task, run.result).right, (task.id, run.record.reason, run.record.answer)
