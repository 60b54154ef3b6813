"""The graph of the records that were read: which of them refer to each other, and what their fields say."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from services.executor.core.figures.numbers import looks_like_id_text
from services.executor.core.records.seen_records import (
    Noun,
    RecordReference,
    SeenRecord,
    are_same_kind,
    comparable_id,
    field_aliases,
    find_records,
    has_read_tool,
    id_pattern_of,
    is_aspect_of,
    is_of_kind,
    latest_reads,
    name_of_kind,
    noun_of_tool,
    rank_as_own_name,
    reference_of,
    references_in,
    singular_words,
)
from services.executor.core.session.values import Fact
from services.executor.core.tools.classes import is_identifying_name
from services.executor.core.tools.failures import ReadFailure, classify_failure
from services.executor.core.tools.record_tree import NO_KEYS, RecordKeys, is_id_name
from services.executor.ports.tools import ToolAnswer
from shared.domain.exact_json import JsonObject, dumps, loads_object

_MOST_STEPS = 2  # from a record that is named to one that it leads to, such as the person with an address


@dataclass(frozen=True, eq=False)
class GraphNode:
    """A record in the graph. ``names``: its ids, numbers and names. ``read_arguments``: what the read that showed it
    was asked with.

    ``keyed``: the values of its declared keys, empty for a key without a value; ``plain``: its names without these.
    ``by_number``: its fields have no word of its kind, and it is known by the only number that it has.
    """

    seen: SeenRecord
    kind: Noun
    names: tuple[frozenset[str], frozenset[str], frozenset[str]]
    read_arguments: tuple[RecordReference, ...]
    keys: RecordKeys
    keyed: Mapping[str, str]
    plain: frozenset[str]
    by_number: bool = False

    @property
    def record(self) -> JsonObject:
        return self.seen.record

    @property
    def ids(self) -> frozenset[str]:
        return self.names[0]

    @cached_property
    def references(self) -> tuple[RecordReference, ...]:
        """The references in the record's fields to other records."""
        fields = ((key, value) for key, value in self.record.items() if rank_as_own_name(key, self.kind) is None)
        found = (reference_of(key, value, (), self.keys) for key, value in fields)
        return tuple(one for one in found if one and one.key not in self.keyed)

    def is_meant_by(self, reference: RecordReference) -> bool:
        """Whether a reference with one of the node's names uses the key that has this value: an asset with the tag 6 is
        not the one with the id 6. Without a declared key in the record, a text that is no number may be its ``id``.
        """
        if not reference.key:
            by_kind = reference.by_kind and is_of_kind(self.kind, reference.noun)
            return reference.text in self.plain or (by_kind and reference.text in self.keyed.values())
        if reference.key in self.keyed or not is_of_kind(self.kind, reference.noun):
            return self.keyed.get(reference.key) == reference.text
        return not (reference.is_number or self.keyed)

    @cached_property
    def identity(self) -> tuple[str, ...]:
        """A key that is the same each time the record was read."""
        own = sorted(self.ids) or sorted(self.names[1])
        return (self.kind[-1] if self.kind else "", *own) if own else (self.seen.fact.ref, self.seen.path)

    @cached_property
    def text(self) -> str:
        return dumps(self.record)

    @cached_property
    def id_patterns(self) -> frozenset[str]:
        return frozenset(filter(None, map(id_pattern_of, self.ids)))


