"""Chooses reads without a model: one that proves a write (I4), one that shows a record which nobody read."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple, TypeAlias

from services.executor.core.records.argument_rows import arguments_by_row
from services.executor.core.records.references import (
    REFERENCE_KEY,
    build_made_id_reference,
    is_unqualified_id,
    referenced_calls,
)
from services.executor.core.records.seen_records import RecordReference, is_id_text
from services.executor.core.session.values import Fact
from services.executor.core.tools.classes import (
    ToolWords,
    find_nouns_of_identifier,
    is_identifying_name,
    normalize_noun,
    words_of_tool,
)
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import (
    RecordNode,
    convert_to_schema_type,
    find_leaves,
    find_record_nodes,
    is_id_name,
)
from services.executor.core.tools.toolbox import MOST_CACHED_TOOLS, Toolbox, find_argument_problems
from services.executor.ports.tools import ReadCall, Tool
from shared.contracts.plan import PlannedCall, ReadBack
from shared.domain.exact_json import Json, JsonObject, dumps, loads, loads_object, to_exact
from shared.domain.identity_cache import IdentityCache
from shared.domain.words import ToolClass


class NamedId(NamedTuple):
    """An argument that is an id. ``kind_words``: nouns of its record; ``value``: the id, or ``{"$ref": ...}``."""

    name: str
    kind_words: frozenset[str]
    value: Json

    @property
    def is_known(self) -> bool:
        """Whether the value is given, and no reference to a result."""
        return not isinstance(self.value, dict)


def _walk_ids(arguments: JsonObject, owner_kind: frozenset[str]) -> Iterator[NamedId]:
    for name, value in arguments.items():
        if isinstance(value, dict) and set(value) != {REFERENCE_KEY}:
            yield from _walk_ids(value, find_nouns_of_identifier(name, owner_kind))
        elif isinstance(value, list):
            for item in value:
                yield from _walk_ids(item, owner_kind) if isinstance(item, dict) else ()
        elif value is not None and (is_identifying_name(name) or is_id_text(value)):
            yield NamedId(name, find_nouns_of_identifier(name, owner_kind), value)


_PAGING_WORDS = frozenset("limit page size offset cursor count per start max sort order fields include expand".split())
_MOST_READS = 50  # that prove the rows of one call
_FEWEST_IDS_OF_HELD_RECORD = 2  # ids of a call, of which one's record can hold the other
_FIELD_OF_OWN_ID = ""  # stands for a record's own id among the names of fields


class AnalyzedReadTool(NamedTuple):
    """A read tool, with what its name and schema say, worked out once for all calls."""

    tool: Tool
    words: ToolWords
    required: frozenset[str]
    identifiers: Mapping[str, frozenset[str]]  # of arguments that name a record: the nouns of it
    argument_words: Mapping[str, tuple[str, ...]]  # of every argument: the words of its name


class WriteWithIds(NamedTuple):
    """A planned call with what it names. ``values_by_words``: its own scalar arguments by the words of their names.

    ``ids``: first those of what the tool is about, then the others in the order of the arguments. ``holder_kind``:
    that of the record that has the other ids as fields; empty if that is not known.
    """

    tool: Tool
    words: ToolWords
    call_id: str
    ids: Sequence[NamedId]
    values_by_words: Mapping[tuple[str, ...], Json]
    holder_kind: frozenset[str] = frozenset()

    @property
    def may_make_record(self) -> bool:
        """Whether the call may make a record: its verb can, and no id is of the kind that the tool is about."""
        return self.words.may_make_record and not any(self.words.head in named.kind_words for named in self.ids)

    @property
    def targets_record_made_by_plan(self) -> bool:
        """Whether the tool is about a record that an earlier call of the plan makes, and that nobody can have read."""
        return not self.holder_kind and any(
            not named.is_known and self.words.head in named.kind_words for named in self.ids[:1]
        )

    def concerns_same_thing(self, read: ToolWords) -> bool:
        """Whether a read is about the same kind of thing: ``revenue bookings`` are among the ``bookings``.

        They may also be among the ``period bookings``, if the call names a period; but not among the ``tax bookings``.
        """
        named_kinds = frozenset[str]().union(*(named_id.kind_words for named_id in self.ids))
        return read.head == self.words.head != "" and not read.nouns - self.words.nouns - named_kinds


def choose_read_back(
    tool: Tool,
    arguments: JsonObject,
    toolbox: Toolbox,
    facts: Sequence[Fact],
    call_id: str,
    find_barring_rule: Callable[[str], str | None] = lambda _: None,
) -> ReadBack | None:
    """The read that will prove the call; None for a notice, where no read fits, or where the catalogue says that none
    does. A call with rows that name records is proved row by row (``of_rows``): each needs a read, and there are at
    most fifty.

    The first of these that is possible: the read that the operator's catalogue names; for what the call makes, a read
    of that kind; this task's read of the named record, if the tool is about its kind; a read of what belongs to the
    named record, if the tool is about that; for a change of what an earlier call of the plan makes, a read of that
    kind; this task's read of a named record of another kind; a read that takes an id of the call; this task's read of a
    record that refers to a named one, or of a selection; a read by the id that only the answer gives; a list of the
    kind. ``find_barring_rule`` gives the rule that forbids a read tool, or None.
    """
    if not _may_have_read_back(tool):
        return None
    readers = _index_readers_once(toolbox.tools).get(tool.connection_id, ())
    readers = [reader for reader in readers if not find_barring_rule(reader.tool.name)]
    reads: list[ReadBack] = []
    for row in arguments_by_row(tool.name, arguments):
        write = _put_id_of_holder_first(_build_write_with_ids(tool, row, call_id), facts)
        read_call = _first_fitting_read(_candidate_reads(write, readers, facts))
        if read_call is None:
            return None
        name = read_call.tool.name
        expect = to_exact(tool.catalogue.expect) if name == tool.catalogue.read_back else {}
        reads.append(ReadBack(tool=name, arguments_json=dumps(read_call.arguments), expect_json=dumps(expect)))
    if len(set(reads)) > _MOST_READS:
        return None
    return reads[0] if len(set(reads)) == 1 else reads[0].model_copy(update={"of_rows": tuple(reads)})


def _may_have_read_back(tool: Tool) -> bool:
    return tool.tool_class is ToolClass.CHANGE and tool.catalogue.read_back is not False


def _first_fitting_read(candidates: Iterable[ReadCall]) -> ReadCall | None:
    """The first of the reads whose arguments fit its tool's schema, or wait for a result; None if there is none."""
    for candidate in candidates:
        is_open = any(referenced_calls(candidate.arguments))
        if is_open or find_argument_problems(candidate.arguments, candidate.tool) is None:
            return candidate
    return None


