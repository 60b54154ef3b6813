"""Dispatches the calls of one reply: reads side by side, local tools, and writes as proposals. No local tool reaches a
server: they are pure, or answered by the policy service.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.executor.core.authorize.policy import format_refusal, verdict_on
from services.executor.core.conversation.understanding import (
    UNDERSTAND,
    CannotUnderstand,
    Understanding,
    read_understanding,
    sentences_not_taken_up,
    understand_tool,
)
from services.executor.core.figures.calculate import CALCULATE, LOOK, calculate, calculate_tool, describe_value, look
from services.executor.core.figures.calculator import NOTHING, CannotCalculate, MadeToolResults
from services.executor.core.figures.identifiers import opened_addresses
from services.executor.core.figures.operands import select_cells
from services.executor.core.figures.vocabulary import has_condition
from services.executor.core.model.made_tools import compute_with_tools
from services.executor.core.model.talk import local_now
from services.executor.core.plan.proposals import NotProposed, Proposal, ProposalContext, propose
from services.executor.core.plan.sources import KnownSources, SourceFinder, known_figures, user_texts
from services.executor.core.plan.stated_amounts import PartOfCall
from services.executor.core.reads.reader import CallRefused, TaskReader
from services.executor.core.session.context import TurnContext, files_to_look_at, side_by_side
from services.executor.core.session.dossier import Progress
from services.executor.core.session.values import Fact, NamedValue, Operand, PartOfTask, parts_with_conditions
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.paginate import shorten_result
from services.executor.core.tools.record_tree import NoSuchPath
from services.executor.core.tools.toolbox import (
    FIND_TOOLS,
    LEAVE_PART,
    WHAT_WOULD_POLICY_SAY,
    WRITES,
    find_tools,
    unwrap,
)
from services.executor.ports.tools import Tool
from shared.contracts.base import Contract
from shared.contracts.made_tool import MadeTool
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import HYPOTHETICAL, Verdict
from shared.domain.exact_json import Json, JsonObject, dumps, loads
from shared.domain.identity_cache import IdentityCache
from shared.ports.models import ToolDefinition, ToolResult, ToolUse


async def ask_hypothetical_verdict(ctx: TurnContext, progress: Progress, key: str, given: JsonObject) -> Json:
    """Asks the policy service about a call that is not planned, as a journal step. Raises ``ValueError`` for a call
    that no tool could take.
    """
    tool = ctx.toolbox.tools.get(str(given.get("tool", "")))
    arguments = given.get("arguments")
    if tool is None or not isinstance(arguments, dict):
        raise ValueError("name one of the tools, and its arguments as an object")
    call = PlannedCall(
        call_id=HYPOTHETICAL,
        connection_id=tool.connection_id,
        tool=tool.name,
        tool_class=tool.tool_class,
        arguments_json=dumps(arguments),
    )
    plan = WritePlan(task_id=ctx.record.task_id, round=0, calls=(call,))

    async def ask() -> str:
        verdict = await verdict_on(ctx, progress.template, progress.update_dossier(plan=plan).dossier)
        ctx.journal.tell("note", hypothetical=tool.name, passed=verdict.passed)
        return dumps(_verdict_in_words(verdict))

    return loads(await ctx.journal.run_step(key, "verdict", ask))


def _verdict_in_words(verdict: Verdict) -> Json:
    refused = [format_refusal(refusal) for refusal in verdict.refusals]
    said: list[Json] = [*verdict.reasons, *refused]
    blocked = verdict.blocked or bool(verdict.problems) or bool(refused)
    word = "blocked" if blocked else "waits for a person" if not verdict.passed else "passes"
    return {"it": word, "decided_by": verdict.escalation_level, "because": said}


_OPEN = re.compile(
    r"\b(?:all|any|anything|anyone|each|every|everything|everyone|whatever|whichever|those|who|whose|which|"
    r"that (?:is|are|has|have|was|were|do|does)|necessary|needed|"
    r"alle|allen|aller|jede|jeden|jedes|welche|tous|toutes|chaque|todos|todas|cada)\b",
    re.IGNORECASE,
)


def may_come_to_nothing(text: str) -> bool:
    """Whether a text has a condition, or speaks of things that may not exist: "every open claim", "those who paid"."""
    return has_condition(text) or _OPEN.search(text) is not None


_MOST_HYPOTHETICAL = 5
_LONGEST_REASON = 300
_LONGEST_OPERAND = 60
_NO_CONDITION = "the task sets no condition for this part, so it counts as not done"
_NO_ANSWER = "this part counts as not answered"
_RELATIONS = {
    "is_less": "is less than", "is_at_most": "is at most", "is_more": "is more than", "is_at_least": "is at least",
    "is_equal": "is", "is_not_equal": "is not",
}  # fmt: skip
PART = "part"


@dataclass
class LocalTools:
    """The local tools with what they know of one task; the conversation keeps ``progress`` current."""

    ctx: TurnContext
    progress: Progress
    understanding: Understanding | None = None
    values: list[NamedValue] = field(default_factory=list)
    unmet: dict[int, str] = field(default_factory=dict)  # conditions of parts that were calculated and do not hold
    unexcused: set[int] = field(default_factory=set)  # parts that were left though the task sets no condition
    unanswered: dict[int, str] = field(default_factory=dict)  # parts to find out that the model left, and why
    asked_about: frozenset[int] = frozenset()  # parts whose calls the model was asked to complete, or to leave
    not_taken_up: tuple[str, ...] = ()  # sentences of the task that no part quotes
    hypothetical: int = 0
    made: MadeToolResults = NOTHING

    def has(self, name: str) -> bool:
        return name in {tool.name for tool in (*self.definitions(), FIND_TOOLS)}

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The definitions of the local tools, which every task has."""
        return (
            understand_tool(tuple(self.ctx.processes)),
            _calculate_tool(self.made),
            LOOK,
            LEAVE_PART,
            WHAT_WOULD_POLICY_SAY,
        )

    @property
    def figures(self) -> tuple[NamedValue, ...]:
        """The process's own figures, which the executor computed."""
        return tuple(value for value in self.progress.dossier.values if value.figure)

    @property
    def made_used(self) -> tuple[MadeTool, ...]:
        """The made tools with which some value was calculated."""
        used = {value.operation for value in self.values if value.made_by}
        return tuple(tool for name, tool in self.made.tools.items() if name in used)

    async def call(self, key: str, use: ToolUse, facts: Sequence[Fact]) -> ToolResult:
        """The tool's result; what is wrong with the call is told to the model as an error."""
        try:
            return ToolResult(use.id, dumps(await self._call_tool(key, use, facts)))
        except (CannotUnderstand, CannotCalculate, NoSuchPath, ValueError) as why:
            return ToolResult(use.id, str(why), is_error=True)

    async def _call_tool(self, key: str, use: ToolUse, facts: Sequence[Fact]) -> Json:
        if use.name == UNDERSTAND:
            return self._understand(use.input)
        if use.name == CALCULATE.name:
            return await self._calculate(key, use.input, facts)
        if use.name == LOOK.name:
            return look(use.input, (*facts, *files_to_look_at(self.ctx.files)), local_now(self.ctx).date())
        if use.name == LEAVE_PART.name:
            return self._leave(use.input, facts)
        if use.name == FIND_TOOLS.name:
            return find_tools(str(use.input.get("words", "")), self.ctx.toolbox)
        return await self._ask_policy(key, use.input, facts)

    def _understand(self, given: JsonObject) -> Json:
        """Stores the parts of the task. Only the first call counts: what was understood before any result was read is
        what may be done.
        """
        if self.understanding is not None:
            raise CannotUnderstand("the task's parts are settled by the first reply")
        self.understanding = read_understanding(given, user_texts(self.ctx))
        if self.understanding.parts:
            self.not_taken_up = sentences_not_taken_up(self.ctx.task, self.understanding.parts, self.ctx.toolbox.tools)
        left = (f"no part takes up: {sentence!r}" for sentence in self.not_taken_up)
        problems: list[Json] = [*self.understanding.problems, *left]
        parts: list[Json] = [part.as_json() for part in self.understanding.parts]
        return {"parts": parts, **({"problems": problems} if problems else {})}

    async def _calculate(self, key: str, given: JsonObject, facts: Sequence[Fact]) -> Json:
        part = given.get(PART)
        asked = {name: value for name, value in given.items() if name != PART}
        known = known_figures(self.ctx, tuple(facts), (*self.figures, *self.values))
        value = await compute_with_tools(self.ctx, key, self.made, lambda: calculate(asked, known, self.made))
        self.values = [one for one in self.values if one.name != value.name] + [value]
        conditional = next((one for one in self.progress.dossier.parts if one.number == part), None)
        note = {} if conditional is None else self._note_condition(conditional, value, facts)
        return {**describe_value(value), **note}

    def _leave(self, given: JsonObject, facts: Sequence[Fact]) -> Json:
        """Notes that a part is left: a result shows that its condition is not met, or its question has no answer."""
        number, because, ref = given.get("part"), str(given.get("because", "")).strip(), str(given.get("ref", ""))
        part = next((one for one in self.progress.dossier.parts if one.number == number), None)
        if part is None:
            raise ValueError("name a part of the task")
        if because and not part.is_to_do and self.ctx.record.request.practice is None:
            self.unanswered[part.number] = because[:_LONGEST_REASON]
            return {"part": part.number, "left": True, "note": _NO_ANSWER}
        if not because or all(fact.ref != ref for fact in facts):
            raise ValueError("say why, and name the result that shows it, such as r2")
        note = self._leave_part(part, f"{because[:_LONGEST_REASON]} ({ref})")
        return {"part": part.number, "left": True, **note}

    def _leave_part(self, part: PartOfTask, because: str) -> JsonObject:
        """Notes why a part has nothing to do; returns a note for the model if no condition excuses it, in the part's
        words, the task's or those of its world.
        """
        self.unmet[part.number] = because
        practice = self.ctx.record.request.practice
        words = (part.quote, self.ctx.task, practice.instructions if practice else "")
        said = any(map(may_come_to_nothing, words))
        if said or part.number in self.asked_about:
            self.unexcused.discard(part.number)
            return {}
        self.unexcused.add(part.number)
        return {"note": _NO_CONDITION}

    def _note_condition(self, part: PartOfTask, value: NamedValue, facts: Sequence[Fact]) -> JsonObject:
        """Notes whether a condition of the task holds: where it does not, its part has nothing to do. Returns what the
        model is told.
        """
        if value.value == "false":
            return self._leave_part(part, _in_words(value, facts, (*self.figures, *self.values)))
        if value.value == "true":
            self.unmet.pop(part.number, None)
        return {}

    async def _ask_policy(self, key: str, given: JsonObject, facts: Sequence[Fact]) -> Json:
        if self.hypothetical >= _MOST_HYPOTHETICAL:
            raise ValueError(f"the policy was asked {_MOST_HYPOTHETICAL} times already")
        self.hypothetical += 1
        progress = self.progress.update_dossier(facts=tuple(facts), values=tuple(self.values))
        return await ask_hypothetical_verdict(self.ctx, progress, key, given)


