"""Drafts a process for a new kind of task: read, compute, check, write, and what the task's words ask besides."""

import re

from services.planner.core.request import Request
from services.planner.core.words import family, text_words
from shared.domain.exact_json import Json, JsonObject

_APPROVAL_PATTERN = re.compile(
    r"\b(?:approval|sign-?off|authori[sz]ation|go-ahead|second (?:person|pair of eyes))\b", re.IGNORECASE
)
_IRREVERSIBLE_WORDS = frozenset({"delete", "cancel"})
_WEIGHTY_WORDS = frozenset({"pay", "refund", "approve", "grant", "release"})
_INSTRUCTIONS = {
    "ASSESS": "Read every record that the task names, and those that its decision depends on.",
    "MUTATE": "Write only what the task asks for, once, and prove it by reading it back.",
}
_OUTPUTS = ("what was changed", "what could not be done")


def draft_process(request: Request) -> JsonObject:
    """The structured output PROCESS, without anything of the one task that it was made from."""
    families = {verb_family for word in text_words(request.task) if (verb_family := family(word))}
    risk = "high" if families & _IRREVERSIBLE_WORDS else "medium" if families & _WEIGHTY_WORDS else "low"
    asks = bool(_APPROVAL_PATTERN.search(request.task))
    states = ["DECOMPOSE", "ASSESS", "COMPUTE", "POLICY_CHECK"]
    states += ["APPROVAL_GATE"] if asks or risk == "high" else []
    states += ["MUTATE", *(["SCHEDULE_NOTIFY"] if "send" in families else []), "COMPLETE"]
    instructions: list[Json] = [{"state": state, "text": text} for state, text in _INSTRUCTIONS.items()]
    walked: list[Json] = [*states]
    outputs: list[Json] = [*_OUTPUTS]
    process: JsonObject = {"states": walked, "risk": risk, "approval_wanted": asks}
    return {**process, "instructions": instructions, "outputs": outputs}
