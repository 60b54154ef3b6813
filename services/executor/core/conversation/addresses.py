"""Addresses that somebody's text brought in: no read opens them, and no answer links to them."""

import re
from collections.abc import Callable, Iterator

from services.executor.core.figures.identifiers import IdentifierForm, find_special_identifiers
from services.executor.core.figures.mentions import split_name
from shared.domain.exact_json import Json, JsonObject

LEFT_OUT = "(address left out)"
_OPENED = frozenset("url urls uri uris link links href endpoint webhook callback host domain site website".split())
_LABEL, _TARGET = r"\[(?P<label>[^\]\n]*)\]", r"\(\s*<?(?P<target>[^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)>?[^)\n]*\)"
_LINK = re.compile(rf"(?P<image>!?){_LABEL}{_TARGET}")
_REFERENCE = re.compile(r"^ {0,3}\[[^\]\n]+\]:\s*<?(?P<target>[^\s<>]+)>?[^\n]*$", re.MULTILINE)
_HTML = re.compile(r"<(?:a|img|iframe|link|source|video|audio)\b[^>]*>", re.IGNORECASE)
_AUTOLINK = re.compile(r"<(?P<target>[a-z][a-z0-9+.-]*:[^\s<>]+)>", re.IGNORECASE)


def opened_addresses(arguments: JsonObject) -> Iterator[str]:
    """The addresses in a read's arguments that its tool may open."""
    for name, value in _texts("", arguments):
        links = [found.text for found in find_special_identifiers(value) if found.form is IdentifierForm.LINK]
        yield from links
        if not links and value and not _OPENED.isdisjoint(split_name(name)):
            yield value


def without_addresses(text: str, is_strange: Callable[[str], bool]) -> str:
    """The text with each link and image to a strange address as plain text, and without the address."""

    def plain(match: re.Match[str]) -> str:
        return match["label"] if is_strange(match["target"]) else match[0]

    def leave_out(match: re.Match[str]) -> str:
        return LEFT_OUT if any(map(is_strange, _links(match[0]))) else match[0]

    text = _LINK.sub(plain, text)
    for form in (_REFERENCE, _HTML, _AUTOLINK):
        text = form.sub(leave_out, text)
    for address in sorted({*_links(text)}, key=len, reverse=True):
        if is_strange(address):
            text = text.replace(address, LEFT_OUT)
    return text


def _links(text: str) -> list[str]:
    return [found.text for found in find_special_identifiers(text) if found.form is IdentifierForm.LINK]


def _texts(name: str, value: Json) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(key, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(name, inner)
    elif isinstance(value, str):
        yield name, value.strip()
