"""Which records of a read-back a call is about: by the identifiers it names, never by looking alike."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from services.executor.core.figures.calculate.conditions import same
from services.executor.core.figures.numbers import figure
from services.executor.core.figures.record_tree import RecordNode, leaves_of, names_a_record, nodes_of
from services.executor.core.tools.near_names import words_of
from shared.domain.exact_json import Json, JsonObject, dumps

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class Subjects(NamedTuple):
    """The records of one answer that a call is about.

    ``direct``: those that it names, and those that refer to them; all where it names none. ``within``: records that
    stand in a named one, or in an answer that was asked for its id: of interest only where something was made.
    """

    direct: Sequence[RecordNode]
    within: Sequence[RecordNode]


def find_subjects(shown: Json, arguments: JsonObject, result: Json, asked: JsonObject) -> Subjects:
    """A record alone in its answer counts as named, unless its own id is neither in the call nor in its result."""
    nodes = nodes_of(shown)
    names = identifiers_in(arguments)
    if not names:
        return Subjects(nodes, ())
    named = {place for place, node in enumerate(nodes) if any(same(node.own, name) for name in names.values())}
    direct = named | {place for place, node in enumerate(nodes) if _refers(node.record, names)}
    if not named:
        alone = len(nodes) == 1
        direct |= {
            place
            for place, node in enumerate(nodes)
            if _shows(node.record, names) or (alone and not _is_another(node, arguments, result))
        }
    in_scope = any(same(value, name) for value in asked.values() for name in names.values())
    records = {id(nodes[place].record) for place in direct}
    within = [
        node
        for place, node in enumerate(nodes)
        if place not in direct
        and (in_scope or any(id(outer.record) in records for outer in node.around))
        and not _denies(node.record, names)
    ]
    return Subjects([nodes[place] for place in sorted(direct)], within)


def identifiers_in(arguments: JsonObject) -> dict[str, Json]:
    """The call's identifiers, at any depth: by the field's name, or else texts with a digit that are no figure or date.

    An ``id`` inside another argument goes by both names: ``order`` and ``id`` name an order.
    """
    scalars: dict[str, Json] = {
        "_".join(leaf.names): leaf.value
        for leaf in leaves_of(arguments)
        if leaf.value is not None and not isinstance(leaf.value, list) and not leaf.items
    }
    by_key = {key: value for key, value in scalars.items() if names_a_record(key)}
    return by_key or {key: value for key, value in scalars.items() if looks_like_a_name(value)}


def looks_like_a_name(value: Json) -> bool:
    if not isinstance(value, str) or " " in value.strip() or _DATE.match(value):
        return False
    return figure(value) is None and any(mark.isdigit() for mark in value)


def _refers(record: JsonObject, names: Mapping[str, Json]) -> bool:
    return any(same(record[key], names[name]) for key in record for name in names if _is_that(key, name))


def _denies(record: JsonObject, names: Mapping[str, Json]) -> bool:
    """Whether a record has another value under one of the call's ids: it is about something else."""
    return any(not same(record[key], names[name]) for key in record for name in names if _is_that(key, name))


def _is_that(key: str, name: str) -> bool:
    return key == name or words_of(key) == words_of(name)


def _shows(record: JsonObject, names: Mapping[str, Json]) -> bool:
    """Whether a name stands under another field. A number may stand anywhere, so it names nothing there."""
    return any(
        figure(name) is None and same(value, name) for value in record.values() for name in names.values() if name
    )


def _is_another(node: RecordNode, arguments: JsonObject, result: Json) -> bool:
    if node.own is None:
        return False
    given = [leaf.value for leaf in leaves_of(arguments)]
    return not any(same(node.own, value) for value in given) and str(node.own) not in dumps(result)
