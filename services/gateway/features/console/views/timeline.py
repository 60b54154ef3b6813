"""One task's events as the row of its states, and as steps grouped by state."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from pydantic import JsonValue

from services.gateway.features.console.views import formatting
from services.gateway.features.console.views.tasks import format_nanos_as_dollars
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.exact_json import loads, to_exact
from shared.domain.words import FsmState, TaskState

_STATE_TITLES = {
    FsmState.DECOMPOSE: "Understand",
    FsmState.ASSESS: "Read",
    FsmState.COMPUTE: "Compute",
    FsmState.POLICY_CHECK: "Policy",
    FsmState.APPROVAL_GATE: "Approval",
    FsmState.MUTATE: "Write",
    FsmState.SCHEDULE_NOTIFY: "Notify",
    FsmState.COMPLETE: "Answer",
    FsmState.ESCALATE: "Escalate",
    FsmState.FAILED: "Failed",
}
_PHASE_TITLES = {"PRIME": "Prepare", "EXECUTE": "Execute", "REFLECT": "Review"}
_STATES_ALWAYS_SHOWN = tuple(FsmState)[:8]
_STATUS_TITLES = {"sending": "Sending", "sent": "Sent", "verified": "Verified", "unverified": "Sent, not verified"}
EventsWithIds = Sequence[tuple[str, TaskEvent]]


class TimelineState(NamedTuple):
    """One state in the row. ``progress``: done, now, ahead, passed (skipped), or bad."""

    state_name: str
    title: str
    progress: str


class StepDescription(NamedTuple):
    """What the time line says of one event: a title, details and a tone."""

    icon: str
    tone: str
    title: str
    text: str = ""
    rows: tuple[tuple[str, str], ...] = ()


class TaskStep(NamedTuple):
    """One event of a task on the time line."""

    step_id: str
    at: datetime
    description: StepDescription


class TimelineStage(NamedTuple):
    """The steps in one state or phase, ``state_name``. ``summary``: their number and duration."""

    stage_id: str
    title: str
    state_name: str
    steps: tuple[TaskStep, ...]
    summary: str


def build_timeline_states(events: EventsWithIds, record: TaskRecord) -> tuple[TimelineState, ...]:
    """The row of states, in order: those that the task has visited, skipped, is in, or has ahead."""
    visited = _list_visited_states(events, record)
    last = visited[-1] if visited else None
    end_states = [state for state in (FsmState.ESCALATE, FsmState.FAILED) if state in visited]
    states = [*_STATES_ALWAYS_SHOWN, *end_states]
    last_place = max((states.index(state) for state in visited), default=-1)
    is_broken = record.state in (TaskState.FAILED, TaskState.REJECTED, TaskState.CANCELED)
    is_over = record.state.is_terminal
    row = []
    for index, state in enumerate(states):
        if state is last:
            progress = "bad" if is_broken else "done" if is_over else "now"
        elif state in visited:
            progress = "done"
        else:
            progress = "passed" if is_over or index < last_place else "ahead"
        row.append(TimelineState(state.value, _STATE_TITLES[state], progress))
    return tuple(row)


class _StageSteps(NamedTuple):
    """The steps of one state or phase, while they are collected."""

    stage_id: str
    state_name: str
    steps: list[TaskStep]
    at: datetime


def build_stages(events: EventsWithIds) -> tuple[TimelineStage, ...]:
    """Group the steps by the phase or state in which they were made."""
    groups: list[_StageSteps] = []
    for stream_id, event in events:
        if event.kind in ("phase", "state"):
            state_name = str(event.data.get("state") or event.data.get("phase") or "")
            if state_name == "PRIME" and len(groups) == 1:
                groups[0] = groups[0]._replace(state_name=state_name)  # what was received belongs to it
            elif state_name != "EXECUTE":
                groups.append(_StageSteps(stream_id, state_name, [], event.at))
            continue
        if event.kind != "turn_finished":
            if not groups:
                groups.append(_StageSteps(stream_id, "", [], event.at))
            groups[-1].steps.append(
                TaskStep(stream_id, event.at, _STEP_DESCRIBERS.get(event.kind, _describe_other_step)(event))
            )
    end_times = [*(group.at for group in groups[1:]), events[-1][1].at if events else None]
    return tuple(_build_stage(group, end) for group, end in zip(groups, end_times, strict=False) if end)


def _build_stage(group: _StageSteps, end: datetime) -> TimelineStage:
    titles = {**{state.value: title for state, title in _STATE_TITLES.items()}, **_PHASE_TITLES, "": "Received"}
    counts = [(sum(step.description.icon == icon for step in group.steps), noun) for icon, noun in _ICON_NOUNS]
    summary = [formatting.count_with_noun(count, noun) for count, noun in counts if count]
    if (seconds := (end - group.at).total_seconds()) >= 0.005:
        summary.append(f"{seconds:.2f} s" if seconds < 60 else formatting.duration_words(end - group.at))
    title = titles.get(group.state_name, formatting.humanize_name(group.state_name.lower()))
    return TimelineStage(group.stage_id, title, group.state_name, tuple(group.steps), " · ".join(summary))


_ICON_NOUNS = (("spark", "model call"), ("read", "tool call"), ("write", "write event"))


def _list_visited_states(events: EventsWithIds, record: TaskRecord) -> list[FsmState]:
    names = [event.data.get("state") for _, event in events if event.kind == "state"]
    stored_names = record.metadata.get("states")
    if not names and isinstance(stored_names, list):
        names = stored_names
    return [FsmState(name) for name in names if isinstance(name, str) and name in _STATE_NAMES]


_STATE_NAMES = frozenset(state.value for state in FsmState)


def _describe_model_step(event: TaskEvent) -> StepDescription:
    name, tier = event.data.get("model"), event.data.get("tier")
    input_tokens, cached, output_tokens, nanos = (event.data.get(k) for k in ("input", "cached", "output", "nanos"))
    parts = [f"{tier} tier"] if tier else []
    if isinstance(input_tokens, int):
        cache_remark = f" ({cached:,} from the cache)" if isinstance(cached, int) and cached else ""
        parts.append(f"{input_tokens:,} tokens read{cache_remark}")
    if isinstance(output_tokens, int):
        count = formatting.count_with_noun(output_tokens, "token") if input_tokens is None else f"{output_tokens:,}"
        parts.append(f"{count} written")
    if isinstance(nanos, int):
        parts.append(format_nanos_as_dollars(nanos))
    return StepDescription("spark", "mute", f"Asked {name or 'the model'}", ", ".join(filter(None, parts)))


def _describe_tool_step(event: TaskEvent) -> StepDescription:
    tool, refused = str(event.data.get("tool") or "a tool"), event.data.get("refused")
    if refused:
        return StepDescription("shield", "bad", f"Refused to call {tool}", str(refused))
    is_ok = event.data.get("ok") is not False
    title = f"Called {tool}" if is_ok else f"{tool} answered with an error"
    text = str(event.data.get("error") or "") or _format_arguments(event.data.get("asked"))
    return StepDescription("read", "info" if is_ok else "warn", title, text)


def _format_arguments(arguments: JsonValue) -> str:
    """A call's arguments in one line; the raw text if it is not valid JSON, since it was shortened."""
    text = arguments if isinstance(arguments, str) else ""
    try:
        parsed = loads(text) if text else {}
    except ValueError:
        return f"{text} ..."
    if not isinstance(parsed, dict):
        return text
    return ", ".join(f"{name} {formatting.format_json(value)}" for name, value in parsed.items())