class RecordGraph:
    """All records that were read. Of reads with the same arguments only the last counts."""

    def __init__(self, facts: Sequence[Fact], keys: RecordKeys) -> None:
        self.keys, self._facts = keys, facts
        records = find_records((one for one in latest_reads(facts) if not answers_found_false(one)), keys)
        self.nodes = _without_old_rows([*_name_by_numbers([_build_node(record, keys) for record in records])])
        self._by_seen = {id(node.seen): node for node in self.nodes}
        self._nodes_within: dict[int, list[GraphNode]] = {}
        for node in self.nodes:
            if node.seen.outer is not None:
                self._nodes_within.setdefault(id(node.seen.outer), []).append(node)
        self._nodes_by_name: tuple[dict[str, list[GraphNode]], ...] = ({}, {}, {})
        for node in self.nodes:
            for called, names in zip(self._nodes_by_name, node.names, strict=True):
                for name in names:
                    called.setdefault(name, []).append(node)

    def find_referenced_records(self, reference: RecordReference) -> list[GraphNode]:
        """The records that a reference names.

        They are of the kind that the reference says. If there are none and the text is an id, records of any kind
        count, unless tools here read that kind; then only records that such tools showed. A tool that reads exactly
        that kind goes before others: rent invoice 901 is no repair invoice 901.
        """
        in_full = has_read_tool(reference.noun, self.keys, in_full=True)
        for called in self._nodes_by_name:
            of_kind = [node for node in called.get(reference.text, ()) if are_same_kind(reference.noun, node.kind)]
            if in_full:
                exact = [node for node in of_kind if reference.noun in (node.kind, self._noun_of_read(node))]
                of_kind = exact or [node for node in of_kind if {*node.kind[:-1]} <= {*reference.noun[:-1]}]
            if found := [node for node in of_kind if node.is_meant_by(reference)]:
                return found
        if reference.key or reference.is_number or not (reference.is_id or reference.looks_like_id):
            return []
        # Under a word that no key and no kind of record is called by, such as ``document``.
        is_odd = reference.looks_like_id and not (reference.is_id or self.is_known_kind(reference.noun))
        found = [
            node for node in self._nodes_by_name[0].get(reference.text, ()) if is_odd or reference.text in node.plain
        ]
        if not has_read_tool(reference.noun, self.keys):
            return found
        return [node for node in found if are_same_kind(reference.noun, self._noun_of_read(node))]

    def is_known_kind(self, noun: Noun) -> bool:
        """Whether the tenant declares this kind of record, or a tool of the server reads such records."""
        return any(are_same_kind(noun, kind) for _, kind in self.keys.kinds) or has_read_tool(noun, self.keys)

    def _noun_of_read(self, node: GraphNode) -> Noun:
        """What the read that showed the record is about; empty for a record within another one."""
        return noun_of_tool(node.seen.fact.tool, self.keys) if node.seen.outer is None else ()

    def find_named_by_fields(self, node: GraphNode) -> Iterator[GraphNode]:
        """Yields the records that the node's fields name, of the kind that the fields say."""
        for reference in node.references:
            yield from (
                other for other in self.find_referenced_records(reference) if are_same_kind(reference.noun, other.kind)
            )

    def linked_records(self, node: GraphNode) -> Iterator[GraphNode]:
        """Yields the records that the node refers to, the one that contains it, and those within it."""
        for reference in node.references:
            yield from self.find_referenced_records(reference)
        if outer := self.enclosing_record(node):
            yield outer
        yield from self.parts_and_children(node)

    def referring_records(self, node: GraphNode) -> Sequence[GraphNode]:
        """The records that refer to the node, and those shown by reads that were asked with it."""
        return self._referring_nodes.get(id(node), ())

    def reachable_identities(self, named: Set[tuple[str, ...]]) -> Set[tuple[str, ...]]:
        """The identities of the named records and of those that they lead to, also under another kind's name."""
        reached = set(named)
        for _ in range(_MOST_STEPS):
            ids = {
                one for node in self.nodes if node.identity in reached for one in node.ids if looks_like_id_text(one)
            }
            sights = [node for node in self.nodes if node.identity in reached or not ids.isdisjoint(node.ids)]
            reached |= {one.identity for node in sights for one in (node, *self.linked_records(node))}
        return reached

    def list_linked_ids(self, kind: Noun, names: Set[str]) -> set[tuple[Noun, str]]:
        """The kinds and ids of the records to which one with these names refers, and of those that refer to it."""
        found: set[tuple[Noun, str]] = set()
        for node in self.nodes:
            if are_same_kind(kind, node.kind) and not names.isdisjoint(node.ids):
                found |= {(one.noun, one.text) for one in node.references}
            elif any(one.text in names and are_same_kind(one.noun, kind) for one in node.references):
                found |= {(node.kind, name) for name in node.ids}
        return found

    @cached_property
    def _referring_nodes(self) -> dict[int, list[GraphNode]]:
        found: dict[int, list[GraphNode]] = {}
        for other in self.nodes:
            for named in {
                id(one): one
                for ref in (*other.references, *other.read_arguments)
                for one in self.find_referenced_records(ref)
            }:
                found.setdefault(named, []).append(other)
        return found

    @cached_property
    def keys_not_found(self) -> frozenset[tuple[str, str]]:
        """The declared keys, each with a value, with which a read of their kind was asked and found no record."""
        found: set[tuple[str, str]] = set()
        for fact in latest_reads(self._facts) if self.keys.kinds else ():
            asked = [*references_in(loads_object(fact.arguments_json), (), self.keys)]
            shown = self.keys.kind_shown_by(fact.tool) or noun_of_tool(fact.tool, self.keys)
            if len(asked) == 1 and is_of_kind(shown, asked[0].noun) and found_no_record(fact):
                found.add((asked[0].key, asked[0].text))
        return frozenset(found)

    def was_not_found(self, reference: RecordReference) -> bool:
        """Whether a read asked for the record that a reference names, and found none. "0" names no record."""
        return reference.text == "0" or (name_of_kind(reference.noun), reference.text) in self._kinds_and_ids_not_found

    @cached_property
    def _kinds_and_ids_not_found(self) -> frozenset[tuple[str, str]]:
        vain = (fact for fact in latest_reads(self._facts) if found_no_record(fact))
        asked = (one for fact in vain for one in references_in(loads_object(fact.arguments_json), (), self.keys))
        return frozenset((name_of_kind(one.noun), one.text) for one in asked)

    def has_field(self, name: str) -> bool:
        """Whether a record has a field of that name, in the same words or by an alias."""
        return any(singular_words(one) in self._field_words for one in (name, *field_aliases(name)))

    @cached_property
    def _field_words(self) -> frozenset[Noun]:
        return frozenset(singular_words(key) for node in self.nodes for key in node.record)

    def node_of(self, record: SeenRecord) -> GraphNode:
        return self._by_seen[id(record)]

    def enclosing_record(self, node: GraphNode) -> GraphNode | None:
        outer = node.seen.outer
        return self._by_seen.get(id(outer)) if outer else None

    def parts_and_children(self, node: GraphNode) -> list[GraphNode]:
        return self._nodes_within.get(id(node.seen), [])

    def with_parts(self, nodes: Iterable[GraphNode]) -> list[GraphNode]:
        """The records with their parts (``details``, ``totals``), which hold further fields of the same records."""
        found = list(nodes)
        for node in found:
            found += [one for one in self.parts_and_children(node) if one.seen.is_part and one not in found]
        return found


