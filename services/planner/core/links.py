"""Where a text says of other things to which the meant ones belong, or which belong to them, which of these it means:
``kites of lost pilots``, ``pilots with torn kites``.
"""

import re
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from services.planner.core.mentions import drop_quotations
from services.planner.core.pages import lists_read_in_part
from services.planner.core.records import FactRecord, is_unsearched_list
from services.planner.core.situation import Situation, says
from services.planner.core.words import STOP, concept, field_stems, is_identifier, nouns, parts, stem

_WORD = re.compile(r"[A-Za-z]+(?:['’][a-z]+)?")
_LINKS = frozenset("of from with by for to at in under against do does did has have had having whose".split())
_HAS = frozenset("with has have had having".split())
_BEFORE = _LINKS | frozenset("all every each any the our their its his her my which what that those these".split())
_WHICH = re.compile(r"\s*,?\s*(?:that|who|which|whose(?:\s+[\w-]+){1,3})\s+(?:is|are|was|were|has|have|had)\b", re.I)
_PERHAPS = re.compile(r"\s+(?:with|in|at|having|over|above|under|below)\b(?=\s+[\w$€£])", re.I)
_TAIL_END = re.compile(
    r"[\"“;:!?]|[.,](?!\d)|\s(?:and\s+[a-z]+\s+(?:the|it|them)|because|to|into|with|for|if)\b|$", re.I
)


class LinkedKind(NamedTuple):
    """Other things that a text speaks of. ``noun``: what they are; ``start``, ``end``: the words about them.

    ``tail``: where what is said behind their noun begins. ``is_held``: they refer to the meant ones, not these to them.
    ``is_sure``: what is said behind their noun is of them.
    """

    noun: frozenset[str]
    start: int
    tail: int
    end: int
    is_held: bool
    is_sure: bool


def find_linked_kinds(text: str, listed: Sequence[FactRecord], situation: Situation) -> list[LinkedKind]:
    """The other kinds of things by which a text says which of the listed ones it means."""
    plain_text = drop_quotations(text)
    own = frozenset().union(*(record.noun for record in listed))
    others = _nouns_referred(listed) | {record.noun for record in situation.records if record.in_list and record.own_id}
    linked_nouns = sorted((noun for noun in others if noun and noun.isdisjoint(own)), key=len, reverse=True)
    kinds: list[LinkedKind] = []
    words = [*_WORD.finditer(plain_text)]
    for place, word in enumerate(words):
        for noun in linked_nouns:
            said = {stem(other[0]) for other in words[max(0, place - len(noun) + 1) : place + 1]}
            if stem(word[0]) in noun and noun <= said and (kind := _read_kind(plain_text, words, place, noun, own)):
                is_referred = any(_refers_to(name, noun) for record in listed for name in record.fields)
                kinds.append(kind._replace(is_held=kind.is_held and not is_referred))
                break
    return kinds


def _nouns_referred(listed: Sequence[FactRecord]) -> set[frozenset[str]]:
    """What the listed things refer to, by the names of their fields."""
    fields = [(record, name) for record in listed for name in record.fields if name != record.own_field]
    return {concept(name, record.noun) for record, name in fields if is_identifier(name)}


def _read_kind(
    text: str, words: Sequence[re.Match[str]], place: int, noun: frozenset[str], own: frozenset[str]
) -> LinkedKind | None:
    """The words about the things that are called at a place; None where these are not said to be linked."""
    start = place - len(noun) + 1
    while start > 0 and _goes_on(text, words[start - 1], words[start]) and not _ends(words[start - 1], own):
        start -= 1
    before = [word[0].lower() for word in words[max(0, start - 2) : start]]
    link = next((word for word in before[::-1] if word in _LINKS), "") if before and before[-1] in _BEFORE else ""
    is_possessive = bool(re.search(r"['’]s?$", text[: words[place].end() + 1].rstrip()))
    if not (link or is_possessive):
        return None
    tail = words[place].end()
    skipped = _WHICH.match(text, tail)
    end = tail
    is_sure = link in _HAS or bool(skipped)
    skipped = skipped or _PERHAPS.match(text, tail)
    if link in _HAS or skipped:
        match = _TAIL_END.search(text, skipped.end() if skipped else tail)
        end = match.start() if match else len(text)
    return LinkedKind(noun, words[start].start(), tail, end, link in _HAS, is_sure)


