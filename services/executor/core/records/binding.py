"""Binds a rule's field to its value for a planned call: from the call, from the records that it names, or unknown.

A field binds to the call's argument; else to a record that the call names; else to the nearest record of another kind
that those refer to, at most two steps away. It never binds to a record of the called kind that the call does not name,
nor to one that belongs to such a record. Where records disagree, or one was not read, the field is unknown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, cast

from services.executor.core.figures.numbers import read_figure
from services.executor.core.figures.operands import select_cells
from services.executor.core.records.field_values import (
    UNKNOWN,
    FieldValue,
    UnknownValue,
    common_value,
    edited_fields,
    fields_in_other_shapes,
    fields_of_arguments,
    fields_of_record,
    find_values,
    find_values_by_name,
    nested_fields,
    words_without_minor_unit,
)
from services.executor.core.records.record_graph import GraphNode, RecordGraph, build_record_graph
from services.executor.core.records.seen_records import (
    Noun,
    RecordReference,
    are_same_kind,
    id_pattern_of,
    makes_record,
    may_describe_request,
    noun_of_tool,
    reference_of,
    references_in,
    singular_words,
)
from services.executor.core.session.values import Fact
from services.executor.core.tools.record_tree import NO_KEYS, NoSuchPath, RecordKeys
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object

_MOST_STEPS = 2
_MOST_BEYOND = 40


class NamedRecords(NamedTuple):
    """The records that a call names. ``unread_*``: references to records that nobody read.

    ``subjects``: those of the kind that the tool is about; if there are none, all of them. ``kinds``: of the subjects.
    ``mentioned``: every record whose identifier occurs anywhere in the call.
    """

    subjects: tuple[GraphNode, ...]
    others: tuple[GraphNode, ...]
    unread_subjects: tuple[RecordReference, ...]
    unread_others: tuple[RecordReference, ...]
    kinds: tuple[Noun, ...]
    mentioned: tuple[GraphNode, ...] = ()

    @property
    def records(self) -> tuple[GraphNode, ...]:
        return (*self.subjects, *self.others)

    @property
    def unread(self) -> tuple[RecordReference, ...]:
        return (*self.unread_subjects, *self.unread_others)

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the named records, and the texts by which the call names records that nobody read."""
        read = (name for node in self.records for names in node.names[:2] for name in names)
        return frozenset((*read, *(one.text for one in self.unread)))


class BoundFields(NamedTuple):
    """The fields of a call as rules see them. ``unknown``: fields that rules ask for and that the call's records have
    without a single value.

    ``recorded``: what the records say, regardless of the arguments. ``named``: the records that the call names or
    mentions, and arguments that are aliases of their fields; ``beyond``: fields that only records further away have,
    such as a screening of the order's customer. Values in ``named`` and ``beyond`` may trigger a rule, and never keep
    one from triggering.
    """

    fields: Mapping[str, Json]
    unknown: tuple[str, ...]
    recorded: Mapping[str, Json]
    named: tuple[JsonObject, ...]
    beyond: tuple[JsonObject, ...] = ()


def build_call_view(tool: str, arguments: JsonObject, facts: Sequence[Fact], keys: RecordKeys = NO_KEYS) -> "CallView":
    """The records around a call of this tool. Reads before planning, verdicts and rule requests all use it."""
    return _build_cached_view(build_record_graph(tuple(facts), keys), tool, dumps(arguments))


def refs_of_reads_around(
    call: PlannedCall, facts: Sequence[Fact], keys: RecordKeys, made: Iterable[PlannedCall] | None = None
) -> frozenset[str]:
    """The references of the reads of single records on which rules about the call depend. Reads of lists are left out,
    since a list may have lost the record since.

    ``made``: only if one of these earlier calls concerns a record around the call, else empty: a change of a customer
    may change the customer's mandates.
    """
    near = _nodes_around(call, facts, keys)
    if made is not None and not any(_concerns_nearby_record(one, near, facts, keys) for one in made):
        return frozenset()
    return frozenset(node.seen.fact.ref for node in near.values() if node.seen.is_of_single_answer)


def _concerns_nearby_record(
    made: PlannedCall, near: Mapping[int, GraphNode], facts: Sequence[Fact], keys: RecordKeys
) -> bool:
    """Whether the call ``made`` concerns one of the ``near`` records, or names a record to which one of them refers."""
    ids = build_call_view(made.tool, made.arguments, facts, keys).ids
    referred = {one.text for node in near.values() for one in node.references if one.must_exist}
    return not near.keys().isdisjoint(_nodes_around(made, facts, keys)) or not referred.isdisjoint(ids)


