"""The notice that a kind of process wants of a change."""

import re
from collections.abc import Iterable

from services.planner.core.intents import Intent
from services.planner.core.process import Process
from services.planner.core.situation import Situation
from services.planner.core.words import stem, text_stems

_AKIN = 5  # letters that a verb and its noun begin with alike: ``approve`` and ``approval``


def with_notice(situation: Situation, process: Process, verbs: Iterable[str]) -> Situation:
    """The situation with the notice that the process wants, unless the task itself asks to tell them.

    ``verbs``: what the plan does. Where the process says of what they are told, it has to be one of these.
    """
    party = text_stems(process.notice_to)
    reading = situation.reading
    if not party or any(intent.is_notice and party & text_stems(intent.clause) for intent in reading.actions):
        return situation
    occasions = _occasions(process)
    if occasions and not any(_is_akin(verb, one) for verb in verbs for one in occasions):
        return situation
    notice = Intent("notify", f"notify the {process.notice_to}")
    return situation._replace(reading=reading._replace(actions=(*reading.actions, notice)))


def _occasions(process: Process) -> frozenset[str]:
    """The words of what the instruction says the party is told about; empty where it does not say it."""
    told = re.findall(
        rf"\b(?:tell|notify|inform)\s+the\s+{re.escape(process.notice_to)}\s+(?:about|of)\s+([^,.;]+)",
        process.instruction,
        re.IGNORECASE,
    )
    return frozenset().union(*map(text_stems, told))


def _is_akin(verb: str, noun: str) -> bool:
    own = stem(verb)
    return own == noun or (len(own) >= _AKIN and own[:_AKIN] == noun[:_AKIN])
