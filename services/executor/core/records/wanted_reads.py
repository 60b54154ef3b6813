"""The reads still needed before rules can judge a plan: of records that it names or that have an asked field."""

from collections.abc import Mapping, Sequence
from itertools import islice

from services.executor.core.records import seen_records
from services.executor.core.records.asked_fields import list_rule_fields_of_tool
from services.executor.core.records.binding import build_call_view
from services.executor.core.records.read_backs import find_catalogue_read_of_record
from services.executor.core.records.record_graph import found_no_record
from services.executor.core.records.seen_records import Noun, RecordReference
from services.executor.core.session.values import Fact
from services.executor.core.tools.record_tree import RecordKeys, convert_to_schema_type
from services.executor.core.tools.toolbox import Toolbox
from services.executor.ports.tools import ReadCall, Tool
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Policy
from shared.domain.exact_json import dumps
from shared.domain.words import ToolClass

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
    """The proving read, if it shows such a record or nothing else does; else the reads of the kind, or none."""
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
    """The reads declared to show one record of the kind; else one named after it that takes its id; else its list."""
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
    """The argument by which alone the tool asks for one record of the kind, or None. ``key``: a declared key known."""
    names = [name for name in tool.parameters if tool.required <= {name}]
    id_arguments = [name for name in names if _is_id_argument_of_kind(name, kind, key, keys)]
    return next((name for name in id_arguments if name in tool.required), id_arguments[0] if id_arguments else None)


def _is_id_argument_of_kind(name: str, kind: Noun, key: str, keys: RecordKeys) -> bool:
    reference = seen_records.reference_of(name, "x-1", kind, keys)
    if reference is None or (key and reference.key and reference.key != key):
        return False
    is_id = reference.is_id or seen_records.singular_words(name)[-1:] == kind[-1:]
    return is_id and seen_records.are_same_kind(reference.noun, kind)
