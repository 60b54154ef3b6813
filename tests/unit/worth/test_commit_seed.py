"""The guard's promises over worlds that nobody has chosen: the seed is made from the commit."""

import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from shared.domain.words import Strategy
from tools.bench.worth.plays import ModelKind, PlayOrder, WorthPlay, choose_places, load_tasks, play

TASKS = 8
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def plays() -> list[WorthPlay]:
    """The perfect model through the worker; in a checkout without a history, the same worlds each time."""
    said = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    seed = int.from_bytes(sha256(said.stdout.strip().encode()).digest()[:4])
    places = choose_places(len(load_tasks(seed)), TASKS)
    played = [play(PlayOrder(seed, place, Strategy.FSM.value, ModelKind.PERFECT)) for place in places]
    return [each for each in played if each is not None]


def test_a_perfect_model_makes_no_wrong_write(plays: list[WorthPlay]) -> None:
    assert [(each.task, dict(each.wrong_writes)) for each in plays if each.wrong_writes] == []


def test_nothing_is_left_out_silently(plays: list[WorthPlay]) -> None:
    assert [each.task for each in plays if each.silent_omission] == []


def test_nobody_is_asked_where_no_rule_asks(plays: list[WorthPlay]) -> None:
    assert [each.task for each in plays if each.asked_unasked] == []
