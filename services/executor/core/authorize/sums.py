"""Sums a change's figures over all calls of the task, and all rows of each call, that may concern the same record: a
limit holds for them together, however an amount is split (I2).

Two calls concern different records only where that is certain: they name different records of the kind that the tool is
about; or they name no common record, and differ in an argument that can hardly name anything but a record.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple, TypeAlias

from services.executor.core.figures.arguments import (
    FIGURE_KINDS,
    RECORD_KINDS,
    ArgumentKind,
    hints_of_argument,
    is_free_text_name,
    kind_of_argument,
)
from services.executor.core.figures.identifiers import kind_of_identifier, normalize_identifier
from services.executor.core.figures.numbers import read_figure
from services.executor.core.records import seen_records
from services.executor.core.records.binding import CallView
from services.executor.core.records.call_rows import CallOrRow, RowGroup, split_into_rows
from services.executor.core.records.field_values import (
    Fields,
    UnknownValue,
    common_value,
    fields_of_arguments,
    find_values,
)
from services.executor.core.records.record_graph import GraphNode, build_record_graph
from services.executor.core.records.references import set_at_path
from services.executor.core.session.values import Fact
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import find_leaves, is_id_name
from services.executor.core.tools.toolbox import Toolbox
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject

_PHYSICAL_MEASURES = frozenset({"mass", "length", "volume"})  # what units of these measure is each new record's own
_PARTY_WORDS = frozenset("to for payer payor payee beneficiary recipient debtor creditor party holder owner".split())
_MOST_ROWS = 100  # of a call that are told apart one by one; beyond it those with just the same names are one
_MOST_RECORDS = 300  # that rows of a call are told apart by: each is compared with each
_WORDS_FOR_RATE_OR_PERIOD = frozenset(
    "per rate ratio percent pct percentage price share year month priority level score value reading start end".split()
)
_KINDS_THAT_NAME_NO_PARTY = frozenset({ArgumentKind.DATE, ArgumentKind.CHOICE, ArgumentKind.FREE_TEXT})


class _NamingArgument(NamedTuple):
    """A value that may name a record. ``argument``: the top-level argument that has the value; empty if that argument
    is an object. ``nodes``: the records read so far that have the value as a name.
    """

    argument: str
    reference: seen_records.RecordReference
    nodes: Sequence[GraphNode]

    @property
    def names(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yields every name of the record: a word for its kind, and an identifier in comparable form."""
        yield seen_records.name_of_kind(self.reference.noun), normalize_identifier(self.reference.text)
        for node in self.nodes:
            kind = seen_records.name_of_kind(node.kind)
            yield from ((kind, normalize_identifier(name)) for name in (*node.ids, *node.names[1]))

    def names_record_of_kind(self, is_kind: "_CompareKinds", kind: seen_records.Noun) -> bool:
        return any(is_kind(node.kind, kind) for node in self.nodes)

    def is_key_of_unread_record(self, kind: seen_records.Noun) -> bool:
        """Whether the value is a key of a record of this kind that nobody read."""
        return not self.nodes and seen_records.are_same_kind(self.reference.noun, kind)

    @property
    def is_surely_identifier(self) -> bool:
        """Whether the value can hardly be anything but a record's identifier; a plain number may be an amount."""
        reference = self.reference
        if self.nodes:
            return True
        if seen_records.may_describe_request(reference.noun):
            return False
        if reference.must_exist and (reference.is_id or not reference.is_number):
            return True
        argument_kind = kind_of_argument("_".join(reference.noun), {}, reference.value)
        return argument_kind in RECORD_KINDS and kind_of_identifier(reference.text) is not None


_KindsAndNames: TypeAlias = frozenset[tuple[str, tuple[str, ...]]]
_WordsOfValues: TypeAlias = frozenset[tuple[str, ...]]
_CompareKinds: TypeAlias = Callable[[seen_records.Noun, seen_records.Noun], bool]


class _RecordNames(NamedTuple):
    """The names of records in a call: ``(kind, identifier)``. ``certain_arguments``: ``(argument, kind, is a number)``
    of those that certainly name a record; two different values of one such argument are two records.
    """

    names: _KindsAndNames
    certain_arguments: frozenset[tuple[str, seen_records.Noun, bool]]


