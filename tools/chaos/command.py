"""`purple chaos`: kill anything at any moment: is anything lost, does anything happen twice?"""

import asyncio
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

import typer
from rich.console import Console
from rich.status import Status

from cli.console import CommandError, StartupProgress, err, out, print_json
from cli.launcher import stop_on_signals
from shared.domain.exact_json import dumps
from shared.infra.archive_open import get_or_create_key_file
from tools.chaos.chaos_tasks import ChaosTaskKind
from tools.chaos.check import CheckedSeed, check_json, check_seeds, check_table, exit_code_of, write_check
from tools.chaos.evidence import RunEvidence
from tools.chaos.findings import find_harms
from tools.chaos.judgement import ExitCode
from tools.chaos.report import ChaosReport, JudgedRun, report_json
from tools.chaos.run import ChaosRun, carry_out, course_of, running_stack, set_pace
from tools.chaos.schedule import MOST_A_SECOND, Schedule, schedule
from tools.chaos.strikes import BY_NAME, ListedFault
from tools.chaos.wiring import KEYS_ON, LEAVING, Wiring

# The run's stack is its own: nothing of the caller's installation may be struck.
_NOT_ITS_OWN = (
    "ANTHROPIC_",
    "ARCHIVE_",
    "REDIS_URL",
    "QUEUE_REDIS_URL",
    "GREEN_AGENT_MCP_URL",
    "TENANT_FILE",
    "PURPLE_",
    "AUTHENTICATION",
)
_EXECUTORS = 3
_REPORT = "chaos-report.json"
_EVERY = 1.0  # seconds between two looks at how a run goes, on a terminal
_LINE_EVERY = 10.0  # and elsewhere


def chaos(
    minutes: Annotated[float, typer.Option(help="How long the load and the strikes last.", min=0.05, max=1440)] = 5.5,
    seed: Annotated[
        list[int] | None, typer.Option(help="Tasks and strikes are a function of it; several with --check.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of the table.")] = False,
    folder: Annotated[Path | None, typer.Option("--dir", help="Keep data and logs there (a new folder).")] = None,
    rolling: Annotated[
        bool, typer.Option("--rolling", help="Kill nothing: restart every service, one after another, as upgrades do.")
    ] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Print the seed's tasks and strikes, and run nothing.")] = False,
    faults: Annotated[str, typer.Option(help="Only these, commas between; `none` for none. All by default.")] = "",
    tasks: Annotated[str, typer.Option(help="Only these kinds of tasks, such as refund,claim. All by default.")] = "",
    rate: Annotated[
        float | None, typer.Option(help="Tasks a second. Half of what the stack carries by default.", min=0.05, max=50)
    ] = None,
    patience: Annotated[float, typer.Option(help="Seconds that everything has at the end to settle.", min=1)] = 150.0,
    check: Annotated[bool, typer.Option("--check", help="Several seeds one after another, with every figure.")] = False,
    report: Annotated[Path | None, typer.Option(help="Write the JSON to this file too.")] = None,
) -> None:
    """Kill anything at any moment: is anything lost, does anything happen twice?

    A stack of its own (two gateways, three executors, policy, learner, planner, two companies, Redis) does business
    tasks while its processes are killed and stopped, its lines cut, its servers lie and its Redis is restarted.
    Afterwards every task, every write in the companies' databases, every call on their lines and every outcome is
    accounted for.

    Exit code 0 if nothing was harmed and the run was worth something: at least nine tenths of the rate sent and ended
    as asked, killed turns owned again in time, each listed fault struck twice. 1 if not. 2, "not judged", where nothing
    was harmed and the machine is so busy that an undisturbed task takes over two seconds.

    With --rolling nothing is killed: then no request and no task may fail either.

    Examples:

      purple chaos

      purple chaos --check --seed 1 --seed 2 --seed 3 --report chaos.json

      purple chaos --seed 2 --plan

      purple chaos --faults kill-executor,lying-tool --minutes 0.5

      purple chaos --rolling
    """
    chosen = _parse_faults(faults)
    kinds = _parse_kinds(tasks)
    numbers = tuple(seed or ((1, 2, 3) if check else (1,)))
    if len(numbers) > 1 and not check:
        raise CommandError("Several seeds are run with --check.")
    options = ChaosOptions(folder, rate, patience, quiet=as_json)
    most = max(rate or 0.0, MOST_A_SECOND)
    planned = [
        schedule(number, minutes * 60, _EXECUTORS, rolling=rolling, rate=most, faults=chosen, kinds=kinds)
        for number in numbers
    ]
    if plan:
        print_json(dumps([one.as_json() for one in planned] if check else planned[0].as_json()))
        return
    if check:
        words = ["--minutes", str(minutes), "--patience", str(patience), "--faults", faults, "--tasks", tasks]
        words += ["--rate", str(rate)] if rate else []
        raise typer.Exit(_check_all(numbers, words, options, report))
    judged = _run_one(planned[0], options)
    if report:
        report.write_text(dumps(report_json(judged)) + "\n", "utf-8")
    if as_json:
        print_json(dumps(report_json(judged)))
    raise typer.Exit(judged.code)


