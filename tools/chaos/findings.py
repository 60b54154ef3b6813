"""What must never have happened, looked for in what clients, companies, lines and learner say: pure."""

from collections import Counter
from collections.abc import Iterator

from shared.domain.words import TaskState, WriteStatus
from tools.chaos.chaos_tasks import ChaosTaskKind
from tools.chaos.evidence import NOWHERE, Finding, Harm, RunEvidence, arguments_of, reported_writes
from tools.chaos.load import ENDED
from tools.chaos.writes import judge_writes

_DOUBTED = (WriteStatus.ABSENT.value, WriteStatus.IN_DOUBT.value, WriteStatus.SENDING.value)


def find_harms(evidence: RunEvidence) -> tuple[Finding, ...]:
    """Everything that must not be; empty for a run in which nothing was lost and nothing happened twice."""
    looks = (_find_lost, _find_twice, judge_writes, _find_miscounts, _overspent, _find_crossings, _find_rolling_harm)
    return tuple(finding for look in looks for finding in look(evidence))


def is_settled(kind: ChaosTaskKind, state: str) -> bool:
    """Whether a task may stay as it is: it has ended, or it waits for a person who is not there."""
    return state in ENDED or (kind is ChaosTaskKind.LEFT_WAITING and state == TaskState.INPUT_REQUIRED)


def find_untold_writes(evidence: RunEvidence) -> tuple[str, ...]:
    """Ended tasks whose write took hold without their report saying so, or saying that it may have."""
    told = (*_DOUBTED, WriteStatus.VERIFIED.value, WriteStatus.UNVERIFIED.value, WriteStatus.SENT.value)
    found = []
    for sent, view in evidence.endings():
        reported = [write for write in reported_writes(view) if write.get("status") in told]
        for intended in sent.planned.task.writes:
            shown = any(intended.is_made_by(str(write.get("tool")), arguments_of(write)) for write in reported)
            if evidence.books[sent.planned.protocol].count(intended) and not shown:
                found.append(f"{view.id}: {intended.tool} {dict(intended.telling)} ({view.state}: {view.answer[:200]})")
    return tuple(found)


def _find_lost(evidence: RunEvidence) -> Iterator[Finding]:
    for sent in evidence.sent:
        if sent.accepted is None:
            if sent.lost_ids:
                told = f"its accept lay in a cut tail, and the message sent again was refused: {sent.refused}"
                yield Finding(Harm.LOST, sent.lost_ids[-1], told)
            continue
        view = evidence.view_of(sent)
        state = view.state if view else "unknown to the gateway"
        if not is_settled(sent.planned.task.kind, state):
            told = f"{sent.planned.task.kind.value}: {sent.planned.task.text} is {state} at the end"
            yield Finding(Harm.LOST, sent.accepted.task_id, told)


def _find_twice(evidence: RunEvidence) -> Iterator[Finding]:
    for sent in evidence.sent:
        if sent.accepted is None:
            continue
        if sent.twice:
            yield Finding(Harm.TWICE_ACCEPTED, sent.accepted.task_id, sent.twice)
        if sent.resent_as and sent.resent_as not in (sent.accepted.task_id, *sent.lost_ids):
            told = f"the message sent again made a second task {sent.resent_as}"
            yield Finding(Harm.TWICE_ACCEPTED, sent.accepted.task_id, told)
    mine = {sent.accepted.task_id for sent in evidence.sent if sent.accepted}
    for task_id in sorted(evidence.known_tasks - mine):
        yield Finding(Harm.TWICE_ACCEPTED, task_id, "Redis knows a task that no client was told of")


def _find_miscounts(evidence: RunEvidence) -> Iterator[Finding]:
    counted = evidence.counted
    expected = {f"{task_id}:1": task_id for task_id in evidence.ended}
    for event_id, task_id in expected.items():
        if event_id not in counted.ids:
            yield Finding(Harm.OUTCOME_MISSING, task_id, f"the learner has not counted {event_id}")
    for event_id in sorted(counted.ids - expected.keys()):
        yield Finding(Harm.OUTCOME_REPEATED, event_id, "the learner counted what no ended task has")
    if counted.events != len(counted.ids):
        told = f"the learner counted {counted.events} outcomes of {len(counted.ids)} tasks"
        yield Finding(Harm.OUTCOME_REPEATED, NOWHERE, told)
    for event_id, times in Counter(counted.cases).items():
        if times > 1:
            yield Finding(Harm.OUTCOME_REPEATED, event_id, f"the case log has it {times} times")


def _find_crossings(evidence: RunEvidence) -> Iterator[Finding]:
    yield from (Finding(Harm.TENANTS_MIXED, one.task_id, one.sentence) for one in evidence.crossings)
    yield from (Finding(Harm.OVER_LIMIT, one.task_id, one.sentence) for one in evidence.over_limit)


def _overspent(evidence: RunEvidence) -> Iterator[Finding]:
    """By what each task tells of its own spending, which counts the usage that the model's endpoint stated."""
    for view in evidence.views.values():
        spend = view.metadata.get("spend")
        told = spend if isinstance(spend, dict) else {}
        used, most = told.get("tokens"), told.get("token_limit")
        if isinstance(used, int) and isinstance(most, int) and used > most:
            yield Finding(Harm.OVERSPENT, view.id, f"{used} tokens were spent of {most}")


def _find_rolling_harm(evidence: RunEvidence) -> Iterator[Finding]:
    """What a fault may cost, and a restart with care may not."""
    if (rolled := evidence.rolled) is None:
        return
    yield from (Finding(Harm.FAILED_REQUEST, NOWHERE, told) for told in rolled.failed)
    yield from (Finding(Harm.STREAM_GAP, *gap) for gap in rolled.gaps())
    yield from (Finding(Harm.ROUGH_END, NOWHERE, told) for told in rolled.rough_ends())
    yield from (Finding(Harm.DOUBT, NOWHERE, doubt) for doubt in sorted(rolled.doubts))
    yield from (Finding(Harm.UNFORESEEN, *one) for one in rolled.unforeseen)
    for one in evidence.unexpected_ends:
        harm = Harm.FAILED_TASK if one.state == TaskState.FAILED else Harm.OTHERWISE
        yield Finding(harm, one.task_id, one.sentence)