class PredictedProof(NamedTuple):
    """The read that will probably prove a write, by the schemas alone; a read made before may be chosen instead."""

    reader: str
    why: str
    by_operator: bool


def predict_proving_read(tool: Tool, tools: Iterable[Tool]) -> PredictedProof | None:
    """What ``choose_read_back`` would choose, before anything was read, for a call with all its arguments; or None."""
    if not _may_have_read_back(tool):
        return None
    write = _build_write_with_ids(tool, dict.fromkeys(tool.parameters, "x"), "c1")
    tools_beside = {other.name: other for other in tools if other.connection_id == tool.connection_id}
    readers = _index_readers(tools_beside).get(tool.connection_id, ())
    read_call = next(_candidate_reads(write, readers, ()), None)
    if read_call is None:
        return None
    name = read_call.tool.name
    if name == tool.catalogue.read_back:
        return PredictedProof(name, "the operator's catalogue says so", by_operator=True)
    if any(referenced_calls(read_call.arguments)):
        return PredictedProof(name, "it takes the id that the write answers with", by_operator=False)
    names = ", ".join(read_call.arguments)
    return PredictedProof(name, f"it takes the same {names}" if names else "it lists them all", by_operator=False)


def _candidate_reads(
    write: WriteWithIds, readers: Sequence[AnalyzedReadTool], facts: Sequence[Fact]
) -> Iterator[ReadCall]:
    """Yields every read that may prove the write, the best first."""
    yield from _list_reads_named_by_operator(write, readers)
    if write.may_make_record:
        readers_of_kind = [reader for reader in readers if write.concerns_same_thing(reader.words)]
        yield from _propose_reads_by_ids(write, readers_of_kind)
        yield from _propose_reads_by_made_id(write, readers)
        yield from _propose_reads_of_lists(write, readers_of_kind)
    earlier_reads = _find_reads_showing_record(write, readers, facts)
    reads_of_record = [earlier for earlier in earlier_reads if earlier.is_own and not earlier.selects]
    yield from (earlier.read_call for earlier in reads_of_record if not earlier.is_of_other_kind)
    yield from _propose_reads_by_ids(write, (reader for reader in readers if _is_asked_by_owner_id(reader, write)))
    if write.targets_record_made_by_plan:
        yield from _propose_reads_by_ids(
            write, (reader for reader in readers if write.concerns_same_thing(reader.words))
        )
    yield from (earlier.read_call for earlier in reads_of_record)
    yield from _propose_reads_by_ids(write, readers)
    yield from (earlier.read_call for earlier in earlier_reads if not earlier.is_own and not earlier.selects)
    yield from (earlier.read_call for earlier in earlier_reads if earlier.selects)
    yield from _propose_reads_by_made_id(write, readers)
    yield from _propose_reads_of_lists(write, readers)


