"""Finds values that must not leave the tenant's systems: card numbers, IBANs, social security numbers, secrets."""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from stdnum import iban, luhn
from stdnum.us import ssn


class ProtectedKind(StrEnum):
    """The kind of a protected value; it is also the word that replaces the value."""

    CARD = "card"
    IBAN = "iban"
    SSN = "ssn"
    SECRET = "secret"  # noqa: S105  # the name of the kind
    PASSWORD = "password"  # noqa: S105  # the same


class ProtectedSpan(NamedTuple):
    """A protected value's place in a text, and its kind."""

    start: int
    end: int
    kind: ProtectedKind
    value: str


# What stands, in lower case, in a text that its pattern can match: a plain search is fifty times as quick.
_LABEL_WORDS = (
    "passw",
    "passp",
    "passc",
    "pwd",
    "secret",
    "token",
    *(f"{of}{by}key" for of in ("api", "access", "private") for by in ("", " ", "_", "-")),
)
_DIGITS_PATTERN = re.compile(
    r"\d\d(?:\d[ -]?\d\d|(?<=[^\W\d_]{2}\d\d) ?\w)"
)  # in every number below, and quick to look for
# Each number below begins with a character that it takes, and then looks at what stands before that: so the search
# skips every other character, which takes a third of the time. ``(?<!\w)`` before ``\d`` is ``(?<!\w\d)`` after it.
_CARD_NUMBER_PATTERN = re.compile(
    r"\d(?<!\w\d)(?<!\d\.\d)"
    r"(?:\d{13,18}|\d{3}([ -])\d{4}\1\d{4}\1\d{4}|(?<=3)\d{3}([ -])\d{6}\2\d{4,5})(?!\w)(?!\.\d)"
)
_CARD_NUMBER_RANGES_PATTERN = re.compile(
    r"4(?:\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|6(?:011|4[4-9]\d|5\d\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}"
)
_ANY_CASE_LETTERS = "A-Za-z\u0130\u0131\u017f\u212a"  # what ``[A-Z]`` is with ``re.I``, which takes twice the time
_IBAN_NUMBER_PATTERN = re.compile(
    rf"[{_ANY_CASE_LETTERS}]{{2}}\d{{2}}(?<!\w....)(?: ?[{_ANY_CASE_LETTERS}0-9]{{4}}){{2,7}}"
    rf"(?: ?[{_ANY_CASE_LETTERS}0-9]{{1,4}})?(?!\w)"
)
_DASHED_SSN_PATTERN = re.compile(r"\d(?<![\w-]\d)\d{2}-\d{2}-\d{4}(?![\w-])")
_LABELLED_SSN_PATTERN = re.compile(
    r"(?:\bssn|_ssn|social[ _]security(?:[ _](?:number|no\.?))?)[\\\"'\s:=#]*+(?:\bis\b\s*+[\\\"']*+)?"
    r"(?P<v>\d{9}|\d{3}[- ]\d{2}[- ]\d{4})(?!\w)",
    re.I,
)
_SECRET_PATTERN = re.compile(
    r"(?<!\w)(?:sk-[A-Za-z0-9_-]{16,}|[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abposr]-[A-Za-z0-9-]{10,}|AIza[\w-]{30,}"
    r")(?!\w)|(?<![\w-])(?=[\w-]*+\.[\w-]{8,}+\.[\w-]{8})[\w-]*?(?<!\w)eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.{1,8000}?-----END [A-Z ]{0,30}PRIVATE KEY-----",
    re.S,
)
_SECRET_PREFIXES = (
    *("sk-", "k_live_", "k_test_", "akia", "asia", "github_pat_", "glpat-", "xox", "aiza", "eyj", "-----begin"),
    *(f"gh{kind}_" for kind in "pousr"),
)
_BEARER_TOKEN_PATTERN = re.compile(r"\bbearer\s++(?P<v>[\w.~+/-]{16,}=*)", re.I)
_URL_PASSWORD_PATTERN = re.compile(r"://[^\s/:@\"']{1,80}:(?P<v>[^\s/@\"']{4,200})@")
# By words of which one stands, in lower case, in a text: what is looked for there, and the group that holds the value.
_VALUES_BESIDE_WORDS = (
    (("ssn", "social"), _LABELLED_SSN_PATTERN, "v", ProtectedKind.SSN),
    (_SECRET_PREFIXES, _SECRET_PATTERN, 0, ProtectedKind.SECRET),
    (("bearer",), _BEARER_TOKEN_PATTERN, "v", ProtectedKind.SECRET),
    (("://",), _URL_PASSWORD_PATTERN, "v", ProtectedKind.SECRET),
)
_LABEL_REGEX = (
    r"(?:password|passwd|passphrase|passcode|pwd|(?:api|access|private|secret)[ _-]?key|secret"
    r"|(?:access|auth|api|refresh|session)[ _-]?token|client[ _-]?secret)"
)
_LABELLED_PASSWORD_PATTERN = re.compile(
    _LABEL_REGEX + r"(?:\s++(?:for|of)\s++[\w.@-]{1,60}(?:\s++[\w.@-]{1,60})?)?"
    r"(?P<by>\\*+[\"']?\s*+[:=]\s*+|\s++(?:is|was|to|as|=)(?:\s*+:)?\s++|\s++)"
    r"(?:\\*+[\"'“](?P<q>[^\"'”\\\n]{4,200})\\*[\"'”]|(?P<v>[^\s\"'“”,;<>{}\[\]\\()]{4,200}))",
    re.I,
)
_VALUE_END_PATTERN = re.compile(r"\s*(?:$|[,;\n\"'}\\)]|[.?!](?:\s|$)|and\b)")
_NO_PASSWORD_WORDS = frozenset(
    "string required optional null none true false reset expired invalid changed missing unknown empty".split()
)
# "reset_password: USR-12" and "Rotate the API key: INT-5" name the record that is worked on, and give no value.
_PASSWORD_ACTION_BEFORE_PATTERN = re.compile(
    r"\b(?:re-?set|rotate|revoke|expire|unlock|get|list|verify|delete|remove|disable|check)"
    r"(?:[_ ](?:the|a|user|this))?[_ ]\Z",
    re.I,
)
_RECORD_ID_PATTERN = re.compile(r"[A-Z]{2,6}-\d{1,8}")
_SHORTEST_PASSWORD = 4  # characters of a password that is taken for one
_SHORTEST_PROTECTED_TEXT = (
    8  # characters of the shortest text with a protected value: ``pwd`` with a sign and a password
)
_SHORTEST_SECRET_OF_LETTERS = 20  # of letters alone: the shortest of the keys that a provider gives out
_LONGEST_CACHED_TEXT = 100  # characters of a text that may come again in other tasks
_LEAST_PROTECTED_NUMBER = 10**13  # the shortest card has 14 digits