def _define_calculate(made: MadeToolResults) -> ToolDefinition:
    """The definition of ``calculate``, with an argument for the part of the task to which a condition belongs."""
    tool = calculate_tool(made)
    schema = dict(tool.input_schema)
    properties = dict(cast("dict[str, JsonValue]", schema["properties"]))
    properties[PART] = {"type": "integer", "description": "of a condition: the part of the task that depends on it"}
    return tool._replace(input_schema={**schema, "properties": properties}, strict=False)


_calculate_tool = IdentityCache(_define_calculate, 256)


def _in_words(condition: NamedValue, facts: Sequence[Fact], values: Sequence[NamedValue]) -> str:
    """A comparison that does not hold as a sentence for the answer: ``stock 5 is less than 2: no``."""
    relation = _RELATIONS.get(condition.operation)
    told = [_operand_in_words(operand, facts, values) for operand in condition.operands]
    if relation is None or len(told) != 2:
        return f"{condition.operation.replace('_', ' ')} ({', '.join(told)}): no"
    return f"{told[0]} {relation} {told[1]}: no"


def _operand_in_words(operand: Operand, facts: Sequence[Fact], values: Sequence[NamedValue]) -> str:
    if operand.source == "value":
        known = next((one for one in reversed(values) if one.name == operand.ref), None)
        return _figure_in_words(known) if known else operand.ref.replace("_", " ")
    if operand.source != "result":
        return operand.literal
    name = " ".join(words_of(operand.path.rpartition(".")[2].partition("[")[0]))
    return f"{name} {_value_text(operand, facts)}".strip() or operand.ref


