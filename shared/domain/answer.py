"""Recognises answers that are one list (JSON, fenced JSON, bulleted or numbered lines), and turns them into JSON."""

import json
import re

_LIST_ITEM_PATTERN = re.compile(r"(?:[-*\u2022]|\d{1,3}[.)])\s+(?P<item>.*)")


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

    A JSON list is returned unchanged, without a code fence around it; a list of bulleted or numbered lines is
    converted.
    """
    if is_json_list(text):
        return text
    language, inside = split_code_fence(text)
    if language is not None:
        return inside if language.lower() in ("", "json") and is_json_list(inside) else None
    items = [_LIST_ITEM_PATTERN.fullmatch(line.strip()) for line in text.splitlines() if line.strip()]
    if not items or None in items:
        return None
    return json.dumps([match["item"] for match in items if match], ensure_ascii=False)


def split_code_fence(text: str) -> tuple[str | None, str]:
    """The language and the content of a text that is one Markdown code fence; None and the text for any other.

    White space around the text and around its content is left out.
    """
    stripped = text.strip()
    head, line_break, body = stripped.partition("\n")
    language = head.removeprefix("```").rstrip(" \t")
    if not (line_break and head.startswith("```") and body.endswith("```") and re.fullmatch(r"\w*", language)):
        return None, stripped
    return language, body.removesuffix("```").strip()
