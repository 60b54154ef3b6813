"""What may stand in a header that we send for somebody: nothing that ends it or begins another."""

import re
from collections.abc import Mapping

from services.gateway.core.errors import InvalidField

LONGEST = 4096
_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")


def header_value(text: str, path: str) -> str:
    """The text, if it can be a header's value: visible ASCII, with spaces only inside; else ``InvalidField``."""
    if text and (len(text) > LONGEST or not _VALUE.fullmatch(text)):
        raise InvalidField(path, f"must be at most {LONGEST} visible ASCII characters")
    return text


def scheme_name(text: str, path: str) -> str:
    """The text, if it can name an authentication scheme; else ``InvalidField``."""
    if text and not _NAME.fullmatch(text):
        raise InvalidField(path, "must be the name of an HTTP authentication scheme, such as Bearer")
    return text


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers that are as safe as those two make them; raises ``InvalidField``, which tells no value."""
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise InvalidField("headers", "a header's name is one word")
        header_value(value, f"headers.{name}")
    return dict(headers)
