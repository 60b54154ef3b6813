"""Identifiers that a part of a task lists ("fees 901 and 902") and of which its calls name some, but not all."""

import re
from collections.abc import Iterator, Sequence

from services.executor.core.dossier.dossier import Fact
from services.executor.core.dossier.parts import PartOfTask
from services.executor.core.figures.identifiers import WrittenIdentifier, find_codes, identifier_key
from services.executor.core.figures.record_tree import leaves_of, nodes_of
from services.executor.core.figures.sameness import names_a_record
from services.executor.core.tools.near_names import words_of
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject, loads
from shared.domain.keywords import stem

_Key = tuple[str, ...]
# What may stand between two things of one list; a word before the second is that before the first.
_JOINT = re.compile(r"\s*(?:,\s*(?:and\s+)?|/\s*|(?:and|as well as|plus|und|et|y|&|\+)\s+)(?:the\s+)?(?:(\w+)\s+)?#?")
_LAST_WORD = re.compile(r"(\w+)\W*\Z")
# A part that chooses among what it lists, or holds one thing against another, is not meant for each of them.
_CHOOSES = re.compile(
    r"\b(?:or|either|neither|not|except|which|whichever|one of|compare|between|duplicates?|first|last|better|best|"
    r"worse|cheap\w*|(?:larg|small|high|low|new|old|lat|earli)(?:er|est)|merge|same|difference)\b",
    re.IGNORECASE,
)


def unnamed_ids(part: PartOfTask, calls: Sequence[PlannedCall], facts: Sequence[Fact]) -> tuple[str, ...]:
    """The identifiers that the part lists beside one which its calls name, of the same kind, and that no call names.

    The kind is what records that were read, or reads that were asked, say of them: both are the ``id`` of a fee.
    A call of the same tool for another part names for this one, too.
    """
    tools = {call.tool for call in calls if call.part == part.number}
    named = {
        key for call in calls if call.tool in tools or call.part == part.number for key in _keys_in(call.arguments)
    }
    if not named or _CHOOSES.search(part.quote):
        return ()
    kinds = _kinds_by_key(facts)
    return tuple(dict.fromkeys(one for listed in _lists_in(part.quote) for one in _find_left_out(listed, named, kinds)))


def _find_left_out(listed: Sequence[str], named: set[_Key], kinds: dict[_Key, set[_Key]]) -> Iterator[str]:
    called = [kinds.get(identifier_key(one), set()) for one in listed if identifier_key(one) in named]
    for one in listed:
        own = kinds.get(identifier_key(one), set())
        if identifier_key(one) not in named and any(own & other for other in called):
            yield one


def _lists_in(text: str) -> Iterator[list[str]]:
    """The identifiers that stand side by side in a text."""
    found = sorted(set(find_codes(text)))
    listed: list[WrittenIdentifier] = []
    for one in found:
        if listed and not _continues(text, listed, one):
            yield [each.text for each in listed]
            listed = []
        listed.append(one)
    yield [each.text for each in listed]


def _continues(text: str, listed: Sequence[WrittenIdentifier], following: WrittenIdentifier) -> bool:
    joint = _JOINT.fullmatch(text, listed[-1].end, following.start)
    if joint is None:
        return False
    before = _LAST_WORD.search(text[: listed[0].start])
    return joint[1] is None or (before is not None and stem(joint[1].lower()) == stem(before[1].lower()))


def _kinds_by_key(facts: Sequence[Fact]) -> dict[_Key, set[_Key]]:
    """As what each identifier stands in the reads: as the own id of a record at a place, or in a field by its name."""
    kinds: dict[_Key, set[_Key]] = {}
    for fact in facts:
        for node in nodes_of(loads(fact.result_json)):
            _note(kinds, node.own, (fact.tool, *node.place))
            _note_fields(kinds, node.record)
        asked = loads(fact.arguments_json)
        _note_fields(kinds, asked if isinstance(asked, dict) else {})
    return kinds


def _note_fields(kinds: dict[_Key, set[_Key]], record: JsonObject) -> None:
    for name, value in record.items():
        if names_a_record(name) and len(words_of(name)) > 1:
            _note(kinds, value, ("", *words_of(name)))


def _note(kinds: dict[_Key, set[_Key]], value: Json, kind: _Key) -> None:
    if isinstance(value, str | int) and not isinstance(value, bool):
        kinds.setdefault(identifier_key(str(value)), set()).add(kind)


def _keys_in(arguments: JsonObject) -> Iterator[_Key]:
    for leaf in leaves_of(arguments):
        for value in leaf.value if isinstance(leaf.value, list) else [leaf.value]:
            yield identifier_key(str(value))
            yield from (identifier_key(code.text) for code in find_codes(str(value)))
