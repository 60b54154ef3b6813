"""What came of a run: as a table for people, as JSON for machines."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from rich.table import Table

from shared.domain.exact_json import Json, JsonObject
from tools.chaos.endings import Otherwise
from tools.chaos.evidence import Finding, Harm, RunEvidence, harms_of
from tools.chaos.findings import untold_writes
from tools.chaos.judgement import (
    RECOVERY_SECONDS,
    ExitCode,
    RunCourse,
    Shortfall,
    exit_code,
    shortfalls,
    tasks_not_as_asked,
)
from tools.chaos.recovery import Recovered, percentile
from tools.chaos.roller import Rolled
from tools.chaos.run import ChaosRun
from tools.chaos.writes import reported_doublings


@dataclass(frozen=True)
class JudgedRun:
    """What was found at the end of a run, and how it went."""

    evidence: RunEvidence
    findings: tuple[Finding, ...]
    course: RunCourse


@dataclass(frozen=True)
class ChaosReport:
    run: ChaosRun
    judged: JudgedRun
    seconds: float

    @property
    def evidence(self) -> RunEvidence:
        return self.judged.evidence

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.judged.findings

    @property
    def shortfalls(self) -> tuple[Shortfall, ...]:
        """None of a run in which everything was restarted: there, any failure is a harm."""
        return () if self.run.schedule.rolling else shortfalls(self.judged.course)

    @property
    def code(self) -> ExitCode:
        if self.run.schedule.rolling:
            return ExitCode.BROKEN if self.findings else ExitCode.HELD
        return exit_code(self.judged.course, harmed=bool(self.findings))

    @property
    def ok(self) -> bool:
        return self.code is ExitCode.HELD

    @property
    def harms(self) -> Counter[Harm]:
        return Counter(finding.harm for finding in self.findings)


_TITLES: Mapping[ExitCode, str] = MappingProxyType(
    {
        ExitCode.HELD: "all held",
        ExitCode.BROKEN: "NOT all held",
        ExitCode.NOT_JUDGED: "no harm, and NOT JUDGED: the machine is too busy",
    }
)


def report_json(report: ChaosReport) -> JsonObject:
    run, evidence, course = report.run, report.evidence, report.judged.course
    return {
        "ok": report.ok,
        "judged": report.code is not ExitCode.NOT_JUDGED,
        "seed": run.schedule.seed,
        "seconds_of_load": _number(run.load.lasted),
        "seconds": _number(report.seconds),
        "undisturbed_task_seconds": _optional(course.undisturbed),
        "carried_undisturbed": _optional(run.pace.carried if run.pace else None),
        "stated_rate": _number(run.schedule.rate),
        "planned": course.planned,
        "sent": course.sent,
        "ended_as_asked": course.ended_as_asked,
        "calls_sent": len(evidence.calls),
        "accepted": len(evidence.views),
        "refused": [sent.refused for sent in evidence.sent if sent.refused],
        "ended": len(evidence.ended),
        "states": _counts(evidence.states()),
        "resent": sum(sent.planned.resent_after is not None for sent in evidence.sent),
        "cancels": sum(sent.planned.canceled_after is not None for sent in evidence.sent),
        "writes_applied": {protocol: len(books.writes) for protocol, books in evidence.books.items()},
        **{harm.name.lower(): report.harms[harm] for harm in Harm},
        "writes_not_told": [*untold_writes(evidence)],
        "doublings_reported": [*reported_doublings(evidence)],
        "doubts_escalated": len(run.people.resolved),
        "doubts_resolved": _counts(Counter(run.people.resolved.values())),
        "approvals_unforeseen": len(run.people.unforeseen),
        "why_unforeseen": [one.sentence for one in run.people.unforeseen],
        "lost_with_a_tail": [
            {"task_id": one.task_id, "text": one.text, "fault": one.fault, "resent_as": _resent_as(report, one.task_id)}
            for one in run.repair.lost
        ],
        "bursts": [dict(one._asdict()) for one in run.bursts.made],
        "ended_otherwise": len(evidence.ended_otherwise),
        "not_as_asked": [*tasks_not_as_asked(evidence)],
        "rolling": None if evidence.rolled is None else rolling_json(run, evidence.rolled),
        "kills": sum(run.crew.killed.values()),
        "kills_by_victim": _counts(run.crew.killed),
        "strikes": dict(course.struck),
        "strikes_that_met_nobody": _counts(run.striker.missed),
        "faults_not_tried": [*run.without],
        "ended_by_themselves": _counts(Counter(run.crew.ended_by_themselves)),
        "recovery_of_a_killed_executors_turns": recovery_json(run.recoveries.known, run.recoveries.outstanding),
        "recoveries": [[_number(one.died - run.began), _number(one.seconds)] for one in run.recoveries.known],
        "recovery_bound": _number(RECOVERY_SECONDS),
        "shortfalls": [{"rule": one.rule, "sentence": one.sentence} for one in report.shortfalls],
        "findings": [_finding(finding) for finding in report.findings],
    }


def recovery_json(known: Sequence[Recovered], outstanding: int) -> JsonObject:
    """Seconds from the kill until another owner. Doubts wait out their call's time first: they are told apart."""
    plain = [one.seconds for one in known if not one.doubtful and not one.everything_was_dead]
    doubts = [one.seconds for one in known if one.doubtful and not one.everything_was_dead]
    all_dead = [one.seconds for one in known if one.everything_was_dead]
    return {
        **_spread(plain),
        "with_a_write_in_doubt": _spread(doubts),
        "after_every_executor_died": _spread(all_dead),
        "not_recovered": outstanding,
    }


