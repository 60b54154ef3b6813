"""Reads the records that a plan's calls name and that were not read since the last writes."""

from collections.abc import Sequence
from typing import NamedTuple

from services.executor.core.reads.reader import CallRefused, TaskReader
from services.executor.core.records.binding import refs_of_reads_around
from services.executor.core.records.wanted_reads import find_missing_reads
from services.executor.core.session.context import TurnContext
from services.executor.ports.tools import Tool
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json, as_object, dumps, loads, loads_object
from shared.ports.models import ToolUse


class _ReadToMake(NamedTuple):
    """One read to make. ``key``: its journal step; ``tool``: None if the server no longer has it."""

    key: str
    use: ToolUse
    tool: Tool | None


class ReadsOfNamedRecords:
    """The reads of records that calls name, decided in one journal step, so that every attempt makes the same."""

    def __init__(self, ctx: TurnContext, reader: TaskReader, key: str, calls: Sequence[PlannedCall]) -> None:
        self._ctx = ctx
        self._reader = reader
        self._reads = self._decide_reads(key, calls)

    @property
    def has_unmade_reads(self) -> bool:
        """Whether one of the reads was not made by an earlier attempt."""
        return any(read.tool and self._ctx.journal.get_from_earlier_attempt(read.key) is None for read in self._reads)

    async def make_reads(self) -> bool:
        """Makes the reads, so that rules know the records; returns whether there were any."""
        for read in self._reads:
            if read.tool is None:
                self._reader.restore_reference(read.use)
                continue
            ref = self._reader.reserve_reference(read.use, read.tool, must_be_current=True)
            try:
                await self._reader.read_or_reuse(read.key, ref, read.use, read.tool, by_machine=True)
            except CallRefused as refusal:
                self._reader.mark_as_unrepeatable(ref, str(refusal))
        return bool(self._reads)

    def _decide_reads(self, key: str, calls: Sequence[PlannedCall]) -> list[_ReadToMake]:
        def list_requests() -> str:
            plan = WritePlan(task_id=self._ctx.record.task_id, calls=tuple(calls))
            reads = find_missing_reads(plan, self._ctx.toolbox, self._reader.facts, self._ctx.policies)
            requests: list[Json] = [[read.tool.connection_id, read.tool.name, read.arguments] for read in reads]
            # What rules may look at is read again once the task itself has written.
            outdated = self._reader.outdated_facts
            facts, keys = self._reader.facts, self._ctx.toolbox.keys
            changes = plan.changes if outdated else ()
            refs = {ref for call in changes for ref in refs_of_reads_around(call, facts, keys)}
            facts_to_reread = (fact for fact in outdated if fact.ref in refs)
            requests += [[fact.connection_id, fact.tool, loads_object(fact.arguments_json)] for fact in facts_to_reread]
            return dumps(requests)

        stored = loads(self._ctx.journal.decide_once(key, list_requests))
        rows = [row for row in stored if isinstance(row, list)] if isinstance(stored, list) else []
        return [self._build_read_to_make(f"{key}:{place}", *row) for place, row in enumerate(rows)]

    def _build_read_to_make(self, key: str, connection: Json, name: Json, arguments: Json) -> _ReadToMake:
        use = ToolUse(key, str(name), as_object(arguments))
        return _ReadToMake(key, use, self._ctx.toolbox.find_tool(str(connection), use.name))
