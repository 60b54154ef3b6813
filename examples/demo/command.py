"""`purple demo`: run business tasks end to end on a stack of its own, and check the database afterwards."""

import asyncio
import os
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

import httpx
import typer
from rich.table import Table
from rich.text import Text

from cli.console import CommandError, StartupProgress, err, out, print_json
from cli.gateway.client import GatewayClient, connect_gateway
from cli.gateway.live import LiveEventPrinter, send_and_follow_turn
from cli.gateway.messages import Event, OutgoingMessage, TaskView
from cli.launcher import run_stack, stop_on_signals
from cli.stack.plan import StackOptions, find_free_ports
from examples.demo.books import BooksSnapshot, DemoTask, DemoTurn
from examples.demo.checks import ObservedTask, database_json, find_problems
from examples.demo.script import TASKS
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.infra.tls import load_client_tls_context

TIMEOUT = httpx.Timeout(10.0, connect=5.0)
HEALTHY = "{}"


@dataclass(frozen=True)
class DemoCompany:
    """The example company of a stack. Raises ``CommandError`` if it cannot be told to misbehave."""

    url: str
    database: Path

    def books(self) -> BooksSnapshot:
        return BooksSnapshot.read(self.database)

    @asynccontextmanager
    async def misbehaving(self, faults: str) -> AsyncIterator[None]:
        """Gives the company faults (a JSON object) while the context lasts; does nothing for an empty text."""
        if not faults:
            yield
            return
        async with httpx.AsyncClient(trust_env=False, timeout=TIMEOUT, verify=load_client_tls_context()) as http:
            await self._set_faults(http, faults)
            try:
                yield
            finally:
                await self._set_faults(http, HEALTHY)

    async def _set_faults(self, http: httpx.AsyncClient, faults: str) -> None:
        try:
            answer = await http.post(f"{self.url}/faults", content=faults)
        except httpx.TransportError as error:
            raise CommandError(
                f"The example company at {self.url} does not answer ({type(error).__name__})."
            ) from error
        if answer.status_code == httpx.codes.NOT_FOUND:
            raise CommandError(
                f"The example company at {self.url} cannot be told to misbehave: ALLOW_FAULTS=true lets it."
            )
        if not answer.is_success:
            raise CommandError(f"The example company refused the faults {faults}: {answer.status_code} {answer.text}")


@dataclass(frozen=True)
class DemoResult:
    """One finished task, and a sentence for each expectation that does not hold."""

    observed: ObservedTask
    problems: tuple[str, ...]

    def as_json(self) -> JsonObject:
        final = self.observed.final
        return {
            "name": self.observed.task.name,
            "ok": not self.problems,
            "state": final.state,
            "process_type": final.metadata.get("process_type"),
            "states": [*self.observed.states],
            "strategy": final.metadata.get("strategy"),
            "tool_calls": final.metadata.get("tool_calls"),
            "writes": [*self.observed.reported_writes],
            "answer": final.answer,
            "database": database_json(self.observed),
            "problems": [*self.problems],
        }

    def table_cells(self) -> tuple[str | Text, ...]:
        """The cells of a table."""
        observed, final = self.observed, self.observed.final
        return (
            Text("no", "red") if self.problems else Text("ok", "green"),
            observed.task.name,
            f"{final.state}, escalated" if final.metadata.get("escalated") else final.state,
            " > ".join(observed.states),
            str(final.metadata.get("tool_calls", "?")),
            str(len(observed.after.writes_since(observed.before))),
        )


def _print_results(results: Sequence[DemoResult], notice: str, seconds: float, *, as_json: bool) -> None:
    held = sum(not result.problems for result in results)
    if as_json:
        tasks: list[Json] = [result.as_json() for result in results]
        told: JsonObject = {"ok": held == len(results), "tasks": tasks, "model_notice": notice or None}
        return print_json(dumps({**told, "milliseconds": round(seconds * 1000)}))
    title = f"Demo: {held} of {len(results)} tasks held, {seconds:.1f} s"
    table = Table("", "task", "ended", "states", "calls", "writes", title=title, caption=notice or None)
    for result in results:
        table.add_row(*result.table_cells())
    out.print(table)
    for line in (f"{result.observed.task.name}: {problem}" for result in results for problem in result.problems):
        err.print(line, style="red", soft_wrap=True)
    return None


