"""One run of an assessment, turn by turn: the world's state and changes, the agent's actions, other events."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from pydantic import JsonValue

from services.gateway.features.console.views.assessments import format_value, is_empty, shorten
from services.gateway.features.console.views.formatting import (
    Badge,
    count_with_noun,
    humanize_name,
    parse_time_or_none,
    texts_or_empty,
)
from shared.contracts.assessment.messages import JsonObject
from shared.contracts.assessment.results import ActionLogEntry, CriterionResult, Run, WorldAfterTurn

_LONGEST_SUMMARY_LINE = 120
_READ_BADGE = Badge("Read", "mute")
_GIST_PARAMETERS = ("subject", "title", "body", "content", "body_text")
_OTHER_PARAMETERS = ("folder", "labels", "response")


class ActionRow(NamedTuple):
    """One action, or successive reads merged. ``gist``: its main content, such as a mail's subject."""

    title: str
    gist: str
    badge: Badge
    parameters: tuple[tuple[str, str], ...] = ()
    error: str = ""


def build_action_rows(entries: Sequence[ActionLogEntry], titles: Mapping[str, str]) -> tuple[ActionRow, ...]:
    """The actions, with successive reads merged. ``titles``: titles of the world's rows, by id."""
    rows: list[ActionRow] = []
    for are_reads, group in groupby(entries, lambda entry: entry.kind == "read" and entry.success):
        if are_reads:
            rows.append(_merge_reads([*group]))
        else:
            rows += [_build_action_row(entry, titles) for entry in group]
    return tuple(rows)


def _merge_reads(entries: Sequence[ActionLogEntry]) -> ActionRow:
    if len(entries) == 1:
        return ActionRow(_describe_action(entries[0]), "", _READ_BADGE)
    counts_by_title = Counter(_describe_action(entry) for entry in entries)
    gist = ", ".join(f"{name} × {count}" if count > 1 else name for name, count in counts_by_title.items())
    return ActionRow(count_with_noun(len(entries), "read"), gist, _READ_BADGE)


def _build_action_row(entry: ActionLogEntry, titles: Mapping[str, str]) -> ActionRow:
    parameters = tuple((name, format_value(value)) for name, value in entry.parameters.items() if not is_empty(value))
    gist = _summarize_parameters(entry.parameters, titles)
    return ActionRow(_describe_action(entry), gist, _choose_badge(entry), parameters, entry.error_message or "")


def _describe_action(entry: ActionLogEntry) -> str:
    modality, _, operation = entry.action.partition(".")
    return f"{humanize_name(modality)}: {humanize_name(operation).lower()}"


def _summarize_parameters(parameters: JsonObject, titles: Mapping[str, str]) -> str:
    main_texts = [value for name in _GIST_PARAMETERS if isinstance(value := parameters.get(name), str) and value][:1]
    subject = main_texts or list(_find_referenced_titles(parameters, titles))
    other_texts = [format_value(value) for name in _OTHER_PARAMETERS if not is_empty(value := parameters.get(name))]
    line = " ".join(" · ".join([*subject, *other_texts]).split())
    return line if len(line) <= _LONGEST_SUMMARY_LINE else f"{line[:_LONGEST_SUMMARY_LINE]}…"


def _find_referenced_titles(parameters: JsonObject, titles: Mapping[str, str]) -> Iterator[str]:
    """Yields the titles of the rows whose ids are among the parameters; the id itself if its title is unknown."""
    for name, value in parameters.items():
        if name.endswith(("_id", "_ids")):
            ids: list[JsonValue] = value if isinstance(value, list) else [value]
            yield from (titles.get(row_id, row_id) for row_id in ids if isinstance(row_id, str) and row_id)


def _choose_badge(entry: ActionLogEntry) -> Badge:
    if entry.kind == "refused":
        return Badge("Refused", "bad")
    if not entry.success:
        return Badge("Failed", "bad")
    return _READ_BADGE if entry.kind == "read" else Badge("Done", "good")


CHANGE_BADGES = {"added": Badge("New", "good"), "changed": Badge("Changed", "info"), "removed": Badge("Gone", "bad")}
TURNS_SHOWN_EACH_WAY = 100  # how many turns the time line shows before and after the one that is shown
_LONGEST_NOTES = 4000
_TURN_STARTED_TYPE = "update_turn_started"


class TimelineTurn(NamedTuple):
    """A turn on the time line; turn 0 is the world before the first. ``at``: the simulated time at the turn's end."""

    turn: int
    title: str
    at: datetime | None
    remark: str
    tone: str


class WorldRowCount(NamedTuple):
    """How many rows of one kind the assessment's world has at the end of a turn. ``change``: since the turn before,
    such as ``+2``; empty if there is none.
    """

    name: str
    row_count: int
    change: str


class ReplayedTurn(NamedTuple):
    """What is shown of one turn. ``world``: at its end; None if the results do not tell.

    ``notes``: the agent's notes on the turn; for turn 0 the user's prompt; empty if unknown.
    """

    timeline_turn: TimelineTurn
    began: datetime | None
    world: WorldAfterTurn | None
    counts: tuple[tuple[str, tuple[WorldRowCount, ...]], ...]
    actions: tuple[ActionRow, ...]
    updates: tuple[Badge, ...]
    notes: str


