"""Questions that want a yes or a no: the question as a condition, judged as the conditions of actions are."""

import re

from services.planner.core.conditions import judge_statement
from services.planner.core.situation import Situation

_BE = re.compile(
    r"^(?:is|are|was|were|has|have)\s+(?P<subject>.+?)\s+(?:(?:already|still|yet|now|currently|ever|been|a|an|the)\s+)*"
    r"(?P<state>[\w-]+)\s*\?*$",
    re.I,
)
_COMPARES = re.compile(
    r"\b(?:over|above|below|under|within|less|more|at least|at most|exceed|fit|cover|suffic|enough)", re.I
)
_ASKS = re.compile(r"^(?:is|are|was|were|has|have|does|do|did|can|could|will|would)\b", re.I)


def yes_or_no(question: str, situation: Situation) -> str:
    """``Yes: 120.00 is within 200.00.``; empty if this is no such question, or nothing known decides it."""
    if not _ASKS.match(question):
        return ""
    judged = judge_statement(_as_condition(question), situation)
    return "" if judged.holds is None else f"{'Yes' if judged.holds else 'No'}: {judged.why}."


def _as_condition(question: str) -> str:
    """``Is X open?`` as ``X is open``; a comparison stays, for its words decide."""
    match = _BE.match(question.strip())
    if match and not _COMPARES.search(question):
        return f"{match['subject']} is {match['state']}"
    return _ASKS.sub("", question).strip(" ?")