# The demo checks the database of the company that it starts itself, with the policy that the project ships.
_STORES = ("REDIS_URL", "QUEUE_REDIS_URL")
_ITS_OWN = (*_STORES, "GREEN_AGENT_MCP_URL", "TENANT_FILE", "UNRULED_WRITES", "PURPLE_AGENT_CARD_URL")
_TIERS = ("HAIKU_MODEL", "SONNET_MODEL", "FALLBACK_MODEL")
_TOOL_SECONDS = "3"  # a lost reply is settled once a call's time has passed; nobody should wait long for that


class DemoToolProtocol(StrEnum):
    """The protocol over which the company's tools are served."""

    MCP = "mcp"
    REST = "rest"
    BOTH = "both"


def demo(
    protocol: Annotated[
        DemoToolProtocol,
        typer.Option(help="What the example company's tools are served over; the worker finds it out."),
    ] = DemoToolProtocol.MCP,
    model_url: Annotated[
        str, typer.Option(help="A model's address (Messages API) in place of ANTHROPIC_BASE_URL.", metavar="URL")
    ] = "",
    model: Annotated[
        str, typer.Option(help="The model to ask there, in place of HAIKU_MODEL, SONNET_MODEL and FALLBACK_MODEL.")
    ] = "",
    url: Annotated[
        str, typer.Option(help="The gateway of a stack that is up already, in place of one of its own.", metavar="URL")
    ] = "",
    company: Annotated[str, typer.Option(help="With --url: the example company there.", metavar="URL")] = "",
    database: Annotated[Path | None, typer.Option(help="With --url: the file of that company's database.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of the story.")] = False,
    broken: Annotated[str, typer.Option("--break", hidden=True, help="Expect too much of the task of that name.")] = "",
) -> None:
    """Run business tasks end to end and check the database afterwards. Exit code 0 only if all held.

    A whole stack is started in a temporary folder and stopped again; if a task failed, its data and logs are kept.
    With ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL set that model does the thinking, else a rule-based planner.
    A stack that is up already (--url) is left as it is; its company's books must be fresh, else exit code 2.

    Examples:

      purple demo

      purple demo --protocol rest

      purple demo --model-url http://127.0.0.1:9040 --model offline-planner-1 --json

      purple demo --url http://127.0.0.1:9010 --company http://127.0.0.1:9009 --database company.sqlite3
    """
    there = find_foreign_stack(url, company, database)
    tasks, environ = _tasks_with_one_failing(broken), _build_environment(protocol, model_url, model)
    began = time.monotonic()
    try:
        results, notice = asyncio.run(there.run_demo(tasks, as_json) if there else _demo(tasks, environ, quiet=as_json))
    except asyncio.CancelledError:  # a signal asked for the end, and everything is stopped by now
        raise CommandError("Stopped before the end.") from None
    _print_results(results, notice, time.monotonic() - began, as_json=as_json)
    raise typer.Exit(int(any(result.problems for result in results)))


async def _demo(tasks: tuple[DemoTask, ...], environ: Mapping[str, str], quiet: bool) -> tuple[list[DemoResult], str]:
    stop_on_signals()
    folder = Path(mkdtemp(prefix="purple-demo-"))
    options = StackOptions(folder, environ, port=find_free_ports(1)[0], allows_company_faults=True)
    explained = False  # whether nothing is left for which one would look into the logs
    try:
        with StartupProgress(err, quiet) as starting:
            async with run_stack(options, tell=starting) as stack:
                if not quiet:
                    model = stack.model_notice or "as configured"
                    err.print(f"A stack is up at {stack.get_url('gateway')}. Model: {model}.", style="dim")
                company = DemoCompany(stack.get_url("company"), options.company_database)
                results = await _carry_out_tasks(tasks, stack.get_url("gateway"), company, quiet)
        explained = not any(result.problems for result in results)
        return results, stack.model_notice
    except asyncio.CancelledError:
        explained = True
        raise
    finally:
        if explained:
            shutil.rmtree(folder)
        else:
            err.print(f"Data and logs are kept in {folder}.", style="dim")


def _build_environment(protocol: DemoToolProtocol, model_url: str, model: str) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _ITS_OWN}
    told = {"COMPANY_PROTOCOL": protocol.value} | dict.fromkeys(_TIERS, model) | {"ANTHROPIC_BASE_URL": model_url}
    return {"TOOL_TIMEOUT": _TOOL_SECONDS, **kept, **{name: value for name, value in told.items() if value}}


