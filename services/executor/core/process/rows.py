"""The rows that a figure is computed from: which list they are in, which of them count, and the paths to them."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import NamedTuple

from services.executor.core.figures.numbers import read_figure
from services.executor.core.figures.vocabulary import is_currency
from services.executor.core.records.record_graph import GraphNode, RecordGraph
from services.executor.core.records.seen_records import SeenRecord, are_same_kind, occurs_in, singular_words
from services.executor.core.session.values import Operand
from services.executor.core.states.machine import OWN, Figure, OperandPattern, RowChoice
from services.executor.core.tools.record_tree import format_condition, is_id_name
from shared.domain.exact_json import Json, as_text, dumps

_MOST_LINKS = 4
_DATE = re.compile(r"\d{4}-\d\d")
_SAYS_LITTLE = frozenset(
    """id name number code status state type kind category currency unit priority severity description note notes reason
    year level role risk region title subject message""".split()
)


class RecordLinks:
    """The links between all records that were read."""

    def __init__(self, graph: RecordGraph) -> None:
        self._graph = graph
        self.records = [node.seen for node in graph.nodes]

    def find_nearest(self, anchors: Sequence[SeenRecord], wanted: Callable[[SeenRecord], bool]) -> list[SeenRecord]:
        """The wanted records that are the fewest links away from the anchors; empty if no path leads to one.

        Only references count as links at first; if they lead nowhere, equal texts do, too. A path leads through no
        record of an anchor's kind.
        """
        kinds = {name[-1] for anchor in anchors for name in anchor.names if name}
        known = {anchor.identity for anchor in anchors}

        def is_step(record: SeenRecord) -> bool:
            of_kind = any(name and name[-1] in kinds for name in record.names)
            return not of_kind or record.identity in known or wanted(record)

        steps = [node for node in self._graph.nodes if is_step(node.seen)]
        near = [node for node in steps if node.seen.identity in known]
        ways = (self._walk_links(near, steps, wanted, linked) for linked in (self._referring_ids, self._linked_ids))
        return next((found for found in ways if found), [])

    def _walk_links(
        self,
        near: list[GraphNode],
        steps: list[GraphNode],
        wanted: Callable[[SeenRecord], bool],
        linked: Callable[[Sequence[GraphNode]], set[int]],
    ) -> list[SeenRecord]:
        for _ in range(_MOST_LINKS + 1):
            if found := [node.seen for node in near if wanted(node.seen)]:
                return found
            steps = [node for node in steps if node not in near]
            reached = linked(near)
            near = [node for node in steps if id(node) in reached]
        return []

    def _referring_ids(self, nodes: Sequence[GraphNode]) -> set[int]:
        return {
            id(other)
            for node in nodes
            for other in (*self._graph.linked_records(node), *self._graph.referring_records(node))
        }

    def _linked_ids(self, nodes: Sequence[GraphNode]) -> set[int]:
        sharing = (other for node in nodes for text in _linking_texts(node.seen) for other in self._nodes_by_text[text])
        return self._referring_ids(nodes) | set(map(id, sharing))

    @cached_property
    def _nodes_by_text(self) -> Mapping[str, Sequence[GraphNode]]:
        table: dict[str, list[GraphNode]] = {}
        for node in self._graph.nodes:
            for text in _linking_texts(node.seen):
                table.setdefault(text, []).append(node)
        return table

    def belongs_to_another(self, record: SeenRecord, anchor: SeenRecord) -> bool:
        """Whether the record refers to another record of the anchor's kind."""
        one, other = self._graph.node_of(record), self._graph.node_of(anchor)
        own = frozenset().union(*other.names)
        told = (found for found in one.references if found.is_id and are_same_kind(found.noun, other.kind))
        return any(found.text not in own for found in told)


def _linking_texts(record: SeenRecord) -> set[str]:
    """A ``field=text`` for each text that can link records. Equal figures and dates are chance and do not count."""
    return {
        f"{key.lower()}={value.strip().casefold()}"
        for key, value in record.record.items()
        if key.lower() not in _SAYS_LITTLE
        and isinstance(value, str)
        and value.strip()
        and read_figure(value) is None
        and not _DATE.match(value.strip())
    }


