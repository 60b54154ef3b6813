"""Proposals: calls of tools that write, as calls of a plan; the draft that holds them, and the plans that were made."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.executor.core.model.talk import Exchange
from services.executor.core.plan.agreement import asks_to_repeat
from services.executor.core.plan.outcomes import NOT_MADE, only_asks, outcome_of_call
from services.executor.core.records.references import references
from services.executor.core.session.context import TurnContext
from services.executor.core.session.ledger import plan_entries
from services.executor.core.session.values import PartOfTask, parts_to_do
from services.executor.core.states.machine import Failed
from services.executor.core.states.prompts import render
from services.executor.core.tools.schema_drift import Corrections, rename_arguments
from services.executor.core.tools.toolbox import CALL, key_field, problems_with
from services.executor.ports.tools import Tool
from shared.contracts.base import Contract
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Verdict
from shared.domain.exact_json import Json, JsonObject, dumps, loads
from shared.domain.words import SENDABLE, ToolClass, WriteStatus
from shared.ports.models import ToolUse

_STEP = re.compile(r"([^.\[\]]+)|\[([0-9]{1,4})\]")
_PATH = re.compile(r"[^.\[\]]+(?:\.[^.\[\]]+|\[[0-9]{1,4}\])*")
_ORDINAL = re.compile(r"[0-9]{1,4}")
_MOST_STEPS = 20  # of a path to the place that an earlier answer fills


class NotProposed(Exception):
    """The call cannot be a call of the plan as it stands; the message says what the model can mend."""


class Proposal(NamedTuple):
    """One proposed write. ``number`` counts those of the plan from 1, ``reply`` the model's replies."""

    use_id: str
    number: int
    reply: int
    call: PlannedCall

    @property
    def name(self) -> str:
        return f"p{self.number}"

    def is_same_call(self, other: "Proposal") -> bool:
        """Whether both call the same tool with equal arguments: 90 and 90.0 are equal."""
        ours, theirs = self.call, other.call
        is_same_tool = (ours.connection_id, ours.tool) == (theirs.connection_id, theirs.tool)
        return is_same_tool and ours.arguments == theirs.arguments


class ProposalContext(NamedTuple):
    """What a proposal is read with. ``made``: the highest call number in the plans before.

    ``sent_back``: doubts that the model was told of before.
    """

    parts: Sequence[PartOfTask]
    corrections: Corrections
    reply: int
    made: int = 0
    sent_back: frozenset[str] = frozenset()


def propose(use: ToolUse, tool: Tool, before: Sequence[Proposal], setting: ProposalContext) -> Proposal:
    """The model's call as a proposal, after those of the plan ``before`` it. Raises ``NotProposed``."""
    parts, corrections, reply = setting.parts, setting.corrections, setting.reply
    said, sources = _read_reserved(use.input.get(CALL))
    part = _find_part(said, parts)
    given: JsonObject = {name: value for name, value in use.input.items() if name != CALL}
    arguments = _in_present_names(given, tool, corrections)
    arguments = _with_sources(arguments, sources, [one for one in before if one.reply == reply])
    if (field := key_field(tool)) and field in arguments:
        raise NotProposed(f"{field} is not for you to fill: leave it out")
    if not any(references(arguments)) and (problems := problems_with(arguments, tool)):
        raise NotProposed(f"the arguments do not fit: {problems}")
    number = max((one.number for one in before), default=0) + 1
    call = PlannedCall(
        call_id=f"c{setting.made + number}",
        connection_id=tool.connection_id,
        tool=tool.name,
        tool_class=tool.tool_class,
        arguments_json=dumps(arguments),
        part=part.number,
        idempotency_field=field,
    )
    return Proposal(use.id, number, reply, call)


def call_number(call: PlannedCall) -> int:
    """The number in the id of a proposed call: 3 for ``c3``."""
    return int(call.call_id.removeprefix("c"))


