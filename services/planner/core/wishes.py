"""Parses a user's wishes about messages and appointments: what to do, to whom, about what, from where, and when.

A wish is a line of a list, or a sentence with those that lead to it. Instructions over whole kinds of messages are no
wishes: ``tending_rules`` parses them.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from itertools import zip_longest
from typing import NamedTuple

from services.planner.core.spoken_times import find_time
from services.planner.core.words import STOP, stem, text_words


class WishKind(StrEnum):
    TELL = "tell"
    FORWARD = "forward"
    MOVE = "move"
    CREATE = "create"
    CANCEL = "cancel"
    RESPOND = "respond"


class AskedFact(StrEnum):
    """The kind of fact that a wish wants told; ``WORDS``: the user's own words."""

    WHEN = "when"
    AMOUNT = "amount"
    IDENTIFIER = "identifier"
    WHERE = "where"
    WORDS = "words"


class PersonalWish(NamedTuple):
    """One thing that the user wants done. ``quote``: all words for it; ``clause``: those with the verb.

    ``who``: the recipient's name or address; empty if it is ``asker``, who asked for it. ``topic``: in the user's
    words. ``source``: whose message has the fact. ``waits``: the fact is expected later.
    """

    kind: WishKind
    quote: str
    clause: str
    who: str = ""
    asker: str = ""
    asked: AskedFact | None = None
    topic: str = ""
    source: str = ""
    waits: bool = False
    condition: str = ""

    @property
    def by_mail(self) -> bool | None:
        """Whether the wish asks for a mail (True) or a text message (False); None if it does not say."""
        if (
            re.search(r"\b(?:text message|sms)\b|\btext\s+(?!of\b)[A-Z]", self.quote)
            or self.clause[:4].lower() == "text"
        ):
            return False
        return True if re.search(r"\be?-?mails?\b", self.quote, re.I) else None

    @property
    def topic_stems(self) -> frozenset[str]:
        """The content words of the topic, without people."""
        bare = _NAME_PATTERN.sub(lambda match: match[0] if " " not in match[0] else " ", self.topic)
        return frozenset(stem(word) for word in text_words(bare) if word not in STOP and word not in _EMPTY_WORDS)


