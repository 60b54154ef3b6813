"""Finds phrases in a clause: exclusions (``except ...``), the value that it sets, negations, where a value is named,
and what puts something off.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

TELLS_PATTERN = re.compile(r"\b(?:that|about|of|with|saying)\b", re.I)  # whom a notice goes to stands before it


class TextSpan(NamedTuple):
    """A part of a text. ``value``: what it stands for."""

    start: int
    end: int
    value: str


_ID_NEAR = r"(?=(?:for\s+)?(?:the\s+)?(?:[a-z]+\s+){0,3}[A-Za-z]+[-_]?\d)"
_THEM = r"(?:except(?: for)?|excepting|excluding|other than|apart from|aside from|leaving out|with the exception of)"
_EXCEPT_PATTERN = re.compile(
    rf"(?<![,\s])[,\s]*+\b(?:{_THEM}\s+(?!if\b|when\b)|but(?: not)?\s+(?=(?:those|any|the (?:[\w-]+ )*ones)\b)"
    rf"|(?:but not|but(?: for)?|besides|not)\s+{_ID_NEAR}|without\s+(?=(?:the\s+)?(?:[a-z]+\s+)?[A-Za-z]+[-_]?\d))",
    re.I,
)
_LEAVE_PATTERN = re.compile(
    r"(?<![,\s])[,\s]*+(?:\b(?:but|and|while|however|though)\b[,\s]+)?(?:please\s+)?\b(?:"
    r"(?:leav|keep)(?:e|ing)?\s+(?P<left>[^,;.]+?)\s+(?:(?:exactly |just )?as (?:it|they) (?:is|are)|as is|alone|out|"
    r"untouched|unchanged|aside|where (?:it|they) (?:is|are))\b"
    r"|leav(?:e|ing) out\s+(?P<out>[^,;.]+)"
    r"|(?:skip|skipping|ignore|ignoring|omit|omitting|exclude)\s+(?P<skipped>[^,;.]+))",
    re.I,
)
_ENDS_PATTERN = re.compile(
    r"[,;:](?!\s*(?:and\s+|or\s+)?[A-Za-z]+[-_]?\d)|[.!?](?!\d)|\s(?:because|since|then)\b"
    r"|\sand\s+(?=[a-z]+\s+(?:the|all|it|them)\b)",
    re.I,
)
_TO_PATTERN = re.compile(r"\s+(?:to|into)\s", re.I)


@lru_cache(maxsize=1_000)
def find_exclusions(text: str) -> tuple[TextSpan, ...]:
    """The spans in which a text excludes something: ``except ...``, ``apart from ...``, ``leave ... alone``."""
    spans: list[TextSpan] = []
    for match in _LEAVE_PATTERN.finditer(text):
        value = match["left"] or match["out"] or match["skipped"]
        spans.append(TextSpan(match.start(), match.end(), value))
    for match in _EXCEPT_PATTERN.finditer(text):
        if not any(span.start <= match.start() < span.end for span in spans):
            end = _end_of_exclusion(text, match)
            spans.append(TextSpan(match.start(), end, text[match.end() : end].strip()))
    return tuple(sorted(spans))


def _end_of_exclusion(text: str, match: re.Match[str]) -> int:
    """The position where an exclusion ends: at the sentence's next mark, or before a ``to`` that sets a value."""
    stops = [end_match.start() for end_match in (_ENDS_PATTERN.search(text, match.end()),) if end_match]
    if not _TO_PATTERN.search(text[: match.start()]) and (behind := _TO_PATTERN.search(text, match.end())):
        stops.append(behind.start())
    return min(stops, default=len(text))


def drop_spans(text: str, spans: Iterable[TextSpan]) -> str:
    """The text with blanks where the spans stood, of the same length."""
    for span in spans:
        text = f"{text[: span.start]}{' ' * (span.end - span.start)}{text[span.end :]}"
    return text


