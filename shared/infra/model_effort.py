"""Which models can be told how thoroughly to think; the API refuses the wish where a model cannot."""

import re

_NAME = re.compile(r"claude-(?P<family>[a-z]+)-(?P<major>\d+)(?:-(?P<minor>\d{1,2}))?(?![\d])")
_SINCE = {"opus": (4, 5), "sonnet": (4, 6)}
_ALL_SINCE = (5, 0)


def takes_effort(model: str) -> bool:
    """By the model's name; of one whose name tells nothing it is not assumed."""
    named = _NAME.search(model)
    if named is None:
        return False
    return (int(named["major"]), int(named["minor"] or 0)) >= _SINCE.get(named["family"], _ALL_SINCE)