def _list_reads_named_by_operator(write: WriteWithIds, readers: Iterable[AnalyzedReadTool]) -> Iterator[ReadCall]:
    """Yields the catalogue's read, with the call's arguments, and if one lacks, with the id from the call's answer."""
    for reader in readers:
        if reader.tool.name == write.tool.catalogue.read_back:
            arguments = _fill_read_arguments(write, reader)
            missing = sorted(reader.required.difference(arguments))
            if len(missing) <= 1:
                references_to_made = {name: _build_made_id_argument(write, reader, name) for name in missing}
                yield ReadCall(reader.tool, {**arguments, **references_to_made})


class _ReadShowingRecord(NamedTuple):
    """A read of this task that showed a record which the call names.

    ``is_own``: it showed that record itself, not others that refer to it; if the record is known that has the call's
    other ids as fields, it showed that one. ``selects``: it asked for a selection.
    ``order``: first those that showed what the tool is about, then those of the call's first ids, then those that
    showed the fewest records, then the latest.
    """

    order: tuple[bool, int, int, int]
    read_call: ReadCall
    is_own: bool
    selects: bool

    @property
    def is_of_other_kind(self) -> bool:
        """Whether the read showed another kind of record than the writing tool is about."""
        return self.order[0]


def _find_reads_showing_record(
    write: WriteWithIds, readers: Sequence[AnalyzedReadTool], facts: Sequence[Fact]
) -> list[_ReadShowingRecord]:
    """Reads of this task that showed a record which the call names, the best first."""
    readers_by_name = {reader.tool.name: reader for reader in readers}
    earlier_reads: list[_ReadShowingRecord] = []
    for index, fact in enumerate(facts):
        reader = readers_by_name.get(fact.tool)
        if reader is None or not fact.ok or fact.connection_id != write.tool.connection_id:
            continue
        rank, is_own = _find_shown_id_index(write, _index_fields(fact.result_json))
        if rank is not None:
            read_call = ReadCall(reader.tool, loads_object(fact.arguments_json))
            is_of_other_kind = not write.ids[rank].kind_words & (write.holder_kind or write.words.nouns)
            order = (is_of_other_kind, rank, len(_parse_record_nodes(fact.result_json)), -index)
            # A list of rooms does not show which booking has one.
            is_own = is_own and (rank == 0 or not write.holder_kind)
            selects = _selects_by_more_than_ids(read_call.arguments, write)
            earlier_reads.append(_ReadShowingRecord(order, read_call, is_own, selects))
    return sorted(earlier_reads, key=lambda earlier: earlier.order)


