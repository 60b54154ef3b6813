"""What a request that follows another one in its session refers to: the one thing that was spoken of before, or the
same request for another thing.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from services.planner.core.mentions import identifiers_in
from services.planner.core.phrases import find_exclusions
from services.planner.core.request import objects
from services.planner.core.words import STOP, content_words, family, is_verb, text_words
from shared.domain.exact_json import Json

_LEAD = r"\W*(?:(?:and|also|now|then|please|do|make|ok|okay|yes)\b\W*)*"
_TOO = r"(?:\W+(?P<too>too|also|as well|please))*\W*"
_SAME_PATTERN = re.compile(rf"{_LEAD}(?:the\s+)?same\s+(?:thing\s+)?(?:for|with|to)\s+(?P<things>.+?){_TOO}", re.I)
_ALSO_PATTERN = re.compile(
    rf"(?P<lead>\W*(?:(?:and|also|now|then|please|(?:what|how) about|what of)\b\W*)*)(?P<things>.+?){_TOO}", re.I
)
_END = r"(?=\W*$|[,;.?]|\s+(?:too|as well|also|please|now|today|because|since|if|unless|and|to|for|with|in)\b)"
_POINTS_PATTERN = re.compile(
    rf"\b(?P<its>its\s+(?P<what>[a-z ]+?)(?=\W*$))|\b(?:this|that|the same)\s+(?:one\b|(?P<noun>[a-z]+){_END})"
    rf"|\bit\b(?!\s+(?:is|was|has|had|will|would|seems|possible|true|time|ok|okay)\b)|\b(?:this|that){_END}"
    r"|(?<=\bif )it\b(?=\s+(?:is|was|has)\b)|(?<=\bunless )it\b(?=\s+(?:is|was|has)\b)",
    re.I,
)
_TOO_PATTERN = re.compile(r",?\s+(?:too|as well|also)\b", re.I)
_ASKS_PATTERN = re.compile(
    r"\W*(?:what|which|who|whom|when|where|why|how|is|are|was|were|do|does|did|has|have)\b", re.I
)
_NOUN_PATTERN = re.compile(r"\b(?:the|an?|all|every|each)\s+(?!(?:rest|half|whole)\b)\w", re.I)
_LIGHT_WORDS = frozenset("please then also kindly now and ok okay yes half rest whole all again just".split())


class Exchange(NamedTuple):
    """A request of the session, in English, and what was answered; empty while nothing was."""

    asked: str
    answer: str = ""


class FollowUp(NamedTuple):
    """A request that stands for itself. ``unclear``: why nobody can say what it refers to, if that is so."""

    text: str
    unclear: str = ""


def read_exchanges(history: Json, task: str) -> list[Exchange]:
    """The session's earlier requests, as they were said; neither what a person said to a question about a plan, nor the
    task itself.
    """
    exchanges: list[Exchange] = []
    before = ""
    for role, text in ((str(turn.get("role")), str(turn.get("text") or "")) for turn in objects(history)):
        if role == "user" and before != "question":
            exchanges.append(Exchange(text))
        elif role == "agent" and exchanges:
            exchanges[-1] = exchanges[-1]._replace(answer=text)
        before = role
    is_itself = bool(exchanges) and exchanges[-1] == Exchange(task)
    return exchanges[:-1] if is_itself else exchanges


def resolve_follow_up(text: str, before: Sequence[Exchange]) -> FollowUp:
    """The request, with what it refers to in the session's earlier ones; unchanged if it refers to nothing there."""
    if not before:
        return FollowUp(text)
    if things := _find_other_things(text):
        return _repeat(things, text, before)
    points = None if identifiers_in(text) else _POINTS_PATTERN.search(text)
    if points is None or not _has_no_antecedent(text, points):
        return FollowUp(text)
    named = _find_named(before)
    if len(named) > 1:
        return FollowUp(text, f'"{points[0]}" could mean {" or ".join(named)}, and the task does not say which')
    thing = " ".join(filter(None, (points["noun"], *named)))
    meant = f"the {points['what']} of {thing}" if points["its"] else thing
    rest = _TOO_PATTERN.sub("", text[points.end() :], count=1)
    return FollowUp(f"{text[: points.start()]}{meant}{rest}") if named else FollowUp(text)


def _find_other_things(text: str) -> tuple[str, ...]:
    """The identifiers of ``and the same for A-1`` or ``A-1 and A-2, too``; empty if the text is another request."""
    match = _SAME_PATTERN.fullmatch(text)
    if match is None and (match := _ALSO_PATTERN.fullmatch(text)) and not (match["lead"].strip() or match["too"]):
        return ()
    things = identifiers_in(match["things"]) if match else ()
    rest = match["things"] if match else text
    for thing in things:
        rest = rest.replace(thing, " ")
    return things if set(text_words(rest)) <= {"and"} else ()


def _repeat(things: tuple[str, ...], text: str, before: Sequence[Exchange]) -> FollowUp:
    """The last request for other things, if it was about one alone that is of their kind."""
    asked = resolve_follow_up(before[-1].asked, before[:-1])
    named = [*dict.fromkeys(identifiers_in(asked.text))]
    if asked.unclear or len(named) != 1:
        about = " and ".join(named) or "no one thing"
        return FollowUp(text, f"the request before was about {about}, and the task does not say what is to be the same")
    verb = next(iter(content_words(asked.text)), "")
    was_order = not _ASKS_PATTERN.match(asked.text) and family(verb) not in (None, "read")
    if was_order and text.rstrip().endswith("?"):  # a question writes nothing
        return FollowUp(text)
    if others := [thing for thing in things if re.sub(r"\d+", "9", thing) != re.sub(r"\d+", "9", named[0])]:
        return FollowUp(text, f"the request before was about {named[0]}, and {others[0]} is of another kind")
    return FollowUp(re.sub(rf"(?<![\w-]){re.escape(named[0])}(?![\w-])", " and ".join(things), asked.text))


def _has_no_antecedent(text: str, points: re.Match[str]) -> bool:
    """Whether a pronoun has nothing before it in its own request: no noun where something is to be done, no name where
    something is asked.
    """
    head = text[: points.start()]
    if re.fullmatch(r"\W*(?:if|unless)\s+", head, re.I):
        return True
    if _ASKS_PATTERN.match(text):
        is_further = any(map(_ASKS_PATTERN.match, re.split(r",|\band\b", head)[1:])) and "its" not in text_words(head)
        return not is_further and re.search(r"(?<=\w\s)[A-Z]\w+", head) is None
    if _NOUN_PATTERN.search(head):
        return False
    words = [word for word in content_words(head) if word not in _LIGHT_WORDS]
    return bool(words) and all(map(is_verb, words)) and len(text_words(head)) > len(STOP.intersection(text_words(head)))


def _find_named(before: Sequence[Exchange]) -> list[str]:
    """The things that the last request named, or else its answer; those of both if the request leaves some out."""
    asked, answer = resolve_follow_up(before[-1].asked, before[:-1]), before[-1].answer
    own = identifiers_in(asked.text)
    told = () if own and not find_exclusions(asked.text) else identifiers_in(answer)
    return [*dict.fromkeys((*own, *told))]