class _CallRecords(NamedTuple):
    """The records that a call, or a row of it, may concern. ``own_names``: names of those that were read and are of the
    kind that its tool is about; empty if the tool makes one. ``all_names``: every value that may name a record.
    ``makes_unowned_record``: whether the tool makes a record, and no argument names a record for which it is made.
    ``parties``: ``{argument: words of its values}`` of payers, payees and the like; ``ids``: ``{argument: values}`` of
    those that are ids by name. Where no record decides whether two calls may concern the same one, parties in common
    do; then, for calls that make records, ids.
    """

    own_names: _RecordNames
    all_names: _RecordNames
    makes_record: bool
    makes_unowned_record: bool
    parties: Mapping[str, _WordsOfValues]
    ids: Mapping[str, _WordsOfValues]


class _Summand(NamedTuple):
    """One figure of a call, or of one row of its lists, with the records that it may concern.

    ``own_records``: those that the row names by itself, by which rows of one call are told apart; None if it names
    none.
    """

    figure: Decimal
    records: _CallRecords
    call: PlannedCall
    own_records: _CallRecords | None = None

    def may_concern_same_record(self, other: "_Summand") -> bool:
        if self is other or self.own_records is None or other.own_records is None or self.call is not other.call:
            return self is other or _may_concern_same_record(self.records, other.records)
        return _may_concern_same_record(self.own_records, other.own_records)