def _figure_in_words(value: NamedValue) -> str:
    """A calculated value with its unit and currency; cents as whole units."""
    if value.number is not None and value.unit == "cents":
        return f"{value.number.scaleb(-2):f} {value.currency}".strip()
    return " ".join(filter(None, (value.value, value.unit, value.currency)))


def _value_text(operand: Operand, facts: Sequence[Fact]) -> str:
    """The single short value at the operand's path as text; else empty."""
    fact = next((one for one in facts if one.ref == operand.ref), None)
    try:
        found = select_cells(fact.result, operand.path).cells if fact else []
    except NoSuchPath:
        return ""
    value = found[0].value if len(found) == 1 else None
    if value is None or isinstance(value, dict | list):
        return ""
    return (value if isinstance(value, str) else dumps(value))[:_LONGEST_OPERAND]


_SHOWN = 120
PROPOSE_AGAIN = "Not made: propose it again."


class ReplyProposals(Contract):
    """What a reply proposed for the plan, as its journal step stores it; ``wrong``: by call id, why a write is not
    proposed; ``doubts``: about values that may be the model's own choice.
    """

    proposals: tuple[Proposal, ...] = ()
    wrong: dict[str, str] = {}
    doubts: tuple[str, ...] = ()

    @property
    def use_ids(self) -> tuple[str, ...]:
        """The ids of all calls that write, proposed or wrong."""
        return (*(one.use_id for one in self.proposals), *self.wrong)