COUNTS = frozenset({"count"})
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = re.compile(rf"\b({'|'.join(_MONTHS)})\s+(\d{{4}})\b", re.IGNORECASE)


class OperandNotFound(LookupError):
    """The facts have nothing for an operand; the message names it."""


class AmbiguousOperand(LookupError):
    """The facts have several things for an operand, and it is unclear which is meant."""


def ids_of_figure_kind(figure: Figure, records: Sequence[SeenRecord]) -> frozenset[str]:
    """The ids of those of the records that are of the figure's kind."""
    wanted = figure.kinds
    of_kind = (record for record in records if any(record.name_ends_in(kind) for kind in wanted))
    return frozenset(str(record.id).casefold() for record in of_kind if record.id is not None)


class FigureInputs(NamedTuple):
    """What a figure is computed from: the records that it is about, the task, and the links between all records."""

    anchors: Sequence[SeenRecord]
    task: str
    links: RecordLinks


class RowGroup(NamedTuple):
    """The rows that have one value in a field."""

    fields: tuple[str, ...]
    value: Json


class ChosenRows(NamedTuple):
    """All rows of one list, and which of them are chosen: those that meet all conditions of one alternative."""

    pattern: OperandPattern
    records: tuple[SeenRecord, ...]
    alternatives: tuple[tuple[str, ...], ...]

    @property
    def first(self) -> SeenRecord:
        return self.records[0]

    def distinct_values(self, fields: Sequence[str]) -> list[Json]:
        """The different values of a field in the rows; raises ``OperandNotFound`` if a row has none."""
        found: dict[str, Json] = {}
        for record in self.records:
            field = record.find_field(fields)
            if field is None:
                raise OperandNotFound(f"not every row has a {fields[0]}")
            found.setdefault(dumps(record.record[field]), record.record[field])
        return list(found.values())


def find_pattern_operands(pattern: OperandPattern, inputs: FigureInputs, operation: str) -> list[Operand]:
    """The figure that the pattern describes, and its currency. Raises ``OperandNotFound`` or ``AmbiguousOperand``."""
    record, field = _find_single_match(pattern, inputs)
    found = [Operand(source="result", ref=record.fact.ref, path=field_path(record.path, field))]
    currency = record.record.get("currency")
    if operation not in COUNTS and isinstance(currency, str) and is_currency(currency):
        found.append(Operand(source="result", ref=record.fact.ref, path=field_path(record.path, "currency")))
    return found


def build_kind_test(records: Sequence[SeenRecord], kinds: Sequence[str]) -> Callable[[SeenRecord], bool]:
    """A test of whether a record is of one of the kinds; if no record is, of whether its name contains the kind."""
    if any(record.name_ends_in(kind) for record in records for kind in kinds):
        return lambda record: any(record.name_ends_in(kind) for kind in kinds)
    return lambda record: any(record.has_kind_in_name(kind) for kind in kinds)


def describe_pattern(pattern: OperandPattern) -> str:
    return f"the {' or '.join(pattern.fields[:2])} of the {pattern.kinds[0].replace('_', ' ')}"


