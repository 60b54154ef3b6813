"""Shows one turn of a task on the console: a line for each event, the present state in a spinner."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple

from rich.console import Console
from rich.status import Status
from rich.text import Text

from cli.console import plain_text
from cli.gateway.client import GatewayClient
from cli.gateway.messages import Event, TaskView, Utterance, as_list
from shared.domain.exact_json import Json
from shared.domain.words import decider

_STYLES = {
    "submitted": "dim",
    "phase": "bold magenta",
    "state": "bold cyan",
    "model": "dim",
    "tool": "blue",
    "write": "bold yellow",
    "verdict": "bold",
    "approval": "bold yellow",
    "note": "italic dim",
    "status": "bold green",
}
_HIDDEN = frozenset({"turn_finished"})
_NAMING = ("phase", "state", "status", "tool", "name", "text", "note", "sentence")
_LONG = 160


def line_of(event: Event) -> str | None:
    """The line for an event; None for kinds that are not shown."""
    return None if event.kind in _HIDDEN else _describe_data(event.data)


def plain_line_of(event: Event) -> str | None:
    """A line in plain words for events that people care about (reads, plans, decisions, writes); else None."""
    say = _PLAIN.get(event.kind)
    return (say(event.data) if say else "") or None


def _say_state(data: Mapping[str, Json]) -> str:
    state = str(data.get("state", ""))
    return "  ".join(filter(None, (state, _STATES.get(state, ""))))


def _say_read(data: Mapping[str, Json]) -> str:
    if refused := data.get("refused"):
        return f"{data.get('tool')}: refused, {refused}"
    call = " ".join(filter(None, (str(data.get("tool")), _cut(data.get("asked") or ""))))
    return call if data.get("ok", True) else f"{call}: it failed"


def _say_plan(data: Mapping[str, Json]) -> str:
    return ", ".join(map(str, as_list(data.get("calls"))))


def _say_verdict(data: Mapping[str, Json]) -> str:
    if why := as_list(data.get("why")):
        return "; ".join(str(reason).rstrip(".") for reason in why)
    return "the rules allow it" if data.get("passed") else "the rules do not allow it"


def _say_approval(data: Mapping[str, Json]) -> str:
    if data.get("doubts"):
        return "waits for an operator"
    if data.get("status") == "waiting":
        return f"waits for {decider(str(data.get('level') or ''))}"
    return f"{data.get('status')} by {data['by']}" if data.get("by") else str(data.get("status", ""))


def _say_write(data: Mapping[str, Json]) -> str:
    if silent := data.get("silent"):
        return f"{data.get('tool')}: {silent}"
    if data.get("status") == "sent":  # what became of it comes next
        return ""
    note = f" ({data['note']})" if data.get("note") else ""
    return f"{data.get('tool')}: {data.get('status')}{note}"


_STATES = {
    "DECOMPOSE": "understands the task",
    "ASSESS": "reads what it needs",
    "COMPUTE": "calculates",
    "POLICY_CHECK": "asks the rules",
    "APPROVAL_GATE": "asks whether a person has to decide",
    "MUTATE": "writes, and reads each write back",
    "SCHEDULE_NOTIFY": "tells whom it concerns",
    "COMPLETE": "answers",
    "ESCALATE": "hands the task to a person",
    "FAILED": "gives up",
}
_PLAIN: Mapping[str, Callable[[Mapping[str, Json]], str]] = {
    "state": _say_state,
    "tool": _say_read,
    "plan": _say_plan,
    "verdict": _say_verdict,
    "approval": _say_approval,
    "write": _say_write,
    "note": lambda data: str(data.get("problem") or ""),
    "status": lambda data: str(data.get("status", "")),
}


def _describe_data(data: Mapping[str, Json]) -> str:
    """An event's data as text: the value that names it first, the rest as ``key=value``."""
    lead = next((key for key in _NAMING if isinstance(data.get(key), str)), None)
    first = [str(data[lead])] if lead else []
    rest = [f"{key}={_cut(value)}" for key, value in data.items() if key != lead and value not in (None, "", [], {})]
    return "  ".join([*first, *rest])


def _cut(value: Json) -> str:
    text = plain_text(value)
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"


class LiveStory:
    """Shows events as they happen, within its context. ``verbose``: all of them, with all their data."""

    def __init__(self, console: Console, indent: str = "", *, verbose: bool = False) -> None:
        self._line_of = line_of if verbose else plain_line_of
        self._console = console
        self._indent = indent
        self._began: datetime | None = None
        self._status = Status("accepted", console=console)

    def __enter__(self) -> "LiveStory":
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def tell_accepted(self, task_id: str) -> None:
        """Names the task at once: whoever wants to end it meanwhile needs its id."""
        self._console.print(Text(f"{self._indent}task {task_id}", style="dim"), soft_wrap=True)

    def show(self, event: Event) -> None:
        self._began = self._began or event.at
        if event.kind in ("phase", "state"):
            self._status.update(str(event.data.get(event.kind, event.kind)))
        if (line := self._line_of(event)) is not None:
            seconds = (event.at - self._began).total_seconds()
            text = Text(f"{self._indent}{seconds:7.2f}s  {event.kind:<9} ", style="dim")
            self._console.print(text.append(line, style=_STYLES.get(event.kind, "none")), soft_wrap=True)


class AcceptedTurn(NamedTuple):
    """A message that the gateway has accepted: its task, and the last event before it."""

    task_id: str
    after: str


async def follow(client: GatewayClient, utterance: Utterance, story: LiveStory | None) -> tuple[TaskView, list[Event]]:
    """Send a message, show what happens, and return the task afterwards with the events of this turn."""
    return await follow_accepted(client, await hand_over(client, utterance), story)


async def hand_over(client: GatewayClient, utterance: Utterance) -> AcceptedTurn:
    """Send a message and return when it is accepted. The task goes on whether or not anybody follows it."""
    after = await _last_event(client, utterance.task_id) if utterance.task_id else ""
    return AcceptedTurn((await client.send(utterance)).id, after)


async def follow_accepted(
    client: GatewayClient, accepted: AcceptedTurn, story: LiveStory | None
) -> tuple[TaskView, list[Event]]:
    """Show what happens, and return the task afterwards with the events of this turn."""
    events: list[Event] = []
    async for event in client.events(*accepted):
        events.append(event)
        if story:
            story.show(event)
    return await client.task(accepted.task_id), events


async def _last_event(client: GatewayClient, task_id: str) -> str:
    """The id of a waiting task's last event, so that a further turn shows only newer ones."""
    last = ""
    if (await client.task(task_id)).is_open:
        return last
    async for event in client.events(task_id):
        last = event.id
    return last
