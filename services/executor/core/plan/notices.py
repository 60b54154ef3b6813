"""Notices: who has to be told, that none tells of an unproved change, and that none goes out in quiet hours (I4)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from services.executor.core.records.references import literal_scalars, referenced_calls, set_at_path
from services.executor.core.records.seen_records import contains_phrase
from services.executor.core.session.context import TurnContext, is_left_out, list_left_out_calls
from services.executor.core.session.dossier import Progress, TimedWait
from services.executor.core.session.ledger import index_plan_entries, is_verified_or_declared_done
from services.executor.core.session.values import Fact
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.toolbox import Toolbox
from services.executor.ports.tools import Tool
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.tenant import QuietHours
from shared.domain.answer import is_json_list
from shared.domain.exact_json import Json, JsonObject, as_object
from shared.domain.words import DONE_STATUSES, SENDABLE_STATUSES, FsmState, ToolClass, WriteStatus

_BODY_ARGUMENT_NAMES = "body message text content html note comment description".split()  # the likeliest name first
_NAMES_THAT_ARE_NO_BODY = frozenset(
    "subject title recipient to cc bcc from sender channel name email phone address".split()
)


class NoticeCheck(NamedTuple):
    """Whether a notice may be sent now. ``why_not``: what holds it back, empty if nothing does; ``sentence``: what is
    then added to its text.
    """

    why_not: str = ""
    sentence: str = ""


def build_unconfirmed_sentence(change_count: int) -> str:
    """The sentence for a notice about changes that their servers acknowledged and no read could prove.

    It names no tool, since the recipient knows none.
    """
    status = "is not yet confirmed" if change_count == 1 else "not all of it is confirmed yet"
    return f"Please note: what this message tells of was accepted by the system, but {status}."


def with_notice_sentences(plan: WritePlan, toolbox: Toolbox) -> WritePlan:
    """The plan in which each notice with a free text holds the sentence on unproved changes that it may need, so that
    the sentence is frozen, approved and hashed with the plan.
    """
    return plan.model_copy(update={"calls": tuple(_add_notice_sentence(call, plan, toolbox) for call in plan.calls)})


def append_sentence_to_notice(arguments: JsonObject, tool: Tool, sentence: str) -> JsonObject | None:
    """A notice's arguments with the sentence at the end of its free text; None if it is unclear which text that is, or
    the sentence does not fit there.

    The free text is an argument with a usual name for one, also inside an object; else the only text of several words.
    """
    texts = list(_texts_of_arguments(arguments, tool.parameters))
    bodies = [text for name in _BODY_ARGUMENT_NAMES for text in texts if words_of(text.path[-1])[-1:] == [name]]
    others = [
        text
        for text in texts
        if " " in text.value.strip() and not _NAMES_THAT_ARE_NO_BODY & set(words_of(text.path[-1]))
    ]
    for text in bodies[:1] or (others if len(others) == 1 else []):
        longer_text = f"{text.value.rstrip()}\n\n{sentence}"
        if text.max_length is None or len(longer_text) <= text.max_length:
            return set_at_path(arguments, text.path, longer_text)
    return None


def check_notice(
    notice: PlannedCall, plan: WritePlan, ledger: Mapping[str, LedgerEntry], *, after_proof: bool = False
) -> NoticeCheck:
    """Whether every change that the notice tells of is proved, or acknowledged and contradicted by no read.

    ``ledger``: the plan's entries by call id. ``after_proof``: the tenant accepts nothing less than proof. A notice
    that was frozen without a sentence needs proof, too.
    """
    changes = _list_changes_told_by_notice(notice, plan)
    unproved = [change for change in changes if not is_verified_or_declared_done(ledger.get(change.call_id))]
    if not unproved:
        return NoticeCheck()
    doubtful = [change for change in unproved if not _is_only_acknowledged(ledger.get(change.call_id))]
    if doubtful or after_proof or not notice.if_acknowledged:
        return NoticeCheck(why_not=_describe_unproved(doubtful or unproved, ledger))
    return NoticeCheck(sentence=notice.if_acknowledged)


def _is_only_acknowledged(entry: LedgerEntry | None) -> bool:
    """Whether the server accepted the call, no read could prove its effect, and none contradicts it."""
    return entry is not None and entry.status is WriteStatus.UNVERIFIED and not entry.contradicted


def _list_changes_told_by_notice(notice: PlannedCall, plan: WritePlan) -> list[PlannedCall]:
    """The changes that a notice tells of: those of its own part and of no part; if there are none, or it has no part
    itself, all of the plan.

    In "Close it, and tell somebody that it is closed", the notice has a part of its own.
    """
    own_calls = [call for call in plan.changes if None in (notice.part, call.part) or notice.part == call.part]
    return own_calls or list(plan.changes)


class _NoticeText(NamedTuple):
    """A text among a notice's arguments. ``max_length``: how many characters its schema permits."""

    path: tuple[str, ...]
    value: str
    max_length: int | None


