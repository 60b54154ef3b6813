"""A change's figures, summed over the calls of the task that may concern one record, and over the rows of each call: a
limit holds for them together, however an amount is split (I2).

Two calls concern different records only where that is sure: they name different records of the kind that the tool is
about, or none in common and different ones by an argument that can hardly name anything else.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple, TypeAlias

from services.executor.core.figures.arguments import ArgumentKind, hints_of, is_free_text_name, kind_of_argument
from services.executor.core.figures.identifiers import identifier_key, whole_form
from services.executor.core.figures.numbers import figure
from services.executor.core.records import called_records as called
from services.executor.core.records.binding import CallView, put_field
from services.executor.core.records.call_rows import CallRows, RowsBeside, rows_of_call
from services.executor.core.records.record_graph import GraphNode, record_graph
from services.executor.core.records.said_fields import (
    Fields,
    Unknown,
    arguments_of,
    find_said,
    one_value,
)
from services.executor.core.session.values import Fact
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.record_tree import leaves_of, names_a_record
from services.executor.core.tools.toolbox import Toolbox
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject

_OF_A_THING = frozenset({"mass", "length", "volume"})  # what units of these measure is each new record's own
_PARTIES = frozenset("to for payer payor payee beneficiary recipient debtor creditor party holder owner".split())
_MOST_ROWS = 100  # of a call that are told apart one by one; beyond it those with just the same names are one
_MOST_RECORDS = 300  # that rows of a call are told apart by: each is compared with each
_OF_ONE = frozenset(
    "per rate ratio percent pct percentage price share year month priority level score value reading start end".split()
)
_NO_PARTY = frozenset({ArgumentKind.DATE, ArgumentKind.CHOICE, ArgumentKind.FREE_TEXT})
_NAMING = frozenset({ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT, ArgumentKind.RECIPIENT})


class _GivenName(NamedTuple):
    """An argument's value that may name a record. ``nodes``: the records that were read of which it is a name."""

    argument: str
    reference: called.RecordReference
    nodes: Sequence[GraphNode]

    @property
    def names(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yields every name of the record: a word for its kind, and an identifier as identifiers are compared."""
        yield called.name_of_kind(self.reference.noun), identifier_key(self.reference.text)
        for node in self.nodes:
            yield from (
                (called.name_of_kind(node.kind), identifier_key(one)) for one in (*node.names[0], *node.names[1])
            )

    @property
    def is_sure(self) -> bool:
        """Whether it can hardly be anything but a record's identifier; a plain number may be an amount."""
        one = self.reference
        if self.nodes:
            return True
        if called.mostly_of_request(one.noun):
            return False
        if one.must_exist and (one.is_id or not one.is_number):
            return True
        return whole_form(one.text) is not None and kind_of_argument("_".join(one.noun), {}, one.value) in _NAMING


_Names: TypeAlias = frozenset[tuple[str, tuple[str, ...]]]
_Values: TypeAlias = frozenset[tuple[str, ...]]


class _RecordNames(NamedTuple):
    """Records that a call names. ``sure``: the arguments that surely do; two values of one of these are two records."""

    names: _Names
    sure: frozenset[tuple[str, called.Noun, bool]]


class _CallRecords(NamedTuple):
    """What a call names. ``own``: the read records of the kind that its tool is about; ``all``: whatever may be one.

    ``parties``: for whom it may be by words, a payer; ``ids``: whatever is an id by its name, also the request's. Where
    no record is known, a party tells whether two calls are for one, and an id of what makes something.
    """

    own: _RecordNames
    all: _RecordNames
    makes: bool
    is_for_none: bool
    parties: Mapping[str, _Values]
    ids: Mapping[str, _Values]


class _Share(NamedTuple):
    """A figure of a call, or of one row of its lists, and what the call names. ``alone``: what the row itself does, by
    which rows of one call are told apart; None if it tells of nobody.
    """

    figure: Decimal
    records: _CallRecords
    call: PlannedCall
    alone: _CallRecords | None = None

    def may_concern_same(self, other: "_Share") -> bool:
        if self is other or self.alone is None or other.alone is None or self.call is not other.call:
            return self is other or _may_concern_same(self.records, other.records)
        return _may_concern_same(self.alone, other.alone)


class CallSums:
    """Sums over the calls that a task ``made`` and plans; its ``facts`` and tools tell their records.

    ``together``: the names of tools that one rule has in its condition, for each such rule.
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
        self._graph = record_graph(tuple(facts), toolbox.keys)
        self._given: dict[str, CallRows] = {}
        self._records: dict[tuple[str, int], _CallRecords] = {}

    def sum_figures(
        self, call: PlannedCall, view: CallView, bound: Mapping[str, Json], asked: Iterable[str]
    ) -> JsonObject:
        """The figures of the call's arguments summed over all calls and rows that may concern one record, by the names
        that rules use; of several records the greatest. Empty where nothing is added. ``bound``: its fields; ``asked``:
        names, also ``credit.amount``.
        """
        if call not in self._made:  # a compensation is made in place of another call
            return {}
        others = [one for one in self._made if one != call and self._is_like(one, call)]
        given = [key for key, _ in arguments_of(call.arguments) if "." not in key]
        sums: JsonObject = {}
        for name in dict.fromkeys((*given, *asked)):
            own = [*self._shares_of(call, name, view)]
            if not own or self._is_no_amount(name, own[0].figure, call):
                continue
            every = [*own, *(share for one in others for share in self._shares_of(one, name, view))]
            added = [[one.figure for one in every if one.may_concern_same(share)] for share in own]
            total = max(map(_sum_of_one_sign, added), key=abs)
            if any(len(figures) > 1 for figures in added) or ("." not in name and total != figure(bound.get(name))):
                if "." in name:
                    sums.setdefault(name.partition(".")[0], bound.get(name.partition(".")[0]))
                put_field(sums, name, total)
        return sums

    def _shares_of(self, call: PlannedCall, name: str, view: CallView) -> Sequence[_Share]:
        """The call's figure of that name, or that of each of its rows, whichever is more: one on top may be the rows'
        total, or what each is given that has none of its own.
        """
        given = self._given.get(call.arguments_json)
        if given is None:
            given = self._given[call.arguments_json] = rows_of_call(call.arguments)
        return self._shares_in(given, None, call, name, view)

    def _shares_in(
        self, given: CallRows, default: Decimal | None, call: PlannedCall, name: str, view: CallView
    ) -> list[_Share]:
        own = _figure_of(name, given.fields, view)
        said = default if own is None else own
        whole = [] if said is None else [self._share(said * self._times(given, call, name), given, call)]
        for group in given.groups:
            rows = self._shares_of_group(group, said, given, call, name, view)
            if _sum_of(rows) > _sum_of(whole):
                whole = rows
        return whole

    def _shares_of_group(
        self, group: RowsBeside, default: Decimal | None, given: CallRows, call: PlannedCall, name: str, view: CallView
    ) -> list[_Share]:
        """The figures of rows. One on top is for each that has none of its own, where they are what the call is about;
        rows that name no record are parts of one thing.
        """
        named = any(self._tells_whose(call, row) for row in group.rows)
        is_for_each = named and group.is_list and not self._records_of(call, given.outer).all.sure
        rows = [
            share
            for row in group.rows
            for share in self._shares_in(row, default if is_for_each else None, call, name, view)
        ]
        if default is not None and sum(share.figure for share in rows) == default:
            return []  # the one on top is their total
        if rows and not self._adds_up(call, name):  # the greatest, for itself
            return [max(rows, key=lambda share: abs(share.figure))]
        if named and len(rows) > _MOST_ROWS:
            rows = _add_up_by_names(rows)
        if rows and (not named or len(rows) > _MOST_RECORDS):
            return [_Share(_sum_of_one_sign([one.figure for one in rows]), self._records_of(call, given.naming), call)]
        return rows

    def _times(self, given: CallRows, call: PlannedCall, name: str) -> int:
        """How often the arguments name one record in a list of identifiers: an amount beside it is for each time."""
        if not self._adds_up(call, name) or "total" in called.words(name):
            return 1
        most = 1
        for leaf in leaves_of(given.naming):
            items = leaf.value if isinstance(leaf.value, list) else []
            found = (called.reference_of(leaf.name, item, (), self._graph.keys) for item in items)
            most = max([most, *Counter(identifier_key(one.text) for one in found if one and one.is_id).values()])
        return most

    def _adds_up(self, call: PlannedCall, name: str) -> bool:
        """Whether a figure of rows is one that adds up: an amount or a count, no price of one, share or year."""
        said = called.words(name.rpartition(".")[2])
        hints = hints_of(name.rpartition(".")[2], self._schema_of(call, name), 1)
        is_money = hints.is_in_minor_units or hints.is_in_major_units  # then a value is an amount: ``value_cents``
        of_one = _OF_ONE - {"value", "share"} if is_money else _OF_ONE
        is_of_one = not of_one.isdisjoint(said) or (len(said) > 1 and "unit" in said)
        return hints.kind in (ArgumentKind.AMOUNT, ArgumentKind.QUANTITY) and not is_of_one

    def _is_like(self, one: PlannedCall, call: PlannedCall) -> bool:
        """Whether one limit is about both calls: they are of one tool, or of two that a rule names together."""
        return one.tool == call.tool or any({one.tool, call.tool} <= names for names in self._together)

    def _is_no_amount(self, name: str, value: Decimal, call: PlannedCall) -> bool:
        """Whether a figure identifies a record, or measures the record that the call makes."""
        reference = called.reference_of(name.rpartition(".")[2], int(value), (), self._graph.keys)
        if reference is not None and reference.must_exist and (reference.is_id or self._graph.find_meant(reference)):
            return True
        unit = hints_of(name, self._schema_of(call, name), value).unit if called.makes_something(call.tool) else None
        return unit is not None and unit.measure in _OF_A_THING

    def _schema_of(self, call: PlannedCall, argument: str) -> JsonObject:
        tool = self._toolbox.find(call.connection_id, call.tool)
        return tool.parameters.get(argument, {}) if tool else {}

    def _share(self, figure: Decimal, row: CallRows, call: PlannedCall) -> _Share:
        alone = self._records_of(call, row.alone, row.key) if self._tells_whose(call, row) else None
        return _Share(figure, self._records_of(call, row.naming), call, alone)

    def _tells_whose(self, call: PlannedCall, row: CallRows) -> bool:
        alone = self._records_of(call, row.alone, row.key)
        return bool(alone.own.names or alone.all.sure or alone.parties)

    def _records_of(self, call: PlannedCall, naming: JsonObject, row_key: str = "") -> _CallRecords:
        key = (call.tool, id(naming))  # which lasts as long as this object: ``_given`` holds it
        if key not in self._records:
            about, makes = called.noun_of_tool(call.tool, self._graph.keys), called.makes_something(call.tool)
            told = [*self._find_told(call, naming, about)]
            own = [one for one in told if any(called.agree(node.kind, about) for node in one.nodes)]
            own = own or [one for one in told if any(called.speaks_of(node.kind, about) for node in one.nodes)]
            others = told
            if makes:  # the keys of what is made tell of nobody for whom it is
                others, own = [one for one in told if one.nodes or not called.agree(one.reference.noun, about)], []
            parties, ids = self._find_parties(call, naming)
            every = _RecordNames(_collect_names(told).names, _collect_names(others).sure)
            if row_key:
                names = every.names | {("", identifier_key(row_key))}
                every = _RecordNames(names, every.sure | {("", (), row_key.isdigit())})
            self._records[key] = _CallRecords(_collect_names(own), every, makes, makes and not others, parties, ids)
        return self._records[key]

    def _find_told(self, call: PlannedCall, naming: JsonObject, about: called.Noun) -> Iterator[_GivenName]:
        """Yields what may name a record: no prose, and no word of a closed list unless it was read as a record."""
        for argument, value in naming.items():
            is_choice = not self._schema_of(call, argument).keys().isdisjoint(("enum", "const"))
            for one in called.references_in({argument: value}, about, self._graph.keys):
                told = _GivenName("" if isinstance(value, dict) else argument, one, self._graph.find_meant(one))
                is_prose = not one.is_id and is_free_text_name("_".join(one.noun))
                if is_prose or (is_choice and not told.nodes):
                    continue
                if told.is_sure or self._is_kind(one, about):
                    yield told

    def _find_parties(
        self, call: PlannedCall, naming: JsonObject
    ) -> tuple[Mapping[str, _Values], Mapping[str, _Values]]:
        """The parties and the ids that a call gives, by its arguments' names; no day, no word of a closed list."""
        parties: dict[str, _Values] = {}
        ids: dict[str, _Values] = {}
        for leaf in leaves_of(naming):
            noun, schema = called.words(leaf.name), self._schema_of(call, leaf.path[0])
            is_party = not _PARTIES.isdisjoint(
                {*noun[-1:], *(word for name in leaf.names[:-1] for word in called.words(name))}
            )
            for value in leaf.value if isinstance(leaf.value, list) else [leaf.value]:
                text, is_count = called.as_id(value), isinstance(value, int) and len(noun) > 1
                is_length = text is not None and text[:1].isdecimal() and " " in text
                if text is None or is_length or kind_of_argument(leaf.name, schema, value) in _NO_PARTY:
                    continue
                name = "_".join(noun)
                is_named = isinstance(value, str) and called.name_of_kind(noun) in called.COMMON_KINDS
                if names_a_record(leaf.name):
                    ids[name] = ids.get(name, frozenset()) | {identifier_key(text)}
                elif is_named or (is_party and not is_count):  # "Ann" may be Ann Lee
                    parties[name] = parties.get(name, frozenset()) | {(word,) for word in words_of(text)}
        return parties, ids

    def _is_kind(self, reference: called.RecordReference, about: called.Noun) -> bool:
        """Whether a value of which only the name says so may be a record; what the tool is about may be an amount."""
        kind = called.name_of_kind(reference.noun)
        if reference.is_number:
            return kind in self._kinds and not called.agree(reference.noun, about)
        return kind in self._kinds or kind in called.COMMON_KINDS

    @cached_property
    def _kinds(self) -> frozenset[str]:
        """The kinds of record of which something was read, or that tools are about, by a word for each."""
        nouns = [called.noun_of_tool(tool.name, self._graph.keys) for tool in self._toolbox.tools.values()]
        return frozenset(map(called.name_of_kind, (*nouns, *(node.kind for node in self._graph.nodes)))) - {""}


def _add_up_by_names(rows: Iterable[_Share]) -> list[_Share]:
    """The rows, of which those that name just the same are one."""
    found: dict[_Names, list[_Share]] = {}
    for row in rows:
        found.setdefault((row.alone or row.records).all.names, []).append(row)
    return [some[0]._replace(figure=_sum_of_one_sign([one.figure for one in some])) for some in found.values()]


def _sum_of(shares: Iterable[_Share]) -> Decimal:
    return abs(_sum_of_one_sign([share.figure for share in shares]))


def _sum_of_one_sign(figures: Sequence[Decimal]) -> Decimal:
    """The sum of those above zero or of those below, whichever is greater: one way does not make up for the other."""
    above, below = (sum((one for one in figures if (one > 0) is is_above), Decimal()) for is_above in (True, False))
    return above if above >= -below else below


def _collect_names(told: Sequence[_GivenName]) -> _RecordNames:
    sure = (
        (one.argument, one.reference.noun, one.reference.is_number)
        for one in told
        if one.is_sure and (one.nodes or one.reference.noun)  # a bare ``reference`` may be the call's own
    )
    return _RecordNames(frozenset(name for one in told for name in one.names), frozenset(sure))


def _may_concern_same(one: _CallRecords, other: _CallRecords) -> bool:
    """Whether two calls of one tool may be about one record, or make new ones for one."""
    ours, theirs = (one.own, other.own) if one.own.names and other.own.names else (one.all, other.all)
    if not ours.names.isdisjoint(theirs.names):
        return True
    if ours.sure.isdisjoint(theirs.sure):
        if parties := one.parties.keys() & other.parties.keys():
            return not any(one.parties[name].isdisjoint(other.parties[name]) for name in parties)
        if ids := one.makes and one.ids.keys() & other.ids.keys():
            return not all(one.ids[name].isdisjoint(other.ids[name]) for name in ids)
    return not (one.is_for_none or other.is_for_none) and ours.sure.isdisjoint(theirs.sure)


def _figure_of(name: str, fields: Fields, view: CallView) -> Decimal | None:
    """The figure that a call's arguments give for a rule's field; None where it is a record's, or not known."""
    if "." in name:
        said = [value for path, value in fields if path == name]
    else:
        said = [] if view.alias_of_recorded(name) else find_said(name, fields, view.kinds)
    value = one_value(said) if said else None
    return None if isinstance(value, Unknown) else figure(value)
