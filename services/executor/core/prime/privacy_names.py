"""What of a request is only a name, and what is work on one named record: neither asks that protected data be told.

The words inside a tool's or a field's name (``get_password_policy``) ask for nothing. One record's own data (EMP-4's
date of birth) may go where the business needs it: to a named department or partner, or into a form or a booking.
Neither holds for whole sets of records, for credentials, or for whoever asks to be told himself.
"""

import re
from collections.abc import Sequence

from services.executor.core.prime import privacy_words as words

_VERBS = (
    "get|list|show|set|update|create|reset|display|fetch|read|find|search|lookup|check|verify|validate|delete|remove|add"
    "|send|export|rotate|revoke|issue|mask|redact|hide|approve|post|put|mark|is|has|allow|enable|disable|require|use|view"
)
_CALLING = (
    "call|calls|calling|use|uses|using|run|runs|running|invoke|execute|tool|function|method|endpoint|operation|action"
    "|step|set|update|rename|enable|disable|toggle|switch|flag|setting|parameter|field|column|via|through|result of"
    "|output of"
)
_TOOL = rf"(?:[a-z0-9]+\.)?(?:{_VERBS})(?:_[a-z0-9]+)+"
_TOOL_NAME = re.compile(
    rf"`{_TOOL}(?:\(\))?`|\b{_TOOL}\(\)"
    rf"|(?<![\w`])(?P<call>(?:{_CALLING})(?: (?:the|our|tool|function|endpoint|flag|setting|field|column)){{0,2}} )"
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
_OWNING = frozenset("of for on from in at".split())
_ASKER = frozenset("me us my i myself what what's which whats".split())
_NEAR = 4  # words within which a preposition's noun is looked for


def without_tool_names(sentence: str) -> str:
    """The sentence with each tool's or setting's name made one plain word.

    A sentence about everybody, or one that has the tool's result told to whoever asks, is left as it is.
    """
    if "_" not in sentence or _EVERYBODY.search(sentence.replace("_", " ")) or _RESULT_TO_ASKER.search(sentence):
        return sentence
    return _TOOL_NAME.sub(_plain_name, sentence)


def is_work_on_a_record(sentence: Sequence[str], start: int, end: int) -> bool:
    """Whether the thing at ``start`` to ``end`` is one named record's, on its way to where business needs it."""
    before, after = sentence[:start], sentence[end:]
    if not (words.SPILLING | _ASKER).isdisjoint(sentence) or _EVERYBODY.search(" ".join(sentence)):
        return False
    if not _belongs_to_a_record(before, after) or _is_range(sentence):
        return False
    return _goes_to_receiver(after) or _is_addressed(before) or _serves_a_purpose(after)


def _plain_name(found: re.Match[str]) -> str:
    return found[0] if _PRONOUN.search(found[0].removeprefix(found["call"] or "")) else f"{found['call'] or ''}tool"


def _belongs_to_a_record(before: Sequence[str], after: Sequence[str]) -> bool:
    """ "EMP-4's bank account", "the bank account of supplier VEN-4"."""
    possessed = any(_is_record(before, at) and word.endswith("'s") for at, word in _last(before, 3))
    reach = after[: _NEAR + 1]
    owned = bool(reach) and reach[0] in _OWNING and any(_is_record(reach, at) for at in range(1, len(reach)))
    return possessed or owned


def _last(before: Sequence[str], number: int) -> list[tuple[int, str]]:
    return list(enumerate(before))[-number:]


def _is_record(sentence: Sequence[str], at: int) -> bool:
    """An id such as ``EMP-4``, or a number behind the kind of record."""
    word = sentence[at]
    numbered = word.removesuffix("'s").isdigit() and at > 0 and sentence[at - 1] in words.RECORD_KINDS
    return numbered or _RECORD.fullmatch(word) is not None


def _is_range(sentence: Sequence[str]) -> bool:
    """ "PAT-1 to PAT-900" is no single record."""
    places = [at for at in range(len(sentence)) if _is_record(sentence, at)]
    return any(
        second - first <= 3 and not _RANGE.isdisjoint(sentence[first:second])
        for first in places
        for second in places
        if first < second
    )


def _goes_to_receiver(after: Sequence[str]) -> bool:
    """ "... to the payroll team"."""
    return any(_names(after[at + 1 :], words.RECEIVERS) for at, word in enumerate(after) if word in ("to", "with"))


def _is_addressed(before: Sequence[str]) -> bool:
    """ "Tell the courier the home address ..."."""
    return any(
        word in words.RECEIVERS and before[at + 1 : at + 2] and before[at + 1] in words.BEHIND_RECEIVERS
        for at, word in enumerate(before)
        if at
    )


def _serves_a_purpose(after: Sequence[str]) -> bool:
    """ "... for the pension form"."""
    return any(_names(after[at + 1 :], words.PURPOSES) for at, word in enumerate(after) if word == "for")


def _names(rest: Sequence[str], nouns: frozenset[str]) -> bool:
    """Whether the noun that the words begin with is one of these: behind what describes it, and before nothing else."""
    for at, word in enumerate(rest[:_NEAR]):
        if word in nouns:
            following = rest[at + 1] if at + 1 < len(rest) else ","
            return following in words.ENDING or following in nouns or _RECORD.fullmatch(following) is not None
        if word in words.ENDING or word.endswith("'s") or "@" in word:
            return False
    return False