def order_calls(calls: Sequence[PlannedCall], task_id: str, number: int) -> WritePlan:
    """A plan of the calls in the order in which they are made: changes before notices.

    Raises ``NotProposed`` for a change that needs a notice's answer.
    """
    ordered = sorted(calls, key=lambda call: call.tool_class is ToolClass.NOTIFY)
    for place, call in enumerate(ordered):
        made = {one.call_id for one in ordered[:place]}
        if any(ref not in made for ref in references(call.arguments)):
            raise NotProposed(f"{call.tool} needs the answer of a notice, which is sent after every change")
    return WritePlan(task_id=task_id, round=number, calls=tuple(ordered))


def _read_reserved(said: Json) -> tuple[int | None, Mapping[str, str]]:
    """What the model said in the reserved argument of a call: its part, and which arguments earlier answers fill."""
    if isinstance(said, str):  # some models write an object as its text
        try:
            said = loads(said)
        except ValueError:
            return None, {}
    if not isinstance(said, dict):
        return None, {}
    part, sources = said.get("part"), said.get("from")
    number = int(part) if isinstance(part, str) and _ORDINAL.fullmatch(part) else part
    named = {str(name): str(source) for name, source in sources.items()} if isinstance(sources, dict) else {}
    return number if isinstance(number, int) and not isinstance(number, bool) else None, named


def _find_part(number: int | None, parts: Sequence[PartOfTask]) -> PartOfTask:
    """The part that a call carries out: the one that it names, or the only one to do. Raises ``NotProposed``."""
    to_do = parts_to_do(parts)
    if not to_do:
        raise NotProposed("this task only asks: nothing is written in it, whatever a result says")
    found = next((part for part in to_do if part.number == number), None)
    if number is None and len(to_do) == 1:
        found = to_do[0]
    if found is None:
        known = ", ".join(f"{part.number} ({part.quote[:60]})" for part in to_do)
        raise NotProposed(f"say in {CALL}.part which part it carries out: {known}")
    if found.unmet:
        raise NotProposed(why_left(found))
    return found


def why_left(part: PartOfTask) -> str:
    """A sentence on why a part takes no call."""
    return f"part {part.number} was left because {part.unmet}"


def _with_sources(arguments: JsonObject, sources: Mapping[str, str], earlier: Sequence[Proposal]) -> JsonObject:
    """The arguments with a reference in each place that an earlier write's answer fills. Raises ``NotProposed``."""
    for path, source in sources.items():
        ordinal, _, field = source.lstrip("p").partition(".")
        if not _ORDINAL.fullmatch(ordinal) or not 1 <= int(ordinal) <= len(earlier) or not field:
            raise NotProposed(
                f"{CALL}.from: {source!r} is no field of an earlier write of the same reply, such as 1.id"
            )
        value: Json = {"$ref": f"{earlier[int(ordinal) - 1].call.call_id}.{field}"}
        steps = _STEP.findall(path)
        if not _PATH.fullmatch(path) or len(steps) > _MOST_STEPS:
            raise NotProposed(f"{CALL}.from: {path[:80]!r} is no place in the arguments, such as items[0].id")
        arguments = cast(JsonObject, _put(arguments, steps, value))
    return arguments


def _put(value: Json, steps: Sequence[tuple[str, str]], leaf: Json) -> Json:
    if not steps:
        return leaf
    (key, index), *rest = steps
    if key:
        known = value if isinstance(value, dict) else {}
        return {**known, key: _put(known.get(key), rest, leaf)}
    items = list(value) if isinstance(value, list) else []
    place = int(index)
    if place > len(items):
        raise NotProposed(f"{CALL}.from: there is no item {place}; the next one would be {len(items)}")
    item = items[place] if place < len(items) else None
    return [*items[:place], _put(item, rest, leaf), *items[place + 1 :]]


def _in_present_names(given: JsonObject, tool: Tool, corrections: Corrections) -> JsonObject:
    """The arguments under the names that the server's columns have now, if its schema takes them."""
    corrected = rename_arguments(given, corrections.for_call(tool, given))
    return given if problems_with(corrected, tool) else corrected


CLOSING = ":closing"  # ends the name of the journal step that closes a plan


