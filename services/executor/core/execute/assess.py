"""ASSESS: gather facts with read tools, and with nothing else."""

from collections import Counter
from collections.abc import Sequence

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Fact, Progress
from services.executor.core.execute import gate
from services.executor.core.execute.matching import FETCH, matching, offered, wanted
from services.executor.core.execute.model_calls import user
from services.executor.core.execute.process_section import process_section
from services.executor.core.execute.read_rules import ReadRules, read_rules
from services.executor.core.execute.reading import known_corrections, read
from services.executor.core.execute.tool_loop import ToolFailed, ToolRetry, talk
from services.executor.core.fsm.states import RULES, tier_of
from services.executor.core.past_calls import of_facts, read_outcome, sayable
from services.executor.core.prompts.sections import render
from services.executor.core.tooling.corrections import Corrections
from services.executor.core.tooling.paginate_shown import with_note
from services.executor.core.tooling.validate import problems_with
from services.executor.ports.models import ModelRequest, ToolResult, ToolUse
from services.executor.ports.tools import Tool
from shared.contracts.policy import CallOutcome, PastCall
from shared.domain.exact_json import Json, dumps
from shared.domain.words import FsmState


class Reader:
    """Dispatches the calls of one state and keeps what came of them as facts, in the order of their journal keys."""

    def __init__(
        self, ctx: TurnContext, state: FsmState, corrections: Corrections, rules: ReadRules, before: Sequence[Fact]
    ) -> None:
        """``before``: what this task has read already."""
        self._ctx = ctx
        self._rules = rules
        self._calls = list(of_facts(before))
        self._state = state
        self.corrections = corrections
        self._found: dict[str, Fact] = {}
        self._asked: Counter[tuple[str, str, str]] = Counter()

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts, numbered f1, f2 ... by the order in which the model asked for them."""
        ordered = sorted(self._found.items(), key=lambda item: _order(item[0]))
        return tuple(fact.model_copy(update={"ref": f"f{number}"}) for number, (_, fact) in enumerate(ordered, 1))

    @property
    def repeated(self) -> int:
        """How many calls were the same as an earlier one, argument for argument."""
        return self._asked.total() - len(self._asked)

    async def __call__(self, key: str, use: ToolUse) -> ToolResult:
        if use.name != FETCH.name or FETCH.name in self._ctx.toolbox.tools:
            return await self._called(key, use)
        asked = wanted(use)
        if isinstance(asked, str):
            raise ToolRetry(f"Not called, the arguments do not fit: {asked}")
        result = await self._called(key, asked.call)
        tool = self._ctx.toolbox.tools.get(asked.call.name)
        fact = self._same_call(tool, dumps(asked.call.input)) if tool and not result.is_error else None
        return result._replace(content=dumps(matching(fact, asked.conditions))) if fact else result

    async def _called(self, key: str, use: ToolUse) -> ToolResult:
        tool = self._ctx.toolbox.tools.get(use.name)
        if tool is None:
            raise ToolFailed(f"There is no tool named {use.name!r}; nothing was called.")
        try:
            gate.check(self._state, tool)
        except gate.Refused as refusal:
            self._ctx.journal.tell("tool", tool=use.name, state=self._state.value, refused=str(refusal))
            raise ToolFailed(str(refusal)) from refusal
        problems = problems_with(use.input, tool)
        if problems:
            raise ToolRetry(f"Not called, the arguments do not fit: {problems}")
        return await self._read(key, use, tool)

    async def _read(self, key: str, use: ToolUse, tool: Tool) -> ToolResult:
        self._asked[tool.connection_id, tool.name, dumps(use.input)] += 1
        repeated = self._same_call(tool, dumps(use.input))
        if repeated is not None:
            again = with_note(repeated.result, repeated.note)
            return ToolResult(use.id, dumps(again), is_error=not repeated.ok)
        mine = self._claimed(tool, use)
        refused = await self._refused(key, tool, use, self._calls[:mine])
        if refused is not None:
            self._came_to(mine, CallOutcome.UNSENT)
            raise ToolFailed(f"Refused by policy rule {refused}. It was not called.")
        reading = await read(self._ctx, key, tool, use.input, self.corrections)
        answer = reading.answer
        self.corrections = self.corrections.learned(tool, use.input, reading.learned)
        self._found[key] = fact = Fact(
            ref="",
            connection_id=tool.connection_id,
            tool=tool.name,
            arguments_json=dumps(use.input),
            result_json=dumps(answer.content),
            ok=reading.tells,
            note=reading.note,
        )
        self._came_to(mine, read_outcome(fact))
        return ToolResult(use.id, dumps(with_note(answer.content, reading.note)), is_error=answer.is_error)

    async def _refused(self, key: str, tool: Tool, use: ToolUse, since: Sequence[PastCall]) -> str | None:
        refused = await self._rules.refusal(key, tool, use.input, since)
        if refused is not None:
            self._ctx.journal.tell("tool", tool=use.name, state=self._state.value, refused=refused)
        return refused

    def _claimed(self, tool: Tool, use: ToolUse) -> int:
        """The place of a call that is about to be made: those that come beside it count it while it is asked for."""
        self._calls.append(PastCall(tool=tool.name, outcome=CallOutcome.UNKNOWN, fields=sayable(use.input)))
        return len(self._calls) - 1

    def _came_to(self, mine: int, outcome: CallOutcome) -> None:
        self._calls[mine] = self._calls[mine].model_copy(update={"outcome": outcome})

    def _same_call(self, tool: Tool, arguments: str) -> Fact | None:
        wanted = (tool.connection_id, tool.name, arguments)
        return next(
            (fact for fact in self._found.values() if (fact.connection_id, fact.tool, fact.arguments_json) == wanted),
            None,
        )


async def assess(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with facts and findings."""
    permitted = RULES[FsmState.ASSESS].permits
    rules = await read_rules(ctx, progress.step, permitted)
    reader = Reader(ctx, FsmState.ASSESS, known_corrections(ctx, progress), rules, progress.dossier.facts)
    sections: dict[str, Json] = {
        **ctx.sections,
        "process": process_section(ctx, progress, FsmState.ASSESS),
        "needs": list[Json](progress.dossier.needs),
        "blocked_tools": ctx.toolbox.blocked(permitted),
    }
    request = ModelRequest(
        tier=tier_of(FsmState.ASSESS, ctx.task),
        system=(ctx.prompts.role, ctx.prompts.assess),
        messages=(user(render(sections)),),
        tools=(*ctx.toolbox.of_classes(permitted), *offered(ctx.toolbox, permitted)),
        max_tokens=2048,
    )
    done = await talk(ctx, progress.step, request, reader)
    counted = progress.model_copy(
        update={
            "model_calls": progress.model_calls + done.model_calls,
            "tool_calls": progress.tool_calls + len(reader.facts),
            "repeated_calls": progress.repeated_calls + reader.repeated,
            "corrections": dict(reader.corrections.names),
        }
    )
    return counted.learned(facts=reader.facts, findings=done.reply.text)


def _order(key: str) -> tuple[int, int]:
    iteration, index = key.rsplit(":", 2)[1:]
    return int(iteration), int(index)
