"""Finds the records of a read-back that a call is about, by its identifiers, and whether they show what it set."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from services.executor.core.figures.columns import shows_same_value
from services.executor.core.figures.numbers import read_figure
from services.executor.core.records.seen_records import is_id_text
from services.executor.core.tools.name_similarity import may_mean_same, words_of
from services.executor.core.tools.record_tree import Leaf, RecordNode, find_leaves, find_record_nodes, is_id_name
from services.executor.core.tools.schema_drift import ALIASES
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.keywords import stem


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
        place for place, node in enumerate(nodes) if any(shows_same_value(node.own, name) for name in names.values())
    }
    direct = named | {place for place, node in enumerate(nodes) if any(_compare_shared_ids(node.record, names))}
    in_scope = any(shows_same_value(value, name) for value in asked.values() for name in names.values())
    if not named:
        outermost = [node for node in nodes if not node.around]
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
            or (is_alone and not node.around and not _has_unrelated_id(node, arguments, result))
        }
    records = {id(nodes[place].record) for place in direct}
    within = [
        node
        for place, node in enumerate(nodes)
        if place not in direct
        and (in_scope or any(id(outer.record) in records for outer in node.around))
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
    return node.own is not None or any(
        (is_id_name(key) or is_id_text(value)) and value not in asked.values() for key, value in node.record.items()
    )


def _has_unrelated_id(node: RecordNode, arguments: JsonObject, result: Json) -> bool:
    if node.own is None:
        return False
    given = [leaf.value for leaf in find_leaves(arguments)]
    return not any(shows_same_value(node.own, value) for value in given) and str(node.own) not in dumps(result)


_MINOR = frozenset("cent cents minor pence".split())
_PERCENT = frozenset("pct percent percentage".split())
_ALIKE = tuple({name.removesuffix("_id") for name in (canonical, *more)} for canonical, more in ALIASES.items())
_HUNDRED = Decimal(100)
# Words that a call adds to a field's name, or a record does, which do not make another thing of it.
_NEW_VALUE_WORDS = frozenset("new updated target requested agreed desired proposed final current to set value".split())
_UNITS = _MINOR | _PERCENT | frozenset("eur usd gbp units".split())


def find_leaf_for_claim(claim: Leaf, leaves: Sequence[Leaf]) -> Leaf | None:
    """The record's field that has the claim's name, among several the one with the most similar path; None if there is
    none, or if several are equally similar and differ in value.
    """
    wanted = _split_names(claim)
    found = [leaf for leaf in leaves if _split_names(leaf)[-1] == wanted[-1]]
    if claim.items:
        found = [leaf for leaf in found if leaf.items == claim.items] or found
    if not found:
        return None
    best = max(_rate_likeness(claim, leaf) for leaf in found)
    closest = [leaf for leaf in found if _rate_likeness(claim, leaf) == best]
    return closest[0] if len(closest) == 1 or all(one.value == closest[0].value for one in closest) else None


def has_similar_name(claim: Leaf, leaf: Leaf) -> bool:
    """Whether the field's name is near enough to the claim's for the call to have set it: ``newAmount``, ``amount``."""
    one, other = claim.name, leaf.name
    if (
        may_mean_same(one, other)
        or _distinctive_stems(one) == _distinctive_stems(other)
        or _are_aliases(one, other)
        or _differ_only_by_id(one, other)
    ):
        return True
    return len(leaf.names) > 1 and _distinctive_stems(one) == _distinctive_stems(" ".join(leaf.names[-2:]))


def has_claimed_value(claim: Leaf, leaf: Leaf) -> bool:
    """Whether the field has the claimed value, also in another unit by its name, or as one item of a list."""
    if isinstance(leaf.value, list):
        wanted = claim.value if isinstance(claim.value, list) else [claim.value]
        return bool(wanted) and all(any(shows_same_value(item, one) for item in leaf.value) for one in wanted)
    if isinstance(claim.value, list):
        return False
    return shows_same_value(leaf.value, claim.value) or _is_equal_in_other_unit(claim, leaf)


def is_list_of_claim(claim: Leaf, leaf: Leaf) -> bool:
    """Whether the field is a list of such things: ``tags`` for a ``tag``."""
    return isinstance(leaf.value, list) and [*map(stem, _split_names(leaf)[-1])] == [
        *map(stem, _split_names(claim)[-1])
    ]


def _is_equal_in_other_unit(claim: Leaf, leaf: Leaf) -> bool:
    """Whether one value is the other in cents or percent, and a name or sign says which of them is."""
    claimed, shown = read_figure(claim.value), read_figure(leaf.value)
    if claimed is None or shown is None or not claimed:
        return False
    for has_unit in (_is_in_minor_units, _is_percent):
        ours, theirs = has_unit(claim), has_unit(leaf)
        if ours and not theirs and claimed == shown * _HUNDRED:
            return True
        if theirs and not ours and shown == claimed * _HUNDRED:
            return True
    return False


def _is_in_minor_units(leaf: Leaf) -> bool:
    return not _MINOR.isdisjoint(words_of(" ".join(leaf.names[-2:])))


def _is_percent(leaf: Leaf) -> bool:
    return not _PERCENT.isdisjoint(words_of(leaf.name)) or "%" in str(leaf.value)


def _distinctive_stems(name: str) -> frozenset[str]:
    words = words_of(name)
    kept = [word for word in words if word not in _NEW_VALUE_WORDS] or words
    return frozenset(map(stem, [word for word in kept if word not in _UNITS] or kept))


def _are_aliases(one: str, other: str) -> bool:
    left, right = ("_".join(words_of(name)).removesuffix("_id") for name in (one, other))
    return any({left, right} <= alike for alike in _ALIKE)


def _differ_only_by_id(one: str, other: str) -> bool:
    """Whether the names differ only by an ``id`` at the end: ``boat_id``, ``boat``. A plain ``id`` does not count."""
    left, right = (words[:-1] if words[-1:] == ["id"] else words for words in (words_of(one), words_of(other)))
    return bool(left) and left == right


def _split_names(leaf: Leaf) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(words_of(name)) for name in leaf.names)


def _rate_likeness(claim: Leaf, leaf: Leaf) -> tuple[int, int]:
    """How many names their paths share from the end, then how near the field is to its record's top."""
    pairs = zip(reversed(_split_names(claim)), reversed(_split_names(leaf)), strict=False)
    shared = 0
    for one, other in pairs:
        if one != other:
            break
        shared += 1
    return shared, -len(leaf.names)
