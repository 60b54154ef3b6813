"""Sums a change's figures over all calls of the task, and all rows of each call, that may concern the same record: a
limit holds for them together, however an amount is split (I2).

Two calls concern different records only where that is certain: they name different records of the kind that the tool is
about; or they name no common record, and differ in an argument that can hardly name anything but a record.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from services.executor.core.figures.arguments import (
    ArgumentKind,
    hints_of_argument,
    is_free_text_name,
    kind_of_argument,
)
from services.executor.core.figures.identifiers import identifier_key, kind_of_identifier
from services.executor.core.figures.numbers import read_figure
from services.executor.core.records import seen_records
from services.executor.core.records.binding import CallView, set_field
from services.executor.core.records.call_rows import ArgumentRows, CallRows, rows_of_call
from services.executor.core.records.field_values import (
    Fields,
    UnknownValue,
    common_value,
    fields_of_arguments,
    find_values,
)
from services.executor.core.records.record_graph import GraphNode, build_record_graph
from services.executor.core.session.values import Fact
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import find_leaves, is_id_name
from services.executor.core.tools.toolbox import Toolbox
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject

_OF_A_THING = frozenset({"mass", "length", "volume"})  # what units of these measure is each new record's own
_PARTY_WORDS = frozenset("to for payer payor payee beneficiary recipient debtor creditor party holder owner".split())
_MOST_ROWS = 100  # of a call that are told apart one by one; beyond it those with just the same names are one
_MOST_RECORDS = 300  # that rows of a call are told apart by: each is compared with each
_OF_ONE = frozenset(
    "per rate ratio percent pct percentage price share year month priority level score value reading start end".split()
)
_NO_PARTY = frozenset({ArgumentKind.DATE, ArgumentKind.CHOICE, ArgumentKind.FREE_TEXT})
_NAMING_KINDS = frozenset({ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT, ArgumentKind.RECIPIENT})


class _NamingArgument(NamedTuple):
    """An argument's value that may name a record. ``nodes``: the records read so far that have this value as a name."""

    argument: str
    reference: seen_records.RecordReference
    nodes: Sequence[GraphNode]

    @property
    def names(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yields every name of the record: a word for its kind, and an identifier in comparable form."""
        yield seen_records.name_of_kind(self.reference.noun), identifier_key(self.reference.text)
        for node in self.nodes:
            yield from (
                (seen_records.name_of_kind(node.kind), identifier_key(one)) for one in (*node.ids, *node.names[1])
            )

    @property
    def is_surely_identifier(self) -> bool:
        """Whether the value can hardly be anything but a record's identifier; a plain number may be an amount."""
        one = self.reference
        if self.nodes:
            return True
        if seen_records.may_describe_request(one.noun):
            return False
        if one.must_exist and (one.is_id or not one.is_number):
            return True
        return (
            kind_of_identifier(one.text) is not None
            and kind_of_argument("_".join(one.noun), {}, one.value) in _NAMING_KINDS
        )


_Names: TypeAlias = frozenset[tuple[str, tuple[str, ...]]]
_Values: TypeAlias = frozenset[tuple[str, ...]]


class _RecordNames(NamedTuple):
    """The names of records in a call. ``sure``: the arguments that certainly name a record; two different values of one
    such argument are two records.
    """

    names: _Names
    sure: frozenset[tuple[str, seen_records.Noun, bool]]


class _CallRecords(NamedTuple):
    """The records that a call may concern.

    ``own``: records of the kind that its tool is about; ``all``: every value that may name a record. ``parties``:
    payers, payees and the like, by argument name; ``ids``: values of arguments that are ids by name. Parties decide
    whether two calls may concern one record where no record is known; ids do so for calls that make records.
    """

    own: _RecordNames
    all: _RecordNames
    makes: bool
    is_for_none: bool
    parties: Mapping[str, _Values]
    ids: Mapping[str, _Values]


class _Summand(NamedTuple):
    """One figure of a call, or of one row of its lists, with the records that it may concern.

    ``alone``: the records that the row names by itself, by which rows of one call are told apart; None if it names
    none.
    """

    figure: Decimal
    records: _CallRecords
    call: PlannedCall
    alone: _CallRecords | None = None

    def may_concern_same_record(self, other: "_Summand") -> bool:
        if self is other or self.alone is None or other.alone is None or self.call is not other.call:
            return self is other or _may_concern_same_record(self.records, other.records)
        return _may_concern_same_record(self.alone, other.alone)


class CallSums:
    """Sums of figures over the calls that a task ``made`` or plans; its ``facts`` and tools say which records they
    concern.

    ``together``: for each rule that names several tools, the names of those tools.
    """

    def __init__(
        self,
        made: Sequence[PlannedCall],
        facts: Sequence[Fact],
        toolbox: Toolbox,
        together: Sequence[frozenset[str]] = (),
    ) -> None:
        self._made, self._together = made, together
        self._toolbox = toolbox
        self._graph = build_record_graph(tuple(facts), toolbox.keys)
        self._given: dict[str, CallRows] = {}
        self._records: dict[tuple[str, int], _CallRecords] = {}

    def sum_figures(
        self,
        call: PlannedCall,
        view: CallView,
        bound: Mapping[str, Json],
        names: Iterable[str],
        in_rows: Mapping[str, Sequence[Decimal]] = MappingProxyType({}),
    ) -> JsonObject:
        """For each figure of the call that rules may use, its sum over all calls and rows that may concern the same
        record; where the call concerns several records, the greatest of these sums. A figure that nothing is added to
        is left out, if rules judge it anyway: as the call's field, or row by row.

        ``bound``: the call's fields; ``names``: names that rules use, also with a kind as in ``credit.amount``;
        ``in_rows``: for fields that are judged row by row, the figures of these rows.
        """
        if call not in self._made:  # a compensation is made in place of another call
            return {}
        others = [one for one in self._made if one != call and self._shares_limit(one, call)]
        given = [key for key, _ in fields_of_arguments(call.arguments) if "." not in key]
        sums: JsonObject = {}
        for name in dict.fromkeys((*given, *names)):
            own = [*self._summands_of_call(call, name, view)]
            if not own or self._is_id_or_measure(name, own[0].figure, call):
                continue
            every = [*own, *(share for one in others for share in self._summands_of_call(one, name, view))]
            added = [[one.figure for one in every if one.may_concern_same_record(share)] for share in own]
            total = max(map(_sum_without_offset, added), key=abs)
            is_judged = total == read_figure(bound.get(name)) or (
                name in in_rows and sorted(share.figure for share in own) == sorted(in_rows[name])
            )
            if any(len(figures) > 1 for figures in added) or ("." not in name and not is_judged):
                if "." in name:
                    sums.setdefault(name.partition(".")[0], bound.get(name.partition(".")[0]))
                set_field(sums, name, total)
        return sums

    def _summands_of_call(self, call: PlannedCall, name: str, view: CallView) -> Sequence[_Summand]:
        """The call's figure of that name, or the figures of its rows, whichever sum is greater: a figure beside the
        rows may be their total, or the default for rows without a figure of their own.
        """
        given = self._given.get(call.arguments_json)
        if given is None:
            given = self._given[call.arguments_json] = rows_of_call(call.arguments)
        return self._summands_of_row(given, None, call, name, view)

    def _summands_of_row(
        self, given: CallRows, default: Decimal | None, call: PlannedCall, name: str, view: CallView
    ) -> list[_Summand]:
        own = _read_argument_figure(name, given.fields, view)
        said = default if own is None else own
        whole = (
            []
            if said is None
            else [self._build_summand(said * self._count_repeated_id(given, call, name), given, call)]
        )
        for group in given.groups:
            rows = self._summands_of_group(group, said, given, call, name, view)
            if _sum_summands(rows) > _sum_summands(whole):
                whole = rows
        return whole

    def _summands_of_group(
        self,
        group: ArgumentRows,
        default: Decimal | None,
        given: CallRows,
        call: PlannedCall,
        name: str,
        view: CallView,
    ) -> list[_Summand]:
        """The figures of a group of rows. ``default``, the figure beside them, counts for each row that has none, if
        the rows are what the call is about. Rows that name no record are parts of one thing and count as one.
        """
        named = any(self._names_a_record(call, row) for row in group.rows)
        is_for_each = named and group.is_list and not self._find_call_records(call, given.outer).all.sure
        rows = [
            share
            for row in group.rows
            for share in self._summands_of_row(row, default if is_for_each else None, call, name, view)
        ]
        if default is not None and sum(share.figure for share in rows) == default:
            return []  # the one on top is their total
        if rows and not self._is_additive(call, name):  # the greatest, for itself
            return [max(rows, key=lambda share: abs(share.figure))]
        if named and len(rows) > _MOST_ROWS:
            rows = _merge_same_records(rows)
        if rows and (not named or len(rows) > _MOST_RECORDS):
            return [
                _Summand(
                    _sum_without_offset([one.figure for one in rows]),
                    self._find_call_records(call, given.arguments),
                    call,
                )
            ]
        return rows

    def _count_repeated_id(self, given: CallRows, call: PlannedCall, name: str) -> int:
        """How often one id occurs in a list of ids: an amount beside the list counts once for each."""
        if not self._is_additive(call, name) or "total" in seen_records.singular_words(name):
            return 1
        most = 1
        for leaf in find_leaves(given.arguments):
            items = leaf.value if isinstance(leaf.value, list) else []
            found = (seen_records.reference_of(leaf.name, item, (), self._graph.keys) for item in items)
            most = max([most, *Counter(identifier_key(one.text) for one in found if one and one.is_id).values()])
        return most

    def _is_additive(self, call: PlannedCall, name: str) -> bool:
        """Whether figures of this name add up over rows: amounts and counts do; prices, shares and years do not."""
        said = seen_records.singular_words(name.rpartition(".")[2])
        hints = hints_of_argument(name.rpartition(".")[2], self._schema_of(call, name), 1)
        is_money = hints.is_in_minor_units or hints.is_in_major_units  # then a value is an amount: ``value_cents``
        of_one = _OF_ONE - {"value", "share"} if is_money else _OF_ONE
        is_of_one = not of_one.isdisjoint(said) or (len(said) > 1 and "unit" in said)
        return hints.kind in (ArgumentKind.AMOUNT, ArgumentKind.QUANTITY) and not is_of_one

    def _shares_limit(self, other: PlannedCall, call: PlannedCall) -> bool:
        """Whether one limit covers both calls: they use the same tool, or two tools that one rule names."""
        return other.tool == call.tool or any({other.tool, call.tool} <= names for names in self._together)

    def _is_id_or_measure(self, name: str, value: Decimal, call: PlannedCall) -> bool:
        """Whether a figure is a record's identifier, or a measure, such as the weight, of the record to be made."""
        reference = seen_records.reference_of(name.rpartition(".")[2], int(value), (), self._graph.keys)
        if (
            reference is not None
            and reference.must_exist
            and (reference.is_id or self._graph.find_referenced_records(reference))
        ):
            return True
        unit = (
            hints_of_argument(name, self._schema_of(call, name), value).unit
            if seen_records.makes_record(call.tool)
            else None
        )
        return unit is not None and unit.measure in _OF_A_THING

    def _schema_of(self, call: PlannedCall, argument: str) -> JsonObject:
        tool = self._toolbox.find_tool(call.connection_id, call.tool)
        return tool.parameters.get(argument, {}) if tool else {}

    def _build_summand(self, figure: Decimal, row: CallRows, call: PlannedCall) -> _Summand:
        alone = self._find_call_records(call, row.alone, row.key) if self._names_a_record(call, row) else None
        return _Summand(figure, self._find_call_records(call, row.arguments), call, alone)

    def _names_a_record(self, call: PlannedCall, row: CallRows) -> bool:
        alone = self._find_call_records(call, row.alone, row.key)
        return bool(alone.own.names or alone.all.sure or alone.parties)

    def _find_call_records(self, call: PlannedCall, arguments: JsonObject, row_key: str = "") -> _CallRecords:
        key = (call.tool, id(arguments))  # which lasts as long as this object: ``_given`` holds it
        if key not in self._records:
            about, makes = seen_records.noun_of_tool(call.tool, self._graph.keys), seen_records.makes_record(call.tool)
            told = [*self._find_naming_arguments(call, arguments, about)]
            own = [one for one in told if any(seen_records.are_same_kind(node.kind, about) for node in one.nodes)]
            own = own or [one for one in told if any(seen_records.is_aspect_of(node.kind, about) for node in one.nodes)]
            others = told
            if makes:  # the keys of what is made tell of nobody for whom it is
                others, own = (
                    [one for one in told if one.nodes or not seen_records.are_same_kind(one.reference.noun, about)],
                    [],
                )
            parties, ids = self._find_parties_and_ids(call, arguments)
            every = _RecordNames(_collect_names(told).names, _collect_names(others).sure)
            if row_key:
                names = every.names | {("", identifier_key(row_key))}
                every = _RecordNames(names, every.sure | {("", (), row_key.isdigit())})
            self._records[key] = _CallRecords(_collect_names(own), every, makes, makes and not others, parties, ids)
        return self._records[key]

    def _find_naming_arguments(
        self, call: PlannedCall, arguments: JsonObject, about: seen_records.Noun
    ) -> Iterator[_NamingArgument]:
        """Yields the arguments' values that may name a record. Prose is left out, and so are words of a closed list,
        unless a record of that name was read.
        """
        for argument, value in arguments.items():
            is_choice = not self._schema_of(call, argument).keys().isdisjoint(("enum", "const"))
            for one in seen_records.references_in({argument: value}, about, self._graph.keys):
                told = _NamingArgument(
                    "" if isinstance(value, dict) else argument, one, self._graph.find_referenced_records(one)
                )
                is_prose = not one.is_id and is_free_text_name("_".join(one.noun))
                if is_prose or (is_choice and not told.nodes):
                    continue
                if told.is_surely_identifier or self._may_be_identifier(one, about):
                    yield told

    def _find_parties_and_ids(
        self, call: PlannedCall, arguments: JsonObject
    ) -> tuple[Mapping[str, _Values], Mapping[str, _Values]]:
        """The parties and the ids among a call's arguments, without dates and words of a closed list."""
        parties: dict[str, _Values] = {}
        ids: dict[str, _Values] = {}
        for leaf in find_leaves(arguments):
            noun, schema = seen_records.singular_words(leaf.name), self._schema_of(call, leaf.path[0])
            is_party = not _PARTY_WORDS.isdisjoint(
                {*noun[-1:], *(word for name in leaf.names[:-1] for word in seen_records.singular_words(name))}
            )
            for value in leaf.value if isinstance(leaf.value, list) else [leaf.value]:
                text, is_count = seen_records.comparable_id(value), isinstance(value, int) and len(noun) > 1
                is_length = text is not None and text[:1].isdecimal() and " " in text
                if text is None or is_length or kind_of_argument(leaf.name, schema, value) in _NO_PARTY:
                    continue
                name = "_".join(noun)
                is_named = isinstance(value, str) and seen_records.name_of_kind(noun) in seen_records.COMMON_KINDS
                if is_id_name(leaf.name):
                    ids[name] = ids.get(name, frozenset()) | {identifier_key(text)}
                elif is_named or (is_party and not is_count):  # "Ann" may be Ann Lee
                    parties[name] = parties.get(name, frozenset()) | {(word,) for word in words_of(text)}
        return parties, ids

    def _may_be_identifier(self, reference: seen_records.RecordReference, about: seen_records.Noun) -> bool:
        """Whether a value may name a record although only its argument's name says so. A number under the name of what
        the tool is about may be an amount.
        """
        kind = seen_records.name_of_kind(reference.noun)
        if reference.is_number:
            return kind in self._record_kinds and not seen_records.are_same_kind(reference.noun, about)
        return kind in self._record_kinds or kind in seen_records.COMMON_KINDS

    @cached_property
    def _record_kinds(self) -> frozenset[str]:
        """One word for each kind of record that was read or that a tool is about."""
        nouns = [seen_records.noun_of_tool(tool.name, self._graph.keys) for tool in self._toolbox.tools.values()]
        return frozenset(map(seen_records.name_of_kind, (*nouns, *(node.kind for node in self._graph.nodes)))) - {""}


def _merge_same_records(rows: Iterable[_Summand]) -> list[_Summand]:
    """The summands, with those that name exactly the same records merged into one."""
    found: dict[_Names, list[_Summand]] = {}
    for row in rows:
        found.setdefault((row.alone or row.records).all.names, []).append(row)
    return [some[0]._replace(figure=_sum_without_offset([one.figure for one in some])) for some in found.values()]


def _sum_summands(summands: Iterable[_Summand]) -> Decimal:
    return abs(_sum_without_offset([share.figure for share in summands]))


def _sum_without_offset(figures: Sequence[Decimal]) -> Decimal:
    """The sum of the positive or of the negative figures, whichever is greater: credits do not offset charges."""
    above, below = (sum((one for one in figures if (one > 0) is is_above), Decimal()) for is_above in (True, False))
    return above if above >= -below else below


def _collect_names(arguments: Sequence[_NamingArgument]) -> _RecordNames:
    sure = (
        (one.argument, one.reference.noun, one.reference.is_number)
        for one in arguments
        if one.is_surely_identifier and (one.nodes or one.reference.noun)  # a bare ``reference`` may be the call's own
    )
    return _RecordNames(frozenset(name for one in arguments for name in one.names), frozenset(sure))


def _may_concern_same_record(one: _CallRecords, other: _CallRecords) -> bool:
    """Whether two calls covered by one limit may be about the same record, or make new records for the same party."""
    ours, theirs = (one.own, other.own) if one.own.names and other.own.names else (one.all, other.all)
    if not ours.names.isdisjoint(theirs.names):
        return True
    if ours.sure.isdisjoint(theirs.sure):
        if parties := one.parties.keys() & other.parties.keys():
            return not any(one.parties[name].isdisjoint(other.parties[name]) for name in parties)
        if ids := one.makes and one.ids.keys() & other.ids.keys():
            return not all(one.ids[name].isdisjoint(other.ids[name]) for name in ids)
    return not (one.is_for_none or other.is_for_none) and ours.sure.isdisjoint(theirs.sure)


def _read_argument_figure(name: str, fields: Fields, view: CallView) -> Decimal | None:
    """The figure that a call's arguments give for a rule's field; None if only a record gives it, or nothing."""
    if "." in name:
        said = [value for path, value in fields if path == name]
    else:
        said = [] if view.aliases_of_recorded_field(name) else find_values(name, fields, view.subject_kinds)
    value = common_value(said) if said else None
    return None if isinstance(value, UnknownValue) else read_figure(value)
