"""Reads the records that a plan's calls name and that were not read since the last writes; finds listed ids without a
call.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from services.executor.core.figures.arguments import ArgumentKind, kind_of_argument, may_hold_amount
from services.executor.core.figures.identifiers import WrittenIdentifier, find_codes, identifier_key
from services.executor.core.figures.vocabulary import WORDS_OF_CHOICE
from services.executor.core.plan.listed_parents import find_covered_parents
from services.executor.core.reads.reader import CallRefused, TaskReader
from services.executor.core.records.binding import refs_of_reads_around
from services.executor.core.records.wanted_reads import missing_reads
from services.executor.core.session.context import TurnContext
from services.executor.core.session.values import Fact, PartOfTask
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import RecordKeys, find_leaves, find_record_nodes, is_id_name
from services.executor.ports.tools import Tool
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json, JsonObject, dumps, loads, loads_object
from shared.domain.keywords import stem
from shared.ports.models import ToolUse

_Key = tuple[str, ...]
# What may stand between two things of one list; a word before the second is that before the first.
_CONJUNCTION = re.compile(
    r"\s*(?:,\s*(?:and\s+)?|/\s*|(?:and|as well as|plus|und|et|y|&|\+)\s+)(?:the\s+)?(?:(\w+)\s+)?#?"
)
_LAST_WORD = re.compile(r"(\w+)\W*\Z")
_DIGITS = re.compile(r"\d+")
_CHARACTERS_BEFORE = 60  # characters before an identifier in which the word before it stands


def listed_ids_without_call(
    part: PartOfTask, calls: Sequence[PlannedCall], facts: Sequence[Fact], keys: RecordKeys
) -> tuple[str, ...]:
    """The identifiers in a list of the part that none of its calls names, while the calls name others of the same kind.

    The kind comes from the records that were read and the arguments of reads; of an identifier that nobody read, its
    pattern counts. A call of the same tool for another part counts as a call for this part, too. A call also names the
    listed record to which its own one belongs: the order of a delivery.
    """
    tools = {call.tool for call in calls if call.part == part.number}
    own_calls = (call for call in calls if call.tool in tools or call.part == part.number)
    keys_of_calls = [{*_identifier_keys_in(call.arguments)} for call in own_calls]
    named_keys = set[_Key]().union(*keys_of_calls)
    if not named_keys or WORDS_OF_CHOICE.search(part.quote):
        return ()
    id_lists = [ids for ids in _find_id_lists(part.quote) if not named_keys.issuperset(map(identifier_key, ids))]
    kinds = _kinds_by_identifier(facts, keys) if id_lists else {}
    ids_without_call: dict[str, None] = {}
    for ids in id_lists:
        if len(ids) > 1:
            covered_keys = find_covered_parents({*map(identifier_key, ids)}, keys_of_calls, facts, keys)
        else:
            covered_keys = set()
        ids_without_call |= dict.fromkeys(_find_ids_without_call(ids, named_keys | covered_keys, kinds))
    return tuple(ids_without_call)


def _find_ids_without_call(ids: Sequence[str], named_keys: set[_Key], kinds: dict[_Key, set[_Key]]) -> Iterator[str]:
    """Yields the listed ids that no call names and that are of the kind, or the pattern, of one that a call names."""
    called_ids = [listed_id for listed_id in ids if identifier_key(listed_id) in named_keys]
    kinds_called = [kinds.get(identifier_key(called_id), set()) for called_id in called_ids]
    patterns_called = set(map(_identifier_pattern, called_ids))
    for listed_id in ids:
        if identifier_key(listed_id) not in named_keys:
            own_kinds = kinds.get(identifier_key(listed_id), set())
            has_called_pattern = not own_kinds and _identifier_pattern(listed_id) in patterns_called
            if has_called_pattern or any(own_kinds & called_kinds for called_kinds in kinds_called):
                yield listed_id


def _identifier_pattern(identifier: str) -> str:
    """``RA-#`` for ``RA-70011``; of a whole number, its number of digits."""
    return "#" * len(identifier) if identifier.isdecimal() else _DIGITS.sub("#", identifier.upper())


def _find_id_lists(text: str) -> Iterator[list[str]]:
    """Yields the groups of identifiers that the text lists next to each other."""
    codes: list[WrittenIdentifier] = []
    for code in sorted(set(find_codes(text))):
        if codes and not _continues_list(text, codes, code):
            yield [listed.text for listed in codes]
            codes = []
        codes.append(code)
    yield [listed.text for listed in codes]


def _continues_list(text: str, listed_codes: Sequence[WrittenIdentifier], next_code: WrittenIdentifier) -> bool:
    joint = _CONJUNCTION.fullmatch(text, listed_codes[-1].end, next_code.start)
    if joint is None:
        return False
    word_before = _LAST_WORD.search(text, max(0, listed_codes[0].start - _CHARACTERS_BEFORE), listed_codes[0].start)
    return joint[1] is None or (word_before is not None and stem(joint[1].lower()) == stem(word_before[1].lower()))


