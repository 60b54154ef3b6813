"""Figures of a drafted section that stand in nothing that is known: marked where they stand, for whoever reads it."""

import re
from collections.abc import Sequence

MARK = "[unverified: "


def mark_unverified(text: str, tokens: Sequence[str]) -> str:
    """The text with each of the tokens as ``[unverified: TOKEN]``; one spelled otherwise is named at the end."""
    if not tokens:
        return text
    found: set[str] = set()
    either = "|".join(re.escape(token) for token in sorted(tokens, key=len, reverse=True))

    def mark(match: re.Match[str]) -> str:
        found.add(match[0])
        return f"{MARK}{match[0]}]"

    marked = re.sub(rf"(?<![\w$€£¥])(?<!\d[.,:/])(?:{either})(?![\w%€£¥]|[.,:/]\d)", mark, text)
    others = [f"{MARK}{token}]" for token in tokens if token not in found]
    return " ".join([marked, *others])


def has_unverified(content: object) -> bool:
    """Whether a section's content has such a mark."""
    return isinstance(content, str) and MARK in content