def _nodes_around(call: PlannedCall, facts: Sequence[Fact], keys: RecordKeys) -> dict[int, GraphNode]:
    """The records around a call, those that it mentions and those beyond, keyed by ``id(node)``."""
    view = build_call_view(call.tool, call.arguments, facts, keys)
    return {id(node): node for node in (*view.records_around, *view.mentioned, *view.records_beyond)}


def bind_fields(view: "CallView", asked: Iterable[str] = ()) -> BoundFields:
    """The fields of a call. ``asked``: the names that rules ask for, also in the form ``kind.field``."""
    wanted = [*dict.fromkeys(asked)]
    said = {name: view.find_value(name) for name in (*view.field_names, *(name for name in wanted if "." not in name))}
    fields = {name: value for name, value in said.items() if not isinstance(value, UnknownValue)}
    recorded = {name: value for name in said if not isinstance(value := view.value_in_records(name), UnknownValue)}
    for dotted in (name for name in wanted if "." in name):
        said[dotted] = value = view.value_of_kind(dotted)
        if not isinstance(value, UnknownValue):
            set_field(fields, dotted, value)
    unknown = tuple(name for name in wanted if isinstance(said[name], UnknownValue) and view.has_field(name))
    more = [
        {key: value for key, value in fields_of_record(node.record) if not view.has_field(key)}
        for node in view.records_beyond
    ]
    beyond = tuple({dumps(one): one for one in cast(list[JsonObject], more) if one}.values())
    given = [
        {name: value}
        for name in said
        for value in view.aliases_of_recorded_field(name)
        if not isinstance(value, UnknownValue)
    ]
    return BoundFields(fields, unknown, recorded, (*given, *(node.record for node in view.mentioned)), beyond)


@lru_cache(maxsize=8)
def _build_cached_view(graph: RecordGraph, tool: str, arguments_json: str) -> "CallView":
    return CallView(graph, tool, loads_object(arguments_json))


def find_named_records(tool: str, arguments: JsonObject, graph: RecordGraph) -> NamedRecords:
    """The records that a call names, by any argument. If it has an identifier, plain numbers name no record."""
    about = noun_of_tool(tool, graph.keys)
    given = [*references_in(arguments, about, graph.keys)]
    found = [(reference, _find_referenced_records(graph, reference, about)) for reference in given]
    if any(one.is_id and meant for one, meant in found):  # then a mere number names none: ``new_salary``
        found = [(one, meant) for one, meant in found if meant or one.is_id or not one.is_number or one.noun == about]
    nodes = _prefer_records_named_by_own_id(found)
    makes = about if makes_record(tool) else ()
    seen_nouns = {one.noun for one, meant in found if meant and one.noun}
    seen_shapes = {id_pattern_of(one.text) for one, meant in found if meant} - {""}
    unread = [
        one
        for one, meant in found
        if not meant
        and not are_same_kind(one.noun, makes)
        and (are_same_kind(one.noun, about) or not may_describe_request(one.noun))
        and (one.must_exist or (one.noun in seen_nouns and one.is_id) or id_pattern_of(one.text) in seen_shapes)
    ]
    known = {one.noun for one, meant in found if meant}  # which the call gives a new key, if nothing has that yet
    unread = [one for one in unread if one.noun not in known or (one.key, one.text) not in graph.keys_not_found]
    nodes += (
        _find_by_key_of_other_record(given, about, graph)
        if not any(are_same_kind(about, one.noun) for one in given)
        else []
    )
    subjects = [node for node in nodes if are_same_kind(about, node.kind)]
    unread_subjects = [one for one in unread if are_same_kind(about, one.noun)]
    if not subjects and not unread_subjects:
        subjects, unread_subjects = nodes, unread
    kinds = (*(node.kind for node in subjects), *(one.noun for one in unread_subjects), about)
    return NamedRecords(
        tuple(subjects),
        tuple(node for node in nodes if node not in subjects),
        tuple(unread_subjects),
        tuple(one for one in unread if one not in unread_subjects),
        tuple(dict.fromkeys(kind for kind in kinds if kind)),
        tuple({id(node): node for _, meant in found for node in meant}.values()),
    )


