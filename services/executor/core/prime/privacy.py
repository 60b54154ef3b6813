"""The privacy guard: decides by words alone, before any model call, whether a request asks to be given protected data.

What decides is what the request's verbs do with the data: a password may be reset, a card charged. Words inside the
name of a tool or field ask for nothing. The data of one record may go where business needs it: to a named department,
or into a form; not those of whole sets of records, not credentials, and not if the asker wants to see the data.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from services.executor.core.prime import privacy_words as words
from services.executor.core.states.machine import Rejected

_VERBS = (
    "get|list|show|set|update|create|reset|display|fetch|read|find|search|lookup|check|verify|validate|delete|remove|add"
    "|send|export|rotate|revoke|issue|mask|redact|hide|approve|post|put|mark|is|has|allow|enable|disable|require|use|view"
)
_CALL_WORDS = (
    "call|calls|calling|use|uses|using|run|runs|running|invoke|execute|tool|function|method|endpoint|operation|action"
    "|step|set|update|rename|enable|disable|toggle|switch|flag|setting|parameter|field|column|via|through|result of"
    "|output of"
)
_TOOL = rf"(?:[a-z0-9]+\.)?(?:{_VERBS})(?:_[a-z0-9]+)+"
_TOOL_NAME = re.compile(
    rf"`{_TOOL}(?:\(\))?`|\b{_TOOL}\(\)"
    rf"|(?<![\w`])(?P<call>(?:{_CALL_WORDS})(?: (?:the|our|tool|function|endpoint|flag|setting|field|column)){{0,2}} )"
    rf"{_TOOL}\b"
)
_EVERYBODY = re.compile(
    r"\b(?:all|every|each|any|entire|whole|everyone|everybody|anyone|anybody|complete|dump|bulk)(?:'s)?\b"
)
_PRONOUN = re.compile(r"(?:^|[_`\s])(?:me|my|us|the)(?:_|`|$)")
_RESULT_TO_ASKER = re.compile(
    r"\b(?:send|show|give|tell|e-?mail|text|forward|read|hand|report)\b"
    r"(?: (?:it|them|that|those|everything|(?:the |its )?(?:results?|output|values?)))? (?:to )?(?:me|us)\b"
    r"(?=\s*(?:$|[,.]|(?:it|them|that|those|everything|all|and|what)\b|(?:the|its) (?:results?|output|values?)\b))"
    r"|\b(?:and|then|,) (?:print|reveal|leak|publish|export|list|show|disclose)\b"
)
_RECORD = re.compile(r"[a-z]{1,10}-\d[\w-]*(?:'s)?")
_RANGE = frozenset("to through until till".split())
_OWNER_WORDS = frozenset("of for on from in at".split())
_ASKER = frozenset("me us my i myself what what's which whats".split())
_MOST_WORDS_AWAY = 4  # words within which a preposition's noun is looked for


def without_tool_names(sentence: str) -> str:
    """The sentence with each tool name replaced by a plain word, unless it is about everybody or asks for results."""
    if "_" not in sentence or _EVERYBODY.search(sentence.replace("_", " ")) or _RESULT_TO_ASKER.search(sentence):
        return sentence
    return _TOOL_NAME.sub(_replace_tool_name, sentence)


def _replace_tool_name(found: re.Match[str]) -> str:
    return found[0] if _PRONOUN.search(found[0].removeprefix(found["call"] or "")) else f"{found['call'] or ''}tool"


_SENTENCE = re.compile(r"[.!?;](?=\s|$)|\n")
_ABBREVIATED = re.compile(r"\b(mr|mrs|ms|dr|prof|inc|ltd|co|corp|no|st|jr|sr|approx)\.")
_ITEM = re.compile(r"(?<=:)[ \t\r]{0,40}\n+|\n[ \t\r]{0,40}(?:[-*•]|\d+[.)])\s*|\s[-–—]\s")
_WORD = re.compile(r"[a-z0-9][a-z0-9'’&@-]*|[,:]", re.I)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_ASIDE = re.compile(r"\([^()]{0,500}\)")
_WORDS_BEFORE = 24  # words before the thing among which its verb is looked for
_QUESTION_WORDS = frozenset("what what's whats which".split())
_WORDS_FOR_COUNT = re.compile(
    r"\b(?:how many|number of|count of|percentage of|share of|last (?:four|4|three|3) (?:digits?|characters?) of)\b"
)
_IT_TO_ME = re.compile(
    r"(?:\b(?:and|then|you)|,) ([a-z-]+) (?:(?:it|them|that|those) to (?:me|us)|(?:me|us) (?:it|them|that))\b"
)
_NOT_GIVEN = (["on", "file"], ["to", "be"])
_FIELDS = frozenset((word, ":") for word in ("email", "e-mail", "mail", "message", "text", "report", "sms"))
_NOT = frozenset("not never don't dont cannot can't no nobody none who where".split())
_TERMS: dict[tuple[str, ...], str] = {
    tuple(term.split()): group for group, terms in words.PROTECTED.items() for term in terms
}
_STEM_LETTERS = 3
_FIRST_STEMS = frozenset(term[0][:_STEM_LETTERS] for term in _TERMS)
_LONGEST_TERM = max(len(term) for term in _TERMS)


class ProtectedRequest(NamedTuple):
    """The protected data that a request asks for, in its own words, and the group of data it belongs to."""

    what: str
    group: str


def refuse_protected_request(text: str) -> None:
    """Raises ``Rejected`` with the reason if the text asks for protected data."""
    found = find_protected_request(text)
    if found is not None:
        raise Rejected(
            f"The request asks for protected data ({found.group}: {found.what}), which is not handed out. "
            "Nothing was read or written."
        )


def find_protected_request(text: str) -> ProtectedRequest | None:
    """The first protected data that the text asks to be given; None if it asks for none."""
    for sentence in _normalized_sentences(text):
        for found in _find_mentions(sentence.words):
            if _is_asked_for(sentence, found):
                term = " ".join(sentence.words[found.start : found.end])
                return ProtectedRequest(term, found.group)
    return None


class _ProtectedDataMention(NamedTuple):
    """A mention of protected data in a sentence. ``start`` and ``end``: the places of its words."""

    start: int
    end: int
    group: str


class _Sentence:
    """The words of one sentence in lower case, with cached searches. A place is the index of a word; -1 if nothing is
    found.
    """

    def __init__(self, spoken: Sequence[str]) -> None:
        self.words = spoken

    def word(self, at: int) -> str:
        return self.words[at] if at < len(self.words) else ","

    @cached_property
    def is_ordinary_work(self) -> bool:
        """Whether the sentence is about single records, and gives nothing to the asker or to outsiders."""
        records = pairwise(at for at in range(len(self.words)) if _is_record(self.words, at))
        is_range = any(two - one <= 3 and not _RANGE.isdisjoint(self.words[one:two]) for one, two in records)
        is_told = not (words.SPILLING | _ASKER).isdisjoint(self.words)
        return not (is_range or is_told or _EVERYBODY.search(" ".join(self.words)))

    @cached_property
    def place_after_first_receiver(self) -> int:
        """The place after the first receiver that may get one record's data: "Tell the courier the home address". The
        number of words if there is none.
        """
        receivers = (at for at, word in enumerate(self.words) if at and word in words.RECEIVERS)
        return next((at + 1 for at in receivers if self.word(at + 1) in words.BEHIND_RECEIVERS), len(self.words))

    @cached_property
    def place_of_last_purpose(self) -> int:
        """The last place where business needs one record's data: "to the payroll team", "for the pension form"."""
        nouns = {"to": words.RECEIVERS, "with": words.RECEIVERS, "for": words.PURPOSES}
        places = (at for at, word in enumerate(self.words) if word in nouns)
        near = ((at, self.words[at + 1 : at + 2 + _MOST_WORDS_AWAY], nouns[self.words[at]]) for at in places)
        return max((at for at, rest, meant in near if _begins_with_noun(rest, meant)), default=-1)

    @cached_property
    def place_of_last_use_in_work(self) -> int:
        """The last place where data that was read is used for work: "... and compare it with the form"."""
        joined = enumerate(pairwise(self.words))
        serving = _HANDLING_VERBS | words.SERVED
        return max(
            (at for at, (joint, word) in joined if joint in ("and", "to", "then") and word in serving), default=-1
        )

    @cached_property
    def place_of_last_handing_to_asker(self) -> int:
        """The last place where "it" is told to the asker: "... and send it to me"."""
        return max((at for at, _ in self._it_to_me_phrases), default=-1)

    @cached_property
    def place_of_last_disclosure_to_asker(self) -> int:
        """The index of the last verb that tells the asker, as in "and tell it to me"; -1 if there is none."""
        return max((at for at, verb in self._it_to_me_phrases if verb in _DISCLOSURE_VERBS), default=-1)

    @cached_property
    def _it_to_me_phrases(self) -> Sequence[tuple[int, str]]:
        """The place and verb of each phrase such as "send it to me"."""
        text, found, last, at = " ".join(self.words), list[tuple[int, str]](), 0, 0
        for match in _IT_TO_ME.finditer(text):
            at, last = at + text.count(" ", last, match.start()), match.start()
            found.append((at, match[1]))
        return found


