"""A summary without a model: the beginning of each turn, the words shared out evenly."""

from services.planner.core.request import Request, objects
from shared.domain.exact_json import JsonObject

_WORDS = 200
_FEWEST = 5


def summarize(request: Request) -> str:
    """At most 200 words; where the turns are too many for that, the newest are told."""
    turns = objects(request.section("history"))[-_WORDS // _FEWEST :]
    share = _WORDS // len(turns) if turns else 0
    return " ".join(_shorten_turn(turn, share) for turn in turns)


def _shorten_turn(turn: JsonObject, share: int) -> str:
    words = f"{turn.get('role', 'user')}: {turn.get('text', '')}".split()
    return " ".join(words if len(words) <= share else [*words[: share - 1], "..."])
