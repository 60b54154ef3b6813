"""Sentences of a policy in plain words that became no rule: which command or forbid, and what is said of them."""

import re
from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from services.executor.core.session.context import TurnContext

UNENFORCED = "policy_unenforced"  # where the task's metadata says it
_MOST_QUOTED = 3
_LONGEST_QUOTE = 160
_COMMANDS = re.compile(
    r"\b(?:must|mustn't|shall|should|has to|have to|may only|only|may not|not|never|no|none|nobody|neither|cannot|can't"
    r"|don't|doesn't|isn't|aren't|won't|forbid(?:s|den)?|prohibit(?:s|ed)?|ban(?:s|ned)?|disallow(?:s|ed)?|refus\w+"
    r"|reject\w*|den(?:y|ies|ied)|block(?:s|ed)?|requir\w+|needs?|obliged|mandatory|compulsory|always|at (?:most|least)"
    r"|up to|maximum|minimum|limits?|limited|caps?|capped|exceed\w*|unless|except|without|approv\w+|confirm\w*"
    r"|consent\w*|authori[sz]\w+|permi(?:t|ts|tted|ssion)|allow(?:s|ed)?|escalat\w+|sign-?off)\b",
    re.IGNORECASE,
)
_BOUNDS = re.compile(  # these, with a figure
    r"\b(?:over|above|below|under|within|before|after|until|once|twice|more than|less than|each|every|from)\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:was|were|has been|have been) (?:last |first )?\w+ed\b", re.IGNORECASE)
_TONE = re.compile(
    r"^(?:please )?(?:always )?(?:be|stay|remain|sound|write|answer|reply|keep (?:it|your|the tone|answers))\b"
    r"[\w ,'-]*\b(?:kind|polite|friendly|brief|short|concise|clear|courteous|formal|helpful|warm|nice|plain)\b"
    r"[\w ,'-]*[.!]?$",
    re.IGNORECASE,
)
_TELLING = re.compile(  # a sentence that tells how things are begins with what it is about
    r"^(?:this|these|that|the|our|we|it|they|a|an|there|here|its|their|in|for|as|welcome|thank|thanks|note)\b",
    re.IGNORECASE,
)


def binding_sentences(sentences: Iterable[str]) -> tuple[str, ...]:
    """Those that command or forbid. A sentence counts unless it plainly tells how things are, or is about the tone."""
    return tuple(sentence for sentence in sentences if _binds(sentence.replace("’", "'")))


def say_unenforced(text: str, untranslated: Sequence[str], enforced: bool) -> str:
    """What is said of a request's own policy ``text``; nothing where all of it is enforced as rules."""
    if not text.strip():
        return ""
    if not enforced:
        return "The policy that came in plain words with this request was taken as advice; it was not enforced."
    if not untranslated:
        return ""
    quoted = ", ".join(f"“{_shorten(sentence)}”" for sentence in untranslated[:_MOST_QUOTED])
    more = len(untranslated) - _MOST_QUOTED
    others = f" and {more} more" if more > 0 else ""
    return f"Of the policy that came in plain words with this request, this was not enforced: {quoted}{others}."


def unenforced_sentence(ctx: TurnContext) -> str:
    """The sentence that an answer in prose ends with where the request's own policy was not enforced; else "".

    Never for an exact-match answer: the metadata's ``policy_unenforced`` says the same there.
    """
    said: JsonValue = ctx.notes.get(UNENFORCED)
    return said if isinstance(said, str) else ""


def _binds(sentence: str) -> bool:
    said = _PAST.sub("", sentence.strip())
    if _TONE.match(said) and not _COMMANDS.search(said.replace("always", "")):
        return False
    bounded = _BOUNDS.search(said) is not None and any(map(str.isdigit, said))
    return bounded or _COMMANDS.search(said) is not None or _TELLING.match(said) is None


def _shorten(sentence: str) -> str:
    return sentence if len(sentence) <= _LONGEST_QUOTE else f"{sentence[: _LONGEST_QUOTE - 1].rstrip()}…"