def _kinds_by_identifier(facts: Sequence[Fact], keys: RecordKeys) -> dict[_Key, set[_Key]]:
    """``{identifier key: its kinds}``: ``(tool, *place)`` of its own record, ``("", *words)`` of a field with it."""
    kinds: dict[_Key, set[_Key]] = {}
    for fact in facts:
        for node in find_record_nodes(loads(fact.result_json)):
            _add_kind(kinds, node.record_id, (fact.tool, *node.place))
            _add_kinds_of_fields(kinds, node.record, keys)
        arguments = loads(fact.arguments_json)
        _add_kinds_of_fields(kinds, arguments if isinstance(arguments, dict) else {}, keys)
    return kinds


def _add_kinds_of_fields(kinds: dict[_Key, set[_Key]], record: JsonObject, keys: RecordKeys) -> None:
    for name, value in record.items():
        if keys.kind_of(name) or (is_id_name(name) and len(words_of(name)) > 1):
            _add_kind(kinds, value, ("", *(keys.kind_of(name) or words_of(name))))


def _add_kind(kinds: dict[_Key, set[_Key]], value: Json, kind: _Key) -> None:
    if isinstance(value, str | int) and not isinstance(value, bool):
        kinds.setdefault(identifier_key(str(value)), set()).add(kind)


def _identifier_keys_in(arguments: JsonObject) -> Iterator[_Key]:
    """Yields the keys of a call's values, except counts and measures, and of the codes within them."""
    for leaf in find_leaves(arguments):
        for value in leaf.value if isinstance(leaf.value, list) else [leaf.value]:
            kind = kind_of_argument(leaf.path[-1], {}, value)
            if kind is ArgumentKind.QUANTITY and not may_hold_amount(leaf.path[-1], kind):
                continue  # a count or a measure, such as ``nights``
            yield identifier_key(str(value))
            yield from (identifier_key(code.text) for code in find_codes(str(value)))


class _ReadToMake(NamedTuple):
    """One read to make. ``key``: its journal step; ``tool``: None if the server no longer has it."""

    key: str
    use: ToolUse
    tool: Tool | None


class ReadsOfNamedRecords:
    """The reads of records that calls name, decided in one journal step, so that every attempt makes the same."""

    def __init__(self, ctx: TurnContext, reader: TaskReader, key: str, calls: Sequence[PlannedCall]) -> None:
        self._ctx = ctx
        self._reader = reader
        self._reads = self._decide_reads(key, calls)

    @property
    def has_unmade_reads(self) -> bool:
        """Whether one of the reads was not made by an earlier attempt."""
        return any(read.tool and self._ctx.journal.get_from_earlier_attempt(read.key) is None for read in self._reads)

    async def make_reads(self) -> bool:
        """Makes the reads, so that rules know the records; returns whether there were any."""
        for read in self._reads:
            if read.tool is None:
                self._reader.restore_reference(read.use)
                continue
            ref = self._reader.reserve_reference(read.use, read.tool, must_be_current=True)
            try:
                await self._reader.read_or_reuse(read.key, ref, read.use, read.tool, by_machine=True)
            except CallRefused as refusal:
                self._reader.mark_not_reread(ref, str(refusal))
        return bool(self._reads)

    def _decide_reads(self, key: str, calls: Sequence[PlannedCall]) -> list[_ReadToMake]:
        def find_missing_reads() -> str:
            plan = WritePlan(task_id=self._ctx.record.task_id, calls=tuple(calls))
            reads = missing_reads(plan, self._ctx.toolbox, self._reader.facts, self._ctx.policies)
            requests: list[Json] = [[read.tool.connection_id, read.tool.name, read.arguments] for read in reads]
            # What rules may look at is read again once the task itself has written.
            outdated = self._reader.outdated_facts
            refs: set[str] = set()
            for call in plan.changes if outdated else ():
                refs |= refs_of_reads_around(call, self._reader.facts, self._ctx.toolbox.keys)
            facts_to_reread = (fact for fact in outdated if fact.ref in refs)
            requests += [[fact.connection_id, fact.tool, loads_object(fact.arguments_json)] for fact in facts_to_reread]
            return dumps(requests)

        stored = loads(self._ctx.journal.decide_once(key, find_missing_reads))
        rows = [row for row in stored if isinstance(row, list)] if isinstance(stored, list) else []
        return [self._build_read_to_make(f"{key}:{place}", *row) for place, row in enumerate(rows)]

    def _build_read_to_make(self, key: str, connection: Json, name: Json, arguments: Json) -> _ReadToMake:
        use = ToolUse(key, str(name), arguments if isinstance(arguments, dict) else {})
        return _ReadToMake(key, use, self._ctx.toolbox.find_tool(str(connection), use.name))
