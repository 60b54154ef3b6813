"""The fact that somebody is to be told, found in the calendar or in what was written; or why it is not found."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from services.planner.core.correspondence import Correspondence, ReadAppointment, ReadMessage
from services.planner.core.mentions import Mention, MentionKind, find
from services.planner.core.spoken_times import SpokenTime, find_time, say_time
from services.planner.core.wishes import AskedFact, PersonalWish
from services.planner.core.words import stem, text_stems, text_words

_UNSURE = re.compile(
    r"\b(?:perhaps|maybe|possibly|probably|might|not sure|tentative(?:ly)?|provisional(?:ly)?|to be confirmed"
    r"|I(?: wi|['’])ll let you know|I let you know|not (?:yet )?(?:settled|fixed|decided))\b|\?",
    re.I,
)
_OUTDATED = re.compile(
    r"\b(?:not|instead of|rather than|was|were|no longer|formerly|previously|wrong)\s+(?:\w+\s+){0,2}$", re.I
)
_CLAUSE = re.compile(r"(?<=[.;!?])\s+|\n+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_PLACE = re.compile(r"\b(?:in|at)\s+(?:the\s+)?(?P<place>(?:[Rr]oom|[Hh]all|[A-ZÀ-Þ])[^.,;!?]*)")


class FoundFact(NamedTuple):
    """``sentence`` says it; it begins with a small letter. ``value``: the words that have to reach somebody.

    ``why``: what is missing, where there is no sentence. ``is_awaited``: it may come yet.
    """

    sentence: str = ""
    value: str = ""
    why: str = ""
    is_awaited: bool = False


def find_fact(wish: PersonalWish, known: Correspondence, now: datetime) -> FoundFact:
    match wish.asked:
        case AskedFact.WORDS:
            return FoundFact(f"{wish.topic.rstrip(' .')}.", wish.topic)
        case AskedFact.WHEN:
            return _find_time(wish, known, now)
        case AskedFact.AMOUNT:
            return _find_amount(wish, known)
        case AskedFact.IDENTIFIER:
            return _find_identifier(wish, known)
        case AskedFact.WHERE:
            return _find_place(wish, known)
        case None:
            return FoundFact(why="what is to be said does not follow from its words")


def said_topic(wish: PersonalWish) -> str:
    """The topic as the user says it, without what belongs to the sentence around it."""
    return re.sub(r"^(?:on|about|of|for)\s+", "", wish.topic.strip(" ,;"))


def _find_time(wish: PersonalWish, known: Correspondence, now: datetime) -> FoundFact:
    topic = said_topic(wish)
    if not wish.waits and not (wish.source and "calendar" not in wish.quote.lower()):
        entries = entries_about(wish, known)
        if len(entries) == 1:
            entry = entries[0]
            place = f", {entry.place}" if entry.place else ""
            value = say_time(entry.start, entry.end)
            return FoundFact(f"{topic} is on {value}{place}.", value)
        if len(entries) > 1:
            return FoundFact(why=f"{len(entries)} appointments are as much about {topic}")
        if "calendar" in wish.quote.lower():
            return FoundFact(why=f"no appointment is about {topic}")
    for message in _messages_about(wish, known):
        told = _settled_time(message, now)
        if told is not None and told.day and told.hour:
            value = say_time(datetime.combine(told.day, told.hour))
            return FoundFact(f"{topic} is on {value}.", value)
    return _fact_not_found(wish, f"nobody has said for certain when {topic} is")


def _settled_time(message: ReadMessage, now: datetime) -> SpokenTime | None:
    """The first whole time that a sentence states without a doubt."""
    for sentence in _SENTENCE.split(message.body):
        found = find_time(sentence, message.at or now)
        if found.is_whole and not _UNSURE.search(sentence):
            return found
    return None


def entries_about(wish: PersonalWish, known: Correspondence) -> list[ReadAppointment]:
    """The appointments that are most like the topic and then most about the people of the wish; all that tie."""
    people = {stem(word) for name in (wish.asker, wish.who) if "@" not in name for word in text_words(name)}
    wanted = wish.topic_stems
    scored = [((len(wanted & one.stems), len(people & one.stems)), one) for one in known.appointments]
    found = [(score, one) for score, one in scored if score[0]]
    most = max((score for score, _ in found), default=(0, 0))
    return [one for score, one in found if score == most]


def _messages_about(wish: PersonalWish, known: Correspondence) -> list[ReadMessage]:
    """What was written about the topic, the latest first: by the one who is named as its source, or by anybody.

    Of a thread that speaks of the topic every message counts. Where the news is yet to come, only what came since.
    """
    wanted = wish.topic_stems
    about = {one.thread for one in known.incoming if one.thread and wanted & one.stems}
    found = [one for one in known.incoming if wanted & one.stems or one.thread in about]
    if wish.source:
        found = [one for one in found if is_from(one, wish.source)]
    if wish.waits and known.begun is not None:
        found = [one for one in found if one.at is not None and one.at > known.begun]
    most = max((len(wanted & _thread_stems(one, found)) for one in found), default=0)
    found = [one for one in found if len(wanted & _thread_stems(one, found)) == most]
    return sorted(found, key=lambda one: one.at.timestamp() if one.at else 0.0, reverse=True)


def _thread_stems(message: ReadMessage, among: Iterable[ReadMessage]) -> frozenset[str]:
    of_thread = [one.stems for one in among if one.thread and one.thread == message.thread]
    return message.stems.union(*of_thread)


def is_from(message: ReadMessage, name: str) -> bool:
    """By all words of the name in the address; for a number, by how the message is signed."""
    words = set(text_words(name))
    if message.by_mail:
        return words <= set(text_words(message.sender.partition("@")[0]))
    return bool(words & set(text_words(message.body)[-2:]))


def _fact_not_found(wish: PersonalWish, why: str) -> FoundFact:
    return FoundFact(why=f"{wish.source} has not written it yet" if wish.waits else why, is_awaited=wish.waits)


def _find_amount(wish: PersonalWish, known: Correspondence) -> FoundFact:
    topic = said_topic(wish)
    for message in _messages_about(wish, known):
        found = _valid_mentions(message, (MentionKind.MONEY,))
        if len({one.value for one in found}) == 1:
            said = message.body[found[0].start : found[0].end].strip()
            return FoundFact(f"{topic} {_topic_of_costs(topic)} {said}.", said)
    return _fact_not_found(wish, f"no message says what {topic} costs")


def _topic_of_costs(topic: str) -> str:
    last = re.split(r"\s+(?:of|for|with)\s+", topic)[0].split()[-1:]
    return "cost" if last and last[0].endswith("s") and not last[0].endswith("ss") else "costs"


def _valid_mentions(message: ReadMessage, kinds: Sequence[MentionKind]) -> list[Mention]:
    """What a message states for certain: neither doubted nor taken back."""
    unsure = [sentence for sentence in _SENTENCE.split(message.body) if _UNSURE.search(sentence)]
    found = [one for one in find(message.body) if one.kind in kinds and not _OUTDATED.search(message.body[: one.start])]
    return [one for one in found if not any(message.body[one.start : one.end] in sentence for sentence in unsure)]


_LABELS = frozenset(stem(word) for word in "number code reference identifier".split())


def _find_identifier(wish: PersonalWish, known: Correspondence) -> FoundFact:
    """The number that stands in the clause of its noun: ``the contract has the number C-12; the offer was O-7``."""
    head = re.split(r"\s+(?:for|of|with|about)\s+", said_topic(wish))[0]
    nouns = text_stems(head) - _LABELS
    kinds = (MentionKind.ID, MentionKind.NUMBER, MentionKind.PHONE)
    for message in _messages_about(wish, known):
        for clause in _CLAUSE.split(message.body):
            own = [one for one in find(clause) if one.kind in kinds]
            if nouns & text_stems(clause) and len({one.value for one in own}) == 1:
                said = clause[own[0].start : own[0].end].strip()
                return FoundFact(f"{head} has the number {said}.", said)
    return _fact_not_found(wish, f"no message gives the number of {head} alone")


def _find_place(wish: PersonalWish, known: Correspondence) -> FoundFact:
    topic = said_topic(wish)
    entries = [one for one in entries_about(wish, known) if one.place]
    if len(entries) == 1 and not wish.waits:
        return FoundFact(f"{topic} is at {entries[0].place}.", entries[0].place)
    for message in _messages_about(wish, known):
        for sentence in _SENTENCE.split(message.body):
            if (match := _PLACE.search(sentence)) and not _UNSURE.search(sentence):
                return FoundFact(f"{topic} is {match[0]}.", match["place"])
    return _fact_not_found(wish, f"nobody has said where {topic} is")