@dataclass(frozen=True)
class ChaosOptions:
    """What the caller chose beside the schedule."""

    folder: Path | None
    rate: float | None
    patience: float
    quiet: bool


def _check_all(seeds: Sequence[int], words: Sequence[str], options: ChaosOptions, report: Path | None) -> ExitCode:
    """Every seed, whatever becomes of another; the report is written anew after each of them."""
    began, done = time.monotonic(), list[CheckedSeed]()
    kept = report or Path(_REPORT)
    own = ["--json"] if options.quiet else []

    def tell(one: CheckedSeed) -> None:
        done.append(one)
        write_check(done, time.monotonic() - began, kept)
        if one.problem:
            err.print(f"seed {one.seed}: {one.problem}", style="red")

    folder = _prepare_folder(options.folder)
    for at_seed in seeds:
        (folder / f"seed-{at_seed}").mkdir(exist_ok=True)
    check_seeds(seeds, [*words, *own], folder, tell)
    if options.folder is None and exit_code_of(done) is ExitCode.HELD:
        shutil.rmtree(folder, ignore_errors=True)
    if options.quiet:
        print_json(dumps(check_json(done, time.monotonic() - began)))
    else:
        out.print(check_table(done))
        err.print(f"The whole report is in {kept}.", style="dim")
    return exit_code_of(done)


def _run_one(planned: Schedule, options: ChaosOptions) -> ChaosReport:
    """One run to its end, and what is to be said of it."""
    try:
        report = asyncio.run(_run_chaos(planned, options))
    except asyncio.CancelledError:  # a signal asked for the end, and everything is stopped by now
        raise CommandError("Stopped before the end.") from None
    if not options.quiet:
        seen = CheckedSeed(planned.seed, report.code, report_json(report))
        out.print(check_table((seen,), rolling=planned.rolling))
    _explain(report)
    return report


async def _run_chaos(planned: Schedule, options: ChaosOptions) -> ChaosReport:
    stop_on_signals()
    began = time.monotonic()
    place = _prepare_folder(options.folder)
    environ = {**_environ(), **(LEAVING if planned.rolling else {}), **(KEYS_ON if planned.tenants[1:] else {})}
    wiring = Wiring.arrange(place, environ, _EXECUTORS, get_or_create_key_file(place))
    kept = True  # whether something is left for which one would look into the logs
    try:
        with StartupProgress(err, options.quiet) as starting:
            async with running_stack(planned, wiring, starting, options.patience) as ready:
                run = await set_pace(ready, options.rate)
                evidence = await _watch_run(run, options.quiet)
                judged = JudgedRun(evidence, find_harms(evidence), course_of(run, evidence))
        report = ChaosReport(run, judged, time.monotonic() - began)
        kept = not report.ok
        return report
    except asyncio.CancelledError:
        kept = False
        raise
    finally:
        if options.folder is None and not kept:
            shutil.rmtree(place)
        else:
            err.print(f"Data and logs are kept in {place}.", style="dim")