@lru_cache(maxsize=20_000)
def _spelling_of(value: str) -> re.Pattern[str]:
    words = [re.escape(word) for word in re.split(r"[\s_-]+", value) if word]
    return re.compile(rf"(?<![\w-]){'[ _-]+'.join(words)}(?:['’]s\b|(?!\w|-\w))", re.I)


@lru_cache(maxsize=20_000)
def _normalize_separators(text: str) -> str:
    return re.sub(r"[\s_-]", " ", text).lower()


def find_spoken(value: str, text: str) -> list[TextSpan]:
    """The spans in which a text contains a value, whatever separates its words: ``in_progress``, ``in progress``."""
    if _normalize_separators(value) not in _normalize_separators(text):
        return []
    return [TextSpan(match.start(), match.end(), value) for match in _spelling_of(value).finditer(text)]


def is_affirmed(value: str, text: str) -> bool:
    """Whether a text contains a value that it neither denies, excludes nor sets anew, nor has as a verb."""
    kept_text = drop_spans(text, find_exclusions(text))
    spans = find_spoken(value, kept_text)
    is_set = any(_DIRECTLY_INTO.search(kept_text[: span.start]) for span in spans)
    is_verb = any(_HAS_OBJECT_PATTERN.match(kept_text, span.end) for span in spans)
    return bool(spans) and not (is_set or is_verb or any(find_negation(kept_text, span.start) for span in spans))


_NEGATION = r"(?:\b(?:not|never|neither|nor|without|non|no longer)\b|\w*n['’]t\b)"
_ANY_NEGATION = rf"(?:{_NEGATION}|\bno\b(?!\.))"  # of "no open job" nobody can say which job is meant
_BETWEEN = (
    r"(?:\s*(?:\b(?:yet|still|already|currently|now|been|be|being|either|in|on|at|of|by|the|an?|any|assigned to|with|"
    r"from|given to|to|those|status|state)\b|,|-))*\s*"
)
_DENIED_PATTERN = re.compile(rf"(?P<not>{_NEGATION}){_BETWEEN}$", re.I)


def find_negation(text: str, start: int) -> TextSpan | None:
    """The negation that governs the word at ``start``; None if there is none."""
    match = _DENIED_PATTERN.search(text[max(0, start - 60) : start])
    if match is None:
        return None
    offset = max(0, start - 60)
    return TextSpan(offset + match.start("not"), offset + match.end("not"), match["not"])


def find_negations(text: str) -> list[TextSpan]:
    return [TextSpan(match.start(), match.end(), match[0]) for match in re.finditer(_ANY_NEGATION, text, re.I)]


_INTO_PATTERN = re.compile(r"\b(?:to|into|as|onto)\s+(?:be\s+)?(?:the\s+)?(?:[\w-]+\s+){0,2}[\"“'‘]?$", re.I)
_DIRECTLY_INTO = re.compile(r"\b(?:to|into|as|onto)\s+(?:be\s+)?(?:the\s+|an?\s+)?[\"“'‘]?$", re.I)
_SAYS_WHICH = re.compile(
    r"\b(?:that|which|who|whose(?:\s+\w+){1,2}|they|it)\s+(?:(?:is|are|was|were|has|have|had)\b|['’](?:s|re))"
    r"(?:\s+(?:been|still|currently|now|already|yet|not|in|on|at|the|status|state|of|or|and|either))*\s+$"
    r"|\b(?:from|currently)\s+(?:the\s+)?(?:status\s+|state\s+|stage\s+)?$",
    re.I,
)
_WITH_PATTERN = re.compile(
    r"\b(?:with|in|of|at)\s+(?:the\s+|a\s+)?(?:\w+\s+)?(?:status|state|stage)\s+(?:of\s+)?$", re.I
)
_OR_PATTERN = re.compile(r"\s*(?:,|/|,?\s*\b(?:or|and)\b)\s*(?:to\s+)?", re.I)
_HAS_OBJECT_PATTERN = re.compile(
    r"\s+(?:the|an?|this|that|these|those|it|them|[A-Za-z]+[-_]?\d\S*)\b"
)  # "who X-ed the ..."
_BEFORE_NOUN = r"^(?:\s*(?:,|\band\b|\bor\b)?\s*[\w-]+){0,3}?\s+(?:%s)\b"


