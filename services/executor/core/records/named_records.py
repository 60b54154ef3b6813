"""Finds the records that a plan's calls name and nobody read, and the read of the same server that would show each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from services.executor.core.records.binding import view_of
from services.executor.core.records.called_records import (
    RecordReference,
    agree,
    find_records,
    noun_of_tool,
    reference_of,
    words,
)
from services.executor.core.records.read_backs import read_back_by_operator
from services.executor.core.records.record_graph import says_not_found
from services.executor.core.records.references import references
from services.executor.core.session.values import Fact
from services.executor.core.tools.classes import as_typed
from services.executor.core.tools.failures import Failure, failure_of
from services.executor.core.tools.toolbox import Toolbox
from services.executor.ports.tools import Tool, ToolAnswer
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import JsonObject, dumps, loads_object
from shared.domain.words import ToolClass


class MissingRead(NamedTuple):
    """A read to be made before the verdict: it shows a record that a call names."""

    tool: Tool
    arguments: JsonObject


def missing_reads(plan: WritePlan, toolbox: Toolbox, facts: Sequence[Fact]) -> tuple[MissingRead, ...]:
    """The reads that would show what the plan's changes name and nobody read, each once, in the order of the calls.

    A record that was asked for in vain is left out: its fields stay unknown, and the rules decide what that means.
    """
    changes = (call for call in plan.every_call if call.tool_class is ToolClass.CHANGE)
    wanted = [read for call in changes for read in _of_call(call, toolbox, facts)]
    made = {(fact.connection_id, fact.tool, fact.arguments_json) for fact in facts}
    found = {(read.tool.connection_id, read.tool.name, dumps(read.arguments)): read for read in wanted}
    return tuple(read for key, read in found.items() if key not in made)


def unfound_records(plan: WritePlan, toolbox: Toolbox, facts: Sequence[Fact]) -> Mapping[str, str]:
    """By call id of a change, which record it names that does not exist by its own read.

    A record that nobody can read does not count, nor one that is missing from a list of which not all rows were read.
    """
    asked = {(fact.connection_id, fact.tool, fact.arguments_json): fact for fact in facts}
    found: dict[str, str] = {}
    for call in plan.calls:
        reads = _of_call(call, toolbox, facts) if call.tool_class is ToolClass.CHANGE else ()
        for read in reads:
            fact = asked.get((read.tool.connection_id, read.tool.name, dumps(read.arguments)))
            if fact is not None and read.arguments and _finds_nothing(fact):
                found.setdefault(call.call_id, f"{read.tool.name} {fact.arguments_json} finds no such record")
    return found


def _finds_nothing(fact: Fact) -> bool:
    """Whether a read says that there is no such record; one that was refused or failed says nothing of it."""
    result = fact.result
    if says_not_found(fact):
        return True
    if not fact.ok:
        return failure_of(ToolAnswer(result, is_error=True)) is Failure.NOT_FOUND
    return result in (None, "") or (isinstance(result, dict | list) and not find_records((fact,)))


def _of_call(call: PlannedCall, toolbox: Toolbox, facts: Sequence[Fact]) -> Iterator[MissingRead]:
    readers = [
        tool
        for tool in toolbox.tools.values()
        if tool.connection_id == call.connection_id and tool.tool_class is ToolClass.READ
    ]
    for reference in view_of(call.tool, call.arguments, facts).unread:
        if read := _read_back(call, toolbox, reference) or _by_noun(call, reference, readers):
            yield read


def _read_back(call: PlannedCall, toolbox: Toolbox, reference: RecordReference) -> MissingRead | None:
    """The read that proves the write, if the catalogue names one and it asks for this very record."""
    write = toolbox.find(call.connection_id, call.tool)
    if write is None or not write.catalogue.read_back:
        return None
    chosen = read_back_by_operator(write, call.arguments, toolbox, call.call_id)
    reader = toolbox.find(call.connection_id, chosen.tool) if chosen else None
    asked = loads_object(chosen.arguments_json) if chosen else {}
    if reader is None or [*references(asked)] or reference.value not in asked.values():
        return None
    return MissingRead(reader, asked)


def _by_noun(call: PlannedCall, reference: RecordReference, readers: Sequence[Tool]) -> MissingRead | None:
    """The read of that kind of record that asks for its identifier alone; else the list of all; None if there is
    neither.
    """
    kind = reference.noun or noun_of_tool(call.tool)
    fitting = [tool for tool in readers if agree(kind, noun_of_tool(tool.name))]
    exact = sorted(fitting, key=lambda tool: (noun_of_tool(tool.name) != kind, len(noun_of_tool(tool.name)), tool.name))
    for tool in exact:
        if name := _identifier(tool, kind):
            return MissingRead(tool, {name: as_typed(reference.value, tool, name)})
    whole = next((tool for tool in exact if not tool.required), None)
    return MissingRead(whole, {}) if whole else None


def _identifier(tool: Tool, kind: tuple[str, ...]) -> str | None:
    """The argument by which the tool asks for one record of the kind, if it needs no other; else None."""
    own = [name for name in tool.parameters if _identifies(name, kind) and tool.required <= {name}]
    return next((name for name in own if name in tool.required), own[0] if own else None)


def _identifies(name: str, kind: tuple[str, ...]) -> bool:
    found = reference_of(name, "x-1", kind)
    return found is not None and agree(found.noun, kind) and (found.is_id or words(name)[-1:] == kind[-1:])
