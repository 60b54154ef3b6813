"""The rows that a figure is computed from: which list they are in, which of them count, and the paths to them."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import chain, product
from typing import NamedTuple

from services.executor.core.figures.numbers import read_figure
from services.executor.core.figures.vocabulary import is_currency_code
from services.executor.core.records.record_graph import GraphNode, RecordGraph
from services.executor.core.records.seen_records import SeenRecord, are_same_kind, is_name_in_text, singular_words
from services.executor.core.session.values import Operand
from services.executor.core.states.machine import OWN_VALUE_MARK, Figure, OperandPattern, RowChoice
from services.executor.core.tools.record_tree import format_condition, is_id_name
from shared.domain.exact_json import Json, as_text, dumps

_MOST_LINKS = 4
_DATE_PREFIX_PATTERN = re.compile(r"\d{4}-\d\d")
_FIELDS_THAT_LINK_NOTHING = frozenset(
    """id name number code status state type kind category currency unit priority severity description note notes reason
    year level role risk region title subject message""".split()
)


class RecordLinks:
    """The links between all records that were read."""

    def __init__(self, graph: RecordGraph) -> None:
        self._graph = graph
        self.records = [node.seen for node in graph.nodes]

    def find_nearest_records(
        self, anchors: Sequence[SeenRecord], is_wanted: Callable[[SeenRecord], bool]
    ) -> list[SeenRecord]:
        """The wanted records that are the fewest links away from the anchors; empty if no path leads to one.

        Only references count as links at first; if they lead nowhere, equal texts do, too. A path leads through no
        record of an anchor's kind.
        """
        kinds = {name[-1] for anchor in anchors for name in anchor.names if name}
        anchor_identities = {anchor.identity for anchor in anchors}

        def may_be_on_path(record: SeenRecord) -> bool:
            has_anchors_kind = any(name and name[-1] in kinds for name in record.names)
            return not has_anchors_kind or record.identity in anchor_identities or is_wanted(record)

        steps = [node for node in self._graph.nodes if may_be_on_path(node.seen)]
        starts = [node for node in steps if node.seen.identity in anchor_identities]
        by_reference = self._walk_links(starts, steps, is_wanted, self._find_neighbours)
        return by_reference or self._walk_links(starts, steps, is_wanted, self._find_linked_nodes)

    def _walk_links(
        self,
        nodes: list[GraphNode],
        remaining: list[GraphNode],
        is_wanted: Callable[[SeenRecord], bool],
        find_linked_nodes: Callable[[Sequence[GraphNode]], set[GraphNode]],
    ) -> list[SeenRecord]:
        """The wanted records that a walk along the links, from these nodes, meets first; empty if it meets none.

        ``remaining``: the nodes that the walk may visit. ``find_linked_nodes``: one step from some nodes.
        """
        for _ in range(_MOST_LINKS + 1):
            if records := [node.seen for node in nodes if is_wanted(node.seen)]:
                return records
            met, linked = set(nodes), find_linked_nodes(nodes)
            remaining = [node for node in remaining if node not in met]
            nodes = [node for node in remaining if node in linked]
        return []

    def _find_neighbours(self, nodes: Sequence[GraphNode]) -> set[GraphNode]:
        graph = self._graph
        return {other for node in nodes for other in (*graph.linked_records(node), *graph.referring_records(node))}

    def _find_linked_nodes(self, nodes: Sequence[GraphNode]) -> set[GraphNode]:
        """The records that are linked to these by a reference or an equal text."""
        texts = set[str]().union(*(_linking_texts(node.seen) for node in nodes))
        return self._find_neighbours(nodes).union(*(self._nodes_by_text[text] for text in texts))

    @cached_property
    def _nodes_by_text(self) -> Mapping[str, Sequence[GraphNode]]:
        nodes_by_text: dict[str, list[GraphNode]] = {}
        for node in self._graph.nodes:
            for text in _linking_texts(node.seen):
                nodes_by_text.setdefault(text, []).append(node)
        return nodes_by_text

    def belongs_to_another(self, record: SeenRecord, anchors: Sequence[SeenRecord]) -> bool:
        """Whether the record refers by an id to a record that is of an anchor's kind, and not this anchor."""
        references = [reference for reference in self._graph.node_of(record).references if reference.is_id]
        for anchor in map(self._graph.node_of, anchors):
            ids = [reference.text for reference in references if are_same_kind(reference.noun, anchor.kind)]
            if not frozenset().union(*anchor.names).issuperset(ids):
                return True
        return False