_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)  # whether words name a time does not depend on the day
_PERSON = r"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.?\s+)?[A-ZÀ-Þ][\w'’-]*(?:\s+[A-ZÀ-Þ][\w'’-]*)*"
_NAME_PATTERN = re.compile(_PERSON)
_ADDRESS = r"[\w.+-]+@[\w.-]+\w"
_EMPTY_WORDS = frozenset("our my your their this that time day hour date about today".split())
_BULLET_PATTERN = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_SENTENCE_PATTERN = re.compile(r"(?<=[.!?])(?<!\b[A-Z][a-z]\.)\s+(?=[A-ZÀ-Þ])")
_STARTS = (
    r"(?:^|[.;:]\s+|,\s*(?:and\s+)?(?:then\s+)?|\b(?:and|then)\s+)(?:(?:please|then|also|and)\s+)*"
    r"(?:in my calendar,?\s+)?"
)
_VERBS: tuple[tuple[WishKind, str], ...] = (
    (WishKind.FORWARD, r"forward"),
    (WishKind.RESPOND, r"accept|decline|turn down"),
    (WishKind.MOVE, r"move|reschedule|shift|postpone|bring forward|put off|push"),
    (WishKind.CREATE, r"enter|book|schedule|put|add|create|block|set up"),
    (WishKind.CANCEL, r"cancel|call off|delete|remove"),
    (
        WishKind.TELL,
        r"answer|reply(?: to)?|respond to|write(?: to)?|send|(?:e-?)?mail|text|tell|inform|let|give"
        r"|pass(?: it| them| this| that)? on|message|remind|notify",
    ),
)
_VERB_PATTERN = re.compile(
    _STARTS
    + "(?:"
    + "|".join(f"(?P<{kind.name}>{words})" for kind, words in _VERBS)
    + r")\b(?!\s+(?:it|them) alone\b)",
    re.I | re.M,
)
_NONE_PATTERN = re.compile(r"^\W*(?:\w+\s+){0,3}?(?:nobody|nothing|no one|none|noone)\b", re.I)
_NOT_PATTERN = re.compile(r"^(?:please\s+)?(?:do not|don['’]t|never|leave|keep)\b", re.I)
_OF_CALENDAR = re.compile(r"\b(?:calendar|appointment|meeting|event|entry|call|invitation)s?\b", re.I)
_MOVED_TO = re.compile(r"\b(?:to|until|till|on)\s+(?P<when>.+)$", re.I | re.S)
_ASKER_PATTERN = re.compile(
    rf"(?P<who>{_PERSON})\s+(?:(?:has|have)\s+)?(?:asks?|asked|wants? to know|wanted to know|needs to know"
    r"|would like to know|needs?|wants?)\b"
)
_RECIPIENT_PATTERN = re.compile(rf"^\W*(?:to\s+)?(?P<who>{_ADDRESS}|{_PERSON})")
_LATER_TO = re.compile(rf"\bto\s+(?P<who>{_ADDRESS}|{_PERSON})")
_SOURCE_PATTERN = re.compile(
    rf"\bwhich\s+(?P<a>{_PERSON})\s+(?:has\s+)?(?:wrote|written|sent|told|gave|given|texted)\b"
    rf"|\b(?P<b>{_PERSON})['’]s\s+(?:e-?mail|mail|message|text|letter)\b|\b(?:from|by)\s+(?P<c>{_PERSON})"
)
_WAITS_PATTERN = re.compile(
    rf"(?P<who>{_PERSON})\s+(?:tells|will tell|writes|will write|lets|will let|sends|will send|says|will say|confirms"
    r"|will confirm|texts|will text|mails|will mail)\b|"
    rf"\b(?:[Oo]nce|[Aa]s soon as|[Ww]hen|[Aa]fter)\s+(?P<who2>{_PERSON})\s+(?:has\s+)?(?:told|written|wrote"
    r"|confirmed|confirms|sent|said|tells|writes|sends|answers|answered|replied)\b",
)
_CONDITION_PATTERN = re.compile(r"\b(?:if|unless|provided|in case|only when|otherwise)\b", re.I)
_TOPIC = r"(?P<t>[^.;?]+?)"
_OF_TOPIC = rf"\s+(?:of|for)\s+{_TOPIC}(?=$|[.;,?]|\s+by\b)"
_FACTS = tuple(
    (fact, re.compile(rf"\b{words}", re.I))
    for fact, words in (
        (AskedFact.WHEN, rf"when\s+{_TOPIC}\s+(?:is|are|takes? place|starts?|begins?|happens?|will be)\b"),
        (AskedFact.WHEN, rf"(?:date|day|time|hour)s?(?:\s+and\s+(?:the\s+)?(?:hour|time))?{_OF_TOPIC}"),
        (AskedFact.AMOUNT, rf"(?:what|how much)\s+{_TOPIC}\s+costs?\b"),
        (AskedFact.AMOUNT, rf"how much\s+{_TOPIC}\s+(?:is|are|comes? to)\b"),
        (AskedFact.AMOUNT, rf"(?:price|costs?|sum|amount|total|fee){_OF_TOPIC}"),
        (AskedFact.IDENTIFIER, rf"(?:number|code|reference|identifier|id){_OF_TOPIC}"),
        (AskedFact.WHERE, rf"where\s+{_TOPIC}\s+(?:is|are|takes? place|will be)\b"),
        (AskedFact.WHERE, rf"(?:place|room|address|location){_OF_TOPIC}"),
    )
)
_FACT_ALONE = (
    (AskedFact.WHEN, re.compile(r"\b(?:date|day|hour|time)\b", re.I)),
    (AskedFact.AMOUNT, re.compile(r"\b(?:price|cost|amount)\b", re.I)),
    (AskedFact.WHERE, re.compile(r"\b(?:place|room|address)\b", re.I)),
)
_OWN_WORDS = re.compile(
    r"^\W*(?:know\s+)?(?:by (?:e-?mail|text(?: message)?|sms)\s+)?(?:that\s+|:\s*)(?P<said>.+)$", re.I | re.S
)
_PRONOUN_PATTERN = re.compile(r"^\W*(?:it|them|that|this)\b", re.I)
_TO_ME = re.compile(r"^\W*(?:to\s+)?me\b", re.I)


def read_wishes(text: str) -> tuple[PersonalWish, ...]:
    """The wishes in the order of the text."""
    return tuple(wish for item in _split_items(text) for wish in _wishes_of(item))


def without_wishes(text: str, wishes: tuple[PersonalWish, ...]) -> str:
    """What is left of a text: the same lines without the words of the wishes."""
    for quote in dict.fromkeys(wish.quote for wish in wishes):
        text = text.replace(quote, "")
    return "\n".join(line for line in text.splitlines() if line.strip(" -*•\t"))


def _split_items(text: str) -> Iterator[str]:
    """Yields each line of a list as a whole, and each sentence of other text, after the sentence before that introduces
    it.
    """
    for line in text.splitlines():
        bullet = _BULLET_PATTERN.match(line)
        if bullet:
            yield line[bullet.end() :].strip()
            continue
        lead = ""
        for sentence in filter(None, _SENTENCE_PATTERN.split(line.strip())):
            if (_ASKER_PATTERN.match(sentence) or _WAITS_PATTERN.match(sentence)) and not [*_wishes_of(sentence)]:
                lead = sentence
                continue
            full_sentence = f"{lead} {sentence}" if lead else sentence
            lead = ""
            yield full_sentence if full_sentence in text else sentence


