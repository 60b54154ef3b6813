"""What a request says of the kind of process: this state's instruction, and who has to be told of a change."""

import re
from typing import NamedTuple

from services.planner.core.intents import Intent
from services.planner.core.request import Request
from services.planner.core.situation import Situation
from services.planner.core.words import text_stems

_UNTOLD = re.compile(r"\bthe ([a-z][a-z _-]*?) has to be told\b")


class Process(NamedTuple):
    """Empty where the request says nothing of it."""

    instruction: str = ""
    notice_to: str = ""


def process_of(request: Request) -> Process:
    """What the request's section says; whom a refused plan had left untold is told too."""
    given = request.section("process")
    said = given if isinstance(given, dict) else {}
    untold = _UNTOLD.search(request.sections.get("correction", ""))
    notice_to = _text(said.get("notice_to")) or (untold[1] if untold else "")
    return Process(_text(said.get("instruction")), notice_to.replace("_", " "))


def with_notice(situation: Situation, process: Process) -> Situation:
    """The situation with the notice that the process wants, unless the task itself asks to tell them."""
    party = text_stems(process.notice_to)
    reading = situation.reading
    if not party or any(intent.is_notice and party & text_stems(intent.clause) for intent in reading.actions):
        return situation
    notice = Intent("notify", f"notify the {process.notice_to}")
    return situation._replace(reading=reading._replace(actions=(*reading.actions, notice)))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
