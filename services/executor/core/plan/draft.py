"""The draft of a task's next plan: the model's write calls as proposals, the corrections, and the plans before."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.core.model.message_history import PROPOSE_AGAIN_TEXT, CallAnswer
from services.executor.core.plan.agreement import asks_to_repeat
from services.executor.core.plan.outcomes import NOT_MADE_TEXT, describe_outcome_of_write, is_only_a_question
from services.executor.core.records.references import REFERENCE_KEY, referenced_calls, set_at_path
from services.executor.core.session.values import PartOfTask, list_parts_to_do
from services.executor.core.states.machine import Failed
from services.executor.core.tools.record_tree import NoSuchPath
from services.executor.core.tools.schema_drift import SchemaRenames, rename_arguments
from services.executor.core.tools.toolbox import RESERVED_ARGUMENT, find_argument_problems, find_idempotency_argument
from services.executor.ports.tools import Tool
from shared.contracts.base import Contract
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import ArgumentOrigin, PlannedCall, WritePlan
from shared.contracts.policy import Verdict
from shared.domain.exact_json import Json, JsonObject, as_object, dumps, loads
from shared.domain.words import SENDABLE_STATUSES, ToolClass, WriteStatus
from shared.ports.models import ToolResult, ToolUse

_PATH_STEP_PATTERN = re.compile(r"([^.\[\]]+)|\[([0-9]{1,4})\]")
_PATH_PATTERN = re.compile(r"[^.\[\]]+(?:\.[^.\[\]]+|\[[0-9]{1,4}\])*")
_LIST_INDEX_PATTERN = re.compile(r"[0-9]{1,4}")
_MOST_STEPS_OF_PATH = 20  # of a path to the place that an earlier answer fills


class InvalidProposal(Exception):
    """The call cannot become a call of the plan; the message says what the model can correct."""


class Proposal(NamedTuple):
    """One proposed write."""

    use_id: str  # the model's id of the call
    number: int  # among the plan's proposals, from 1
    reply: int  # the number of the model's reply
    call: PlannedCall

    @property
    def proposal_id(self) -> str:
        return f"p{self.number}"

    def as_json(self) -> JsonObject:
        return {"tool": self.call.tool, "arguments": self.call.arguments}

    def describe_outcome(self, outcome: Json) -> JsonObject:
        """The outcome's fields with the proposal's id, tool and arguments, so that it can be told without the call."""
        return {"proposal": self.proposal_id, **self.as_json(), **as_object(outcome)}

    def is_same_call(self, other: "Proposal") -> bool:
        """Whether both call the same tool with equal arguments; 90 and 90.0 are equal."""
        ours, theirs = self.call, other.call
        is_same_tool = (ours.connection_id, ours.tool) == (theirs.connection_id, theirs.tool)
        return is_same_tool and ours.arguments == theirs.arguments

    def with_doubt(self, reason: str) -> "Proposal":
        """The proposal marked with a reason for which a person has to see it."""
        origins = self.call.origins or (ArgumentOrigin(argument="", source="none"),)
        marked = tuple(origin.model_copy(update={"against": reason}) for origin in origins)
        return self._replace(call=self.call.model_copy(update={"origins": marked}))


class ProposalContext(NamedTuple):
    """What ``build_proposal`` needs to know besides the calls of one reply."""

    parts: Sequence[PartOfTask]
    corrections: SchemaRenames
    reply: int  # its number
    last_call_number: int = 0  # the highest in the plans before
    told_doubts: frozenset[str] = frozenset()  # the doubts that the model was told of before


def build_proposal(use: ToolUse, tool: Tool, earlier: Sequence[Proposal], context: ProposalContext) -> Proposal:
    """The model's call as a proposal, numbered after those ``earlier`` it.

    Raises ``InvalidProposal`` if it is for no part to be done, fills the field of the idempotency key, or has
    references or arguments that do not fit.
    """
    parts = context.parts
    corrections = context.corrections
    reply = context.reply
    part_number, sources = _read_reserved_argument(use.input.get(RESERVED_ARGUMENT))
    part = _require_part(part_number, parts)
    named_arguments: JsonObject = {name: value for name, value in use.input.items() if name != RESERVED_ARGUMENT}
    arguments = _with_current_names(named_arguments, tool, corrections)
    arguments = _with_references(arguments, sources, [proposal for proposal in earlier if proposal.reply == reply])
    if (field := find_idempotency_argument(tool)) and field in arguments:
        raise InvalidProposal(f"{field} is not for you to fill: leave it out")
    if not any(referenced_calls(arguments)) and (problems := find_argument_problems(arguments, tool)):
        raise InvalidProposal(f"the arguments do not fit: {problems}")
    number = max((proposal.number for proposal in earlier), default=0) + 1
    call = PlannedCall(
        call_id=f"c{context.last_call_number + number}",
        connection_id=tool.connection_id,
        tool=tool.name,
        tool_class=tool.tool_class,
        arguments_json=dumps(arguments),
        part=part.number,
        idempotency_field=field,
    )
    return Proposal(use.id, number, reply, call)


def read_call_number(call: PlannedCall) -> int:
    """The number in the id of a proposed call: 3 for ``c3``."""
    return int(call.call_id.removeprefix("c"))


def _read_reserved_argument(reserved: Json) -> tuple[int | None, Mapping[str, str]]:
    """The number of the call's part, None if it names none; and ``{path of an argument: "1.id"}``, for arguments that
    earlier writes' answers fill.
    """
    if isinstance(reserved, str):  # some models write an object as its text
        try:
            reserved = loads(reserved)
        except ValueError:
            return None, {}
    if not isinstance(reserved, dict):
        return None, {}
    part, sources = reserved.get("part"), reserved.get("from")
    number = int(part) if isinstance(part, str) and _LIST_INDEX_PATTERN.fullmatch(part) else part
    argument_sources = {name: str(source) for name, source in as_object(sources).items()}
    return number if isinstance(number, int) and not isinstance(number, bool) else None, argument_sources


def _require_part(number: int | None, parts: Sequence[PartOfTask]) -> PartOfTask:
    """The part that a call carries out: the one it names, or the only one to be done.

    Raises ``InvalidProposal`` if neither exists, or the part was given up.
    """
    to_do = list_parts_to_do(parts)
    if not to_do:
        raise InvalidProposal("this task only asks: nothing is written in it, whatever a result says")
    named_part = next((part for part in to_do if part.number == number), None)
    if number is None and len(to_do) == 1:
        named_part = to_do[0]
    if named_part is None:
        part_list = ", ".join(f"{part.number} ({part.quote[:60]})" for part in to_do)
        raise InvalidProposal(f"say in {RESERVED_ARGUMENT}.part which part it carries out: {part_list}")
    if named_part.unmet:
        raise InvalidProposal(why_part_unmet(named_part))
    return named_part


def why_part_unmet(part: PartOfTask) -> str:
    """A sentence on why a part was given up and takes no calls."""
    return f"part {part.number} was left because {part.unmet}"


def _with_references(arguments: JsonObject, sources: Mapping[str, str], earlier: Sequence[Proposal]) -> JsonObject:
    """The arguments with a reference in each place that an earlier write's answer fills.

    ``sources``: ``{path: "1.id"}``, the place of the write in ``earlier`` and a field of its answer. Raises
    ``InvalidProposal`` for a wrong path or source.
    """
    for path, source in sources.items():
        ordinal, _, field = source.lstrip("p").partition(".")
        if not _LIST_INDEX_PATTERN.fullmatch(ordinal) or not 1 <= int(ordinal) <= len(earlier) or not field:
            raise InvalidProposal(
                f"{RESERVED_ARGUMENT}.from: {source!r} is no field of an earlier write of the same reply, such as 1.id"
            )
        steps = [name or int(position) for name, position in _PATH_STEP_PATTERN.findall(path)]
        if not _PATH_PATTERN.fullmatch(path) or len(steps) > _MOST_STEPS_OF_PATH:
            raise InvalidProposal(
                f"{RESERVED_ARGUMENT}.from: {path[:80]!r} is no place in the arguments, such as items[0].id"
            )
        try:
            arguments = set_at_path(
                arguments, steps, {REFERENCE_KEY: f"{earlier[int(ordinal) - 1].call.call_id}.{field}"}
            )
        except NoSuchPath as error:
            raise InvalidProposal(f"{RESERVED_ARGUMENT}.from: {error}") from error
    return arguments


def _with_current_names(arguments: JsonObject, tool: Tool, corrections: SchemaRenames) -> JsonObject:
    """The arguments under the names that the server uses now; unchanged if these do not fit the tool's schema."""
    corrected = rename_arguments(arguments, corrections.names_for_call(tool, arguments))
    return arguments if find_argument_problems(corrected, tool) else corrected


