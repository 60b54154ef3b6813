"""What came of a run, as JSON."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from shared.domain.exact_json import Json, JsonObject
from tools.chaos.evidence import Finding, Harm, RunEvidence
from tools.chaos.findings import find_untold_writes
from tools.chaos.judgement import (
    RECOVERY_SECONDS,
    ExitCode,
    RunCourse,
    Shortfall,
    exit_code,
    find_shortfalls,
    tasks_not_as_asked,
)
from tools.chaos.recovery import Recovered, percentile
from tools.chaos.roller import RollingEvidence
from tools.chaos.run import ChaosRun
from tools.chaos.writes import reported_doublings, reported_repetitions


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
        return () if self.run.schedule.rolling else find_shortfalls(self.judged.course)

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


def report_json(report: ChaosReport) -> JsonObject:
    run = report.run
    evidence = report.evidence
    course = report.judged.course
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
        "writes_not_told": [*find_untold_writes(evidence)],
        "doublings_reported": [*reported_doublings(evidence)],
        "repeated_with_a_tail": [*reported_repetitions(evidence)],
        "doubts_escalated": len(run.people.resolved),
        "doubts_resolved": _counts(Counter(run.people.resolved.values())),
        "approvals_unforeseen": len(run.people.unforeseen),
        "why_unforeseen": [one.sentence for one in run.people.unforeseen],
        "lost_with_a_tail": [
            {"task_id": one.task_id, "text": one.text, "fault": one.fault, "resent_as": _resent_as(report, one.task_id)}
            for one in run.repair.lost
        ],
        "bursts": [dict(one._asdict()) for one in run.bursts.made],
        "ended_otherwise": len(evidence.unexpected_ends),
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


def rolling_json(run: ChaosRun, rolled: RollingEvidence) -> JsonObject:
    """How often each process was restarted, and how long the slowest of them took from its signal to its end."""
    slowest: dict[str, float] = {}
    for restart in rolled.restarts:
        slowest[restart.name] = max(restart.seconds, slowest.get(restart.name, 0.0))
    return {
        "rounds": run.roller.rounds,
        "restarts": _counts(run.roller.counts),
        "slowest_end": {name: _number(seconds) for name, seconds in sorted(slowest.items())},
        "requests": run.gateways.attempts,
        "streams": len(rolled.streams),
        "streams_moved": run.followers.moved,
    }


def _resent_as(report: ChaosReport, task_id: str) -> str:
    """The task to which a message led that was sent again."""
    sent = next(one for one in report.evidence.sent if task_id in one.lost_ids)
    return sent.accepted.task_id if sent.accepted else ""


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
