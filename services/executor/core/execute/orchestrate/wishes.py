"""What an orchestrator asks for, call by call: reads are made under ASSESS's rules, writes are noted as wishes."""

from collections.abc import Sequence

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Conversation, Fact, NamedValue, Progress, WantedWrite
from services.executor.core.execute.assess import Reader
from services.executor.core.execute.model_calls import UnusableAnswer
from services.executor.core.execute.orchestrate.calculating import CALCULATE, calculated, paths_to
from services.executor.core.execute.read_rules import ReadRules
from services.executor.core.execute.reading import known_corrections
from services.executor.core.execute.tool_loop import ToolFailed, ToolRetry
from services.executor.core.execute.write_plan import Proposal, ProposedCall, ProposedReadBack, checked_call
from services.executor.core.finance.figures import normal
from services.executor.ports.models import ToolResult, ToolUse
from services.executor.ports.tools import Tool
from shared.contracts.plan import Origin, PlannedCall
from shared.domain.exact_json import Json, JsonObject, dumps, loads, loads_object
from shared.domain.words import FsmState, ToolClass

WRITES = (ToolClass.CHANGE, ToolClass.NOTIFY)
READ_BACK = "_read_back"


class Wishes:
    """The dispatch of one stretch of the conversation. What it needs of earlier rounds it takes as they ended."""

    def __init__(self, ctx: TurnContext, progress: Progress, rules: ReadRules, conversation: Conversation) -> None:
        self._ctx = ctx
        self._task = ctx.task
        self._before = progress.dossier.facts
        self._corrections = known_corrections(ctx, progress)
        self.reader = Reader(ctx, progress.state, self._corrections, rules, self._before)
        self.wanted: list[WantedWrite] = list(conversation.wanted)
        self.values: list[NamedValue] = list(conversation.values)
        self._writes = may_write(progress)
        self._round = ""
        self._known = self._before

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts of the task so far: a read that was made before is not among them twice."""
        return together(self._before, self.reader.facts)

    async def __call__(self, key: str, use: ToolUse) -> ToolResult:
        self._begins(key)
        tool = self._ctx.toolbox.tools.get(use.name)
        if tool is None and use.name == CALCULATE.name:
            return self._calculated(use)
        if tool is not None and tool.tool_class in WRITES:
            return self._noted(use, tool)
        return await self.reader(key, use)

    def _begins(self, key: str) -> None:
        """Calls of one round do not see each other's results, whichever comes first."""
        now = key.rpartition(":")[0]
        if now != self._round:
            self._round, self._known = now, self.facts

    def _calculated(self, use: ToolUse) -> ToolResult:
        value = calculated(use, self._known, self.values, self._task)
        self.values.append(value)
        return ToolResult(use.id, dumps({"name": value.name, "value": value.value}))

    def _noted(self, use: ToolUse, tool: Tool) -> ToolResult:
        if not self._writes:
            raise ToolFailed("This task only reads: nothing is written in it.")
        arguments = {name: value for name, value in use.input.items() if name != READ_BACK}
        wish = WantedWrite(
            call_id=f"c{len(self.wanted) + 1}",
            use_id=use.id,
            connection=tool.connection_id,
            tool=tool.name,
            arguments_json=dumps(arguments),
            read_back_json=dumps(use.input[READ_BACK]) if use.input.get(READ_BACK) else "",
        )
        if same := [one for one in self.wanted if _what(one) == _what(wish)]:
            raise ToolFailed(f"This write is noted already, as {same[0].call_id}: it will be made once.")
        try:
            self._fits(wish)
        except UnusableAnswer as problem:
            raise ToolRetry(f"Not noted: {problem}") from problem
        self.wanted.append(wish)
        said: JsonObject = {"noted_as": wish.call_id, "made": False, "then": "you are told what became of it"}
        return ToolResult(use.id, dumps(said))

    def _fits(self, wish: WantedWrite) -> None:
        """Whether it is a call that can be made after those before it; raises ``UnusableAnswer``."""
        earlier: list[PlannedCall] = []
        for one in (*self.wanted, wish):
            earlier.append(checked_call(_proposed(one, ()), earlier, self._ctx.toolbox, self._corrections))