class CallSums:
    """Sums of figures over the calls that a task made or plans; its ``facts`` and tools say which records they concern.

    ``tools_under_one_rule``: for each rule that names several tools, a set with their names, and maybe other texts.
    """

    def __init__(
        self,
        calls: Sequence[PlannedCall],
        facts: Sequence[Fact],
        toolbox: Toolbox,
        tools_under_one_rule: Sequence[frozenset[str]] = (),
    ) -> None:
        self._calls, self._tools_under_one_rule = calls, tools_under_one_rule
        self._toolbox = toolbox
        self._graph = build_record_graph(tuple(facts), toolbox.keys)
        self._rows_by_arguments = {call.arguments_json: split_into_rows(call.arguments) for call in calls}
        self._records: dict[tuple[str, int], _CallRecords] = {}

    def sum_figures(
        self,
        call: PlannedCall,
        view: CallView,
        call_fields: Mapping[str, Json],
        names: Iterable[str],
        row_figures: Mapping[str, Sequence[Decimal]],
    ) -> JsonObject:
        """Sums of the call's figures over all calls and rows that may concern the same record, as ``{name: sum}``: two
        refunds of 45 of one order give ``{"amount": 90}``. A ``credit.amount`` gives ``{"credit": {"amount": 90}}``.

        Where the call concerns several records, the greatest of their sums counts. A figure to which nothing is added
        is left out, if rules judge it anyway: as one of ``call_fields``, or row by row. ``names``: those that rules
        use; ``row_figures``: for fields that are judged row by row, the figures of these rows.
        """
        if call not in self._calls:  # a compensation is made in place of another call
            return {}
        others = [other for other in self._calls if other != call and self._counts_toward_same_limit(other, call)]
        argument_names = [key for key, _ in fields_of_arguments(call.arguments) if "." not in key]
        sums: JsonObject = {}
        for name in dict.fromkeys((*argument_names, *names)):
            own_summands = [*self._find_summands_of_call(call, name, view)]
            if not own_summands or self._is_id_or_measure(name, own_summands[0].figure, call):
                continue
            other_summands = [summand for other in others for summand in self._find_summands_of_call(other, name, view)]
            summands_by_record = [
                [*filter(own_summand.may_concern_same_record, (*own_summands, *other_summands))]
                for own_summand in own_summands
            ]
            total = max(map(_sum_dominant_sign, summands_by_record), key=abs)
            is_judged_by_row = sorted(own_summand.figure for own_summand in own_summands) == sorted(
                row_figures.get(name, ())
            )
            is_judged = is_judged_by_row or total == read_figure(call_fields.get(name))
            kind, dot, _ = name.partition(".")
            if any(len(summands) > 1 for summands in summands_by_record) or not (dot or is_judged):
                if dot:
                    sums.setdefault(kind, call_fields.get(kind))
                sums = set_at_path(sums, name.split("."), total)
        return sums

    def _find_summands_of_call(self, call: PlannedCall, name: str, view: CallView) -> Sequence[_Summand]:
        """The call's figure of that name, or the figures of its rows, whichever sum is greater: a figure beside the
        rows may be their total, or the default for rows without a figure of their own.
        """
        return self._find_summands_of_row(self._rows_by_arguments[call.arguments_json], None, call, name, view)

    def _find_summands_of_row(
        self, row: CallOrRow, default: Decimal | None, call: PlannedCall, name: str, view: CallView
    ) -> list[_Summand]:
        """The row's figure (else ``default``), or those of a group of its inner rows, if their sum is greater."""
        own_figure = _read_argument_figure(name, row.fields, view)
        figure = default if own_figure is None else own_figure
        summands: list[_Summand] = []
        if figure is not None:
            summands.append(self._build_summand(figure * self._count_repeated_id(row, call, name), row, call))
        for group in row.groups:
            group_summands = self._find_summands_of_group(group, figure, row, call, name, view)
            summands = max((summands, group_summands), key=lambda found: abs(_sum_dominant_sign(found)))
        return summands

    def _find_summands_of_group(
        self,
        group: RowGroup,
        default: Decimal | None,
        outer_row: CallOrRow,
        call: PlannedCall,
        name: str,
        view: CallView,
    ) -> list[_Summand]:
        """The figures of a group of rows.

        ``default``, the figure beside them, counts for each row that has none, if the rows are what the call is about;
        if it is their total, the result is empty. Rows that name no record count as one.
        """
        has_records = any(self._names_a_record(call, row) for row in group.rows)
        outer_names = self._find_call_records(call, outer_row.outer).all_names
        row_default = default if has_records and group.is_list and not outer_names.certain_arguments else None
        of_rows = (self._find_summands_of_row(row, row_default, call, name, view) for row in group.rows)
        summands = [summand for of_row in of_rows for summand in of_row]
        if default is not None and sum(summand.figure for summand in summands) == default:
            return []  # the one on top is their total
        if summands and not self._is_additive(call, name):  # the greatest, for itself
            return [max(summands, key=lambda summand: abs(summand.figure))]
        if has_records and len(summands) > _MOST_ROWS:
            summands = _merge_same_records(summands)
        if summands and (not has_records or len(summands) > _MOST_RECORDS):
            total = _sum_dominant_sign(summands)
            return [_Summand(total, self._find_call_records(call, outer_row.arguments), call)]
        return summands

    def _count_repeated_id(self, row: CallOrRow, call: PlannedCall, name: str) -> int:
        """The most occurrences of one id in a list of ids: an amount beside the list counts once for each. Else 1."""
        if not self._is_additive(call, name) or "total" in seen_records.singular_words(name):
            return 1
        highest_count = 1
        for leaf in find_leaves(row.arguments):
            items = leaf.value if isinstance(leaf.value, list) else []
            references = (seen_records.reference_of(leaf.name, item, (), self._graph.keys) for item in items)
            ids = (reference.text for reference in references if reference and reference.is_id)
            highest_count = max([highest_count, *Counter(map(normalize_identifier, ids)).values()])
        return highest_count

    def _is_additive(self, call: PlannedCall, name: str) -> bool:
        """Whether figures of this name add up over rows: amounts and counts do; prices, shares and years do not."""
        name_words = seen_records.singular_words(name.rpartition(".")[2])
        hints = hints_of_argument(name.rpartition(".")[2], self._find_argument_schema(call, name), 1)
        is_money = hints.is_in_minor_units or hints.is_in_major_units  # then a value is an amount: ``value_cents``
        words_for_one = _WORDS_FOR_RATE_OR_PERIOD - {"value", "share"} if is_money else _WORDS_FOR_RATE_OR_PERIOD
        is_of_one = not words_for_one.isdisjoint(name_words) or (len(name_words) > 1 and "unit" in name_words)
        return hints.kind in FIGURE_KINDS and not is_of_one

    def _counts_toward_same_limit(self, other: PlannedCall, call: PlannedCall) -> bool:
        """Whether one limit covers both calls: they use the same tool, or two tools that one rule names."""
        return other.tool == call.tool or any({other.tool, call.tool} <= names for names in self._tools_under_one_rule)

    def _is_id_or_measure(self, name: str, value: Decimal, call: PlannedCall) -> bool:
        """Whether a figure is a record's identifier, or a measure, such as the weight, of the record to be made."""
        reference = seen_records.reference_of(name.rpartition(".")[2], int(value), (), self._graph.keys)
        is_record = self._graph.find_referenced_records
        if reference is not None and reference.must_exist and (reference.is_id or is_record(reference)):
            return True
        if not seen_records.makes_record(call.tool):
            return False
        unit = hints_of_argument(name, self._find_argument_schema(call, name), value).unit
        return unit is not None and unit.measure in _PHYSICAL_MEASURES

    def _find_argument_schema(self, call: PlannedCall, argument: str) -> JsonObject:
        tool = self._toolbox.find_tool(call.connection_id, call.tool)
        return tool.parameters.get(argument, {}) if tool else {}

    def _build_summand(self, figure: Decimal, row: CallOrRow, call: PlannedCall) -> _Summand:
        own_records = self._find_call_records(call, row.alone, row.key) if self._names_a_record(call, row) else None
        return _Summand(figure, self._find_call_records(call, row.arguments), call, own_records)

    def _names_a_record(self, call: PlannedCall, row: CallOrRow) -> bool:
        own_records = self._find_call_records(call, row.alone, row.key)
        return bool(own_records.own_names.names or own_records.all_names.certain_arguments or own_records.parties)

    def _find_call_records(self, call: PlannedCall, arguments: JsonObject, row_key: str = "") -> _CallRecords:
        """The records that a call's or a row's arguments may concern. ``row_key``: the row's key in its table."""
        key = (call.tool, id(arguments))  # which lasts as long as this object: ``_rows_by_arguments`` holds it
        if key not in self._records:
            tool_kind = seen_records.noun_of_tool(call.tool, self._graph.keys)
            makes_record = seen_records.makes_record(call.tool)
            naming_arguments = [*self._find_naming_arguments(call, arguments, tool_kind)]
            of_kind, of_aspect = (
                [argument for argument in naming_arguments if argument.names_record_of_kind(is_kind, tool_kind)]
                for is_kind in (seen_records.are_same_kind, seen_records.has_aspect)
            )
            own_arguments = of_kind or of_aspect
            other_arguments = naming_arguments
            if makes_record:  # the keys of what is made tell of nobody for whom it is
                own_arguments = []
                other_arguments = [
                    argument for argument in naming_arguments if not argument.is_key_of_unread_record(tool_kind)
                ]
            parties, ids = self._find_parties_and_ids(call, arguments)
            names = _collect_names(naming_arguments).names
            certain_arguments = _collect_names(other_arguments).certain_arguments
            if row_key:
                names |= {("", normalize_identifier(row_key))}
                certain_arguments |= {("", (), row_key.isdigit())}
            self._records[key] = _CallRecords(
                own_names=_collect_names(own_arguments),
                all_names=_RecordNames(names, certain_arguments),
                makes_record=makes_record,
                makes_unowned_record=makes_record and not other_arguments,
                parties=parties,
                ids=ids,
            )
        return self._records[key]

    def _find_naming_arguments(
        self, call: PlannedCall, arguments: JsonObject, tool_kind: seen_records.Noun
    ) -> Iterator[_NamingArgument]:
        """Yields the arguments' values that may name a record.

        Prose is left out, and so are words of a closed list, unless a record of that name was read.
        """
        for argument, value in arguments.items():
            is_choice = not self._find_argument_schema(call, argument).keys().isdisjoint(("enum", "const"))
            for reference in seen_records.references_in({argument: value}, tool_kind, self._graph.keys):
                nodes = self._graph.find_referenced_records(reference)
                naming_argument = _NamingArgument("" if isinstance(value, dict) else argument, reference, nodes)
                is_prose = not reference.is_id and is_free_text_name("_".join(reference.noun))
                if is_prose or (is_choice and not naming_argument.nodes):
                    continue
                if naming_argument.is_surely_identifier or self._may_be_identifier(reference, tool_kind):
                    yield naming_argument

    def _find_parties_and_ids(
        self, call: PlannedCall, arguments: JsonObject
    ) -> tuple[Mapping[str, _WordsOfValues], Mapping[str, _WordsOfValues]]:
        """The parties and the ids among a call's arguments, by the argument's name in singular words.

        Of a party each word is a value of its own, since "Ann" may be Ann Lee. Dates and words of a closed list are
        neither.
        """
        parties: dict[str, _WordsOfValues] = {}
        ids: dict[str, _WordsOfValues] = {}
        for leaf in find_leaves(arguments):
            noun = seen_records.singular_words(leaf.name)
            schema = self._find_argument_schema(call, leaf.path[0])
            outer_words = (word for name in leaf.names[:-1] for word in seen_records.singular_words(name))
            is_party = not _PARTY_WORDS.isdisjoint((*noun[-1:], *outer_words))
            for value in leaf.value if isinstance(leaf.value, list) else [leaf.value]:
                text = seen_records.comparable_id(value)
                is_count = isinstance(value, int) and len(noun) > 1
                is_length = text is not None and text[:1].isdecimal() and " " in text
                if text is None or is_length or kind_of_argument(leaf.name, schema, value) in _KINDS_THAT_NAME_NO_PARTY:
                    continue
                name = "_".join(noun)
                is_named = isinstance(value, str) and seen_records.name_of_kind(noun) in seen_records.COMMON_KINDS
                if is_id_name(leaf.name):
                    ids[name] = ids.get(name, frozenset()) | {normalize_identifier(text)}
                elif is_named or (is_party and not is_count):  # "Ann" may be Ann Lee
                    parties[name] = parties.get(name, frozenset()) | {(word,) for word in words_of(text)}
        return parties, ids

    def _may_be_identifier(self, reference: seen_records.RecordReference, tool_kind: seen_records.Noun) -> bool:
        """Whether a value may name a record, judged by its argument's name alone.

        A number may not if that name is what the tool is about: it may be an amount.
        """
        kind = seen_records.name_of_kind(reference.noun)
        if reference.is_number:
            return kind in self._kind_names and not seen_records.are_same_kind(reference.noun, tool_kind)
        return kind in self._kind_names or kind in seen_records.COMMON_KINDS

    @cached_property
    def _kind_names(self) -> frozenset[str]:
        """One word for each kind of record that was read or that a tool is about."""
        nouns = [seen_records.noun_of_tool(tool.name, self._graph.keys) for tool in self._toolbox.tools.values()]
        return frozenset(map(seen_records.name_of_kind, (*nouns, *(node.kind for node in self._graph.nodes)))) - {""}


