"""`purple chaos`: load while processes are killed; counts what was lost and what happened twice."""

import asyncio
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

import typer

from cli.console import Complaint, err, give_up, out, say_json
from cli.launcher import stop_on_signals
from cli.starting import Starting
from shared.domain.exact_json import dumps
from shared.infra.archive_key import key_of
from tools.chaos.excerpts import excerpt
from tools.chaos.findings import Evidence, findings
from tools.chaos.progress import follow
from tools.chaos.report import Report, report_json, report_table
from tools.chaos.run import Run, carry_out, stack_of
from tools.chaos.schedule import Schedule, schedule
from tools.chaos.wiring import LEAVING, Wiring

# The run's stack is its own: nothing of the caller's installation may be struck.
_NOT_ITS_OWN = (
    "ANTHROPIC_",
    "ARCHIVE_",
    "REDIS_URL",
    "QUEUE_REDIS_URL",
    "GREEN_AGENT_MCP_URL",
    "TENANT_FILE",
    "PURPLE_AGENT_",
)
_EXECUTORS = 3


def chaos(
    minutes: Annotated[float, typer.Option(help="How long the load and the strikes last.", min=0.1, max=1440)] = 3.0,
    seed: Annotated[int, typer.Option(help="Tasks and strikes are a function of it.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of the table.")] = False,
    folder: Annotated[Path | None, typer.Option("--dir", help="Keep data and logs there (a new folder).")] = None,
    rolling: Annotated[
        bool, typer.Option("--rolling", help="Kill nothing: restart every service, one after another, as upgrades do.")
    ] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Print the seed's tasks and strikes, and run nothing.")] = False,
) -> None:
    """Kill anything at any moment: is anything lost, does anything happen twice? Exit code 0 only if not.

    With --rolling nothing is killed: then no request and no task may fail either.

    A stack of its own (two gateways, three executors, policy, learner, planner, two companies, Redis) does business
    tasks while its processes are killed and stopped, its lines cut and its Redis restarted. Afterwards every task,
    every write in the companies' databases and every outcome is accounted for.

    Examples:

      purple chaos

      purple chaos --minutes 3 --seed 2 --json

      purple chaos --seed 2 --plan

      purple chaos --rolling
    """
    planned = schedule(seed, minutes * 60, _EXECUTORS, rolling=rolling)
    if plan:
        say_json(dumps(planned.as_json()))
        return
    try:
        report = asyncio.run(_chaos(planned, folder, quiet=as_json))
    except Complaint as complaint:
        give_up(complaint)
    except asyncio.CancelledError:  # a signal asked for the end, and everything is stopped by now
        give_up(Complaint("Stopped before the end."))
    if as_json:
        say_json(dumps(report_json(report)))
    else:
        out.print(report_table(report))
    _explain(report)
    raise typer.Exit(0 if report.ok else 1)


async def _chaos(planned: Schedule, folder: Path | None, quiet: bool) -> Report:
    stop_on_signals()
    began = time.monotonic()
    place = _folder(folder)
    environ = {**_environ(), **(LEAVING if planned.rolling else {})}
    wiring = Wiring.of(place, environ, _EXECUTORS, key_of(place))
    kept = True  # whether something is left for which one would look into the logs
    try:
        with Starting(err, quiet) as starting:
            async with stack_of(planned, wiring, starting) as run:
                evidence = await _watched(run, quiet)
        report = Report(run, evidence, findings(evidence), time.monotonic() - began)
        kept = not report.ok
        return report
    except asyncio.CancelledError:
        kept = False
        raise
    finally:
        if folder is None and not kept:
            shutil.rmtree(place)
        else:
            err.print(f"Data and logs are kept in {place}.", style="dim")


async def _watched(run: Run, quiet: bool) -> Evidence:
    async with asyncio.TaskGroup() as group:
        showing = None if quiet else group.create_task(follow(run, err))
        evidence = await carry_out(run)
        if showing:
            showing.cancel()
    return evidence


def _folder(folder: Path | None) -> Path:
    if folder is None:
        return Path(mkdtemp(prefix="purple-chaos-"))
    if folder.exists() and any(folder.iterdir()):
        raise Complaint(f"{folder} is not empty: a run begins with fresh books. Choose another --dir.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def _environ() -> Mapping[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_NOT_ITS_OWN)}


def _explain(report: Report) -> None:
    """Each finding with its task, the seed, and what the logs say about it."""
    for finding in report.findings:
        told = f"{finding.harm.value}: task {finding.task_id} (seed {report.run.schedule.seed}): {finding.sentence}"
        err.print(told, markup=False, style="red", soft_wrap=True)
        sessions = [task.session_id for _, task in report.run.load.accepted() if task.task_id == finding.task_id]
        for line in excerpt(report.run.wiring.options.folder / "logs", (finding.task_id, *sessions)):
            err.print(f"  {line}", markup=False, style="dim", soft_wrap=True)
