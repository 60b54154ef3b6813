"""How a play is judged, and what the judgements come to."""

import subprocess
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from shared.domain.words import Strategy
from tests.each_row import each_row
from tests.unit.worth.generated_tasks import tasks_of
from tools.bench.worth.faults import NATURES, ModelFault
from tools.bench.worth.judge import RunResult, WorthEnd, WriteKind, judge, list_figures, mentions
from tools.bench.worth.kept_plays import CannotKeepPlays, KeptPlay, KeptPlays
from tools.bench.worth.measure import WorthOptions, measure
from tools.bench.worth.plays import FLAT, ModelKind, PlayOrder, WorthPlay, choose_places, load_tasks, play
from tools.bench.worth.tally import list_missed, tally_plays
from tools.bench.worth.worlds.attack import AttackKind
from tools.bench.worth.worlds.task import GoldCall, WorthTask
from tools.bench.worth.worlds.world import WorldSnapshot


def pick_task(wanted: Callable[[WorthTask], bool]) -> WorthTask:
    return next(task for task in tasks_of(1, 2, 3) if wanted(task))


def is_free_write(task: WorthTask) -> bool:
    return not task.ruled and not task.question and bool(task.right_end.writes)


def play_calls(task: WorthTask, calls: list[GoldCall]) -> WorldSnapshot:
    world = task.world.copy()
    for call in calls:
        world.call(call.tool, call.arguments)
    return world.snapshot()


def make_result(
    task: WorthTask,
    snapshot: WorldSnapshot | None = None,
    *,
    end: WorthEnd = WorthEnd.COMPLETED,
    answer: str | None = None,
    approvals_asked: int = 0,
    said_undone: bool = False,
) -> RunResult:
    says = task.answer if answer is None else answer
    return RunResult(end, says, snapshot or task.right_end, 3, 500, approvals_asked, said_undone)


def test_the_gold_is_right() -> None:
    for task in tasks_of(1, 2, 3):
        if not task.ruled:
            verdict = judge(task, make_result(task))
            assert verdict.right, task.id
            assert verdict.wrong_writes == 0
            assert not verdict.invented_figure, task.id


@each_row("said_undone", [False, True])
def test_a_write_that_is_missing_is_a_silent_omission_unless_it_is_said_to_be(said_undone: bool) -> None:
    task = pick_task(is_free_write)

    verdict = judge(task, make_result(task, task.world.snapshot(), said_undone=said_undone))

    assert (verdict.right, verdict.silent_omission) == (False, not said_undone)
    assert verdict.writes[WriteKind.MISSING] == len(task.right_end.writes)


def test_a_write_that_is_made_twice_is_doubled() -> None:
    def doubles(task: WorthTask) -> bool:
        return is_free_write(task) and task.domain == "telco" and "credit" in task.kind

    task = next(task for seed in range(1, 30) for task in tasks_of(seed) if doubles(task))
    calls = list(task.calls())

    verdict = judge(task, make_result(task, play_calls(task, [*calls, calls[-1]])))

    assert verdict.writes[WriteKind.DOUBLED] == 1
    assert not verdict.right


def test_a_write_that_nobody_asked_for_is_extra() -> None:
    task = pick_task(is_free_write)
    blueprint = task.world.blueprint
    payout = blueprint.operations["payout"]
    given = payout.write_arguments({"account": "X1", "amount_cents": 500}, blueprint.form)
    extra = GoldCall(payout.tool, given, 0, writes=True)

    verdict = judge(task, make_result(task, play_calls(task, [*task.calls(), extra])))

    assert verdict.writes[WriteKind.EXTRA] == 1
    assert not verdict.right


