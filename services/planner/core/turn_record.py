"""What earlier turns of a task that goes on with time have said of it: which wishes are done."""

import re
from collections.abc import Iterable, Sequence

from services.planner.core.intents import understand
from services.planner.core.request import Request, objects
from services.planner.core.wishes import PersonalWish, without_wishes

_LIMITS = re.compile(r"\b(?:nobody|nothing|no one|else|alone)\b|^\w+ (?:comes?|arrives?|is|are|can|will)\b", re.I)


def as_done(quote: str) -> str:
    """The line that says of a wish, in the user's words, that nothing is left of it."""
    return f"Done: “{quote}”"


def open_wishes(request: Request, wishes: Sequence[PersonalWish], answer: str = "") -> tuple[PersonalWish, ...]:
    """Those of which no turn has said that they are done, nor this one's ``answer``."""
    told = " ".join([*_agent_texts(request), answer])
    return tuple(wish for wish in wishes if as_done(wish.quote) not in told)


def _agent_texts(request: Request) -> list[str]:
    told = objects(request.section("history"))
    return [str(one.get("text") or "") for one in told if one.get("role") == "agent"]


def is_limit(clause: str) -> bool:
    """Whether a clause says what is not to be done, or how things are."""
    return _LIMITS.search(clause) is not None


def instructions_besides(text: str, wishes: Iterable[PersonalWish]) -> list[str]:
    """What a text asks for besides its wishes, clause by clause."""
    reading = understand(without_wishes(text, tuple(wishes)))
    return [one for one in (*(action.clause for action in reading.actions), *reading.unknown) if not is_limit(one)]