def _linking_texts(record: SeenRecord) -> set[str]:
    """A ``field=text`` for each text that can link records. Equal figures and dates are chance and do not count."""
    return {
        f"{key.lower()}={value.strip().casefold()}"
        for key, value in record.record.items()
        if key.lower() not in _FIELDS_THAT_LINK_NOTHING
        and isinstance(value, str)
        and value.strip()
        and read_figure(value) is None
        and not _DATE_PREFIX_PATTERN.match(value.strip())
    }


_MONTHS = "january february march april may june july august september october november december".split()
_MONTH_PATTERN = re.compile(rf"(?i)\b({'|'.join(_MONTHS)})\s+(\d{{4}})\b")


class NoClearOperand(LookupError):
    """The facts have nothing for an operand, or several things; the message names it."""


def list_record_ids_of_figure(figure: Figure, records: Sequence[SeenRecord]) -> frozenset[str]:
    """The ids, in lower case, of those of the records that are of the figure's kind."""
    kinds = figure.subject_kinds
    of_kind = (record for record in records if any(record.has_name_ending_in(kind) for kind in kinds))
    return frozenset(str(record.id).casefold() for record in of_kind if record.id is not None)


class FigureInputs(NamedTuple):
    """What a figure is computed from: the records that it is about, the task, and the links between all records."""

    anchors: Sequence[SeenRecord]
    task: str
    links: RecordLinks


class RowGroupKey(NamedTuple):
    """What the rows of a group have in common: the ``value`` of a field, which may have any name of ``fields``."""

    fields: tuple[str, ...]
    value: Json


class ChosenRows(NamedTuple):
    """All rows of one list (``records``), and which of them are chosen: those that meet all conditions of one of the
    ``alternatives``. An alternative without conditions chooses every row.
    """

    pattern: OperandPattern
    records: tuple[SeenRecord, ...]
    alternatives: tuple[tuple[str, ...], ...]

    @property
    def first(self) -> SeenRecord:
        return self.records[0]


def find_pattern_operands(pattern: OperandPattern, inputs: FigureInputs, operation: str) -> list[Operand]:
    """The one field that the pattern describes, as an operand; a second one is its record's currency, if the record has
    one and the operation is not ``count``. Raises ``NoClearOperand`` if there is no such field, or several differ.
    """
    of_kind = _build_kind_test(inputs.links.records, pattern.kinds)
    links = inputs.links
    anchors = inputs.anchors

    def is_wanted(record: SeenRecord) -> bool:
        return record.find_field(pattern.fields) is not None and of_kind(record)

    records = links.find_nearest_records(anchors, is_wanted) or [
        record for record in links.records if is_wanted(record) and not links.belongs_to_another(record, anchors)
    ]
    field_by_record = [
        (record, field) for record in records if (field := record.find_field(pattern.fields)) is not None
    ]
    values = {(record.identity, dumps(record.record[field])) for record, field in field_by_record}
    if not values:
        raise NoClearOperand(f"nothing was read that is {_describe_pattern(pattern)}")
    if len(values) > 1:
        raise NoClearOperand(f"there are {len(values)} different things that could be {_describe_pattern(pattern)}")
    record, field = field_by_record[0]
    return _build_operands(record, record.path, field, operation)


def _build_kind_test(records: Sequence[SeenRecord], kinds: Sequence[str]) -> Callable[[SeenRecord], bool]:
    """A test of whether a record is of one of the kinds; if no record is, of whether its name contains the kind."""
    if any(record.has_name_ending_in(kind) for record in records for kind in kinds):
        return lambda record: any(record.has_name_ending_in(kind) for kind in kinds)
    return lambda record: any(record.has_kind_in_name(kind) for kind in kinds)


def _describe_pattern(pattern: OperandPattern) -> str:
    return f"the {' or '.join(pattern.fields[:2])} of the {_describe_kind(pattern)}"


def field_path(path: str, field: str) -> str:
    return ".".join(filter(None, (path, field)))


def choose_rows(pattern: OperandPattern, inputs: FigureInputs) -> ChosenRows:
    """The list that the pattern describes, with its chosen rows. Raises ``NoClearOperand``."""
    records = _find_row_list(pattern, inputs)
    if not all(record.is_of_complete_list for record in records):
        raise NoClearOperand(f"not all rows of the list of {_describe_kind(pattern)} were read")
    conditions = [
        *(_build_choice_conditions(choice, records, inputs) for choice in pattern.choices),
        _list_owner_conditions(pattern, records, inputs),
    ]
    alternatives = tuple(tuple(chain.from_iterable(chosen)) for chosen in product(*conditions))
    return ChosenRows(pattern, records, alternatives)


