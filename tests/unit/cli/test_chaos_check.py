"""`purple chaos --check` ends by itself, tells every figure, and is no better than its worst seed."""

from pathlib import Path

import pytest

from shared.domain.exact_json import loads_object
from tools.chaos.check import CheckedSeed, check_json, check_seeds, check_table, write_check
from tools.chaos.judgement import ExitCode

_HELD = CheckedSeed(1, ExitCode.HELD, {"ok": True, "lost": 0, "strikes": {"failover": 2}, "shortfalls": []})
_BROKEN = CheckedSeed(2, ExitCode.BROKEN, {}, "it was not over within 9 s")


@pytest.mark.promise("chaos.judges_itself")
def test_a_check_is_as_bad_as_its_worst_seed() -> None:
    told = check_json((_HELD, _BROKEN), 3.0)
    assert (told["ok"], told["exit_code"]) == (False, int(ExitCode.BROKEN))
    assert check_json((_HELD,), 3.0)["ok"] is True


def test_the_report_is_written_with_what_there_is(tmp_path: Path) -> None:
    write_check((_HELD, _BROKEN), 3.0, tmp_path / "report.json")
    seeds = loads_object((tmp_path / "report.json").read_text())["seeds"]
    assert isinstance(seeds, list)
    assert [one["seed"] for one in seeds if isinstance(one, dict)] == [1, 2]


def test_the_table_has_a_column_for_each_seed() -> None:
    assert [str(column.header) for column in check_table((_HELD, _BROKEN)).columns] == ["", "seed 1", "seed 2"]


@pytest.mark.promise("chaos.judges_itself")
def test_a_run_that_leaves_no_report_counts_as_broken_and_the_next_seed_is_run(tmp_path: Path) -> None:
    """With ``--plan`` a run ends at once, and writes none."""
    told: list[int] = []
    done = check_seeds((1, 2), ("--plan", "--json"), tmp_path, lambda one: told.append(one.seed))
    assert [(one.seed, one.code) for one in done] == [(1, ExitCode.BROKEN), (2, ExitCode.BROKEN)]
    assert told == [1, 2]