def rolling_json(run: ChaosRun, rolled: Rolled) -> JsonObject:
    """How often each process was restarted, and how long the slowest of them took from its signal to its end."""
    slowest: dict[str, float] = {}
    for restart in rolled.restarts:
        slowest[restart.name] = max(restart.seconds, slowest.get(restart.name, 0.0))
    return {
        "rounds": run.roller.rounds,
        "restarts": _counts(run.roller.counts),
        "slowest_end": {name: _number(seconds) for name, seconds in sorted(slowest.items())},
        "requests": run.doors.attempts,
        "streams": len(rolled.streams),
        "streams_moved": run.followers.moved,
    }


def report_table(report: ChaosReport) -> Table:
    run = report.run
    table = Table("", "", title=f"chaos, seed {run.schedule.seed}: {_TITLES[report.code]}")
    for name, value in _rows(report):
        table.add_row(name, value)
    for harm in harms_of(rolling=report.evidence.rolled is not None):
        count = report.harms[harm]
        table.add_row(f"[bold]{harm.value}[/]", f"[{'bold red' if count else 'green'}]{count}[/]")
    for shortfall in report.shortfalls:
        table.add_row(f"[bold red]{shortfall.rule}[/]", f"[bold red]{shortfall.sentence}[/]")
    return table


