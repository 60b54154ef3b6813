"""The plan of a chaos run, restarts with care, what is said again after a lost tail, what a run was worth."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import cast

import httpx
import pytest
from typing_extensions import override

from cli.gateway.messages import OutgoingMessage, Speaker, TaskView
from shared.domain.exact_json import dumps, loads_object
from tests.each_row import each_row
from tests.http_client import open_http
from tests.unit.cli.test_chaos_findings import _view, intact_evidence, sent_refund
from tools.chaos.balancer import Balancer
from tools.chaos.chaos_tasks import ChaosTaskKind, RowChange
from tools.chaos.check import CheckedSeed, check_json, check_seeds, check_table, write_check
from tools.chaos.endings import UnforeseenApproval, find_unexpected_ends
from tools.chaos.evidence import Harm
from tools.chaos.findings import find_harms
from tools.chaos.followers import Followers
from tools.chaos.gateway_caller import AcceptedTask, GatewayCaller, RpcRefused
from tools.chaos.judgement import ExitCode, RunCourse, count_as_asked, exit_code, find_shortfalls
from tools.chaos.load import Load, SentTask
from tools.chaos.recovery import Recovered, Recoveries
from tools.chaos.roller import Restart, RollingEvidence
from tools.chaos.schedule import WARM_UP_FROM, make_warm_up_tasks, schedule
from tools.chaos.sight import HeldSession, Sight
from tools.chaos.strikes import BY_NAME, LEAST_STRIKES, Blow, second_tries
from tools.chaos.tails import LostTail, TailRepair
from tools.chaos.tenants import FIRST

THREE_MINUTES, USUAL_SECONDS = 180.0, 330.0


@pytest.mark.promise("chaos.replayable")
def test_a_seed_is_one_run_and_another_seed_another() -> None:
    """Word for word, tasks and strikes: what a seed found can be tried again."""
    first, again, other = (dumps(schedule(seed, 60).as_json()) for seed in (7, 7, 8))
    assert first == again
    assert first != other


@each_row("seed", [1, 2])
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


def test_no_two_tasks_touch_the_same_row_and_those_before_the_load_none_of_its_rows() -> None:
    """So every write can be told to one task by its content."""
    rows = [row.cells["id"] for task in schedule(1, THREE_MINUTES).tasks for row in task.task.rows]
    before = [row.cells["id"] for task in make_warm_up_tasks(1, 40) for row in task.task.rows]
    assert len(rows) == len(set(rows))
    assert not set(rows) & set(before)


@pytest.mark.promise("chaos.judges_itself")
@each_row("seconds", [20.0, THREE_MINUTES])
def test_every_listed_fault_is_planned_as_often_as_it_must_strike(seconds: float) -> None:
    """In a long run once more, lest a victim is dead already; the power is cut twice, where the run lists that."""
    planned = schedule(1, seconds)
    times = Counter(strike.fault.name for strike in planned.strikes)

    assert times.keys() == set(planned.faults)
    assert all(times[name] >= LEAST_STRIKES for name in times)
    assert times["power-cut"] == (2 if seconds == THREE_MINUTES else 0)


@pytest.mark.promise("chaos.judges_itself")
def test_what_met_nobody_is_struck_again_and_nothing_else() -> None:
    listed = [BY_NAME[name] for name in ("kill-executor", "failover", "slow-redis")]
    struck = {"kill-executor": LEAST_STRIKES, "slow-redis": LEAST_STRIKES - 1}
    again = second_tries(Random(1), listed, struck)  # noqa: S311  # not a secret
    assert [strike.fault.name for strike in again] == ["failover", "slow-redis"]
    assert all(strike.victim in strike.fault.victims for strike in again)


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
@each_row(
    ("course", "rule"),
    (_FINE, None),
    (replace(_FINE, recoveries=(_SLOW,)), "recovery"),
    (replace(_FINE, recoveries=(_SLOW._replace(doubtful=True, seconds=15.1),)), "recovery"),
    (replace(_FINE, recoveries=(_SLOW._replace(everything_was_dead=True, seconds=15.1),)), "recovery"),
    (replace(_FINE, outstanding=1), "recovery"),
    (replace(_FINE, sent=89), "rate"),
    (replace(_FINE, planned=0, sent=0, ended_as_asked=0), "rate"),
    (replace(_FINE, struck={"kill-executor": 2, "full-disk": 1}), "faults"),
    (replace(_FINE, unreadable=1), "sight"),
)
def test_a_run_within_every_bound_has_held_and_each_rule_that_is_not_met_fails_it(
    course: RunCourse, rule: str | None
) -> None:
    assert [one.rule for one in find_shortfalls(course)] == ([rule] if rule else [])
    assert exit_code(course, harmed=False) is (ExitCode.BROKEN if rule else ExitCode.HELD)


@pytest.mark.promise("chaos.judges_itself")
def test_a_machine_on_which_an_undisturbed_task_is_slow_is_no_place_to_judge() -> None:
    """Neither that all held nor that it did not; harm is harm there too."""
    busy = replace(_FINE, undisturbed=2.1)

    assert exit_code(busy, harmed=False) is ExitCode.NOT_JUDGED
    assert exit_code(replace(busy, sent=1), harmed=False) is ExitCode.NOT_JUDGED
    assert exit_code(busy, harmed=True) is ExitCode.BROKEN


@pytest.mark.promise("chaos.judges_itself")
def test_only_tasks_of_the_stated_rate_that_ended_as_asked_count() -> None:
    """Not one without its write, not one that failed unless its record was changed while it waited, and none that was
    sent to measure the machine.
    """
    intact, sent = intact_evidence(), sent_refund()
    warm = replace(sent, planned=replace(sent.planned, number=WARM_UP_FROM))
    failed = {"t1": replace(intact.views["t1"], state="failed")}
    unwritten = {protocol: type(books)(()) for protocol, books in intact.books.items()}
    row = replace(sent.planned.task, meanwhile=RowChange("orders", "ORD-1", {"refunded_cents": 1}))
    changed = replace(sent, planned=replace(sent.planned, task=row))

    assert count_as_asked(intact) == count_as_asked(replace(intact, sent=(changed,), views=failed)) == 1
    assert count_as_asked(replace(intact, sent=(warm,))) == 0
    assert count_as_asked(replace(intact, views=failed)) == 0
    assert count_as_asked(replace(intact, views={})) == 0
    assert count_as_asked(replace(intact, books=unwritten)) == 0


_HELD = CheckedSeed(1, ExitCode.HELD, {"ok": True, "lost": 0, "strikes": {"failover": 2}, "shortfalls": []})
_BROKEN = CheckedSeed(2, ExitCode.BROKEN, {}, "it was not over within 9 s")


@pytest.mark.promise("chaos.judges_itself")
def test_a_check_is_as_bad_as_its_worst_seed_and_table_and_report_tell_of_each(tmp_path: Path) -> None:
    told = check_json((_HELD, _BROKEN), 3.0)
    assert (told["ok"], told["exit_code"]) == (False, int(ExitCode.BROKEN))
    assert check_json((_HELD,), 3.0)["ok"] is True
    assert [str(column.header) for column in check_table((_HELD, _BROKEN)).columns] == ["", "seed 1", "seed 2"]
    write_check((_HELD, _BROKEN), 3.0, tmp_path / "report.json")
    seeds = loads_object((tmp_path / "report.json").read_text())["seeds"]
    assert isinstance(seeds, list)
    assert [one["seed"] for one in seeds if isinstance(one, dict)] == [1, 2]


@pytest.mark.promise("chaos.judges_itself")
def test_a_run_that_leaves_no_report_counts_as_broken_and_the_next_seed_is_run(tmp_path: Path) -> None:
    """With ``--plan`` a run ends at once, and writes none."""
    told: list[int] = []
    done = check_seeds((1, 2), ("--plan", "--json"), tmp_path, lambda one: told.append(one.seed))
    assert [(one.seed, one.code) for one in done] == [(1, ExitCode.BROKEN), (2, ExitCode.BROKEN)]
    assert told == [1, 2]


class _Gateways(GatewayCaller):
    """Accepts every message as a new task, or refuses all."""

    def __init__(self, *, refuses: bool = False) -> None:
        super().__init__((), open_http())
        self.refuses = refuses
        self.canceled: list[str] = []

    @override
    async def send(
        self, utterance: OutgoingMessage, message_id: str, first: int = 0, tenant: str = FIRST
    ) -> AcceptedTask:
        if self.refuses:
            raise RpcRefused("no")
        return AcceptedTask("t2", "s2", tenant)

    @override
    async def cancel(self, task: AcceptedTask, speaker: Speaker) -> TaskView:
        self.canceled.append(task.task_id)
        return TaskView(task.task_id, "canceled", "", {})


class _Redis(Sight):
    """Knows tasks by their states, and no session."""

    def __init__(self, states: Mapping[str, str]) -> None:
        self._states = states

    @override
    async def states(self, tasks: Sequence[AcceptedTask]) -> tuple[str, ...]:
        return tuple(self._states.get(task.task_id, "") for task in tasks)

    @override
    async def fences(self, sessions: Sequence[HeldSession]) -> tuple[int, ...]:
        return ()


def _repair(sent: SentTask, states: Mapping[str, str], doors: _Gateways | None = None) -> TailRepair:
    sight = _Redis(states)
    load = Load(doors or _Gateways(), 1, "")
    load.sent.append(sent)
    return TailRepair(load, sight, Recoveries(cast("Sight", sight)), pause=0.0)


def _sent(accepted_at: float) -> SentTask:
    sent = sent_refund()
    sent.accepted_at = accepted_at
    return sent


@pytest.mark.promise("chaos.tail_counted")
async def test_an_accept_that_lay_in_the_tail_is_named_and_its_message_sent_again_and_one_from_before_stays_lost() -> (
    None
):
    inside, before = _sent(accepted_at=11.0), _sent(accepted_at=9.0)
    repair, other = _repair(inside, {"t2": "working"}), _repair(before, {})
    for one in (repair, other):
        await one.repair(LostTail("log-tail-cut", began=10.0))
    assert [(one.task_id, one.fault) for one in repair.lost] == [("t1", "log-tail-cut")]
    assert inside.accepted == AcceptedTask("t2", "s2", FIRST)
    assert (list(other.lost), before.accepted) == ([], AcceptedTask("t1", "s1"))


@pytest.mark.promise("chaos.tail_counted")
async def test_a_refused_resend_leaves_a_task_that_nobody_has() -> None:
    sent = _sent(accepted_at=11.0)
    await _repair(sent, {}, _Gateways(refuses=True)).repair(LostTail("failover", began=10.0))
    assert sent.accepted is None
    assert sent.lost_ids == ["t1"]


@each_row(("at", "again"), [(11.0, True), (3.0, False)])
async def test_a_decision_and_a_cancel_are_said_again_where_they_came_since_the_tail_began(
    at: float, again: bool
) -> None:
    sent, doors = _sent(accepted_at=1.0), _Gateways()
    sent.decided_at, sent.cancel_taken_at = {"a1": at}, at + 1
    await _repair(sent, {"t1": "input-required"}, doors).repair(LostTail("failover", began=10.0))
    assert (sent.decided_at, bool(doors.canceled)) == ({} if again else {"a1": at}, again)


FINE = RollingEvidence(
    failed=(),
    streams={"t1": (("1-0", "2-0"), ("1-0", "2-0", "3-0"))},
    restarts=(Restart("policy", 0.5, 0),),
    by_themselves=(),
    doubts=frozenset(),
)


def _harms(rolled: RollingEvidence, state: str = "completed") -> list[Harm]:
    evidence = replace(intact_evidence(), rolled=rolled, views={"t1": _view(state)})
    return [finding.harm for finding in find_harms(evidence)]


@pytest.mark.promise("upgrade.nothing_fails")
@each_row(
    ("rolled", "harm"),
    (FINE, None),  # a watcher of one turn has seen the beginning of a story that went on later
    (replace(FINE, failed=("HTTP 503",)), Harm.FAILED_REQUEST),
    (replace(FINE, streams={"t1": (("1-0", "3-0"), ("1-0", "2-0", "3-0"))}), Harm.STREAM_GAP),
    (replace(FINE, streams={"t1": (("1-0", "1-0"), ("1-0", "2-0"))}), Harm.STREAM_GAP),
    (replace(FINE, restarts=(Restart("executor-1", 60.0, None),)), Harm.ROUGH_END),
    (replace(FINE, by_themselves=("learner ended with exit code 1",)), Harm.ROUGH_END),
    (replace(FINE, doubts=frozenset({"t1:w1"})), Harm.DOUBT),
    (replace(FINE, unforeseen=(UnforeseenApproval("t1", "needs an approval: too little was read"),)), Harm.UNFORESEEN),
)
def test_what_a_careful_restart_may_not_cost_is_found(rolled: RollingEvidence, harm: Harm | None) -> None:
    assert _harms(rolled) == ([harm] if harm else [])


@pytest.mark.promise("upgrade.nothing_fails")
def test_a_task_that_failed_counts_only_where_nothing_was_struck() -> None:
    """Where processes are killed, a task may fail with its reason; it is told, and no harm."""
    struck = replace(intact_evidence(), views={"t1": _view("failed")})

    assert find_harms(struck) == ()
    assert [one.sentence for one in struck.unexpected_ends] == [
        "Refund 5.00 of order ORD-1. was to be completed, and is failed: Done."
    ]
    assert _harms(FINE, "failed") == [Harm.FAILED_TASK]
    assert _harms(FINE, "rejected") == [Harm.OTHERWISE]


@each_row(
    ("kind", "canceled", "ends"),
    (ChaosTaskKind.REFUND, None, "completed"),
    (ChaosTaskKind.APPROVED_CLAIM, None, "completed"),
    (ChaosTaskKind.REFUND, 1.0, "completed"),
    (ChaosTaskKind.REFUND, 1.0, "canceled"),
    (ChaosTaskKind.REJECTED_CLAIM, None, "rejected"),
    (ChaosTaskKind.BLOCKED_CLAIM, None, "rejected"),
    (ChaosTaskKind.LEFT_WAITING, None, "input-required"),
)
def test_tasks_end_as_they_ask(kind: ChaosTaskKind, canceled: float | None, ends: str) -> None:
    """A cancel may come too late; nobody else's task is canceled."""
    (sent,) = intact_evidence().sent
    planned = replace(sent.planned, task=replace(sent.planned.task, kind=kind), canceled_after=canceled)

    assert [*find_unexpected_ends([(replace(sent, planned=planned), _view(ends))])] == []
    assert len([*find_unexpected_ends([(replace(sent, planned=planned), _view("failed"))])]) == 1


