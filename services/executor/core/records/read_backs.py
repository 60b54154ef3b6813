"""Chooses reads in code, without a model: the one that proves a write, when the plan is frozen (I4), and the one that
shows a record which a call names and nobody read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from services.executor.core.records.argument_rows import arguments_by_row
from services.executor.core.records.references import REFERENCE, is_unqualified_id, reference_to_made, referenced_calls
from services.executor.core.records.seen_records import RecordReference, is_id_text
from services.executor.core.session.values import Fact
from services.executor.core.tools.classes import (
    ToolWords,
    convert_id_type,
    is_identifying_name,
    normalize_noun,
    nouns_of_identifier,
    words_of_tool,
)
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import RecordNode, find_leaves, find_record_nodes, is_id_name
from services.executor.core.tools.toolbox import MOST_COMPILED, Toolbox, problems_with
from services.executor.ports.tools import ReadCall, Tool
from shared.contracts.plan import PlannedCall, ReadBack
from shared.domain.exact_json import Json, JsonObject, dumps, loads, loads_object, to_exact
from shared.domain.identity_cache import IdentityCache
from shared.domain.words import ToolClass


class NamedId(NamedTuple):
    """An identifier in a call's arguments. ``noun``: its record's kind; ``value`` may refer to an earlier result."""

    name: str
    noun: frozenset[str]
    value: Json

    @property
    def is_known(self) -> bool:
        """Whether the value is given, and no reference to a result."""
        return not isinstance(self.value, dict)


def _walk_ids(given: JsonObject, owner: frozenset[str]) -> Iterator[NamedId]:
    for name, value in given.items():
        if isinstance(value, dict) and set(value) != {REFERENCE}:
            yield from _walk_ids(value, nouns_of_identifier(name, owner))
        elif isinstance(value, list):
            for item in value:
                yield from _walk_ids(item, owner) if isinstance(item, dict) else ()
        elif value is not None and (is_identifying_name(name) or is_id_text(value)):
            yield NamedId(name, nouns_of_identifier(name, owner), value)


_PAGING_WORDS = frozenset("limit page size offset cursor count per start max sort order fields include expand".split())
_MOST_READS = 50  # that prove the rows of one call
_FEWEST_HELD = 2  # ids of a call, of which one's record can hold the other
_OWN_ID = ""  # stands for a record's own id among the names of fields


class ReadTool(NamedTuple):
    """A read tool, with what its name and schema say, worked out once for all calls."""

    tool: Tool
    words: ToolWords
    required: frozenset[str]
    identifiers: Mapping[str, frozenset[str]]  # its arguments that name a record, by what they identify
    argument_words: Mapping[str, tuple[str, ...]]


class NamedWrite(NamedTuple):
    """A planned call with what it names. ``by_words``: its own scalar arguments by the words of their names.

    ``ids``: first those of what the tool is about, then the others in the order of the arguments. ``holder``: the kind
    of the record that has the other ids as fields; empty if that is not known.
    """

    tool: Tool
    words: ToolWords
    call_id: str
    ids: Sequence[NamedId]
    by_words: Mapping[tuple[str, ...], Json]
    holder: frozenset[str] = frozenset()

    @property
    def may_make_record(self) -> bool:
        """Whether the call may make a record: its verb can, and no id is of the kind that the tool is about."""
        return self.words.may_make_record and not any(self.words.head in named.noun for named in self.ids)

    def is_about(self, read: ToolWords) -> bool:
        """Whether a read is about the same kind of thing: ``revenue bookings`` are among the ``bookings``.

        They may also be among the ``period bookings``, if the call names a period; but not among the ``tax bookings``.
        """
        named = {word for one in self.ids for word in one.noun}
        return read.head == self.words.head != "" and not read.nouns - self.words.nouns - named


def choose_read_back(
    tool: Tool,
    arguments: JsonObject,
    toolbox: Toolbox,
    facts: Sequence[Fact],
    call_id: str,
    barred: Callable[[str], str | None] = lambda _: None,
) -> ReadBack | None:
    """The read that will prove the call; None for a notice, where no read fits, or where the catalogue says that none
    does. A call with rows that name records is proved row by row: each of them needs a read, and there are at most
    fifty.

    The first of these that is possible: the read that the operator's catalogue names; for what the call makes, a read
    of that kind; a read of what belongs to the named record, where the tool is about that; the read of this task that
    showed the named record; a read that takes an id of the call; a read by the id that only the answer gives; a list of
    the kind. ``barred`` says why a read tool must not be called, or None.
    """
    if not _has_read_back(tool):
        return None
    readers = [reader for reader in _readers(toolbox.tools).get(tool.connection_id, ()) if not barred(reader.tool.name)]
    reads: list[ReadBack] = []
    for row in arguments_by_row(tool.name, arguments):
        write = _put_holding_record_first(_build_named_write(tool, row, call_id), facts)
        asked = _first_fitting_read(_candidate_reads(write, readers, facts))
        if asked is None:
            return None
        name = asked.tool.name
        expect = to_exact(tool.catalogue.expect) if name == tool.catalogue.read_back else {}
        reads.append(ReadBack(tool=name, arguments_json=dumps(asked.arguments), expect_json=dumps(expect)))
    if len(set(reads)) > _MOST_READS:
        return None
    return reads[0] if len(set(reads)) == 1 else reads[0].model_copy(update={"of_rows": tuple(reads)})


def _has_read_back(tool: Tool) -> bool:
    return tool.tool_class is ToolClass.CHANGE and tool.catalogue.read_back is not False


def _first_fitting_read(candidates: Iterable[ReadCall]) -> ReadCall | None:
    """The first of the reads whose arguments, as far as they are known, fit its schema; else None."""
    for one in candidates:
        if any(referenced_calls(one.arguments)) or problems_with(one.arguments, one.tool) is None:
            return one
    return None


class PredictedProof(NamedTuple):
    """The read that will probably prove a write, by the schemas alone; a read made before may be chosen instead."""

    reader: str
    why: str
    by_operator: bool


def predict_proving_read(tool: Tool, tools: Iterable[Tool]) -> PredictedProof | None:
    """What ``choose_read_back`` would choose for a call with all arguments of the schema, before anything was read."""
    if not _has_read_back(tool):
        return None
    write = _build_named_write(tool, dict.fromkeys(tool.parameters, "x"), "c1")
    beside = {one.name: one for one in tools if one.connection_id == tool.connection_id}
    readers = _index_readers(beside).get(tool.connection_id, ())
    asked = next(_candidate_reads(write, readers, ()), None)
    if asked is None:
        return None
    name = asked.tool.name
    if name == tool.catalogue.read_back:
        return PredictedProof(name, "the operator's catalogue says so", by_operator=True)
    if any(referenced_calls(asked.arguments)):
        return PredictedProof(name, "it takes the id that the write answers with", by_operator=False)
    given = ", ".join(asked.arguments)
    return PredictedProof(name, f"it takes the same {given}" if given else "it lists them all", by_operator=False)


def _candidate_reads(write: NamedWrite, readers: Sequence[ReadTool], facts: Sequence[Fact]) -> Iterator[ReadCall]:
    """Yields every read that may prove the write, the best first."""
    yield from _reads_named_by_operator(write, readers)
    if write.may_make_record:
        made = [reader for reader in readers if write.is_about(reader.words)]
        yield from _reads_by_ids(write, made)
        yield from _reads_by_answer(write, readers)
        yield from _reads_of_lists(write, made)
    shown = _earlier_reads_showing(write, readers, facts)
    own = [fact for fact in shown if fact.is_own and not fact.selects]
    yield from (fact.read_call for fact in own if not fact.is_other)
    yield from _reads_by_ids(write, (one for one in readers if _is_asked_by_other_id(one, write)))
    yield from (fact.read_call for fact in own)
    yield from _reads_by_ids(write, readers)
    yield from (fact.read_call for fact in shown if not fact.is_own and not fact.selects)
    yield from (fact.read_call for fact in shown if fact.selects)
    yield from _reads_by_answer(write, readers)
    yield from _reads_of_lists(write, readers)


def _reads_named_by_operator(write: NamedWrite, readers: Iterable[ReadTool]) -> Iterator[ReadCall]:
    """Yields the catalogue's read, with arguments from the call, or else with the id from its answer."""
    for reader in readers:
        if reader.tool.name == write.tool.catalogue.read_back:
            given = _arguments_for(write, reader)
            missing = sorted(reader.required.difference(given))
            if len(missing) <= 1:
                made = {name: _reference_to_made(write, reader, name) for name in missing}
                yield ReadCall(reader.tool, {**given, **made})


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
    def is_other(self) -> bool:
        """Whether the read showed another kind of record than the writing tool is about."""
        return self.order[0]