def _wishes_of(item: str) -> Iterator[PersonalWish]:
    if _NOT_PATTERN.match(item) and not _ASKER_PATTERN.match(item):
        return
    verb_matches = [match for match in _VERB_PATTERN.finditer(item) if not _NONE_PATTERN.match(item[match.end() :])]
    for match, following in zip_longest(verb_matches, verb_matches[1:]):
        kind = next(kind for kind in WishKind if match.group(kind.name))
        goes_on = kind is WishKind.RESPOND and following and following.group(kind.name)  # "accept A, decline B"
        end = len(item) if goes_on or not following else following.start()
        clause = item[match.start(kind.name) : end].strip(" ,;")
        if wish := _read_wish(kind, item, clause, item[match.end(kind.name) : end]):
            yield wish
        if goes_on:
            return


def _read_wish(kind: WishKind, item: str, clause: str, remaining_text: str) -> PersonalWish | None:
    """The wish; None if the words ask for nothing of the kind."""
    before, topic = item[: item.find(clause)], remaining_text
    if kind in (WishKind.TELL, WishKind.FORWARD):
        return _message_wish(kind, item, clause, remaining_text, before)
    if kind is WishKind.RESPOND:
        is_one = re.search(r"\b(?:invit|meeting|appointment|dinner|lunch|call)", item, re.I)
        return PersonalWish(kind, item, clause, source=_first_name(item), topic=topic) if is_one else None
    is_entry = _OF_CALENDAR.search(item) is not None
    if kind is WishKind.MOVE:
        to = _MOVED_TO.search(remaining_text)
        topic = remaining_text[: to.start()] if to else ""
        topic = before if _PRONOUN_PATTERN.match(topic) else topic
        is_entry = to is not None and _states_day_or_hour(to["when"])
    elif kind is WishKind.CREATE:
        is_entry = is_entry and _states_day_or_hour(remaining_text)
    return PersonalWish(kind, item, clause, topic=topic, condition=_find_condition(item)) if is_entry else None


def _states_day_or_hour(text: str) -> bool:
    time = find_time(text, _ANY_DAY)
    return time.day is not None or time.hour is not None


def _message_wish(kind: WishKind, item: str, clause: str, remaining_text: str, before: str) -> PersonalWish | None:
    """None where it is the user who is to be told, or nobody."""
    if _TO_ME.match(remaining_text):
        return None
    recipient = _RECIPIENT_PATTERN.match(remaining_text) or _LATER_TO.search(remaining_text)
    asker = _ASKER_PATTERN.search(item)
    if recipient is None and asker is None:
        return None
    own_words = _OWN_WORDS.match(remaining_text[recipient.end() :] if recipient else remaining_text)
    asked_fact, topic = _find_asked(clause, before)
    if own_words and asked_fact is None:
        asked_fact, topic = AskedFact.WORDS, own_words["said"].strip()
    source = _WAITS_PATTERN.search(item) or _SOURCE_PATTERN.search(item)
    return PersonalWish(
        kind,
        item,
        clause,
        who=_strip_title(recipient["who"]) if recipient else "",
        asker=_strip_title(asker["who"]) if asker else "",
        asked=asked_fact,
        topic=topic if kind is WishKind.TELL else remaining_text,
        source=_strip_title(next(filter(None, source.groups()), "") if source else ""),
        waits=_WAITS_PATTERN.search(item) is not None,
        condition=_find_condition(item),
    )


def _find_asked(clause: str, before: str) -> tuple[AskedFact | None, str]:
    """The kind of fact to find out, and its topic, from the clause, else from the text before it.

    None, and an empty topic, if nothing is asked.
    """
    for text in (clause, before):
        for fact, pattern in _FACTS:
            if match := pattern.search(text):
                return fact, match["t"]
    for fact, pattern in _FACT_ALONE:
        if pattern.search(clause):
            return fact, before
    return None, ""


def _first_name(item: str) -> str:
    match = re.match(rf"(?P<who>{_PERSON})['’]?s?\s+(?:has|have|had|invit)", item)
    by = re.search(rf"\b(?:from|by|of)\s+(?P<who>{_PERSON})|(?P<own>{_PERSON})['’]s\s+\w+", item)
    return _strip_title(match["who"] if match else (by["who"] or by["own"]) if by else "")


def _strip_title(name: str) -> str:
    return re.sub(r"^(?:Dr|Mr|Mrs|Ms|Prof)\.?\s+|['’]s$", "", name or "").strip(" .,")


def _find_condition(item: str) -> str:
    match = _CONDITION_PATTERN.search(item)
    return item[match.start() :].strip() if match else ""
