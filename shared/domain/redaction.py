"""Removes protected values permanently from logs, events, outcomes and cases."""

import re
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from functools import lru_cache
from types import MappingProxyType
from typing import TypeVar, cast

from shared.domain.marks import ProtectedKind, find_protected_spans, is_long_enough_to_mark, protected_values

T = TypeVar("T")
NO_PROTECTED_VALUES: Mapping[str, ProtectedKind] = MappingProxyType({})
# What the task that is being worked on holds: a log line of its course, too, may quote a password without its label.
HIDDEN_VALUES: ContextVar[Mapping[str, ProtectedKind]] = ContextVar("hidden", default=NO_PROTECTED_VALUES)
_SHORTEST_EMBEDDED_VALUE = 6  # shorter values are replaced only where they stand alone
_PASSWORD_FIELD_PATTERN = re.compile(
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|(?:api|access|private|secret)[ _-]?key|token)$", re.I
)


def redact_text(text: str, known_values: Mapping[str, ProtectedKind] = NO_PROTECTED_VALUES) -> str:
    """The text with a word such as ``[card]`` in place of each protected value, and of the ``known_values``."""
    if not (find_protected_spans(text) or known_values):
        return text
    values = {**protected_values(text), **known_values}
    kinds = {value: kind for value, kind in values.items() if value in text}
    return literals_pattern(kinds).sub(lambda match: f"[{kinds[match.group()]}]", text) if kinds else text


def literals_pattern(values: Iterable[str]) -> re.Pattern[str]:
    """A pattern that matches any of the values, the longest first; a short one only as a whole word."""
    longest_first = sorted(values, key=lambda value: (-len(value), value))
    return re.compile("|".join(_escape_literal(value) for value in longest_first))


def redact_json(value: T, known_values: Mapping[str, ProtectedKind] = NO_PROTECTED_VALUES) -> T:
    """JSON-like data with protected values redacted, including passwords that only their field's name reveals."""
    return cast(T, _redact_value(value, known_values))


def _redact_value(value: object, known_values: Mapping[str, ProtectedKind]) -> object:
    match value:
        case str():
            return redact_text(value, known_values)
        case bool() | None | float():
            return value
        case int():
            return redact_text(str(value)) if is_long_enough_to_mark(value) and protected_values(str(value)) else value
        case list():
            return [_redact_value(inner, known_values) for inner in value]
        case dict() | Mapping():  # what has to be asked of a class by its registry comes last
            return _redact_fields(value, known_values)
        case tuple() if type(value) is tuple:
            return tuple(_redact_value(inner, known_values) for inner in value)
        case _:
            return value


def _redact_fields(fields: Mapping[object, object], known_values: Mapping[str, ProtectedKind]) -> dict[object, object]:
    """The fields with names redacted like values; names that became equal are numbered."""
    redacted: dict[object, object] = {}
    for key, inner in fields.items():
        name = redacted_name = redact_text(key, known_values) if isinstance(key, str) else key
        number = 1
        while name in redacted:
            number += 1
            name = f"{redacted_name} ({number})"
        is_password = isinstance(inner, str) and bool(inner) and _is_password_field(str(key))
        redacted[name] = f"[{ProtectedKind.PASSWORD}]" if is_password else _redact_value(inner, known_values)
    return redacted


@lru_cache(maxsize=2_048)  # the same few names of fields, over and over
def _is_password_field(name: str) -> bool:
    return _PASSWORD_FIELD_PATTERN.search(name) is not None


def _escape_literal(value: str) -> str:
    escaped = re.escape(value)
    return escaped if len(value) >= _SHORTEST_EMBEDDED_VALUE else rf"(?<!\w){escaped}(?!\w)"


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
