"""Exact-match answers: recognised by a full parse, never by their first byte (seed 000, decision 4)."""

import json


def is_exact_match(text: str) -> bool:
    """Whether a text starts with ``[``, ends with ``]`` and parses as a JSON list."""
    if not (text.startswith("[") and text.endswith("]")):
        return False
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False