def test_nothing_is_struck_where_everything_is_restarted() -> None:
    """There are tasks enough for the longest round, whatever time was asked for."""
    planned = schedule(1, 30, rolling=True)

    assert planned.strikes == ()
    assert planned.tasks[-1].at > 300
    assert [task.task.text for task in planned.tasks[:50]] == [task.task.text for task in schedule(1, 30).tasks[:50]]


def _told(*kinds: str) -> bytes:
    return b"".join(f"id: {number}-0\nevent: {kind}\ndata: {{}}\n\n".encode() for number, kind in enumerate(kinds))


@pytest.mark.promise("upgrade.nothing_fails")
@each_row(
    ("stories", "broken", "moved"),
    ([_told("submitted", "turn_finished")], 0, 0),
    ([_told("submitted") + b"retry: 1000\n\n", _told("phase", "turn_finished")], 0, 1),
    ([_told("submitted", "phase")], 1, 0),
)
async def test_a_stream_ends_with_its_turn_or_says_where_next(stories: list[bytes], broken: int, moved: int) -> None:
    """A line that just closes has lost what was still to come, whatever of the story it had told."""
    left = iter(stories)

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=next(left))

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        followers = Followers(Balancer(["http://gateway"], http), http)
        await followers.follow("t1")

    assert (len(followers.broken), followers.moved) == (broken, moved)