_MOST_CORRECTIONS = 3
_NOTE_OF_HELD_CALL = "held: propose what else the task needs"
_NOTE_OF_CALL_HELD_BEFORE = "proposed already: it will be made once"
_PROPOSE_AGAIN_TEXT = "propose it again"
_NO_CALL_YET_TEXT = "no call for it was proposed with this plan; a real run may propose one afterwards"
CLOSING_STEP_SUFFIX = ":closing"  # ends the name of the journal step that closes a plan


class ClosedPlan(Contract):
    """A plan as its journal step stores it: frozen, or sent back with what the model may correct."""

    plan: WritePlan  # without the calls that rules block, unless they block all; without any if it is sent back
    verdict: Verdict | None = None  # the last one on the plan; None if it is sent back
    errors: dict[str, str] = {}  # {model's call id: what is wrong}; with errors the plan is sent back
    barred: dict[str, str] = {}  # {model's call id: why the policy leaves the call out}
    refused: str = ""  # why the task ends here: the policy is broken, or it blocks all that was left to do
    asks_for_notice: bool = False  # it is sent back for lack of a notice that its process wants
    calls: dict[str, str] = {}  # {model's call id: the plan's call id}; empty if it is sent back or refused
    model_calls: int = 0  # how many calls of a model it took to check the plan
    stale: tuple[str, ...] = ()  # names of calculated values that no longer hold and that nothing rests on
    judged: tuple[Verdict, ...] = ()  # every verdict that was asked for, in order; the last is ``verdict``
    judged_at: datetime | None = None  # when the last verdict came; None if not frozen, or a model was asked since

    @property
    def is_frozen(self) -> bool:
        return not self.errors and bool(self.plan.calls)

    @property
    def events(self) -> tuple[dict[str, JsonValue], ...]:
        """The data of an event for each verdict, to be sent once POLICY_CHECK is entered."""
        return tuple(
            {
                "passed": verdict.passed,
                "blocked": verdict.blocked,
                "escalates": verdict.escalate,
                "rules": [*dict.fromkeys(rule.rule_id for rule in verdict.triggered_rules)],
                "why": [*dict.fromkeys(rule.reason for rule in verdict.triggered_rules)],
            }
            for verdict in self.judged
        )


