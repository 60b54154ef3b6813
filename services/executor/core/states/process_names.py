"""The name of a process as a model wrote it, spelt as the templates are."""

import re

_NAME = re.compile(r"[a-z]{2,20}(?:_[a-z]{2,20}){0,4}")
_NO_NAMES = frozenset({"unknown", "other", "none", "custom", "new", "special", "process", "task", "any"})


def process_name(text: str) -> str:
    """Empty for what names no process."""
    name = re.sub(r"[\s-]+", "_", text.strip().lower())
    return name if _NAME.fullmatch(name) and name not in _NO_NAMES else ""
