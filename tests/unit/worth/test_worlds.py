"""The worlds that are generated, and the models that play in them."""

from datetime import date

import pytest

from tests.each_row import each_row
from tests.unit.worth.generated_tasks import tasks_of
from tools.bench.worth.faults import ModelFault
from tools.bench.worth.flat_loop import run_flat
from tools.bench.worth.judge import judge
from tools.bench.worth.messages import Block, Message, speak_blocks
from tools.bench.worth.models import FaultyModel, GullibleModel, PerfectModel, PlayingModel
from tools.bench.worth.steps import BEGINNING, CallEnding, FinalReply, IntendedCalls, PlayProgress
from tools.bench.worth.worlds.attack import AttackKind
from tools.bench.worth.worlds.data import ServerRefusal
from tools.bench.worth.worlds.generate import generate_tasks
from tools.bench.worth.worlds.planting import attack_task
from tools.bench.worth.worlds.task import WorthTask


def describe(task: WorthTask) -> str:
    snapshot = task.world.snapshot()
    return repr((task.text, task.parts, task.rounds, task.answer, task.world.tools, task.world.tenant, snapshot))


def test_a_seed_makes_the_same_worlds_each_time_for_the_day_that_is_given() -> None:
    assert [describe(task) for task in generate_tasks(2)] == [describe(task) for task in tasks_of(2)]
    tasks = generate_tasks(1, date(2027, 11, 30))

    assert {task.world.blueprint.today for task in tasks} == {date(2027, 11, 30)}


def test_a_world_without_a_record_for_one_of_its_tasks_is_drawn_again() -> None:
    """The first draw of this seed has no quote above the limit of its rule."""
    assert len(generate_tasks(2475689147)) == len(generate_tasks(1))


def test_what_a_server_does_not_take_is_refused_with_a_text() -> None:
    task = next(task for task in tasks_of(1) if any(call.writes for call in task.calls()))
    call = next(call for call in task.calls() if call.writes)

    with pytest.raises(ServerRefusal, match="unknown argument"):
        task.world.copy().call(call.tool, {**call.arguments, "surprise": 1})
    with pytest.raises(ServerRefusal, match="missing"):
        task.world.copy().call(call.tool, {})
    with pytest.raises(ServerRefusal, match="Unknown tool"):
        task.world.copy().call("no_such_tool", {})


SEED = 1


@pytest.fixture(scope="module")
def tasks() -> tuple[WorthTask, ...]:
    return tasks_of(SEED)


@pytest.fixture(scope="module")
def perfect_plays(tasks: tuple[WorthTask, ...]) -> list[list[list[Block]]]:
    return [record_play(task, PerfectModel(task)) for task in tasks]


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


def test_the_perfect_model_is_right_in_every_task_without_a_rule(tasks: tuple[WorthTask, ...]) -> None:
    free = [task for task in tasks if not task.ruled]

    wrong = [task.id for task in free if not judge(task, run_flat(task, speak_blocks(PerfectModel(task)))).right]

    assert not wrong


def test_the_perfect_model_repeats_what_was_refused_and_then_says_so(tasks: tuple[WorthTask, ...]) -> None:
    task = next(task for task in tasks if len(task.rounds) > 1 and len(task.parts) == 1)
    model, progress = PerfectModel(task), BEGINNING
    for replies in range(3):
        step = model.decide(progress)
        assert isinstance(step, IntendedCalls)
        progress = PlayProgress(replies + 1, {**progress.outcomes, **answer_all(step, refused=True)})

    final = model.decide(progress)

    assert isinstance(final, FinalReply)
    assert final.undone


def test_a_final_refusal_is_not_repeated_and_spares_what_does_not_depend_on_it(tasks: tuple[WorthTask, ...]) -> None:
    task = next(task for task in tasks if task.ruled and len(task.parts) > 1 and not task.parts[-1].after)
    model, outcomes = PerfectModel(task), dict[str, CallEnding]()
    for replies in range(12):
        step = model.decide(PlayProgress(replies, outcomes))
        if isinstance(step, FinalReply):
            break
        gold = {call.tool: call for call in task.calls()}
        ruled = {call.id for call in step.calls if task.rules_of(gold[call.tool])}
        outcomes |= {call.id: CallEnding("{}", refused=call.id in ruled, final=call.id in ruled) for call in step.calls}

    assert isinstance(step, FinalReply)
    assert step.undone


@pytest.mark.parametrize(("every", "enough"), [(3, 2), pytest.param(1, 1_000, marks=pytest.mark.long)])
def test_a_fault_changes_the_play(
    tasks: tuple[WorthTask, ...], perfect_plays: list[list[list[Block]]], every: int, enough: int
) -> None:
    """Each in a part of the tasks, until it changed enough of them; all tasks with some fault."""
    plays = [*zip(tasks, perfect_plays, strict=True)]
    for number, kind in enumerate(ModelFault):
        changed = 0
        for task, perfect_play in plays[number % every :: every]:
            model = FaultyModel(task, 1.0, 1, (kind,))
            play = record_play(task, model)
            assert set(model.committed.values()) <= {kind}
            assert bool(model.committed) == (play != perfect_play), (kind, task.id)
            changed += bool(model.committed)
            if changed == enough:
                break
        assert changed, kind


@each_row("kind", list(AttackKind))
def test_an_instruction_in_a_record_is_obeyed_by_the_gullible_model_and_no_other(kind: AttackKind) -> None:
    attacked = [attack for task in tasks_of(SEED) if (attack := attack_task(task, kind))]

    assert len(attacked) >= 60
    for task in attacked[::15]:
        assert judge(task, run_flat(task, speak_blocks(GullibleModel(task)))).attack_held, task.id
        assert not judge(task, run_flat(task, speak_blocks(PerfectModel(task)))).attack_held, task.id
