"""Finds the ids in a list of a task's part that no call names; a call may name one through a record that belongs to it:
an order by its delivery.
"""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from services.executor.core.figures.arguments import ArgumentKind, kind_of_argument, may_hold_amount
from services.executor.core.figures.identifiers import WrittenIdentifier, find_code_like_tokens, normalize_identifier
from services.executor.core.figures.mentions import find_mentions
from services.executor.core.figures.vocabulary import CHOICE_WORD_PATTERN
from services.executor.core.records.record_graph import GraphNode, RecordGraph
from services.executor.core.records.seen_records import RecordReference, references_in
from services.executor.core.session.values import Fact, PartOfTask
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import RecordKeys, find_leaves, find_record_nodes, is_id_name
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.domain.keywords import stem

_NormalizedId = tuple[str, ...]  # of an id, by ``normalize_identifier``
# What may stand between two things of one list; a word before the second is that before the first.
_CONJUNCTION_PATTERN = re.compile(
    r"\s*(?:,\s*(?:and\s+)?|/\s*|(?:and|as well as|plus|und|et|y|&|\+)\s+)(?:the\s+)?(?:(\w+)\s+)?#?"
)
_LAST_WORD_PATTERN = re.compile(r"(\w+)\W*\Z")
_DIGITS_PATTERN = re.compile(r"\d+")
_ARBITRARY_TIME = datetime(2000, 1, 1, tzinfo=UTC)  # where a text has a day does not hang on today
_LOOKBACK_FROM_IDENTIFIER = 60  # characters before an identifier in which the word before it stands


def find_listed_ids_without_call(
    part: PartOfTask, calls: Sequence[PlannedCall], facts: Sequence[Fact], keys: RecordKeys
) -> tuple[str, ...]:
    """The identifiers in a list of the part that none of its calls names, while the calls name others of the same kind.

    The kind comes from the records that were read and the arguments of reads; of an identifier that nobody read, its
    pattern counts. A call of the same tool for another part counts as a call for this part, too. A call also names the
    listed record to which its own one belongs: the order of a delivery.
    """
    id_lists = _find_id_lists(part.quote)
    if not id_lists or CHOICE_WORD_PATTERN.search(part.quote):
        return ()
    tools = {call.tool for call in calls if call.part == part.number}
    own_calls = (call for call in calls if call.tool in tools or call.part == part.number)
    keys_of_calls = [{*_identifier_keys_in(call.arguments)} for call in own_calls]
    named_keys = set[_NormalizedId]().union(*keys_of_calls)
    id_lists = [ids for ids in id_lists if not named_keys.issuperset(map(normalize_identifier, ids))]
    if not (named_keys and id_lists):
        return ()
    kinds = _kinds_by_identifier(facts, keys)
    ids_without_call: dict[str, None] = {}
    for ids in id_lists:
        listed_keys = frozenset(map(normalize_identifier, ids))
        covered_keys = _find_covered_parents(listed_keys, keys_of_calls, facts, keys)
        ids_without_call |= dict.fromkeys(_find_ids_without_call(ids, named_keys | covered_keys, kinds))
    return tuple(ids_without_call)


def _find_ids_without_call(
    ids: Sequence[str], named_keys: set[_NormalizedId], kinds: dict[_NormalizedId, set[_NormalizedId]]
) -> Iterator[str]:
    """Yields the listed ids that no call names and that are of the kind, or the pattern, of one that a call names."""
    called_ids = [listed_id for listed_id in ids if normalize_identifier(listed_id) in named_keys]
    kinds_called = [kinds.get(normalize_identifier(called_id), set()) for called_id in called_ids]
    patterns_called = set(map(_identifier_pattern, called_ids))
    for listed_id in ids:
        if normalize_identifier(listed_id) not in named_keys:
            own_kinds = kinds.get(normalize_identifier(listed_id), set())
            has_called_pattern = not own_kinds and _identifier_pattern(listed_id) in patterns_called
            if has_called_pattern or any(own_kinds & called_kinds for called_kinds in kinds_called):
                yield listed_id


def _identifier_pattern(identifier: str) -> str:
    """``RA-#`` for ``RA-70011``; of a whole number, its number of digits."""
    return "#" * len(identifier) if identifier.isdecimal() else _DIGITS_PATTERN.sub("#", identifier.upper())


@lru_cache(maxsize=256)  # the text of a part is asked about before each answer
def _find_id_lists(text: str) -> Sequence[Sequence[str]]:
    """The groups of several identifiers that the text lists next to each other, without numbers of a day or an hour."""
    written_codes = sorted(set(find_code_like_tokens(text)))
    if len(written_codes) < 2:  # before days and hours are looked for, which takes long
        return ()
    lists: list[list[str]] = [[]]
    codes: list[WrittenIdentifier] = []
    mentions = find_mentions(text, _ARBITRARY_TIME, includes_relative=False)
    times = [(date.start, date.end) for date in mentions.dates] + [(hour.start, hour.end) for hour in mentions.times]
    places_in_times = {place for span in times for place in range(*span)}
    for code in written_codes:
        if code.text.isdecimal() and code.start in places_in_times:
            continue
        if codes and not _continues_list(text, codes, code):
            lists.append([])
            codes = []
        codes.append(code)
        lists[-1].append(code.text)
    return tuple(ids for ids in lists if len(ids) > 1)