def _is_asked_by_owner_id(reader: AnalyzedReadTool, write: WriteWithIds) -> bool:
    """Whether a read shows the one thing that the tool is about by its owner's id: ``get_deposit(assignment_id)``."""
    if reader.words.head not in words_of(reader.tool.name):  # the name has it in the plural
        return False
    return write.concerns_same_thing(reader.words) and reader.words.nouns not in reader.identifiers.values()


def _find_shown_id_index(write: WriteWithIds, fields_by_value: "_FieldsByValue") -> tuple[int | None, bool]:
    """The index of the call's first id that a result shows, or None; and whether it is a record's own id there."""
    for rank, named_id in enumerate(write.ids):
        fields = fields_by_value.get(str(named_id.value), ()) if named_id.is_known else ()
        keys = {key for key, _ in fields}
        is_same_name = any(words_of(key) == words_of(named_id.name) for key in keys)
        is_same_kind = any(find_nouns_of_identifier(key, frozenset()) == named_id.kind_words for key in keys)
        if _FIELD_OF_OWN_ID in keys or is_same_name or is_same_kind:
            return rank, _FIELD_OF_OWN_ID in keys
    return None, False


def _put_id_of_holder_first(write: WriteWithIds, facts: Sequence[Fact]) -> WriteWithIds:
    """The write with that id first whose record holds the others as fields: a booking has the ``room_id`` that is set.

    That record must have been read in this task; if there is none, or more than one, the write is unchanged.
    """
    if len(write.ids) < _FEWEST_IDS_OF_HELD_RECORD:
        return write
    holders: dict[tuple[str, str], NamedId] = {}
    reads = [fact for fact in facts if fact.ok and fact.connection_id == write.tool.connection_id]
    for fact, named_id in product(reads, write.ids):
        fields = _index_fields(fact.result_json).get(str(named_id.value), ())
        id_words = words_of(named_id.name)
        nodes = (node for key, node in fields if key == _FIELD_OF_OWN_ID or words_of(key) == id_words)
        held_ids = [other for other in write.ids if other != named_id]
        if any(all(_has_field_for(node, held_id) for held_id in held_ids) for node in nodes):
            holders[named_id.name, str(named_id.value)] = named_id
    if len(holders) != 1:
        return write
    (holder,) = holders.values()
    others = (named_id for named_id in write.ids if named_id != holder)
    return write._replace(ids=(holder, *others), holder_kind=holder.kind_words)


def _has_field_for(node: RecordNode, named_id: NamedId) -> bool:
    """Whether the record has a field of the id's name, at any depth, but not within a list or a table."""
    id_words = words_of(named_id.name)
    return any(not leaf.items and words_of(leaf.name) == id_words for leaf in find_leaves(node.record))


@lru_cache(maxsize=256)  # every call of a plan asks of the same facts
def _parse_record_nodes(result_json: str) -> Sequence[RecordNode]:
    return find_record_nodes(loads(result_json))


_FieldsByValue: TypeAlias = Mapping[str, Sequence[tuple[str, RecordNode]]]


@lru_cache(maxsize=256)
def _index_fields(result_json: str) -> _FieldsByValue:
    """For each value in a result's records, as text, the names of fields that have it (``_FIELD_OF_OWN_ID``: the own
    id), each with its record.
    """
    fields_by_value: dict[str, list[tuple[str, RecordNode]]] = {}
    for node in _parse_record_nodes(result_json):
        for key, value in ((_FIELD_OF_OWN_ID, node.record_id), *node.record.items()):
            if isinstance(value, str | int):
                fields_by_value.setdefault(str(value), []).append((key, node))
    return fields_by_value