def _rows(report: ChaosReport) -> list[tuple[str, str]]:
    run, evidence, course = report.run, report.evidence, report.judged.course
    known = run.recoveries.known
    rolled = [] if evidence.rolled is None else _rolling_rows(run, evidence.rolled)
    plain = [one.seconds for one in known if not one.doubtful and not one.everything_was_dead]
    return [
        ("time", f"{run.load.lasted:.0f} s of load, {report.seconds:.0f} s altogether"),
        ("undisturbed", _pace(run, course)),
        ("stated rate", f"{run.schedule.rate:.2f} a second: {course.planned} tasks, {course.sent} sent"),
        ("  of them ended as asked", f"{course.ended_as_asked} ({_share(course)})"),
        ("tasks accepted", f"{len(evidence.views)} of {len(evidence.sent)} sent, with those before the load"),
        ("ended", f"{len(evidence.ended)} ({_list_counts(evidence.states())})"),
        ("writes applied", ", ".join(f"{len(books.writes)} over {name}" for name, books in evidence.books.items())),
        ("kills (SIGKILL)", f"{sum(run.crew.killed.values())} ({_list_counts(run.crew.killed)})"),
        ("strikes", _list_counts(Counter(course.struck))),
        ("  that met nobody", _list_counts(run.striker.missed) or "none"),
        *[("  not tried here", told) for told in run.without],
        *rolled,
        ("recovery of a killed executor's turns", _times_in_words(plain)),
        ("  with a write in doubt", _times_in_words([one.seconds for one in known if one.doubtful])),
        ("  after every executor had died", _times_in_words([one.seconds for one in known if one.everything_was_dead])),
        ("doubts escalated to the operator", f"{len(run.people.resolved)} {_in_brackets(run.people.resolved)}"),
        ("approvals that no errand foresaw", str(len(run.people.unforeseen))),
        ("tasks that ended otherwise than asked", _by_state(evidence.ended_otherwise)),
        ("accepts that lay in a cut tail, and were sent again", str(len(run.repair.lost))),
        ("doublings by a company that were reported", str(len(reported_doublings(evidence)))),
        ("bursts of messages: before, accepted, refused", _bursts(run)),
        ("writes that took hold and were not told", str(len(untold_writes(evidence)))),
    ]


def _resent_as(report: ChaosReport, task_id: str) -> str:
    """The task to which a message led that was sent again."""
    sent = next(one for one in report.evidence.sent if task_id in one.lost_ids)
    return sent.accepted.task_id if sent.accepted else ""


def _bursts(run: ChaosRun) -> str:
    return "; ".join(f"{one.before}, {one.accepted}, {one.refused}" for one in run.bursts.made) or "none"


def _pace(run: ChaosRun, course: RunCourse) -> str:
    carried = "" if run.pace is None or run.pace.carried is None else f", {run.pace.carried:.2f} tasks a second at once"
    return f"{course.undisturbed or 0.0:.2f} s a task alone{carried}"


def _share(course: RunCourse) -> str:
    return f"{100 * course.ended_as_asked / course.planned:.0f} %" if course.planned else "of none"


def _times_in_words(seconds: Sequence[float]) -> str:
    if not seconds:
        return "none"
    p50, p95 = percentile(seconds, 0.5), percentile(seconds, 0.95)
    return f"{len(seconds)} turns: p50 {p50:.1f} s, p95 {p95:.1f} s, most {max(seconds):.1f} s"


def _by_state(ended: Sequence[Otherwise]) -> str:
    return f"{len(ended)} {_in_brackets({one.task_id: one.state for one in ended})}".rstrip()


def _rolling_rows(run: ChaosRun, rolled: Rolled) -> list[tuple[str, str]]:
    slowest = max(rolled.restarts, key=lambda restart: restart.seconds)
    return [
        (
            "restarts (SIGTERM)",
            f"{len(rolled.restarts)} in {run.roller.rounds} rounds ({_list_counts(run.roller.counts)})",
        ),
        ("  slowest to end", f"{slowest.name}, {slowest.seconds:.1f} s"),
        (
            "requests",
            f"{run.doors.attempts}, and {len(rolled.streams)} streams, which moved {run.followers.moved} times",
        ),
    ]


def _in_brackets(resolved: dict[str, str]) -> str:
    return f"({_list_counts(Counter(resolved.values()))})" if resolved else ""


def _list_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))


def _counts(counts: Counter[str]) -> JsonObject:
    return dict(sorted(counts.items()))


def _spread(seconds: Sequence[float]) -> JsonObject:
    return {
        "turns": len(seconds),
        "p50": _optional(percentile(seconds, 0.5)),
        "p95": _optional(percentile(seconds, 0.95)),
        "most": _optional(max(seconds, default=None)),
    }


def _finding(finding: Finding) -> Json:
    return {"harm": finding.harm.value, "task_id": finding.task_id, "sentence": finding.sentence}


def _optional(seconds: float | None) -> Decimal | None:
    return None if seconds is None else _number(seconds)


def _number(seconds: float) -> Decimal:
    return Decimal(f"{seconds:.2f}")