def answers_found_false(fact: Fact) -> bool:
    """Whether a read's answer says ``found: false``."""
    return isinstance(fact.result, dict) and fact.result.get("found") is False


def found_no_record(fact: Fact) -> bool:
    """Whether a read says that there is no such record. A read that was refused or failed does not say so."""
    result = fact.result
    if answers_found_false(fact):
        return True
    if not fact.ok:
        return classify_failure(ToolAnswer(result, is_error=True)) is ReadFailure.NOT_FOUND
    return result in (None, "") or (isinstance(result, dict | list) and not find_records((fact,), NO_KEYS))


build_record_graph = lru_cache(maxsize=8)(RecordGraph)  # every call of a plan asks for the graph of the same facts


def _build_node(record: SeenRecord, keys: RecordKeys) -> GraphNode:
    kind = next((name for name in record.names if name), ())
    asked = tuple(references_in(loads_object(record.fact.arguments_json), noun_of_tool(record.fact.tool, keys), keys))
    names: tuple[set[str], set[str], set[str]] = (set(), set(), set())
    keyed: dict[str, str] = {}
    is_shown = len(record.names) > 1 and record.names[0] == keys.kind_shown_by(record.fact.tool)
    is_other = is_shown and not are_same_kind(record.names[1], kind)  # an assessment, whose bare ``id`` is no patient's
    for key, value in () if record.is_part else record.record.items():
        rank, text = (
            None if is_other and len(singular_words(key)) == 1 else rank_as_own_name(key, kind),
            comparable_id(value),
        )
        own_key = (
            "_".join((*kind, key)) if singular_words(key) == ("id",) else key
        )  # an asset's ``id`` is its ``asset_id``
        if is_of_kind(kind, keys.kind_of(own_key)):
            keyed[keys.key_named(own_key)] = text or keyed.get(keys.key_named(own_key), "")
        elif rank is not None and text is not None:
            names[rank].add(text)
    if record.key is not None and (own := comparable_id(record.key)):
        names[0].add(own)
    answered = _requested_id(record, kind, names[0], asked)
    if answered and not answered.key:
        names[min(1, len(names[0]))].add(answered.text)
    elif answered and not keyed and is_of_kind(kind, answered.noun):
        keyed[answered.key] = answered.text
    plain = frozenset[str]().union(*names)
    names[0].update(filter(None, keyed.values()))
    first, second, third = map(frozenset, names)
    return GraphNode(record, kind, (first, second, third), asked, keys, keyed, plain)