def _earlier_reads_showing(
    write: NamedWrite, readers: Sequence[ReadTool], facts: Sequence[Fact]
) -> list[_ReadShowingRecord]:
    """Reads of this task that showed a record which the call names, the best first."""
    by_name = {reader.tool.name: reader for reader in readers}
    found: list[_ReadShowingRecord] = []
    for place, fact in enumerate(facts):
        reader = by_name.get(fact.tool)
        if reader is None or not fact.ok or fact.connection_id != write.tool.connection_id:
            continue
        shown = _index_ids(fact.result_json)
        rank, is_own = _find_shown_id(write, shown)
        if rank is not None:
            asked = ReadCall(reader.tool, loads_object(fact.arguments_json))
            is_other = not write.ids[rank].noun & (write.holder or write.words.nouns)
            order = (is_other, rank, shown.records, -place)
            is_own = is_own and (rank == 0 or not write.holder)  # a list of rooms does not show which booking has one
            found.append(_ReadShowingRecord(order, asked, is_own, _asks_beyond_ids(asked.arguments, write)))
    return sorted(found, key=lambda one: one.order)


def _is_asked_by_other_id(reader: ReadTool, write: NamedWrite) -> bool:
    """Whether a read shows the one thing that the tool is about by the id of what it belongs to:
    ``get_deposit(assignment_id)``; no list of such things.
    """
    is_one = reader.words.head in words_of(reader.tool.name)
    return is_one and write.is_about(reader.words) and reader.words.nouns not in reader.identifiers.values()