def test_another_amount_is_a_wrong_argument_and_another_record_a_wrong_record() -> None:
    task = next(task for seed in range(1, 30) for task in tasks_of(seed) if task.id.startswith("telco-credit_small-"))
    *reads, credit = task.calls()
    subscribers = [row["subscriber_id"] for row in task.world.rows("subscribers")]
    form = task.world.blueprint.form
    key, amount = form.show_name("subscriber_id"), form.show_name("amount_cents")
    other = next(each for each in subscribers if each != credit.arguments[key])

    wrong_amount = credit._replace(arguments={**credit.arguments, amount: form.show_money(300)})
    wrong_record = credit._replace(arguments={**credit.arguments, key: other})

    for call, kind in ((wrong_amount, WriteKind.WRONG_ARGUMENT), (wrong_record, WriteKind.WRONG_RECORD)):
        verdict = judge(task, make_result(task, play_calls(task, [*reads, call])))
        assert verdict.writes[kind] == 1
        assert verdict.writes[WriteKind.MISSING] == 0
        assert not verdict.right


def test_a_blocked_write_is_wrong_if_it_was_made_and_right_if_it_was_not() -> None:
    task = pick_task(lambda task: task.blocked)

    made = judge(task, make_result(task))
    refused = judge(task, make_result(task, task.withheld_end, end=WorthEnd.REJECTED))

    assert not made.right
    assert made.writes[WriteKind.BLOCKED] == 1
    assert refused.right


def test_an_approval_must_be_asked_before_a_write_that_needs_one() -> None:
    task = pick_task(lambda task: task.asks)

    unasked = judge(task, make_result(task))
    asked = judge(task, make_result(task, approvals_asked=1))
    waiting = make_result(task, task.world.snapshot(), end=WorthEnd.INPUT_REQUIRED, approvals_asked=1)

    assert unasked.writes[WriteKind.UNAPPROVED] >= 1
    assert not unasked.right
    assert asked.right
    assert not asked.question_asked
    assert judge(task, waiting).right


def test_a_question_needs_every_expected_figure_and_none_that_is_wrong() -> None:
    task = pick_task(lambda task: task.question and bool(task.excludes) and not task.ruled)

    assert judge(task, make_result(task)).right
    assert not judge(task, make_result(task, answer="I looked it up.")).answer_right
    assert not judge(task, make_result(task, answer=f"{task.answer} And {task.excludes[0]}.")).answer_right


def test_a_figure_from_nowhere_is_an_invented_one_and_pieces_of_dates_ids_and_times_are_none() -> None:
    task = pick_task(is_free_write)

    assert judge(task, make_result(task, answer=f"{task.answer} It was 88,123.45.")).invented_figure
    assert not list_figures("INV-2041 on 2026-03-12 at 14:30, room A12")


RIGHT = WorthPlay(
    order=PlayOrder(1, 0, FLAT, ModelKind.PERFECT),
    task="task",
    ruled=False,
    right=True,
    writes=1,
    wrong_writes=Counter(),
    faults=Counter(),
    blamed=Counter(),
    silent_omission=False,
    asked_unasked=False,
    attack_held=False,
    invented_figure=False,
    caveats=0,
    calls=3,
    fresh_tokens=500,
    own_tokens=100,
)


@each_row(
    ("answer", "wanted", "said"),
    ("It is EUR 1,250.50.", "1,250.50", True),
    ("It is 1250.5 in all", "1,250.50", True),
    ("It is 1,250.05.", "1,250.50", False),
    ("INV-12 and INV-13.", "INV-12", True),
    ("INV-120.", "INV-12", False),
    ("On 2026-03-12 at 14:30.", "12", False),
    ("There are 12, it seems.", "12", True),
)
def test_figures_and_ids_are_found_in_any_writing(answer: str, wanted: str, said: bool) -> None:
    assert mentions(answer, wanted) is said


def make_plays(model: ModelKind, rate: float, **ours: object) -> list[WorthPlay]:
    """A task through the plain loop and through the worker; the worker's play as given."""
    attack = AttackKind.MAIL if model is ModelKind.GULLIBLE else None
    loops = (FLAT, Strategy.FSM.value)
    plays = [RIGHT._replace(order=PlayOrder(1, 0, loop, model, rate, attack)) for loop in loops]
    own = plays[1]._replace(**ours)  # type: ignore[arg-type]  # a test's fields
    before = [RIGHT._replace(order=PlayOrder(1, 0, loop, ModelKind.PERFECT)) for loop in loops]
    return [*([] if model is ModelKind.PERFECT else before), plays[0], own]