def list_row_group_keys(rows: Sequence[ChosenRows], by: str) -> list[RowGroupKey | None]:
    """A group's key for each value of the field ``by``; a single None if ``by`` is empty.

    Raises ``NoClearOperand`` if there are no rows, or a row has no such field.
    """
    if not by:
        return [None]
    if not rows:
        raise NoClearOperand(f"there are no rows to group by {by}")
    fields, values_by_json = tuple(by.split("|")), dict[str, Json]()
    for record in rows[0].records:
        field = record.find_field(fields)
        if field is None:
            raise NoClearOperand(f"not every row has a {fields[0]}")
        values_by_json.setdefault(dumps(record.record[field]), record.record[field])
    return [RowGroupKey(fields, value) for value in values_by_json.values()]


def build_row_operands(rows: ChosenRows, operation: str, group: RowGroupKey | None) -> list[Operand]:
    """The operands of an operation on the chosen rows: for each alternative the path to the rows' field, and to their
    currency if they have one.

    ``group``: only the rows of this group; None for all. Raises ``NoClearOperand`` if the rows' field has no single
    name.
    """
    operands = []
    for conditions in rows.alternatives:
        steps = "".join(f"[{condition}]" for condition in (*conditions, *_conditions_of_group(rows, group)))
        path = f"{rows.first.rows}{steps or '[*]'}"
        operands += _build_operands(rows.first, path, _common_field_name(rows), operation)
    return operands


def _build_operands(record: SeenRecord, path: str, field: str, operation: str) -> list[Operand]:
    """The operand at the field (at the path itself if empty), and one for the record's currency except for a count."""
    is_money = operation != "count" and is_currency_code(record.record.get("currency"))
    fields = (field, "currency") if is_money else (field,)
    return [Operand(source="result", ref=record.fact.ref, path=field_path(path, name)) for name in fields]


def _conditions_of_group(rows: ChosenRows, group: RowGroupKey | None) -> tuple[str, ...]:
    field = rows.first.find_field(group.fields) if group else None
    return (format_condition(field, "=", group.value),) if group and field else ()


def _common_field_name(rows: ChosenRows) -> str:
    """The name of the pattern's field, the same in all rows; empty where the rows themselves are counted.

    Raises ``NoClearOperand`` if the rows do not have it under one name.
    """
    if not rows.pattern.fields:
        return ""
    names = {record.find_field(rows.pattern.fields) for record in rows.records}
    name = rows.first.find_field(rows.pattern.fields)
    if name is None or len(names) > 1:
        raise NoClearOperand(f"nothing was read that is {_describe_pattern(rows.pattern)}")
    return name


def _find_row_list(pattern: OperandPattern, inputs: FigureInputs) -> tuple[SeenRecord, ...]:
    """The rows of the list that has all rows of the kind: among the lists within an anchor's record, or if there are
    none, among all. Raises ``NoClearOperand`` if there is no list, or none has all rows.
    """
    of_kind = _build_kind_test(inputs.links.records, pattern.kinds)
    lists: dict[tuple[str, str], list[SeenRecord]] = {}
    for record in inputs.links.records:
        if record.rows is not None and of_kind(record):
            lists.setdefault((record.fact.ref, record.rows), []).append(record)
    fields = pattern.fields
    if fields:
        with_field = {path: rows for path, rows in lists.items() if any(row.find_field(fields) for row in rows)}
        lists = with_field or lists
    candidates = [rows for path, rows in lists.items() if _is_list_within_anchor(path, inputs.anchors)] or list(
        lists.values()
    )
    if not candidates:
        raise NoClearOperand(f"no list of {_describe_kind(pattern)} was read")
    identities = [{record.identity for record in rows} for rows in candidates]
    for rows, identities_of_rows in zip(candidates, identities, strict=True):
        if all(map(identities_of_rows.issuperset, identities)):
            return tuple(rows)
    raise NoClearOperand(f"there are {len(candidates)} lists of {_describe_kind(pattern)}, and none holds all rows")


def _is_list_within_anchor(place: tuple[str, str], anchors: Sequence[SeenRecord]) -> bool:
    """Whether a list, given by its fact's reference and its path, lies within the record of an anchor."""
    ref, path = place
    return any(anchor.fact.ref == ref and anchor.rows != path and path.startswith(anchor.path) for anchor in anchors)


