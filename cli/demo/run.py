"""Carry out the demo's tasks one after the other, over the public endpoint, and watch the database."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path

from cli.console import Complaint, err
from cli.demo.books import Books
from cli.demo.checks import Observed
from cli.demo.tasks import DemoTask, Said
from cli.gateway.client import GatewayClient
from cli.gateway.live import LiveStory, follow
from cli.gateway.messages import TaskView, Utterance

TURN_SECONDS = 150.0  # a task's own limit is 120


async def observe(
    tasks: tuple[DemoTask, ...], client: GatewayClient, database: Path, quiet: bool
) -> AsyncIterator[Observed]:
    for task in tasks:
        if not quiet:
            err.print(f"\n[bold]{task.name}[/]: {task.shows}")
        yield await _carry_out(task, client, database, quiet)


async def _carry_out(task: DemoTask, client: GatewayClient, database: Path, quiet: bool) -> Observed:
    began, before = time.monotonic(), Books.read(database)
    views: list[TaskView] = []
    pictures: list[Books] = []
    for said in task.turns:
        views.append(await _within_bound(_say(said, views[-1].id if views else None, client, quiet), said))
        pictures.append(Books.read(database))
        if views[-1].state != said.then:
            break
    return Observed(
        task, tuple(views), before, tuple(pictures[: len(task.turns) - 1]), pictures[-1], time.monotonic() - began
    )


async def _within_bound(saying: Coroutine[None, None, TaskView], said: Said) -> TaskView:
    try:
        async with asyncio.timeout(TURN_SECONDS):
            return await saying
    except TimeoutError:
        raise Complaint(f"{said.text!r} was not answered within {TURN_SECONDS:.0f} seconds.") from None


async def _say(said: Said, task_id: str | None, client: GatewayClient, quiet: bool) -> TaskView:
    utterance = Utterance(said.text, said.by, task_id=task_id)
    if quiet:
        return (await follow(client, utterance, None))[0]
    err.print(f"  {said.by.name}: {said.text}", style="bold blue", markup=False)
    with LiveStory(err, indent="  ") as story:
        view, _ = await follow(client, utterance, story)
    err.print(f"  {view.state}: {view.answer}", markup=False, style="green" if view.went_well else "yellow")
    return view
