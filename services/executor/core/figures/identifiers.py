"""Finds tokens that identify a thing or a person: record, account and phone numbers, mail addresses, links."""

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from services.executor.core.figures.vocabulary import WORD_OR_DIGITS_PATTERN, fold_word
from services.executor.core.tools.name_similarity import words_of
from shared.domain.exact_json import JsonObject, walk_json


class IdentifierKind(StrEnum):
    """How an identifier is written; ``CODE``: letters and digits that name a record, such as EXP-1001."""

    LINK = "link"
    EMAIL = "email"
    IBAN = "iban"
    PHONE = "phone"
    CODE = "code"


class WrittenIdentifier(NamedTuple):
    """An identifier with its position in a text."""

    start: int
    end: int
    text: str
    form: IdentifierKind


_SPECIAL_IDENTIFIER_PATTERN = re.compile(
    r"(?P<link>\bhttps?://[^\s<>\"']+|\bwww\.[^\s<>\"']+)"
    r"|(?P<email>(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<iban>\b[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?\b)"
    r"|(?P<code>\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
    r"|(?<![\w.,-])\d{4}(?:[ -]\d{4}){2,4}(?![\w-]|[.,]\d| \d{4}))"
    r"|(?P<phone>(?<![\w.])\+\d(?:(?:[ /.-]|\)[ -]?|[ -]?\()?\d){6,14}(?!\w)"
    r"|(?<![\w.(-])\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}(?![\w-])"
    r"|(?<![\w.-])0\d(?:[ .]\d\d){4}(?!\w)|(?<![\w./-])0\d{2,4}[ /]\d{4,}(?:[ -]\d+)*(?!\w))"
)
# A code has a digit; its parts hang together by marks that no sentence puts there.
_CODE_PATTERN = re.compile(r"(?<!\w)#?[^\W_]+(?:[-_/.#]+[^\W_]+)*")
_ORDINAL_PATTERN = re.compile(r"\d+(?:st|nd|rd|th|er|re|ème)")
_DIGIT_PATTERN = re.compile(r"\d")
_WORD_WITH_DIGIT_OR_AT_PATTERN = re.compile(r"(?<![\w.@+-])[\w.@+-]*[\d@][\w.@+-]*")
ADDRESS_KINDS = frozenset({IdentifierKind.LINK, IdentifierKind.EMAIL})  # one mark more or less is another address
_KINDS_WITH_GAPS = frozenset({IdentifierKind.IBAN, IdentifierKind.PHONE})
_FEWEST_ACCOUNT_DIGITS = 12  # digits in groups that only a card or an account has
_MARKS_AFTER_LINK = ".,;:!?)]}"


def find_special_identifiers(text: str) -> Iterator[WrittenIdentifier]:
    """Yields links, mail addresses, UUIDs, and account, card and phone numbers: none is read as a number or date."""
    for match in _SPECIAL_IDENTIFIER_PATTERN.finditer(text):
        form = IdentifierKind(match.lastgroup or IdentifierKind.CODE)
        identifier = match[0].rstrip(_MARKS_AFTER_LINK) if form in ADDRESS_KINDS else match[0]
        yield WrittenIdentifier(match.start(), match.start() + len(identifier), identifier, form)


def blank_special_identifiers(text: str) -> str:
    """The text with spaces in place of what ``find_special_identifiers`` finds."""
    return _SPECIAL_IDENTIFIER_PATTERN.sub(lambda match: " " * len(match[0]), text)


def find_code_like_tokens(text: str) -> Iterator[WrittenIdentifier]:
    """Yields the tokens with a digit, numbers and dates among them, no ordinals: ``EXP-1006``, ``INV_22``, ``4411``;
    of several codes that slashes join, also each of them.
    """
    for match in _CODE_PATTERN.finditer(text):
        if has_digit(match[0]) and not _ORDINAL_PATTERN.fullmatch(match[0]):
            yield WrittenIdentifier(*match.span(), match[0], IdentifierKind.CODE)
            yield from _split_joined_codes(match[0], match.start())


def _split_joined_codes(text: str, start: int) -> Iterator[WrittenIdentifier]:
    """Yields the codes that a slash joins, as in ``EXP-1/EXP-2``; none for ``PO/2024/17``, which is one code."""
    parts = text.split("/")
    if len(parts) > 1 and all(has_digit(part) and not part.isdecimal() for part in parts):
        for part in parts:
            yield WrittenIdentifier(start, start + len(part), part, IdentifierKind.CODE)
            start += len(part) + 1


