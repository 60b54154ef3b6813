"""The reads that rules still need before they can judge a plan: which they are, and how they are made."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from services.executor.core.reads.reader import CallRefused, TaskReader
from services.executor.core.records import seen_records
from services.executor.core.records.asked_fields import list_rule_fields_of_tool
from services.executor.core.records.binding import build_call_view, refs_of_reads_around
from services.executor.core.records.read_backs import find_catalogue_read_of_record
from services.executor.core.records.record_graph import found_no_record
from services.executor.core.records.seen_records import Noun, RecordReference
from services.executor.core.session.context import TurnContext
from services.executor.core.session.values import Fact
from services.executor.core.tools.record_tree import RecordKeys, convert_to_schema_type
from services.executor.core.tools.toolbox import Toolbox
from services.executor.ports.tools import ReadCall, Tool
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Policy
from shared.domain.exact_json import Json, as_object, dumps, loads, loads_object
from shared.domain.words import ToolClass
from shared.ports.models import ToolUse

_MOST_READS_FOR_RULES = 4  # about one call, beside one for each record that it names


def find_missing_reads(
    plan: WritePlan, toolbox: Toolbox, facts: Sequence[Fact], policies: Sequence[Policy] = ()
) -> tuple[ReadCall, ...]:
    """The reads that rules still need, each once, in the order of the calls that count: changes, and notices of which
    rules ask a field. First those of the records that the calls name and nobody read. Then, for each call, those of
    other records of which the ``policies`` ask a field: at most four, and one more for each reference to a record in
    it. A record that a read did not find is left out: its fields stay unknown, and the rules decide what that means.
    """
    calls = [
        call
        for call in plan.every_call
        if call.tool_class is ToolClass.CHANGE or list_rule_fields_of_tool(call.tool, policies)
    ]
    views = [(call, build_call_view(call.tool, call.arguments, facts, toolbox.keys)) for call in calls]
    reads: list[ReadCall] = []
    for call, view in views:
        for reference in view.named.unread:
            reads += _propose_reads_of_reference(call, reference, toolbox)
    made_keys = {fact.call for fact in facts}
    for call, view in views:  # reads of single records, without which a field would be taken from another record
        references = dict.fromkeys(view.references_to_read(list_rule_fields_of_tool(call.tool, policies)))
        of_records = (read for reference in references for read in _propose_reads_by_noun(call, reference, toolbox))
        new_reads = (read for read in of_records if read.arguments and _key_of_read(read) not in made_keys)
        reads += islice(new_reads, _MOST_READS_FOR_RULES + len(view.named.matches))
    reads_by_key = {_key_of_read(read): read for read in reads}
    return tuple(read for key, read in reads_by_key.items() if key not in made_keys)


def _key_of_read(read: ReadCall) -> tuple[str, str, str]:
    return (read.tool.connection_id, read.tool.name, dumps(read.arguments))


def find_records_not_found(plan: WritePlan, toolbox: Toolbox, facts: Sequence[Fact]) -> Mapping[str, str]:
    """The changes that name a record which its own read did not find, as ``{call id: "get_order {...} finds no such
    record"}``. A record that no tool reads does not count, nor one that is only missing from a list.
    """
    facts_by_call = {fact.call: fact for fact in facts}
    vain_reads: dict[str, str] = {}
    for call in plan.changes:
        for reference in build_call_view(call.tool, call.arguments, facts, toolbox.keys).named.unread:
            for read in _propose_reads_of_reference(call, reference, toolbox):
                fact = facts_by_call.get(_key_of_read(read))
                is_of_record = read.arguments and _shows_referenced_kind(read.tool, call, reference, toolbox)
                if fact is not None and is_of_record and found_no_record(fact):
                    vain_reads.setdefault(call.call_id, f"{read.tool.name} {fact.arguments_json} finds no such record")
    return vain_reads


def _propose_reads_of_reference(call: PlannedCall, reference: RecordReference, toolbox: Toolbox) -> Sequence[ReadCall]:
    """The catalogue's read-back, if it shows the kind or no other read does; else ``_propose_reads_by_noun``."""
    proving_read_call = find_catalogue_read_of_record(call, toolbox, reference)
    if proving_read_call and _shows_referenced_kind(proving_read_call.tool, call, reference, toolbox):
        return [proving_read_call]
    return _propose_reads_by_noun(call, reference, toolbox) or ([proving_read_call] if proving_read_call else [])


def _kind_of_reference(call: PlannedCall, reference: RecordReference, toolbox: Toolbox) -> Noun:
    return reference.noun or seen_records.noun_of_tool(call.tool, toolbox.keys)


def _shows_referenced_kind(tool: Tool, call: PlannedCall, reference: RecordReference, toolbox: Toolbox) -> bool:
    kind, keys = _kind_of_reference(call, reference, toolbox), toolbox.keys
    shown_kinds = (seen_records.noun_of_tool(tool.name, keys), keys.kind_shown_by(tool.name))
    return any(seen_records.are_same_kind(kind, shown_kind) for shown_kind in shown_kinds)


def _propose_reads_by_noun(call: PlannedCall, reference: RecordReference, toolbox: Toolbox) -> list[ReadCall]:
    """The reads declared for the kind; else one named after it, which takes its id or needs no argument; else none."""
    keys, kind = toolbox.keys, _kind_of_reference(call, reference, toolbox)
    tools_beside = (tool for tool in toolbox.tools.values() if tool.connection_id == call.connection_id)
    readers = [tool for tool in tools_beside if tool.tool_class is ToolClass.READ]
    nouns = {tool.name: seen_records.noun_of_tool(tool.name, keys) for tool in readers}
    fitting = [tool for tool in readers if seen_records.are_same_kind(kind, nouns[tool.name])]
    exact = sorted(fitting, key=lambda tool: (nouns[tool.name] != kind, len(nouns[tool.name]), tool.name))
    declared = [tool for tool in readers if seen_records.are_same_kind(kind, keys.kind_shown_by(tool.name))]
    for tools in (declared, *([tool] for tool in exact)):
        id_arguments = [(tool, _find_id_argument(tool, kind, reference.key, keys)) for tool in tools]
        schemas = [(tool, name, tool.parameters.get(name, {})) for tool, name in id_arguments if name]
        if schemas:
            value = reference.value
            return [ReadCall(tool, {name: convert_to_schema_type(value, schema)}) for tool, name, schema in schemas]
    return [ReadCall(tool, {}) for tool in exact if not tool.required][:1]


def _find_id_argument(tool: Tool, kind: Noun, key: str, keys: RecordKeys) -> str | None:
    """The argument by which alone the tool finds one record of the kind, or None. ``key``: the declared key, if any."""
    names = [name for name in tool.parameters if tool.required <= {name}]
    id_arguments = [name for name in names if _is_id_argument_of_kind(name, kind, key, keys)]
    return next((name for name in id_arguments if name in tool.required), id_arguments[0] if id_arguments else None)


def _is_id_argument_of_kind(name: str, kind: Noun, key: str, keys: RecordKeys) -> bool:
    reference = seen_records.reference_of(name, "x-1", kind, keys)
    if reference is None or (key and reference.key and reference.key != key):
        return False
    is_id = reference.is_id or seen_records.singular_words(name)[-1:] == kind[-1:]
    return is_id and seen_records.are_same_kind(reference.noun, kind)


class _ReadToMake(NamedTuple):
    """One read to make. ``key``: its journal step; ``tool``: None if the server no longer has it."""

    key: str
    use: ToolUse
    tool: Tool | None


class NamedRecordReader:
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
                self._reader.record_failed_repetition(ref, str(refusal))
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
