"""Summarizes a conversation by rules: the beginning of each turn, with an equal share of the words."""

from services.planner.core.request import Request, objects
from shared.domain.exact_json import JsonObject

_WORDS = 200
_FEWEST_WORDS = 5


def summarize(request: Request) -> str:
    """A summary of at most 200 words; if the turns are too many for that, of the newest ones."""
    turns = objects(request.section("history"))[-_WORDS // _FEWEST_WORDS :]
    share = _WORDS // len(turns) if turns else 0
    return " ".join(_shorten_turn(turn, share) for turn in turns)


def _shorten_turn(turn: JsonObject, share: int) -> str:
    words = f"{turn.get('role', 'user')}: {turn.get('text', '')}".split()
    return " ".join(words if len(words) <= share else [*words[: share - 1], "..."])