def find_protected_spans(text: str) -> tuple[ProtectedSpan, ...]:
    """The places and kinds of the protected values in a text, in order and without overlap; empty if there are none."""
    if len(text) < _SHORTEST_PROTECTED_TEXT or (len(text) < _SHORTEST_SECRET_OF_LETTERS and text.isalpha()):
        return ()
    return _find_spans_of_short_text(text) if len(text) <= _LONGEST_CACHED_TEXT else _find_disjoint_spans(text)


def _find_disjoint_spans(text: str) -> tuple[ProtectedSpan, ...]:
    spans: list[ProtectedSpan] = []
    for span in sorted(_find_overlapping_spans(text), key=lambda span: (span.start, -span.end)):
        if not spans or span.start >= spans[-1].end:
            spans.append(span)
    return tuple(spans)


_find_spans_of_short_text = lru_cache(maxsize=2_048)(
    _find_disjoint_spans
)  # names of tools, states and models come again with each task


def find_protected_values(text: str) -> dict[str, ProtectedKind]:
    """The protected values of a text with their kinds, in the order of their appearance."""
    values: dict[str, ProtectedKind] = {}
    for span in find_protected_spans(text):
        values.setdefault(span.value, span.kind)
    return values


def is_long_enough_to_protect(number: int) -> bool:
    """Whether a number has enough digits to be protected without a word beside it."""
    return abs(number) >= _LEAST_PROTECTED_NUMBER