def _merge_same_records(rows: Iterable[_Summand]) -> list[_Summand]:
    """The summands, with those that name exactly the same records merged into one."""
    rows_by_names: dict[_KindsAndNames, list[_Summand]] = {}
    for row in rows:
        rows_by_names.setdefault((row.own_records or row.records).all_names.names, []).append(row)
    merged = ((group[0], _sum_dominant_sign(group)) for group in rows_by_names.values())
    return [first._replace(figure=figure) for first, figure in merged]


def _sum_dominant_sign(summands: Iterable[_Summand]) -> Decimal:
    """The sum of the positive or of the negative figures, whichever is greater: credits do not offset charges."""
    figures = [summand.figure for summand in summands]
    positive = sum((figure for figure in figures if figure > 0), Decimal())
    negative = sum((figure for figure in figures if figure <= 0), Decimal())
    return positive if positive >= -negative else negative


def _collect_names(arguments: Sequence[_NamingArgument]) -> _RecordNames:
    # A bare ``reference`` may be the call's own.
    qualified = (argument for argument in arguments if argument.nodes or argument.reference.noun)
    certain = ((argument.argument, argument.reference) for argument in qualified if argument.is_surely_identifier)
    certain_arguments = frozenset((name, reference.noun, reference.is_number) for name, reference in certain)
    names = frozenset(name for argument in arguments for name in argument.names)
    return _RecordNames(names, certain_arguments)