class Omission(NamedTuple):
    """What a plan leaves out, and why: a part of the task in its words, or a call."""

    what: str
    reason: str


class PlanDraft:
    """The proposals that wait for their plan, the plans that were closed, and how often the model was corrected."""

    def __init__(self, max_plans: int) -> None:
        """``max_plans``: how many plans a task may make."""
        self._max_plans = max_plans
        self.held: list[Proposal] = []
        self.plans: list[WritePlan] = []
        self.last_errors_by_part: dict[int, str] = {}  # by part, what was wrong with its calls last
        self.told_doubts: set[str] = set()  # doubts about values that the model was told of
        self._parts_acted_on: set[int] = set()  # some call of theirs did more than ask
        self._corrections = 0

    @property
    def next_plan_number(self) -> int:
        """The number of the plan that will be closed next, from 1. Raises ``Failed`` if the task has made enough."""
        if len(self.plans) >= self._max_plans:
            raise Failed(f"the task made {len(self.plans)} plans, and a further one is not made")
        return len(self.plans) + 1

    def build_proposal_context(
        self, parts: Sequence[PartOfTask], corrections: SchemaRenames, reply: int
    ) -> ProposalContext:
        """The context for ``build_proposal`` of a reply's writes; call numbers go on from those of earlier plans."""
        last = max((read_call_number(call) for plan in self.plans for call in plan.calls), default=0)
        return ProposalContext(parts, corrections, reply, last, frozenset(self.told_doubts))

    def list_parts_without_calls(self, parts: Sequence[PartOfTask]) -> list[int]:
        """The numbers of the parts to be done that have no call yet, neither in a plan nor waiting."""
        planned = {call.part for plan in self.plans for call in plan.calls}
        planned |= {proposal.call.part for proposal in self.held}
        return [part.number for part in list_parts_to_do(parts) if part.number not in planned and not part.unmet]

    def list_omissions(self, closed: ClosedPlan, parts: Sequence[PartOfTask]) -> list[Omission]:
        """What the closed plan leaves out: the parts to be done without a call, and the calls that rules block."""
        lacking = self.list_parts_without_calls(parts)
        quotes = {part.number: part.quote for part in parts}
        barred = [proposal for proposal in self.held if proposal.use_id in closed.barred]
        return [
            *(Omission(f"“{quotes[part]}”", self.last_errors_by_part.get(part, _NO_CALL_YET_TEXT)) for part in lacking),
            *(
                Omission(f"{proposal.call.tool} {proposal.call.arguments_json}", closed.barred[proposal.use_id])
                for proposal in barred
            ),
        ]

    def list_parts_without_effect(self, parts: Sequence[PartOfTask]) -> list[int]:
        """The numbers of the parts to be done that have no call in a plan, or whose calls only asked something."""
        to_do = (part for part in list_parts_to_do(parts) if not part.unmet)
        return [part.number for part in to_do if part.number not in self._parts_acted_on]

    def hold_proposals(
        self, proposals: Sequence[Proposal], parts: Sequence[PartOfTask], entries: Sequence[LedgerEntry]
    ) -> tuple[list[Proposal], list[ToolResult]]:
        """Holds the new proposals until the plan is closed.

        Returns them, and results for the others, which equal one that is held for the same part or a call in the ledger
        (``entries``).

        The same call twice in a reply counts once, unless the part's words ask to repeat it; then a person is asked.
        """
        quotes = {part.number: part.quote for part in parts}
        new_proposals: list[Proposal] = []
        results: list[ToolResult] = []
        for proposal in proposals:
            held_of_part = (held for held in self.held if held.call.part == proposal.call.part)
            twin = next((held for held in held_of_part if held.is_same_call(proposal)), None)
            if twin and twin.reply == proposal.reply and asks_to_repeat(quotes.get(proposal.call.part or 0, "")):
                new_proposals.append(proposal.with_doubt("the same call twice for this part"))
                self.held.append(new_proposals[-1])
            elif twin:
                results.append(build_held_result(proposal, twin, _NOTE_OF_CALL_HELD_BEFORE))
            elif entry := next((entry for entry in entries if _covers_proposal(entry, proposal)), None):
                results.append(ToolResult(proposal.use_id, dumps(describe_outcome_of_write(entry))))
            else:
                new_proposals.append(proposal)
                self.held.append(proposal)
        return new_proposals, results

    def get_reasons_for_dropped_calls(self, parts: Sequence[PartOfTask]) -> dict[str, str]:
        """Why held calls are not made whose part was given up after they were proposed: ``{model's call id: reason}``.
        ``parts``: all parts of the task.
        """
        reasons = {part.number: why_part_unmet(part) for part in parts if part.unmet}
        parts_of_held = ((proposal.use_id, proposal.call.part) for proposal in self.held)
        return {use_id: f"Not made: {reasons[part]}" for use_id, part in parts_of_held if part in reasons}

    def send_back_early_notices(self, parts: Sequence[PartOfTask]) -> dict[str, str]:
        """``{model's call id: why the held notice is sent back}``: an earlier part, of which it may tell, has no call
        yet.

        Each reason is told once; a notice that is proposed again is marked so that a person is asked.
        """
        lacking = self.list_parts_without_calls(parts)
        notices = (proposal for proposal in self.held if proposal.call.tool_class is ToolClass.NOTIFY)
        early = [notice for notice in notices if lacking and lacking[0] < (notice.call.part or 0)]
        sentence = "{}: part {} has no call yet, and this may tell of it"
        reasons = {notice.use_id: sentence.format(notice.call.tool, lacking[0]) for notice in early}
        errors = {use_id: f"Not made: {reason}" for use_id, reason in reasons.items() if reason not in self.told_doubts}
        self.told_doubts.update(reasons.values())
        for index, proposal in enumerate(self.held if not errors else ()):
            if proposal.use_id in reasons:
                self.held[index] = proposal.with_doubt(reasons[proposal.use_id])
        return errors

    def discard_proposals(self, errors: Mapping[str, str]) -> list[CallAnswer]:
        """Drops all held proposals and returns the answers to their calls and to the wrong ones: after one error
        everything has to be proposed again. ``errors``: ``{model's call id: what is wrong}``.

        Raises ``Failed`` after three corrections.
        """
        self._corrections += 1
        for proposal in self.held:
            if proposal.use_id in errors and proposal.call.part is not None:
                self.last_errors_by_part[proposal.call.part] = errors[proposal.use_id]
        if self._corrections > _MOST_CORRECTIONS:
            reasons = "; ".join(dict.fromkeys(errors.values()))
            raise Failed(
                f"the calls that the model proposed could not be made after {_MOST_CORRECTIONS} corrections: {reasons}"
            )
        answers = {held.use_id: _build_discard_answer(held, errors.get(held.use_id)) for held in self.held}
        self.held = []
        for use_id, error in errors.items():
            answers.setdefault(use_id, CallAnswer(ToolResult(use_id, error, is_error=True)))
        return [*answers.values()]

    def record_outcomes(
        self, closed: ClosedPlan, outcomes: Mapping[str, Json], parts: Sequence[PartOfTask]
    ) -> list[tuple[Proposal, Json]]:
        """Adds the closed plan to ``plans``, and returns each proposal that was held for it with the outcome of its
        call: that in ``outcomes``, by the plan's call id, or "not made" for a call that a rule blocks. ``parts``: all
        parts of the task. No proposal is held afterwards.
        """
        quotes = {part.number: part.quote for part in parts}
        for call in closed.plan.calls:
            outcome = outcomes[call.call_id]
            is_verified = isinstance(outcome, dict) and outcome.get("status") == WriteStatus.VERIFIED.value
            if call.part is not None and (is_verified or not is_only_a_question(call, quotes.get(call.part, ""))):
                self._parts_acted_on.add(call.part)
        outcomes_by_use = {use_id: outcomes[call_id] for use_id, call_id in closed.calls.items()}
        outcomes_by_use |= {
            use_id: {"status": NOT_MADE_TEXT, "note": reason} for use_id, reason in closed.barred.items()
        }
        proposals = {proposal.use_id: proposal for proposal in self.held}
        self.held = []
        self.plans.append(closed.plan)
        return [(proposals[use_id], outcome) for use_id, outcome in outcomes_by_use.items()]