def may_write(progress: Progress) -> bool:
    """Whether the path has a state in which a wish can come true."""
    return bool({FsmState.MUTATE, FsmState.SCHEDULE_NOTIFY} & set(progress.path))


def proposal(wanted: Sequence[WantedWrite], facts: Sequence[Fact], task: str) -> Proposal:
    """The wishes as a plan is proposed; each argument with where it was found."""
    return Proposal(calls=tuple(_proposed(one, facts, task) for one in wanted))


def together(before: Sequence[Fact], new: Sequence[Fact]) -> tuple[Fact, ...]:
    """All facts, those known before under their references; what was read again is known as it is now."""
    known = {_call(fact): fact for fact in before}
    for fact in new:
        old = known.get(_call(fact))
        known[_call(fact)] = fact.model_copy(update={"ref": old.ref if old else f"f{len(known) + 1}"})
    return tuple(known.values())


def with_earlier(progress: Progress, earlier: Sequence[Fact]) -> Progress:
    """The progress which also knows what somebody else read before, as far as it was not read again."""
    again = {_call(fact) for fact in progress.dossier.facts}
    missing = [fact for fact in earlier if _call(fact) not in again]
    return progress.learned(facts=together(progress.dossier.facts, missing)) if missing else progress


def _proposed(one: WantedWrite, facts: Sequence[Fact], task: str = "") -> ProposedCall:
    return ProposedCall(
        call_id=one.call_id,
        connection=one.connection,
        tool=one.tool,
        arguments_json=one.arguments_json,
        origins=_origins(one, facts, task),
        read_back=_read_back(one, facts),
    )


def _read_back(one: WantedWrite, facts: Sequence[Fact]) -> ProposedReadBack | None:
    """The proof as it was asked for; else the most exact read of the task whose arguments are all the write's own."""
    if one.read_back_json:
        return _as_asked(one)
    own = loads_object(one.arguments_json)
    reads = [(loads_object(fact.arguments_json), fact) for fact in facts if _answers(fact, one)]
    fitting = [(given, fact) for given, fact in reads if given and all(own.get(name) == given[name] for name in given)]
    if not fitting:
        return None
    given, fact = max(fitting, key=lambda pair: len(pair[0]))
    return ProposedReadBack(tool=fact.tool, arguments_json=dumps(given))


def _as_asked(one: WantedWrite) -> ProposedReadBack:
    """Raises ``UnusableAnswer`` if it is no read."""
    asked = loads(one.read_back_json)
    parts = [asked.get(name) for name in ("tool", "arguments")] if isinstance(asked, dict) else []
    if not (isinstance(asked, dict) and parts and isinstance(parts[0], str) and isinstance(parts[1], dict)):
        raise UnusableAnswer(f"{one.call_id}: {READ_BACK} is {{tool, arguments, expect}}")
    expect = asked.get("expect")
    return ProposedReadBack(
        tool=parts[0], arguments_json=dumps(parts[1]), expect_json=dumps(expect) if isinstance(expect, dict) else "{}"
    )


def _answers(fact: Fact, one: WantedWrite) -> bool:
    return fact.ok and fact.connection_id == one.connection


def _origins(one: WantedWrite, facts: Sequence[Fact], task: str) -> tuple[Origin, ...]:
    """For people who approve it: the place where each argument stands, the first one, if it is one figure or word."""
    found = (_origin(name, value, facts, task) for name, value in loads_object(one.arguments_json).items())
    return tuple(origin for origin in found if origin is not None)


def _origin(name: str, value: Json, facts: Sequence[Fact], task: str) -> Origin | None:
    if isinstance(value, dict | list | bool) or value in (None, ""):
        return None
    text = value if isinstance(value, str) else dumps(value)
    if text in task:
        return Origin(argument=name, source="task")
    for fact in facts:
        path = next(paths_to(fact.result, normal(text)), None) if fact.ok else None
        if path is not None:
            return Origin(argument=name, source="result", ref=f"{fact.ref}.{path}".rstrip("."))
    return None


def _what(one: WantedWrite) -> tuple[str, str, str]:
    return (one.connection, one.tool, one.arguments_json)


def _call(fact: Fact) -> tuple[str, str, str]:
    return (fact.connection_id, fact.tool, fact.arguments_json)