def _describe_plan_step(event: TaskEvent) -> StepDescription:
    counts = Counter(formatting.texts_or_empty(event.data.get("calls")))
    names = ", ".join(name if number == 1 else f"{name} ({number} times)" for name, number in counts.items())
    return StepDescription("list", "info", f"Planned to write: {names}" if names else "Planned no write")


def _describe_verdict_step(event: TaskEvent) -> StepDescription:
    passed = event.data.get("passed") is True
    rule_names = ", ".join(dict.fromkeys(formatting.texts_or_empty(event.data.get("rules"))))
    reasons = " ".join(dict.fromkeys(formatting.texts_or_empty(event.data.get("why"))))
    text = f"{rule_names}: {reasons}" if rule_names and reasons else rule_names
    if event.data.get("escalates") is True and not event.data.get("blocked"):
        return StepDescription("shield", "warn", "The policy hands it to a person", text)
    if passed and rule_names:
        return StepDescription("shield", "warn", "The policy asks for more", text)
    title = "The policy lets it pass" if passed else "The policy does not let it pass"
    return StepDescription("shield", "good" if passed else "bad", title, text)


def _describe_write_step(event: TaskEvent) -> StepDescription:
    status, tool = str(event.data.get("status") or ""), str(event.data.get("tool") or "a call")
    tones = {"verified": "good", "sent": "info", "sending": "info", "unverified": "warn"}
    status_title = _STATUS_TITLES.get(status, formatting.humanize_name(status) or "Silent")
    text = str(event.data.get("note") or event.data.get("silent") or "")
    return StepDescription("write", tones.get(status, "bad"), f"{status_title}: {tool}", text)