def _selects_by_more_than_ids(arguments: JsonObject, write: WriteWithIds) -> bool:
    """Whether a read was asked with more than the record's id, such as a state, which the write itself may change."""
    ids = [str(named_id.value) for named_id in write.ids if named_id.is_known]
    selecting = (str(value) for name, value in arguments.items() if _PAGING_WORDS.isdisjoint(words_of(name)))
    return any(not any(record_id in text for record_id in ids) for text in selecting)


def _propose_reads_by_ids(write: WriteWithIds, readers: Iterable[AnalyzedReadTool]) -> Iterator[ReadCall]:
    """Yields reads of what the call names, with arguments of the call; the best fitting first."""
    fitting: list[tuple[int, int, str, ReadCall]] = []
    for reader in readers:
        arguments = _fill_read_arguments(write, reader)
        if arguments and reader.required.issubset(arguments) and (fit := _rate_fit(write, reader, arguments)):
            fitting.append((-fit, len(reader.argument_words), reader.tool.name, ReadCall(reader.tool, arguments)))
    yield from (read_call for *_, read_call in sorted(fitting, key=lambda rated_read: rated_read[:3]))


def _rate_fit(write: WriteWithIds, reader: AnalyzedReadTool, arguments: JsonObject) -> int:
    """How well a read with these arguments of the write fits; 0 if not at all."""
    read_nouns = reader.words.nouns
    if write.holder_kind:
        kin_nouns = read_nouns & write.holder_kind
    else:
        made_nouns = frozenset(word for word in read_nouns if write.words.verb_makes(frozenset({word})))
        kin_nouns = read_nouns & (write.words.nouns | made_nouns)
    identified_nouns = {word for name in arguments for word in reader.identifiers.get(name, ())}
    if not (kin_nouns or read_nouns & identified_nouns):
        return 0
    is_for_one = any(reader.identifiers.get(name) == read_nouns for name in reader.required)
    return max(1, 10 + 3 * len(kin_nouns) - len(read_nouns - kin_nouns) + is_for_one)


def _fill_read_arguments(write: WriteWithIds, reader: AnalyzedReadTool) -> JsonObject:
    """The read's arguments that the call can fill: required ones, and those that name a record."""
    arguments: JsonObject = {}
    for name, argument_words in reader.argument_words.items():
        if name not in reader.required and name not in reader.identifiers:
            continue
        value = write.values_by_words.get(argument_words)
        if value is None and name in reader.identifiers:
            value = _find_id_of_kind(reader.identifiers[name], write)
        if value is not None:
            arguments[name] = convert_to_schema_type(value, reader.tool.parameters.get(name, {}))
    return arguments


def _find_id_of_kind(noun: frozenset[str], write: WriteWithIds) -> Json:
    """The call's id of that kind; None if it has none, or several different ones."""
    values = [named_id.value for named_id in write.ids if named_id.kind_words == noun]
    return values[0] if values and all(value == values[0] for value in values) else None


def _propose_reads_by_made_id(write: WriteWithIds, readers: Iterable[AnalyzedReadTool]) -> Iterator[ReadCall]:
    """Yields reads that need one id which only the call's answer gives: that of what it makes."""
    for reader in readers:
        if not (write.concerns_same_thing(reader.words) or _shows_made_record(reader, write)):
            continue
        arguments = _fill_read_arguments(write, reader)
        missing = sorted(reader.required.difference(arguments))
        if len(missing) == 1 and reader.identifiers.get(missing[0]) == reader.words.nouns:
            yield ReadCall(reader.tool, {**arguments, missing[0]: _build_made_id_argument(write, reader, missing[0])})


def _shows_made_record(reader: AnalyzedReadTool, write: WriteWithIds) -> bool:
    """Whether a read shows what the write's verb makes: ``book_room`` makes a booking."""
    return write.words.may_make_record and write.words.verb_makes(reader.words.nouns)


