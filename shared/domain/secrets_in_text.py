"""Credentials by their shape, whoever quotes them: in addresses, headers, tokens and keys."""

import re

_WORD = "[secret]"
_SHAPES = re.compile(
    r"""
    (?<=://)[^\s/@:"']*:[^\s/@"']+(?=@)         # the user and password of an address
    | \b(?:bearer|basic)\s+[a-z0-9._~+/=-]{8,}  # what stands in Authorization
    | \bsk-[a-z0-9_-]{8,}                       # a key of a model's endpoint
    | \bpa_[a-z0-9]{4,}_[\w-]{16,}              # a key of ours
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+         # a signed token
    """,
    re.IGNORECASE | re.VERBOSE,
)


def without_secrets(text: str) -> str:
    """The text with a word in place of each."""
    return _SHAPES.sub(_WORD, text)