def _describe_approval_step(event: TaskEvent) -> StepDescription:
    level, status = event.data.get("level"), str(event.data.get("status") or "")
    if status == "waiting" and "doubts" in event.data:
        return StepDescription("person", "warn", "Waits for an operator: a write is in doubt")
    if status == "waiting":
        return StepDescription("person", "warn", f"Waits for {level or 'an approver'}")
    return StepDescription("person", "info", f"Approval: {status}", rows=_build_data_rows(event.data, "status"))


def _describe_status_step(event: TaskEvent) -> StepDescription:
    state = str(event.data.get("state") or "")
    tones = {"completed": "good", "failed": "bad", "rejected": "bad", "input-required": "warn"}
    reason = event.data.get("reason")
    title = f"The task is {'waiting' if state == 'input-required' else state}"
    return StepDescription("flag", tones.get(state, "mute"), title, str(reason or "").partition("\n")[0])


def _describe_note_step(event: TaskEvent) -> StepDescription:
    data = event.data
    if problem := data.get("problem"):
        return StepDescription("dot", "warn", str(problem), rows=_build_data_rows(data, "problem"))
    if strategy := data.get("strategy"):
        title = f"Strategy: {formatting.strategy_title(str(strategy))}"
        return StepDescription("dot", "mute", title, str(data.get("chosen_because") or ""))
    if process := data.get("process_type"):
        return StepDescription("dot", "mute", f"Kind of process: {formatting.humanize_name(str(process))}")
    for key, title_format in _NOTE_TITLES.items():
        if key in data:
            title = title_format.format_map(
                defaultdict(str, {name: _join_items(value) for name, value in data.items()})
            )
            return StepDescription("dot", "mute", title, rows=_build_data_rows(data))
    return _describe_other_step(event)


def _join_items(value: JsonValue) -> str:
    return ", ".join(map(str, value)) or "nothing" if isinstance(value, list) else str(value)


_NOTE_TITLES = {
    "figures": "Worked out: {figures}",
    "primer": "Recalled like cases",
    "improved": "Reviewed the answer",
    "left_out": "Left out a call of {tool}",
    "renamed_fields": "Fields of {tool} have new names",
    "pages": "Read {pages} pages of {tool}",
    "refused": "Rules refuse a planned call; it is planned anew",
    "rests_until": "Rests until a better time",
    "tool_class": "Takes {tool} for a tool that may {tool_class}",
}


def _describe_other_step(event: TaskEvent) -> StepDescription:
    """A step for an event of any other kind: its fields and their values."""
    return StepDescription("dot", "mute", formatting.humanize_name(event.kind), rows=_build_data_rows(event.data))


def _build_data_rows(data: Mapping[str, JsonValue], *skipped_names: str) -> tuple[tuple[str, str], ...]:
    values = {name: value for name, value in data.items() if name not in skipped_names and value is not None}
    return tuple((name, formatting.format_json(to_exact(value))) for name, value in values.items())


_STEP_DESCRIBERS: Mapping[str, Callable[[TaskEvent], StepDescription]] = {
    "submitted": lambda _: StepDescription("person", "mute", "Message received"),
    "model": _describe_model_step,
    "tool": _describe_tool_step,
    "plan": _describe_plan_step,
    "verdict": _describe_verdict_step,
    "write": _describe_write_step,
    "approval": _describe_approval_step,
    "status": _describe_status_step,
    "note": _describe_note_step,
}
