"""One run of an assessment, turn by turn: how the world stood, what the agent did, and what time brought."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from pydantic import JsonValue

from services.gateway.core.console.assessments import criterion_badge, number
from services.gateway.core.console.words import Badge, counted, title_of
from shared.contracts.assessment.base import JsonObject
from shared.contracts.assessment.kept import Run
from shared.contracts.assessment.results import ActionLogEntry, CriterionResult
from shared.contracts.assessment.world import WorldChange, WorldLook

_KINDS = {"added": Badge("New", "good"), "changed": Badge("Changed", "info"), "removed": Badge("Gone", "bad")}
_LONGEST = 2000
_GIST = 120
_TELLING = ("subject", "title", "body", "content", "folder", "response", "message_id", "event_id")
_TURN_BEGINS = "update_turn_started"


class Stop(NamedTuple):
    """A turn on the time line; 0 is the world before the first. ``at``: the simulated time when it was over."""

    turn: int
    title: str
    at: datetime | None
    remark: str
    tone: str


class ActionRow(NamedTuple):
    """``gist``: what of it tells most, such as a mail's subject."""

    title: str
    gist: str
    badge: Badge
    at: datetime
    said: tuple[tuple[str, str], ...]
    error: str


class Field(NamedTuple):
    name: str
    before: str
    after: str


class ChangedRow(NamedTuple):
    badge: Badge
    title: str
    where: str
    fields: tuple[Field, ...]


class Count(NamedTuple):
    """``moved``: how it differs from the turn before, such as ``+2``."""

    name: str
    number: int
    moved: str


class Told(NamedTuple):
    text: str
    tone: str


class CriterionLine(NamedTuple):
    name: str
    dimension: str
    badge: Badge
    score: str
    most: str
    reason: str
    details: tuple[tuple[str, str], ...]


class Turn(NamedTuple):
    """What is shown of one turn. ``known``: whether the assessor told how the world stood."""

    stop: Stop
    began: datetime | None
    known: bool
    counts: tuple[tuple[str, tuple[Count, ...]], ...]
    own: tuple[ChangedRow, ...]
    others: tuple[ChangedRow, ...]
    left_out: int
    actions: tuple[ActionRow, ...]
    told: tuple[Told, ...]


def stops_of(run: Run) -> tuple[Stop, ...]:
    looks = _looks(run)
    last = max(run.results.turns_taken, *(entry.turn for entry in run.results.action_log), *looks, 0)
    return tuple(_stop(run, turn, looks.get(turn)) for turn in range(last + 1))


def turn_of(run: Run, turn: int) -> Turn:
    """The turn, or the nearest that there is."""
    stops, looks = stops_of(run), _looks(run)
    turn = min(max(turn, 0), len(stops) - 1)
    look, before = looks.get(turn), looks.get(turn - 1)
    changes = look.changes if look else ()
    return Turn(
        stop=stops[turn],
        began=stops[turn - 1].at if turn else None,
        known=look is not None,
        counts=_counts(look, before),
        own=_changed(changes, "participant"),
        others=_changed(changes, "others"),
        left_out=look.left_out if look else 0,
        actions=tuple(_action(entry) for entry in run.results.action_log if entry.turn == turn),
        told=_told(run, turn),
    )


def criteria_of(run: Run) -> tuple[CriterionLine, ...]:
    """The missed first: they are what somebody looks for."""
    rows = sorted(run.results.criteria_results, key=lambda one: (one.unjudged, one.score / one.max_score))
    return tuple(_criterion(one) for one in rows)


def _looks(run: Run) -> Mapping[int, WorldLook]:
    return {look.turn: look for look in run.results.world}


def _stop(run: Run, turn: int, look: WorldLook | None) -> Stop:
    actions = [entry for entry in run.results.action_log if entry.turn == turn]
    failed = any(not entry.success for entry in actions) or any(
        _number(one) == turn for one in run.results.failed_turns
    )
    remark = counted(len(actions), "action") if turn else "before the first turn"
    at = look.time if look else _moment(_updates(run, turn + 1))
    return Stop(turn, f"Turn {turn}" if turn else "Start", at, remark, "bad" if failed else "")


def _moment(updates: Sequence[JsonObject]) -> datetime | None:
    """When a turn began, as the assessor told it then; for results that do not tell how the world stood."""
    said = next((one.get("current_time") for one in updates if one.get("message_type") == _TURN_BEGINS), None)
    try:
        return datetime.fromisoformat(str(said)) if said else None
    except ValueError:
        return None