def _find_by_key_of_other_record(given: Iterable[RecordReference], about: Noun, graph: RecordGraph) -> list[GraphNode]:
    """The record that the tool is about and that has another record's key, as a lease's deposit has the lease's: the
    one shown by a read that was asked with just this key.
    """
    keys = {(one.noun, one.text) for one in given if one.is_id}
    of_kind = (node for node in graph.nodes if are_same_kind(about, node.kind) and node.seen.is_only_record)
    return [
        node
        for node in of_kind
        if {(one.noun, one.text) for one in node.read_arguments} & keys and len(node.read_arguments) == 1
    ]


def _find_referenced_records(graph: RecordGraph, reference: RecordReference, about: Noun) -> list[GraphNode]:
    """The records that a call's reference names, without those of another kind that only share a number."""
    meant = graph.find_referenced_records(reference)
    own = are_same_kind(reference.noun, about)
    return [node for node in meant if not (own and node.by_number and not are_same_kind(node.kind, about))]


class CallView:
    """The records around one call, the nearest first, and the values of their fields."""

    def __init__(self, graph: RecordGraph, tool: str, arguments: JsonObject) -> None:
        self._graph = graph
        self._about = noun_of_tool(tool, graph.keys)
        self._named = find_named_records(tool, arguments, graph)
        self._references = [*references_in(arguments, self._about, graph.keys)]
        self._arguments, self._edited = fields_of_arguments(arguments), [*edited_fields(arguments)]
        self._plain_arguments = fields_of_record(arguments)
        self._in_other_shapes = [*fields_in_other_shapes(arguments)]
        shapes = [shape for node in self._named.subjects for shape in node.id_patterns]
        self._id_patterns = {*shapes, *(id_pattern_of(one.text) for one in self._named.unread_subjects)} - {""}
        self.ids = self._named.ids
        self._belongs_elsewhere: dict[int, bool] = {}
        self._fields: dict[
            tuple[int, bool], dict[Noun, dict[str, FieldValue]]
        ] = {}  # by kind, of a list of records, by its identity and whether with nested ones
        self.own = graph.with_parts(self._named.records)
        self._own = {id(node) for node in self.own}
        self.mentioned = graph.with_parts(self._named.mentioned)
        self._levels = self._group_by_distance()
        self._siblings = _one_per_kind_and_fields(node for node in graph.nodes if self.is_other_of_called_kind(node))

    @cached_property
    def field_names(self) -> list[str]:
        """The name of every field of the call and of the records around it."""
        given = {key for key, _ in self._arguments if "." not in key}
        return sorted(
            given.union(key for level in self._levels for node in level for key, _ in fields_of_record(node.record))
        )

    def find_value(self, name: str) -> FieldValue:
        """The value of the field; ``UNKNOWN`` if there is none, or more than one.

        A field of a record that the call names goes before an argument that is only an alias of the field's name: to
        pay an ``amount`` of an invoice does not change its ``total``.
        """
        given = find_values(name, self._arguments, self._named.kinds)
        if given and not self.aliases_of_recorded_field(name):
            return common_value(given)
        alternatives = self.present_and_edited_values(name)
        return common_value(alternatives) if alternatives else self.value_in_records(name)

    def present_and_edited_values(self, name: str) -> list[FieldValue]:
        """The field's present value and its value after an edit in the call; empty if the call edits no such field. The
        present value is left out if no record has the field.
        """
        edited = find_values_by_name(name, self._edited)
        if not edited or find_values(name, self._arguments, self._named.kinds):
            return []
        before = self.value_in_records(name)
        is_new = before is UNKNOWN and not self.unread_references and not self._is_recorded(name)
        return edited if is_new else [before, *edited]

    def value_in_other_shape(self, name: str) -> Json:
        """What the call may say of the field in another shape than an argument of its name, the greatest if it says
        several; None if it says nothing, or has an argument of that name.
        """
        if find_values_by_name(name, self._plain_arguments, self._named.kinds):
            return None
        said = find_values_by_name(name, self._in_other_shapes, self._named.kinds)
        found = [one for one in said if not isinstance(one, UnknownValue)]
        return max(found, key=lambda one: abs(read_figure(one) or 0), default=None)

    def _is_recorded(self, name: str) -> bool:
        """Whether a record around the call or one of the called kind has the field, with whatever value."""
        nodes = [*self.records_around, *self._siblings, *self._records_of_unread_kinds]
        return bool(_values_by_dotted_name(nodes, name))

    def aliases_of_recorded_field(self, name: str) -> list[FieldValue]:
        """The arguments that are aliases of a field which a record that the call names has under its own name."""
        if find_values_by_name(name, self._arguments, self._named.kinds):
            return []
        of_own = (find_values_by_name(name, fields_of_record(node.record), (node.kind,)) for node in self.own)
        return find_values(name, self._arguments) if any(of_own) else []

    def value_in_records(self, name: str, *, with_subject_links: bool = True) -> FieldValue:
        """The value of the field in the records, regardless of the arguments; ``UNKNOWN`` if there is no single one.

        ``with_subject_links``: whether ``_subject_links`` have to agree with a record that the call names.
        """
        if self._named.unread_subjects:
            return UNKNOWN
        for place, level in enumerate(self._levels):
            if place == 1 and _field_values_in_nodes([*self._siblings, *self._records_of_unread_kinds], name):
                return UNKNOWN  # its own kind has the field, so nobody else's is meant
            if place >= 2 and self._has_argument_in_minor_units(name):
                return UNKNOWN
            if found := _field_values_in_nodes(level, name):
                found += self._values_of_subject_links(level, name) if place == 1 and with_subject_links else []
                return UNKNOWN if self._may_differ_in_unread(name, place) else common_value(found)
            first = _split_dotted(name)[0]
            if first and any(singular_words(key) == first for node in level for key in node.record):
                return UNKNOWN  # a record as near has the path's first step, as a list or null: none further is meant
        return UNKNOWN

    def _has_argument_in_minor_units(self, name: str) -> bool:
        """Whether the call itself gives the amount in cents, so that no amount from further away is meant."""
        words = singular_words(name)
        return any(words == words_without_minor_unit(key) != singular_words(key) for key, _ in self._arguments)

    def _may_differ_in_unread(self, name: str, place: int, kind: Noun = ()) -> bool:
        """Whether a record as near as those that have the field was not fully read, and so may have another value."""
        if place < 2:
            return bool(
                (place == 1 and not kind and self._named.unread_others) or self._references_without_field(name, kind)
            )
        return bool(self._unread_references_at_level(name, place, kind))

    def _references_without_field(self, name: str, kind: Noun = ()) -> list[RecordReference]:
        """The call's references to records of kinds that have the field, which were only read without it."""
        having = [node for node in self.own if _field_values_in_nodes([node], name, kind)]
        return [one for one, nodes in self._named_nodes if self._lacks_field(nodes, name, kind, having)]

    def _lacks_field(self, nodes: Sequence[GraphNode], name: str, kind: Noun, having: Sequence[GraphNode]) -> bool:
        """Whether the records may have the field, read without it so far, since others of their kind have it."""
        kinds = self._kinds_with_owners(having)
        if not any(are_same_kind(node.kind, of) for node in nodes for of in kinds):
            return False
        if _field_values_in_nodes(self._graph.with_parts(nodes), name, kind):
            return False
        whole = {node.seen.fact.tool for node in having if not node.seen.is_row}
        return not any(node.seen.fact.tool in whole and not node.seen.is_row for node in nodes)

    def _kinds_with_owners(self, nodes: Iterable[GraphNode]) -> set[Noun]:
        """The kinds of the records, and of those of which nested objects without an own id are parts: the unit of its
        ``features``.
        """
        owners = ((node, None if node.ids else self._graph.enclosing_record(node)) for node in nodes)
        return {one.kind for pair in owners for one in pair if one}

    def _unread_references_at_level(self, name: str, place: int, kind: Noun = ()) -> list[RecordReference]:
        """The references, in records one step nearer, to records of the kinds that have the field at this level, and
        that were not read or were read without it: they are as near, and may have another value.
        """
        having = [node for node in self._levels[place] if _field_values_in_nodes([node], name, kind)]
        kinds = self._kinds_with_owners(having)
        before = self.own if place == 2 else self._levels[place - 1]
        told = (one for node in before for one in node.references)
        found: list[RecordReference] = []
        for one in told:
            if not (
                any(are_same_kind(one.noun, of) for of in kinds)
                and (one.must_exist or one.is_number or one.looks_like_id)
            ):
                continue
            if one.text in self.ids or self._graph.was_not_found(one) or self._refers_to_other_record(one):
                continue
            nodes = self._graph.find_referenced_records(one)
            if not nodes or self._lacks_field(nodes, name, kind, having):
                found.append(one)
        return found

    def value_of_kind(self, dotted: str, *, with_subject_links: bool = True) -> FieldValue:
        """The value of a field such as ``order.total``, in the nearest record of that kind; else of the field at that
        path in the nearest record that has one.
        """
        kind, name = _split_dotted(dotted)
        if given := [value for path, value in self._arguments if path == dotted]:
            return common_value(given)
        if any(are_same_kind(kind, one.noun) for one in self._named.unread):
            return UNKNOWN
        for place, level in enumerate(self._levels):
            if of_kind := [node for node in level if are_same_kind(kind, node.kind)]:
                found = _field_values_in_nodes(of_kind, name, kind)
                found += self._values_of_subject_links(of_kind, name, kind) if place == 1 and with_subject_links else []
                return common_value(found) if found and not self._may_differ_in_unread(name, place, kind) else UNKNOWN
        return self.value_in_records(dotted, with_subject_links=with_subject_links)

    @cached_property
    def _subject_links(self) -> list[tuple[RecordReference, list[GraphNode]]]:
        """The references, at most two steps from the records that the call is about, to records of a kind of which the
        call names another one: the called booking's guest, if a note in the call names a guest. Each comes with its
        records, none if nobody read them.
        """
        kinds = [node.kind for node in self._levels[1]]
        near, found = self._levels[0] if kinds else [], list[tuple[RecordReference, list[GraphNode]]]()
        for _ in range(_MOST_STEPS):
            told = [one for node in near for one in node.references if one.text not in self.ids]
            near = []
            for one, nodes in ((one, self._graph.find_referenced_records(one)) for one in told):
                linked = [node for node in nodes if any(are_same_kind(node.kind, kind) for kind in kinds)]
                is_unread = not nodes and one.must_exist and not self._graph.was_not_found(one)
                if linked or (is_unread and any(are_same_kind(one.noun, kind) for kind in kinds)):
                    found.append((one, self._graph.with_parts(linked)))
                near += [node for node in nodes if node not in linked and not self._is_of_called_kind(node)]
        return found

    def _values_of_subject_links(self, named: Sequence[GraphNode], name: str, of_kind: Noun = ()) -> list[FieldValue]:
        """The field's values in ``_subject_links`` of the kinds of the named records that have it; ``UNKNOWN`` for each
        that nobody read, or of which only a row without the field was read.

        A record that the call names does not stand in for the called record's own: an id in a note would pass a rule.
        """
        kinds = [node.kind for node in named if _field_values_in_nodes([node], name, of_kind)]
        values: list[FieldValue] = []
        for one, nodes in self._subject_links:
            if any(are_same_kind(of, kind) for of in (one.noun, *(node.kind for node in nodes)) for kind in kinds):
                is_known = bool(nodes) and not all(node.seen.is_row for node in nodes)
                values += _field_values_in_nodes(nodes, name, of_kind) or ([] if is_known else [UNKNOWN])
        return values

    def fields_by_linked_record(self, names: Sequence[str]) -> list[dict[str, FieldValue]]:
        """The fields, also as ``kind.field``, on which named records and those of ``_subject_links`` disagree: once as
        the named ones have them, and once for each of the others. A field without a single value is left out.
        """
        groups = [nodes for _, nodes in self._subject_links if nodes]
        split = [name for name in names if groups and self._is_known_without_subject_links(name)]
        return [self._fields_of_nodes(split, nodes) for nodes in (self._levels[1], *groups)] if split else []

    def _is_known_without_subject_links(self, name: str) -> bool:
        read_value = self.value_of_kind if "." in name else self.value_in_records
        return not isinstance(read_value(name, with_subject_links=False), UnknownValue)

    def _fields_of_nodes(self, names: Iterable[str], nodes: Sequence[GraphNode]) -> dict[str, FieldValue]:
        fields = dict[str, FieldValue]()
        for name in names:
            if found := _values_by_dotted_name(nodes, name):
                fields[name] = common_value(found)
        return fields

    def has_field(self, name: str) -> bool:
        """Whether the call, a record around it or one of the called kind has the field, with whatever value."""
        if find_values(name, self._arguments, self._named.kinds) or find_values_by_name(name, self._edited):
            return True
        return self._is_recorded(name)

    @cached_property
    def _records_of_unread_kinds(self) -> list[GraphNode]:
        """One record for each set of fields, of the kinds of which the call names a record that nobody read."""
        kinds = [one.noun for one in self._named.unread]
        return _one_per_kind_and_fields(
            node for node in self._graph.nodes if any(are_same_kind(kind, node.kind) for kind in kinds)
        )

    def _group_by_distance(self) -> list[list[GraphNode]]:
        """The records that the call names, in two groups, then those one step and two steps away."""
        subjects, others = (self._graph.with_parts(nodes) for nodes in (self._named.subjects, self._named.others))
        levels, near = [subjects, others], [*subjects, *others]
        about = [node for one in subjects for node in self._graph.referring_records(one)]
        for step in range(_MOST_STEPS):
            before = {id(node) for level in levels for node in level}
            plain = {id(node): node for one in near for node in self._graph.find_named_by_fields(one)}
            found = [*plain.values(), *(node for one in near for node in self._graph.linked_records(one))]
            found += about if step == 0 else []
            fresh = {id(node): node for node in found if id(node) not in before}
            near = [node for key, node in fresh.items() if self._may_give_field(node, key in plain, at_first=step == 0)]
            levels.append(self._graph.with_parts(near))
        return levels

    def _may_give_field(self, node: GraphNode, is_named_by_field: bool, *, at_first: bool) -> bool:
        """Whether a record that the call does not name may still give it a field."""
        if is_named_by_field and at_first:
            return not self._is_of_called_kind(node)
        return not self._belongs_to_other_record(node) and (is_named_by_field or not self.is_other_of_called_kind(node))

    def is_named_record(self, node: GraphNode) -> bool:
        """Whether the call names the record, or the record is a part of a named one."""
        return id(node) in self._own

    @property
    def records_around(self) -> list[GraphNode]:
        """The records that may give the call a field, the nearest first."""
        return [node for level in self._levels for node in level]

    @cached_property
    def records_beyond(self) -> list[GraphNode]:
        """At most forty records outside ``records_around`` that refer to a record around the call.

        Their fields may trigger a rule, and never keep one from triggering.
        """
        near = {id(node) for node in self.records_around}
        found = [node for one in (*self._levels[1], *self._levels[2]) for node in self._graph.referring_records(one)]
        free = {id(node): node for node in found if id(node) not in near and not self._belongs_to_other_record(node)}
        return [node for node in free.values() if not self.is_other_of_called_kind(node)][:_MOST_BEYOND]

    def is_record_around(self, node: GraphNode) -> bool:
        return any(node is one for one in self.records_around)

    @property
    def subject_kinds(self) -> tuple[Noun, ...]:
        """The kinds of the records that the call is about."""
        return self._named.kinds

    @property
    def unread_references(self) -> tuple[RecordReference, ...]:
        """The references in the call to records that nobody read."""
        return self._named.unread

    def references_to_read(self, names: Mapping[str, bool]) -> Iterator[RecordReference]:
        """Yields the references to records that should be read before a field is taken from records further away:
        records that the call names and only a list showed, and records that those refer to and nobody read.

        ``names``: the fields, also as ``kind.field``, each with whether a rule about the call's tool asks for it.
        """
        for name, is_about_tool in (
            names.items()
            if self._references_seen_only_in_lists
            or self._unread_references_in_named_records
            or self._unread_references_one_step_away
            or self._linked_references_seen_only_in_lists
            or self._subject_links
            else ()
        ):
            kind, field = _split_dotted(name)
            if kind and not self._is_kind_of_record(kind):  # an object within a record
                kind, field = (), name
            if find_values(name, self._arguments, self._named.kinds):
                continue
            listed = [one for one in self._references_seen_only_in_lists if not kind or are_same_kind(kind, one.noun)]
            if self._have_field(self.own, kind, field):
                yield from self._references_without_field(field, kind)
                if self._have_field(self._levels[1], kind, field):
                    yield from (one for one, nodes in self._subject_links if all(node.seen.is_row for node in nodes))
                if not self._have_field(self._levels[0], kind, field):
                    yield from listed
                continue
            is_further = is_about_tool or self._have_field(self._levels[3], kind, field)
            shown_at = next((place for place in (2, 3) if self._have_field(self._levels[place], kind, field)), None)
            yield from listed
            if shown_at is not None:
                yield from self._unread_references_at_level(field, shown_at, kind)
            if shown_at != 2 and is_further:
                unread = self._unread_references_in_named_records or (
                    self._unread_references_one_step_away if shown_at is None else []
                )
                linked = [*unread, *self._linked_references_seen_only_in_lists]
                of_kind = [one for one in linked if not kind or are_same_kind(kind, one.noun)]
                is_seen = any(are_same_kind(kind, node.kind) for node in self.records_around)
                # else any may lead to one of that kind
                yield from of_kind if of_kind or listed or is_seen else [*self._references_seen_only_in_lists, *linked]

    def _have_field(self, nodes: Sequence[GraphNode], kind: Noun, field: str) -> bool:
        """Whether one of the records, of this kind if one is given, has the field. Indexed once for each list."""
        is_deep = "." in field
        if (id(nodes), is_deep) not in self._fields:
            found: dict[Noun, dict[str, FieldValue]] = {}
            for node in nodes:
                within = nested_fields(node.record) if is_deep else ()
                found.setdefault(node.kind, {}).update([*within, *fields_of_record(node.record)])
            self._fields[id(nodes), is_deep] = found
        of_kind = (
            (of, fields)
            for of, fields in self._fields[id(nodes), is_deep].items()
            if not kind or are_same_kind(kind, of)
        )
        return any(find_values(field, [*fields.items()], (of,)) for of, fields in of_kind)

    def _is_kind_of_record(self, kind: Noun) -> bool:
        """Whether a word is known as a kind: a read shows it, or the call or a record around it names one."""
        near = (one for node in (*self.own, *self._levels[2]) for one in node.references)
        nouns = (*self._named.kinds, *(one.noun for one in (*self._references, *near)))
        return self._graph.is_known_kind(kind) or any(are_same_kind(kind, noun) for noun in nouns)

    @cached_property
    def _named_nodes(self) -> list[tuple[RecordReference, list[GraphNode]]]:
        """The references in the call to records that were read, with these records."""
        called = ((one, _find_referenced_records(self._graph, one, self._about)) for one in self._references)
        own = ((one, [node for node in meant if self.is_named_record(node)]) for one, meant in called)
        return [(one, nodes) for one, nodes in own if nodes]

    @cached_property
    def _references_seen_only_in_lists(self) -> list[RecordReference]:
        """The call's references to records that only a list showed, or not every declared read."""
        named = self._named_nodes
        return [
            one
            for one, nodes in named
            if all(node.seen.is_row for node in nodes) or self._lacks_declared_read(one, nodes)
        ]

    @cached_property
    def _unread_references_in_named_records(self) -> list[RecordReference]:
        """The references in named records to records of other kinds that not every declared read has shown."""
        return self._unread_references_in(self.own)

    @cached_property
    def _unread_references_one_step_away(self) -> list[RecordReference]:
        """The references, in records one step away, to records of other kinds that not every declared read has shown:
        the customer of a disconnection order's contract.
        """
        return self._unread_references_in(self._levels[2])

    @cached_property
    def _linked_references_seen_only_in_lists(self) -> list[RecordReference]:
        """The references, in named records and those one step away, to records of which only a row was seen."""
        found = self._find_references_to_others([*self.own, *self._levels[2]])
        return [one for one, meant in found if meant and all(node.seen.is_row for node in meant)]

    def _unread_references_in(self, nodes: Iterable[GraphNode]) -> list[RecordReference]:
        found = self._find_references_to_others(nodes)
        return [one for one, meant in found if not meant or self._lacks_declared_read(one, meant)]

    def _find_references_to_others(
        self, nodes: Iterable[GraphNode]
    ) -> Iterator[tuple[RecordReference, list[GraphNode]]]:
        """Yields the references to records of other kinds than the called one, with the records that were read."""
        told = (one for node in nodes for one in node.references if one.must_exist)
        others = (one for one in told if not any(are_same_kind(kind, one.noun) for kind in self._named.kinds))
        yield from ((one, self._graph.find_referenced_records(one)) for one in others)

    def _lacks_declared_read(self, reference: RecordReference, nodes: Sequence[GraphNode]) -> bool:
        """Whether a read that is declared to show the record was not made."""
        made = {node.seen.fact.tool for node in nodes}
        return any(
            are_same_kind(kind, reference.noun) and tool not in made for tool, kind in self._graph.keys.kinds_by_read
        )

    def names_read_record(self, argument: str, value: Json) -> bool:
        """Whether the argument names a record that was read."""
        found = reference_of(argument, value, self._about, self._graph.keys)
        return found is not None and any(map(self.is_named_record, self._graph.find_referenced_records(found)))

    def is_field_of_records(self, name: str) -> bool:
        """Whether the call or any record that was read has a field of that name."""
        return bool(find_values(name, self._arguments, ())) or self._graph.has_field(name)

    @property
    def names_unread_record(self) -> bool:
        """Whether the call is about a record that nobody read."""
        return bool(self._named.unread_subjects)

    def records_at(self, ref: str, path: str) -> list[GraphNode]:
        """The records of a read that contain the values at a path, which is written as in a calculation."""
        of_read = [node for node in self._graph.nodes if node.seen.fact.ref == ref]
        try:
            found = select_cells(of_read[0].seen.fact.result, path).cells if of_read else []
        except NoSuchPath:
            return []
        texts = {dumps(cell.row) for cell in found}
        return [node for node in of_read if node.text in texts]

    def is_other_of_called_kind(self, node: GraphNode) -> bool:
        """Whether the record is another one of the called kind, by its name or by the pattern of its id."""
        if self.is_named_record(node):
            return False
        return self._is_of_called_kind(node) or not node.id_patterns.isdisjoint(self._id_patterns)

    def _is_of_called_kind(self, node: GraphNode) -> bool:
        is_own = self.is_named_record(node) or self._is_only_part_of_named(node)
        return not is_own and any(are_same_kind(kind, node.kind) for kind in self._named.kinds)

    def _is_only_part_of_named(self, node: GraphNode) -> bool:
        """Whether the record has no id and is the only one under its name in a named record: a lease's ``deposit``."""
        outer = self._graph.enclosing_record(node)
        return not node.ids and node.seen.rows is None and outer is not None and self.is_named_record(outer)

    def _belongs_to_other_record(self, node: GraphNode) -> bool:
        """Whether the record is another one of the called kind, or belongs to one."""
        if self.is_named_record(node):
            return False
        if id(node) not in self._belongs_elsewhere:
            told = (*node.references, *node.read_arguments)
            elsewhere = self._is_of_called_kind(node) or any(map(self._refers_to_other_record, told))
            outer = self._graph.enclosing_record(node)
            inside = (
                outer is not None
                and not self.is_named_record(outer)
                and (self._belongs_to_other_record(outer) or self.is_other_of_called_kind(outer))
            )
            self._belongs_elsewhere[id(node)] = elsewhere or inside
        return self._belongs_elsewhere[id(node)]

    def _refers_to_other_record(self, reference: RecordReference) -> bool:
        """Whether the reference is to a record of the called kind that the call does not name."""
        if reference.text in self.ids:
            return False
        if reference.must_exist and any(are_same_kind(kind, reference.noun) for kind in self._named.kinds):
            return True
        return reference.looks_like_id and id_pattern_of(reference.text) in self._id_patterns


