"""A change's figures, summed over the calls of the task that may concern one record: a limit holds for them together,
however an amount is split (I2).

Two calls concern different records only where that is sure: they name different records of the kind that the tool is
about, or none in common and different ones by an argument that can hardly name anything else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

from services.executor.core.figures.arguments import ArgumentKind, hints_of, is_free_text_name, kind_of_argument
from services.executor.core.figures.identifiers import identifier_key, whole_form
from services.executor.core.figures.numbers import figure
from services.executor.core.records.binding import CallView, put_field
from services.executor.core.records.called_records import (
    COMMON_KINDS,
    Noun,
    RecordReference,
    agree,
    makes_something,
    name_of_kind,
    noun_of_tool,
    reference_of,
    references_in,
    speaks_of,
)
from services.executor.core.records.record_graph import (
    Fields,
    GraphNode,
    Unknown,
    arguments_of,
    find_said,
    one_value,
    record_graph,
)
from services.executor.core.session.values import Fact
from services.executor.core.tools.toolbox import Toolbox
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass

_OF_A_THING = frozenset({"mass", "length", "volume"})  # what units of these measure is each new record's own
_NAMING = frozenset({ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT, ArgumentKind.RECIPIENT})


class _GivenName(NamedTuple):
    """An argument's value that may name a record. ``nodes``: the records that were read of which it is a name."""

    argument: str
    reference: RecordReference
    nodes: Sequence[GraphNode]

    @property
    def names(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yields every name of the record: a word for its kind, and an identifier as identifiers are compared."""
        yield name_of_kind(self.reference.noun), identifier_key(self.reference.text)
        for node in self.nodes:
            yield from ((name_of_kind(node.kind), identifier_key(one)) for one in (*node.names[0], *node.names[1]))

    @property
    def is_sure(self) -> bool:
        """Whether it can hardly be anything but a record's identifier; a plain number may be an amount."""
        one = self.reference
        if self.nodes or (one.must_exist and (one.is_id or not one.is_number)):
            return True
        return whole_form(one.text) is not None and kind_of_argument("_".join(one.noun), {}, one.value) in _NAMING


class _RecordNames(NamedTuple):
    """Records that a call names. ``sure``: the arguments that surely do; two values of one of these are two records."""

    names: frozenset[tuple[str, tuple[str, ...]]]
    sure: frozenset[tuple[str, Noun, bool]]


class _CallRecords(NamedTuple):
    """What a call names. ``own``: the read records of the kind that its tool is about; ``all``: whatever may be one."""

    own: _RecordNames
    all: _RecordNames
    makes: bool


class CallSums:
    """Sums over the calls that a task ``made`` and plans; its ``facts`` and tools tell their records."""

    def __init__(self, made: Sequence[PlannedCall], facts: Sequence[Fact], toolbox: Toolbox) -> None:
        self._made = made
        self._toolbox = toolbox
        self._graph = record_graph(tuple(facts), toolbox.keys)
        self._records: dict[tuple[str, str], _CallRecords] = {}

    def sum_figures(
        self, call: PlannedCall, view: CallView, bound: Mapping[str, Json], asked: Iterable[str]
    ) -> JsonObject:
        """The figures of the call's arguments summed over all calls that may concern its record, by the names that
        rules use; empty where it is the only one. ``bound``: its fields; ``asked``: names, also ``credit.amount``.
        """
        others = [one.arguments for one in self._made if self._adds_to(one, call)]
        if not others or call not in self._made:  # a compensation is made in place of another call
            return {}
        own, *further = (arguments_of(arguments) for arguments in (call.arguments, *others))
        sums: JsonObject = {}
        for name in dict.fromkeys((*(key for key, _ in own if "." not in key), *asked)):
            said = _figure_of(name, own, view)
            if said is None or self._is_no_amount(name, said, call):
                continue
            if "." in name:
                sums.setdefault(name.partition(".")[0], bound.get(name.partition(".")[0]))
            put_field(sums, name, said + sum(_figure_of(name, fields, view) or 0 for fields in further))
        return sums

    def _adds_to(self, one: PlannedCall, call: PlannedCall) -> bool:
        if (one.connection_id, one.tool, one.tool_class) != (call.connection_id, call.tool, ToolClass.CHANGE):
            return False
        return one != call and _may_concern_same(self._records_of(one), self._records_of(call))

    def _is_no_amount(self, name: str, value: Decimal, call: PlannedCall) -> bool:
        """Whether a figure identifies a record, or measures the record that the call makes."""
        reference = reference_of(name.rpartition(".")[2], int(value), (), self._graph.keys)
        if reference is not None and reference.must_exist and (reference.is_id or self._graph.find_meant(reference)):
            return True
        unit = hints_of(name, self._schema_of(call, name), value).unit if makes_something(call.tool) else None
        return unit is not None and unit.measure in _OF_A_THING

    def _schema_of(self, call: PlannedCall, argument: str) -> JsonObject:
        tool = self._toolbox.find(call.connection_id, call.tool)
        return tool.parameters.get(argument, {}) if tool else {}

    def _records_of(self, call: PlannedCall) -> _CallRecords:
        key = (call.tool, call.arguments_json)
        if key not in self._records:
            about, makes = noun_of_tool(call.tool, self._graph.keys), makes_something(call.tool)
            told = [*self._find_told(call, about)]
            own = [one for one in told if any(agree(node.kind, about) for node in one.nodes)]
            own = own or [one for one in told if any(speaks_of(node.kind, about) for node in one.nodes)]
            self._records[key] = _CallRecords(_collect_names([] if makes else own), _collect_names(told), makes)
        return self._records[key]

    def _find_told(self, call: PlannedCall, about: Noun) -> Iterator[_GivenName]:
        """Yields what may name a record: no prose, and no word of a closed list unless it was read as a record."""
        for argument, value in call.arguments.items():
            is_choice = not self._schema_of(call, argument).keys().isdisjoint(("enum", "const"))
            for one in references_in({argument: value}, about, self._graph.keys):
                told = _GivenName(argument, one, self._graph.find_meant(one))
                is_prose = not one.is_id and is_free_text_name("_".join(one.noun))
                if is_prose or (is_choice and not told.nodes):
                    continue
                if told.is_sure or self._is_kind(one, about):
                    yield told

    def _is_kind(self, reference: RecordReference, about: Noun) -> bool:
        """Whether a value of which only the name says so may be a record; what the tool is about may be an amount."""
        kind = name_of_kind(reference.noun)
        if reference.is_number:
            return kind in self._kinds and not agree(reference.noun, about)
        return kind in self._kinds or kind in COMMON_KINDS

    @cached_property
    def _kinds(self) -> frozenset[str]:
        """The kinds of record of which something was read, or that tools are about, by a word for each."""
        nouns = [noun_of_tool(tool.name, self._graph.keys) for tool in self._toolbox.tools.values()]
        return frozenset(map(name_of_kind, (*nouns, *(node.kind for node in self._graph.nodes)))) - {""}


def _collect_names(told: Sequence[_GivenName]) -> _RecordNames:
    sure = ((one.argument, one.reference.noun, one.reference.is_number) for one in told if one.is_sure)
    return _RecordNames(frozenset(name for one in told for name in one.names), frozenset(sure))


def _may_concern_same(one: _CallRecords, other: _CallRecords) -> bool:
    """Whether two calls of one tool may be about one record, or make new ones for one."""
    ours, theirs = (one.own, other.own) if one.own.names and other.own.names else (one.all, other.all)
    if not ours.names.isdisjoint(theirs.names):
        return True
    is_for_none = one.makes and not (ours.names and theirs.names)
    return not is_for_none and ours.sure.isdisjoint(theirs.sure)


def _figure_of(name: str, fields: Fields, view: CallView) -> Decimal | None:
    """The figure that a call's arguments give for a rule's field; None where it is a record's, or not known."""
    if "." in name:
        said = [value for path, value in fields if path == name]
    else:
        said = [] if view.alias_of_recorded(name) else find_said(name, fields, view.kinds)
    value = one_value(said) if said else None
    return None if isinstance(value, Unknown) else figure(value)