def _may_concern_same_record(call: _CallRecords, other: _CallRecords) -> bool:
    """Whether two calls covered by one limit may be about the same record, or make new records for the same party."""
    have_own = bool(call.own_names.names and other.own_names.names)
    names, other_names = (call.own_names, other.own_names) if have_own else (call.all_names, other.all_names)
    if not names.names.isdisjoint(other_names.names):
        return True
    if not names.certain_arguments.isdisjoint(other_names.certain_arguments):
        return False
    if parties := call.parties.keys() & other.parties.keys():
        return not any(call.parties[name].isdisjoint(other.parties[name]) for name in parties)
    if ids := call.makes_record and call.ids.keys() & other.ids.keys():
        return not all(call.ids[name].isdisjoint(other.ids[name]) for name in ids)
    return not (call.makes_unowned_record or other.makes_unowned_record)


def _read_argument_figure(name: str, fields: Fields, view: CallView) -> Decimal | None:
    """The figure that a call's arguments give for a rule's field; None if they give none, even if a record does."""
    if "." in name:
        values = [value for path, value in fields if path == name]
    else:
        values = [] if view.values_of_alias_arguments(name) else find_values(name, fields, view.named.kinds)
    value = common_value(values) if values else None
    return None if isinstance(value, UnknownValue) else read_figure(value)
