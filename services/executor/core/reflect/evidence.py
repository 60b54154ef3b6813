"""What is known of an ended run, for its score."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from services.executor.core.dossier.dossier import Dossier, Progress
from services.executor.core.reflect.document_templates import asked_documents
from services.executor.core.reflect.found import (
    SUMMARY,
    FoundSources,
    collect_found,
    is_empty,
    missing_outputs,
    says_something,
    untraced_tokens,
)
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.answer import is_exact_match
from shared.domain.identity_cache import IdentityCache
from shared.domain.quality import Evidence
from shared.domain.words import TaskState, ToolClass, WriteStatus

_DOUBTFUL = (WriteStatus.UNVERIFIED, WriteStatus.ABSENT, WriteStatus.IN_DOUBT)
_ERROR = re.compile(
    r"\b(?:an? (?:\w+ )?error (?:occurred|happened)|error:|something went wrong|exception|traceback"
    r"|(?:I|we) (?:could not|couldn't|was unable|were unable|am unable|cannot|can't)|unable to|failed to"
    r"|(?:could not|cannot|can't) be (?:\w+ly )?(?:found|read|completed|carried out|determined|retrieved|checked)"
    r"|not found|nothing (?:that answers \w+ \w+ )?(?:could be |was )found|needs a model)\b",
    re.I,
)


class ReflectedRun(NamedTuple):
    """A run at its end, or before its answer is improved. ``progress`` is None where it ended before it began."""

    state: TaskState
    answer: str
    progress: Progress | None
    writes: Sequence[LedgerEntry]
    task: str
    escalated: bool = False
    dry_run: bool = False

    @property
    def known(self) -> FoundSources:
        return _found(self)

    @property
    def missing(self) -> tuple[str, ...]:
        """The outputs of its process that the answer does not speak of; a bare list speaks of none, and need not."""
        if self.progress is None or is_exact_match(self.answer) or not self.acts:
            return ()
        return missing_outputs(self.progress.template.outputs, self.answer, self.known)

    @property
    def acts(self) -> bool:
        """Whether the process was walked as such, and not only a question answered or a document written about it."""
        if self.progress is None or self.progress.read_only:
            return False
        return bool(self._calls) or not asked_documents(self.task)

    @property
    def idle(self) -> bool:
        """Whether something was to be done, and nothing was planned; a condition of the task that is not met counts."""
        return self.acts and not self._calls and not self.all_left

    @property
    def all_left(self) -> bool:
        """Whether every part that was to be done was left for a reason."""
        parts = [part for part in self.progress.dossier.parts if part.is_to_do] if self.progress else []
        return bool(parts) and all(part.unmet for part in parts)

    @property
    def _calls(self) -> tuple[PlannedCall, ...]:
        plans = self.progress.dossier.every_plan if self.progress else ()
        return tuple(call for plan in plans for call in plan.calls)


_found = IdentityCache[ReflectedRun, FoundSources](
    lambda run: collect_found(run.task, run.progress.dossier if run.progress else Dossier(), run.writes), 32
)


def evidence(run: ReflectedRun) -> Evidence:
    """Verified facts and penalties. Where a run had nothing to prove, nothing is earned for it."""
    progress = run.progress
    dossier = progress.dossier if progress else Dossier()
    calls = [call for plan in dossier.every_plan for call in plan.calls]
    required = [output for output in progress.template.outputs if output != SUMMARY] if progress and run.acts else []
    known = run.known
    nothing_found = bool(dossier.facts) and all(is_empty(fact.result) for fact in dossier.facts if fact.ok)
    return Evidence(
        state=run.state,
        exact_match=is_exact_match(run.answer),
        policy_kept=_policy_kept(run, dossier) if calls else None,
        writes_planned=0 if run.dry_run else sum(call.tool_class is ToolClass.CHANGE for call in calls),
        writes_verified=sum(e.status is WriteStatus.VERIFIED and e.compensates is None for e in run.writes),
        writes_doubtful=sum(entry.status in _DOUBTFUL for entry in run.writes),
        audit_clean=dossier.audit_clean if dossier.values else None,
        needs_met=bool(dossier.facts) and all(fact.ok for fact in dossier.facts) and not nothing_found,
        answer_empty=not run.answer.strip(),
        repeated_calls=progress.repeated_calls if progress else 0,
        outputs_there=not run.missing if required and not run.idle else None,
        grounded=not run.idle and not nothing_found and (run.dry_run or is_grounded(run.answer, known)),
        provable=run.dry_run and _is_provable(dossier.plan),
        empty_data=nothing_found,
        error_phrase=says_failure(run.answer),
        idle=run.idle,
        tool_calls=progress.calls_made if progress else 0,
        answer_words=len(run.answer.split()),
        task_words=len(run.task.split()),
    )


def says_failure(text: str) -> bool:
    """Whether a text says that something did not work, or was not found."""
    return bool(_ERROR.search(text))


def is_grounded(text: str, known: FoundSources) -> bool:
    """Whether a text says something that was found, and no figure that was not."""
    return says_something(text, known) and not untraced_tokens(text, known)


def _policy_kept(run: ReflectedRun, dossier: Dossier) -> bool | None:
    """Whether the verdict let the plan pass, or its rules were followed: a person decided, or the case went further.

    None where nothing was done that could keep or break them: no verdict was needed, or the task was refused.
    """
    verdict = dossier.verdict
    if verdict is None or (verdict.blocked and run.state is TaskState.REJECTED):
        return None
    followed = run.escalated or (dossier.by_person and not verdict.blocked)
    return verdict.passed or (followed and run.state is TaskState.COMPLETED)


def _is_provable(plan: WritePlan | None) -> bool:
    """Of a plan that changes something, whether a read will show each change. Notices no read can show."""
    changes = [call for call in (plan.calls if plan else ()) if call.tool_class is ToolClass.CHANGE]
    return bool(changes) and all(call.read_back is not None for call in changes)
