"""Removes protected values permanently from logs, events, outcomes and cases."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TypeVar, cast

from shared.domain.protected_values import (
    ProtectedKind,
    find_protected_spans,
    find_protected_values,
    is_long_enough_to_protect,
)

T = TypeVar("T")
NO_PROTECTED_VALUES: Mapping[str, ProtectedKind] = MappingProxyType({})
# What the task that is being worked on holds: a log line of its course, too, may quote a password without its label.
HIDDEN_VALUES: ContextVar[Mapping[str, ProtectedKind]] = ContextVar("hidden", default=NO_PROTECTED_VALUES)
_FEW_VALUES = 32  # of a task
_SHORTEST_EMBEDDED_VALUE = 6  # shorter values are replaced only where they stand alone
_PASSWORD_FIELD_PATTERN = re.compile(
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|(?:api|access|private|secret)[ _-]?key|token)$", re.I
)


class LiteralFinder:
    """Finds any of a set of values in texts: the longest at each place, a short one only as a whole word.

    The time hardly depends on how many values there are.
    """

    def __init__(self, values: Collection[str]) -> None:
        self._values = sorted(values)
        self._longest = max(map(len, values), default=0)
        # For each value, the lengths of those values that it begins with, itself included.
        self._lengths: list[tuple[int, ...]] = []
        last, last_lengths = "", tuple[int, ...]()
        for value in self._values:
            shared = bisect_left(last_lengths, True, key=lambda length: not value.startswith(last[:length]))
            last, last_lengths = value, (*last_lengths[:shared], len(value))
            self._lengths.append(last_lengths)
        letters = zip(*(value[:_SHORTEST_EMBEDDED_VALUE] for value in values), strict=False)  # up to the shortest
        first, *others = [f"[{re.escape(''.join(sorted(set(place))))}]" for place in letters] or ["(?!)"]
        self._beginning_pattern = re.compile(f"{first}(?={''.join(others)})")

    def find_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yields start and end of the longest value at each place where one begins; these may overlap."""
        for match in self._beginning_pattern.finditer(text) if self._values else ():
            start = match.start()
            # Every value that begins here is, in order, at or before the text from here, and begins the last such one.
            index = bisect_right(self._values, text[start : start + self._longest]) - 1
            if index >= 0:
                last, lengths = self._values[index], self._lengths[index]
                fitting = bisect_left(lengths, True, key=lambda length: not text.startswith(last[:length], start))
                for length in reversed(lengths[:fitting]):
                    if length >= _SHORTEST_EMBEDDED_VALUE or _is_whole_word(text, start, start + length):
                        yield start, start + length
                        break


def replace_spans(text: str, spans: Iterable[tuple[int, int]], replace: Callable[[int, int], str]) -> str:
    """The text with ``replace(start, end)`` in place of each span. Of overlapping spans the first, longest counts."""
    parts: list[str] = []
    end_of_last = 0
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= end_of_last:
            parts += (text[end_of_last:start], replace(start, end))
            end_of_last = end
    return "".join((*parts, text[end_of_last:]))


def redact_text(text: str, known_values: Mapping[str, ProtectedKind] = NO_PROTECTED_VALUES) -> str:
    """The text with a word such as ``[card]`` in place of each protected value, and of the ``known_values``."""
    return _Redactor(known_values).redact_text(text)


def redact_json(value: T, known_values: Mapping[str, ProtectedKind] = NO_PROTECTED_VALUES) -> T:
    """JSON-like data with protected values redacted, including passwords that only their field's name reveals."""
    return cast(T, _Redactor(known_values).redact_value(value))


class _Redactor:
    """Redacts the ``known_values`` of a task, and those values that a text itself shows to be protected."""

    def __init__(self, known_values: Mapping[str, ProtectedKind]) -> None:
        self._known_values = known_values

    def redact_text(self, text: str) -> str:
        values = find_protected_values(text) if find_protected_spans(text) else {}
        spans = [*LiteralFinder(values).find_spans(text)] if values else []
        if self._known_values and self._may_have_known_value(text):
            spans += self._known_finder.find_spans(text)

        def replace(start: int, end: int) -> str:
            value = text[start:end]
            return f"[{self._known_values.get(value) or values[value]}]"

        return replace_spans(text, spans, replace) if spans else text

    def _may_have_known_value(self, text: str) -> bool:
        """Whether the text may have a known value, so that the finder must search it; certain if the values are few."""
        return len(self._known_values) > _FEW_VALUES or any(value in text for value in self._known_values)

    @cached_property
    def _known_finder(self) -> LiteralFinder:
        return LiteralFinder(self._known_values)

    def redact_value(self, value: object) -> object:
        match value:
            case str():
                return self.redact_text(value)
            case bool() | None | float():
                return value
            case int():
                return (
                    redact_text(str(value))
                    if is_long_enough_to_protect(value) and find_protected_values(str(value))
                    else value
                )
            case list():
                return [self.redact_value(inner) for inner in value]
            case dict() | Mapping():  # what has to be asked of a class by its registry comes last
                return self._redact_fields(value)
            case tuple() if type(value) is tuple:
                return tuple(self.redact_value(inner) for inner in value)
            case _:
                return value

    def _redact_fields(self, fields: Mapping[object, object]) -> dict[object, object]:
        """The fields with names redacted like values; names that became equal are numbered."""
        redacted: dict[object, object] = {}
        further_uses: Counter[object] = Counter()
        for key, inner in fields.items():
            name = redacted_name = self.redact_text(key) if isinstance(key, str) else key
            while name in redacted:
                further_uses[redacted_name] += 1
                name = f"{redacted_name} ({further_uses[redacted_name] + 1})"
            is_password = isinstance(inner, str) and bool(inner) and _is_password_field(str(key))
            redacted[name] = f"[{ProtectedKind.PASSWORD}]" if is_password else self.redact_value(inner)
        return redacted


@lru_cache(maxsize=2_048)  # the same few names of fields, over and over
def _is_password_field(name: str) -> bool:
    return _PASSWORD_FIELD_PATTERN.search(name) is not None


def _is_whole_word(text: str, start: int, end: int) -> bool:
    return not any(char.isalnum() or char == "_" for char in (text[max(0, start - 1) : start], text[end : end + 1]))


_CREDENTIAL_REPLACEMENT = "[secret]"
_CREDENTIAL_HINTS = ("://", "bearer", "basic", "sk-", "pa_", "eyj")  # one of them is in each of the shapes
_CREDENTIAL_PATTERN = re.compile(
    r"""
    (?<=://)[^\s/@:"']*:[^\s/@"']+(?=@)         # the user and password of an address
    | \b(?:bearer|basic)\s+[a-z0-9._~+/=-]{8,}  # what stands in Authorization
    | \bsk-[a-z0-9_-]{8,}                       # a key of a model's endpoint
    | \bpa_[a-z0-9]{4,}_[\w-]{16,}              # a key of ours
    | (?<![\w-])(?=[\w-]*+\.[\w-]{8,}+\.[\w-])[\w-]*?\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+  # a signed token
    """,
    re.IGNORECASE | re.VERBOSE,
)


def redact_credentials(text: str) -> str:
    """The text with a word in place of each credential, recognised by its shape."""
    lowered = text.lower()
    if text.isascii() and not any(part in lowered for part in _CREDENTIAL_HINTS):
        return text
    return _CREDENTIAL_PATTERN.sub(_CREDENTIAL_REPLACEMENT, text)
