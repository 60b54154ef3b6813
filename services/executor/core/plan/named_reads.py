"""Reads what a plan's calls name and nobody read since the last writes; finds listed identifiers that no call names."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from services.executor.core.figures.identifiers import WrittenIdentifier, find_codes, identifier_key
from services.executor.core.figures.vocabulary import CHOOSES
from services.executor.core.reads.reader import CallRefused, TaskReader
from services.executor.core.records.binding import reads_around
from services.executor.core.records.wanted_reads import missing_reads
from services.executor.core.session.context import TurnContext
from services.executor.core.session.values import Fact, PartOfTask
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.record_tree import RecordKeys, leaves_of, names_a_record, nodes_of
from services.executor.ports.tools import Tool
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json, JsonObject, dumps, loads, loads_object
from shared.domain.keywords import stem
from shared.ports.models import ToolUse

_Key = tuple[str, ...]
# What may stand between two things of one list; a word before the second is that before the first.
_JOINT = re.compile(r"\s*(?:,\s*(?:and\s+)?|/\s*|(?:and|as well as|plus|und|et|y|&|\+)\s+)(?:the\s+)?(?:(\w+)\s+)?#?")
_LAST_WORD = re.compile(r"(\w+)\W*\Z")
_DIGITS = re.compile(r"\d+")
_NEAR = 60  # characters before an identifier in which the word before it stands


def unnamed_ids(
    part: PartOfTask, calls: Sequence[PlannedCall], facts: Sequence[Fact], keys: RecordKeys
) -> tuple[str, ...]:
    """The identifiers of a list in the part of which its calls name others of the same kind, and not these.

    The kind is what records that were read, or reads that were asked, say of them: both are the ``id`` of a fee; of one
    that nobody read, its form. A call of the same tool for another part names for this one, too.
    """
    tools = {call.tool for call in calls if call.part == part.number}
    named = {
        key for call in calls if call.tool in tools or call.part == part.number for key in _keys_in(call.arguments)
    }
    if not named or CHOOSES.search(part.quote):
        return ()
    lists = [listed for listed in _lists_in(part.quote) if not named.issuperset(map(identifier_key, listed))]
    kinds = _kinds_by_key(facts, keys) if lists else {}
    return tuple(dict.fromkeys(one for listed in lists for one in _find_left_out(listed, named, kinds)))


def _find_left_out(listed: Sequence[str], named: set[_Key], kinds: dict[_Key, set[_Key]]) -> Iterator[str]:
    called = [one for one in listed if identifier_key(one) in named]
    kinds_called = [kinds.get(identifier_key(one), set()) for one in called]
    forms_called = set(map(_form_of, called))
    for one in listed:
        if identifier_key(one) not in named:
            own = kinds.get(identifier_key(one), set())
            if any(own & other for other in kinds_called) or (not own and _form_of(one) in forms_called):
                yield one


def _form_of(identifier: str) -> str:
    """``RA-#`` for ``RA-70011``; of a whole number, how long it is."""
    return "#" * len(identifier) if identifier.isdecimal() else _DIGITS.sub("#", identifier.upper())


def _lists_in(text: str) -> Iterator[list[str]]:
    """Yields the identifiers of a text that stand side by side."""
    found = sorted(set(find_codes(text)))
    listed: list[WrittenIdentifier] = []
    for one in found:
        if listed and not _continues_list(text, listed, one):
            yield [each.text for each in listed]
            listed = []
        listed.append(one)
    yield [each.text for each in listed]


def _continues_list(text: str, listed: Sequence[WrittenIdentifier], following: WrittenIdentifier) -> bool:
    joint = _JOINT.fullmatch(text, listed[-1].end, following.start)
    if joint is None:
        return False
    before = _LAST_WORD.search(text, max(0, listed[0].start - _NEAR), listed[0].start)
    return joint[1] is None or (before is not None and stem(joint[1].lower()) == stem(before[1].lower()))


