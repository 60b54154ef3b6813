"""GATHER: the planned reads, all at once that need nothing from each other, under the rules of ASSESS."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Fact, PlannedRead, Progress
from services.executor.core.execute.assess import Reader
from services.executor.core.execute.paths import NoSuchPath
from services.executor.core.execute.read_rules import read_rules
from services.executor.core.execute.reading import known_corrections
from services.executor.core.execute.refs import references, resolve
from services.executor.core.execute.strategies.read_plan import NoReadPlan, plan_reads
from services.executor.core.execute.tool_loop import ToolFailed, ToolRetry
from services.executor.core.fsm.states import RULES
from services.executor.core.side_by_side import side_by_side
from services.executor.ports.models import ToolUse
from shared.domain.exact_json import Json, dumps
from shared.domain.words import FsmState

_PLANS = 4  # how often it is asked what else has to be read, once something is known


async def gather(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with the facts of its planned reads, and of those that are planned once these are known."""
    rules = await read_rules(ctx, progress.step, RULES[FsmState.ASSESS].permits)
    reader = Reader(ctx, FsmState.ASSESS, known_corrections(ctx, progress), rules, progress.dossier.facts)
    rounds = _Rounds(ctx, progress.step, reader)
    await rounds.make(progress.dossier.reads)
    progress = rounds.noted(progress)
    for number in range(1, _PLANS):
        if not progress.dossier.look_again:
            break
        progress = await _planned_further(ctx, progress, number)
        await rounds.make(progress.dossier.reads)
        progress = rounds.noted(progress)
    return _counted(progress, reader)


async def _planned_further(ctx: TurnContext, progress: Progress, number: int) -> Progress:
    """What else is to be read, if anything; without a usable plan it stays at what is known."""
    try:
        planned = await plan_reads(ctx, progress, number)
    except NoReadPlan as unusable:
        ctx.journal.tell("note", problem=f"no further reads could be planned: {unusable.reason}")
        return progress.learned(reads=(), look_again=False)
    counted = progress.model_copy(update={"model_calls": progress.model_calls + planned.model_calls})
    reads = planned.value.reads
    needs = (*progress.dossier.needs, *(read.need for read in reads))
    return counted.learned(reads=reads, needs=needs, look_again=planned.value.look_again and bool(reads))


class _Made(NamedTuple):
    """What a read gave; ``why`` it could not be made, and then its need is unmet."""

    result: Json
    why: str = ""


class _Rounds:
    """Makes reads round by round: a read whose argument comes from another waits for it."""

    def __init__(self, ctx: TurnContext, step: str, reader: Reader) -> None:
        self._ctx = ctx
        self._step = step
        self._reader = reader
        self._left = ctx.limits.tool_calls
        self._number = 0
        self._unmet: list[str] = []

    async def make(self, reads: Sequence[PlannedRead]) -> None:
        given: dict[str, Json] = {}
        waiting = list(reads)
        while waiting:
            ready = [read for read in waiting if all(ref in given for ref in references(read.arguments))]
            waiting = [read for read in waiting if read not in ready]
            given |= await self._round(ready, given)

    def noted(self, progress: Progress) -> Progress:
        return progress.learned(facts=self._reader.facts, reads=(), unmet=tuple(self._unmet))

    async def _round(self, reads: Sequence[PlannedRead], given: Mapping[str, Json]) -> dict[str, Json]:
        prefix, self._number = f"{self._step}:tool:{self._number}", self._number + 1
        made = await side_by_side(
            self._read(f"{prefix}:{place}", read, given, place < self._left) for place, read in enumerate(reads)
        )
        self._left -= len(reads)
        self._unmet += [f"{read.need}: {one.why}" for read, one in zip(reads, made, strict=True) if one.why]
        return {read.id: one.result for read, one in zip(reads, made, strict=True)}

    async def _read(self, key: str, read: PlannedRead, given: Mapping[str, Json], permitted: bool) -> _Made:
        try:
            if not permitted:
                raise ToolFailed("the limit of tool calls is reached")
            use = ToolUse(read.id, read.tool, resolve(read.arguments, given))
            await self._reader(key, use)
        except (ToolRetry, ToolFailed, NoSuchPath) as why:
            return _Made(None, str(why))
        fact = self._found(use)
        return _Made(fact.result if fact and fact.ok else None)

    def _found(self, use: ToolUse) -> Fact | None:
        tool, given = self._ctx.toolbox.tools[use.name], dumps(use.input)
        wanted = (tool.connection_id, tool.name, given)
        made = ((fact, (fact.connection_id, fact.tool, fact.arguments_json)) for fact in self._reader.facts)
        return next((fact for fact, call in made if call == wanted), None)


def _counted(progress: Progress, reader: Reader) -> Progress:
    return progress.model_copy(
        update={
            "tool_calls": progress.tool_calls + len(reader.facts),
            "repeated_calls": progress.repeated_calls + reader.repeated,
            "corrections": dict(reader.corrections.names),
        }
    )