def _texts_of_arguments(
    arguments: JsonObject, properties: Mapping[str, Json], path: tuple[str, ...] = ()
) -> Iterable[_NoticeText]:
    for name, value in arguments.items():
        schema = as_object(properties.get(name))
        if isinstance(value, str):
            max_length = schema.get("maxLength")
            if "enum" not in schema:
                yield _NoticeText((*path, name), value, max_length if isinstance(max_length, int) else None)
        elif isinstance(value, dict):
            yield from _texts_of_arguments(value, as_object(schema.get("properties")), (*path, name))


def _add_notice_sentence(call: PlannedCall, plan: WritePlan, toolbox: Toolbox) -> PlannedCall:
    changes = _list_changes_told_by_notice(call, plan)
    tool = toolbox.find_tool(call.connection_id, call.tool)
    if call.tool_class is not ToolClass.NOTIFY or not changes or tool is None:
        return call
    sentence = build_unconfirmed_sentence(len(changes))
    fits = append_sentence_to_notice(call.arguments, tool, sentence) is not None
    return call.model_copy(update={"if_acknowledged": sentence}) if fits else call


def _describe_unproved(changes: Sequence[PlannedCall], ledger: Mapping[str, LedgerEntry]) -> str:
    statuses = ((change, _describe_status(ledger.get(change.call_id))) for change in changes)
    return ", ".join(f"{change.call_id} {change.tool} is {status}" for change, status in statuses)


def _describe_status(entry: LedgerEntry | None) -> str:
    if entry is None:
        return "not made"
    return "contradicted by its read-back" if entry.contradicted else entry.status.value.replace("_", " ")


def is_addressed_to(call: PlannedCall, party: str, plan: WritePlan, facts: Iterable[Fact]) -> bool:
    """Whether a notice of the plan goes to somebody who is called ``party``, a word such as "vendor".

    What its text says does not count: a letter about the vendor is not a letter to the vendor.
    """
    if contains_phrase(call.tool, party) or any(contains_phrase(name, party) for name in call.arguments):
        return True
    referenced_ids = set(referenced_calls(call.arguments))
    if any(contains_phrase(other.tool, party) for other in plan.calls if other.call_id in referenced_ids):
        return True
    scalars = literal_scalars(call.arguments)
    texts = {scalar.strip().casefold() for scalar in scalars if isinstance(scalar, str)}
    if any(" " not in text and contains_phrase(text, party) for text in texts):
        return True
    return not texts.isdisjoint(_texts_of_party(party, facts))


def why_notice_waits(ctx: TurnContext, notice: PlannedCall, plan: WritePlan, entries: Mapping[str, LedgerEntry]) -> str:
    """A sentence on the changes for which the notice must wait (``check_notice``); empty if it may be sent."""
    release = check_notice(notice, plan, entries, after_proof=ctx.tenant.notices_after_proof)
    return f"nobody is told of a change that is not verified: {release.why_not}" if release.why_not else ""


def why_notice_needed(ctx: TurnContext, progress: Progress, plan: WritePlan) -> str:
    """A sentence for the model, if its plan lacks a notice that the process wants and a tool could send; else empty."""
    party = progress.template.notice_to
    notifying = sorted({tool.name for tool in ctx.toolbox.tools.values() if tool.tool_class is ToolClass.NOTIFY})
    if not party or not notifying or not plan.changes or _list_notices_to(plan, party, progress):
        return ""
    return (
        f"the {party} has to be told of the change: add a call that goes to the {party}, by {' or '.join(notifying)}; "
        "if none of them can reach the addressee, propose the same calls again"
    )


async def append_missing_notice_to_answer(ctx: TurnContext, progress: Progress) -> Progress:
    """The answered progress; if nobody told the party whom the process has to tell, its answer says so.

    An answer that has to match exactly, such as a list, stays unchanged (I9).
    """
    missing_notice = await _describe_missing_notice(ctx, progress)
    answer = progress.dossier.answer or ""
    if missing_notice:
        progress = progress.add_notes(not_told=missing_notice)
        if not is_json_list(answer):
            progress = progress.update_dossier(answer=f"{answer.rstrip()}\n\n{missing_notice}")
    return progress


