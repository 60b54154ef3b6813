"""Carry out the demo's tasks one after the other, over the public endpoint, and watch the database."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine

from cli.console import Complaint, err
from cli.demo.books import Books
from cli.demo.checks import Observed
from cli.demo.company import Company
from cli.demo.tasks import DemoTask, DemoTurn
from cli.gateway.client import GatewayClient
from cli.gateway.live import LiveStory, follow
from cli.gateway.messages import Event, TaskView, Utterance

TURN_SECONDS = 150.0  # a task's own limit is 120

Turn = tuple[TaskView, list[Event]]


async def observe(
    tasks: tuple[DemoTask, ...], client: GatewayClient, company: Company, quiet: bool
) -> AsyncIterator[Observed]:
    for number, task in enumerate(tasks, 1):
        if not quiet:
            err.print(f"\n[bold]{number} of {len(tasks)}  {task.name}[/]: {task.shows}")
        async with company.misbehaving(task.faults):
            observed = await _carry_out(task, client, company, quiet)
        yield observed


async def _carry_out(task: DemoTask, client: GatewayClient, company: Company, quiet: bool) -> Observed:
    began, before = time.monotonic(), company.books()
    views: list[TaskView] = []
    pictures: list[Books] = []
    events: list[Event] = []
    for said in task.turns:
        saying = _say(said, views[-1].id if views else None, client, quiet)
        view, happened = await _limit_time(saying, said)
        views.append(view)
        events += happened
        pictures.append(company.books())
        if view.state != said.then:
            break
    waiting = tuple(pictures[: len(task.turns) - 1])
    return Observed(task, tuple(views), before, waiting, pictures[-1], time.monotonic() - began, tuple(events))


async def _limit_time(saying: Coroutine[None, None, Turn], said: DemoTurn) -> Turn:
    try:
        async with asyncio.timeout(TURN_SECONDS):
            return await saying
    except TimeoutError:
        raise Complaint(f"{said.text!r} was not answered within {TURN_SECONDS:.0f} seconds.") from None


async def _say(said: DemoTurn, task_id: str | None, client: GatewayClient, quiet: bool) -> Turn:
    utterance = Utterance(said.text, said.by, task_id=task_id)
    if quiet:
        return await follow(client, utterance, None)
    err.print(f"  {said.by.name}: {said.text}", style="bold blue", markup=False)
    with LiveStory(err, indent="  ") as story:
        view, events = await follow(client, utterance, story)
    err.print(f"  {view.state}: {view.answer}", markup=False, style="green" if view.went_well else "yellow")
    return view, events