def _requested_id(
    record: SeenRecord, kind: Noun, own: set[str], asked: Sequence[RecordReference]
) -> RecordReference | None:
    """The id with which a read was asked, if its answer is that one record and has no other id; else None."""
    if not record.is_only_record or (own and any(looks_like_id_text(one) for one in own)):
        return None
    spoken = [one for one in asked if are_same_kind(one.noun, kind)] or [
        one for one in asked if is_aspect_of(one.noun, kind)
    ]
    found = {one.text: one for one in spoken if one.is_id or one.looks_like_id}
    meant = found.popitem()[1] if len(found) == 1 else None
    if meant is None or not (meant.is_number and own and all(one.isdigit() for one in own)):
        return meant
    shown = (comparable_id(value) for value in record.record.values())
    asked_by_id = (value for name, value in loads_object(record.fact.arguments_json).items() if is_id_name(name))
    is_another = meant.text in map(comparable_id, asked_by_id) and int(meant.text) not in map(int, own)
    return None if is_another and meant.text not in shown else meant


def _name_by_numbers(nodes: Sequence[GraphNode]) -> Iterator[GraphNode]:
    """Yields the records; one that has no name of its kind is named by its only number, as an application by its
    ``file_no``.

    Only where no kind that was read has that name, and no other row of the list the same number.
    """
    kinds = {node.kind for node in nodes}
    numbers = {id(node): _only_number(node, kinds) for node in nodes if not (node.ids or node.names[1])}
    shown = Counter((node.seen.fact.ref, node.kind, numbers.get(id(node))) for node in nodes)
    for node in nodes:
        number = numbers.get(id(node))
        if number is None or shown[node.seen.fact.ref, node.kind, number] > 1:
            yield node
        else:
            known = frozenset({number})
            yield replace(node, names=(known, *node.names[1:]), plain=known, by_number=True)


def _only_number(node: GraphNode, kinds: Collection[Noun]) -> str | None:
    """The value of the only field that is called a number and names no kind; of several, the one asked with."""
    if node.seen.is_part:
        return None
    found = [
        one
        for key, value in node.record.items()
        if is_identifying_name(key)
        and not node.keys.is_id_or_key(key)
        and (one := reference_of(key, value, (), node.keys))
    ]
    asked = [
        one for one in found if any((one.noun, one.text) == (given.noun, given.text) for given in node.read_arguments)
    ]
    own = [
        one for one in (found if len(found) == 1 else asked) if not any(are_same_kind(one.noun, kind) for kind in kinds)
    ]
    return own[0].text if len(own) == 1 else None


def _without_old_rows(nodes: Sequence[GraphNode]) -> list[GraphNode]:
    """The records without those rows of lists whose record was read by itself since."""
    anew = {node.identity for node in nodes if node.seen.fact.again and node.seen.is_of_single_answer}
    return [node for node in nodes if not (node.seen.is_row and node.identity in anew and not node.seen.fact.again)]