def _tasks_with_one_failing(name: str) -> tuple[DemoTask, ...]:
    """The tasks; if one is named, it is made to expect one write too many, so that it must fail."""
    if name and name not in {task.name for task in TASKS}:
        raise typer.BadParameter(f"no task is called {name!r}", param_hint="--break")
    return tuple(replace(task, writes=(*task.writes, "one too many")) if task.name == name else task for task in TASKS)


@dataclass(frozen=True)
class ForeignStack:
    """A stack that somebody else started, by its gateway's URL, with the example company its tasks act on."""

    url: str
    company: DemoCompany

    async def run_demo(self, tasks: tuple[DemoTask, ...], quiet: bool) -> tuple[list[DemoResult], str]:
        """The results of the tasks, and what the stack says about its model. Raises ``CommandError``."""
        self._check_fresh()
        async with self.company.misbehaving(HEALTHY):
            if not quiet:
                err.print(f"At {self.url}, with the company at {self.company.url}.", style="dim")
            results = await _carry_out_tasks(tasks, self.url, self.company, quiet)
        return results, str(results[0].observed.final.metadata.get("model_notice") or "")

    def _check_fresh(self) -> None:
        database = self.company.database
        try:
            written = len(self.company.books().writes)
        except sqlite3.Error as error:
            raise CommandError(f"{database} cannot be read as the company's database ({error}).") from error
        if written:
            sentence = f"{written} writes stand in {database} already: the demo's tasks need the company's books fresh."
            raise CommandError(sentence, code=2)


def find_foreign_stack(url: str, company: str, database: Path | None) -> ForeignStack | None:
    """The given stack that the tasks shall run on; None for a stack of the demo's own."""
    if not url and not company and database is None:
        return None
    if not (url and company and database):
        raise typer.BadParameter("goes with --company and --database, and they with it", param_hint="--url")
    return ForeignStack(url.rstrip("/"), DemoCompany(company.rstrip("/"), database))


TURN_SECONDS = 150.0  # a task's own limit is 120

Turn = tuple[TaskView, list[Event]]


async def _carry_out_tasks(
    tasks: tuple[DemoTask, ...], gateway: str, company: DemoCompany, quiet: bool
) -> list[DemoResult]:
    results = []
    async with connect_gateway(gateway) as client:
        for number, task in enumerate(tasks, 1):
            if not quiet:
                err.print(
                    Text(f"\n{number} of {len(tasks)}  {task.name}", "bold").append(f": {task.shows}", "not bold")
                )
            async with company.misbehaving(task.faults):
                observed = await _carry_out(task, client, company, quiet)
            results.append(DemoResult(observed, find_problems(observed)))
    return results


async def _carry_out(task: DemoTask, client: GatewayClient, company: DemoCompany, quiet: bool) -> ObservedTask:
    began, before = time.monotonic(), company.books()
    views: list[TaskView] = []
    pictures: list[BooksSnapshot] = []
    events: list[Event] = []
    for said in task.turns:
        try:
            async with asyncio.timeout(TURN_SECONDS):
                view, happened = await _send_turn(said, views[-1].id if views else None, client, quiet)
        except TimeoutError:
            raise CommandError(f"{said.text!r} was not answered within {TURN_SECONDS:.0f} seconds.") from None
        views.append(view)
        events += happened
        pictures.append(company.books())
        if view.state != said.then:
            break
    waiting = tuple(pictures[: len(task.turns) - 1])
    return ObservedTask(task, tuple(views), before, waiting, pictures[-1], time.monotonic() - began, tuple(events))


async def _send_turn(said: DemoTurn, task_id: str | None, client: GatewayClient, quiet: bool) -> Turn:
    utterance = OutgoingMessage(said.text, said.by, task_id=task_id)
    if quiet:
        return await send_and_follow_turn(client, utterance, None)
    err.print(f"  {said.by.name}: {said.text}", style="bold blue")
    with LiveEventPrinter(err, indent="  ") as story:
        view, events = await send_and_follow_turn(client, utterance, story)
    err.print(f"  {view.state}: {view.answer}", style="green" if view.is_completed_or_waiting else "yellow")
    return view, events