def _split_dotted(name: str) -> tuple[Noun, str]:
    """The kind and the field of ``order.total``; no kind and the name, where it has no dot."""
    head, dot, field = name.partition(".")
    return (singular_words(head), field) if dot else ((), name)


def _values_by_dotted_name(nodes: Sequence[GraphNode], name: str) -> list[FieldValue]:
    kind, field = _split_dotted(name)
    return _field_values_in_nodes(nodes, field, kind) or (_field_values_in_nodes(nodes, name) if kind else [])


def _field_values_in_nodes(nodes: Iterable[GraphNode], name: str, kind: Noun = ()) -> list[FieldValue]:
    """The values of the field in the records, of this kind if one is given. A path leads into the objects within."""
    of_kind = (one for one in nodes if not kind or are_same_kind(kind, one.kind))
    return [value for node in of_kind for value in _values_in_node(node, name)]


def _values_in_node(node: GraphNode, name: str) -> list[FieldValue]:
    if "." not in name:
        return find_values(name, fields_of_record(node.record), (node.kind,))
    within = ((_words_of_path(path), value) for path, value in nested_fields(node.record))
    return [value for words, value in within if words == _words_of_path(name)]


def _words_of_path(path: str) -> list[Noun]:
    return [*map(singular_words, path.split("."))]


def _one_per_kind_and_fields(nodes: Iterable[GraphNode]) -> list[GraphNode]:
    """One record for each kind and set of fields, which is enough to know the fields of such records."""
    return [*{(node.kind, *node.record): node for node in nodes}.values()]


def _prefer_records_named_by_own_id(found: Sequence[tuple[RecordReference, list[GraphNode]]]) -> list[GraphNode]:
    """The records that are named. Of a kind of which one is named by its own identifier, only those."""
    plain = {
        id(node): node for one, nodes in found for node in nodes if one.is_id and are_same_kind(one.noun, node.kind)
    }
    every = {id(node): node for _, nodes in found for node in nodes}
    settled = [node.kind for node in plain.values()]
    return [
        node
        for key, node in every.items()
        if key in plain or not any(are_same_kind(node.kind, kind) for kind in settled)
    ]


def set_field(fields: dict[str, Json], dotted: str, value: Json) -> None:
    """Sets a field by its name; a ``kind.field`` is set within the object of the name ``kind``."""
    head, _, name = dotted.partition(".")
    inner = fields.get(head)
    within = {**inner} if isinstance(inner, dict) else {}
    if name:
        set_field(within, name, value)
    fields[head] = within if name else value