def _continues_list(text: str, listed_codes: Sequence[WrittenIdentifier], next_code: WrittenIdentifier) -> bool:
    joint = _CONJUNCTION_PATTERN.fullmatch(text, listed_codes[-1].end, next_code.start)
    if joint is None:
        return False
    word_before = _LAST_WORD_PATTERN.search(
        text, max(0, listed_codes[0].start - _LOOKBACK_FROM_IDENTIFIER), listed_codes[0].start
    )
    return joint[1] is None or (word_before is not None and stem(joint[1].lower()) == stem(word_before[1].lower()))


def _kinds_by_identifier(facts: Sequence[Fact], keys: RecordKeys) -> dict[_NormalizedId, set[_NormalizedId]]:
    """``{identifier key: its kinds}``: ``(tool, *place)`` of its own record, ``("", *words)`` of a field with it."""
    kinds: dict[_NormalizedId, set[_NormalizedId]] = {}
    for fact in facts:
        nodes = find_record_nodes(fact.result)
        ids: list[tuple[Json, _NormalizedId]] = [(node.record_id, (fact.tool, *node.place)) for node in nodes]
        for record in (*(node.record for node in nodes), loads_object(fact.arguments_json)):
            for name, value in record.items():
                if keys.kind_of(name) or (is_id_name(name) and len(words_of(name)) > 1):
                    ids.append((value, ("", *(keys.kind_of(name) or words_of(name)))))
        for value, kind in ids:
            if isinstance(value, str | int) and not isinstance(value, bool):
                kinds.setdefault(normalize_identifier(str(value)), set()).add(kind)
    return kinds


def _identifier_keys_in(arguments: JsonObject) -> Iterator[_NormalizedId]:
    """Yields the keys of a call's values, except counts and measures, and of the codes within them."""
    for leaf in find_leaves(arguments):
        for value in leaf.value if isinstance(leaf.value, list) else [leaf.value]:
            kind = kind_of_argument(leaf.path[-1], {}, value)
            if kind is ArgumentKind.QUANTITY and not may_hold_amount(leaf.path[-1], kind):
                continue  # a count or a measure, such as ``nights``
            yield normalize_identifier(str(value))
            yield from (normalize_identifier(code.text) for code in find_code_like_tokens(str(value)))


class _UnlistedChild(NamedTuple):
    """A record that a read showed, and that is not listed itself."""

    own_keys: frozenset[_NormalizedId]  # of its ids
    parent_keys: frozenset[_NormalizedId]  # of the listed records to which it belongs
    tool: str  # the read that showed it


def _find_covered_parents(
    listed_keys: Set[_NormalizedId], calls_keys: Sequence[Set[_NormalizedId]], facts: Sequence[Fact], keys: RecordKeys
) -> set[_NormalizedId]:
    """The keys of the listed records that calls concern through a child: an order, by a call for its delivery.

    Empty if no call names a child. ``calls_keys``: the keys of the ids in each call; a call that names a listed record
    itself is skipped. If a call names a child, two more kinds of listed records are in the result: those that refer to
    what a call names, and those that have no child in any read.
    """
    called_keys = frozenset().union(*(call_keys for call_keys in calls_keys if not call_keys & listed_keys))
    graphs = [RecordGraph((fact,), keys) for fact in facts if fact.ok] if called_keys else []
    children = [child for graph in graphs for child in _list_unlisted_children(graph, listed_keys)]
    called_children = [child for child in children if child.own_keys & called_keys]
    covered = {key for child in called_children for key in child.parent_keys}
    if not covered:
        return set()
    for node in (node for graph in graphs for node in graph.nodes):
        if _normalize_referenced_ids(node) & called_keys:
            covered |= _normalize_ids_of(node) & listed_keys
    tools = {child.tool for child in called_children}
    with_child = {key for child in children if child.tool in tools for key in child.parent_keys}
    # What a read is asked with that shows only some of them.
    narrowing_keys = frozenset(listed_keys).union(*(child.own_keys for child in children))
    reads = (loads_object(fact.arguments_json) for fact in facts if fact.ok and fact.tool in tools)
    for read_keys in (_normalize_texts_of(references_in(arguments)) for arguments in reads):
        shows_all = not read_keys & narrowing_keys
        covered |= {key for key in listed_keys - with_child if shows_all or key in read_keys}
    return covered


def _list_unlisted_children(graph: RecordGraph, listed_keys: Set[_NormalizedId]) -> Iterator[_UnlistedChild]:
    """Yields the records of a read that belong to a listed record and are not listed themselves."""
    for node in graph.nodes:
        child = _UnlistedChild(_normalize_ids_of(node), _find_parents(graph, node) & listed_keys, node.seen.fact.tool)
        if child.parent_keys and not child.own_keys & listed_keys:
            yield child


def _find_parents(graph: RecordGraph, node: GraphNode) -> frozenset[_NormalizedId]:
    """The keys of what a record belongs to: the records around it, what it refers to, what its read was asked with."""
    outer = graph.enclosing_record(node)
    around = _normalize_ids_of(outer) | _find_parents(graph, outer) if outer else frozenset()
    return around | _normalize_referenced_ids(node) | _normalize_texts_of(node.read_arguments)


def _normalize_ids_of(node: GraphNode) -> frozenset[_NormalizedId]:
    return frozenset(map(normalize_identifier, node.ids))


def _normalize_referenced_ids(node: GraphNode) -> frozenset[_NormalizedId]:
    return _normalize_texts_of(references_in(node.record, node.kind, node.keys))


def _normalize_texts_of(references: Iterable[RecordReference]) -> frozenset[_NormalizedId]:
    ids = (reference.text for reference in references if reference.is_id or reference.looks_like_id)
    return frozenset(map(normalize_identifier, ids))
