"""What became of a plan's calls by the ledger, as the model is told it."""

from collections.abc import Iterable, Mapping, Sequence

from services.executor.core.session.context import TurnContext
from services.executor.core.session.ledger import plan_entries
from services.executor.core.session.values import Fact, PartOfTask
from services.executor.core.tools.classes import words_of_tool
from services.executor.core.tools.near_names import words_of
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json, JsonObject, loads
from shared.domain.keywords import stem
from shared.domain.words import DONE, WriteStatus

NOT_MADE = "not made"
_NO_CALL = "no call was made for it"
_LEFT_FREELY = "it was left, though the task sets no condition"
_UNANSWERED = "it has no answer"
_ASKING = frozenset("quote estimate preview check simulate calculate compute validate lookup inquire".split())


def writes_as_json(written: Iterable[LedgerEntry]) -> list[Json]:
    """The ledger's entries for prompts and metadata, in the order of their intents."""
    ordered = sorted(written, key=lambda entry: (entry.sending_at is None, entry.sending_at))
    return [
        {
            "call_id": entry.call.call_id,
            "tool": entry.call.tool,
            "arguments": loads(entry.arguments_json),
            "status": entry.status.value,
            "result": loads(entry.result_json or "null"),
            "note": entry.note,
        }
        for entry in ordered
    ]


async def outcomes_of(
    ctx: TurnContext, plan: WritePlan, reasons: Mapping[str, str], why_not: str = ""
) -> dict[str, Json]:
    """What became of each call, by call id. ``reasons``: why calls were left out, by call id; ``why_not``: why the
    others were not sent.
    """
    known = await plan_entries(ctx.store, plan)
    told: dict[str, Json] = {}
    for call in plan.calls:
        entry = known.get(call.call_id)
        reason = reasons.get(call.call_id, why_not)
        told[call.call_id] = outcome_of_call(entry) if entry else {"status": NOT_MADE, "note": reason}
    return told


async def answers_to(ctx: TurnContext, plans: Iterable[WritePlan]) -> tuple[Fact, ...]:
    """The servers' answers to the plans' calls that took hold, as facts, on which a later plan may rest."""
    made = [entry for plan in plans for entry in (await plan_entries(ctx.store, plan)).values()]
    return tuple(
        Fact(
            ref=entry.call.call_id,
            connection_id=entry.call.connection_id,
            tool=entry.call.tool,
            arguments_json=entry.arguments_json,
            result_json=entry.result_json,
        )
        for entry in made
        if entry.status in DONE and entry.result_json is not None
    )


def parts_not_done(
    parts: Sequence[PartOfTask],
    plans: Iterable[WritePlan],
    ledger: Mapping[str, LedgerEntry],
    reasons: Mapping[str, str] = {},  # read only
    corrected: Mapping[int, str] = {},  # read only
) -> list[tuple[PartOfTask, str]]:
    """The parts to be done of which not every call took hold, and those to find out that have no answer, each with the
    reason.

    A later plan's calls for a part replace those that failed before. ``reasons``: by call id, why a call was left out;
    ``corrected``: by part, what was wrong with calls that never stood in a plan.
    """
    made = tuple(ledger.values())
    left: list[tuple[PartOfTask, str]] = []
    for part in parts:
        if part.unanswered:
            left.append((part, f"{_UNANSWERED}: {part.unanswered}"))
        elif part.is_to_do and part.unmet and not part.is_excused:
            left.append((part, f"{_LEFT_FREELY}: {part.unmet}"))
        elif part.is_to_do and not part.unmet:
            calls = [(plan, call) for plan in plans for call in plan.calls if call.part == part.number]
            why = _why_not_done(calls, made, reasons) or _why_without_effect(part, calls, made)
            if why == _NO_CALL and part.number in corrected:
                why = f"{why} that could be made: {corrected[part.number]}"
            if why is not None:
                left.append((part, why))
    return left


def _why_not_done(
    calls: Sequence[tuple[WritePlan, PlannedCall]], made: Sequence[LedgerEntry], reasons: Mapping[str, str]
) -> str | None:
    """Why the part is not done; None if every call took hold, or a later call of the same class did."""
    if not calls:
        return _NO_CALL
    open_ones = [(plan, call) for plan, call in calls if not _is_settled(plan, call, made)]
    last = max(plan.round for plan, _ in calls)
    still = [call for plan, call in open_ones if plan.round == last or not _made_good(plan, call, calls, made)]
    if not still:
        return None
    return "; ".join(f"{call.tool}: {_note(call, calls, made, reasons)}" for call in still[:3])


def only_asks(call: PlannedCall, quote: str) -> bool:
    """Whether a call only asks and changes nothing, by its verb; false if asking that is the part itself."""
    verb = words_of_tool(call.tool).verb
    return verb in _ASKING and stem(verb) not in {stem(word) for word in words_of(quote)}


def _why_without_effect(
    part: PartOfTask, calls: Sequence[tuple[WritePlan, PlannedCall]], made: Sequence[LedgerEntry]
) -> str | None:
    """Why a part is not done, if its calls only ask for something and change nothing; None if one of them acts, or a
    read shows a change.
    """
    if not all(only_asks(call, part.quote) for _, call in calls):
        return None
    hashes = {(plan.hash, call.call_id) for plan, call in calls}
    own = [entry for entry in made if (entry.plan_hash, entry.call.call_id) in hashes]
    if any(entry.status is WriteStatus.VERIFIED for entry in own):
        return None
    return f"{calls[-1][1].tool} only asks, and no read shows that it changed anything"


def _is_settled(plan: WritePlan, call: PlannedCall, made: Sequence[LedgerEntry]) -> bool:
    return any(
        entry.plan_hash == plan.hash and entry.call.call_id == call.call_id and entry.status in DONE for entry in made
    )


def _made_good(
    plan: WritePlan,
    call: PlannedCall,
    calls: Sequence[tuple[WritePlan, PlannedCall]],
    made: Sequence[LedgerEntry],
) -> bool:
    later = ((other, one) for other, one in calls if other.round > plan.round and one.tool_class is call.tool_class)
    return any(_is_settled(other, one, made) for other, one in later)


def _note(
    call: PlannedCall,
    calls: Sequence[tuple[WritePlan, PlannedCall]],
    made: Sequence[LedgerEntry],
    reasons: Mapping[str, str],
) -> str:
    hashes = {plan.hash for plan, one in calls if one == call}
    notes = (entry.note for entry in made if entry.call.call_id == call.call_id and entry.plan_hash in hashes)
    left_out_for = reasons.get(call.call_id)
    return next((note for note in notes if note), None) or (f"{NOT_MADE}: {left_out_for}" if left_out_for else NOT_MADE)


def outcome_of_call(entry: LedgerEntry) -> JsonObject:
    """What became of one write, as the model is told it."""
    return {
        "status": entry.status.value.replace("_", " "),
        "answer": loads(entry.result_json) if entry.result_json is not None else entry.refusal,
        "note": entry.note,
    }
