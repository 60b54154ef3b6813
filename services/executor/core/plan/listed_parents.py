"""Finds the records of a list that calls concern through records that belong to them: an order by its delivery."""

from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from services.executor.core.figures.identifiers import identifier_key
from services.executor.core.records.record_graph import GraphNode, RecordGraph
from services.executor.core.records.seen_records import RecordReference, references_in
from services.executor.core.session.values import Fact
from services.executor.core.tools.record_tree import RecordKeys
from shared.domain.exact_json import loads_object

_Key = tuple[str, ...]  # of an id, by ``identifier_key``


class _Child(NamedTuple):
    """A record that a read showed, and that is not listed itself."""

    own: frozenset[_Key]  # of its ids
    parents: frozenset[_Key]  # of the listed records to which it belongs
    tool: str  # the read that showed it


def find_covered_parents(
    listed_keys: Set[_Key], calls_keys: Sequence[Set[_Key]], facts: Sequence[Fact], keys: RecordKeys
) -> set[_Key]:
    """The keys of the listed records that calls concern through a child: an order through its delivery. Empty if no
    call names a child. ``calls_keys``: the keys of the ids in each call; a call that names a listed record is skipped.

    Listed records that refer to what a call names are covered, too, and those of which the reads show no child. Every
    read counts, also one from before the last writes.
    """
    called_keys = frozenset().union(*(call_keys for call_keys in calls_keys if not call_keys & listed_keys))
    graphs = [RecordGraph((fact,), keys) for fact in facts if fact.ok] if called_keys else []
    nodes = [(graph, node) for graph in graphs for node in graph.nodes]
    children: list[_Child] = []
    for graph, node in nodes:
        child = _Child(_own_keys(node), _find_parents(graph, node) & listed_keys, node.seen.fact.tool)
        if child.parents and not child.own & listed_keys:
            children.append(child)
    reaching = [child for child in children if child.own & called_keys]
    reached = {key for child in reaching for key in child.parents}
    if not reached:
        return set()
    tools = {child.tool for child in reaching}
    for _, node in nodes:
        if _references_of(node) & called_keys:
            reached |= _own_keys(node) & listed_keys
    with_child = {key for child in children if child.tool in tools for key in child.parents}
    # What a read is asked with that shows only some of them.
    narrowing_keys = frozenset(listed_keys).union(*(child.own for child in children))
    reads = (loads_object(fact.arguments_json) for fact in facts if fact.ok and fact.tool in tools)
    read_keys = [_keys_of(references_in(arguments)) for arguments in reads]
    for key in listed_keys - with_child:
        if any(key in keys_of_read or not keys_of_read & narrowing_keys for keys_of_read in read_keys):
            reached.add(key)
    return reached


def _find_parents(graph: RecordGraph, node: GraphNode) -> frozenset[_Key]:
    """The keys of what a record belongs to: what it is in, what it refers to, what its read was asked with."""
    outer = graph.enclosing_record(node)
    around = _own_keys(outer) | _find_parents(graph, outer) if outer else frozenset()
    return around | _references_of(node) | _keys_of(node.read_arguments)


def _own_keys(node: GraphNode) -> frozenset[_Key]:
    return frozenset(map(identifier_key, node.ids))


def _references_of(node: GraphNode) -> frozenset[_Key]:
    return _keys_of(references_in(node.record, node.kind, node.keys))


def _keys_of(references: Iterable[RecordReference]) -> frozenset[_Key]:
    ids = (reference.text for reference in references if reference.is_id or reference.looks_like_id)
    return frozenset(map(identifier_key, ids))