class SpokenTarget(NamedTuple):
    """The value that a clause sets, and its words: the preposition before it too."""

    span: TextSpan
    is_stated: bool  # by ``to`` or ``as``; else it is what is left when the things meant are known


def find_target(clause: str, values: Iterable[str], nouns: Iterable[str], means_many: bool) -> SpokenTarget | None:
    """The one of ``values`` that a clause sets, not one by which it chooses its records; None if there is not exactly
    one.

    ``nouns``: the nouns of what is changed. ``means_many``: the clause speaks of every record that fits.
    """
    text = drop_spans(clause, find_exclusions(clause))
    spans = longest_spans([span for value in values for span in find_spoken(value, text)])
    target_spans = [span for span in spans if not says_which(text, span, nouns, means_many)]
    direct_spans = [span for span in target_spans if _DIRECTLY_INTO.search(text[: span.start])]
    direct_spans = direct_spans or [span for span in target_spans if _INTO_PATTERN.search(text[: span.start])]
    chosen = direct_spans or target_spans
    if len({span.value for span in chosen}) != 1:
        return None
    last = chosen[-1]
    if any(_OR_PATTERN.fullmatch(text[last.end : span.start]) for span in target_spans if span.start >= last.end):
        return None  # "to one or the other"
    match = _INTO_PATTERN.search(text[: last.start])
    start = match.start() if match and direct_spans else last.start
    return SpokenTarget(TextSpan(start, last.end, last.value), bool(direct_spans))


def says_which(text: str, span: TextSpan, thing_nouns: Iterable[str], means_many: bool) -> bool:
    """Whether a value says which records are meant: ``jobs that are open``, ``all open jobs``, ``from open``."""
    before, after = text[: span.start], text[span.end :]
    if find_negation(text, span.start) or _SAYS_WHICH.search(before):
        return True
    if not means_many or _DIRECTLY_INTO.search(before):
        return False
    nouns = "|".join(rf"{re.escape(noun)}\w*" for noun in thing_nouns if noun)
    is_attribute = bool(nouns) and re.match(_BEFORE_NOUN % nouns, _until_link(after), re.I) is not None
    return is_attribute or bool(_WITH_PATTERN.search(before))


def _until_link(text: str) -> str:
    return re.split(r"\b(?:to|into|as|in|on|for|of|by|with|from)\b", text, maxsplit=1)[0]


def longest_spans(spans: list[TextSpan]) -> list[TextSpan]:
    """The spans that do not lie within a longer one."""
    ends = {(span.start, span.end) for span in spans}
    inner = {(a, b) for a, b in ends if any(c <= a and b <= d and (a, b) != (c, d) for c, d in ends)}
    return sorted(span for span in spans if (span.start, span.end) not in inner)


_FIELD = r"(?:the\s+)?[a-z]+(?:[ -](?!(?:and|of|for|its)\b)[a-z]+){0,2}"
_ASKS_FIELD = (
    r"\W*(?:(?:and|also|please|then)\s+)*(?:(?:what|which|who)(?:\s+(?:is|are|was|were)|['’]s)"
    r"|(?:give|tell|show)\s+(?:me|us)|name|state|report)"
)
_SEVERAL_FIELDS_PATTERN = re.compile(
    rf"^(?P<lead>{_ASKS_FIELD}\s+(?:(?P<own>\S+(?:\s[A-Z]\S*)*['’]s)\s+)?)"
    rf"(?P<fields>{_FIELD}(?:\s*,\s*{_FIELD})*,?\s+(?:and|as well as)\s+{_FIELD})(?P<rest>\s+(?:of|for)\s.+)?$",
    re.I,
)
_AND_ITS_PATTERN = re.compile(
    rf"^(?P<lead>{_ASKS_FIELD}\s+)(?P<first>{_FIELD})(?P<rest>\s+of\s.+?)\s+and\s+its\s+(?P<other>{_FIELD})\W*$", re.I
)


