"""Finds the records of a read-back that a call is about, by its identifiers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from services.executor.core.figures.columns import shows_same_value
from services.executor.core.figures.numbers import read_figure
from services.executor.core.records.seen_records import is_id_text
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import RecordNode, find_leaves, find_record_nodes, is_id_name
from shared.domain.exact_json import Json, JsonObject, dumps


class CallSubjects(NamedTuple):
    """The records of one answer that a call is about.

    ``direct``: those that it names, and those that refer to them; all, if it names none. ``within``: records nested in
    a named one, or in an answer that was asked with its id; they count only where something was made.
    """

    direct: Sequence[RecordNode]
    within: Sequence[RecordNode]


def find_subjects(shown: Json, arguments: JsonObject, result: Json, asked: JsonObject) -> CallSubjects:
    """The records of an answer that the call is about. The only record of an answer counts as named, unless its id is
    neither in the call nor in its result; so does one around records without ids, of an answer asked with the call's.
    """
    nodes = find_record_nodes(shown)
    names = identifiers_in(arguments)
    if not names:
        return CallSubjects(nodes, ())
    named = {
        place
        for place, node in enumerate(nodes)
        if any(shows_same_value(node.record_id, name) for name in names.values())
    }
    direct = named | {place for place, node in enumerate(nodes) if any(_compare_shared_ids(node.record, names))}
    in_scope = any(shows_same_value(value, name) for value in asked.values() for name in names.values())
    if not named:
        outermost = [node for node in nodes if not node.outer_records]
        is_asked_whole = all(any(shows_same_value(one, name) for one in asked.values()) for name in names.values())
        is_alone = len(nodes) == 1 or (
            is_asked_whole
            and len(outermost) == 1
            and not direct
            and not any(_has_unasked_id(node, asked) for node in nodes)
        )
        direct |= {
            place
            for place, node in enumerate(nodes)
            if _shows_id(node.record, names)
            or (is_alone and not node.outer_records and not _has_unrelated_id(node, arguments, result))
        }
    records = {id(nodes[place].record) for place in direct}
    within = [
        node
        for place, node in enumerate(nodes)
        if place not in direct
        and (in_scope or any(id(outer.record) in records for outer in node.outer_records))
        and all(_compare_shared_ids(node.record, names))
    ]
    return CallSubjects([nodes[place] for place in sorted(direct)], within)


def identifiers_in(arguments: JsonObject) -> dict[str, Json]:
    """The call's identifiers by name, at any depth: by the field's name, or else texts with a digit that are no figure
    or date.

    An ``id`` inside another argument gets both names: ``order`` and ``id`` name an order.
    """
    scalars: dict[str, Json] = {
        "_".join(leaf.names): leaf.value
        for leaf in find_leaves(arguments)
        if leaf.value is not None and not isinstance(leaf.value, list) and not leaf.items
    }
    by_key = {key: value for key, value in scalars.items() if is_id_name(key)}
    return by_key or {key: value for key, value in scalars.items() if is_id_text(value)}


def _compare_shared_ids(record: JsonObject, names: Mapping[str, Json]) -> list[bool]:
    """For each id field that both the call and the record have, whether the values are equal."""
    keys = [(key, name) for key in record for name in names if key == name or words_of(key) == words_of(name)]
    return [shows_same_value(record[key], names[name]) for key, name in keys]


def _shows_id(record: JsonObject, names: Mapping[str, Json]) -> bool:
    """Whether one of the ids is the value of another field. Numbers do not count, since they may be anything."""
    return any(
        read_figure(name) is None and shows_same_value(value, name)
        for value in record.values()
        for name in names.values()
        if name
    )


def _has_unasked_id(node: RecordNode, asked: JsonObject) -> bool:
    """Whether an object has an id or an id-like text that the read was not asked with, so that it may be another's."""
    return node.record_id is not None or any(
        (is_id_name(key) or is_id_text(value)) and value not in asked.values() for key, value in node.record.items()
    )


def _has_unrelated_id(node: RecordNode, arguments: JsonObject, result: Json) -> bool:
    if node.record_id is None:
        return False
    given = [leaf.value for leaf in find_leaves(arguments)]
    return not any(shows_same_value(node.record_id, value) for value in given) and str(node.record_id) not in dumps(
        result
    )