def list_timeline_turns(run: Run) -> tuple[TimelineTurn, ...]:
    """All turns of a run as the time line shows them, in order."""
    worlds, begins = {world.turn: world for world in run.results.world}, _read_turn_starts(run)
    log, failed_turns = run.results.action_log, map(_read_turn_number, run.results.failed_turns)
    action_counts = Counter(entry.turn for entry in log)
    wrong = {*failed_turns, *(entry.turn for entry in log if not entry.success)}
    last = max(run.results.turns_taken, *action_counts, *worlds, 0)
    return tuple(
        TimelineTurn(
            turn,
            f"Turn {turn}" if turn else "Start",
            worlds[turn].time if turn in worlds else begins.get(turn + 1),
            count_with_noun(action_counts[turn], "action") if turn else "before the first turn",
            "bad" if turn in wrong else "",
        )
        for turn in range(last + 1)
    )


def build_replayed_turn(run: Run, all_turns: Sequence[TimelineTurn], turn: int) -> ReplayedTurn:
    """The turn of that number, or the nearest turn, as the replay page shows it."""
    worlds = {world.turn: world for world in run.results.world}
    turn = min(max(turn, 0), len(all_turns) - 1)
    world, world_before = worlds.get(turn), worlds.get(turn - 1)
    all_changes = (change for world in run.results.world for change in world.changes)
    titles = {change.key: change.title for change in all_changes if change.title}
    update_badges = map(_describe_update, _select_updates_of_turn(run, turn)) if turn else ()
    return ReplayedTurn(
        timeline_turn=all_turns[turn],
        began=all_turns[turn - 1].at if turn else None,
        world=world,
        counts=_count_rows(world, world_before),
        actions=build_action_rows([entry for entry in run.results.action_log if entry.turn == turn], titles),
        updates=tuple(badge for badge in update_badges if badge is not None),
        notes=_read_notes_or_prompt(run, turn),
    )


def sort_criteria_by_share(run: Run) -> list[CriterionResult]:
    """The criteria, those with the smallest share of points first, unjudged ones last."""
    return sorted(run.results.criteria_results, key=lambda result: (result.unjudged, result.score / result.max_score))


def _read_turn_starts(run: Run) -> Mapping[int, datetime]:
    """When each turn began, by the assessor's updates; for results without the world's state."""
    starts: dict[int, datetime] = {}
    for update in run.updates:
        time = parse_time_or_none(update.get("current_time"))
        if time and update.get("message_type") == _TURN_STARTED_TYPE:
            starts[_read_turn_number(update)] = time
    return starts


def _select_updates_of_turn(run: Run, turn: int) -> list[JsonObject]:
    """What the assessor said in a turn, until the next or the evaluation begins; in turn 0, before the first."""
    updates: list[JsonObject] = []
    current_turn = 0
    for update in run.updates:
        if update.get("message_type") == _TURN_STARTED_TYPE:
            current_turn = _read_turn_number(update)
        elif update.get("message_type") == "update_evaluation_started":
            current_turn = -1
        if current_turn == turn:
            updates.append(update)
    return updates


def _read_turn_number(update: JsonObject) -> int:
    return _read_int(update, "turn_number", -1)


def _read_notes_or_prompt(run: Run, turn: int) -> str:
    kind, field = ("update_turn_completed", "notes") if turn else ("update_scenario_loaded", "user_prompt")
    texts = [update.get(field) for update in _select_updates_of_turn(run, turn) if update.get("message_type") == kind]
    return next((text[:_LONGEST_NOTES] for text in texts if isinstance(text, str)), "")


def _describe_update(update: JsonObject) -> Badge | None:
    match update.get("message_type"):
        case "update_responses_generated" if update.get("responses_count"):
            characters = update.get("characters_involved")
            names = ", ".join(humanize_name(name).title() for name in texts_or_empty(characters))
            return Badge(f"{names} answered", "info")
        case "update_simulation_advanced" if update.get("events_processed"):
            event_count = count_with_noun(_read_int(update, "events_processed"), "thing")
            return Badge(f"{event_count} happened as time went on", "info")
        case "update_turn_completed" if update.get("early_completion_requested"):
            return Badge("The agent said that it had nothing more to do", "mute")
        case "update_turn_completed":
            return Badge(f"Time went on by {_format_duration(str(update.get('time_advanced', '')))}", "mute")
        case "update_error_occurred":
            kind = humanize_name(str(update.get("error_type", "error")))
            return Badge(f"{kind}: {shorten(str(update.get('error_message', '')))}", "bad")
        case _:
            return None


def _read_int(update: JsonObject, name: str, unknown: int = 0) -> int:
    value = update.get(name)
    return int(value) if isinstance(value, int | float) else unknown


def _format_duration(duration: str) -> str:
    """An ISO 8601 duration as people write it: ``PT1H30M`` becomes ``1 h 30 min``."""
    text = duration.strip("PT").replace("T", "")
    for letter, word in (("D", "d"), ("H", "h"), ("M", "min"), ("S", "s")):
        text = text.replace(letter, f" {word} ")
    return text.strip() or "no time"


def _count_rows(
    world: WorldAfterTurn | None, world_before: WorldAfterTurn | None
) -> tuple[tuple[str, tuple[WorldRowCount, ...]], ...]:
    if world is None:
        return ()
    rows = []
    for modality, counts in world.counts.items():
        counts_before = world_before.counts.get(modality, {}) if world_before else counts
        if any(counts.values()) or any(counts_before.values()):
            turn_counts = tuple(_build_row_count(name, value, counts_before) for name, value in counts.items())
            rows.append((humanize_name(modality), turn_counts))
    return tuple(rows)


def _build_row_count(name: str, value: int, counts_before: Mapping[str, int]) -> WorldRowCount:
    change = value - counts_before.get(name, value)
    short_name = name.removesuffix("_count").removeprefix("total_")
    return WorldRowCount(humanize_name(short_name), value, f"{change:+d}" if change else "")