def _goes_on(text: str, before: re.Match[str], after: re.Match[str]) -> bool:
    """Whether nothing parts two words but blanks and hyphens."""
    return not text[before.end() : after.start()].strip(" -")


def _ends(word: re.Match[str], own: frozenset[str]) -> bool:
    return word[0].lower() in _BEFORE or stem(word[0]) in own


def list_linked(kind: LinkedKind, situation: Situation) -> list[FactRecord]:
    return [record for record in situation.records if record.noun == kind.noun]


class Linked(NamedTuple):
    """The things of a kind that fit what a text says of them, and all that are known."""

    kind: LinkedKind
    fitting: Sequence[FactRecord]
    known: Sequence[FactRecord]
    is_whole: bool

    def holds(self, record: FactRecord) -> bool:
        """Whether a thing is linked with one that fits."""
        if self.kind.is_held:
            return any(record.own_id in find_values_referring(other, record.noun) for other in self.fitting)
        return bool(find_values_referring(record, self.kind.noun) & _names_of_all(self.fitting))

    def is_unknown(self, record: FactRecord) -> bool:
        """Whether nothing shows if a thing is linked with one that fits."""
        values = find_values_referring(record, self.kind.noun)
        return not self.is_whole and (self.kind.is_held or bool(values and not values & _names_of_all(self.known)))


def are_linked(kind: LinkedKind, listed: Sequence[FactRecord], linked: Sequence[FactRecord]) -> bool:
    """Whether some of the listed things refer to some of that kind, or the other way round if these are held."""
    if kind.is_held:
        return any(find_values_referring(other, record.noun) for record in listed[:1] for other in linked)
    return any(find_values_referring(record, kind.noun) for record in listed)


def is_whole_list(kind: LinkedKind, text: str, situation: Situation) -> bool:
    """Whether a list of a kind was read that leaves out nothing but what the words about it leave out."""
    said, in_part = text[kind.start : kind.end], lists_read_in_part(situation.facts)
    facts = [fact for fact in situation.facts if nouns(fact.tool) == kind.noun and is_unsearched_list(fact)]
    asked_by = [[*map(str, fact.arguments.values())] for fact in facts if fact.tool not in in_part]
    return any(all(value.isdigit() or says(said, value) for value in values) for values in asked_by)


def _names_of_all(records: Iterable[FactRecord]) -> set[str]:
    return {name for record in records for name in record.names}


def find_values_referring(record: FactRecord, noun: frozenset[str]) -> set[str]:
    """The identifiers and names by which a record refers to a thing of that noun."""
    fields = [name for name in record.fields if name != record.own_field and _refers_to(name, noun)]
    return {str(record.fields[name]) for name in fields} - {""}


def _refers_to(name: str, noun: frozenset[str]) -> bool:
    if is_identifier(name):
        return concept(name, frozenset()) == noun
    return "name" in parts(name) and noun < field_stems(name)


def leftover_words(rest: str, kind: LinkedKind, linked: Sequence[FactRecord], terms: Container[str]) -> list[str]:
    """The words about a kind that no criterion has taken and that may matter.

    Behind the noun, a word of a column says nothing by itself, nor does one of ``terms``, by which tools call the kind.
    """
    before, behind = rest[kind.start : kind.tail], rest[kind.tail : kind.end]
    columns = frozenset().union(*(field_stems(name) for record in linked for name in record.fields))
    words = _WORD.findall(behind)
    is_called_so = behind[:1] == " " and bool(_WORD.match(behind, 1)) and stem(words[0]) in terms
    further = [word for word in words[is_called_so:] if stem(word) not in columns]
    said = [word for word in (*_WORD.findall(before), *further) if word.lower() not in STOP | _BEFORE]
    return [word for word in said if stem(word) not in kind.noun]
