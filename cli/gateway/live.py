"""Shows one turn of a task on the console: a line for each event, and the current state in a spinner."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple

from rich.console import Console
from rich.status import Status
from rich.text import Text

from cli.console import format_plain_text
from cli.gateway.client import GatewayClient
from cli.gateway.messages import Event, OutgoingMessage, TaskView, get_list_or_empty
from shared.domain.exact_json import Json
from shared.domain.words import describe_decider

_EVENT_STYLES = {
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
_HIDDEN_EVENTS = frozenset({"turn_finished"})
_NAMING_FIELDS = ("phase", "state", "status", "tool", "name", "text", "note", "sentence")
_LONGEST_VALUE = 160


def format_detailed_line(event: Event) -> str | None:
    """A line with all data of an event: its state, tool or other name, then the rest as ``key=value``.

    None for kinds that are not shown.
    """
    if event.kind in _HIDDEN_EVENTS:
        return None
    lead = next((key for key in _NAMING_FIELDS if isinstance(event.data.get(key), str)), None)
    other_fields = {key: value for key, value in event.data.items() if key != lead and value not in (None, "", [], {})}
    pairs = [f"{key}={_shorten_value(value)}" for key, value in other_fields.items()]
    return "  ".join([str(event.data[lead]), *pairs] if lead else pairs)


def format_plain_line(event: Event) -> str | None:
    """A line in plain words for an event that people care about (reads, plans, decisions, writes); else None."""
    line_of = _PLAIN_LINES.get(event.kind)
    return (line_of(event.data) if line_of else "") or None


def _format_state_line(data: Mapping[str, Json]) -> str:
    state = str(data.get("state", ""))
    return "  ".join(filter(None, (state, _STATE_SENTENCES.get(state, ""))))


def _format_read_line(data: Mapping[str, Json]) -> str:
    if refused := data.get("refused"):
        return f"{data.get('tool')}: refused, {refused}"
    call = " ".join(filter(None, (str(data.get("tool")), _shorten_value(data.get("asked") or ""))))
    return call if data.get("ok", True) else f"{call}: it failed"


def _format_verdict_line(data: Mapping[str, Json]) -> str:
    if reasons := get_list_or_empty(data.get("why")):
        return "; ".join(str(reason).rstrip(".") for reason in reasons)
    return "the rules allow it" if data.get("passed") else "the rules do not allow it"


def _format_approval_line(data: Mapping[str, Json]) -> str:
    if data.get("doubts"):
        return "waits for an operator"
    if data.get("status") == "waiting":
        return f"waits for {describe_decider(str(data.get('level') or ''))}"
    return f"{data.get('status')} by {data['by']}" if data.get("by") else str(data.get("status", ""))


def _format_write_line(data: Mapping[str, Json]) -> str:
    if silent := data.get("silent"):
        return f"{data.get('tool')}: {silent}"
    if data.get("status") == "sent":  # what became of it comes next
        return ""
    note = f" ({data['note']})" if data.get("note") else ""
    return f"{data.get('tool')}: {data.get('status')}{note}"


_STATE_SENTENCES = {
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
_PLAIN_LINES: Mapping[str, Callable[[Mapping[str, Json]], str]] = {
    "state": _format_state_line,
    "tool": _format_read_line,
    "plan": lambda data: ", ".join(map(str, get_list_or_empty(data.get("calls")))),
    "verdict": _format_verdict_line,
    "approval": _format_approval_line,
    "write": _format_write_line,
    "note": lambda data: str(data.get("problem") or ""),
    "status": lambda data: str(data.get("status", "")),
}


def _shorten_value(value: Json) -> str:
    text = format_plain_text(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


class LiveEventPrinter:
    """Prints events as they arrive; use it as a context manager. ``verbose``: all events, with all their data."""

    def __init__(self, console: Console, indent: str = "", *, verbose: bool = False) -> None:
        self._line_of = format_detailed_line if verbose else format_plain_line
        self._console = console
        self._indent = indent
        self._began: datetime | None = None
        self._status = Status("accepted", console=console)

    def __enter__(self) -> "LiveEventPrinter":
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def print_task_id(self, task_id: str) -> None:
        """Print the task's id at once, since a user who wants to cancel the task needs it."""
        self._console.print(Text(f"{self._indent}task {task_id}", style="dim"), soft_wrap=True)

    def print_event(self, event: Event) -> None:
        self._began = self._began or event.at
        if event.kind in ("phase", "state"):
            self._status.update(str(event.data.get(event.kind, event.kind)))
        if (line := self._line_of(event)) is not None:
            seconds = (event.at - self._began).total_seconds()
            text = Text(f"{self._indent}{seconds:7.2f}s  {event.kind:<9} ", style="dim")
            self._console.print(text.append(line, style=_EVENT_STYLES.get(event.kind, "none")), soft_wrap=True)


class AcceptedTurn(NamedTuple):
    """A message that the gateway has accepted. ``after``: the id of the task's last event before it; empty if none."""

    task_id: str
    after: str


async def send_and_follow_turn(
    client: GatewayClient, message: OutgoingMessage, printer: LiveEventPrinter | None
) -> tuple[TaskView, list[Event]]:
    """Send a message, print the events of its turn, and return the task after the turn with those events."""
    return await follow_turn(client, await send_message(client, message), printer)


async def send_message(client: GatewayClient, message: OutgoingMessage) -> AcceptedTurn:
    """Send a message and return once it is accepted. The task runs whether or not anybody follows it."""
    after = await _find_last_event_of_waiting(client, message.task_id) if message.task_id else ""
    return AcceptedTurn((await client.send_message(message)).id, after)


async def follow_turn(
    client: GatewayClient, accepted: AcceptedTurn, printer: LiveEventPrinter | None
) -> tuple[TaskView, list[Event]]:
    """Print the events of an accepted turn, and return the task after the turn with those events."""
    events: list[Event] = []
    async for event in client.stream_events(*accepted):
        events.append(event)
        if printer:
            printer.print_event(event)
    return await client.get_task(accepted.task_id), events


async def _find_last_event_of_waiting(client: GatewayClient, task_id: str) -> str:
    """The id of a waiting task's last event, so that only the events of the next turn are shown; empty if it runs."""
    if (await client.get_task(task_id)).is_open:
        return ""
    event_id = ""
    async for event in client.stream_events(task_id):
        event_id = event.id
    return event_id