async def _watch_run(run: ChaosRun, quiet: bool) -> RunEvidence:
    async with asyncio.TaskGroup() as group:
        showing = None if quiet else group.create_task(_follow(run, err))
        evidence = await carry_out(run)
        if showing:
            showing.cancel()
    return evidence


async def _follow(run: ChaosRun, console: Console) -> None:
    """Tell how the run stands, until cancelled."""
    if not console.is_terminal:
        while True:
            await asyncio.sleep(_LINE_EVERY)
            console.print(_line_of(run), style="dim")
    with Status(_line_of(run), console=console) as status:
        while True:
            await asyncio.sleep(_EVERY)
            status.update(_line_of(run))


def _line_of(run: ChaosRun) -> str:
    """One line: time, tasks, kills."""
    elapsed, seconds = time.monotonic() - run.began, run.schedule.seconds
    accepted = sum(1 for _ in run.load.accepted_tasks())
    kills = sum(run.crew.killed.values())
    phase = "struck" if elapsed < seconds else "settling"
    if run.schedule.rolling:
        phase = f"{len(run.roller.restarts)} restarts"
    return (
        f"{elapsed:5.0f} s of {seconds:.0f}, {phase}: {accepted} tasks accepted, {run.count_ended()} ended,"
        f" {run.count_unsettled()} open, {kills} kills, {run.striker.carried_out.total()} strikes"
    )


def _parse_faults(names: str) -> tuple[ListedFault, ...] | None:
    """The faults of these names; None for those of any run. ``none`` is a run in which nothing is struck."""
    if not names:
        return None
    wanted = [name.strip() for name in names.split(",") if name.strip() != "none"]
    if unknown := [name for name in wanted if name not in BY_NAME]:
        raise CommandError(f"There is no fault {unknown[0]!r}; there are: {', '.join(BY_NAME)}.")
    return tuple(BY_NAME[name] for name in wanted)


def _parse_kinds(names: str) -> tuple[ChaosTaskKind, ...]:
    known = {kind.name.lower(): kind for kind in ChaosTaskKind}
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if unknown := [name for name in wanted if name not in known]:
        raise CommandError(f"There is no kind of task {unknown[0]!r}; there are: {', '.join(known)}.")
    return tuple(known[name] for name in wanted) or tuple(ChaosTaskKind)


def _prepare_folder(folder: Path | None) -> Path:
    if folder is None:
        return Path(mkdtemp(prefix="purple-chaos-"))
    if folder.exists() and any(folder.iterdir()):
        raise CommandError(f"{folder} is not empty: a run begins with fresh books. Choose another --dir.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def _environ() -> Mapping[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_NOT_ITS_OWN)}


def _explain(report: ChaosReport) -> None:
    """Each finding with its task, the seed, and what the logs say about it; then each rule that was not met."""
    for finding in report.findings:
        told = f"{finding.harm.value}: task {finding.task_id} (seed {report.run.schedule.seed}): {finding.sentence}"
        err.print(told, style="red", soft_wrap=True)
        sessions = [task.session_id for _, task in report.run.load.accepted_tasks() if task.task_id == finding.task_id]
        for line in find_log_lines(report.run.wiring.options.folder / "logs", (finding.task_id, *sessions)):
            err.print(f"  {line}", style="dim", soft_wrap=True)
    for shortfall in report.shortfalls:
        told = f"{shortfall.rule} (seed {report.run.schedule.seed}): {shortfall.sentence}"
        err.print(told, style="red", soft_wrap=True)


_MOST = 15
_LONGEST = 300


def find_log_lines(logs: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    """At most some lines of each log that hold one of the names, oldest first within a log."""
    return tuple(line for log in sorted(logs.glob("*.log")) for line in _lines(log, names))


def _lines(log: Path, names: tuple[str, ...]) -> Iterator[str]:
    with log.open(encoding="utf-8", errors="replace") as lines:
        found = [line.rstrip()[:_LONGEST] for line in lines if any(name in line for name in names)]
    return (f"{log.name}: {line}" for line in found[-_MOST:])