def _find_shown_id(write: NamedWrite, shown: "_ShownIds") -> tuple[int | None, bool]:
    """The index of the first of the call's ids that a result shows, and whether it shows it as a record's own id."""
    for rank, named in enumerate(write.ids):
        keys = shown.keys_of.get(str(named.value), ()) if named.is_known else ()
        alike = (
            words_of(key) == words_of(named.name) or nouns_of_identifier(key, frozenset()) == named.noun for key in keys
        )
        if _OWN_ID in keys or any(alike):
            return rank, _OWN_ID in keys
    return None, False


def _put_holding_record_first(write: NamedWrite, facts: Sequence[Fact]) -> NamedWrite:
    """The write with that id first whose record holds the others as fields: a booking has the ``room_id`` that is set.

    That record must have been read in this task; if there is none, or more than one, the write is unchanged.
    """
    if len(write.ids) < _FEWEST_HELD:
        return write
    holders = {
        (named.name, str(named.value)): named
        for fact in facts
        if fact.ok and fact.connection_id == write.tool.connection_id
        for node in _parse_record_nodes(fact.result_json)
        for named in write.ids
        if any(_compare_id_fields(node, named))
        and all(_has_field_for(node, other) for other in write.ids if other != named)
    }
    if len(holders) != 1:
        return write
    (holder,) = holders.values()
    return write._replace(ids=(holder, *(one for one in write.ids if one != holder)), holder=holder.noun)


def _compare_id_fields(node: RecordNode, named: NamedId) -> Iterator[bool]:
    """Yields, for the record's own id and for each field of the same name, whether it has the id's value."""
    yield node.record_id is not None and str(node.record_id) == str(named.value)
    for key, value in node.record.items():
        yield words_of(key) == words_of(named.name) and str(value) == str(named.value)


