"""A run that did no harm must still have been worth something; a check of several runs is as good as its worst."""

from dataclasses import replace
from pathlib import Path

import pytest

from shared.domain.exact_json import loads_object
from tests.each_row import each_row
from tests.unit.cli.test_chaos_findings import intact_evidence, sent_refund
from tools.chaos.chaos_tasks import RowChange
from tools.chaos.check import CheckedSeed, check_json, check_seeds, check_table, write_check
from tools.chaos.judgement import ExitCode, RunCourse, count_as_asked, exit_code, shortfalls, worst_of
from tools.chaos.recovery import Recovered
from tools.chaos.schedule import WARM_UP_FROM

_FINE = RunCourse(
    planned=100,
    sent=100,
    ended_as_asked=90,
    recoveries=(Recovered("s1", 1.0, 10.9, doubtful=False, everything_was_dead=False),),
    outstanding=0,
    struck={"kill-executor": 2},
    undisturbed=1.9,
)
_SLOW = Recovered("s1", 1.0, 11.1, doubtful=False, everything_was_dead=False)


@pytest.mark.promise("chaos.judges_itself")
def test_a_run_within_every_bound_has_held() -> None:
    assert shortfalls(_FINE) == ()
    assert exit_code(_FINE, harmed=False) is ExitCode.HELD


@pytest.mark.promise("chaos.judges_itself")
@each_row(
    ("course", "rule"),
    [
        (replace(_FINE, recoveries=(_SLOW,)), "recovery"),
        (replace(_FINE, recoveries=(_SLOW._replace(doubtful=True, seconds=15.1),)), "recovery"),
        (replace(_FINE, recoveries=(_SLOW._replace(everything_was_dead=True, seconds=15.1),)), "recovery"),
        (replace(_FINE, outstanding=1), "recovery"),
        (replace(_FINE, sent=89), "rate"),
        (replace(_FINE, ended_as_asked=89), "rate"),
        (replace(_FINE, planned=0, sent=0, ended_as_asked=0), "rate"),
        (replace(_FINE, struck={"kill-executor": 2, "full-disk": 1}), "faults"),
        (replace(_FINE, unreadable=1), "sight"),
    ],
)
def test_each_rule_that_is_not_met_fails_the_run(course: RunCourse, rule: str) -> None:
    assert [one.rule for one in shortfalls(course)] == [rule]
    assert exit_code(course, harmed=False) is ExitCode.BROKEN


@pytest.mark.promise("chaos.judges_itself")
def test_a_machine_on_which_an_undisturbed_task_is_slow_is_no_place_to_judge() -> None:
    """Neither that all held nor that it did not; harm is harm there too."""
    busy = replace(_FINE, undisturbed=2.1)

    assert exit_code(busy, harmed=False) is ExitCode.NOT_JUDGED
    assert exit_code(replace(busy, sent=1), harmed=False) is ExitCode.NOT_JUDGED
    assert exit_code(busy, harmed=True) is ExitCode.BROKEN


def test_several_runs_are_as_good_as_the_worst_of_them() -> None:
    assert worst_of([ExitCode.HELD, ExitCode.HELD]) is ExitCode.HELD
    assert worst_of([ExitCode.HELD, ExitCode.NOT_JUDGED]) is ExitCode.NOT_JUDGED
    assert worst_of([ExitCode.NOT_JUDGED, ExitCode.BROKEN]) is ExitCode.BROKEN


@pytest.mark.promise("chaos.judges_itself")
def test_only_tasks_of_the_stated_rate_that_ended_as_asked_count() -> None:
    """Not one without its write, not one that failed, and none that was sent to measure the machine."""
    intact, sent = intact_evidence(), sent_refund()
    warm = replace(sent, planned=replace(sent.planned, number=WARM_UP_FROM))
    failed = {"t1": replace(intact.views["t1"], state="failed")}
    unwritten = {protocol: type(books)(()) for protocol, books in intact.books.items()}

    assert count_as_asked(intact) == 1
    assert count_as_asked(replace(intact, sent=(warm,))) == 0
    assert count_as_asked(replace(intact, views=failed)) == 0
    assert count_as_asked(replace(intact, views={})) == 0
    assert count_as_asked(replace(intact, books=unwritten)) == 0


def test_a_task_may_fail_whose_record_was_changed_while_it_waited() -> None:
    sent = sent_refund()
    changed = replace(sent.planned.task, meanwhile=RowChange("orders", "ORD-1", {"refunded_cents": 1}))
    evidence = replace(
        intact_evidence(),
        sent=(replace(sent, planned=replace(sent.planned, task=changed)),),
        views={"t1": replace(intact_evidence().views["t1"], state="failed")},
    )

    assert count_as_asked(evidence) == 1


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
