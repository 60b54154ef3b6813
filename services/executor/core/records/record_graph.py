"""The graph of the records that were read: which of them refer to each other, and what their fields say."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain

from services.executor.core.figures.numbers import looks_like_id_text
from services.executor.core.records.seen_records import (
    Noun,
    RecordReference,
    SeenRecord,
    are_same_kind,
    comparable_id,
    field_aliases,
    find_records,
    get_shape_of_id,
    has_aspect,
    has_read_tool,
    is_kind_in_full,
    is_same_kind_as_any,
    keep_latest_reads,
    name_of_kind,
    noun_of_tool,
    rank_as_own_name,
    reference_of,
    references_in,
    singular_words,
)
from services.executor.core.session.values import Fact
from services.executor.core.tools.classes import is_identifying_name
from services.executor.core.tools.failures import ReadFailureKind, classify_failure
from services.executor.core.tools.record_tree import NO_RECORD_KEYS, RecordKeys, is_id_name
from services.executor.ports.tools import ToolAnswer
from shared.domain.exact_json import JsonObject, dumps, loads_object

_MOST_STEPS_TO_LINKED = 2  # from a record that is named to one that it leads to, such as the person with an address


@dataclass(frozen=True, eq=False)
class GraphNode:
    """A record in the graph. ``names``: ids, numbers, and names. ``read_arguments``: what its read was asked with.

    ``values_by_key``: ``{declared key: value}``, empty for one without a value; ``plain_names``: ``names`` without
    these. ``is_named_by_number``: its fields have no word of its kind, and it is known by the only number that it has.
    """

    seen: SeenRecord
    kind: Noun
    names: tuple[frozenset[str], frozenset[str], frozenset[str]]
    read_arguments: tuple[RecordReference, ...]
    keys: RecordKeys
    values_by_key: Mapping[str, str]
    plain_names: frozenset[str]
    is_named_by_number: bool = False

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
        references = (reference_of(key, value, (), self.keys) for key, value in fields)
        return tuple(reference for reference in references if reference and reference.key not in self.values_by_key)

    def is_meant_by(self, reference: RecordReference) -> bool:
        """Whether a reference whose text is one of the node's names is to this record.

        A reference by a declared key has to have that key's value: the asset with the tag 6 is not the one with the id
        6. For a record without declared keys, any text but a number may be its key. A reference by no declared key does
        not mean a key's value, unless its field is named after the kind alone (``asset: 6``).
        """
        if not reference.key:
            may_be_any_key = reference.may_hold_any_key and is_kind_in_full(self.kind, reference.noun)
            values = self.values_by_key.values() if may_be_any_key else ()
            return reference.text in self.plain_names or reference.text in values
        if reference.key in self.values_by_key or not is_kind_in_full(self.kind, reference.noun):
            return self.values_by_key.get(reference.key) == reference.text
        return not (reference.is_number or self.values_by_key)

    @cached_property
    def identity(self) -> tuple[str, ...]:
        """A key that is the same each time the record was read: kind and ids, or kind and numbers, or read and path."""
        own_names = sorted(self.ids) or sorted(self.names[1])
        return (self.kind[-1] if self.kind else "", *own_names) if own_names else (self.seen.fact.ref, self.seen.path)

    @cached_property
    def record_json(self) -> str:
        return dumps(self.record)

    @cached_property
    def id_patterns(self) -> frozenset[str]:
        return frozenset(filter(None, map(get_shape_of_id, self.ids)))


class RecordGraph:
    """All records that were read. Of reads with the same arguments only the last counts."""

    def __init__(self, facts: Sequence[Fact], keys: RecordKeys) -> None:
        self.keys, self._facts = keys, facts
        records = find_records((fact for fact in keep_latest_reads(facts) if not _says_found_false(fact)), keys)
        self.nodes = _drop_reread_rows([*_identify_by_only_number([_build_node(record, keys) for record in records])])
        self._by_seen = {id(node.seen): node for node in self.nodes}
        self._nodes_within: dict[int, list[GraphNode]] = {}
        for node in self.nodes:
            if node.seen.outer is not None:
                self._nodes_within.setdefault(id(node.seen.outer), []).append(node)
        self._nodes_by_name: tuple[dict[str, list[GraphNode]], ...] = ({}, {}, {})
        for node in self.nodes:
            for nodes_by_name, names in zip(self._nodes_by_name, node.names, strict=True):
                for name in names:
                    nodes_by_name.setdefault(name, []).append(node)

    def find_referenced_records(self, reference: RecordReference) -> list[GraphNode]:
        """The records that a reference names.

        They are of the kind that the reference says. If there are none and the text is an id, records of any kind
        count, unless tools here read that kind; then only records that such tools showed. A tool that reads exactly
        that kind goes before others: rent invoice 901 is no repair invoice 901.
        """
        has_exact_tool = has_read_tool(reference.noun, self.keys, in_full=True)
        for nodes_by_name in self._nodes_by_name:
            named_nodes = nodes_by_name.get(reference.text, ())
            of_kind = [node for node in named_nodes if are_same_kind(reference.noun, node.kind)]
            if has_exact_tool:
                exact = [node for node in of_kind if reference.noun in (node.kind, self._noun_of_read(node))]
                of_kind = exact or [node for node in of_kind if {*node.kind[:-1]} <= {*reference.noun[:-1]}]
            if meant_nodes := [node for node in of_kind if node.is_meant_by(reference)]:
                return meant_nodes
        if reference.key or reference.is_number or not (reference.is_id or reference.looks_like_id):
            return []
        # Under a word that no key and no kind of record is called by, such as ``document``.
        is_odd = reference.looks_like_id and not (reference.is_id or self.is_known_kind(reference.noun))
        nodes = self._nodes_by_name[0].get(reference.text, ())
        nodes = [node for node in nodes if is_odd or reference.text in node.plain_names]
        if not has_read_tool(reference.noun, self.keys):
            return nodes
        return [node for node in nodes if are_same_kind(reference.noun, self._noun_of_read(node))]

    def is_known_kind(self, noun: Noun) -> bool:
        """Whether the tenant declares this kind of record, or a tool of the server reads such records."""
        return is_same_kind_as_any(noun, (kind for _, kind in self.keys.kinds)) or has_read_tool(noun, self.keys)

    def _noun_of_read(self, node: GraphNode) -> Noun:
        """What the read that showed the record is about; empty for a record within another one."""
        return noun_of_tool(node.seen.fact.tool, self.keys) if node.seen.outer is None else ()

    def find_records_named_by_fields(self, node: GraphNode) -> Iterator[GraphNode]:
        """Yields the records that the node's fields name, of the kind that the fields say."""
        for reference in node.references:
            nodes = self.find_referenced_records(reference)
            yield from (node for node in nodes if are_same_kind(reference.noun, node.kind))

    def linked_records(self, node: GraphNode) -> Iterator[GraphNode]:
        """Yields the records that the node refers to, the one that contains it, and those within it."""
        for reference in node.references:
            yield from self.find_referenced_records(reference)
        if outer := self.enclosing_record(node):
            yield outer
        yield from self.list_nodes_within(node)

    def referring_records(self, node: GraphNode) -> Sequence[GraphNode]:
        """The records that refer to the node, and those shown by reads that were asked with it."""
        return self._referring_nodes.get(node, ())

    def reachable_identities(self, named: Set[tuple[str, ...]]) -> Set[tuple[str, ...]]:
        """The identities in ``named``, and those of records at most two links away.

        A link: one refers to the other, or contains it. Records with an id in common count as one; an object that only
        wraps a list links nothing.
        """
        reached = set(named)
        for _ in range(_MOST_STEPS_TO_LINKED):
            reached_nodes = (node for node in self.nodes if node.identity in reached)
            ids = {own_id for node in reached_nodes for own_id in node.ids if looks_like_id_text(own_id)}
            nodes = [node for node in self.nodes if node.identity in reached or not ids.isdisjoint(node.ids)]
            linked_nodes = (other for node in nodes for other in (node, *self.linked_records(node)))
            reached |= {other.identity for other in linked_nodes if not self._wraps_list(other)}
        return reached

    def _wraps_list(self, node: GraphNode) -> bool:
        """Whether the node is no record but what a server puts around the rows of a list: it has no name and is part of
        nothing with a name, and several records of one kind are within.
        """
        outer = self.enclosing_record(node)
        if any(node.names[:2]) or (outer is not None and not self._wraps_list(outer)):
            return False
        kinds = [inner.kind[-1:] for inner in self.list_nodes_within(node) if inner.ids]
        return len(set(kinds)) < len(kinds)

    def list_linked_ids(self, kind: Noun, ids: Set[str]) -> set[tuple[Noun, str]]:
        """``(kind, id)`` of what the records of this kind with these ids refer to, and of what refers to them."""
        linked_ids: set[tuple[Noun, str]] = set()
        for node in self.nodes:
            referenced_ids = {(reference.noun, reference.text) for reference in node.references}
            if are_same_kind(kind, node.kind) and not ids.isdisjoint(node.ids):
                linked_ids |= referenced_ids
            elif any(text in ids and are_same_kind(noun, kind) for noun, text in referenced_ids):
                linked_ids |= {(node.kind, own_id) for own_id in node.ids}
        return linked_ids

    @cached_property
    def _referring_nodes(self) -> dict[GraphNode, list[GraphNode]]:
        referring_nodes: dict[GraphNode, list[GraphNode]] = {}
        for node in self.nodes:
            matches = map(self.find_referenced_records, (*node.references, *node.read_arguments))
            for other in dict.fromkeys(chain.from_iterable(matches)):
                referring_nodes.setdefault(other, []).append(node)
        return referring_nodes

    @cached_property
    def keys_not_found(self) -> frozenset[tuple[str, str, str]]:
        """``(kind, declared key or "", value)`` with which alone a read of that kind was asked, and found no record."""
        keys_not_found: set[tuple[str, str, str]] = set()
        for fact in keep_latest_reads(self._facts) if self.keys.kinds else ():
            arguments = [*references_in(loads_object(fact.arguments_json), (), self.keys)]
            shown_kind = self.keys.kind_shown_by(fact.tool) or noun_of_tool(fact.tool, self.keys)
            if len(arguments) == 1 and is_kind_in_full(shown_kind, arguments[0].noun) and found_no_record(fact):
                keys_not_found.add((name_of_kind(arguments[0].noun), arguments[0].key, arguments[0].text))
        return frozenset(keys_not_found)

    def was_not_found(self, reference: RecordReference) -> bool:
        """Whether a read asked for the record that a reference names, and found none. "0" names no record."""
        return reference.text == "0" or (name_of_kind(reference.noun), reference.text) in self._kinds_and_ids_not_found

    @cached_property
    def _kinds_and_ids_not_found(self) -> frozenset[tuple[str, str]]:
        vain_reads = (
            loads_object(fact.arguments_json) for fact in keep_latest_reads(self._facts) if found_no_record(fact)
        )
        references = (reference for read in vain_reads for reference in references_in(read, (), self.keys))
        return frozenset((name_of_kind(reference.noun), reference.text) for reference in references)

    def has_field(self, name: str) -> bool:
        """Whether a record has a field of that name, in the same words or by an alias."""
        return any(singular_words(alias) in self._field_words for alias in (name, *field_aliases(name)))

    @cached_property
    def _field_words(self) -> frozenset[Noun]:
        return frozenset(singular_words(key) for node in self.nodes for key in node.record)

    def node_of(self, record: SeenRecord) -> GraphNode:
        return self._by_seen[id(record)]

    def enclosing_record(self, node: GraphNode) -> GraphNode | None:
        """The record around this one in the same answer; None if it has none there."""
        outer = node.seen.outer
        return self._by_seen.get(id(outer)) if outer else None

    def list_nodes_within(self, node: GraphNode) -> list[GraphNode]:
        return self._nodes_within.get(id(node.seen), [])

    def add_parts(self, nodes: Iterable[GraphNode]) -> list[GraphNode]:
        """The records with their parts (``details``, ``totals``), which hold further fields of the same records."""
        with_parts = list(nodes)
        known = set(with_parts)
        for node in with_parts:
            parts = [other for other in self.list_nodes_within(node) if other.seen.is_part and other not in known]
            known.update(parts)
            with_parts += parts
        return with_parts