def _has_field_for(node: RecordNode, named: NamedId) -> bool:
    """Whether the record has a field of that name, at any depth, other than its own id."""
    wanted = words_of(named.name)
    return any(not leaf.items and words_of(leaf.name) == wanted for leaf in find_leaves(node.record))


class _ShownIds(NamedTuple):
    """The fields under which a result shows each value (``_OWN_ID``: a record's own id), and its number of records."""

    keys_of: Mapping[str, frozenset[str]]
    records: int


@lru_cache(maxsize=256)  # every call of a plan asks of the same facts
def _parse_record_nodes(result_json: str) -> Sequence[RecordNode]:
    return find_record_nodes(loads(result_json))


@lru_cache(maxsize=256)
def _index_ids(result_json: str) -> _ShownIds:
    nodes = _parse_record_nodes(result_json)
    found: dict[str, set[str]] = {}
    for node in nodes:
        for key, value in ((_OWN_ID, node.record_id), *node.record.items()):
            if isinstance(value, str | int):
                found.setdefault(str(value), set()).add(key)
    return _ShownIds({value: frozenset(keys) for value, keys in found.items()}, len(nodes))


def _asks_beyond_ids(asked: JsonObject, write: NamedWrite) -> bool:
    """Whether a read was asked with more than the record's id, such as a state, which the write itself may change."""
    ids = [str(named.value) for named in write.ids if named.is_known]
    return any(
        not (set(words_of(name)) & _PAGING_WORDS) and not any(given in str(value) for given in ids)
        for name, value in asked.items()
    )


def _reads_by_ids(write: NamedWrite, readers: Iterable[ReadTool]) -> Iterator[ReadCall]:
    """Yields reads of what the call names, with arguments of the call; the best fitting first."""
    fitting: list[tuple[int, int, str, ReadCall]] = []
    for reader in readers:
        given = _arguments_for(write, reader)
        if given and reader.required.issubset(given) and (fit := _rate_fit(write, reader, given)):
            fitting.append((-fit, len(reader.argument_words), reader.tool.name, ReadCall(reader.tool, given)))
    yield from (found for *_, found in sorted(fitting, key=lambda one: one[:3]))


def _rate_fit(write: NamedWrite, reader: ReadTool, given: JsonObject) -> int:
    """How well a read with these arguments of the write fits; 0 if not at all."""
    own = reader.words.nouns
    akin = {word for word in own if word in write.words.nouns or write.words.makes_by_verb(frozenset({word}))}
    if write.holder:
        akin = {*(own & write.holder)}
    spoken_of = {word for name in given for word in reader.identifiers.get(name, ())}
    if not (akin or own & spoken_of):
        return 0
    one = any(reader.identifiers.get(name) == own for name in reader.required)
    return max(1, 10 + 3 * len(akin) - len(own - akin) + one)


def _arguments_for(write: NamedWrite, reader: ReadTool) -> JsonObject:
    """The read's arguments that the call can fill: required ones, and those that name a record."""
    given: JsonObject = {}
    for name, called in reader.argument_words.items():
        if name not in reader.required and name not in reader.identifiers:
            continue
        value = write.by_words.get(called)
        if value is None and name in reader.identifiers:
            value = _find_id_of_kind(reader.identifiers[name], write)
        if value is not None:
            given[name] = convert_id_type(value, reader.tool, name)
    return given


def _find_id_of_kind(noun: frozenset[str], write: NamedWrite) -> Json:
    """The call's id of that kind; None if it has none, or several different ones."""
    values = [named.value for named in write.ids if named.noun == noun]
    return values[0] if values and all(value == values[0] for value in values) else None