def _find_overlapping_spans(text: str) -> Iterator[ProtectedSpan]:
    lowered = text.lower()
    if _DIGITS_PATTERN.search(text):
        yield from _find_numbers(text)
    for words, pattern, group, kind in _VALUES_BESIDE_WORDS:
        if _contains_any(lowered, words):
            yield from (_build_span(match, group, kind) for match in pattern.finditer(text))
    if _contains_any(lowered, _LABEL_WORDS):
        for match in _LABELLED_PASSWORD_PATTERN.finditer(text):
            yield from _find_password(match, text)


def _contains_any(text: str, words: Iterable[str]) -> bool:
    """Whether the text contains any of the words. A plain loop, since every text of every event is searched."""
    for word in words:  # noqa: SIM110  # twice as quick as a generator
        if word in text:
            return True
    return False


def _find_numbers(text: str) -> Iterator[ProtectedSpan]:
    """Yields numbers that are protected without a label beside them: cards, IBANs, social security numbers."""
    for match in _CARD_NUMBER_PATTERN.finditer(text):
        if _is_card(match.group()):
            yield _build_span(match, 0, ProtectedKind.CARD)
    for match in _IBAN_NUMBER_PATTERN.finditer(text):
        length = _measure_iban(match.group())
        if length:
            yield ProtectedSpan(match.start(), match.start() + length, ProtectedKind.IBAN, match.group()[:length])
    for match in _DASHED_SSN_PATTERN.finditer(text):
        if ssn.is_valid(match.group()):
            yield _build_span(match, 0, ProtectedKind.SSN)


def _is_card(text: str) -> bool:
    """Whether digits are a card number, by issuer, and by the check digit, which a tenth of all numbers has."""
    digits = text.replace(" ", "").replace("-", "")
    return bool(_CARD_NUMBER_RANGES_PATTERN.fullmatch(digits)) and luhn.is_valid(digits)


def _measure_iban(text: str) -> int:
    """The length of the IBAN that begins the text, without words after it that look like its groups; 0 if none."""
    while text:
        if iban.is_valid(text, check_country=False):
            return len(text)
        text = text.rpartition(" ")[0]
    return 0


def _find_password(match: re.Match[str], text: str) -> Iterator[ProtectedSpan]:
    """Yields the value after a label, unless it is part of the sentence, as in "the password is wrong"."""
    quoted = match["q"]
    unquoted = match["v"]
    separator = match["by"]
    value = quoted if quoted is not None else unquoted.rstrip(".?:")
    start = match.start("q" if quoted is not None else "v")
    if len(value) < _SHORTEST_PASSWORD or value.casefold() in _NO_PASSWORD_WORDS or not re.search(r"\w", value):
        return
    if quoted is None:
        is_at_end = _VALUE_END_PATTERN.match(text, start + len(value)) is not None
        if not _looks_like_password(value, separator, is_at_end):
            return
    elif not separator.strip():
        return
    if _RECORD_ID_PATTERN.fullmatch(value) and _PASSWORD_ACTION_BEFORE_PATTERN.search(
        text, max(0, match.start() - 20), match.start()
    ):
        return
    yield ProtectedSpan(start, start + len(value), ProtectedKind.PASSWORD, value)


def _looks_like_password(value: str, separator: str, is_at_end: bool) -> bool:
    is_mixed = bool(re.search(r"\d", value) and re.search(r"[^\W\d]", value))
    if ":" in separator or "=" in separator:
        return is_at_end or is_mixed or not value.isalpha()
    return is_mixed and (bool(separator.strip()) or bool(re.search(r"[!@#$%^&*?+]", value)))


def _build_span(match: re.Match[str], group: str | int, kind: ProtectedKind) -> ProtectedSpan:
    return ProtectedSpan(match.start(group), match.end(group), kind, match[group])