def _normalized_sentences(text: str) -> Iterator[_Sentence]:
    """Yields the sentences of the text with disguises undone (Unicode forms, invisible characters), once with and once
    without asides in brackets.
    """
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).lower().replace("’", "'")
    plain = _ITEM.sub(", ", _ABBREVIATED.sub(r"\1", plain)).replace("column names", "columns")
    aside = _ASIDE.sub(" ", plain)
    for sentence in (*_SENTENCE.split(plain), *(_SENTENCE.split(aside) if aside != plain else ())):
        named = without_tool_names(sentence).replace("_", " ")
        found = _WORD.findall(named.replace("api-key", "api key").replace("credit-card", "credit card"))
        if found:
            yield _Sentence(found)


def _find_mentions(sentence: Sequence[str]) -> Iterator[_ProtectedDataMention]:
    """Yields the mentions of protected data in the sentence, the longest at each place."""
    place = 0
    while place < len(sentence):
        sizes = range(_LONGEST_TERM, 0, -1) if sentence[place][:_STEM_LETTERS] in _FIRST_STEMS else ()
        found = next((m for size in sizes if (m := _protected_term_at(sentence, place, size))), None)
        if found:
            yield found
        place = found.end if found else place + 1


def _protected_term_at(sentence: Sequence[str], start: int, size: int) -> _ProtectedDataMention | None:
    *first, last = sentence[start : start + size] or ("",)
    for form in (
        last,
        last.removesuffix("s"),
        last.removesuffix("es"),
        last.removesuffix("'s"),
        last.removesuffix("s'"),
    ):
        group = _TERMS.get((*first, form)) if len(first) == size - 1 else None
        if group:
            return _ProtectedDataMention(start, start + size, group)
    return None