def _says_found_false(fact: Fact) -> bool:
    """Whether a read's answer says ``found: false``."""
    return isinstance(fact.result, dict) and fact.result.get("found") is False


def found_no_record(fact: Fact) -> bool:
    """Whether a read says that there is no such record. A read that was refused or failed does not say so."""
    result = fact.result
    if _says_found_false(fact):
        return True
    if not fact.ok:
        return classify_failure(ToolAnswer(result, is_error=True)) is ReadFailureKind.NOT_FOUND
    return result in (None, "") or (isinstance(result, dict | list) and not find_records((fact,), NO_RECORD_KEYS))


build_record_graph = lru_cache(maxsize=8)(RecordGraph)  # every call of a plan asks for the graph of the same facts


def _build_node(record: SeenRecord, keys: RecordKeys) -> GraphNode:
    """The record as a node, named by its fields, by its key in a table, and by the id that its read was asked with."""
    kind = next((name for name in record.names if name), ())
    arguments = loads_object(record.fact.arguments_json)
    read_arguments = tuple(references_in(arguments, noun_of_tool(record.fact.tool, keys), keys))
    names: tuple[set[str], set[str], set[str]] = (set(), set(), set())
    values_by_key: dict[str, str] = {}
    is_shown = len(record.names) > 1 and record.names[0] == keys.kind_shown_by(record.fact.tool)
    is_other = is_shown and not are_same_kind(record.names[1], kind)  # an assessment, whose bare ``id`` is no patient's
    for key, value in () if record.is_part else record.record.items():
        text = comparable_id(value)
        rank = None if is_other and len(singular_words(key)) == 1 else rank_as_own_name(key, kind)
        # An asset's ``id`` is its ``asset_id``.
        own_key = "_".join((*kind, key)) if singular_words(key) == ("id",) else key
        if is_kind_in_full(kind, keys.kind_of(own_key)):
            key_name = keys.get_first_name_of_key(own_key)
            values_by_key[key_name] = text or values_by_key.get(key_name, "")
        elif rank is not None and text is not None:
            names[rank].add(text)
    if record.key is not None and (row_id := comparable_id(record.key)):
        names[0].add(row_id)
    requested = _requested_id(record, kind, names[0], read_arguments)
    if requested and not requested.key:
        names[min(1, len(names[0]))].add(requested.text)
    elif requested and not values_by_key and is_kind_in_full(kind, requested.noun):
        values_by_key[requested.key] = requested.text
    plain_names = frozenset[str]().union(*names)
    names[0].update(filter(None, values_by_key.values()))
    first, second, third = map(frozenset, names)
    return GraphNode(record, kind, (first, second, third), read_arguments, keys, values_by_key, plain_names)


