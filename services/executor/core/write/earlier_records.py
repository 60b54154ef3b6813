"""Pairs the records of two reads, and says which fields of a record changed between them."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from services.executor.core.tools.record_tree import Leaf, RecordNode, find_leaves, is_id_name
from shared.domain.exact_json import Json, dumps

ValuesByPath: TypeAlias = Mapping[tuple[str, ...], Json]
_MOST_RECORDS_PAIRED = 200  # of either read's records of which no earlier one has just the same ids


class EarlierRecords:
    """Pairs each record of the read after with the same record of the read before, by its place and its ids.

    Of several ids the call may have changed one: a record is paired with the one that shares the most ids, and no
    record is paired twice.
    """

    def __init__(self, before: Sequence[RecordNode], after: Sequence[RecordNode]) -> None:
        self._pairs: dict[int, RecordNode] = {}
        unpaired = self._pair_by_key(before, after, lambda node: (_identify_node(node), dumps(node.record)))
        unpaired = self._pair_by_key(*unpaired, _identify_node)
        self._pair_by_shared_ids(*unpaired)

    def find_earlier_state(self, node: RecordNode) -> RecordNode | None:
        """The record as it was before; None if it did not exist."""
        return self._pairs.get(id(node.record))

    def _pair_by_key(
        self, before: Sequence[RecordNode], after: Sequence[RecordNode], key: Callable[[RecordNode], object]
    ) -> tuple[list[RecordNode], list[RecordNode]]:
        """Pairs the records that have the same key; returns the unpaired records of both reads."""
        nodes_by_key: dict[object, list[RecordNode]] = {}
        for node in reversed(before):
            nodes_by_key.setdefault(key(node), []).append(node)
        new_nodes: list[RecordNode] = []
        for node in after:
            if same_nodes := nodes_by_key.get(key(node)):
                self._pairs[id(node.record)] = same_nodes.pop()
            else:
                new_nodes.append(node)
        paired = {id(node) for node in self._pairs.values()}
        return [node for node in before if id(node) not in paired], new_nodes

    def _pair_by_shared_ids(self, before: Sequence[RecordNode], after: Sequence[RecordNode]) -> None:
        """Pairs records without an own id in the same place; pairs that share the most ids come first."""
        candidates = [(node, _format_id_fields(node)) for node in before if node.record_id is None]
        matches = [
            (len(ids & earlier_ids), -index, -rank, node, earlier)
            for index, node in enumerate(after[:_MOST_RECORDS_PAIRED])
            if node.record_id is None and (ids := _format_id_fields(node))
            for rank, (earlier, earlier_ids) in enumerate(candidates[:_MOST_RECORDS_PAIRED])
            if earlier.place == node.place and ids & earlier_ids
        ]
        paired: set[int] = set()
        for *_, node, earlier in sorted(matches, key=lambda match: match[:3], reverse=True):
            if id(earlier) not in paired and id(node.record) not in self._pairs:
                self._pairs[id(node.record)] = earlier
                paired.add(id(earlier))


def find_changes(leaves: Sequence[Leaf], earlier: RecordNode | None) -> tuple[ValuesByPath, list[Leaf]]:
    """The earlier record's values by path (empty without one), and those of ``leaves`` that are new or changed."""
    old_values = {leaf.path: leaf.value for leaf in find_leaves(earlier.record)} if earlier else {}
    return old_values, [leaf for leaf in leaves if leaf.path not in old_values or old_values[leaf.path] != leaf.value]


def _format_id_fields(node: RecordNode) -> frozenset[str]:
    return frozenset(f"{key}={value}" for key, value in node.record.items() if is_id_name(key))


def _identify_node(node: RecordNode) -> tuple[tuple[str, ...], frozenset[str]]:
    """A key that the same record has in both reads: its place, and its own id or else all its id fields."""
    return node.place, _format_id_fields(node) if node.record_id is None else frozenset(
        {str(node.record_id).strip().casefold()}
    )
