"""Binds a rule's field to its value for a planned call: from the call, from the records that it names, or unknown.

A field binds to the call's argument; else to a record that the call names; else to the nearest record of another kind
that those refer to, at most two steps away. It never binds to a record of the called kind that the call does not name,
nor to one that belongs to such a record. Where records disagree, or one was not read, the field is unknown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache, partial
from itertools import chain
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
from services.executor.core.records.references import set_at_path
from services.executor.core.records.seen_records import (
    Noun,
    RecordReference,
    are_same_kind,
    get_shape_of_id,
    is_same_kind_as_any,
    makes_record,
    may_describe_request,
    name_of_kind,
    noun_of_tool,
    reference_of,
    references_in,
    singular_words,
)
from services.executor.core.session.values import Fact
from services.executor.core.tools.record_tree import NO_RECORD_KEYS, NoSuchPath, RecordKeys
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object

_Matches = Iterable[tuple[RecordReference, list[GraphNode]]]  # references, each with the read records that it names
_MOST_STEPS_FROM_CALLED_RECORD = 2  # from a record that the call names to one that may give it a field
_MOST_UNLINKED_RECORDS = 40


class NamedRecords(NamedTuple):
    """The records that a call names. ``unread_*``: references to records that nobody read.

    ``subjects``: those of the kind that the tool is about; all, if none, read or unread, is of that kind. ``others``:
    the rest. ``kinds``: of the subjects, and what the tool is about. ``matches``: every reference in the call, with the
    read records that it may name.
    """

    subjects: tuple[GraphNode, ...]
    others: tuple[GraphNode, ...]
    unread_subjects: tuple[RecordReference, ...]
    unread_others: tuple[RecordReference, ...]
    kinds: tuple[Noun, ...]
    matches: Sequence[tuple[RecordReference, list[GraphNode]]]

    @property
    def mentioned(self) -> list[GraphNode]:
        """Every record whose identifier occurs anywhere in the call."""
        return [*dict.fromkeys(node for _, nodes in self.matches for node in nodes)]

    @property
    def records(self) -> tuple[GraphNode, ...]:
        return (*self.subjects, *self.others)

    @property
    def unread(self) -> tuple[RecordReference, ...]:
        return (*self.unread_subjects, *self.unread_others)

    @property
    def ids(self) -> frozenset[str]:
        """The ids and numbers of the named records, and the texts by which the call names records that nobody read."""
        read_names = (name for node in self.records for names in node.names[:2] for name in names)
        return frozenset((*read_names, *(reference.text for reference in self.unread)))


class BoundFields(NamedTuple):
    """The fields of a call as rules see them: ``{name: value}``, and ``{kind: {field: value}}`` for a ``kind.field``.

    ``unknown``: names that rules ask for and that the call or its records have, but with no single value. ``recorded``:
    what the records say of names without a dot, regardless of the arguments. ``mentioned_records``: each record that
    the call mentions, after ``{name: argument}`` for each argument that is an alias of a recorded field.
    ``distant_records``: of each record further away, such as a screening of the order's customer, the fields that
    nothing nearer has. Values in these two may trigger a rule, and never keep one from triggering.
    """

    fields: Mapping[str, Json]
    unknown: tuple[str, ...]
    recorded: Mapping[str, Json]
    mentioned_records: tuple[JsonObject, ...]
    distant_records: tuple[JsonObject, ...]


def build_call_view(
    tool: str, arguments: JsonObject, facts: Sequence[Fact], keys: RecordKeys = NO_RECORD_KEYS
) -> "CallView":
    """The records around a call of this tool. Reads before planning, verdicts and rule requests all use it."""
    return _build_cached_view(build_record_graph(tuple(facts), keys), tool, dumps(arguments))


def refs_of_reads_around(
    call: PlannedCall, facts: Sequence[Fact], keys: RecordKeys, made: Iterable[PlannedCall] | None = None
) -> frozenset[str]:
    """The references of the reads of single records on which rules about the call depend.

    Reads of lists are left out, since a list may have lost the record since.

    ``made``: earlier calls. If they are given, the result is empty unless one of them concerns a record around the
    call, or one that such a record refers to: a change of a customer may change the customer's mandates.
    """
    nearby_nodes = _find_nodes_around(call, facts, keys)
    if made is not None and not any(_concerns_nearby_record(earlier, nearby_nodes, facts, keys) for earlier in made):
        return frozenset()
    return frozenset(node.seen.fact.ref for node in nearby_nodes if node.seen.is_of_single_answer)


def _concerns_nearby_record(
    call: PlannedCall, nearby_nodes: Set[GraphNode], facts: Sequence[Fact], keys: RecordKeys
) -> bool:
    """Whether an earlier call shares a record with those around a later call (``nearby_nodes``), or names a
    record to which one of these refers.
    """
    if not nearby_nodes.isdisjoint(_find_nodes_around(call, facts, keys)):
        return True
    ids = build_call_view(call.tool, call.arguments, facts, keys).ids
    return any(reference.must_exist and reference.text in ids for reference in _references_of(nearby_nodes))


def _find_nodes_around(call: PlannedCall, facts: Sequence[Fact], keys: RecordKeys) -> frozenset[GraphNode]:
    """The records around a call, those that it mentions and those beyond."""
    view = build_call_view(call.tool, call.arguments, facts, keys)
    return frozenset((*view.records_around, *view.mentioned, *view.more_distant_records))


def bind_fields(view: "CallView", names: Iterable[str] = ()) -> BoundFields:
    """The fields of a call. ``names``: those that rules ask for, also in the form ``kind.field``."""
    asked_names = [*dict.fromkeys(names)]
    plain_names = (*view.field_names, *(name for name in asked_names if "." not in name))
    values = {name: view.find_value(name) for name in plain_names}
    fields = {name: value for name, value in values.items() if not isinstance(value, UnknownValue)}
    recorded = {name: value for name in values if not isinstance(value := view.value_in_records(name), UnknownValue)}
    for dotted in (name for name in asked_names if "." in name):
        values[dotted] = value = view.value_of_dotted_name(dotted)
        if not isinstance(value, UnknownValue):
            fields = set_at_path(fields, dotted.split("."), value)
    unknown = tuple(name for name in asked_names if isinstance(values[name], UnknownValue) and view.has_field(name))
    alias_arguments = ((name, value) for name in values for value in view.values_of_alias_arguments(name))
    aliases = [{name: value} for name, value in alias_arguments if not isinstance(value, UnknownValue)]
    mentioned = (*aliases, *(node.record for node in view.mentioned))
    return BoundFields(fields, unknown, recorded, mentioned, _list_distant_records(view))


def _list_distant_records(view: "CallView") -> tuple[JsonObject, ...]:
    """The records beyond those around the call, each with only the fields that neither the call nor a record around it
    or of its kind has; of equal ones only one, and none without such a field.
    """
    distant_records: dict[str, JsonObject] = {}
    for node in view.more_distant_records:
        fields = cast(
            JsonObject, {key: value for key, value in fields_of_record(node.record) if not view.has_field(key)}
        )
        if fields:
            distant_records[dumps(fields)] = fields
    return tuple(distant_records.values())


@lru_cache(maxsize=8)
def _build_cached_view(graph: RecordGraph, tool: str, arguments_json: str) -> "CallView":
    return CallView(graph, tool, loads_object(arguments_json))


def _find_named_records(tool: str, arguments: JsonObject, graph: RecordGraph) -> NamedRecords:
    """The records that a call names, by any argument.

    What the call makes does not count as unread; nor, if an id leads to a read record, does a plain number
    (``new_salary``), unless its field is named after what the tool is about.
    """
    about = noun_of_tool(tool, graph.keys)
    references = [*references_in(arguments, about, graph.keys)]
    matches = [(reference, _find_referenced_records(graph, reference, about)) for reference in references]
    named_nodes = _prefer_records_named_by_own_id(matches)
    read = [reference for reference, nodes in matches if nodes]
    unread = [reference for reference, nodes in matches if not nodes]
    if any(reference.is_id for reference in read):  # then a mere number names no record: ``new_salary``
        unread = [named for named in unread if named.is_id or not named.is_number or named.noun == about]
    if makes_record(tool):
        unread = [reference for reference in unread if not are_same_kind(reference.noun, about)]
    unread = [reference for reference in unread if _may_be_unread_record(reference, about, read, graph)]
    if not is_same_kind_as_any(about, (reference.noun for reference in references)):
        named_nodes += _find_by_id_of_other_record(references, about, graph)
    subjects = [node for node in named_nodes if are_same_kind(about, node.kind)]
    unread_subjects = [reference for reference in unread if are_same_kind(about, reference.noun)]
    if not subjects and not unread_subjects:
        subjects, unread_subjects = named_nodes, unread
    kinds = (*(node.kind for node in subjects), *(reference.noun for reference in unread_subjects), about)
    return NamedRecords(
        tuple(subjects),
        tuple(node for node in named_nodes if node not in subjects),
        tuple(unread_subjects),
        tuple(reference for reference in unread if reference not in unread_subjects),
        tuple(dict.fromkeys(kind for kind in kinds if kind)),
        matches,
    )


def _may_be_unread_record(
    reference: RecordReference, about: Noun, read: Sequence[RecordReference], graph: RecordGraph
) -> bool:
    """Whether a call's reference that leads to no read record names an unread one. ``read``: those that lead to one.

    Yes, if the value can hardly be anything else, is an id of the same kind as one in ``read``, or has the form of an
    id there (``C-#``). No, if it describes the request (``tenant_id``). No, if ``read`` has a record of its kind, and a
    read by this key found nothing: then the call gives that record a new key.
    """
    if may_describe_request(reference.noun) and not are_same_kind(reference.noun, about):
        return False
    read_nouns = {other.noun for other in read}
    key_of_kind = (name_of_kind(reference.noun), reference.key, reference.text)
    if reference.noun in read_nouns and key_of_kind in graph.keys_not_found:
        return False
    if reference.must_exist or (reference.is_id and reference.noun and reference.noun in read_nouns):
        return True
    id_pattern = get_shape_of_id(reference.text)
    return id_pattern != "" and any(get_shape_of_id(other.text) == id_pattern for other in read)


def _find_by_id_of_other_record(
    references: Iterable[RecordReference], about: Noun, graph: RecordGraph
) -> list[GraphNode]:
    """Records of the kind that the tool is about that a read showed alone, asked by an id that the call has, too: the
    deposit that ``get_deposit`` showed by ``lease_id``, for a call with the lease's id.
    """
    keys = {(reference.noun, reference.text) for reference in references if reference.is_id}
    nodes = (node for node in graph.nodes if len(node.read_arguments) == 1 and node.seen.is_only_record)
    of_kind = (node for node in nodes if are_same_kind(about, node.kind))
    return [node for node in of_kind if (node.read_arguments[0].noun, node.read_arguments[0].text) in keys]


def _find_referenced_records(graph: RecordGraph, reference: RecordReference, about: Noun) -> list[GraphNode]:
    """The records that a reference names.

    If it is of the kind ``about``, without records of other kinds that only a number identifies
    (``is_named_by_number``).
    """
    nodes = graph.find_referenced_records(reference)
    if not are_same_kind(reference.noun, about):
        return nodes
    return [node for node in nodes if not node.is_named_by_number or are_same_kind(node.kind, about)]


class CallView:
    """The records around one call, the nearest first, and the values of their fields.

    ``own_records``: the named records and their parts. ``records_around``: those that may give the call a field, the
    nearest first. ``_levels``: the subjects, the other named records, those one step away, those two steps away; a
    ``distance`` is an index of it. The called kinds are those of the subjects.
    """

    def __init__(self, graph: RecordGraph, tool: str, arguments: JsonObject) -> None:
        self._graph = graph
        self._about = noun_of_tool(tool, graph.keys)
        self.named = _find_named_records(tool, arguments, graph)
        self._arguments, self._edited = fields_of_arguments(arguments), [*edited_fields(arguments)]
        self._plain_arguments = fields_of_record(arguments)
        self._in_other_shapes = [*fields_in_other_shapes(arguments)]
        id_patterns = {get_shape_of_id(reference.text) for reference in self.named.unread_subjects}
        self._id_patterns = id_patterns.union(*(node.id_patterns for node in self.named.subjects)) - {""}
        self.ids = self.named.ids
        self._values_in_records: dict[tuple[str, bool], FieldValue] = {}
        self._belongs_elsewhere: dict[GraphNode, bool] = {}
        # Of a list of records, by its ``id`` and whether with nested fields; then by the records' kind.
        self._fields: dict[tuple[int, bool], dict[Noun, dict[str, FieldValue]]] = {}
        self.own_records = graph.add_parts(self.named.records)
        self._own_set = frozenset(self.own_records)
        self.mentioned = graph.add_parts(self.named.mentioned)
        self._levels = self._group_by_distance()
        self.records_around = [node for level in self._levels for node in level]
        self._siblings = _keep_one_per_field_set(node for node in graph.nodes if self.is_other_of_called_kind(node))

    @cached_property
    def field_names(self) -> list[str]:
        """The name of every field of the call and of the records around it."""
        names = {key for key, _ in self._arguments if "." not in key}
        for node in self.records_around:
            names.update(key for key, _ in fields_of_record(node.record))
        return sorted(names)

    def find_value(self, name: str) -> FieldValue:
        """The value of the field; ``UNKNOWN`` if there is none, or more than one.

        A field of a record that the call names goes before an argument that is only an alias of the field's name: to
        pay an ``amount`` of an invoice does not change its ``total``.
        """
        argument_values = find_values(name, self._arguments, self.named.kinds)
        if argument_values and not self.values_of_alias_arguments(name):
            return common_value(argument_values)
        alternatives = self.present_and_edited_values(name)
        return common_value(alternatives) if alternatives else self.value_in_records(name)

    def present_and_edited_values(self, name: str) -> list[FieldValue]:
        """``[present value, new values]`` of a field that the call edits; the present one may be ``UNKNOWN``, and is
        left out if all records were read and none has the field. Empty if the call edits no such field, or has an
        argument of that name.
        """
        edited_values = find_values_by_name(name, self._edited)
        if not edited_values or find_values(name, self._arguments, self.named.kinds):
            return []
        recorded_value = self.value_in_records(name)
        is_new = recorded_value is UNKNOWN and not self.named.unread and not self._is_recorded(name)
        return edited_values if is_new else [recorded_value, *edited_values]

    def find_nested_value_of_field(self, name: str) -> Json:
        """The value of the field ``name`` where an argument nests it: 9 for ``amount_value`` and
        ``{"amount": {"value": 9}}``; of several, the one farthest from 0. None if no argument does, or if one has the
        field's own name.
        """
        if find_values_by_name(name, self._plain_arguments, self.named.kinds):
            return None
        stated_values = find_values_by_name(name, self._in_other_shapes, self.named.kinds)
        known_values = [value for value in stated_values if not isinstance(value, UnknownValue)]
        return max(known_values, key=lambda figure: abs(read_figure(figure) or 0), default=None)

    def _is_recorded(self, name: str) -> bool:
        """Whether a record around the call or one of the called kind has the field, with whatever value."""
        nodes = [*self.records_around, *self._siblings, *self._records_of_unread_kinds]
        return bool(_values_by_dotted_name(nodes, name))

    def values_of_alias_arguments(self, name: str) -> list[FieldValue]:
        """The values of arguments that are only aliases of the field: of ``amount`` for the ``total`` of a named
        invoice. Empty if the call has an argument of the field's name, or no named record has the field under its own.
        """
        if find_values_by_name(name, self._arguments, self.named.kinds):
            return []
        values_of_own = (
            find_values_by_name(name, fields_of_record(node.record), (node.kind,)) for node in self.own_records
        )
        return find_values(name, self._arguments) if any(values_of_own) else []

    def value_in_records(self, name: str, *, with_subject_links: bool = True) -> FieldValue:
        """The value of the field in the records, regardless of the arguments; ``UNKNOWN`` if there is no single one.

        ``with_subject_links``: whether ``_subject_links`` have to agree with a record that the call names.
        """
        key = name, with_subject_links
        if key not in self._values_in_records:
            self._values_in_records[key] = self._find_value_in_records(name, with_subject_links=with_subject_links)
        return self._values_in_records[key]

    def _find_value_in_records(self, name: str, *, with_subject_links: bool) -> FieldValue:
        if self.named.unread_subjects:
            return UNKNOWN
        for distance, level in enumerate(self._levels):
            if distance == 1 and _field_values_in_nodes([*self._siblings, *self._records_of_unread_kinds], name):
                return UNKNOWN  # its own kind has the field, so nobody else's is meant
            if distance >= 2 and self._has_argument_in_minor_units(name):
                return UNKNOWN
            if values := _field_values_in_nodes(level, name):
                values += (
                    self._find_values_of_subject_links(level, name) if distance == 1 and with_subject_links else []
                )
                return UNKNOWN if self._may_differ_in_unread(name, distance) else common_value(values)
            first = _split_dotted(name)[0]
            if first and any(singular_words(key) == first for node in level for key in node.record):
                return UNKNOWN  # a record as near has the path's first step, as a list or null: none further is meant
        return UNKNOWN

    def _has_argument_in_minor_units(self, name: str) -> bool:
        """Whether the call itself gives the amount in cents, so that no amount from further away is meant."""
        words = singular_words(name)
        return any(words == words_without_minor_unit(key) != singular_words(key) for key, _ in self._arguments)

    def _may_differ_in_unread(self, name: str, distance: int, kind: Noun = ()) -> bool:
        """Whether a record as near as those that have the field was not fully read, and so may have another value."""
        if distance >= 2:
            return bool(self._find_unread_references_at_level(name, distance, kind))
        is_other_unread = distance == 1 and not kind and bool(self.named.unread_others)
        return is_other_unread or bool(self._find_references_with_unseen_field(name, kind))

    def _find_references_with_unseen_field(self, name: str, kind: Noun = ()) -> list[RecordReference]:
        """The call's references to records that were seen without the field, and may have it, as a named record of
        their kind does. Left out are those read singly by the tool that showed the field there.
        """
        showing = _nodes_with_field(self.own_records, name, kind)
        return [
            reference
            for reference, nodes in self._named_nodes
            if self._may_have_unseen_field(nodes, name, kind, showing)
        ]

    def _may_have_unseen_field(
        self, nodes: Sequence[GraphNode], name: str, kind: Noun, showing: Sequence[GraphNode]
    ) -> bool:
        """Whether records that were seen without the field may have it, as others of their kind (``showing``) do.

        No, if one was read singly by a tool that showed the field in ``showing``: it would have shown it here, too.
        """
        kinds = self._kinds_with_owners(showing)
        if not any(is_same_kind_as_any(node.kind, kinds) for node in nodes):
            return False
        if _field_values_in_nodes(self._graph.add_parts(nodes), name, kind):
            return False
        full_read_tools = {node.seen.fact.tool for node in showing if not node.seen.is_row}
        return not any(node.seen.fact.tool in full_read_tools and not node.seen.is_row for node in nodes)

    def _kinds_with_owners(self, nodes: Iterable[GraphNode]) -> set[Noun]:
        """The kinds of the records, and of the records around those that have no id of their own."""
        owners = ((node, None if node.ids else self._graph.enclosing_record(node)) for node in nodes)
        return {owner.kind for pair in owners for owner in pair if owner}

    def _find_unread_references_at_level(self, name: str, distance: int, kind: Noun = ()) -> list[RecordReference]:
        """The references to records of this level that may have another value of the field.

        They stand in records one step nearer, are to a kind that has the field at this level, and their record was not
        read, or read without it.
        """
        showing = _nodes_with_field(self._levels[distance], name, kind)
        kinds = self._kinds_with_owners(showing)
        unread_references: list[RecordReference] = []
        for reference in _references_of(self.own_records if distance == 2 else self._levels[distance - 1]):
            may_name_record = reference.must_exist or reference.is_number or reference.looks_like_id
            if not may_name_record or not is_same_kind_as_any(reference.noun, kinds) or reference.text in self.ids:
                continue
            if self._graph.was_not_found(reference) or self._refers_to_other_record(reference):
                continue
            nodes = self._graph.find_referenced_records(reference)
            if not nodes or self._may_have_unseen_field(nodes, name, kind, showing):
                unread_references.append(reference)
        return unread_references

    def value_of_dotted_name(self, dotted: str, *, with_subject_links: bool = True) -> FieldValue:
        """The value of a field such as ``order.total``: of the argument at that path; else in the nearest records of
        the kind; else at that path in a record. ``UNKNOWN`` if there is no single value, or if the call names an unread
        record of the kind. ``with_subject_links`` as in ``value_in_records``.
        """
        kind, name = _split_dotted(dotted)
        if argument_values := [value for path, value in self._arguments if path == dotted]:
            return common_value(argument_values)
        if is_same_kind_as_any(kind, (reference.noun for reference in self.named.unread)):
            return UNKNOWN
        for distance, level in enumerate(self._levels):
            if nodes := [node for node in level if are_same_kind(kind, node.kind)]:
                values = _field_values_in_nodes(nodes, name, kind)
                if distance == 1 and with_subject_links:
                    values += self._find_values_of_subject_links(nodes, name, kind)
                is_unknown = not values or self._may_differ_in_unread(name, distance, kind)
                return UNKNOWN if is_unknown else common_value(values)
        return self.value_in_records(dotted, with_subject_links=with_subject_links)

    @cached_property
    def _subject_links(self) -> list[tuple[RecordReference, list[GraphNode]]]:
        """The called records' own links to a kind of which the call names another record: a booking's guest, where the
        call has the id of some other guest in its note. Each is ``(reference, records)``, at most two steps from the
        subjects; the records are empty if nobody read them.
        """
        kinds = [node.kind for node in self._levels[1]]
        nodes_to_follow = self._levels[0] if kinds else []
        links = list[tuple[RecordReference, list[GraphNode]]]()
        for _ in range(_MOST_STEPS_FROM_CALLED_RECORD):
            references = [reference for reference in _references_of(nodes_to_follow) if reference.text not in self.ids]
            nodes_to_follow = []
            for reference in references:
                nodes = self._graph.find_referenced_records(reference)
                linked_nodes = [node for node in nodes if is_same_kind_as_any(node.kind, kinds)]
                is_unread = not nodes and reference.must_exist and not self._graph.was_not_found(reference)
                if linked_nodes or (is_unread and is_same_kind_as_any(reference.noun, kinds)):
                    links.append((reference, self._graph.add_parts(linked_nodes)))
                others = (node for node in nodes if node not in linked_nodes)
                nodes_to_follow += [node for node in others if not self._is_other_by_kind(node)]
        return links

    def _find_values_of_subject_links(
        self, level: Sequence[GraphNode], name: str, of_kind: Noun = ()
    ) -> list[FieldValue]:
        """The field's values in ``_subject_links``, to be compared with those in ``level``: an id in a note would else
        pass a rule. If ``level`` has the ``vip`` of the guest in a note, the result has that of the booking's guest.

        Links to a kind of which no record in ``level`` has the field do not count. A link gives ``UNKNOWN`` if nobody
        read its record, or if only a row without the field was read. ``of_kind``: empty for any kind.
        """
        kinds = [node.kind for node in _nodes_with_field(level, name, of_kind)]
        values: list[FieldValue] = []
        for reference, nodes in self._subject_links:
            linked_kinds = (reference.noun, *(node.kind for node in nodes))
            if any(is_same_kind_as_any(linked_kind, kinds) for linked_kind in linked_kinds):
                linked_values = _field_values_in_nodes(nodes, name, of_kind)
                values += [UNKNOWN] if not linked_values and _are_only_rows(nodes) else linked_values
        return values

    def fields_by_linked_record(self, names: Sequence[str]) -> list[dict[str, FieldValue]]:
        """The values of unknown fields, one dict for each record that may be meant: ``[{"vip": True}, {"vip": False}]``
        if the guest in a booking's note is a VIP, and the booking's own guest is not.

        The first dict is of the named records that are no subjects; each further one is of a link in ``_subject_links``
        that was read. ``names``: unknown fields, also as ``kind.field``; those count that would be known without the
        links. The list is empty if none counts or no link was read. A dict lacks the names that its records lack, and
        has ``UNKNOWN`` where they differ.
        """
        groups = [nodes for _, nodes in self._subject_links if nodes]
        differing_names = [name for name in names if groups and self._is_field_known_without_subject_links(name)]
        if not differing_names:
            return []
        fields_by_record: list[dict[str, FieldValue]] = []
        for nodes in (self._levels[1], *groups):
            values_by_name = ((name, _values_by_dotted_name(nodes, name)) for name in differing_names)
            fields_by_record.append({name: common_value(values) for name, values in values_by_name if values})
        return fields_by_record

    def _is_field_known_without_subject_links(self, name: str) -> bool:
        read_value = self.value_of_dotted_name if "." in name else self.value_in_records
        return not isinstance(read_value(name, with_subject_links=False), UnknownValue)

    def has_field(self, name: str) -> bool:
        """Whether the call, a record around it or one of the called kind has the field, with whatever value."""
        if find_values(name, self._arguments, self.named.kinds) or find_values_by_name(name, self._edited):
            return True
        return self._is_recorded(name)

    @cached_property
    def _records_of_unread_kinds(self) -> list[GraphNode]:
        """Of each kind of which the call names a record that nobody read, one other record for each set of fields."""
        kinds = [reference.noun for reference in self.named.unread]
        return _keep_one_per_field_set(node for node in self._graph.nodes if is_same_kind_as_any(node.kind, kinds))

    def _group_by_distance(self) -> list[list[GraphNode]]:
        """The ``_levels``, each with its records' parts.

        A step leads to what a record refers to, contains or stands in; the first step also to what refers to a subject.
        """
        subjects, others = (self._graph.add_parts(nodes) for nodes in (self.named.subjects, self.named.others))
        levels, nearest_nodes = [subjects, others], [*subjects, *others]
        nodes_about_subjects = [node for subject in subjects for node in self._graph.referring_records(subject)]
        for step in range(_MOST_STEPS_FROM_CALLED_RECORD):
            named_by_fields = dict.fromkeys(
                node for near in nearest_nodes for node in self._graph.find_records_named_by_fields(near)
            )
            linked_nodes = (node for near in nearest_nodes for node in self._graph.linked_records(near))
            next_nodes = [*named_by_fields, *linked_nodes, *(nodes_about_subjects if step == 0 else ())]
            grouped = {*chain(*levels)}
            new_nodes = [node for node in dict.fromkeys(next_nodes) if node not in grouped]
            may_give_field = partial(self._may_give_field, named_by_fields.keys(), is_first_step=step == 0)
            nearest_nodes = [*filter(may_give_field, new_nodes)]
            levels.append(self._graph.add_parts(nearest_nodes))
        return levels

    def _may_give_field(self, named_by_fields: Set[GraphNode], node: GraphNode, *, is_first_step: bool) -> bool:
        """Whether a record that the call does not name may give it a field: not if it is another record of the called
        kind, or belongs to one. ``named_by_fields``: records that a field of a nearer record names; in the first step
        these may belong to another record.
        """
        is_named_by_field = node in named_by_fields
        if is_named_by_field and is_first_step:
            return not self._is_other_by_kind(node)
        return not self._belongs_to_other_record(node) and (is_named_by_field or not self.is_other_of_called_kind(node))

    def is_named_record(self, node: GraphNode) -> bool:
        """Whether the call names the record, or the record is a part of a named one."""
        return node in self._own_set

    @cached_property
    def more_distant_records(self) -> list[GraphNode]:
        """At most forty records outside ``records_around``, none of the called kind, that refer to a record one step
        away or to a named one that is no subject. Their fields may trigger a rule, and never keep one from triggering.
        """
        nearest, around = (*self._levels[1], *self._levels[2]), {*self.records_around}
        nodes = dict.fromkeys(node for near in nearest for node in self._graph.referring_records(near))
        free_nodes = (node for node in nodes if node not in around and not self._belongs_to_other_record(node))
        return [node for node in free_nodes if not self.is_other_of_called_kind(node)][:_MOST_UNLINKED_RECORDS]

    def references_to_read(self, names: Mapping[str, bool]) -> Iterator[RecordReference]:
        """Yields the references to records that should be read before a field is taken from records further away:
        records that the call names and only a list showed, and records that those refer to and nobody read.

        ``names``: the fields, also as ``kind.field``, each with whether a rule about the call's tool asks for it.
        """
        has_references = bool(
            self._references_seen_only_in_lists
            or self._unread_references_in_named_records
            or self._unread_references_one_step_away
            or self._linked_references_seen_only_in_lists
            or self._subject_links
        )
        for name, is_about_tool in names.items() if has_references else ():
            if find_values(name, self._arguments, self.named.kinds):
                continue
            kind, field = _split_dotted(name)
            if kind and not self._is_kind_of_record(kind):  # an object within a record
                kind, field = (), name
            if self._has_record_with_field(self.own_records, kind, field):
                yield from self._references_for_field_of_named_record(kind, field)
            else:
                yield from self._references_for_field_of_other_record(kind, field, is_about_tool=is_about_tool)

    def _references_for_field_of_named_record(self, kind: Noun, field: str) -> Iterator[RecordReference]:
        """Yields what should be read for a field that a named record has. ``kind``: empty for a field of any kind."""
        yield from self._find_references_with_unseen_field(field, kind)
        if self._has_record_with_field(self._levels[1], kind, field):
            yield from (reference for reference, nodes in self._subject_links if _are_only_rows(nodes))
        if not self._has_record_with_field(self._levels[0], kind, field):
            yield from _references_of_kind(self._references_seen_only_in_lists, kind)

    def _references_for_field_of_other_record(
        self, kind: Noun, field: str, *, is_about_tool: bool
    ) -> Iterator[RecordReference]:
        """Yields what to read for a field that no named record has.

        ``is_about_tool``: a rule about the tool asks for it.
        """
        listed = _references_of_kind(self._references_seen_only_in_lists, kind)
        distances = [
            distance for distance in (2, 3) if self._has_record_with_field(self._levels[distance], kind, field)
        ]
        yield from listed
        if distances:
            yield from self._find_unread_references_at_level(field, distances[0], kind)
        if 2 in distances or not (is_about_tool or distances):
            return
        unread = self._unread_references_in_named_records
        if not unread and not distances:
            unread = self._unread_references_one_step_away
        linked = [*unread, *self._linked_references_seen_only_in_lists]
        linked_of_kind = _references_of_kind(linked, kind)
        is_seen = is_same_kind_as_any(kind, (node.kind for node in self.records_around))
        if linked_of_kind or listed or is_seen:
            yield from linked_of_kind
        else:  # any may lead to one of that kind
            yield from (*self._references_seen_only_in_lists, *linked)

    def _has_record_with_field(self, nodes: Sequence[GraphNode], kind: Noun, field: str) -> bool:
        """Whether any of the records, of this kind if one is given, has the field.

        Indexed once for each list: a call of many rows names many records, and rules ask for many fields.
        """
        is_path = "." in field
        if (id(nodes), is_path) not in self._fields:
            fields_by_kind: dict[Noun, dict[str, FieldValue]] = {}
            for node in nodes:
                inner_fields = nested_fields(node.record) if is_path else ()
                fields_by_kind.setdefault(node.kind, {}).update([*inner_fields, *fields_of_record(node.record)])
            self._fields[id(nodes), is_path] = fields_by_kind
        indexed = self._fields[id(nodes), is_path]
        kinds = [known_kind for known_kind in indexed if not kind or are_same_kind(kind, known_kind)]
        return any(find_values(field, [*indexed[known_kind].items()], (known_kind,)) for known_kind in kinds)

    def _is_kind_of_record(self, kind: Noun) -> bool:
        """Whether a word is known as a kind: a read shows it, or the call or a record around it names one."""
        nouns = [*self.named.kinds, *(reference.noun for reference, _ in self.named.matches)]
        nouns += (reference.noun for reference in _references_of((*self.own_records, *self._levels[2])))
        return self._graph.is_known_kind(kind) or is_same_kind_as_any(kind, nouns)

    @cached_property
    def _named_nodes(self) -> list[tuple[RecordReference, list[GraphNode]]]:
        """The references in the call to records that were read, with these records."""
        matches = ((reference, [*filter(self.is_named_record, nodes)]) for reference, nodes in self.named.matches)
        return [(reference, nodes) for reference, nodes in matches if nodes]

    @cached_property
    def _references_seen_only_in_lists(self) -> list[RecordReference]:
        """The call's references to records seen only as rows, or not by every tool that is declared to show them."""
        matches, lacks_read = self._named_nodes, self._was_declared_read_unused
        return [reference for reference, nodes in matches if _are_only_rows(nodes) or lacks_read(reference, nodes)]

    @cached_property
    def _unread_references_in_named_records(self) -> list[RecordReference]:
        """The references in named records to other kinds of records that no read, or not each declared one, showed."""
        return self._find_unread_references_in(self.own_records)

    @cached_property
    def _unread_references_one_step_away(self) -> list[RecordReference]:
        """As ``_unread_references_in_named_records``, in the records one step away: to the customer of an order's
        contract.
        """
        return self._find_unread_references_in(self._levels[2])

    @cached_property
    def _linked_references_seen_only_in_lists(self) -> list[RecordReference]:
        """The references, in named records and those one step away, to records of which only a row was seen."""
        matches = self._find_references_to_others([*self.own_records, *self._levels[2]])
        return [reference for reference, nodes in matches if nodes and _are_only_rows(nodes)]

    def _find_unread_references_in(self, nodes: Iterable[GraphNode]) -> list[RecordReference]:
        matches = self._find_references_to_others(nodes)
        return [reference for reference, read in matches if not read or self._was_declared_read_unused(reference, read)]

    def _find_references_to_others(self, nodes: Iterable[GraphNode]) -> _Matches:
        """Yields the references to records of other kinds than the called one, with the records that were read."""
        for reference in _references_of(nodes):
            if reference.must_exist and not is_same_kind_as_any(reference.noun, self.named.kinds):
                yield reference, self._graph.find_referenced_records(reference)

    def _was_declared_read_unused(self, reference: RecordReference, nodes: Sequence[GraphNode]) -> bool:
        """Whether a tool that is declared to show such records is not among the tools that showed these."""
        used_tools = {node.seen.fact.tool for node in nodes}
        declared_reads = self._graph.keys.kinds_by_read
        return any(are_same_kind(kind, reference.noun) and tool not in used_tools for tool, kind in declared_reads)

    def refers_to_read_record(self, argument: str, value: Json) -> bool:
        """Whether the argument names a record that was read."""
        reference = reference_of(argument, value, self._about, self._graph.keys)
        return reference is not None and any(map(self.is_named_record, self._graph.find_referenced_records(reference)))

    def is_field_of_call_or_records(self, name: str) -> bool:
        """Whether the call or any record that was read has a field of that name."""
        return bool(find_values(name, self._arguments, ())) or self._graph.has_field(name)

    def find_records_at(self, ref: str, path: str) -> list[GraphNode]:
        """The records that read ``ref`` has at a path, written as in a calculation; empty if nothing is there."""
        nodes_of_read = [node for node in self._graph.nodes if node.seen.fact.ref == ref]
        try:
            cells = select_cells(nodes_of_read[0].seen.fact.result, path).cells if nodes_of_read else []
        except NoSuchPath:
            return []
        texts = {dumps(cell.row) for cell in cells}
        return [node for node in nodes_of_read if node.record_json in texts]

    def is_other_of_called_kind(self, node: GraphNode) -> bool:
        """Whether the record is another one of the called kind, by its name or by the pattern of its id."""
        if self.is_named_record(node):
            return False
        return self._is_other_by_kind(node) or not node.id_patterns.isdisjoint(self._id_patterns)

    def _is_other_by_kind(self, node: GraphNode) -> bool:
        """Whether the record is of the called kind, and neither named by the call nor a part of a named one."""
        is_own = self.is_named_record(node) or self._is_only_part_of_named(node)
        return not is_own and is_same_kind_as_any(node.kind, self.named.kinds)

    def _is_only_part_of_named(self, node: GraphNode) -> bool:
        """Whether the record has no id and is the only one under its name in a named record: a lease's ``deposit``."""
        outer = self._graph.enclosing_record(node)
        return not node.ids and node.seen.rows is None and outer is not None and self.is_named_record(outer)

    def _belongs_to_other_record(self, node: GraphNode) -> bool:
        """Whether the record is, refers to or stands in another of the called kind, or was read by that one's id."""
        if self.is_named_record(node):
            return False
        if node not in self._belongs_elsewhere:
            references = (*node.references, *node.read_arguments)
            belongs_elsewhere = self._is_other_by_kind(node) or any(map(self._refers_to_other_record, references))
            outer = self._graph.enclosing_record(node)
            if outer is not None and not self.is_named_record(outer):
                belongs_elsewhere |= self._belongs_to_other_record(outer) or self.is_other_of_called_kind(outer)
            self._belongs_elsewhere[node] = belongs_elsewhere
        return self._belongs_elsewhere[node]

    def _refers_to_other_record(self, reference: RecordReference) -> bool:
        """Whether the reference is to a record of the called kind that the call does not name."""
        if reference.text in self.ids:
            return False
        if reference.must_exist and is_same_kind_as_any(reference.noun, self.named.kinds):
            return True
        return reference.looks_like_id and get_shape_of_id(reference.text) in self._id_patterns


def _references_of(nodes: Iterable[GraphNode]) -> Iterator[RecordReference]:
    return (reference for node in nodes for reference in node.references)


def _references_of_kind(references: Iterable[RecordReference], kind: Noun) -> list[RecordReference]:
    """The references to records of this kind; all of them, if no kind is given."""
    return [reference for reference in references if not kind or are_same_kind(kind, reference.noun)]


def _are_only_rows(nodes: Iterable[GraphNode]) -> bool:
    return all(node.seen.is_row for node in nodes)


def _split_dotted(name: str) -> tuple[Noun, str]:
    """Kind and field of ``order.total``; of a name without a dot, an empty kind and the name."""
    head, dot, field = name.partition(".")
    return (singular_words(head), field) if dot else ((), name)


def _values_by_dotted_name(nodes: Sequence[GraphNode], name: str) -> list[FieldValue]:
    """The values of ``kind.field`` in records of the kind; if there are none, those at this path inside any record."""
    kind, field = _split_dotted(name)
    return _field_values_in_nodes(nodes, field, kind) or (_field_values_in_nodes(nodes, name) if kind else [])


def _field_values_in_nodes(nodes: Iterable[GraphNode], name: str, kind: Noun = ()) -> list[FieldValue]:
    """The values of the field in the records, of this kind if one is given. A path leads into the objects within."""
    nodes_of_kind = (node for node in nodes if not kind or are_same_kind(kind, node.kind))
    return [value for node in nodes_of_kind for value in _values_in_node(node, name)]


def _nodes_with_field(nodes: Iterable[GraphNode], name: str, kind: Noun = ()) -> list[GraphNode]:
    return [node for node in nodes if _field_values_in_nodes([node], name, kind)]


def _values_in_node(node: GraphNode, name: str) -> list[FieldValue]:
    if "." not in name:
        return find_values(name, fields_of_record(node.record), (node.kind,))
    inner_fields = ((_words_of_path(path), value) for path, value in nested_fields(node.record))
    return [value for words, value in inner_fields if words == _words_of_path(name)]


def _words_of_path(path: str) -> list[Noun]:
    return [*map(singular_words, path.split("."))]


def _keep_one_per_field_set(nodes: Iterable[GraphNode]) -> list[GraphNode]:
    """One record for each kind and set of field names, whatever their values: enough to know which fields there are."""
    return [*{(node.kind, *node.record): node for node in nodes}.values()]


def _prefer_records_named_by_own_id(matches: _Matches) -> list[GraphNode]:
    """The matched records, each once. If some are named by an id of their own kind, only these count of that kind."""
    pairs = [(reference, node) for reference, nodes in matches for node in nodes]
    by_own_id = {node for reference, node in pairs if reference.is_id and are_same_kind(reference.noun, node.kind)}
    kinds = [node.kind for node in by_own_id]
    unique_nodes = dict.fromkeys(node for _, node in pairs)
    return [node for node in unique_nodes if node in by_own_id or not is_same_kind_as_any(node.kind, kinds)]