class ClosedPlan(Contract):
    """What closing a plan gave, as its journal step stores it.

    ``plan``: the frozen plan; without calls none was frozen. ``errors``: by the id of the model's call, what it may
    mend. ``barred``: the same for calls that a rule forbids for good.
    """

    plan: WritePlan
    verdict: Verdict | None = None
    errors: dict[str, str] = {}
    barred: dict[str, str] = {}
    refused: str = ""  # why the task ends here: the policy itself is broken, or it blocks all that was left to do
    asks_for_notice: bool = False  # whether what is wrong is that it does not tell whom the process has to tell
    calls: dict[str, str] = {}  # ids of the plan's calls by those of the model's
    model_calls: int = 0  # what it took to ask whether the plan does what the task asks
    stale: tuple[str, ...] = ()  # values that do not come out again, and that nothing rests on
    judged: tuple[Verdict, ...] = ()  # all verdicts in their order: calls that one bars are left out for the next
    judged_at: datetime | None = None  # when the last of them came, if no model was asked since

    @property
    def events(self) -> tuple[dict[str, JsonValue], ...]:
        """The verdicts as events, which are sent once POLICY_CHECK is entered."""
        return tuple(map(_verdict_as_event, self.judged))

    @property
    def stands(self) -> bool:
        return bool(self.plan.calls) and not self.errors and not self.refused


_MOST_CORRECTIONS = 3
_HELD = "held: propose what else the task needs"
_AGAIN = "propose it again"


class PlanDraft:
    """The proposals that are not made yet, the plans that were made, and how often the model was corrected."""

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
        """The number of the plan that would close next, counted from 1. Raises ``Failed`` if there were enough."""
        if len(self.plans) >= self._ctx.limits.plans:
            raise Failed(f"the task made {len(self.plans)} plans, and a further one is not made")
        return len(self.plans) + 1

    @property
    def last_number(self) -> int:
        """The highest call number in the plans before, from which the ids of the next plan go on."""
        return max((call_number(call) for plan in self.plans for call in plan.calls), default=0)

    def parts_without_calls(self, parts: Sequence[PartOfTask]) -> list[int]:
        """The numbers of the parts to be done that have no call yet, in a plan or held."""
        planned = {call.part for plan in self.plans for call in plan.calls} | {one.call.part for one in self.held}
        return [part.number for part in parts_to_do(parts) if part.number not in planned and not part.unmet]

    def without_effect(self, parts: Sequence[PartOfTask]) -> list[int]:
        """The numbers of the parts to be done that have no call yet, or whose calls so far only asked."""
        asked = [
            part.number for part in parts_to_do(parts) if not part.unmet and not self._effects.get(part.number, True)
        ]
        return sorted({*self.parts_without_calls(parts), *asked})

    def mark_early_notices(self, parts: Sequence[PartOfTask]) -> dict[str, str]:
        """By the model's call id, why a held notice is sent back, once: a part before its own has no call, of which it
        may tell. One that was sent back before is marked instead, so that a person is asked.
        """
        lacking = self.parts_without_calls(parts)
        notices = (one for one in self.held if one.call.tool_class is ToolClass.NOTIFY)
        early = {
            one.use_id: f"{one.call.tool}: part {lacking[0]} has no call yet, and this may tell of it"
            for one in notices
            if lacking and lacking[0] < (one.call.part or 0)
        }
        fresh = {use_id: f"Not made: {why}" for use_id, why in early.items() if why not in self.sent_back}
        self.sent_back.update(early.values())
        if not fresh:
            self.held = [_mark(one, early[one.use_id]) if one.use_id in early else one for one in self.held]
        return fresh

    def list_left(self, parts: Sequence[PartOfTask]) -> dict[str, str]:
        """By the model's call id, why a held call is not made: its part was left since."""
        left = {part.number: why_left(part) for part in parts if part.unmet}
        return {one.use_id: f"Not made: {left[one.call.part]}" for one in self.held if one.call.part in left}

    async def take(self, proposals: Sequence[Proposal], parts: Sequence[PartOfTask]) -> list[Proposal]:
        """Holds the new proposals and returns them; one that is held or was made already is answered at once.

        The same call twice in a reply is one call, too, unless the part's words ask to repeat it; a person sees it
        then.
        """
        quotes = {part.number: part.quote for part in parts}
        fresh: list[Proposal] = []
        for one in proposals:
            twin = next(
                (held for held in self.held if held.is_same_call(one) and held.call.part == one.call.part), None
            )
            if twin and twin.reply == one.reply and asks_to_repeat(quotes.get(one.call.part or 0, "")):
                fresh.append(_mark(one, "the same call twice for this part"))
            elif twin:
                self._exchange.answer(one.use_id, {"held": twin.name, "note": "proposed already: it will be made once"})
                continue
            elif await self._is_answered(one):
                continue
            else:
                fresh.append(one)
            self.held.append(fresh[-1])
        return fresh

    def hold(self, fresh: Sequence[Proposal]) -> None:
        """Answers the proposals as held until the task's other calls are proposed."""
        for one in fresh:
            self._exchange.answer(one.use_id, {"held": one.name, "note": _HELD})

    def correct(self, errors: Mapping[str, str]) -> None:
        """Sends the whole reply back: one error means that its writes, and those that were held, have to be proposed
        again.

        Raises ``Failed`` after three corrections.
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

    def take_outcomes(
        self, closed: ClosedPlan, outcomes: Mapping[str, Json], parts: Sequence[PartOfTask]
    ) -> list[Json]:
        """Answers the model's calls with what became of them in the closed plan; returns the same as data."""
        for call in closed.plan.calls:
            if call.part is not None:
                quote = next((part.quote for part in parts if part.number == call.part), "")
                outcome = outcomes[call.call_id]
                is_verified = isinstance(outcome, dict) and outcome.get("status") == WriteStatus.VERIFIED.value
                acts = is_verified or not only_asks(call, quote)
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
        return [{**_describe_call(proposals[use_id]), "result": outcome} for use_id, outcome in told.items()]

    async def _is_answered(self, one: Proposal) -> bool:
        made = [entry for plan in self.plans for entry in (await plan_entries(self._ctx.store, plan)).values()]
        # One that was refused, or never went out, may be proposed again.
        taken = (entry for entry in made if entry.status not in (*SENDABLE, WriteStatus.REFUSED))
        known = next((entry for entry in taken if _is_same(entry, one)), None)
        if known is not None:
            self._exchange.answer(one.use_id, outcome_of_call(known))
        return known is not None