def field_path(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def choose_rows(pattern: OperandPattern, inputs: FigureInputs) -> ChosenRows:
    """The list that the pattern describes, with its chosen rows. Raises ``OperandNotFound`` or ``AmbiguousOperand``."""
    records = _find_row_list(pattern, inputs)
    if not all(record.is_fully_read for record in records):
        raise OperandNotFound(f"not all rows of the list of {_describe_kind(pattern)} were read")
    found = [
        *(_choice_conditions(choice, records, inputs) for choice in pattern.choices),
        _list_owner_conditions(pattern, records, inputs),
    ]
    alternatives = tuple(tuple(one for part in parts for one in part) for parts in product(*found))
    return ChosenRows(pattern, records, alternatives)


def group_rows(rows: Sequence[ChosenRows], by: str) -> list[RowGroup | None]:
    """A group for each value of the field ``by``; a single None if ``by`` is empty. Raises ``OperandNotFound`` if there
    are no rows, or a row has no such field.
    """
    if not by:
        return [None]
    if not rows:
        raise OperandNotFound(f"there are no rows to group by {by}")
    fields = tuple(by.split("|"))
    return [RowGroup(fields, value) for value in rows[0].distinct_values(fields)]


def build_row_operands(rows: ChosenRows, operation: str, group: RowGroup | None) -> list[Operand]:
    """For each alternative, the path to the field of the chosen rows, and to their currency if they have one."""
    found = []
    for conditions in rows.alternatives:
        steps = "".join(f"[{one}]" for one in (*conditions, *_conditions_of_group(rows, group)))
        path = f"{rows.first.rows}{steps or '[*]'}"
        found.append(_build_operand(rows, path, _common_field_name(rows)))
        if operation not in COUNTS and is_currency(rows.first.record.get("currency")):
            found.append(_build_operand(rows, path, "currency"))
    return found


def _find_single_match(pattern: OperandPattern, inputs: FigureInputs) -> tuple[SeenRecord, str]:
    of_kind = build_kind_test(inputs.links.records, pattern.kinds)

    def is_wanted(record: SeenRecord) -> bool:
        return record.find_field(pattern.fields) is not None and of_kind(record)

    found = inputs.links.find_nearest(inputs.anchors, is_wanted) or _unlinked_records(inputs, is_wanted)
    values = {
        (record.identity, dumps(record.record[field]))
        for record in found
        if (field := record.find_field(pattern.fields)) is not None
    }
    if not values:
        raise OperandNotFound(f"nothing was read that is {describe_pattern(pattern)}")
    if len(values) > 1:
        raise AmbiguousOperand(f"there are {len(values)} different things that could be {describe_pattern(pattern)}")
    return next((record, field) for record in found if (field := record.find_field(pattern.fields)) is not None)


def _unlinked_records(inputs: FigureInputs, wanted: Callable[[SeenRecord], bool]) -> list[SeenRecord]:
    """The wanted records that do not refer to another record of an anchor's kind."""
    found = [record for record in inputs.links.records if wanted(record)]
    strangers = [
        record for record in found if any(inputs.links.belongs_to_another(record, anchor) for anchor in inputs.anchors)
    ]
    return [record for record in found if record not in strangers]


def _build_operand(rows: ChosenRows, path: str, field: str) -> Operand:
    return Operand(source="result", ref=rows.first.fact.ref, path=field_path(path, field) if field else path)


def _conditions_of_group(rows: ChosenRows, group: RowGroup | None) -> tuple[str, ...]:
    field = rows.first.find_field(group.fields) if group else None
    return (format_condition(field, "=", group.value),) if group and field else ()


def _common_field_name(rows: ChosenRows) -> str:
    """The name of the pattern's field, the same in all rows; empty where the rows themselves are counted. Raises
    ``OperandNotFound`` if the rows do not have it under one name.
    """
    if not rows.pattern.fields:
        return ""
    names = {record.find_field(rows.pattern.fields) for record in rows.records}
    name = rows.first.find_field(rows.pattern.fields)
    if name is None or len(names) > 1:
        raise OperandNotFound(f"nothing was read that is {describe_pattern(rows.pattern)}")
    return name


def _find_row_list(pattern: OperandPattern, inputs: FigureInputs) -> tuple[SeenRecord, ...]:
    """The rows of the list that has all rows of the kind: among the lists within an anchor's record, or if there are
    none, among all. Raises ``OperandNotFound`` if there is no list, and ``AmbiguousOperand`` if none has all rows.
    """
    of_kind = build_kind_test(inputs.links.records, pattern.kinds)
    lists: dict[tuple[str, str], list[SeenRecord]] = {}
    for record in inputs.links.records:
        if record.rows is not None and of_kind(record):
            lists.setdefault((record.fact.ref, record.rows), []).append(record)
    fields = pattern.fields
    lists = {
        place: found
        for place, found in lists.items()
        if not fields or any(row.find_field(fields) is not None for row in found)
    } or lists
    own = [
        found
        for (ref, path), found in lists.items()
        if any(one.fact.ref == ref and one.rows != path and path.startswith(one.path) for one in inputs.anchors)
    ]
    candidates = own or list(lists.values())
    if not candidates:
        raise OperandNotFound(f"no list of {_describe_kind(pattern)} was read")
    every = {record.identity for found in candidates for record in found}
    whole = [found for found in candidates if {record.identity for record in found} == every]
    if not whole:
        raise AmbiguousOperand(
            f"there are {len(candidates)} lists of {_describe_kind(pattern)}, and none holds all rows"
        )
    return tuple(whole[0])


def _choice_conditions(choice: RowChoice, records: Sequence[SeenRecord], inputs: FigureInputs) -> list[tuple[str, ...]]:
    """One condition of the pattern, as written for these rows: alternatives, each of conditions that hold together."""
    field = next((name for record in records if (name := record.find_field(choice.fields)) is not None), None)
    if choice.sign == "~":
        return _conditions_from_task(field, records, inputs.task)
    is_own = choice.values == (OWN,)
    own = _anchor_value(choice, inputs) if is_own else None
    if field is None and choice.sign == "!=" and not is_own:
        return [()]
    if field is None:
        raise OperandNotFound(f"the rows have no {choice.fields[0]}")
    if is_own:
        return [(format_condition(field, choice.sign, own),)]
    conditions = [format_condition(field, choice.sign, value) for value in _values_as_written(field, choice, records)]
    return [tuple(conditions)] if choice.sign == "!=" else [(one,) for one in conditions]


def _values_as_written(field: str, choice: RowChoice, records: Sequence[SeenRecord]) -> list[Json]:
    """The values of the choice as the rows write them, in any case; the pattern's first if no row has one."""
    present = {_fold_case(record.record.get(field)): record.record.get(field) for record in records}
    wanted = [value.replace("_", " ") for value in choice.values]
    found = [value for text, value in present.items() if text.replace("_", " ") in wanted]
    return found or [choice.values[0]]


def _anchor_value(choice: RowChoice, inputs: FigureInputs) -> Json:
    for anchor in inputs.anchors:
        field = anchor.find_field(choice.fields)
        if field is not None:
            return anchor.record[field]
    raise OperandNotFound(f"what this is about has no {choice.fields[0]}")


def _conditions_from_task(field: str | None, records: Sequence[SeenRecord], task: str) -> list[tuple[str, ...]]:
    if field is None:
        return [()]
    present = {_fold_case(record.record.get(field)): record.record.get(field) for record in records}
    months = [f"{year}-{_MONTHS.index(month.lower()) + 1:02d}" for month, year in _MONTH.findall(task)]
    said = " ".join([task, *months])
    named = [value for text, value in present.items() if text and occurs_in(text, said)]
    if named:
        return [(format_condition(field, "=", value),) for value in named]
    if len(present) > 1:
        raise AmbiguousOperand(f"the rows have {len(present)} values of {field}, and the task names none")
    return [()]


def _list_owner_conditions(
    pattern: OperandPattern, records: Sequence[SeenRecord], inputs: FigureInputs
) -> list[tuple[str, ...]]:
    """The conditions that keep only the rows of what the figure is about."""
    if any(OWN in choice.values for choice in pattern.choices):
        return [()]
    anchors = {anchor.identity for anchor in inputs.anchors}
    named = [record for record in records if record.identity in anchors and record.id_field]
    if named:
        return [(format_condition(str(record.id_field), "=", record.id),) for record in named]
    owners = {*(_write_owner_condition(records, anchor) for anchor in inputs.anchors)}
    owners.discard("")
    return [(owner,) for owner in sorted(owners)] or [()]


def _write_owner_condition(records: Sequence[SeenRecord], anchor: SeenRecord) -> str:
    """The condition that a row belongs to the anchor; empty if the rows have no field for their owner."""
    for key in records[0].record:
        prefix = "_".join(singular_words(key)[:-1])
        if is_id_name(key) and prefix and anchor.name_ends_in(prefix) and anchor.id is not None:
            return format_condition(key, "=", anchor.id)
    return ""


def _describe_kind(pattern: OperandPattern) -> str:
    return pattern.kinds[0].replace("_", " ")


def _fold_case(value: Json) -> str:
    return as_text(value).strip().casefold()
