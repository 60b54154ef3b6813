"""What is wrong with a run's writes: by the companies' books, the calls on the line, and what each task tells: pure."""

from collections.abc import Iterator, Sequence

from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import WriteStatus
from tools.chaos.chaos_tasks import IntendedWrite, equal_arguments
from tools.chaos.evidence import NOWHERE, Finding, Harm, RunEvidence, arguments_of, name_of, reported_writes
from tools.chaos.ledgers import AppliedWrite, CompanyLedger
from tools.chaos.load import SentTask
from tools.chaos.sent_calls import SentCall

IN_HAND_SECONDS = 2.0  # within which a call that had begun when its cancel was taken in may still leave


def judge_writes(evidence: RunEvidence) -> Iterator[Finding]:
    """Every harm that a write can be."""
    for protocol, books in evidence.books.items():
        sent = [one for one in evidence.sent if one.planned.protocol == protocol]
        calls = [call for call in evidence.calls if call.protocol == protocol and call.may_write]
        yield from _find_harms_of_tasks(sent, calls, books, evidence)
        yield from _find_unasked_writes(protocol, sent, calls, books)
    yield from _find_false_proofs(evidence)


def _find_harms_of_tasks(
    tasks: Sequence[SentTask], calls: Sequence[SentCall], books: CompanyLedger, evidence: RunEvidence
) -> Iterator[Finding]:
    for sent in tasks:
        own = [call for call in calls if _belongs_to(call, sent)]
        yield from _find_sent_before_approval(sent, own)
        yield from _find_sent_after_cancel(sent, own)
        yield from _find_not_as_approved(sent, own)
        for intended in sent.planned.task.writes:
            made = [call for call in own if intended.is_made_by(call.tool, call.arguments)]
            yield from _find_wrong_arguments(sent, intended, made, books)
            yield from _find_double_writes(sent, intended, made, books, evidence)


def _find_sent_before_approval(sent: SentTask, calls: Sequence[SentCall]) -> Iterator[Finding]:
    if sent.planned.task.decision != "approve":
        return
    approved_at = min((one.at for one in sent.approvals), default=None)
    for call in calls:
        if approved_at is None or call.at < approved_at:
            when = "and nobody approved it" if approved_at is None else f"{approved_at - call.at:.2f} s before its yes"
            yield Finding(Harm.BEFORE_APPROVAL, name_of(sent), f"{_describe(call)} was sent, {when}")


def _find_sent_after_cancel(sent: SentTask, calls: Sequence[SentCall]) -> Iterator[Finding]:
    """After a client was told that its task is canceled, or soon after its cancel was taken in."""
    if sent.cancel_taken_at is None:
        return
    last = sent.cancel_taken_at + (0.0 if sent.cancel_said == "canceled" else IN_HAND_SECONDS)
    for call in calls:
        if call.at > last:
            told = f"{_describe(call)} was sent {call.at - sent.cancel_taken_at:.2f} s after its cancel was taken in"
            yield Finding(Harm.AFTER_CANCEL, name_of(sent), told)


def _find_not_as_approved(sent: SentTask, calls: Sequence[SentCall]) -> Iterator[Finding]:
    """A call that stands in none of the plans to which somebody said yes before it was sent."""
    if sent.planned.task.decision != "approve":
        return
    for call in calls:
        seen = [one for one in sent.approvals if one.at <= call.at]
        if seen and not any(tool == call.tool and _as_shown(call, shown) for one in seen for tool, shown in one.calls):
            approved = "; ".join(f"{tool} {dumps(shown)}" for one in seen for tool, shown in one.calls)
            yield Finding(Harm.NOT_AS_APPROVED, name_of(sent), f"{_describe(call)} was sent, approved was {approved}")


def _as_shown(call: SentCall, shown: JsonObject) -> bool:
    return equal_arguments(call.arguments, shown)


def _find_wrong_arguments(
    sent: SentTask, intended: IntendedWrite, made: Sequence[SentCall], books: CompanyLedger
) -> Iterator[Finding]:
    """In what was sent as in what was applied; told once for each write."""
    applied = [write.arguments for write in books.applications_of(intended)]
    wrong = [found for one in (*applied, *(call.arguments for call in made)) if (found := intended.differences(one))]
    if wrong:
        yield Finding(Harm.WRONG_ARGUMENT, name_of(sent), f"{intended.tool}: {', '.join(wrong[0])}")


def _find_double_writes(
    sent: SentTask, intended: IntendedWrite, made: Sequence[SentCall], books: CompanyLedger, evidence: RunEvidence
) -> Iterator[Finding]:
    """Applied more than once: by us, if we asked for it more than once; else by the company, which must not pass as
    proved. A notice whose intent Redis lost is no finding: ``reported_repetitions`` tells of it.
    """
    times = books.count(intended)
    if times < 2 or _is_repeated_by_tail(intended, made, evidence):
        return
    told = f"{intended.tool} {dict(intended.telling)} was applied {times} times: {sent.planned.task.text}"
    if _count_asked(made) != 1:
        yield Finding(Harm.DOUBLE_WRITE, name_of(sent), told)
    elif WriteStatus.VERIFIED in (statuses := _statuses(evidence, sent, intended)):
        yield Finding(Harm.DOUBLING_PROVED, name_of(sent), f"{told}; it was sent once")
    elif not statuses:
        yield Finding(Harm.DOUBLING_UNTOLD, name_of(sent), f"{told}; it was sent once")


