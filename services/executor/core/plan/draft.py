"""The plans of a task: those that were made, and the proposals that wait to become the next one."""

from collections.abc import Mapping, Sequence

from services.executor.core.dossier.endings import Failed
from services.executor.core.dossier.parts import parts_to_do
from services.executor.core.dossier.values import PartOfTask
from services.executor.core.model.exchange import Exchange
from services.executor.core.plan.outcomes import NOT_MADE, only_asks, outcome_of_call
from services.executor.core.plan.proposals import ClosedPlan, Proposal, call_number, why_left
from services.executor.core.prompts.sections import render
from services.executor.core.session.context import TurnContext
from services.executor.core.session.ledger import entries
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import WritePlan
from shared.domain.exact_json import Json, JsonObject, loads
from shared.domain.words import SENDABLE, WriteStatus

_MOST_CORRECTIONS = 3
_HELD = "held: propose what else the task needs"
_AGAIN = "propose it again"


class PlanDraft:
    """What is proposed and not made yet, what was made, and how often the model was corrected."""

    def __init__(self, ctx: TurnContext, exchange: Exchange) -> None:
        self._ctx = ctx
        self._exchange = exchange
        self.held: list[Proposal] = []
        self.plans: list[WritePlan] = []
        self.corrected: dict[int, str] = {}  # by part, what was wrong with its calls last
        self.sent_back: set[str] = set()  # doubts about values that the model was told of
        self._effects: dict[int, bool] = {}  # by part, whether any of its calls did more than ask
        self._corrections = 0

    @property
    def number(self) -> int:
        """Of the plan that would close next, counted from 1. Ends the run where there were enough."""
        if len(self.plans) >= self._ctx.limits.plans:
            raise Failed(f"the task made {len(self.plans)} plans, and a further one is not made")
        return len(self.plans) + 1

    @property
    def last_number(self) -> int:
        """The highest number of a call in the plans before: the ids of the next one go on from there."""
        return max((call_number(call) for plan in self.plans for call in plan.calls), default=0)

    def lacking(self, parts: Sequence[PartOfTask]) -> list[int]:
        """The parts to be done that have no call yet, in a plan or waiting for one."""
        planned = {call.part for plan in self.plans for call in plan.calls} | {one.call.part for one in self.held}
        return [part.number for part in parts_to_do(parts) if part.number not in planned and not part.unmet]

    def without_effect(self, parts: Sequence[PartOfTask]) -> list[int]:
        """The same, and the parts whose calls, as far as they were made, only asked."""
        asked = [
            part.number for part in parts_to_do(parts) if not part.unmet and not self._effects.get(part.number, True)
        ]
        return sorted({*self.lacking(parts), *asked})

    def list_left(self, parts: Sequence[PartOfTask]) -> dict[str, str]:
        """The calls that wait for a part which was left since, each with the reason."""
        left = {part.number: why_left(part) for part in parts if part.unmet}
        return {one.use_id: f"Not made: {left[one.call.part]}" for one in self.held if one.call.part in left}

    async def take(self, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Those of the proposals that are new; one that waits or was made already is answered from there."""
        fresh: list[Proposal] = []
        for one in proposals:  # one by one: the same call twice in a reply is one call, too
            if not await self._is_answered(one):
                self.held.append(one)
                fresh.append(one)
        return fresh

    def hold(self, fresh: Sequence[Proposal]) -> None:
        """The proposals wait for what else the task needs."""
        for one in fresh:
            self._exchange.answer(one.use_id, {"held": one.name, "note": _HELD})

    def correct(self, errors: Mapping[str, str]) -> None:
        """One error holds the whole reply: its writes, and those that waited, are to be proposed again.

        Ends the run after three corrections.
        """
        self._corrections += 1
        reasons = list(dict.fromkeys(errors.values()))
        wrong = [one for one in self.held if one.use_id in errors]
        self.corrected |= {one.call.part: errors[one.use_id] for one in wrong if one.call.part is not None}
        if self._corrections > _MOST_CORRECTIONS:
            why = "; ".join(reasons)
            raise Failed(
                f"the calls that the model proposed could not be made after {_MOST_CORRECTIONS} corrections: {why}"
            )
        self._ctx.journal.tell("note", corrected=[*reasons])
        waited = [one for one in self.held if not self._exchange.is_open(one.use_id)]
        self.held = []
        for use_id, why in errors.items():
            if self._exchange.is_open(use_id):
                self._exchange.refuse(use_id, why)
        self._exchange.close(_told_later([(one, {"status": errors.get(one.use_id, _AGAIN)}) for one in waited]))

    def hear(self, closed: ClosedPlan, outcomes: Mapping[str, Json], parts: Sequence[PartOfTask]) -> list[Json]:
        """What became of a closed plan's calls goes back as their results; the same as data."""
        for call in closed.plan.calls:
            if call.part is not None:
                quote = next((part.quote for part in parts if part.number == call.part), "")
                acts = not only_asks(call, quote) or _is_verified(outcomes[call.call_id])
                self._effects[call.part] = self._effects.get(call.part, False) or acts
        told = {use_id: outcomes[call_id] for use_id, call_id in closed.calls.items()}
        told |= {use_id: {"status": NOT_MADE, "note": why} for use_id, why in closed.barred.items()}
        proposals = {one.use_id: one for one in self.held}
        self.held = []
        self.plans.append(closed.plan)
        later = [(proposals[use_id], outcome) for use_id, outcome in told.items() if not self._exchange.is_open(use_id)]
        for use_id, outcome in told.items():
            if self._exchange.is_open(use_id):
                self._exchange.answer(use_id, outcome)
        self._exchange.close(_told_later(later))
        return [{**_call(proposals[use_id]), "result": outcome} for use_id, outcome in told.items()]

    async def _is_answered(self, one: Proposal) -> bool:
        same = next((held for held in self.held if held.what == one.what and held.call.part == one.call.part), None)
        if same is not None:
            self._exchange.answer(one.use_id, {"held": same.name, "note": "proposed already: it will be made once"})
            return True
        made = [entry for plan in self.plans for entry in (await entries(self._ctx.store, plan)).values()]
        known = next((entry for entry in made if _is_same(entry, one) and _stands(entry)), None)
        if known is not None:
            self._exchange.answer(one.use_id, outcome_of_call(known))
        return known is not None


def _is_verified(outcome: Json) -> bool:
    return isinstance(outcome, dict) and outcome.get("status") == WriteStatus.VERIFIED.value


def _is_same(entry: LedgerEntry, one: Proposal) -> bool:
    """Whether a call was planned like that, or went out like that: with what an earlier call's answer filled in."""
    if (entry.call.connection_id, entry.call.tool) != one.what[:2]:
        return False
    return entry.call.arguments_json == one.call.arguments_json or loads(entry.arguments_json) == one.call.arguments


def _stands(entry: LedgerEntry) -> bool:
    """Whether the write took its way: one that was refused, or never went out, may be proposed again."""
    return entry.status not in (*SENDABLE, WriteStatus.REFUSED)


def _told_later(told: Sequence[tuple[Proposal, Json]]) -> str:
    """What is told of calls whose own results were given before."""
    outcomes: list[Json] = [
        {"proposal": one.name, **_call(one), **(outcome if isinstance(outcome, dict) else {})} for one, outcome in told
    ]
    return render({"outcomes": outcomes}) if outcomes else ""


def _call(one: Proposal) -> JsonObject:
    return {"tool": one.call.tool, "arguments": one.call.arguments}
