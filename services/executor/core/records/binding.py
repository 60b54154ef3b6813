"""Binds a rule's field to its value for a planned call: the call's own, that of the records it names, or unknown.

A field binds to the call's argument; else to the record that the call names; else to the nearest record of another kind
that those refer to, two steps at most. It never binds to a record of the called one's kind that the call does not name,
nor to one that belongs to such a record. Where records that are as near disagree, and where a record that the call
names was not read, the field is unknown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, cast

from services.executor.core.figures.operands import select_cells
from services.executor.core.records.called_records import (
    Noun,
    RecordReference,
    agree,
    makes_something,
    mostly_of_request,
    noun_of_tool,
    reference_of,
    references_in,
    shape_of,
    words,
)
from services.executor.core.records.record_graph import GraphNode, RecordGraph, record_graph
from services.executor.core.records.said_fields import (
    UNKNOWN,
    Said,
    Unknown,
    arguments_of,
    edited_fields,
    fields_of,
    find_by_name,
    find_said,
    one_value,
)
from services.executor.core.session.values import Fact
from services.executor.core.tools.record_tree import NO_KEYS, NoSuchPath, RecordKeys
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object

_STEPS = 2
_MOST_BEYOND = 40


class NamedRecords(NamedTuple):
    """The records that a call names. ``unread_*``: references to records that nobody read.

    ``subjects``: those of the kind that the tool is about; all of them where none is. ``kinds``: of the subjects.
    ``mentioned``: every record whose identifier stands anywhere in the call.
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
    """The fields of a call as rules see them. ``unknown``: fields that rules ask for and the call's records have
    without a single value.

    ``recorded``: what the records say by themselves, without the arguments. ``named``: the records that the call names
    or mentions, and arguments that are aliases of their fields; each may set off a rule of the process, and clears
    none. ``beyond``: fields that only records further
    away have, such as a screening of the order's customer. They set off rules that lack the field, and clear none.
    """

    fields: Mapping[str, Json]
    unknown: tuple[str, ...]
    recorded: Mapping[str, Json]
    named: tuple[JsonObject, ...]
    beyond: tuple[JsonObject, ...] = ()


def view_of(tool: str, arguments: JsonObject, facts: Sequence[Fact], keys: RecordKeys = NO_KEYS) -> "CallView":
    """The records around a call of this tool. Planning reads, judging and asking for rules all use the same view."""
    return _build_view(record_graph(tuple(facts), keys), tool, dumps(arguments))


def reads_around(
    call: PlannedCall, facts: Sequence[Fact], keys: RecordKeys, made: Iterable[PlannedCall] | None = None
) -> frozenset[str]:
    """The references of the reads of single records at which rules about the call may look; with ``made``, none unless
    one of these calls has to do with a record around it: what is done to a customer may change the customer's mandates.
    A list may have lost the record since.
    """
    near = _nodes_around(call, facts, keys)
    if made is not None and not any(_has_to_do_with(one, near, facts, keys) for one in made):
        return frozenset()
    return frozenset(node.seen.fact.ref for node in near.values() if node.seen.is_of_one)


def _has_to_do_with(made: PlannedCall, near: Mapping[int, GraphNode], facts: Sequence[Fact], keys: RecordKeys) -> bool:
    """Whether one of the records is around the call too, or refers to a record that it names."""
    ids = view_of(made.tool, made.arguments, facts, keys).ids
    referred = {one.text for node in near.values() for one in node.references if one.must_exist}
    return not near.keys().isdisjoint(_nodes_around(made, facts, keys)) or not referred.isdisjoint(ids)


def _nodes_around(call: PlannedCall, facts: Sequence[Fact], keys: RecordKeys) -> dict[int, GraphNode]:
    view = view_of(call.tool, call.arguments, facts, keys)
    return {id(node): node for node in (*view.around, *view.mentioned, *view.records_beyond)}