def _texts_of_party(party: str, facts: Iterable[Fact]) -> Iterator[str]:
    """Yields, in lower case, the texts in the facts under the party's name, such as its people's addresses."""
    for fact in facts:
        if fact.ok:
            yield from _find_texts_under_party_name(fact.result, party, under=contains_phrase(fact.tool, party))


def _find_texts_under_party_name(value: Json, party: str, *, under: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _find_texts_under_party_name(inner, party, under=under or contains_phrase(name, party))
    elif isinstance(value, list):
        for inner in value:
            yield from _find_texts_under_party_name(inner, party, under=under)
    elif under and isinstance(value, str) and any(mark.isalpha() for mark in value):
        yield value.strip().casefold()


async def _describe_missing_notice(ctx: TurnContext, progress: Progress) -> str:
    """A sentence if a plan has changes, and no notice of it or of a later plan told the party; else empty."""
    party, is_untold = progress.template.notice_to, False
    reasons: list[str] = []
    for plan in progress.dossier.every_plan if party else ():
        entries = await index_plan_entries(ctx.store, plan)
        notices = _list_notices_to(plan, party, progress)
        if any(call.call_id in entries and entries[call.call_id].status in DONE_STATUSES for call in notices):
            is_untold, reasons = False, []
        else:
            is_untold = is_untold or bool(plan.changes)
            reasons += _reasons_not_sent(ctx, plan, notices, entries)
    if not is_untold:
        return ""
    can_tell = any(tool.tool_class is ToolClass.NOTIFY for tool in ctx.toolbox.tools.values())
    reasons.append("the plan has no notice to them" if can_tell else "no tool is offered that tells anybody")
    return f"The {party} was not told: {reasons[0]}."


def _reasons_not_sent(
    ctx: TurnContext, plan: WritePlan, notices: tuple[PlannedCall, ...], entries: Mapping[str, LedgerEntry]
) -> list[str]:
    reasons = {left_out.call.call_id: left_out.reason for left_out in list_left_out_calls(ctx, plan)}
    reasons |= {call_id: f"{entry.call.tool}: {entry.note}" for call_id, entry in entries.items()}
    return [reasons[call.call_id] for call in notices if call.call_id in reasons]


def _list_notices_to(plan: WritePlan, party: str, progress: Progress) -> tuple[PlannedCall, ...]:
    return tuple(call for call in plan.notices if is_addressed_to(call, party, plan, progress.dossier.facts))


async def find_wait_for_quiet_hours(ctx: TurnContext, progress: Progress) -> TimedWait | None:
    """The wait until the quiet hours end, if notices of the plan are still to be sent; None if they may be sent now.

    Judged once in each attempt at a turn, by the store's clock, and journaled, so that a replay judges the same.
    """
    hours = ctx.tenant.quiet_hours
    if hours is None or not progress.template.quiet_hours or progress.state is not FsmState.SCHEDULE_NOTIFY:
        return None
    plan = progress.dossier.present_plan
    until = _find_end_of_quiet_hours(ctx, progress, hours) if plan.notices else None
    if until is None:
        return None
    entries = await index_plan_entries(ctx.store, plan)
    unsent = (
        call
        for call in plan.notices
        if call.call_id not in entries or entries[call.call_id].status in SENDABLE_STATUSES
    )
    remaining_calls = (call for call in unsent if not is_left_out(ctx, plan, call))
    notices_to_send = [call for call in remaining_calls if not why_notice_waits(ctx, call, plan, entries)]
    if not notices_to_send:
        return None
    local = until.astimezone(ZoneInfo(ctx.tenant.time_zone))
    names = ", ".join(dict.fromkeys(call.tool for call in notices_to_send))
    reason = (
        f"waiting until {local:%Y-%m-%d %H:%M} ({ctx.tenant.time_zone}), when the quiet hours are over, to call {names}"
    )
    return TimedWait(until, reason)


def _find_end_of_quiet_hours(ctx: TurnContext, progress: Progress, hours: QuietHours) -> datetime | None:
    def find_end() -> str:
        end = hours.find_end(ctx.journal.now, ZoneInfo(ctx.tenant.time_zone))
        return end.isoformat() if end else ""

    key = f"{progress.visit_key}:quiet:{ctx.journal.began:%Y%m%dT%H%M%S.%f}"
    stored_end = ctx.journal.decide_once(key, find_end)
    return datetime.fromisoformat(stored_end) if stored_end else None
