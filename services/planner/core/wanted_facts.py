"""Finds the fact that a wish wants told to somebody, in the calendar or in messages; or why it is not found."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple, TypeVar

from services.planner.core.correspondence import Correspondence, ReadAppointment, ReadMessage
from services.planner.core.mentions import Mention, MentionKind, find_of_kind
from services.planner.core.spoken_times import find_time, say_time
from services.planner.core.wishes import AskedFact, PersonalWish
from services.planner.core.words import stem, text_stems, text_words

_UNSURE_PATTERN = re.compile(
    r"\b(?:perhaps|maybe|possibly|probably|might|not sure|tentative(?:ly)?|provisional(?:ly)?|to be confirmed"
    r"|I(?: wi|['’])ll let you know|I let you know|not (?:yet )?(?:settled|fixed|decided))\b|\?",
    re.I,
)
_OUTDATED_PATTERN = re.compile(
    r"\b(?:not|instead of|rather than|was|were|no longer|formerly|previously|wrong)\s+(?:\w+\s+){0,2}$", re.I
)
_CLAUSE_PATTERN = re.compile(r"(?<=[.;!?])\s+|\n+")
_SENTENCE_PATTERN = re.compile(r"(?<=[.!?])\s+|\n+")
_PLACE_PATTERN = re.compile(r"\b(?:in|at)\s+(?:the\s+)?(?P<place>(?:[Rr]oom|[Hh]all|[A-ZÀ-Þ])[^.,;!?]*)")


_Thing = TypeVar("_Thing")


class FoundFact(NamedTuple):
    """A fact that answers a wish. ``sentence`` states it, beginning with a small letter; ``value``: the words that must
    be told.

    ``why``: what is missing, if there is no sentence. ``is_awaited``: it may come later.
    """

    sentence: str = ""
    value: str = ""
    why: str = ""
    is_awaited: bool = False


def find_fact(wish: PersonalWish, correspondence: Correspondence, now: datetime) -> FoundFact:
    match wish.asked:
        case AskedFact.WORDS:
            return FoundFact(f"{wish.topic.rstrip(' .')}.", wish.topic)
        case AskedFact.WHEN:
            return _find_time(wish, correspondence, now)
        case AskedFact.AMOUNT:
            return _find_amount(wish, correspondence)
        case AskedFact.IDENTIFIER:
            return _find_identifier(wish, correspondence)
        case AskedFact.WHERE:
            return _find_place(wish, correspondence)
        case None:
            return FoundFact(why="what is to be said does not follow from its words")


def said_topic(wish: PersonalWish) -> str:
    """The topic in the user's words, without the rest of the sentence."""
    return re.sub(r"^(?:on|about|of|for)\s+", "", wish.topic.strip(" ,;"))


def _find_time(wish: PersonalWish, correspondence: Correspondence, now: datetime) -> FoundFact:
    topic = said_topic(wish)
    if not wish.waits and not (wish.source and "calendar" not in wish.quote.lower()):
        entries = entries_about(wish, correspondence)
        if len(entries) == 1:
            entry = entries[0]
            place = f", {entry.place}" if entry.place else ""
            value = say_time(entry.start, entry.end)
            return FoundFact(f"{topic} is on {value}{place}.", value)
        if len(entries) > 1:
            return FoundFact(why=f"{len(entries)} appointments are as much about {topic}")
        if "calendar" in wish.quote.lower():
            return FoundFact(why=f"no appointment is about {topic}")
    for message, sentence in _list_sure_sentences(wish, correspondence):
        day, hour = find_time(sentence, message.at or now)
        if day and hour:
            value = say_time(datetime.combine(day, hour))
            return FoundFact(f"{topic} is on {value}.", value)
    return _fact_not_found(wish, f"nobody has said for certain when {topic} is")


def _list_sure_sentences(wish: PersonalWish, correspondence: Correspondence) -> Iterator[tuple[ReadMessage, str]]:
    """Yields each sentence about the wish's topic that states something without a doubt, with its message."""
    for message in _messages_about(wish, correspondence):
        for sentence in _SENTENCE_PATTERN.split(message.body):
            if not _UNSURE_PATTERN.search(sentence):
                yield message, sentence


def entries_about(wish: PersonalWish, correspondence: Correspondence) -> list[ReadAppointment]:
    """The appointments that match the topic best, then the people of the wish; all of them if several tie."""
    people = {stem(word) for name in (wish.asker, wish.who) if "@" not in name for word in text_words(name)}
    wanted_stems = wish.topic_stems
    about = [entry for entry in correspondence.appointments if wanted_stems & entry.stems]
    return list_most(about, lambda entry: (len(wanted_stems & entry.stems), len(people & entry.stems)))