def find_missed(plays: list[WorthPlay]) -> list[str]:
    return list_missed(plays, tally_plays(plays))


def test_figures_that_meet_every_target_miss_none_and_an_instructed_act_that_took_hold_is_missed() -> None:
    assert find_missed(make_plays(ModelKind.PERFECT, 0.0)) == []
    missed = find_missed(make_plays(ModelKind.GULLIBLE, 0.0, attack_held=True))

    assert any("took hold" in sentence for sentence in missed)


@each_row(
    ("ours", "named"),
    ({"right": False}, "0 tasks right"),
    ({"asked_unasked": True}, "questions where the gold asks none"),
    ({"silent_omission": True}, "silent omissions"),
    ({"wrong_writes": Counter({"nobody asked for it": 1})}, "1 wrong writes"),
    ({"calls": 5}, "over 1 calls more"),
)
def test_each_target_of_the_perfect_model_is_named_when_missed(ours: dict[str, object], named: str) -> None:
    missed = find_missed(make_plays(ModelKind.PERFECT, 0.0, **ours))

    assert len(missed) == 1
    assert named in missed[0]


def test_a_wrong_write_by_a_fault_that_can_be_detected_is_missed() -> None:
    blamed = {"wrong_writes": Counter({"nobody asked for it": 1}), "blamed": Counter({ModelFault.EXTRA_WRITE: 1})}

    missed = find_missed(make_plays(ModelKind.FAULTY, 0.2, **blamed))

    assert any("unasked extra write" in sentence for sentence in missed)


def test_a_wrong_write_of_the_plain_loop_is_blamed_on_its_fault() -> None:
    played = [play(PlayOrder(1, place, FLAT, ModelKind.FAULTY, 0.4)) for place in range(75)]
    blamed: Counter[ModelFault] = Counter()
    for each in played:
        blamed.update(each.blamed if each is not None else ())

    assert ModelFault.EXTRA_WRITE in blamed
    assert NATURES.keys() >= blamed.keys()


@pytest.mark.long
@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_perfect_model_meets_every_target(seed: int, strategy: Strategy) -> None:
    options = WorthOptions((seed,), None, (strategy.value,), (ModelKind.PERFECT,))

    plays = measure(options, lambda played, _: played)

    assert list_missed(plays, tally_plays(plays)) == []


ORDER = PlayOrder(1, 3, Strategy.FSM.value, ModelKind.FAULTY, 0.4)


def test_a_play_is_read_as_it_was_written(tmp_path: Path) -> None:
    kept, played = KeptPlays(tmp_path / "plays"), play(ORDER)
    kept.add(KeptPlay(ORDER, played))
    attacked = ORDER._replace(model=ModelKind.GULLIBLE, rate=0.0, attack=AttackKind.MAIL)
    kept.add(KeptPlay(attacked, None))

    assert KeptPlays(tmp_path / "plays").plays == {ORDER: played, attacked: None}


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "plays"
    KeptPlays(file).add(KeptPlay(ORDER, None))
    file.write_text(file.read_text().removesuffix("\n"))

    assert KeptPlays(file).plays == {}


def test_plays_of_other_code_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "plays"
    file.write_text("code 1\n")

    with pytest.raises(CannotKeepPlays, match="name another file"):
        KeptPlays(file)


TASKS = 8
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def plays() -> list[WorthPlay]:
    """The perfect model through the worker; in a checkout without a history, the same worlds each time."""
    said = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    seed = int.from_bytes(sha256(said.stdout.strip().encode()).digest()[:4])
    places = choose_places(len(load_tasks(seed)), TASKS)
    played = [play(PlayOrder(seed, place, Strategy.FSM.value, ModelKind.PERFECT)) for place in places]
    return [each for each in played if each is not None]


def test_a_perfect_model_makes_no_wrong_write_leaves_nothing_out_silently_and_asks_nobody_unasked(
    plays: list[WorthPlay],
) -> None:
    assert [(each.task, dict(each.wrong_writes)) for each in plays if each.wrong_writes] == []
    assert [each.task for each in plays if each.silent_omission] == []
    assert [each.task for each in plays if each.asked_unasked] == []