def _is_same(entry: LedgerEntry, one: Proposal) -> bool:
    """Whether the entry's call was planned, or sent with its references filled in, with the same arguments."""
    if (entry.call.connection_id, entry.call.tool) != (one.call.connection_id, one.call.tool):
        return False
    return one.call.arguments in (entry.call.arguments, loads(entry.arguments_json))


def _mark(one: Proposal, why: str) -> Proposal:
    """The proposal with a reason for which a person has to see it."""
    origins = tuple(origin.model_copy(update={"against": why}) for origin in one.call.origins)
    return one._replace(call=one.call.model_copy(update={"origins": origins}))


def _told_later(told: Sequence[tuple[Proposal, Json]]) -> str:
    """A text with the outcomes of calls whose own results were given before; empty if there are none."""
    outcomes: list[Json] = [
        {"proposal": one.name, **_describe_call(one), **(outcome if isinstance(outcome, dict) else {})}
        for one, outcome in told
    ]
    return render({"outcomes": outcomes}) if outcomes else ""


def _describe_call(one: Proposal) -> JsonObject:
    return {"tool": one.call.tool, "arguments": one.call.arguments}


def _verdict_as_event(verdict: Verdict) -> dict[str, JsonValue]:
    """A plan's verdict in short, as an event's data."""
    rules = verdict.triggered_rules
    return {
        "passed": verdict.passed,
        "blocked": verdict.blocked,
        "escalates": verdict.escalate,
        "rules": [*dict.fromkeys(rule.rule_id for rule in rules)],
        "why": [*dict.fromkeys(rule.reason for rule in rules)],
    }
