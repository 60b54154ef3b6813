"""The executor's own tools (``understand``, ``calculate``, ``look`` and others), none of which calls a tool server."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from services.executor.core.authorize.policy import format_refusal, request_verdict
from services.executor.core.conversation.understanding import (
    UNDERSTAND_TOOL_NAME,
    Understanding,
    define_understand_tool,
    find_unaddressed_sentences,
    read_understanding,
)
from services.executor.core.figures.calculate import (
    CALCULATE_DEFINITION,
    LOOK_DEFINITION,
    calculate,
    define_calculate_tool,
    describe_value,
    select_rows_for_model,
)
from services.executor.core.figures.calculator import NO_MADE_TOOLS, MadeToolResults
from services.executor.core.figures.operands import select_cells
from services.executor.core.figures.vocabulary import has_condition
from services.executor.core.model.made_tools import compute_with_made_tools
from services.executor.core.plan.sources import build_operand_sources, list_user_texts
from services.executor.core.session.context import TurnContext, convert_files_for_look_tool, get_task_time
from services.executor.core.session.dossier import Progress
from services.executor.core.session.ledger import list_writes, sort_by_sending_time
from services.executor.core.session.values import Fact, NamedValue, Operand, PartOfTask
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import NoSuchPath
from services.executor.core.tools.toolbox import (
    FIND_TOOLS_DEFINITION,
    LEAVE_PART_DEFINITION,
    WHAT_WOULD_POLICY_SAY_DEFINITION,
    find_tools,
)
from shared.contracts.made_tool import MadeTool
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import HYPOTHETICAL_CALL_ID, Verdict
from shared.domain.exact_json import Json, JsonObject, dumps, loads
from shared.domain.identity_cache import IdentityCache
from shared.domain.words import STATUSES_WITHOUT_EFFECT
from shared.ports.models import ToolDefinition, ToolResult, ToolUse

_OPEN_SELECTION_WORD_PATTERN = re.compile(
    r"\b(?:all|any|anything|anyone|each|every|everything|everyone|whatever|whichever|those|who|whose|which|"
    r"that (?:is|are|has|have|was|were|do|does)|necessary|needed|"
    r"alle|allen|aller|jede|jeden|jedes|welche|tous|toutes|chaque|todos|todas|cada)\b",
    re.IGNORECASE,
)
_MOST_HYPOTHETICAL_CALLS = 5
_LONGEST_REASON = 300
_LONGEST_OPERAND = 60
_NO_CONDITION_NOTE = "the task sets no condition for this part, so it counts as not done"
_NO_ANSWER_NOTE = "this part counts as not answered"
_RELATION_IN_WORDS = {
    "is_less": "is less than", "is_at_most": "is at most", "is_more": "is more than", "is_at_least": "is at least",
    "is_equal": "is", "is_not_equal": "is not",
}  # fmt: skip
_PART_ARGUMENT = "part"


def has_condition_or_open_selection(text: str) -> bool:
    """Whether a text states a condition, or speaks of what may not exist: "every open claim", "those who paid"."""
    return has_condition(text) or _OPEN_SELECTION_WORD_PATTERN.search(text) is not None


class _LocalCall(NamedTuple):
    """A call of a local tool: its journal key, its arguments, and the facts read so far."""

    key: str
    arguments: JsonObject
    facts: Sequence[Fact]


@dataclass
class LocalTools:
    """The local tools and their state for one task. The conversation keeps ``progress`` up to date."""

    ctx: TurnContext
    progress: Progress
    understanding: Understanding | None = None
    values: list[NamedValue] = field(default_factory=list)
    unmet: dict[int, str] = field(default_factory=dict)  # conditions of parts that were calculated and do not hold
    unexcused: set[int] = field(default_factory=set)  # parts that were left undone though the task sets no condition
    unanswered: dict[int, str] = field(default_factory=dict)  # parts to find out that the model left, and why
    asked_about: frozenset[int] = frozenset()  # parts whose calls the model was asked to complete, or to leave
    not_taken_up: tuple[str, ...] = ()  # sentences of the task that no part quotes
    hypothetical_call_count: int = 0
    made_tools: MadeToolResults = NO_MADE_TOOLS

    def is_local_tool(self, name: str) -> bool:
        return name in _METHOD_BY_TOOL

    def list_definitions(self) -> tuple[ToolDefinition, ...]:
        """The definitions of the local tools, which every task has."""
        understand = define_understand_tool(tuple(self.ctx.processes))
        return (
            understand,
            _define_calculate_tool_once(self.made_tools),
            LOOK_DEFINITION,
            LEAVE_PART_DEFINITION,
            WHAT_WOULD_POLICY_SAY_DEFINITION,
        )

    @property
    def all_values(self) -> tuple[NamedValue, ...]:
        """All figures: those of the process, which the executor computed, and those that the model had calculated."""
        return (*(value for value in self.progress.dossier.values if value.figure), *self.values)

    @property
    def used_made_tools(self) -> tuple[MadeTool, ...]:
        """The made tools that at least one value was calculated with."""
        used_names = {value.operation for value in self.values if value.made_by}
        return tuple(tool for name, tool in self.made_tools.tools.items() if name in used_names)

    async def call(self, key: str, use: ToolUse, facts: Sequence[Fact]) -> ToolResult:
        """Runs the tool; errors in the call become an error result for the model."""
        if use.name not in _METHOD_BY_TOOL:
            return ToolResult(use.id, f"There is no tool named {use.name!r}.", is_error=True)
        try:
            return ToolResult(use.id, dumps(await _METHOD_BY_TOOL[use.name](self, _LocalCall(key, use.input, facts))))
        except (NoSuchPath, ValueError) as error:
            return ToolResult(use.id, str(error), is_error=True)

    async def _store_parts_of_task(self, call: _LocalCall) -> Json:
        """Stores the task's parts; returns them and the problems with them.

        Raises ``ValueError`` at the second call: only the first counts, so that no tool result can change what may be
        done.
        """
        if self.understanding is not None:
            raise ValueError("the task's parts are settled by the first reply")
        self.understanding = read_understanding(call.arguments, list_user_texts(self.ctx))
        if self.understanding.parts:
            self.not_taken_up = find_unaddressed_sentences(
                self.ctx.task, self.understanding.parts, self.ctx.toolbox.tools
            )
        unquoted_notes = (f"no part takes up: {sentence!r}" for sentence in self.not_taken_up)
        problems: list[Json] = [*self.understanding.problems, *unquoted_notes]
        parts: list[Json] = [part.as_json() for part in self.understanding.parts]
        return {"parts": parts, **({"problems": problems} if problems else {})}

    async def _calculate(self, call: _LocalCall) -> Json:
        expression = {name: value for name, value in call.arguments.items() if name != _PART_ARGUMENT}
        sources = build_operand_sources(self.ctx, tuple(call.facts), self.all_values)
        value = await compute_with_made_tools(
            self.ctx, call.key, self.made_tools, lambda: calculate(expression, sources, self.made_tools)
        )
        self.values = [earlier for earlier in self.values if earlier.name != value.name] + [value]
        return {**describe_value(value), **await self._update_part_by_condition(value, call)}

    async def _select_rows(self, call: _LocalCall) -> Json:
        return select_rows_for_model(
            call.arguments, (*call.facts, *convert_files_for_look_tool(self.ctx.files)), get_task_time(self.ctx).date()
        )

    async def _leave_part(self, call: _LocalCall) -> Json:
        """Marks a part as left undone, or a question as unanswered. Raises ``ValueError`` for a call to correct."""
        part = self._find_named_part(call)
        because = str(call.arguments.get("because", "")).strip()[:_LONGEST_REASON]
        if part is None:
            raise ValueError("name a part of the task")
        if because and not part.is_to_do and self.ctx.record.request.practice is None:
            self.unanswered[part.number] = because
            return {"part": part.number, "left": True, "note": _NO_ANSWER_NOTE}
        ref = str(call.arguments.get("ref", ""))
        if not because or all(fact.ref != ref for fact in call.facts):
            raise ValueError("say why, and name the result that shows it, such as r2")
        is_asked_about = part.number in self.asked_about  # then some of what it lists may be left
        if not is_asked_about and (tool_names := await self._join_tools_called_for(part)):
            raise ValueError(f"{tool_names} was called for this part already, so it is not left: say so in the answer")
        return {"part": part.number, "left": True, **self._mark_part_left_undone(part, f"{because} ({ref})")}

    async def _ask_policy(self, call: _LocalCall) -> Json:
        """The policy service's verdict on a hypothetical call, for the model; a journal step.

        Raises ``ValueError`` for an unknown tool, arguments that are no object, or one question too many.
        """
        if self.hypothetical_call_count >= _MOST_HYPOTHETICAL_CALLS:
            raise ValueError(f"the policy was asked {_MOST_HYPOTHETICAL_CALLS} times already")
        self.hypothetical_call_count += 1
        tool = self.ctx.toolbox.tools.get(str(call.arguments.get("tool", "")))
        arguments = call.arguments.get("arguments")
        if tool is None or not isinstance(arguments, dict):
            raise ValueError("name one of the tools, and its arguments as an object")
        hypothetical_call = PlannedCall(
            call_id=HYPOTHETICAL_CALL_ID,
            connection_id=tool.connection_id,
            tool=tool.name,
            tool_class=tool.tool_class,
            arguments_json=dumps(arguments),
        )
        plan = WritePlan(task_id=self.ctx.record.task_id, round=0, calls=(hypothetical_call,))
        progress = self.progress.update_dossier(facts=tuple(call.facts), values=tuple(self.values), plan=plan)

        async def ask() -> str:
            verdict = await request_verdict(self.ctx, progress.template, progress.dossier)
            self.ctx.journal.add_event("note", hypothetical=tool.name, passed=verdict.passed)
            return dumps(_describe_verdict(verdict))

        return loads(await self.ctx.journal.run_step(call.key, "verdict", ask))

    async def _find_tools(self, call: _LocalCall) -> Json:
        return find_tools(str(call.arguments.get("words", "")), self.ctx.toolbox)

    def _find_named_part(self, call: _LocalCall) -> PartOfTask | None:
        """The part of the task that the call names; None if it names none."""
        number = call.arguments.get(_PART_ARGUMENT)
        return next((part for part in self.progress.dossier.parts if part.number == number), None)

    def _mark_part_left_undone(self, part: PartOfTask, because: str) -> JsonObject:
        """Stores why a part is left undone. Returns a note for the model if no text of the task states a condition."""
        self.unmet[part.number] = because
        practice = self.ctx.record.request.practice
        texts = (part.quote, self.ctx.task, practice.instructions if practice else "")
        if any(map(has_condition_or_open_selection, texts)) or part.number in self.asked_about:
            self.unexcused.discard(part.number)
            return {}
        self.unexcused.add(part.number)
        return {"note": _NO_CONDITION_NOTE}

    async def _join_tools_called_for(self, part: PartOfTask) -> str:
        """The tools whose calls carried out this part; empty if it has none that took effect or may have."""
        writes = sort_by_sending_time(await list_writes(self.ctx.store))
        return ", ".join(
            write.call.tool
            for write in writes
            if write.call.part == part.number and write.status not in STATUSES_WITHOUT_EFFECT
        )

    async def _update_part_by_condition(self, value: NamedValue, call: _LocalCall) -> JsonObject:
        """If the calculated value is the condition of a part and is false, marks that part as left undone, unless a
        tool was called for it already; if it is true, removes that mark. Returns a note for the model.
        """
        part = self._find_named_part(call)
        if part and value.value == "false":
            if tool_names := await self._join_tools_called_for(part):
                return {"note": f"{tool_names} was called for this part already: say so in the answer"}
            return self._mark_part_left_undone(part, _describe_condition(value, call.facts, self.all_values))
        if part and value.value == "true":
            self.unmet.pop(part.number, None)
        return {}


_METHOD_BY_TOOL: Mapping[str, Callable[[LocalTools, _LocalCall], Awaitable[Json]]] = {
    UNDERSTAND_TOOL_NAME: LocalTools._store_parts_of_task,
    CALCULATE_DEFINITION.name: LocalTools._calculate,
    LOOK_DEFINITION.name: LocalTools._select_rows,
    LEAVE_PART_DEFINITION.name: LocalTools._leave_part,
    WHAT_WOULD_POLICY_SAY_DEFINITION.name: LocalTools._ask_policy,
    FIND_TOOLS_DEFINITION.name: LocalTools._find_tools,
}


def _describe_verdict(verdict: Verdict) -> Json:
    refusals = [format_refusal(refusal) for refusal in verdict.refusals]
    if verdict.blocked or verdict.problems or refusals:
        outcome = "blocked"
    else:
        outcome = "passes" if verdict.passed else "waits for a person"
    return {"it": outcome, "decided_by": verdict.escalation_level, "because": [*verdict.reasons, *refusals]}


_define_calculate_tool_once = IdentityCache(define_calculate_tool, 256)


def _describe_condition(condition: NamedValue, facts: Sequence[Fact], values: Sequence[NamedValue]) -> str:
    """A comparison that does not hold, as a sentence: ``stock 5 is less than 2: no``."""
    relation = _RELATION_IN_WORDS.get(condition.operation)
    operands = [_describe_operand(operand, facts, values) for operand in condition.operands]
    if relation is None or len(operands) != 2:
        return f"{condition.operation.replace('_', ' ')} ({', '.join(operands)}): no"
    return f"{operands[0]} {relation} {operands[1]}: no"


def _describe_operand(operand: Operand, facts: Sequence[Fact], values: Sequence[NamedValue]) -> str:
    if operand.source == "value":
        figure = next((value for value in reversed(values) if value.name == operand.ref), None)
        return _describe_figure(figure) if figure else operand.ref.replace("_", " ")
    if operand.source != "result":
        return operand.literal
    name = " ".join(words_of(operand.path.rpartition(".")[2].partition("[")[0]))
    return f"{name} {_get_single_value_text(operand, facts)}".strip() or operand.ref


def _describe_figure(value: NamedValue) -> str:
    """A calculated value with its unit and currency; cents are converted to whole units."""
    if value.number is not None and value.unit == "cents":
        return f"{value.number.scaleb(-2):f} {value.currency}".strip()
    return " ".join(filter(None, (value.value, value.unit, value.currency)))


def _get_single_value_text(operand: Operand, facts: Sequence[Fact]) -> str:
    """The single short value at the operand's path as text; else empty."""
    fact = next((fact for fact in facts if fact.ref == operand.ref), None)
    try:
        cells = select_cells(fact.result, operand.path).cells if fact else []
    except NoSuchPath:
        return ""
    value = cells[0].value if len(cells) == 1 else None
    if value is None or isinstance(value, dict | list):
        return ""
    return (value if isinstance(value, str) else dumps(value))[:_LONGEST_OPERAND]
