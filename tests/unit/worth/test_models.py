"""The scripted models over the Messages shape: what each does, that it keeps no state, and what it calculates."""

import json

import pytest

from tests.each_row import each_row
from tools.bench.worth.faults import NATURES, ModelFault
from tools.bench.worth.flat_loop import run_flat
from tools.bench.worth.judge import judge
from tools.bench.worth.messages import Block, Message, speak_blocks
from tools.bench.worth.models import Faulty, Gullible, Perfect, PlayingModel
from tools.bench.worth.steps import BEGINNING, CallEnding, Final, IntendedCalls, PlayProgress
from tools.bench.worth.worlds.attack import AttackKind
from tools.bench.worth.worlds.generate import generate_tasks
from tools.bench.worth.worlds.planting import attack_task
from tools.bench.worth.worlds.task import WorthTask

SEED = 1


@pytest.fixture(scope="module")
def tasks() -> list[WorthTask]:
    return [*generate_tasks(SEED)]


@pytest.fixture(scope="module")
def perfect_plays(tasks: list[WorthTask]) -> list[list[list[Block]]]:
    return [record_play(task, Perfect(task)) for task in tasks]


def record_play(task: WorthTask, model: PlayingModel) -> list[list[Block]]:
    """The blocks of every reply in the plain loop, without the ids of calls."""
    replies: list[list[Block]] = []
    speak = speak_blocks(model)

    def listen(system: str, tools: list[Block], messages: list[Message]) -> list[Block]:
        blocks = speak(system, tools, messages)
        replies.append([{name: value for name, value in block.items() if name != "id"} for block in blocks])
        return blocks

    run_flat(task, listen)  # type: ignore[arg-type]  # the loop passes lists
    return replies


def answer_all(step: IntendedCalls, *, refused: bool) -> dict[str, CallEnding]:
    return {call.id: CallEnding("{}", refused=refused) for call in step.calls}


def test_the_perfect_model_is_right_in_every_task_without_a_rule(tasks: list[WorthTask]) -> None:
    free = [task for task in tasks if not task.ruled]

    wrong = [task.id for task in free if not judge(task, run_flat(task, speak_blocks(Perfect(task)))).right]

    assert not wrong


def test_the_perfect_model_repeats_what_was_refused_and_then_says_so(tasks: list[WorthTask]) -> None:
    task = next(task for task in tasks if len(task.rounds) > 1 and len(task.parts) == 1)
    model, progress = Perfect(task), BEGINNING
    for replies in range(3):
        step = model.decide(progress)
        assert isinstance(step, IntendedCalls)
        progress = PlayProgress(replies + 1, {**progress.outcomes, **answer_all(step, refused=True)})

    final = model.decide(progress)

    assert isinstance(final, Final)
    assert final.undone


def test_a_final_refusal_is_not_repeated_and_spares_what_does_not_depend_on_it(tasks: list[WorthTask]) -> None:
    task = next(task for task in tasks if task.ruled and len(task.parts) > 1 and not task.parts[-1].after)
    model, outcomes = Perfect(task), dict[str, CallEnding]()
    for replies in range(12):
        step = model.decide(PlayProgress(replies, outcomes))
        if isinstance(step, Final):
            break
        gold = {call.tool: call for call in task.calls()}
        ruled = {call.id for call in step.calls if task.rules_of(gold[call.tool])}
        outcomes |= {call.id: CallEnding("{}", refused=call.id in ruled, final=call.id in ruled) for call in step.calls}

    assert isinstance(step, Final)
    assert step.undone


@pytest.mark.parametrize(
    "make", [Perfect, Gullible, lambda task: Faulty(task, 0.5, 1)], ids=["perfect", "gullible", "faulty"]
)
def test_a_model_gives_the_same_reply_to_the_same_messages(make: type[Perfect], tasks: list[WorthTask]) -> None:
    for task in tasks[::7]:
        assert record_play(task, make(task)) == record_play(task, make(task))


@pytest.mark.parametrize(("every", "enough"), [(3, 4), pytest.param(1, 1_000, marks=pytest.mark.long)])
def test_a_fault_changes_the_play(
    tasks: list[WorthTask], perfect_plays: list[list[list[Block]]], every: int, enough: int
) -> None:
    """Each in a part of the tasks, until it changed enough of them; all tasks with some fault."""
    plays = [*zip(tasks, perfect_plays, strict=True)]
    for number, kind in enumerate(ModelFault):
        changed = 0
        for task, perfect_play in plays[number % every :: every]:
            model = Faulty(task, 1.0, 1, (kind,))
            play = record_play(task, model)
            assert set(model.committed.values()) <= {kind}
            assert bool(model.committed) == (play != perfect_play), (kind, task.id)
            changed += bool(model.committed)
            if changed == enough:
                break
        assert changed, kind


def test_every_fault_says_whether_it_could_be_detected_and_why() -> None:
    assert set(NATURES) == set(ModelFault)
    assert all(nature.why for nature in NATURES.values())


def test_a_model_that_never_errs_and_a_gullible_one_without_an_attack_are_the_perfect_one(
    tasks: list[WorthTask],
) -> None:
    for task in tasks[::7]:
        assert record_play(task, Faulty(task, 0.0, 1)) == record_play(task, Perfect(task))
    for task in tasks[::7]:
        assert record_play(task, Gullible(task)) == record_play(task, Perfect(task))


@each_row("kind", list(AttackKind))
def test_an_instruction_in_a_record_is_obeyed_by_the_gullible_model_and_no_other(kind: AttackKind) -> None:
    attacked = [attack for task in generate_tasks(SEED) if (attack := attack_task(task, kind))]

    assert len(attacked) >= 60
    for task in attacked[::7]:
        assert judge(task, run_flat(task, speak_blocks(Gullible(task)))).attack_held, task.id
        assert not judge(task, run_flat(task, speak_blocks(Perfect(task)))).attack_held, task.id


def _write(value: object) -> str:
    return json.dumps(value)
