"""Recognises answers that are one list (JSON, fenced JSON, bulleted or numbered lines), and turns them into JSON."""

import json
import re

_CODE_FENCE_PATTERN = re.compile(r"\A\s*```(?:json)?[ \t]*\n(?P<inside>.*?)\n?[ \t]*```\s*\Z", re.S | re.I)
_LIST_ITEM_PATTERN = re.compile(r"\A\s*(?:[-*\u2022]|\d{1,3}[.)])\s+(?P<item>\S.*?)\s*\Z")


def is_json_list(text: str) -> bool:
    """Whether the whole text is one JSON list."""
    if not (text.startswith("[") and text.endswith("]")):
        return False
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False


def parse_list_answer(text: str) -> str | None:
    """The answer as a JSON list, for a task that asks for one; None if the answer contains anything else.

    A JSON list is returned unchanged. It is taken out of a code fence; a list of bulleted or numbered lines is
    converted.
    """
    if is_json_list(text):
        return text
    fence = _CODE_FENCE_PATTERN.match(text)
    if fence:
        inside = fence["inside"].strip()
        return inside if is_json_list(inside) else None
    items = [_LIST_ITEM_PATTERN.match(line) for line in text.splitlines() if line.strip()]
    if not items or None in items:
        return None
    return json.dumps([match["item"] for match in items if match], ensure_ascii=False)