def bind(view: "CallView", asked: Iterable[str] = ()) -> BoundFields:
    """The fields of a call. ``asked``: names that rules ask for, also written as ``kind.field``."""
    wanted = [*dict.fromkeys(asked)]
    said = {name: view.value(name) for name in (*view.names, *(name for name in wanted if "." not in name))}
    fields = {name: value for name, value in said.items() if not isinstance(value, Unknown)}
    recorded = {name: value for name in said if not isinstance(value := view.value_in_records(name), Unknown)}
    for dotted in (name for name in wanted if "." in name):
        said[dotted] = value = view.value_of_kind(dotted)
        if not isinstance(value, Unknown):
            put_field(fields, dotted, value)
    unknown = tuple(name for name in wanted if isinstance(said[name], Unknown) and view.has_field(name))
    more = [
        {key: value for key, value in fields_of(node.record) if not view.has_field(key)} for node in view.records_beyond
    ]
    beyond = tuple({dumps(one): one for one in cast(list[JsonObject], more) if one}.values())
    given = [{name: value} for name in said for value in view.alias_of_recorded(name) if not isinstance(value, Unknown)]
    return BoundFields(fields, unknown, recorded, (*given, *(node.record for node in view.mentioned)), beyond)


@lru_cache(maxsize=8)
def _build_view(graph: RecordGraph, tool: str, arguments_json: str) -> "CallView":
    return CallView(graph, tool, loads_object(arguments_json))


def named_records(tool: str, arguments: JsonObject, graph: RecordGraph) -> NamedRecords:
    """The records that a call names, by whatever argument; an identifier goes before a text that could be one."""
    about = noun_of_tool(tool, graph.keys)
    given = [*references_in(arguments, about, graph.keys)]
    found = [(reference, _find_meant(graph, reference, about)) for reference in given]
    if any(one.is_id and meant for one, meant in found):  # then a mere number names none: ``new_salary``
        found = [(one, meant) for one, meant in found if meant or one.is_id or not one.is_number or one.noun == about]
    nodes = _select_plainly_named(found)
    makes = about if makes_something(tool) else ()
    seen_nouns = {one.noun for one, meant in found if meant and one.noun}
    seen_shapes = {shape_of(one.text) for one, meant in found if meant} - {""}
    unread = [
        one
        for one, meant in found
        if not meant
        and not agree(one.noun, makes)
        and (agree(one.noun, about) or not mostly_of_request(one.noun))
        and (one.must_exist or (one.noun in seen_nouns and one.is_id) or shape_of(one.text) in seen_shapes)
    ]
    known = {one.noun for one, meant in found if meant}  # which the call gives a new key, if nothing has that yet
    unread = [one for one in unread if one.noun not in known or (one.key, one.text) not in graph.asked_in_vain]
    nodes += _find_by_holder(given, about, graph) if not any(agree(about, one.noun) for one in given) else []
    subjects = [node for node in nodes if agree(about, node.kind)]
    unread_subjects = [one for one in unread if agree(about, one.noun)]
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


def _find_by_holder(given: Iterable[RecordReference], about: Noun, graph: RecordGraph) -> list[GraphNode]:
    """The record that the tool is about and that goes by another's key, as the deposit of a lease by the lease's: the
    one that a read showed which was asked for by the same key, and by nothing else.
    """
    keys = {(one.noun, one.text) for one in given if one.is_id}
    of_kind = (node for node in graph.nodes if agree(about, node.kind) and node.seen.is_alone)
    return [node for node in of_kind if {(one.noun, one.text) for one in node.asked} & keys and len(node.asked) == 1]


def _find_meant(graph: RecordGraph, reference: RecordReference, about: Noun) -> list[GraphNode]:
    """The records that a reference of a call names. What the tool is about is no other thing that has its number."""
    meant = graph.find_meant(reference)
    own = agree(reference.noun, about)
    return [node for node in meant if not (own and node.by_number and not agree(node.kind, about))]


