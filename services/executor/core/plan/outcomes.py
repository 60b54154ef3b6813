"""What became of a plan's calls, from the ledger, as the model is told it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from services.executor.core.session.context import TurnContext
from services.executor.core.session.ledger import index_plan_entries, list_entries
from services.executor.core.session.values import Fact, PartOfTask
from services.executor.core.tools.classes import ASKING_VERBS, words_of_tool
from services.executor.core.tools.name_similarity import words_of
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json, JsonObject, loads
from shared.domain.keywords import stem
from shared.domain.words import DONE_STATUSES, WriteStatus

NOT_MADE_TEXT = "not made"
_NO_CALL_TEXT = "no call was made for it"
_LEFT_WITHOUT_CONDITION_TEXT = "it was left, though the task sets no condition"
_NO_ANSWER_TEXT = "it has no answer"


async def describe_outcomes(
    ctx: TurnContext, plan: WritePlan, reasons: Mapping[str, str], why_not: str = ""
) -> dict[str, Json]:
    """What the model is told of each call of the plan: ``{call id: {"status", "answer", "note"}}``, from the ledger.

    A call without an entry there is "not made": ``reasons`` says by call id why, ``why_not`` why of all others.
    """
    entries = await index_plan_entries(ctx.store, plan)
    outcomes: dict[str, Json] = {}
    for call in plan.calls:
        entry = entries.get(call.call_id)
        reason = reasons.get(call.call_id, why_not)
        outcomes[call.call_id] = (
            describe_outcome_of_write(entry) if entry else {"status": NOT_MADE_TEXT, "note": reason}
        )
    return outcomes


async def list_answers_as_facts(ctx: TurnContext, plans: Iterable[WritePlan]) -> tuple[Fact, ...]:
    """The servers' answers to the plans' calls that took effect, as facts on which a later plan may rest."""
    done = [entry for entry in await list_entries(ctx.store, plans) if entry.status in DONE_STATUSES]
    return tuple(convert_write_to_fact(entry, entry.result_json) for entry in done if entry.result_json is not None)


def convert_write_to_fact(entry: LedgerEntry, result_json: str) -> Fact:
    """A write as a fact with ``result_json`` as its result and the call's id as its reference."""
    return Fact(
        ref=entry.call.call_id,
        connection_id=entry.call.connection_id,
        tool=entry.call.tool,
        arguments_json=entry.arguments_json,
        result_json=result_json,
    )


def list_parts_not_done(
    parts: Sequence[PartOfTask],
    plans: Collection[WritePlan],
    ledger: Mapping[str, LedgerEntry],
    reasons: Mapping[str, str] = {},  # read only
    last_errors_by_part: Mapping[int, str] = {},  # read only
) -> list[tuple[PartOfTask, str]]:
    """The parts to be done of which not every call took effect, or that were left though the task sets no condition,
    and the questions without an answer, each with the reason.

    A later plan's calls for a part replace those that failed before. ``reasons``: by call id, why a call was left out;
    ``last_errors_by_part``: by part, what was wrong with calls that never came into a plan.
    """
    entries = {(entry.plan_hash, entry.call.call_id): entry for entry in ledger.values()}
    undone_parts: list[tuple[PartOfTask, str]] = []
    for part in parts:
        if part.unanswered:
            undone_parts.append((part, f"{_NO_ANSWER_TEXT}: {part.unanswered}"))
        elif part.is_to_do and part.unmet and not part.is_excused:
            undone_parts.append((part, f"{_LEFT_WITHOUT_CONDITION_TEXT}: {part.unmet}"))
        elif part.is_to_do and not part.unmet:
            own_calls = ((plan, call) for plan in plans for call in plan.calls if call.part == part.number)
            calls = [_CallWithEntry(plan, call, entries.get((plan.hash, call.call_id))) for plan, call in own_calls]
            reason = _why_not_done(calls, reasons) or _why_without_effect(part, calls)
            if reason == _NO_CALL_TEXT and part.number in last_errors_by_part:
                reason = f"{reason} that could be made: {last_errors_by_part[part.number]}"
            if reason is not None:
                undone_parts.append((part, reason))
    return undone_parts


class _CallWithEntry(NamedTuple):
    """A call of a part, with its ledger entry if it was begun."""

    plan: WritePlan
    call: PlannedCall
    entry: LedgerEntry | None

    @property
    def is_done(self) -> bool:
        """Whether the call took effect as far as is known: a read shows it, or none can; no read shows other values."""
        return self.entry is not None and self.entry.status in DONE_STATUSES and not self.entry.shows_other_value

    def is_replaced_by(self, other: "_CallWithEntry") -> bool:
        is_later = other.plan.round > self.plan.round
        return other.is_done and is_later and other.call.tool_class is self.call.tool_class


def _why_not_done(calls: Sequence[_CallWithEntry], reasons: Mapping[str, str]) -> str | None:
    """Why the part is not done; None if every call, or a later call of the same class, took effect."""
    if not calls:
        return _NO_CALL_TEXT
    undone_calls = [own for own in calls if not own.is_done and not any(map(own.is_replaced_by, calls))]
    descriptions = (f"{own.call.tool}: {_describe_undone_call(own, reasons)}" for own in undone_calls[:3])
    return "; ".join(descriptions) or None


def _describe_undone_call(undone: _CallWithEntry, reasons: Mapping[str, str]) -> str:
    reason = reasons.get(undone.call.call_id)
    return (undone.entry.note if undone.entry else None) or (f"{NOT_MADE_TEXT}: {reason}" if reason else NOT_MADE_TEXT)


def is_only_a_question(call: PlannedCall, quote: str) -> bool:
    """Whether a call only asks something, by its verb; false if asking that is what the part wants."""
    verb = words_of_tool(call.tool).verb
    return verb in ASKING_VERBS and stem(verb) not in {stem(word) for word in words_of(quote)}


def _why_without_effect(part: PartOfTask, calls: Sequence[_CallWithEntry]) -> str | None:
    """Why a part is not done although its calls were made: they only ask, and no read shows a change; else None."""
    do_more = (not is_only_a_question(own.call, part.quote) for own in calls)
    if any(do_more) or any(own.entry is not None and own.entry.status is WriteStatus.VERIFIED for own in calls):
        return None
    return f"{calls[-1].call.tool} only asks, and no read shows that it changed anything"


def describe_outcome_of_write(entry: LedgerEntry) -> JsonObject:
    """What became of one write, as the model is told it."""
    return {
        "status": entry.status.value.replace("_", " "),
        "answer": loads(entry.result_json) if entry.result_json is not None else entry.refusal,
        "note": entry.note,
    }