def _updates(run: Run, turn: int) -> list[JsonObject]:
    """What was told from a turn's beginning to the next one's."""
    found: list[JsonObject] = []
    now = 0
    for update in run.updates:
        if update.get("message_type") == _TURN_BEGINS:
            now = _number(update)
        elif update.get("message_type") == "update_evaluation_started":
            now = -1
        if now == turn:
            found.append(update)
    return found


def _number(told: JsonObject) -> int:
    value = told.get("turn_number")
    return int(value) if isinstance(value, int | float) else -1


def _told(run: Run, turn: int) -> tuple[Told, ...]:
    said = (_sentence(update) for update in _updates(run, turn)) if turn else ()
    return tuple(one for one in said if one is not None)


def _sentence(update: JsonObject) -> Told | None:
    match update.get("message_type"):
        case "update_responses_generated" if update.get("responses_count"):
            who = update.get("characters_involved")
            names = ", ".join(title_of(str(name)).title() for name in who) if isinstance(who, list) else ""
            return Told(f"{names} answered", "info")
        case "update_simulation_advanced" if update.get("events_processed"):
            return Told(f"{counted(_whole(update, 'events_processed'), 'thing')} happened as time went on", "info")
        case "update_turn_completed" if update.get("early_completion_requested"):
            return Told("The agent said that it had nothing more to do", "mute")
        case "update_turn_completed":
            return Told(f"Time went on by {_duration(str(update.get('time_advanced', '')))}", "mute")
        case "update_error_occurred":
            kind = str(update.get("error_type", "error")).replace("_", " ")
            return Told(f"{title_of(kind)}: {_cut(str(update.get('error_message', '')))}", "bad")
        case _:
            return None


def _whole(update: JsonObject, name: str) -> int:
    value = update.get(name)
    return int(value) if isinstance(value, int | float) else 0


def _duration(written: str) -> str:
    """``PT1H30M`` as people write it: 1 h 30 min."""
    words = {"D": " d", "H": " h", "M": " min", "S": " s"}
    text = "".join(words.get(letter, letter) + " " if letter in words else letter for letter in written.strip("PT"))
    return text.replace("T", "").strip() or "no time"


def _counts(look: WorldLook | None, before: WorldLook | None) -> tuple[tuple[str, tuple[Count, ...]], ...]:
    if look is None:
        return ()
    old = before.counts if before else look.counts
    groups = [
        (title_of(modality), tuple(_count(name, value, old.get(modality, {})) for name, value in found.items()))
        for modality, found in look.counts.items()
        if any(found.values()) or any(old.get(modality, {}).values())
    ]
    return tuple(groups)


def _count(name: str, value: int, old: Mapping[str, int]) -> Count:
    moved = value - old.get(name, value)
    words = name.removesuffix("_count").removeprefix("total_")
    return Count(title_of(words), value, f"{moved:+d}" if moved else "")


def _changed(changes: Iterable[WorldChange], by: str) -> tuple[ChangedRow, ...]:
    return tuple(_row(change) for change in changes if change.by == by)


def _row(change: WorldChange) -> ChangedRow:
    fields = tuple(
        Field(title_of(name), _shown(change.before.get(name)), _shown(value)) for name, value in change.after.items()
    )
    return ChangedRow(_KINDS[change.kind], change.title or change.key, title_of(change.modality), fields)


def _action(entry: ActionLogEntry) -> ActionRow:
    modality, _, operation = entry.action.partition(".")
    said = tuple((name, text) for name, value in entry.parameters.items() if (text := _shown(value)) != "nothing")
    title = f"{title_of(modality)}: {title_of(operation).lower()}"
    return ActionRow(title, _gist(entry.parameters), _badge(entry), entry.timestamp, said, entry.error_message or "")


def _gist(said: JsonObject) -> str:
    found = next((value for name in _TELLING if isinstance(value := said.get(name), str) and value), "")
    line = " ".join(found.split())
    return line if len(line) <= _GIST else f"{line[:_GIST]}…"


def _badge(entry: ActionLogEntry) -> Badge:
    if entry.kind == "refused":
        return Badge("Refused", "bad")
    if not entry.success:
        return Badge("Failed", "bad")
    return Badge("Read", "mute") if entry.kind == "read" else Badge("Done", "good")


def _criterion(one: CriterionResult) -> CriterionLine:
    details = tuple((title_of(name), _shown(value)) for name, value in (one.details or {}).items())
    badge = criterion_badge(one.score, one.max_score, one.unjudged)
    return CriterionLine(
        one.name, title_of(one.dimension), badge, number(one.score), number(one.max_score), one.explanation, details
    )


def _shown(value: JsonValue) -> str:
    if isinstance(value, str):
        return _cut(value) or "nothing"
    if value is None or value in ([], {}):
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return _cut(", ".join(str(item) for item in value))
    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
