"""Finds the records of a read-back that a call is about, and pairs those of two reads, which tells what changed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from services.executor.core.figures.columns import comparison_keys, shows_same_value
from services.executor.core.figures.numbers import read_figure
from services.executor.core.records.seen_records import is_id_text
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import (
    Leaf,
    RecordNode,
    ValuesByPath,
    find_leaves,
    find_record_nodes,
    is_id_name,
)
from shared.domain.exact_json import Json, JsonObject, dumps


class RecordsOfAnswer:
    """The records of one answer, and which of them have a value in a field of their own."""

    def __init__(self, answer: Json) -> None:
        self.nodes = find_record_nodes(answer)
        self._places_by_key: dict[object, set[int]] = {}
        for place, node in enumerate(self.nodes):
            for key in set[object]().union(*map(comparison_keys, (node.record_id, *node.record.values()))):
                self._places_by_key.setdefault(key, set()).add(place)

    def find_places_of(self, values: Iterable[Json]) -> list[int]:
        """The places, in order, of the records that have one of the values; perhaps of a few others, too."""
        keys = set[object]().union(*map(comparison_keys, values))
        return sorted(set[int]().union(*(self._places_by_key.get(key, ()) for key in keys)))


class CallSubjects(NamedTuple):
    """The records of one answer that a call is about.

    ``direct``: those that it names, and those that refer to them; all, if it names none. ``within``: records nested in
    a named one, or in an answer that was asked with its id; they count only where something was made.
    """

    direct: Sequence[RecordNode]
    within: Sequence[RecordNode]


def find_subjects(
    records: RecordsOfAnswer, arguments: JsonObject, result: Json, read_arguments: JsonObject
) -> CallSubjects:
    """The records that a call is about among those in the answer to a read with ``read_arguments``.

    All, if the call has no id. Else those that have one of its ids as their own, or in a field of the same name. If
    none has one as its own, these count, too: those with one as a text in any field; and the answer's only record,
    unless its id is neither in the call nor in its ``result``. A record with others inside counts as the only one if
    nothing matched, the read was asked with all of the call's ids, and no record shows any other id.
    """
    names, nodes = identifiers_in(arguments), records.nodes
    if not names:
        return CallSubjects(nodes, ())
    ids, asked_values = [*names.values()], read_arguments.values()
    places = records.find_places_of(ids)
    named_places = {place for place in places if _is_any_of(nodes[place].record_id, ids)}
    direct_places = named_places.union(
        place for place in places if any(_compare_shared_ids(nodes[place].record, names))
    )
    is_asked_with_id = any(_is_any_of(value, ids) for value in asked_values)
    if not named_places:
        outermost = [node for node in nodes if not node.outer_records]
        is_asked_with_all_ids = all(_is_any_of(name, asked_values) for name in ids)
        id_texts = [text for text in ids if isinstance(text, str) and text and read_figure(text) is None]
        is_alone = len(nodes) == 1
        if len(outermost) == 1 and is_asked_with_all_ids and not direct_places:
            is_alone |= not any(_has_id_not_asked_for(node, read_arguments) for node in nodes)
        for place in places if id_texts else ():
            texts = (value for value in nodes[place].record.values() if isinstance(value, str))
            if any(_is_any_of(text, id_texts) for text in texts):
                direct_places.add(place)
        for place, node in enumerate(nodes if is_alone else ()):
            if not node.outer_records and not _has_unrelated_id(node, arguments, result):
                direct_places.add(place)
    direct = [nodes[index] for index in sorted(direct_places)]
    record_ids = {id(node.record) for node in direct}
    within: list[RecordNode] = []
    for index, node in enumerate(nodes):
        is_inside = is_asked_with_id or any(id(outer.record) in record_ids for outer in node.outer_records)
        if index not in direct_places and is_inside and all(_compare_shared_ids(node.record, names)):
            within.append(node)
    return CallSubjects(direct, within)


def identifiers_in(arguments: JsonObject) -> dict[str, Json]:
    """The call's identifiers by name, without those in its rows: fields named as ids, or else texts with a digit that
    are no figure or date. ``{"order": {"id": 7}}`` gives ``{"order_id": 7}``.
    """
    leaves = (leaf for leaf in find_leaves(arguments) if leaf.value is not None and not leaf.items)
    scalars: dict[str, Json] = {"_".join(leaf.names): leaf.value for leaf in leaves if not isinstance(leaf.value, list)}
    by_key = {key: value for key, value in scalars.items() if is_id_name(key)}
    return by_key or {key: value for key, value in scalars.items() if is_id_text(value)}


def _compare_shared_ids(record: JsonObject, names: Mapping[str, Json]) -> list[bool]:
    """For each id field that both the call and the record have, whether the values are equal."""
    keys = [(key, name) for key in record for name in names if key == name or words_of(key) == words_of(name)]
    return [shows_same_value(record[key], names[name]) for key, name in keys]


def _has_id_not_asked_for(node: RecordNode, read_arguments: JsonObject) -> bool:
    """Whether an object has an id of its own, or any id that the read was not asked with: it may be another record."""
    ids = (value for key, value in node.record.items() if is_id_name(key) or is_id_text(value))
    return node.record_id is not None or any(value not in read_arguments.values() for value in ids)


def _has_unrelated_id(node: RecordNode, arguments: JsonObject, result: Json) -> bool:
    if node.record_id is None:
        return False
    argument_values = [leaf.value for leaf in find_leaves(arguments)]
    return not _is_any_of(node.record_id, argument_values) and str(node.record_id) not in dumps(result)


def _is_any_of(value: Json, values: Iterable[Json]) -> bool:
    return any(shows_same_value(value, other) for other in values)


_MOST_RECORDS_PAIRED = 200  # of either read's records of which no earlier one has just the same ids


class EarlierStateIndex:
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