def _kinds_by_key(facts: Sequence[Fact], keys: RecordKeys) -> dict[_Key, set[_Key]]:
    """The kinds of each identifier in the reads: the own id of a record at a place, or the value of a field by its
    name.
    """
    kinds: dict[_Key, set[_Key]] = {}
    for fact in facts:
        for node in nodes_of(loads(fact.result_json)):
            _note(kinds, node.own, (fact.tool, *node.place))
            _note_fields(kinds, node.record, keys)
        asked = loads(fact.arguments_json)
        _note_fields(kinds, asked if isinstance(asked, dict) else {}, keys)
    return kinds


def _note_fields(kinds: dict[_Key, set[_Key]], record: JsonObject, keys: RecordKeys) -> None:
    for name, value in record.items():
        if keys.kind_of(name) or (names_a_record(name) and len(words_of(name)) > 1):
            _note(kinds, value, ("", *(keys.kind_of(name) or words_of(name))))


def _note(kinds: dict[_Key, set[_Key]], value: Json, kind: _Key) -> None:
    if isinstance(value, str | int) and not isinstance(value, bool):
        kinds.setdefault(identifier_key(str(value)), set()).add(kind)


def _keys_in(arguments: JsonObject) -> Iterator[_Key]:
    for leaf in leaves_of(arguments):
        for value in leaf.value if isinstance(leaf.value, list) else [leaf.value]:
            yield identifier_key(str(value))
            yield from (identifier_key(code.text) for code in find_codes(str(value)))


class _NamedRead(NamedTuple):
    """One read to make; ``key`` is its journal step, ``tool`` is None if its server no longer has it."""

    key: str
    use: ToolUse
    tool: Tool | None


class NamedReads:
    """The reads of records that calls name; decided once under a key, whichever attempt goes on with the run."""

    def __init__(self, ctx: TurnContext, reader: TaskReader, key: str, calls: Sequence[PlannedCall]) -> None:
        self._ctx = ctx
        self._reader = reader
        self._wanted = self._decide_reads(key, calls)

    @property
    def is_any_open(self) -> bool:
        """Whether one of the reads was not made by an earlier attempt."""
        return any(one.tool and self._ctx.journal.of_earlier_attempt(one.key) is None for one in self._wanted)

    async def make(self) -> bool:
        """Makes the reads, since rules know nothing of a record that no read shows; whether there were any."""
        for one in self._wanted:
            if one.tool is None:
                self._reader.restore(one.use)
                continue
            ref = self._reader.reserve(one.use, one.tool, beside=True)
            try:
                await self._reader.read(one.key, ref, one.use, one.tool, by_machine=True)
            except CallRefused as why:
                self._reader.note_unread(ref, str(why))
        return bool(self._wanted)

    def _decide_reads(self, key: str, calls: Sequence[PlannedCall]) -> list[_NamedRead]:
        def missing() -> str:
            plan = WritePlan(task_id=self._ctx.record.task_id, calls=tuple(calls))
            reads = missing_reads(plan, self._ctx.toolbox, self._reader.facts, self._ctx.policies)
            found: list[Json] = [[read.tool.connection_id, read.tool.name, read.arguments] for read in reads]
            # What rules may look at is read again once the task itself has written.
            outdated = self._reader.outdated
            near = (reads_around(call, self._reader.facts, self._ctx.toolbox.keys) for call in plan.changes if outdated)
            refs = {ref for found_near in near for ref in found_near}
            again = (fact for fact in outdated if fact.ref in refs)
            found += [[fact.connection_id, fact.tool, loads_object(fact.arguments_json)] for fact in again]
            return dumps(found)

        stored = loads(self._ctx.journal.decide_once(key, missing))
        rows = [row for row in stored if isinstance(row, list)] if isinstance(stored, list) else []
        return [self._read_named(f"{key}:{place}", *row) for place, row in enumerate(rows)]

    def _read_named(self, key: str, connection: Json, name: Json, arguments: Json) -> _NamedRead:
        use = ToolUse(key, str(name), arguments if isinstance(arguments, dict) else {})
        return _NamedRead(key, use, self._ctx.toolbox.find(str(connection), use.name))
