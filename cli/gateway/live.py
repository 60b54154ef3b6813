"""Follow one turn of a task on the console: each event a line, the present state in a spinner."""

from datetime import datetime
from types import TracebackType
from typing import NamedTuple

from rich.console import Console
from rich.status import Status
from rich.text import Text

from cli.gateway.client import GatewayClient
from cli.gateway.messages import Event, TaskView, Utterance
from cli.gateway.story import line_of, plain_line_of


class LiveStory:
    """A context in which events appear as they happen. ``verbose``: all of them, with everything that they carry."""

    def __init__(self, console: Console, indent: str = "", *, verbose: bool = False) -> None:
        self._line_of = line_of if verbose else plain_line_of
        self._console = console
        self._indent = indent
        self._began: datetime | None = None
        self._status = Status("accepted", console=console)

    def __enter__(self) -> "LiveStory":
        self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._status.stop()

    def show(self, event: Event) -> None:
        self._began = self._began or event.at
        if event.kind in ("phase", "state"):
            self._status.update(str(event.data.get(event.kind, event.kind)))
        if line := self._line_of(event):
            seconds = (event.at - self._began).total_seconds()
            text = Text(f"{self._indent}{seconds:7.2f}s  {line.kind:<9} ", style="dim")
            self._console.print(text.append(line.text, style=line.style or "none"), soft_wrap=True)


class AcceptedTurn(NamedTuple):
    """A message that the gateway has taken in: its task, and the event after which its own story begins."""

    task_id: str
    after: str


async def follow(client: GatewayClient, utterance: Utterance, story: LiveStory | None) -> tuple[TaskView, list[Event]]:
    """Say something, show what happens, and return the task as it then stands with the events of this turn."""
    return await follow_accepted(client, await hand_over(client, utterance), story)


async def hand_over(client: GatewayClient, utterance: Utterance) -> AcceptedTurn:
    """Once this returns, the task goes on whether or not anybody follows it."""
    after = await _last_event(client, utterance.task_id) if utterance.task_id else ""
    return AcceptedTurn((await client.send(utterance)).id, after)


async def follow_accepted(
    client: GatewayClient, accepted: AcceptedTurn, story: LiveStory | None
) -> tuple[TaskView, list[Event]]:
    """Show what happens, and return the task as it then stands with the events of this turn."""
    events: list[Event] = []
    async for event in client.events(*accepted):
        events.append(event)
        if story:
            story.show(event)
    return await client.task(accepted.task_id), events


async def _last_event(client: GatewayClient, task_id: str) -> str:
    """Where the story of a waiting task stands, so that a further turn shows only what is new."""
    last = ""
    if (await client.task(task_id)).is_open:
        return last
    async for event in client.events(task_id):
        last = event.id
    return last