def _requested_id(
    record: SeenRecord, kind: Noun, own_ids: set[str], read_arguments: Sequence[RecordReference]
) -> RecordReference | None:
    """The id with which a read was asked, if its answer is that one record and has no other id; else None."""
    if not record.is_only_record or (own_ids and any(looks_like_id_text(own_id) for own_id in own_ids)):
        return None
    of_kind = [reference for reference in read_arguments if are_same_kind(reference.noun, kind)]
    of_kind = of_kind or [reference for reference in read_arguments if has_aspect(reference.noun, kind)]
    ids = {reference.text: reference for reference in of_kind if reference.is_id or reference.looks_like_id}
    only_id = ids.popitem()[1] if len(ids) == 1 else None
    if only_id is None or not (only_id.is_number and own_ids and all(own_id.isdigit() for own_id in own_ids)):
        return only_id
    shown_ids = (comparable_id(value) for value in record.record.values())
    id_arguments = (value for name, value in loads_object(record.fact.arguments_json).items() if is_id_name(name))
    is_another = only_id.text in map(comparable_id, id_arguments) and int(only_id.text) not in map(int, own_ids)
    return None if is_another and only_id.text not in shown_ids else only_id


def _identify_by_only_number(nodes: Sequence[GraphNode]) -> Iterator[GraphNode]:
    """Yields the records; one that has no name of its kind is named by its only number, as an application by its
    ``file_no``.

    Only where no kind that was read has that name, and no other row of the list has the same number.
    """
    kinds = {node.kind for node in nodes}
    numbers = {id(node): _find_only_number(node, kinds) for node in nodes if not (node.ids or node.names[1])}
    counts = Counter((node.seen.fact.ref, node.kind, numbers.get(id(node))) for node in nodes)
    for node in nodes:
        number = numbers.get(id(node))
        if number is None or counts[node.seen.fact.ref, node.kind, number] > 1:
            yield node
        else:
            own_names = frozenset({number})
            names = (own_names, *node.names[1:])
            yield replace(node, names=names, plain_names=own_names, is_named_by_number=True)


def _find_only_number(node: GraphNode, kinds: Collection[Noun]) -> str | None:
    """The value of the only field called a number that names no kind; of several, the one its read has; or None."""
    if node.seen.is_part:
        return None
    names = (key for key in node.record if is_identifying_name(key) and not node.keys.is_id_or_key(key))
    references = (reference_of(name, node.record[name], (), node.keys) for name in names)
    numbers = [reference for reference in references if reference is not None]
    if len(numbers) != 1:
        read_with = {(argument.noun, argument.text) for argument in node.read_arguments}
        numbers = [number for number in numbers if (number.noun, number.text) in read_with]
    numbers = [number for number in numbers if not is_same_kind_as_any(number.noun, kinds)]
    return numbers[0].text if len(numbers) == 1 else None


def _drop_reread_rows(nodes: Sequence[GraphNode]) -> list[GraphNode]:
    """The records without those rows of lists whose record was read by itself since."""
    reread = {node.identity for node in nodes if node.seen.fact.again and node.seen.is_of_single_answer}
    return [node for node in nodes if not node.seen.is_row or node.seen.fact.again or node.identity not in reread]
