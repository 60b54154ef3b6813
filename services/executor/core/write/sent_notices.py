"""Notices, in whichever state they go out: none says done of what may not be; who has to be told is told (I4)."""

from collections.abc import Iterable, Iterator, Mapping

from services.executor.core.dossier.dossier import Fact, Progress
from services.executor.core.records.plain_words import says
from services.executor.core.records.refs import literal_parts, references
from services.executor.core.session.context import TurnContext
from services.executor.core.session.ledger import entries
from services.executor.core.write.left_out import is_left_out, leave_out, left_out_calls
from services.executor.core.write.notices import may_go_out
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.answer import is_exact_match
from shared.domain.exact_json import Json
from shared.domain.words import SENDABLE, ToolClass, WriteStatus

_GONE_OUT = (WriteStatus.SENT, WriteStatus.VERIFIED, WriteStatus.UNVERIFIED)


def tells(call: PlannedCall, party: str, plan: WritePlan, facts: Iterable[Fact]) -> bool:
    """Whether a notice of the plan goes to somebody who is called ``party`` (a word such as "vendor").

    What a text says of them does not count: a letter about the vendor is not a letter to the vendor.
    """
    if says(call.tool, party) or any(says(name, party) for name in call.arguments):
        return True
    made = set(references(call.arguments))
    if any(says(other.tool, party) for other in plan.calls if other.call_id in made):
        return True
    given = {part.strip().casefold() for part in literal_parts(call.arguments) if isinstance(part, str)}
    if any(" " not in text and says(text, party) for text in given):
        return True
    return not given.isdisjoint(_texts_of_party(party, facts))


async def hold_back(ctx: TurnContext, progress: Progress) -> None:
    """Leave out the notices of which a change is neither verified nor acknowledged; what has gone out already stays."""
    plan = progress.dossier.plan
    known = await entries(ctx, plan) if plan else {}
    for call in plan.calls if plan else ():
        unsent = call.call_id not in known or known[call.call_id].status in SENDABLE
        if plan is None or call.tool_class is not ToolClass.NOTIFY or not unsent or is_left_out(ctx, plan, call):
            continue
        going = may_go_out(call, plan, known, after_proof=ctx.tenant.notices_after_proof)
        if not going.allowed:
            await leave_out(ctx, plan, call, f"nobody is told of a change that is not verified: {going.why_not}")


def notice_wanted(ctx: TurnContext, progress: Progress, plan: WritePlan) -> str:
    """What is to be said to a model whose plan changes something, and does not tell whom it could and has to tell."""
    party = progress.template.notice_to
    notifying = sorted({tool.name for tool in ctx.toolbox.tools.values() if tool.tool_class is ToolClass.NOTIFY})
    if not party or not notifying or not _changes_anything(plan) or _notices_to(plan, party, progress):
        return ""
    return (
        f"the {party} has to be told of the change: add a call that goes to the {party}, by {' or '.join(notifying)}; "
        "if none of them can reach the addressee, propose the same calls again"
    )


async def append_missing_notice(ctx: TurnContext, progress: Progress) -> Progress:
    """The answered progress, which says if nobody told whom the process has to tell; a list stays one (I9)."""
    said, answer = await _missing_notice(ctx, progress), progress.dossier.answer or ""
    if not said:
        return progress
    noted = progress.model_copy(update={"notes": {**progress.notes, "not_told": said}})
    return noted if is_exact_match(answer) else noted.update_dossier(answer=f"{answer.rstrip()}\n\n{said}")


def _texts_of_party(party: str, facts: Iterable[Fact]) -> Iterator[str]:
    """The texts that facts show under the party's name: who they are, and where they are reached."""
    for fact in facts:
        if fact.ok:
            yield from _texts(fact.result, party, under=says(fact.tool, party))


def _texts(value: Json, party: str, *, under: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, party, under=under or says(name, party))
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, party, under=under)
    elif under and isinstance(value, str) and any(mark.isalpha() for mark in value):
        yield value.strip().casefold()


async def _missing_notice(ctx: TurnContext, progress: Progress) -> str:
    """Of all plans together: a notice tells of what was changed until then, in its own plan or an earlier one."""
    party, untold = progress.template.notice_to, False
    reasons: list[str] = []
    for plan in progress.dossier.every_plan if party else ():
        known, notices = await entries(ctx, plan), _notices_to(plan, party, progress)
        if any(call.call_id in known and known[call.call_id].status in _GONE_OUT for call in notices):
            untold, reasons = False, []
        else:
            untold, reasons = untold or _changes_anything(plan), [*reasons, *_why(ctx, plan, notices, known)]
    if not untold:
        return ""
    offered = any(tool.tool_class is ToolClass.NOTIFY for tool in ctx.toolbox.tools.values())
    none = "the plan has no notice to them" if offered else "no tool is offered that tells anybody"
    return f"The {party} was not told: {reasons[0] if reasons else none}."


def _why(
    ctx: TurnContext, plan: WritePlan, notices: tuple[PlannedCall, ...], known: Mapping[str, LedgerEntry]
) -> list[str]:
    reasons = {one.call.call_id: one.why for one in left_out_calls(ctx, plan)}
    reasons |= {call_id: f"{entry.call.tool}: {entry.note}" for call_id, entry in known.items()}
    return [reasons[call.call_id] for call in notices if call.call_id in reasons]


def _changes_anything(plan: WritePlan) -> bool:
    return any(call.tool_class is ToolClass.CHANGE for call in plan.calls)


def _notices_to(plan: WritePlan, party: str, progress: Progress) -> tuple[PlannedCall, ...]:
    notices = (call for call in plan.calls if call.tool_class is ToolClass.NOTIFY)
    return tuple(call for call in notices if tells(call, party, plan, progress.dossier.facts))
