"""The plan of a chaos run: a pure function of its seed, with enough of everything in it."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from shared.domain.exact_json import dumps
from tests.each_row import each_row
from tools.chaos.chaos_tasks import ChaosTaskKind
from tools.chaos.schedule import schedule, warm_up
from tools.chaos.strikes import BY_NAME, LEAST_STRIKES, Blow, second_tries
from tools.chaos.wiring import Wiring

THREE_MINUTES, USUAL_SECONDS = 180.0, 330.0


@pytest.mark.promise("chaos.replayable")
def test_a_seed_is_one_run_and_another_seed_another() -> None:
    """Word for word, tasks and strikes: what a seed found can be tried again."""
    first, again, other = (dumps(schedule(seed, 60).as_json()) for seed in (7, 7, 8))
    assert first == again
    assert first != other


@each_row("seed", [1, 2, 3])
def test_a_run_of_the_usual_length_holds_enough_tasks_and_kills(seed: int) -> None:
    """At least 500 tasks of every kind over both protocols, 60 kills, 15 of them of executors."""
    planned = schedule(seed, USUAL_SECONDS)
    kills = Counter(strike.victim for strike in planned.strikes if strike.blow is Blow.KILL)
    assert len(planned.tasks) >= 500
    assert {task.task.kind for task in planned.tasks} == set(ChaosTaskKind)
    assert {task.protocol for task in planned.tasks} == {"mcp", "rest"}
    assert kills.total() >= 60
    assert sum(count for name, count in kills.items() if name.startswith("executor")) >= 15
    assert all(0 < strike.at < USUAL_SECONDS for strike in planned.strikes)


def test_no_two_tasks_touch_the_same_row() -> None:
    """So every write can be told to one task by its content."""
    rows = [row.cells["id"] for task in schedule(1, THREE_MINUTES).tasks for row in task.task.rows]
    assert len(rows) == len(set(rows))


def test_what_a_person_or_a_rule_forbids_is_no_intended_write() -> None:
    """A write of such a task would be found as one that nobody asked for."""
    refused = {
        ChaosTaskKind.REJECTED_CLAIM,
        ChaosTaskKind.REJECTED_REFUND,
        ChaosTaskKind.BLOCKED_CLAIM,
        ChaosTaskKind.LEFT_WAITING,
        ChaosTaskKind.QUESTION,
    }
    refused |= {ChaosTaskKind.CANCELED_CLAIM, ChaosTaskKind.SIBLINGS}
    for task in schedule(1, THREE_MINUTES).tasks:
        assert bool(task.task.writes) is (task.task.kind not in refused)


@pytest.mark.promise("chaos.judges_itself")
@each_row("seconds", [20.0, THREE_MINUTES])
def test_every_listed_fault_is_planned_as_often_as_it_must_strike(seconds: float) -> None:
    """In a long run once more, lest a victim is dead already; the power is cut twice, where the run lists that."""
    planned = schedule(1, seconds)
    times = Counter(strike.fault.name for strike in planned.strikes)

    assert times.keys() == set(planned.faults)
    assert all(times[name] >= LEAST_STRIKES for name in times)
    assert times["power-cut"] == (2 if seconds == THREE_MINUTES else 0)


def test_a_run_lists_the_faults_that_were_chosen_and_no_others() -> None:
    planned = schedule(1, 20.0, faults=(BY_NAME["lying-tool"],), kinds=(ChaosTaskKind.REFUND,))

    assert {strike.fault.name for strike in planned.strikes} == {"lying-tool"} == set(planned.faults)
    assert {task.task.kind for task in planned.tasks} == {ChaosTaskKind.REFUND}


def test_a_slower_rate_sends_the_same_tasks_at_other_times() -> None:
    """As many as the time holds, so that a seed stays the same run on a slower machine."""
    full = schedule(1, 60.0)
    half = full.at_rate(full.rate / 2)

    assert 50 <= len(half.tasks) <= 55
    assert [task.task for task in half.tasks] == [task.task for task in full.tasks[: len(half.tasks)]]
    assert all(task.at < 60.0 for task in half.tasks)
    assert half.strikes == full.strikes


def test_tasks_before_the_load_touch_no_row_of_the_load() -> None:
    rows = [row.cells["id"] for task in schedule(1, THREE_MINUTES).tasks for row in task.task.rows]
    before = [row.cells["id"] for task in warm_up(1, 40) for row in task.task.rows]

    assert not set(rows) & set(before)


def test_a_line_that_can_fail_lies_between_any_two_processes(tmp_path: Path) -> None:
    """No process is told the address of another, but that of its line."""
    wiring = Wiring.arrange(tmp_path, {}, executors=3)
    ends = wiring.lines("unix:///far/redis.sock", "unix:///far/queue.sock")
    specs = wiring.specs({name: f"line-{name}" for name in ends})
    known = {
        name: value
        for spec in specs
        for name, value in spec.environ.items()
        if name.endswith("_URL") and name not in ("PURPLE_AGENT_CARD_URL", "ARCHIVE_URL")
    }
    assert {spec.name for spec in specs} >= {"gateway-1", "gateway-2", "executor-1", "executor-3", "company-rest"}
    assert len({spec.url for spec in specs}) == len(specs)
    assert known
    assert all("line-" in value for value in known.values() if value)


@pytest.mark.promise("chaos.judges_itself")
def test_what_met_nobody_is_struck_again_and_nothing_else() -> None:
    listed = [BY_NAME[name] for name in ("kill-executor", "failover", "slow-redis")]
    struck = {"kill-executor": LEAST_STRIKES, "slow-redis": LEAST_STRIKES - 1}
    again = second_tries(Random(1), listed, struck)  # noqa: S311  # not a secret
    assert [strike.fault.name for strike in again] == ["failover", "slow-redis"]
    assert all(strike.victim in strike.fault.victims for strike in again)