def _count_asked(made: Sequence[SentCall]) -> int:
    """How often a write was asked for: what is sent again under the same key, the company applies once."""
    return len({call.key for call in made if call.key}) + sum(not call.key for call in made)


def _is_repeated_by_tail(intended: IntendedWrite, made: Sequence[SentCall], evidence: RunEvidence) -> bool:
    """Whether a notice was sent again because the intents of its earlier calls lay in lost tails of Redis' log: no read
    shows it, and it had no key by which the company would have known it again (``docs/security.md``).
    """
    lasting = [
        call for call in made if call.key or not any(one.began <= call.at <= one.ended for one in evidence.tails)
    ]
    return intended.is_notice and _count_asked(made) > 1 and _count_asked(lasting) <= 1


def reported_repetitions(evidence: RunEvidence) -> tuple[str, ...]:
    """Notices that were sent more than once since Redis had lost what was stored of them."""
    return tuple(
        f"{name_of(sent)}: {intended.tool} {dict(intended.telling)}"
        for sent in evidence.sent
        for intended in sent.planned.task.writes
        if _is_repeated_by_tail(intended, _calls_of(intended, sent, evidence), evidence)
    )


def reported_doublings(evidence: RunEvidence) -> tuple[str, ...]:
    """Writes that were sent once and applied more often, and of which the task says so much that they are unproved."""
    found = []
    for sent in evidence.sent:
        books = evidence.books[sent.planned.protocol]
        for intended in sent.planned.task.writes:
            made = _calls_of(intended, sent, evidence)
            statuses = _statuses(evidence, sent, intended)
            if (
                books.count(intended) > 1
                and _count_asked(made) == 1
                and statuses
                and WriteStatus.VERIFIED not in statuses
            ):
                told = ", ".join(sorted(str(status) for status in statuses))
                found.append(f"{name_of(sent)}: {intended.tool} {dict(intended.telling)}: {told}")
    return tuple(found)


def _calls_of(intended: IntendedWrite, sent: SentTask, evidence: RunEvidence) -> list[SentCall]:
    calls = (call for call in evidence.calls if call.protocol == sent.planned.protocol and call.may_write)
    return [call for call in calls if intended.is_made_by(call.tool, call.arguments)]


def _statuses(evidence: RunEvidence, sent: SentTask, intended: IntendedWrite) -> set[Json]:
    view = evidence.view_of(sent)
    writes = reported_writes(view) if view else ()
    return {one.get("status") for one in writes if intended.is_made_by(str(one.get("tool")), arguments_of(one))}


def _find_unasked_writes(
    protocol: str, tasks: Sequence[SentTask], calls: Sequence[SentCall], books: CompanyLedger
) -> Iterator[Finding]:
    """Writes of no errand of that company: what was rejected, blocked, left undecided, or never asked."""
    wanted = [intended for sent in tasks for intended in sent.planned.task.writes]
    strangers = [write for write in books.writes if not any(intended.is_made_by(*write) for intended in wanted)]
    for write in strangers:
        told = f"{protocol}: {write.tool} {dumps(write.arguments)}"
        yield Finding(Harm.UNCALLED_WRITE, _task_of(write, tasks), told)
    for call in calls:
        write = AppliedWrite(call.tool, call.arguments)
        if any(intended.is_made_by(*write) for intended in wanted):
            continue
        if not any(known.tool == call.tool and equal_arguments(known.arguments, call.arguments) for known in strangers):
            told = f"{protocol}: {_describe(call)} was sent, and the company did not apply it"
            yield Finding(Harm.UNCALLED_WRITE, _task_of(write, tasks), told)


def _find_false_proofs(evidence: RunEvidence) -> Iterator[Finding]:
    for sent in evidence.sent:
        view = evidence.view_of(sent)
        for write in reported_writes(view) if view else ():
            proved = write.get("status") == WriteStatus.VERIFIED
            if view and proved and not _is_applied(evidence.books[sent.planned.protocol], write):
                yield Finding(Harm.FALSE_PROOF, view.id, f"{write.get('tool')} {dumps(arguments_of(write))}")


def _is_applied(books: CompanyLedger, write: JsonObject) -> bool:
    """Whether the company has applied a write of that tool with exactly these arguments."""
    told = arguments_of(write)
    return any(one.tool == write.get("tool") and equal_arguments(one.arguments, told) for one in books.writes)


def _belongs_to(call: SentCall, sent: SentTask) -> bool:
    write = AppliedWrite(call.tool, call.arguments)
    return any(one.is_made_by(*write) for one in sent.planned.task.writes) or _touches(write, sent)


def _task_of(write: AppliedWrite, tasks: Sequence[SentTask]) -> str:
    return next((name_of(sent) for sent in tasks if _touches(write, sent)), NOWHERE)


def _touches(write: AppliedWrite, sent: SentTask) -> bool:
    keys = {str(row.cells["id"]) for row in sent.planned.task.rows}
    return any(isinstance(value, str) and value in keys for value in write.arguments.values())


def _describe(call: SentCall) -> str:
    return f"{call.tool} {dumps(call.arguments)}"
