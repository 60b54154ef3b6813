"""Which messages are an approver's answer."""

from typing import NamedTuple

from services.gateway.core.errors import InvalidField
from services.gateway.core.fields import id_at, text_at
from shared.domain.exact_json import JsonObject

WORDS = ("approve", "reject")


class DecisionWord(NamedTuple):
    """``approval_id``: the question that the answer names itself; one without it answers whatever is asked now."""

    decision: str
    comment: str = ""
    approval_id: str | None = None


def decision_in(text: str, data: tuple[JsonObject, ...]) -> DecisionWord | None:
    """The decision of a message: the bare word, or one data part ``{"decision", "comment", "approval_id"}``."""
    claims = [part for part in data if "decision" in part]
    if claims:
        return _claimed(claims)
    word = text.strip().lower()
    return DecisionWord(word) if word in WORDS and not data else None


def _claimed(claims: list[JsonObject]) -> DecisionWord:
    path = "message.parts.data.decision"
    if len(claims) > 1:
        raise InvalidField(path, "there must be one decision in a message")
    word = (text_at(claims[0], "decision", path) or "").strip().lower()
    if word not in WORDS:
        raise InvalidField(path, "must be approve or reject")
    comment = text_at(claims[0], "comment", "message.parts.data.comment") or ""
    return DecisionWord(word, comment, id_at(claims[0], "approval_id", "message.parts.data.approval_id"))