def divide_fields(question: str) -> tuple[str, ...]:
    """The question for each field that it asks for of one thing: ``what are the width and the colour of K-1``."""
    if match := _AND_ITS_PATTERN.match(question):
        return tuple(f"{match['lead']}{field}{match['rest']}" for field in (match["first"], match["other"]))
    match = _SEVERAL_FIELDS_PATTERN.match(question.rstrip(" ?.!"))
    if match is None or bool(match["own"]) == bool(match["rest"]):
        return (question,)
    fields = re.split(r"\s*,\s*(?:and\s+)?|\s+(?:and|as well as)\s+", match["fields"])
    return tuple(f"{match['lead']}{field}{match['rest'] or ''}" for field in fields)


_COLUMN = r"[a-z]+(?:[ -](?!and\b)[a-z]+){0,2}"
_WITH_COLUMNS = re.compile(
    r"^(?P<things>\W*(?:which|list|show|name|give)\b.+?),?\s+(?:(?:along |together )?with|and|plus|including)\s+"
    rf"(?:(?:their|its|his|her)|the)\s+(?P<columns>{_COLUMN}(?:(?:,|,?\s+and)\s+(?:(?:their|the)\s+)?{_COLUMN})*)\W*$",
    re.I,
)


def divide_columns(question: str) -> tuple[str, tuple[str, ...]]:
    """A question for a list, and what it asks to be told of each: ``list all kites`` and ``colour`` of ``list all kites
    with their colour``. The question itself, and nothing, if it asks for no more.
    """
    match = _WITH_COLUMNS.match(question)
    if match is None:
        return question, ()
    columns = re.split(r",?\s+and\s+|,\s+", match["columns"])
    return match["things"], tuple(re.sub(r"^(?:their|the)\s+", "", column, flags=re.I) for column in columns)


NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
ANY_NUMBER = "|".join(NUMBERS)
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
ANY_WEEKDAY = "|".join(WEEKDAYS)
_UNIT = r"(?:minute|hour|day|week|weekend|month|quarter|year|morning|afternoon|evening)s?"
_COUNT = rf"an?|a few|a couple of|some|{ANY_NUMBER}|\d{{1,3}}"
_LATER_PATTERN = re.compile(
    r"\b(?:(?:the day after )?tomorrow|tonight|(?:a (?:bit|little) )?later(?! than\b)|(?<!as )soon|eventually|some ?day"
    rf"|(?:(?:on|by|from|until|till|before|after|next|this|coming|every|each)\s+)?(?:{ANY_WEEKDAY})s?"
    rf"|(?:next|coming|following|every|each)\s+{_UNIT}|(?:this|in the)\s+(?:morning|afternoon|evening|weekend)"
    rf"|in\s+(?:{_COUNT})\s+{_UNIT}(?:['’]s? time)?|(?:at|by|until|till|before|after)\s+(?:noon|midday|midnight|lunch)"
    rf"|(?:at|by|until|till|before|after)?\s*(?:the )?end of (?:the |this |next )?{_UNIT})\b",
    re.I,
)
_QUOTATION = re.compile(r"[\"“][^\"”]*[\"”]")
_TELLS_WHAT = re.compile(
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
    quoted = [*_QUOTATION.finditer(clause)]
    tail = clause[quoted[-1].end() :] if quoted else ""
    head = clause[: quoted[0].start()] if quoted else clause
    return find_later(f"{_TELLS_WHAT.split(head)[0]} {tail}", given if not quoted else "")


def drop_later(text: str) -> str:
    """The text without the words that name a later time."""
    return _LATER_PATTERN.sub(" ", text)