def _reads_by_answer(write: NamedWrite, readers: Iterable[ReadTool]) -> Iterator[ReadCall]:
    """Yields reads that need one id which only the call's answer gives: that of what it makes."""
    for reader in readers:
        if not (write.is_about(reader.words) or _shows_what_is_made(reader, write)):
            continue
        given = _arguments_for(write, reader)
        missing = sorted(reader.required.difference(given))
        if len(missing) == 1 and reader.identifiers.get(missing[0]) == reader.words.nouns:
            yield ReadCall(reader.tool, {**given, missing[0]: _reference_to_made(write, reader, missing[0])})


def _shows_what_is_made(reader: ReadTool, write: NamedWrite) -> bool:
    """Whether a read shows what the write's verb makes: ``book_room`` makes a booking."""
    return write.words.may_make_record and write.words.makes_by_verb(reader.words.nouns)


def _reference_to_made(write: NamedWrite, reader: ReadTool, name: str) -> JsonObject:
    """The reference to the id of what is made; a plain ``id`` is looked up by the name of what the read is about."""
    if not is_unqualified_id(name):
        return reference_to_made(write.call_id, name)
    noun = [word for word in words_of(reader.tool.name) if normalize_noun(word) in reader.words.nouns]
    return reference_to_made(write.call_id, "_".join([*noun, name]))


def _reads_of_lists(write: NamedWrite, readers: Iterable[ReadTool]) -> Iterator[ReadCall]:
    """Yields reads of all records of a kind, to compare rows before and after; the write's own kind first."""
    named = [one.noun for one in write.ids]
    found = [
        (not write.is_about(reader.words), len(reader.argument_words), reader.tool.name, ReadCall(reader.tool, given))
        for reader in readers
        if write.is_about(reader.words) or _shows_what_is_made(reader, write) or reader.words.nouns in named
        if reader.required.issubset(given := _arguments_for(write, reader))
    ]
    yield from (asked for *_, asked in sorted(found, key=lambda one: one[:3]))


def _build_named_write(tool: Tool, arguments: JsonObject, call_id: str) -> NamedWrite:
    scalars = {name: value for name, value in arguments.items() if value is not None and not isinstance(value, list)}
    by_words = {
        tuple(words_of(name)): value
        for name, value in scalars.items()
        if not isinstance(value, dict) or set(value) == {REFERENCE}
    }
    words = words_of_tool(tool.name)
    ids = sorted(
        _walk_ids(arguments, words.nouns), key=lambda one: one.noun != words.nouns and not one.noun & words.nouns
    )
    return NamedWrite(tool, words, call_id, ids, by_words)


def _index_readers(tools: Mapping[str, Tool]) -> Mapping[str, Sequence[ReadTool]]:
    """The read tools of a toolbox by connection, in the toolbox's order."""
    found: dict[str, list[ReadTool]] = {}
    for tool in tools.values():
        if tool.tool_class is ToolClass.READ:
            found.setdefault(tool.connection_id, []).append(_reader_of(tool))
    return found


_readers = IdentityCache(_index_readers, 64)


def _build_read_tool(tool: Tool) -> ReadTool:
    words, required, names = words_of_tool(tool.name), tool.required, list(tool.parameters)
    identifiers = {
        name: nouns_of_identifier(name, words.nouns)
        for name in names
        if is_id_name(name) or (name in required and is_identifying_name(name))
    }
    return ReadTool(tool, words, required, identifiers, {name: tuple(words_of(name)) for name in names})


_reader_of = IdentityCache(_build_read_tool, MOST_COMPILED)  # a toolbox is made for each task, of tools that last


def proving_read(call: PlannedCall, toolbox: Toolbox, reference: RecordReference) -> ReadCall | None:
    """The read that the catalogue names as the write's proof, if it asks for this very record."""
    write = toolbox.find_tool(call.connection_id, call.tool)
    if write is None or not write.catalogue.read_back:
        return None
    described = _build_named_write(write, call.arguments, call.call_id)
    asked = _first_fitting_read(
        _reads_named_by_operator(described, _readers(toolbox.tools).get(call.connection_id, ()))
    )
    if asked is None or any(referenced_calls(asked.arguments)) or reference.value not in asked.arguments.values():
        return None
    return asked
