"""When a plan needs a person's decision, and how many different people it takes."""

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from services.executor.core.authorize.policy import ends_escalated, find_unruled, reasons
from services.executor.core.dossier.dossier import Progress
from services.executor.core.dossier.endings import Failed
from services.executor.core.records.binding import CallView, view_of
from services.executor.core.records.called_records import says
from services.executor.core.session.context import TurnContext
from services.executor.core.states import machine
from shared.contracts.plan import PlannedCall
from shared.contracts.policy import Verdict
from shared.domain.exact_json import Json
from shared.domain.words import FsmState, ToolClass, decider


def concern(progress: Progress) -> str | None:
    """Which of the template's words stands in a change, or in the records around it; None if none does.

    Whole words count, in either number, however they are written: ``card_data``, ``cardData``, ``Card data``.
    What a record says no or nothing to (``"cardholder_data": false``) is not said.
    """
    words = progress.template.two_persons_about
    found = (_concern_of(call, view, words) for call, view in _changes(progress)) if words else ()
    return next(filter(None, found), None)


def unanswered_matter(progress: Progress) -> str | None:
    """What stays open of such a matter: a change of whose records nothing says yes or no to it; None if nothing does.

    A field of one of the words with any value is an answer.
    """
    words = progress.template.two_persons_about
    if not words or concern(progress):
        return None
    silent = (call for call, view in _changes(progress) if not _is_answered(view, words))
    return next((f"nothing that was read says of {call.tool} whether {words[0]} is concerned" for call in silent), None)


def _changes(progress: Progress) -> Iterator[tuple[PlannedCall, CallView]]:
    plan, facts = progress.dossier.plan, progress.dossier.facts
    for call in plan.every_call if plan else ():
        if call.tool_class is ToolClass.CHANGE:
            yield call, view_of(call.tool, call.arguments, facts)


def _concern_of(call: PlannedCall, view: CallView, words: Sequence[str]) -> str | None:
    if word := _first_word_said((call.tool, *_texts(call.arguments)), words):
        return f"{word!r} in {call.tool}"
    for node in view.around:
        if word := _first_word_said(_texts(node.record), words):
            return f"{word!r} in what {node.seen.fact.tool} gave"
    return None


def _is_answered(view: CallView, words: Sequence[str]) -> bool:
    fields = (field for node in view.around for field in node.record.items())
    return any(value not in (None, "") and _first_word_said((name,), words) for name, value in fields)


def _first_word_said(texts: Iterable[str], words: Sequence[str]) -> str | None:
    return next((word for text in texts for word in words if says(text, word)), None)


def _texts(value: Json) -> Iterator[str]:
    """Every text of a value, and the name of every field that has a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if inner not in (None, False, 0, "", [], {}):
                yield name
                yield from _texts(inner)


def approval_needed(ctx: TurnContext, progress: Progress) -> str | None:
    """Who would have to decide on the plan, and why; None if nobody."""
    verdict = progress.dossier.verdict
    if verdict is None:
        raise Failed("there is no policy verdict on the plan")
    if not needs_person(ctx, progress):
        return None
    level, count, steps = verdict.escalation_level, persons_needed(ctx, progress), progress.template.confirmations
    who = decider(level)
    asked = (*reasons(verdict), *why_process_asks(ctx, progress))
    asked = (*asked, *((f"{len(steps)} confirmations in sequence ({', '.join(steps)})",) if steps else ()))
    return f"{who}{f' ({count} different people)' if count > 1 else ''}: {'; '.join(asked)}"


def needs_person(ctx: TurnContext, progress: Progress) -> bool:
    """Whether a rule or the process asks for a person, or the tenant does for every write that no rule speaks about."""
    verdict, template = progress.dossier.verdict, progress.template
    if verdict is None or template.confirmations or why_process_asks(ctx, progress):
        return True
    return verdict.requires_approval or not (verdict.passed or ends_escalated(template, verdict))


def asks_now(ctx: TurnContext, progress: Progress, verdict: Verdict) -> bool:
    """Whether a renewed verdict asks for a person where the one before asked for nobody, whatever its hashes say."""
    return needs_person(ctx, progress.update_dossier(verdict=verdict)) and not needs_person(ctx, progress)


def persons_needed(ctx: TurnContext, progress: Progress) -> int:  # noqa: ARG001  as the others are called
    """How many different people have to approve the plan."""
    verdict = progress.dossier.verdict
    approvers = max(progress.template.approvers, verdict.approvers if verdict else 1)
    return max(approvers, 2) if concern(progress) else approvers


def why_process_asks(ctx: TurnContext, progress: Progress) -> tuple[str, ...]:
    """The reasons to ask that no rule gives: arguments in free text alone, the process's own, writes without a rule."""
    found = (*arguments_for_a_person(ctx, progress), *_why_the_process_asks(ctx, progress))
    return (*found, *_why_the_tenant_asks(ctx, progress))


def arguments_for_a_person(ctx: TurnContext, progress: Progress) -> tuple[str, ...]:
    """Money, accounts and payees that only free text says, such as a mail's body, and the tenant does not trust."""
    plan = progress.dossier.plan
    return tuple(
        f"{call.tool}: {origin.argument} stands only in free text ({origin.ref})"
        for call in (plan.calls if plan else ())
        for origin in call.origins
        if origin.free_text and not any(fnmatchcase(origin.ref, field) for field in ctx.tenant.trusted_texts)
    )


def _why_the_process_asks(ctx: TurnContext, progress: Progress) -> tuple[str, ...]:
    if found := concern(progress):
        return (f"the process asks for two different people, because of {found}",)
    left = unanswered_matter(progress) if ctx.tenant.strict_processes else None
    return (left,) if left else ()


def _why_the_tenant_asks(ctx: TurnContext, progress: Progress) -> tuple[str, ...]:
    verdict = progress.dossier.verdict
    if verdict is None or ctx.tenant.unruled_writes != "approve":
        return ()
    tools = dict.fromkeys(find_unruled(verdict, progress.dossier.plan))
    if not tools:
        return ()
    return (f"no rule applies to {', '.join(filter(None, tools)) or 'the plan'}: unruled writes need a person here",)


def path_for(ctx: TurnContext, progress: Progress) -> tuple[FsmState, ...]:
    """The path of the plan in hand: with the gate where a person is asked, and to the end that its verdict leads to."""
    verdict = progress.dossier.verdict
    path = machine.with_gate(progress.path) if needs_person(ctx, progress) else progress.path
    return machine.with_end(path, verdict is not None and ends_escalated(progress.template, verdict))