def find_ids_and_figures(text: str) -> frozenset[str]:
    """The words with a digit or ``@``, in lower case: identifiers, amounts, dates and addresses of one task."""
    return frozenset(word.strip(".-+").lower() for word in _WORD_WITH_DIGIT_OR_AT_PATTERN.findall(text))


def has_digit(text: str) -> bool:
    return _DIGIT_PATTERN.search(text) is not None


def normalize_identifier(text: str) -> tuple[str, ...]:
    """The key by which identifiers are compared: ``EXP-1006`` and ``exp 1006`` have the same, ``1-12`` and ``11-2`` do
    not.

    Phone numbers and accounts are compared without gaps, addresses with every character.
    """
    form = kind_of_identifier(text)
    parts = WORD_OR_DIGITS_PATTERN.findall(fold_word(text))
    if form in ADDRESS_KINDS:
        return (form, text.strip().lower() if form is IdentifierKind.EMAIL else text.strip())
    is_account = sum(map(len, parts)) >= _FEWEST_ACCOUNT_DIGITS and all(part.isdecimal() for part in parts)
    if form in _KINDS_WITH_GAPS or is_account:
        return (IdentifierKind.PHONE if form is IdentifierKind.PHONE else IdentifierKind.IBAN, "".join(parts))
    return tuple(parts)


def kind_of_identifier(text: str) -> IdentifierKind | None:
    """The form of a text that is one identifier and nothing else; None for any other text."""
    text = text.strip()
    match = _SPECIAL_IDENTIFIER_PATTERN.fullmatch(text) or _SPECIAL_IDENTIFIER_PATTERN.fullmatch(text.upper())
    if match:
        return IdentifierKind(match.lastgroup or IdentifierKind.CODE)
    match = _CODE_PATTERN.fullmatch(text)
    return IdentifierKind.CODE if match and has_digit(text) else None


_LEFT_OUT_ADDRESS_TEXT = "(address left out)"
_ADDRESS_ARGUMENT_WORDS = frozenset(
    "url urls uri uris link links href endpoint webhook callback host domain site website".split()
)
_LINK_TARGET_REGEX = r"\(\s*+<?(?P<target>[^\s()<>]*+(?:\([^\s()]*+\)[^\s()<>]*+)*)>?[^)\n]{0,500}+\)"
_MARKDOWN_LINK_PATTERN = re.compile(rf"(?P<image>!?)\[(?P<label>[^\[\]\n]*+)\]{_LINK_TARGET_REGEX}")
_MARKDOWN_REFERENCE_PATTERN = re.compile(r"^ {0,3}\[[^\]\n]+\]:\s*<?(?P<target>[^\s<>]+)>?[^\n]*$", re.MULTILINE)
_HTML_TAG_PATTERN = re.compile(r"(?i)<(?:a|img|iframe|link|source|video|audio)\b[^<>]*+>")
_MARKDOWN_AUTOLINK_PATTERN = re.compile(r"(?i)<(?P<target>[a-z][a-z0-9+.-]*:[^\s<>]+)>")


def addresses_to_open(arguments: JsonObject) -> Iterator[str]:
    """Yields the addresses among a read's arguments that the tool may open."""
    for name, text in walk_json(arguments):
        value = text.strip() if isinstance(text, str) else ""
        links = _find_urls(value)
        yield from links
        if not links and value and not _ADDRESS_ARGUMENT_WORDS.isdisjoint(words_of(name)):
            yield value


def strip_strange_addresses(text: str, is_strange: Callable[[str], bool]) -> str:
    """The text without the addresses that are strange: a Markdown link keeps its label, any other becomes a note."""

    def keep_label_if_strange(match: re.Match[str]) -> str:
        return match["label"] if is_strange(match["target"]) else match[0]

    def leave_out_if_strange(match: re.Match[str]) -> str:
        return _LEFT_OUT_ADDRESS_TEXT if any(map(is_strange, _find_urls(match[0]))) else match[0]

    text = _MARKDOWN_LINK_PATTERN.sub(keep_label_if_strange, text)
    for form in (_MARKDOWN_REFERENCE_PATTERN, _HTML_TAG_PATTERN, _MARKDOWN_AUTOLINK_PATTERN):
        text = form.sub(leave_out_if_strange, text)
    for address in sorted({*_find_urls(text)}, key=len, reverse=True):
        if is_strange(address):
            text = text.replace(address, _LEFT_OUT_ADDRESS_TEXT)
    return text


def _find_urls(text: str) -> list[str]:
    return [identifier.text for identifier in find_special_identifiers(text) if identifier.form is IdentifierKind.LINK]