def _build_made_id_argument(write: WriteWithIds, reader: AnalyzedReadTool, name: str) -> JsonObject:
    """A reference (``build_made_id_reference``) to the id of what the write makes.

    A plain ``id`` is sought as ``booking_id``, by the read's noun.
    """
    if not is_unqualified_id(name):
        return build_made_id_reference(write.call_id, name)
    noun = [word for word in words_of(reader.tool.name) if normalize_noun(word) in reader.words.nouns]
    return build_made_id_reference(write.call_id, "_".join([*noun, name]))


def _propose_reads_of_lists(write: WriteWithIds, readers: Iterable[AnalyzedReadTool]) -> Iterator[ReadCall]:
    """Yields reads of all records of a kind, to compare rows before and after; the write's own kind first."""
    named_kinds = [named_id.kind_words for named_id in write.ids]
    rated_reads: list[tuple[bool, int, str, ReadCall]] = []
    for reader in readers:
        is_about = write.concerns_same_thing(reader.words)
        if not (is_about or _shows_made_record(reader, write) or reader.words.nouns in named_kinds):
            continue
        arguments = _fill_read_arguments(write, reader)
        if reader.required.issubset(arguments):
            read_call = ReadCall(reader.tool, arguments)
            rated_reads.append((not is_about, len(reader.argument_words), reader.tool.name, read_call))

    yield from (read_call for *_, read_call in sorted(rated_reads, key=lambda rated_read: rated_read[:3]))


def _build_write_with_ids(tool: Tool, arguments: JsonObject, call_id: str) -> WriteWithIds:
    values = ((name, value) for name, value in arguments.items() if value is not None and not isinstance(value, list))
    scalars = {name: value for name, value in values if not isinstance(value, dict) or set(value) == {REFERENCE_KEY}}
    values_by_words = {tuple(words_of(name)): value for name, value in scalars.items()}
    words = words_of_tool(tool.name)
    ids = [*_walk_ids(arguments, words.nouns)]
    ids.sort(key=lambda named: named.kind_words != words.nouns and words.nouns.isdisjoint(named.kind_words))
    return WriteWithIds(tool, words, call_id, ids, values_by_words)


def _index_readers(tools: Mapping[str, Tool]) -> Mapping[str, Sequence[AnalyzedReadTool]]:
    """The read tools of a toolbox by connection, in the toolbox's order."""
    readers_by_connection: dict[str, list[AnalyzedReadTool]] = {}
    for tool in tools.values():
        if tool.tool_class is ToolClass.READ:
            readers_by_connection.setdefault(tool.connection_id, []).append(_analyze_read_tool_once(tool))
    return readers_by_connection


_index_readers_once = IdentityCache(_index_readers, 64)


def _analyze_read_tool(tool: Tool) -> AnalyzedReadTool:
    words = words_of_tool(tool.name)
    required = tool.required
    names = list(tool.parameters)
    id_names = [name for name in names if is_id_name(name) or (name in required and is_identifying_name(name))]
    identifiers = {name: find_nouns_of_identifier(name, words.nouns) for name in id_names}
    return AnalyzedReadTool(tool, words, required, identifiers, {name: tuple(words_of(name)) for name in names})


# A toolbox is made for each task, of tools that last.
_analyze_read_tool_once = IdentityCache(_analyze_read_tool, MOST_CACHED_TOOLS)


def find_catalogue_read_of_record(call: PlannedCall, toolbox: Toolbox, reference: RecordReference) -> ReadCall | None:
    """The read that the catalogue names as the write's proof; None unless it asks for the reference's own record."""
    write = toolbox.find_tool(call.connection_id, call.tool)
    if write is None or not write.catalogue.read_back:
        return None
    named_write = _build_write_with_ids(write, call.arguments, call.call_id)
    readers = _index_readers_once(toolbox.tools).get(call.connection_id, ())
    read_call = _first_fitting_read(_list_reads_named_by_operator(named_write, readers))
    if read_call is None or any(referenced_calls(read_call.arguments)):
        return None
    return read_call if reference.value in read_call.arguments.values() else None
