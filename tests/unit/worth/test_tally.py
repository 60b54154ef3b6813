"""Which targets figures miss, what is kept of plays, and the guard's promises over worlds that nobody has chosen."""

import subprocess
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest

from shared.domain.words import Strategy
from tests.each_row import each_row
from tools.bench.worth.faults import NATURES, ModelFault
from tools.bench.worth.kept_plays import CannotKeepPlays, KeptPlay, KeptPlays
from tools.bench.worth.measure import WorthOptions, measure
from tools.bench.worth.plays import (
    FLAT,
    ModelKind,
    PlayOrder,
    WorthPlay,
    choose_attacks,
    choose_places,
    list_orders,
    load_tasks,
    play,
)
from tools.bench.worth.tally import list_missed, tally_plays
from tools.bench.worth.worlds.attack import AttackKind

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
    [
        ({"right": False}, "0 tasks right"),
        ({"asked_unasked": True}, "questions where the gold asks none"),
        ({"silent_omission": True}, "silent omissions"),
        ({"wrong_writes": Counter({"nobody asked for it": 1})}, "1 wrong writes"),
        ({"calls": 5}, "over 1 calls more"),
    ],
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


def test_a_smaller_run_still_plays_all_domains_every_kind_of_attack_and_the_perfect_model() -> None:
    assert {place // 5 for place in choose_places(75, 15)} == {*range(15)}
    assert len(choose_places(75, None)) == 75
    kinds = Counter(kind for place in range(75) for kind in choose_attacks(place))

    assert set(kinds.values()) == {30}
    orders = list_orders(1, [0], [FLAT, "fsm"], [ModelKind.GULLIBLE], [0.2])

    assert {order.model for order in orders} == {ModelKind.PERFECT, ModelKind.GULLIBLE}


@each_row("wanted", [15, 25, 60])
def test_a_smaller_run_has_as_large_a_share_of_each_kind_of_task_as_a_whole_one(wanted: int) -> None:
    """Of the five tasks of a domain the last one is ruled: none of these may be left out more often than another."""
    kinds = Counter(place % 5 for place in choose_places(75, wanted))
    assert kinds == dict.fromkeys(range(5), wanted // 5)


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
