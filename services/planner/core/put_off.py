"""When something is to be done: the words that put it off, which no call at once can heed."""

import re

_WEEKDAY = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_UNIT = r"(?:minute|hour|day|week|weekend|month|quarter|year|morning|afternoon|evening)s?"
_COUNT = r"an?|a few|a couple of|some|one|two|three|four|five|six|seven|eight|nine|ten|twelve|\d{1,3}"
_LATER_PATTERN = re.compile(
    r"\b(?:(?:the day after )?tomorrow|tonight|(?:a (?:bit|little) )?later(?! than\b)|(?<!as )soon|eventually|some ?day"
    rf"|(?:(?:on|by|from|until|till|before|after|next|this|coming|every|each)\s+)?(?:{_WEEKDAY})s?"
    rf"|(?:next|coming|following|every|each)\s+{_UNIT}|(?:this|in the)\s+(?:morning|afternoon|evening|weekend)"
    rf"|in\s+(?:{_COUNT})\s+{_UNIT}(?:['’]s? time)?|(?:at|by|until|till|before|after)\s+(?:noon|midday|midnight|lunch)"
    rf"|(?:at|by|until|till|before|after)?\s*(?:the )?end of (?:the |this |next )?{_UNIT})\b",
    re.I,
)
_QUOTED_PATTERN = re.compile(r"[\"“][^\"”]*[\"”]")
_TELLS_PATTERN = re.compile(
    r":\s|\b(?:that|about|of|with|saying|why|how|when|whether|if)\b"
    r"|\bto\s+(?=[a-z])(?!(?:the|an?|all|every|each|both|our|its|their|his|her|my|it|them)\b)",
    re.I,
)


def find_later(text: str, given: str = "") -> list[str]:
    """The words of a text that name a later time, apart from those that a call has: ``given``."""
    found = (" ".join(match[0].split()) for match in _LATER_PATTERN.finditer(text))
    return [words for words in found if words.casefold() not in given.casefold()]


def find_later_of_notice(clause: str, given: str) -> list[str]:
    """The same of a clause that has somebody told something: what stands before that, or behind its quotation."""
    quoted = [*_QUOTED_PATTERN.finditer(clause)]
    tail = clause[quoted[-1].end() :] if quoted else ""
    head = clause[: quoted[0].start()] if quoted else clause
    return find_later(f"{_TELLS_PATTERN.split(head)[0]} {tail}", given if not quoted else "")


def drop_later(text: str) -> str:
    """The text without the words that name a later time."""
    return _LATER_PATTERN.sub(" ", text)