def _build_choice_conditions(
    choice: RowChoice, records: Sequence[SeenRecord], inputs: FigureInputs
) -> list[tuple[str, ...]]:
    """A choice of the pattern as alternatives for these rows, each of conditions that must all hold.

    Values that a field may have are one alternative each; values that it must not have are one together; ``[()]``
    chooses every row.

    Raises ``NoClearOperand`` if the rows lack a field that must have a value, if no anchor has the value to compare
    with, or if the task is to choose among several values and names none.
    """
    field = next((name for record in records if (name := record.find_field(choice.fields)) is not None), None)
    if choice.sign == "~":
        return _conditions_from_task(field, records, inputs.task)
    is_own = choice.values == (OWN_VALUE_MARK,)
    own_value = _find_value_in_anchor(choice, inputs) if is_own else None
    if field is None:
        if choice.sign == "!=" and not is_own:
            return [()]
        raise NoClearOperand(f"the rows have no {choice.fields[0]}")
    if is_own:
        return [(format_condition(field, choice.sign, own_value),)]
    values = _spell_choice_as_in_rows(field, choice, records)
    conditions = [format_condition(field, choice.sign, value) for value in values]
    return [tuple(conditions)] if choice.sign == "!=" else [(condition,) for condition in conditions]


def _spell_choice_as_in_rows(field: str, choice: RowChoice, records: Sequence[SeenRecord]) -> list[Json]:
    """The values of the choice as the rows write them, in any case; the pattern's first if no row has one."""
    present = _values_by_text(field, records)
    names = [value.replace("_", " ") for value in choice.values]
    values = [value for text, value in present.items() if text.replace("_", " ") in names]
    return values or [choice.values[0]]


def _find_value_in_anchor(choice: RowChoice, inputs: FigureInputs) -> Json:
    """The value of the choice's field in the first anchor that has it; raises ``NoClearOperand`` if none has."""
    for anchor in inputs.anchors:
        if (field := anchor.find_field(choice.fields)) is not None:
            return anchor.record[field]
    raise NoClearOperand(f"what this is about has no {choice.fields[0]}")


def _conditions_from_task(field: str | None, records: Sequence[SeenRecord], task: str) -> list[tuple[str, ...]]:
    """An alternative for each value of the field that the task names; ``[()]`` if the rows lack the field, or all have
    the same value. Raises ``NoClearOperand`` if they have several and the task names none.
    """
    present = _values_by_text(field, records) if field is not None else {}
    months = [f"{year}-{_MONTHS.index(month.lower()) + 1:02d}" for month, year in _MONTH_PATTERN.findall(task)]
    wording = " ".join([task, *months])
    values = [value for text, value in present.items() if text and is_name_in_text(text, wording)]
    if not values and len(present) > 1:
        raise NoClearOperand(f"the rows have {len(present)} values of {field}, and the task names none")
    return [(format_condition(str(field), "=", value),) for value in values] or [()]


def _list_owner_conditions(
    pattern: OperandPattern, records: Sequence[SeenRecord], inputs: FigureInputs
) -> list[tuple[str, ...]]:
    """The alternatives that keep only the rows which are an anchor, or have an anchor's id in a field for their owner;
    ``[()]`` if the rows have no such field, or the pattern's own choices say whose rows are meant.
    """
    if any(OWN_VALUE_MARK in choice.values for choice in pattern.choices):
        return [()]
    anchors = {anchor.identity for anchor in inputs.anchors}
    anchor_rows = [record for record in records if record.identity in anchors and record.id_field]
    if anchor_rows:
        return [(format_condition(str(record.id_field), "=", record.id),) for record in anchor_rows]
    owners = {*(_write_owner_condition(records, anchor) for anchor in inputs.anchors)}
    owners.discard("")
    return [(owner,) for owner in sorted(owners)] or [()]


def _write_owner_condition(records: Sequence[SeenRecord], anchor: SeenRecord) -> str:
    """The condition that a row belongs to the anchor; empty if the rows have no field for their owner."""
    for key in records[0].record:
        prefix = "_".join(singular_words(key)[:-1])
        if is_id_name(key) and prefix and anchor.has_name_ending_in(prefix) and anchor.id is not None:
            return format_condition(key, "=", anchor.id)
    return ""


def _describe_kind(pattern: OperandPattern) -> str:
    return pattern.kinds[0].replace("_", " ")


def _values_by_text(field: str, records: Sequence[SeenRecord]) -> dict[str, Json]:
    """The different values of a field in the rows, by their text in lower case."""
    values = [record.record.get(field) for record in records]
    return {as_text(value).strip().casefold(): value for value in values}