class DispatchedReply(NamedTuple):
    """What became of a reply's calls: ``results`` of those that are answered, and what it ``proposed``."""

    results: Mapping[str, ToolResult]
    shown: tuple[Json, ...]  # the reads and local calls as data, for a history that begins anew
    proposed: ReplyProposals


class _Sorted(NamedTuple):
    """The calls of a reply by their kind."""

    local: tuple[ToolUse, ...]
    reads: tuple[tuple[ToolUse, Tool | None], ...]  # no tool: it was a read when the reply was heard, and is none now
    writes: tuple[tuple[ToolUse, Tool], ...]
    unknown: tuple[ToolUse, ...]


class ReplyDispatch:
    """Carries out the calls of one reply. ``key`` begins the names of its journal steps."""

    def __init__(self, ctx: TurnContext, reader: TaskReader, local: LocalTools, key: str) -> None:
        self._ctx = ctx
        self._reader = reader
        self._local = local
        self._key = key

    async def run(
        self,
        uses: Sequence[ToolUse],
        before: Sequence[Proposal],
        setting: ProposalContext,
        known: Callable[[], KnownSources],
        look_up: Callable[[Sequence[PlannedCall]], Awaitable[bool]],
    ) -> DispatchedReply:
        """Carries out the reply's calls and returns what became of them.

        ``before``: the proposals that are held already; ``known`` is called once the reply has calculated. ``look_up``:
        reads the records that calls name and nobody read; whether anything was read.
        """
        places = {use.id: place for place, use in enumerate(uses)}  # the same whatever the servers list by now
        heard = self._read_earlier()
        calls = self._sort([unwrap(use) for use in uses if use.id not in heard.use_ids], places)
        new_reads = [use.name for use, tool in calls.reads if tool and not self._reader.is_known(use, tool)]
        read = await self._read_all(calls.reads, places, self._find_misled([use for use, _ in calls.reads], known))
        results, shown = dict[str, ToolResult](), list[Json]()
        for (use, _), made in zip(calls.reads, read, strict=True):
            results[use.id], data = _present_read(use, made)
            shown.append(data)
        for use in calls.local:
            results[use.id] = await self._local.call(f"{self._key}:local:{places[use.id]}", use, self._reader.facts)
            if use.name != UNDERSTAND:
                shown.append(_said_as_data(use, results[use.id]))
        for use in calls.unknown:
            results[use.id] = _build_error(use, f"There is no tool named {use.name!r}.")
            shown.append(_said_as_data(use, results[use.id]))
        proposed = heard
        if heard.use_ids:
            await look_up(())  # what was read for them then is known again
        elif calls.writes:
            # as this reply left them
            setting = setting._replace(
                parts=parts_with_conditions(setting.parts, self._local.unmet, self._local.unexcused)
            )
            proposed, sourceless = self._propose(calls.writes, before, setting, known(), new_reads)
            if sourceless and await look_up(sourceless):
                proposed, _ = self._propose(calls.writes, before, setting, known(), new_reads)
            self._ctx.journal.decide_once(self._proposed_key, proposed.model_dump_json)
        return DispatchedReply(results, tuple(shown), proposed)

    @property
    def _proposed_key(self) -> str:
        return f"{self._key}:proposed"

    def _read_earlier(self) -> ReplyProposals:
        """What the reply proposed in an earlier attempt, so that nothing of it is decided again; empty if it was not
        heard.
        """
        stored = self._ctx.journal.of_earlier_attempt(self._proposed_key)
        return ReplyProposals.model_validate_json(stored) if stored is not None else ReplyProposals()

    def _sort(self, uses: Sequence[ToolUse], places: Mapping[str, int]) -> _Sorted:
        tools, local, unknown = self._ctx.toolbox.tools, list[ToolUse](), list[ToolUse]()
        reads, writes = list[tuple[ToolUse, Tool | None]](), list[tuple[ToolUse, Tool]]()
        for use in uses:
            tool = tools.get(use.name)
            if tool is not None and tool.tool_class not in WRITES:
                reads.append((use, tool))
            elif self._ctx.journal.of_earlier_attempt(self._read_key(places[use.id])) is not None:
                reads.append((use, None))
            elif tool is not None:
                writes.append((use, tool))
            elif self._local.has(use.name):
                local.append(use)
            else:
                unknown.append(use)
        return _Sorted(tuple(local), tuple(reads), tuple(writes), tuple(unknown))

    def _find_misled(self, reads: Sequence[ToolUse], known: Callable[[], KnownSources]) -> dict[str, str]:
        """By call id, why a read is not made: it would open an address that stands only in somebody's text, and so
        reveal what the address names.
        """
        opened = [(use, address) for use in reads for address in opened_addresses(use.input)]
        finder = SourceFinder(known()) if opened else None
        return {
            use.id: f"Not called: {address[:_SHOWN]} stands only in a text that somebody wrote, and the task does not "
            "say to open it."
            for use, address in opened
            if finder and finder.is_address_of_free_text(address)
        }

    def _read_key(self, place: int) -> str:
        return f"{self._key}:tool:{place}"

    async def _read_all(
        self, reads: Sequence[tuple[ToolUse, Tool | None]], places: Mapping[str, int], misled: Mapping[str, str]
    ) -> list[Fact | str]:
        """For each read its fact, or why it was not made; of equal ones only one is made.

        ``misled``: by call id, why a read is not made, unless its result is known already.
        """
        refs = [self._reader.reserve(use, tool) if tool else self._reader.restore(use) for use, tool in reads]
        firsts = {ref: place for place, ref in reversed(list(enumerate(refs)))}
        most = self._ctx.limits.tool_calls

        async def read(place: int) -> Fact | str:
            use, tool = reads[place]
            if tool is None:
                return self._reader.fact(refs[place]) or f"Not called: {use.name} is not there any more."
            if place >= most:
                self._reader.forget(refs[place])
                return f"Not called: one reply makes {most} reads at most."
            if use.id in misled and self._ctx.journal.get(self._read_key(places[use.id])) is None:
                self._reader.forget(refs[place])
                return misled[use.id]
            try:
                return await self._reader.read(self._read_key(places[use.id]), refs[place], use, tool)
            except CallRefused as why:
                self._reader.forget(refs[place])
                return str(why)

        made = await side_by_side(read(place) for place in sorted(firsts.values()))
        by_ref = dict(zip((refs[place] for place in sorted(firsts.values())), made, strict=True))
        return [by_ref[ref] if firsts[ref] == place else await read(place) for place, ref in enumerate(refs)]

    def _propose(
        self,
        writes: Sequence[tuple[ToolUse, Tool]],
        before: Sequence[Proposal],
        setting: ProposalContext,
        known: KnownSources,
        new_reads: Sequence[str],
    ) -> tuple[ReplyProposals, Sequence[PlannedCall]]:
        """The proposals of the reply, or what is wrong with them: one error holds them all. Beside it the reply's calls
        if an argument of one has no source.
        """
        proposals: list[Proposal] = []
        wrong: dict[str, str] = {}
        doubts: list[str] = []
        read, lacks_source = list[PlannedCall](), False
        finder = SourceFinder(known)
        called = [
            *((tool.name, use.input) for use, tool in writes),
            *((one.call.tool, one.call.arguments) for one in before),
        ]
        for use, tool in writes:
            try:
                if new_reads:
                    seen = ", ".join(dict.fromkeys(new_reads))
                    raise NotProposed(f"propose it once you have seen what {seen} gives")
                made = propose(use, tool, (*before, *proposals), setting)
                quote = next((part.quote for part in setting.parts if part.number == made.call.part), "")
                others = [one.quote for one in setting.parts if one.number != made.call.part]
                part = PartOfCall(quote, others, self._names_of_writes(tool.connection_id), called)
                sourced = finder.find(made.call, tool, part)
                read.append(made.call)
                lacks_source |= sourced.lacks_source
                if sourced.problems:
                    raise NotProposed("; ".join(sourced.problems))
                if fresh := [one for one in sourced.doubts if one not in setting.sent_back]:
                    doubts += fresh
                    raise NotProposed("; ".join(fresh))
                proposals.append(made._replace(call=sourced.call))
            except NotProposed as why:
                wrong[use.id] = f"Not made: {why}"
        if wrong:
            again = {one.use_id: PROPOSE_AGAIN for one in proposals}
            return ReplyProposals(wrong={**wrong, **again}, doubts=tuple(doubts)), read if lacks_source else ()
        return ReplyProposals(proposals=tuple(proposals)), ()

    def _names_of_writes(self, connection: str) -> list[str]:
        tools = self._ctx.toolbox.tools.values()
        return [one.name for one in tools if one.connection_id == connection and one.tool_class in WRITES]


def _present_read(use: ToolUse, made: Fact | str) -> tuple[ToolResult, Json]:
    """A read as the result of its call, and as data for a history that begins anew."""
    asked: dict[str, Json] = {"tool": use.name, "arguments": use.input}
    if isinstance(made, str):
        return _build_error(use, made), {**asked, "error": made}
    seen, note = shorten_result(made.result)
    said = " ".join(filter(None, (made.note, note)))
    told: dict[str, Json] = {"note": said} if said else {}
    text = f"{dumps(seen)}\n[{made.ref}{f': {said}' if said else ''}]"
    return ToolResult(use.id, text, is_error=not made.ok), {"ref": made.ref, **asked, "result": seen, **told}


def _build_error(use: ToolUse, why: str) -> ToolResult:
    return ToolResult(use.id, why, is_error=True)


def _said_as_data(use: ToolUse, result: ToolResult) -> Json:
    told: Json = result.content if result.is_error else loads(result.content)
    return {"tool": use.name, "arguments": use.input, "error" if result.is_error else "result": told}