def _is_asked_for(sentence: _Sentence, found: _ProtectedDataMention) -> bool:
    before = sentence.words[max(0, found.start - _WORDS_BEFORE) : found.start]
    end = found.end
    while end < len(sentence.words) and sentence.words[end] in words.SAME_THING:
        end += 1
    is_name = sentence.word(end) not in words.ENDING  # a password reset, a card payment
    if is_name or _WORDS_FOR_COUNT.search(" ".join(before)) or sentence.words[end : end + 2] in _NOT_GIVEN:
        return False
    if before and (before[-1] in words.NEW_ONES or (before[-1] == "our" and "bank" in sentence.words[found.start])):
        return False
    named = " ".join(sentence.words[found.start : found.end]).removesuffix("s")
    moves = named in words.THINGS and end == found.end < len(sentence.words)
    return _verb_hands_over(before, moves, sentence, end) and not (
        found.group in words.OF_A_RECORD and _is_work_on_a_record(sentence, found)
    )


def _is_work_on_a_record(sentence: _Sentence, found: _ProtectedDataMention) -> bool:
    """Whether the data belongs to one named record ("EMP-4's bank account") and goes where business needs it."""
    behind = sentence.words[found.end : found.end + _MOST_WORDS_AWAY + 1]
    possessed = any(
        _is_record(sentence.words, at) and sentence.words[at].endswith("'s")
        for at in range(max(0, found.start - 3), found.start)
    )
    owned = bool(behind) and behind[0] in _OWNER_WORDS and any(_is_record(behind, at) for at in range(1, len(behind)))
    is_needed = sentence.place_of_last_purpose >= found.end or sentence.place_after_first_receiver < found.start
    return (possessed or owned) and is_needed and sentence.is_ordinary_work


def _is_record(sentence: Sequence[str], at: int) -> bool:
    """Whether the word is a record's id, such as ``EMP-4``, or a number after a kind of record."""
    word = sentence[at]
    numbered = word.removesuffix("'s").isdigit() and at > 0 and sentence[at - 1] in words.RECORD_KINDS
    return numbered or _RECORD.fullmatch(word) is not None


def _begins_with_noun(rest: Sequence[str], nouns: frozenset[str]) -> bool:
    """Whether the words begin with one of these nouns, perhaps after describing words, and the noun ends its phrase."""
    for at, word in enumerate(rest[:_MOST_WORDS_AWAY]):
        if word in nouns:
            following = rest[at + 1] if at + 1 < len(rest) else ","
            return following in words.ENDING or following in nouns or _RECORD.fullmatch(following) is not None
        if word in words.ENDING or word.endswith("'s") or "@" in word:
            return False
    return False


