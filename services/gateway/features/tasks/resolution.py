"""An operator's decision on a write in doubt: who may make it, on what, and whether it took effect."""

from datetime import datetime
from typing import NamedTuple, cast

from services.gateway.edge.errors import NothingToResolve
from services.gateway.edge.fields import required_id, short_text_at, word_at
from services.gateway.edge.ids import derive_id
from services.gateway.features.identity.model import Caller
from shared.contracts.task import TaskRecord, Turn, TurnKind
from shared.domain.exact_json import JsonObject
from shared.domain.words import Resolution

_LONGEST_COMMENT = 2000


class ResolutionWord(NamedTuple):
    """A decision on a write in doubt. ``call``: the call's id in the plan."""

    call: str
    resolution: Resolution
    comment: str = ""


def read_word(body: JsonObject) -> ResolutionWord:
    """Parse ``{"call", "resolution", "comment"}``; raises ``InvalidField``."""
    resolution, comment = word_at(body, "resolution", Resolution), short_text_at(body, "comment", _LONGEST_COMMENT)
    return ResolutionWord(required_id(body, "call", "call"), resolution, comment)


def resolution_turn(record: TaskRecord, word: ResolutionWord, caller: Caller, now: datetime) -> Turn | None:
    """The turn that brings the decision to the task; None if it has taken effect. Raises ``NothingToResolve``.

    The same decision of the same operator gives the same turn, however often it is sent.
    """
    doubt = _doubt_of(record, word.call)
    if doubt is None:
        if was_heeded(record, word, caller):
            return None
        raise NothingToResolve(record.task_id, word.call, _why_not(record, word.call))
    return Turn(
        turn_id=derive_id("resolution", caller.tenant, record.task_id, doubt, word.resolution, caller.principal.id),
        task_id=record.task_id,
        kind=TurnKind.RESOLUTION,
        principal=caller.principal,
        received_at=now,
        text=word.resolution.value,
        data={"doubt": doubt, "call_id": word.call, "resolution": word.resolution.value, "comment": word.comment},
    )


def was_heeded(record: TaskRecord, word: ResolutionWord, caller: Caller) -> bool:
    """Whether the last decision on the call is this one, by this operator."""
    last = _last_resolution(record, word.call)
    return last is not None and (last.get("resolution"), last.get("by")) == (word.resolution.value, caller.principal.id)


def check_not_refused(record: TaskRecord, turn: Turn, word: ResolutionWord) -> None:
    """Raises ``NothingToResolve`` if a decision that has not taken effect never will, with the reason."""
    last = _last_resolution(record, word.call)
    if record.state.is_terminal or (last is not None and last.get("doubt") == turn.data["doubt"]):
        raise NothingToResolve(record.task_id, word.call, _why_not(record, word.call))
    if turn.turn_id in record.turns_done:
        raise NothingToResolve(record.task_id, word.call, record.reason or "the word did not count")


def _doubt_of(record: TaskRecord, call: str) -> str | None:
    doubts = _list_in(record, "doubts") if not record.state.is_terminal else []
    return next((str(item["doubt"]) for item in doubts if item.get("call_id") == call), None)


def _last_resolution(record: TaskRecord, call: str) -> JsonObject | None:
    return next((item for item in reversed(_list_in(record, "resolutions")) if item.get("call_id") == call), None)


def _why_not(record: TaskRecord, call: str) -> str:
    last = _last_resolution(record, call)
    if last is not None:
        return f"{last.get('by')} said {last.get('resolution')!r} of it at {last.get('at')}"
    if record.state.is_terminal:
        return f"the task has ended ({record.state.value})"
    return "no write of that name is in doubt"


def _list_in(record: TaskRecord, name: str) -> list[JsonObject]:
    found = record.metadata.get(name)
    return [cast(JsonObject, item) for item in found if isinstance(item, dict)] if isinstance(found, list) else []