class CallView:
    """The records around one call, the nearest first, and the values of their fields."""

    def __init__(self, graph: RecordGraph, tool: str, arguments: JsonObject) -> None:
        self._graph = graph
        self._about = noun_of_tool(tool, graph.keys)
        self._named = named_records(tool, arguments, graph)
        self._references = [*references_in(arguments, self._about, graph.keys)]
        self._arguments, self._edited = arguments_of(arguments), [*edited_fields(arguments)]
        shapes = [shape for node in self._named.subjects for shape in node.shapes]
        self._shapes = {*shapes, *(shape_of(one.text) for one in self._named.unread_subjects)} - {""}
        self.ids = self._named.ids
        self._strange: dict[int, bool] = {}
        self._fields: dict[int, dict[Noun, dict[str, Said]]] = {}  # by kind, of a list of records, by its identity
        self.own = graph.whole(self._named.records)
        self._own = {id(node) for node in self.own}
        self.mentioned = graph.whole(self._named.mentioned)
        self._levels = self._find_levels()
        self._siblings = _one_of_each(node for node in graph.nodes if self.is_sibling(node))

    @cached_property
    def names(self) -> list[str]:
        """The name of every field that the call or a record around it has."""
        given = {key for key, _ in self._arguments if "." not in key}
        return sorted(given.union(key for level in self._levels for node in level for key, _ in fields_of(node.record)))

    def value(self, name: str) -> Said:
        """The value of the field; ``UNKNOWN`` if there is none, or no single one.

        An argument that is only an alias of the name gives way to a record that the call names and that has the field:
        who pays an ``amount`` of an invoice does not change its ``total``.
        """
        given = find_said(name, self._arguments, self._named.kinds)
        if given and not self.alias_of_recorded(name):
            return one_value(given)
        alternatives = self.alternatives(name)
        return one_value(alternatives) if alternatives else self.value_in_records(name)

    def alternatives(self, name: str) -> list[Said]:
        """What a field is and what an edit in the call makes of it; empty where the call edits no such field. What it
        is need not be known where no record has it.
        """
        edited = find_by_name(name, self._edited)
        if not edited or find_said(name, self._arguments, self._named.kinds):
            return []
        before = self.value_in_records(name)
        is_new = before is UNKNOWN and not self.unread and not self._is_recorded(name)
        return edited if is_new else [before, *edited]

    def _is_recorded(self, name: str) -> bool:
        return bool(_say([*self.around, *self._siblings, *self._of_unread_kinds], name))

    def alias_of_recorded(self, name: str) -> list[Said]:
        """The arguments that are aliases of a field which a record that the call names has under its own name."""
        if find_by_name(name, self._arguments, self._named.kinds):
            return []
        of_own = (find_by_name(name, fields_of(node.record), (node.kind,)) for node in self.own)
        return find_said(name, self._arguments) if any(of_own) else []

    def value_in_records(self, name: str) -> Said:
        """The value of the field in the records, without the arguments; ``UNKNOWN`` if there is no single one."""
        if self._named.unread_subjects:
            return UNKNOWN
        for place, level in enumerate(self._levels):
            if place == 1 and (_say(self._siblings, name) or _say(self._of_unread_kinds, name)):
                return UNKNOWN  # its own kind has the field, so nobody else's is meant
            if found := _say(level, name):
                return UNKNOWN if self._may_be_said_otherwise(name, place) else one_value(found)
        return UNKNOWN

    def _may_be_said_otherwise(self, name: str, place: int, kind: Noun = ()) -> bool:
        """Whether a record as near as those that have the field may say otherwise, and nobody read it whole."""
        if place < 2:
            return bool((place == 1 and not kind and self._named.unread_others) or self._names_beside(name, kind))
        return bool(self._unread_beside(name, place, kind))

    def _names_beside(self, name: str, kind: Noun = ()) -> list[RecordReference]:
        """What the call names of the kinds of named records that have the field, and was not seen with it, nor by a
        read that showed it of these: a row, or a mention in another record.
        """
        having = [node for node in self.own if (not kind or agree(kind, node.kind)) and _say([node], name)]
        return [one for one, nodes in self._named_nodes if self._lacks_field(nodes, name, having)]

    def _lacks_field(self, nodes: Sequence[GraphNode], name: str, having: Sequence[GraphNode]) -> bool:
        """Whether the records may have the field though they were seen without it, beside others that have it."""
        kinds = {of.kind for node in having for of in (node, *filter(None, [self._owner_of(node)]))}
        if not any(agree(node.kind, of) for node in nodes for of in kinds) or _say(self._graph.whole(nodes), name):
            return False
        whole = {node.seen.fact.tool for node in having if not node.seen.is_row}
        return not any(node.seen.fact.tool in whole and not node.seen.is_row for node in nodes)

    def _owner_of(self, node: GraphNode) -> GraphNode | None:
        """The record that a nested object without an id of its own says more of: the unit of its ``features``."""
        return None if node.names[0] else self._graph.record_around(node)

    def _unread_beside(self, name: str, place: int, kind: Noun = ()) -> list[RecordReference]:
        """What a record one step nearer refers to and nobody read, or only without the field, of the kinds of the
        records at this place that have it: one as near as they, which may say otherwise.
        """
        near = [node for node in self._levels[place] if not kind or agree(kind, node.kind)]
        having = [node for node in near if _say([node], name)]
        kinds = {of.kind for node in having for of in (node, *filter(None, [self._owner_of(node)]))}
        before = self.own if place == 2 else self._levels[place - 1]
        told = (one for node in before for one in node.references)
        found: list[RecordReference] = []
        for one in told:
            is_one = any(agree(one.noun, of) for of in kinds) and (one.must_exist or one.is_number or one.looks_like_id)
            if not is_one or one.text in self.ids or self._graph.is_sought_in_vain(one) or self._is_elsewhere(one):
                continue
            nodes = self._graph.find_meant(one)
            if not nodes or self._lacks_field(nodes, name, having):
                found.append(one)
        return found

    def value_of_kind(self, dotted: str) -> Said:
        """The value of a field such as ``order.total``, in the nearest record of that kind."""
        kind, name = words(dotted.partition(".")[0]), dotted.partition(".")[2]
        if given := [value for path, value in self._arguments if path == dotted]:
            return one_value(given)
        if any(agree(kind, one.noun) for one in self._named.unread):
            return UNKNOWN
        for place, level in enumerate(self._levels):
            if of_kind := [node for node in level if agree(kind, node.kind)]:
                found = _say(of_kind, name)
                return one_value(found) if found and not self._may_be_said_otherwise(name, place, kind) else UNKNOWN
        return UNKNOWN

    def has_field(self, name: str) -> bool:
        """Whether the call, a record around it or one of the called kind has the field, with whatever value."""
        head, _, field = name.rpartition(".")
        if find_said(name, self._arguments, self._named.kinds) or find_by_name(name, self._edited):
            return True
        around = [*self.around, *self._siblings, *self._of_unread_kinds]
        return bool(_say([node for node in around if not head or agree(words(head), node.kind)], field))

    @cached_property
    def _of_unread_kinds(self) -> list[GraphNode]:
        """Records of the kinds that the call names a record of which nobody read."""
        kinds = [one.noun for one in self._named.unread]
        return _one_of_each(node for node in self._graph.nodes if any(agree(kind, node.kind) for kind in kinds))

    def _find_levels(self) -> list[list[GraphNode]]:
        """The named records, then those one and two steps away."""
        subjects, others = (self._graph.whole(nodes) for nodes in (self._named.subjects, self._named.others))
        levels, near = [subjects, others], [*subjects, *others]
        about = [node for one in subjects for node in self._graph.records_about(one)]
        for step in range(_STEPS):
            before = {id(node) for level in levels for node in level}
            plain = {id(node): node for one in near for node in self._graph.find_plainly_named(one)}
            found = [*plain.values(), *(node for one in near for node in self._graph.records_around(one))]
            found += about if step == 0 else []
            fresh = {id(node): node for node in found if id(node) not in before}
            near = [node for key, node in fresh.items() if self._is_open_to(node, key in plain, at_first=step == 0)]
            levels.append(self._graph.whole(near))
        return levels

    def _is_open_to(self, node: GraphNode, is_plain: bool, *, at_first: bool) -> bool:
        """Whether a record that the call does not name may still give it a field."""
        if is_plain and at_first:
            return not self._is_of_called_kind(node)
        return not (self._is_strange(node) if is_plain else self._is_strange(node) or self.is_sibling(node))

    def is_own(self, node: GraphNode) -> bool:
        """Whether the call names the record, or it is a part of a named one."""
        return id(node) in self._own

    @property
    def around(self) -> list[GraphNode]:
        """The records that may give the call a field, the nearest first."""
        return [node for level in self._levels for node in level]

    @cached_property
    def records_beyond(self) -> list[GraphNode]:
        """At most forty records, none of them ``around``, that refer to another named record or to one a step away.

        Their fields may set off a rule and clear none.
        """
        near = {id(node) for node in self.around}
        found = [node for one in (*self._levels[1], *self._levels[2]) for node in self._graph.records_about(one)]
        free = {id(node): node for node in found if id(node) not in near and not self._is_strange(node)}
        return [node for node in free.values() if not self.is_sibling(node)][:_MOST_BEYOND]

    def is_around(self, node: GraphNode) -> bool:
        return any(node is one for one in self.around)

    @property
    def kinds(self) -> tuple[Noun, ...]:
        """The kinds of the records that the call is about."""
        return self._named.kinds

    @property
    def unread(self) -> tuple[RecordReference, ...]:
        """What the call names and nobody read."""
        return self._named.unread

    def references_for(self, names: Mapping[str, bool]) -> Iterator[RecordReference]:
        """Yields what has to be read before a field is taken from further away, also written as ``kind.field``: named
        records that only a list showed, and what the named ones refer to and nobody read.

        ``names``: of the fields, each with whether a rule about the call's tool asks for it; else it is taken from
        nowhere.
        """
        for name, is_about_tool in names.items() if self._listed or self._unread_near or self._unread_beyond else ():
            head, _, field = name.rpartition(".")
            kind = words(head)
            if find_said(name, self._arguments, self._named.kinds):
                continue
            if self._shows(self.own, kind, field):
                yield from self._names_beside(field, kind)
                if not self._shows(self._levels[0], kind, field):
                    yield from (one for one in self._listed if not kind or agree(kind, one.noun))
                continue
            yield from (one for one in self._listed if not kind or agree(kind, one.noun))
            is_further = is_about_tool or self._shows(self._levels[3], kind, field)
            shown_at = next((place for place in (2, 3) if self._shows(self._levels[place], kind, field)), None)
            if shown_at is not None:
                yield from self._unread_beside(field, shown_at, kind)
            if shown_at != 2 and is_further:
                unread = self._unread_near or (self._unread_beyond if shown_at is None else [])
                yield from (one for one in unread if not kind or agree(kind, one.noun))

    def _shows(self, nodes: Sequence[GraphNode], kind: Noun, field: str) -> bool:
        """Whether one of the records, of the kind if there is one, has the field. Each name is looked at once."""
        if id(nodes) not in self._fields:
            found: dict[Noun, dict[str, Said]] = {}
            for node in nodes:
                found.setdefault(node.kind, {}).update(fields_of(node.record))
            self._fields[id(nodes)] = found
        of_kind = ((of, fields) for of, fields in self._fields[id(nodes)].items() if not kind or agree(kind, of))
        return any(find_said(field, [*fields.items()], (of,)) for of, fields in of_kind)

    @cached_property
    def _named_nodes(self) -> list[tuple[RecordReference, list[GraphNode]]]:
        """The references of the call to records that were seen, with these."""
        called = ((one, _find_meant(self._graph, one, self._about)) for one in self._references)
        own = ((one, [node for node in meant if self.is_own(node)]) for one, meant in called)
        return [(one, nodes) for one, nodes in own if nodes]

    @cached_property
    def _listed(self) -> list[RecordReference]:
        """The references of the call to records of which only a row of a list, or not every declared read, was seen."""
        named = self._named_nodes
        return [one for one, nodes in named if all(node.seen.is_row for node in nodes) or self._lacks(one, nodes)]

    @cached_property
    def _unread_near(self) -> list[RecordReference]:
        """The references in the named records to others, of another kind, that nobody read, or not by every read."""
        return self._unread_from(self.own)

    @cached_property
    def _unread_beyond(self) -> list[RecordReference]:
        """The same of records one step away: the customer of a disconnection order's contract."""
        return self._unread_from(self._levels[2])

    def _unread_from(self, nodes: Iterable[GraphNode]) -> list[RecordReference]:
        told = (one for node in nodes for one in node.references if one.must_exist)
        others = (one for one in told if not any(agree(kind, one.noun) for kind in self._named.kinds))
        found = ((one, self._graph.find_meant(one)) for one in others)
        return [one for one, meant in found if not meant or self._lacks(one, meant)]

    def _lacks(self, reference: RecordReference, nodes: Sequence[GraphNode]) -> bool:
        """Whether a read that is declared to show the record was not made."""
        made = {node.seen.fact.tool for node in nodes}
        return any(agree(kind, reference.noun) and tool not in made for tool, kind in self._graph.keys.reads)

    def has_read(self, argument: str, value: Json) -> bool:
        """Whether the argument names a record that was read."""
        found = reference_of(argument, value, self._about, self._graph.keys)
        return found is not None and any(map(self.is_own, self._graph.find_meant(found)))

    def is_field_of_records(self, name: str) -> bool:
        """Whether the call or any record that was read has a field of that name."""
        return bool(find_said(name, self._arguments, ())) or self._graph.has_field(name)

    @property
    def names_unread(self) -> bool:
        """Whether nobody read a record that the call is about."""
        return bool(self._named.unread_subjects)

    def records_at(self, ref: str, path: str) -> list[GraphNode]:
        """The records of a read in which the values at a path stand; the path is read as in a calculation."""
        of_read = [node for node in self._graph.nodes if node.seen.fact.ref == ref]
        try:
            found = select_cells(of_read[0].seen.fact.result, path).cells if of_read else []
        except NoSuchPath:
            return []
        texts = {dumps(cell.row) for cell in found}
        return [node for node in of_read if node.text in texts]

    def is_sibling(self, node: GraphNode) -> bool:
        """Whether the record is another one of the called record's kind, by its name or the look of its id."""
        if self.is_own(node):
            return False
        return self._is_of_called_kind(node) or not node.shapes.isdisjoint(self._shapes)

    def _is_of_called_kind(self, node: GraphNode) -> bool:
        is_own = self.is_own(node) or self._is_within_own(node)
        return not is_own and any(agree(kind, node.kind) for kind in self._named.kinds)

    def _is_within_own(self, node: GraphNode) -> bool:
        """Whether the record has no id and is the only one under its name in a named record: a lease's ``deposit``."""
        outer = self._graph.record_around(node)
        return not node.names[0] and node.seen.rows is None and outer is not None and self.is_own(outer)

    def _is_strange(self, node: GraphNode) -> bool:
        """Whether the record is another one of the called record's kind, or belongs to one."""
        if self.is_own(node):
            return False
        if id(node) not in self._strange:
            told = (*node.references, *node.asked)
            elsewhere = self._is_of_called_kind(node) or any(map(self._is_elsewhere, told))
            outer = self._graph.record_around(node)
            inside = (
                outer is not None and not self.is_own(outer) and (self._is_strange(outer) or self.is_sibling(outer))
            )
            self._strange[id(node)] = elsewhere or inside
        return self._strange[id(node)]

    def _is_elsewhere(self, reference: RecordReference) -> bool:
        """Whether the reference is to a record of the called kind that the call does not name."""
        if reference.text in self.ids:
            return False
        if reference.must_exist and any(agree(kind, reference.noun) for kind in self._named.kinds):
            return True
        return reference.looks_like_id and shape_of(reference.text) in self._shapes


def _say(nodes: Iterable[GraphNode], name: str) -> list[Said]:
    return [value for node in nodes for value in find_said(name, fields_of(node.record), (node.kind,))]


def _one_of_each(nodes: Iterable[GraphNode]) -> list[GraphNode]:
    """One record for each kind and set of fields: enough to tell which fields such records have."""
    return [*{(node.kind, *node.record): node for node in nodes}.values()]


def _select_plainly_named(found: Sequence[tuple[RecordReference, list[GraphNode]]]) -> list[GraphNode]:
    """The records that are named; of one kind only those that its own identifier names, if one does."""
    plain = {id(node): node for one, nodes in found for node in nodes if one.is_id and agree(one.noun, node.kind)}
    every = {id(node): node for _, nodes in found for node in nodes}
    settled = [node.kind for node in plain.values()]
    return [node for key, node in every.items() if key in plain or not any(agree(node.kind, kind) for kind in settled)]


def put_field(fields: dict[str, Json], dotted: str, value: Json) -> None:
    """Sets a field by its name; one written as ``kind.field`` within the object of that name."""
    head, _, name = dotted.partition(".")
    inner = fields.get(head)
    within = {**inner, name: value} if isinstance(inner, dict) else {name: value}
    fields[head] = within if name else value
