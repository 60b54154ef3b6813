"""The reads that a plan wants before its verdict: of records that its calls name, and that nobody read."""

from collections.abc import Sequence
from typing import NamedTuple

from services.executor.core.plan.proposals import Proposal
from services.executor.core.reads.reader import CallRefused, TaskReader
from services.executor.core.records.named_records import missing_reads
from services.executor.core.session.context import TurnContext
from services.executor.ports.models import ToolUse
from services.executor.ports.tools import Tool
from shared.contracts.plan import WritePlan
from shared.domain.exact_json import Json, dumps, loads


class _Named(NamedTuple):
    """One such read; ``key`` is its step of the journal, ``tool`` None where its server has it no more."""

    key: str
    use: ToolUse
    tool: Tool | None


class NamedReads:
    """Those of one plan, decided once, whoever goes on with the run."""

    def __init__(self, ctx: TurnContext, reader: TaskReader, key: str, proposals: Sequence[Proposal]) -> None:
        self._ctx = ctx
        self._reader = reader
        self._wanted = self._decide_reads(f"{key}:named", proposals)

    @property
    def is_any_open(self) -> bool:
        """Whether one of them was not made before."""
        return any(one.tool and self._ctx.journal.of_earlier_attempt(one.key) is None for one in self._wanted)

    async def make(self) -> None:
        """Of a record that no read shows, rules know nothing."""
        for one in self._wanted:
            if one.tool is None:
                self._reader.restore(one.use)
                continue
            ref = self._reader.reserve(one.use, one.tool)
            try:
                await self._reader.read(one.key, ref, one.use, one.tool, by_machine=True)
            except CallRefused:
                self._reader.forget(ref)

    def _decide_reads(self, key: str, proposals: Sequence[Proposal]) -> list[_Named]:
        def missing() -> str:
            plan = WritePlan(task_id=self._ctx.record.task_id, calls=tuple(one.call for one in proposals))
            reads = missing_reads(plan, self._ctx.toolbox, self._reader.facts)
            found: list[Json] = [[read.tool.connection_id, read.tool.name, read.arguments] for read in reads]
            return dumps(found)

        stored = loads(self._ctx.journal.decide_once(key, missing))
        rows = [row for row in stored if isinstance(row, list)] if isinstance(stored, list) else []
        return [self._read_named(f"{key}:{place}", *row) for place, row in enumerate(rows)]

    def _read_named(self, key: str, connection: Json, name: Json, arguments: Json) -> _Named:
        use = ToolUse(key, str(name), arguments if isinstance(arguments, dict) else {})
        return _Named(key, use, self._ctx.toolbox.find(str(connection), use.name))