def _verb_hands_over(before: Sequence[str], moves: bool, sentence: _Sentence, end: int) -> bool:
    """Whether the nearest verb before the mention hands the data over. ``moves``: whether businesses commonly move such
    things.
    """
    listed = False
    for place in range(len(before) - 1, -1, -1):
        word, previous = before[place], before[place - 1] if place else ""
        rest = before[place + 1 :]
        following = rest[0] if rest else ""
        if word in _NOT or (word == "of" and previous in words.ATTRIBUTES):
            return False
        if word in words.CONTAINING:
            return not moves and _asks_for_document(before[:place])
        if word in _QUESTION_WORDS and previous not in words.TURNING:
            return not _asks_in_general(word, rest, moves)
        listed = listed or (word in ("of", "with") and previous in words.DOCUMENTS)
        if word in words.TURNING and not _continues_request(word, previous, following):
            return False
        if _is_noun(word, previous):
            continue
        if word in _HANDLING_VERBS:  # what was made anew for somebody may be told
            is_disclosed = word not in words.RENEWING and sentence.place_of_last_disclosure_to_asker >= end
            return is_disclosed or (listed and word in words.MAKING and not moves)
        if _asks_to_hand_over(word, before[:place], rest):
            is_used = (
                word in _READING_VERBS
                and sentence.place_of_last_use_in_work >= end > sentence.place_of_last_handing_to_asker
            )
            if is_used or sentence.word(end) in words.STATING or _reports_a_request(before[:place]):
                return False
            return _hands_over_value(word, previous, rest, moves)
    return False


def _asks_to_hand_over(word: str, earlier: Sequence[str], rest: Sequence[str]) -> bool:
    """Whether this word, at its place, asks to hand something over."""
    following = rest[0] if rest else ""
    if word in ("have", "like", "write"):
        return " ".join((*earlier[-2:], word)).endswith(words.WISHES) or (
            word == "write" and following in ("down", "out")
        )
    return word in _DISCLOSURE_VERBS and following not in words.NOT_AFTER_A_VERB and (word, following) not in _FIELDS


def _is_noun(word: str, previous: str) -> bool:
    """Whether a word that could be a verb is a noun here: "the list", "Bob's email", "rules for sharing"."""
    after_noun_marker = previous in words.NOUN_MARKERS or previous.endswith("'s")
    return after_noun_marker or (word.endswith("ing") and previous in words.TURNING - {"by", "to"})


def _reports_a_request(before: Sequence[str]) -> bool:
    return before[-1:] == ["to"] and not words.REPORTED.isdisjoint(before[-6:]) and "i" not in before[-6:]


def _hands_over_value(verb: str, previous: str, rest: Sequence[str], moves: bool) -> bool:
    if previous in _NOT:
        return False
    if verb in ("need", "want", "like") and rest[:1] in (["a"], ["an"]) and words.COPIES.isdisjoint(rest[:3]):
        return False
    return not moves or verb in words.SHOWING or rest[:1] in (["me"], ["us"])


def _asks_for_document(before: Sequence[str]) -> bool:
    """Whether the words ask to make or hand over a document that contains the data."""
    verbs = _DISCLOSURE_VERBS | words.MAKING
    return any(word in verbs and not _is_noun(word, previous) for previous, word in pairwise(("", *before)))


def _asks_in_general(question: str, between: Sequence[str], moves: bool) -> bool:
    """Whether a question is about such data in general: "what is a CVV", "which credit cards we accept"."""
    return list(between[-2:]) in (["is", "a"], ["is", "an"], ["are"]) or (question != "what" and moves)


def _continues_request(turning: str, previous: str, following: str) -> bool:
    return previous in words.CARRIERS.get(turning, ()) or (turning == "with" and following in words.INCLUDING)


def _list_request_forms(verbs: Iterable[str]) -> frozenset[str]:
    """The forms of the verbs that can ask for something. The past tense cannot: "she emailed her password"."""
    return frozenset(form for verb in verbs for form in _forms_of(verb) if form == verb or form.endswith("ing"))


def _list_forms(verbs: Iterable[str]) -> frozenset[str]:
    """All regular forms of the verbs."""
    return frozenset(form for verb in verbs for form in _forms_of(verb))


def _forms_of(verb: str) -> Iterator[str]:
    stem = verb.removesuffix("e")
    doubled = verb + verb[-1]
    yield from (verb, f"{verb}s", f"{verb}es", f"{stem}ing", f"{stem}ed", f"{doubled}ing", f"{doubled}ed")
    if verb.endswith("y"):
        yield from (f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing")


_HANDLING_VERBS = _list_forms(words.HANDLING) | words.IRREGULAR
_DISCLOSURE_VERBS = _list_request_forms(words.DISCLOSING)
_READING_VERBS = _list_request_forms(words.READING)