def list_most(things: Iterable[_Thing], score: Callable[[_Thing], tuple[int, ...]]) -> list[_Thing]:
    """Those of the things with the highest score."""
    scored = [(score(thing), thing) for thing in things]
    most = max((own for own, _ in scored), default=())
    return [thing for own, thing in scored if own == most]


def _messages_about(wish: PersonalWish, correspondence: Correspondence) -> list[ReadMessage]:
    """What was written about the topic, the latest first: by the one who is named as its source, or by anybody.

    Of a thread that speaks of the topic every message counts. Where the news is yet to come, only what came since.
    """
    wanted_stems = wish.topic_stems
    about = {message.thread for message in correspondence.incoming if message.thread and wanted_stems & message.stems}
    messages = [one for one in correspondence.incoming if wanted_stems & one.stems or one.thread in about]
    if wish.source:
        messages = [message for message in messages if is_from(message, wish.source)]
    if wish.waits and correspondence.begun is not None:
        messages = [message for message in messages if message.at is not None and message.at > correspondence.begun]
    best = list_most(messages, lambda message: (len(wanted_stems & _thread_stems(message, messages)),))
    return sorted(best, key=lambda message: message.sent_at, reverse=True)


def _thread_stems(message: ReadMessage, among: Iterable[ReadMessage]) -> frozenset[str]:
    return message.stems.union(*(other.stems for other in among if other.thread and other.thread == message.thread))


def is_from(message: ReadMessage, name: str) -> bool:
    """Whether a message comes from that person: its address has all words of the name; a text message is signed so."""
    words = set(text_words(name))
    if message.by_mail:
        return words <= set(text_words(message.sender.partition("@")[0]))
    return bool(words & set(text_words(message.body)[-2:]))


def _fact_not_found(wish: PersonalWish, reason: str) -> FoundFact:
    return FoundFact(why=f"{wish.source} has not written it yet" if wish.waits else reason, is_awaited=wish.waits)


def _find_amount(wish: PersonalWish, correspondence: Correspondence) -> FoundFact:
    topic = said_topic(wish)
    for message in _messages_about(wish, correspondence):
        amounts = _valid_mentions(message, (MentionKind.MONEY,))
        if len({mention.value for mention in amounts}) == 1:
            amount_text = message.body[amounts[0].start : amounts[0].end].strip()
            return FoundFact(f"{topic} {_topic_of_costs(topic)} {amount_text}.", amount_text)
    return _fact_not_found(wish, f"no message says what {topic} costs")


def _topic_of_costs(topic: str) -> str:
    last = re.split(r"\s+(?:of|for|with)\s+", topic)[0].split()[-1:]
    return "cost" if last and last[0].endswith("s") and not last[0].endswith("ss") else "costs"


def _valid_mentions(message: ReadMessage, kinds: Sequence[MentionKind]) -> list[Mention]:
    """What a message states for certain: neither doubted nor taken back."""
    unsure = [sentence for sentence in _SENTENCE_PATTERN.split(message.body) if _UNSURE_PATTERN.search(sentence)]
    return [
        mention
        for mention in find_of_kind(message.body, *kinds)
        if not _OUTDATED_PATTERN.search(message.body[: mention.start])
        and not any(message.body[mention.start : mention.end] in sentence for sentence in unsure)
    ]


_LABEL_WORDS = frozenset(stem(word) for word in "number code reference identifier".split())


def _find_identifier(wish: PersonalWish, correspondence: Correspondence) -> FoundFact:
    """The number of the wish's thing, from a clause of a message with the thing's noun: ``the contract has the number
    C-12``.
    """
    head = re.split(r"\s+(?:for|of|with|about)\s+", said_topic(wish))[0]
    nouns = text_stems(head) - _LABEL_WORDS
    kinds = (MentionKind.ID, MentionKind.NUMBER, MentionKind.PHONE)
    for message in _messages_about(wish, correspondence):
        for clause in _CLAUSE_PATTERN.split(message.body):
            own = find_of_kind(clause, *kinds)
            if nouns & text_stems(clause) and len({mention.value for mention in own}) == 1:
                identifier_text = clause[own[0].start : own[0].end].strip()
                return FoundFact(f"{head} has the number {identifier_text}.", identifier_text)
    return _fact_not_found(wish, f"no message gives the number of {head} alone")


def _find_place(wish: PersonalWish, correspondence: Correspondence) -> FoundFact:
    topic = said_topic(wish)
    entries = [entry for entry in entries_about(wish, correspondence) if entry.place]
    if len(entries) == 1 and not wish.waits:
        return FoundFact(f"{topic} is at {entries[0].place}.", entries[0].place)
    for _, sentence in _list_sure_sentences(wish, correspondence):
        if match := _PLACE_PATTERN.search(sentence):
            return FoundFact(f"{topic} is {match[0]}.", match["place"])
    return _fact_not_found(wish, f"nobody has said where {topic} is")