def _covers_proposal(entry: LedgerEntry, proposal: Proposal) -> bool:
    """Whether the ledger entry is of the proposed call, with its arguments as planned or as sent.

    An entry that was refused or never sent does not count: its call may be proposed again.
    """
    if entry.status in (*SENDABLE_STATUSES, WriteStatus.REFUSED):
        return False
    if (entry.call.connection_id, entry.call.tool) != (proposal.call.connection_id, proposal.call.tool):
        return False
    return proposal.call.arguments in (entry.call.arguments, loads(entry.arguments_json))


def build_held_result(proposal: Proposal, held: Proposal, note: str = _NOTE_OF_HELD_CALL) -> ToolResult:
    """The result for a call that is already held as a proposal: it waits until the task's other calls are proposed."""
    return ToolResult(proposal.use_id, dumps({"held": held.proposal_id, "note": note}))


def build_outcome_answer(proposal: Proposal, outcome: Json) -> CallAnswer:
    return CallAnswer(ToolResult(proposal.use_id, dumps(outcome)), proposal.describe_outcome(outcome))


def _build_discard_answer(proposal: Proposal, error: str | None) -> CallAnswer:
    result = ToolResult(proposal.use_id, error or PROPOSE_AGAIN_TEXT, is_error=True)
    return CallAnswer(result, proposal.describe_outcome({"status": error or _PROPOSE_AGAIN_TEXT}))
