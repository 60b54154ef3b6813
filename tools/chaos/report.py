"""What came of a run: as a table for people, as JSON for machines."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from rich.table import Table

from shared.domain.exact_json import Json, JsonObject
from tools.chaos.endings import Otherwise
from tools.chaos.findings import Evidence, Finding, Harm, harms_of, untold_writes
from tools.chaos.recovery import Recovered, percentile
from tools.chaos.rolled import Rolled
from tools.chaos.run import Run


@dataclass(frozen=True)
class Report:
    run: Run
    evidence: Evidence
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        return not self.findings

    @property
    def harms(self) -> Counter[Harm]:
        return Counter(finding.harm for finding in self.findings)


def report_json(report: Report) -> JsonObject:
    run, evidence = report.run, report.evidence
    return {
        "ok": report.ok,
        "seed": run.schedule.seed,
        "seconds_of_load": _number(run.load.lasted),
        "seconds": _number(report.seconds),
        "not_sent": 0 if evidence.rolled else len(run.schedule.tasks) - len(evidence.sent),
        "accepted": len(evidence.views),
        "refused": [sent.refused for sent in evidence.sent if sent.refused],
        "ended": len(evidence.ended),
        "states": _counts(evidence.states()),
        "resent": sum(sent.planned.resent_after is not None for sent in evidence.sent),
        "cancels": sum(sent.planned.canceled_after is not None for sent in evidence.sent),
        "writes_applied": {protocol: len(books.writes) for protocol, books in evidence.books.items()},
        **{harm.name.lower(): report.harms[harm] for harm in Harm},
        "writes_not_told": [*untold_writes(evidence)],
        "doubts_escalated": len(run.people.resolved),
        "doubts_resolved": _counts(Counter(run.people.resolved.values())),
        "approvals_unforeseen": len(run.people.unforeseen),
        "why_unforeseen": [one.sentence for one in run.people.unforeseen],
        "ended_otherwise": len(evidence.ended_otherwise),
        "why_otherwise": [one.sentence for one in evidence.ended_otherwise],
        "rolling": None if evidence.rolled is None else rolling_json(run, evidence.rolled),
        "kills": sum(run.crew.killed.values()),
        "kills_by_victim": _counts(run.crew.killed),
        "strikes": _counts(run.striker.carried_out),
        "strikes_that_met_nobody": run.striker.missed,
        "ended_by_themselves": _counts(Counter(run.crew.ended_by_themselves)),
        "recovery_of_a_killed_executors_turns": recovery_json(run.recoveries.known, run.recoveries.outstanding),
        "recoveries": [[_number(one.died - run.began), _number(one.seconds)] for one in run.recoveries.known],
        "findings": [_finding(finding) for finding in report.findings],
    }


def recovery_json(known: Sequence[Recovered], outstanding: int) -> JsonObject:
    """Seconds from the kill until another owner. Doubts wait out their call's time first: they are told apart."""
    plain = [one.seconds for one in known if not one.doubtful and not one.everything_was_dead]
    doubts = [one.seconds for one in known if one.doubtful and not one.everything_was_dead]
    power = [one.seconds for one in known if one.everything_was_dead]
    return {
        **_spread(plain),
        "with_a_write_in_doubt": _spread(doubts),
        "after_the_power_cut": _spread(power),
        "not_recovered": outstanding,
    }


def rolling_json(run: Run, rolled: Rolled) -> JsonObject:
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


def report_table(report: Report) -> Table:
    run = report.run
    table = Table("", "", title=f"chaos, seed {run.schedule.seed}: {'all held' if report.ok else 'NOT all held'}")
    for name, value in _rows(report):
        table.add_row(name, value)
    for harm in harms_of(rolling=report.evidence.rolled is not None):
        count = report.harms[harm]
        table.add_row(f"[bold]{harm.value}[/]", f"[{'bold red' if count else 'green'}]{count}[/]")
    return table


def _rows(report: Report) -> list[tuple[str, str]]:
    run, evidence = report.run, report.evidence
    known = run.recoveries.known
    rolled = [] if evidence.rolled is None else _rolling_rows(run, evidence.rolled)
    plain = [one.seconds for one in known if not one.doubtful and not one.everything_was_dead]
    return [
        ("time", f"{run.load.lasted:.0f} s of load, {report.seconds:.0f} s altogether"),
        ("tasks accepted", f"{len(evidence.views)} of {len(evidence.sent)} sent"),
        ("ended", f"{len(evidence.ended)} ({_listed(evidence.states())})"),
        ("writes applied", ", ".join(f"{len(books.writes)} over {name}" for name, books in evidence.books.items())),
        ("kills (SIGKILL)", f"{sum(run.crew.killed.values())} ({_listed(run.crew.killed)})"),
        ("strikes", _listed(run.striker.carried_out)),
        *rolled,
        ("recovery of a killed executor's turns", _told(plain)),
        ("  with a write in doubt", _told([one.seconds for one in known if one.doubtful])),
        ("  after the power cut", _told([one.seconds for one in known if one.everything_was_dead])),
        ("doubts escalated to the operator", f"{len(run.people.resolved)} {_bracketed(run.people.resolved)}"),
        ("approvals that no errand foresaw", str(len(run.people.unforeseen))),
        ("tasks that ended otherwise than asked", _by_state(evidence.ended_otherwise)),
        ("writes that took hold and were not told", str(len(untold_writes(evidence)))),
    ]


def _told(seconds: Sequence[float]) -> str:
    if not seconds:
        return "none"
    p50, p95 = percentile(seconds, 0.5), percentile(seconds, 0.95)
    return f"{len(seconds)} turns: p50 {p50:.1f} s, p95 {p95:.1f} s, most {max(seconds):.1f} s"


def _by_state(ended: Sequence[Otherwise]) -> str:
    return f"{len(ended)} {_bracketed({one.task_id: one.state for one in ended})}".rstrip()


def _rolling_rows(run: Run, rolled: Rolled) -> list[tuple[str, str]]:
    slowest = max(rolled.restarts, key=lambda restart: restart.seconds)
    return [
        ("restarts (SIGTERM)", f"{len(rolled.restarts)} in {run.roller.rounds} rounds ({_listed(run.roller.counts)})"),
        ("  slowest to end", f"{slowest.name}, {slowest.seconds:.1f} s"),
        (
            "requests",
            f"{run.doors.attempts}, and {len(rolled.streams)} streams, which moved {run.followers.moved} times",
        ),
    ]


def _bracketed(resolved: dict[str, str]) -> str:
    return f"({_listed(Counter(resolved.values()))})" if resolved else ""


def _listed(counts: Counter[str]) -> str:
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
