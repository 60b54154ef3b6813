"""Plays that are kept in a file: what was played is not played again, and other code's plays do not count."""

from pathlib import Path

import pytest

from shared.domain.words import Strategy
from tools.bench.worth.kept_plays import CannotKeepPlays, KeptPlay, KeptPlays
from tools.bench.worth.plays import ModelKind, PlayOrder, play
from tools.bench.worth.worlds.attack import AttackKind

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
