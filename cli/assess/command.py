"""`purple assess`: measure an agent in a simulated world; `purple assess compare` compares two measurements."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import as_file, files
from itertools import chain, count
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console

from cli.assess import report
from cli.assess.assessor import AGENT_KEY_VARIABLE, RunParameters, connect_assessor, run_assessment
from cli.console import CommandError, err, out, print_json
from cli.gateway.client import connect_gateway
from cli.launcher import stop_on_signals
from shared.contracts.assessment import messages
from shared.contracts.assessment.results import Assessment, Run, parse_agent_key as checked_key
from shared.domain.exact_json import loads_object


def save_assessment(
    folder: Path, scenario: str, agent: str, began: datetime, runs: tuple[Run, ...]
) -> tuple[Assessment, Path]:
    """Write an assessment to a new file in ``folder``; returns it with its path. Raises ``CommandError``."""
    word = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in scenario)[:80]
    stem = f"{word}-{began:%Y%m%d-%H%M%S}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in chain([stem], (f"{stem}-{number}" for number in count(2))):
            assessment = Assessment(name=name, scenario=scenario, agent=agent, began=began, runs=runs)
            path = folder / f"{name}.json"
            try:
                with path.open("x", encoding="utf-8") as file:
                    file.write(assessment.model_dump_json(indent=1) + "\n")
            except FileExistsError:
                continue
            return assessment, path
    except OSError as error:
        raise CommandError(f"The results cannot be kept in {folder}: {error.strerror}.") from error
    raise AssertionError("names have no end")


def load_assessment(folder: Path, name: str) -> Assessment:
    """Read an assessment by its name in ``folder``, or by the path of its file. Raises ``CommandError``."""
    path = next((path for path in (folder / f"{name}.json", Path(name)) if path.is_file()), None)
    if path is None:
        raise CommandError(f"There is no assessment {name} in {folder}, nor a file of that name.")
    try:
        return Assessment.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        raise CommandError(f"{path} is no assessment that can be read ({type(error).__name__}).") from error


class AssessProgress:
    """Prints each update of a run, and collects in ``updates`` all except actions, which the results list.

    ``prefix``: text before each line, such as the number of the run.
    """

    def __init__(self, console: Console, prefix: str = "", is_quiet: bool = False) -> None:
        self.updates: list[messages.Update] = []
        self._console = console
        self._prefix = prefix
        self._is_quiet = is_quiet

    def __call__(self, update: messages.Update) -> None:
        if not isinstance(update, messages.ActionObserved):
            self.updates.append(update)
        sentence = describe_update(update)
        if sentence and not self._is_quiet:
            style = "red" if isinstance(update, messages.ErrorOccurred) else "dim"
            self._console.print(
                report.strip_control_characters(f"{self._prefix}{sentence}"), style=style, soft_wrap=True
            )


def describe_update(update: messages.Update) -> str:
    """A sentence about an update; empty for kinds that are not shown."""
    match update:
        case messages.AssessmentQueued():
            return f"waits for its turn: {update.position - 1} before it, {update.running} running"
        case messages.ScenarioLoaded():
            prompt = f"\n  {update.user_prompt}" if update.user_prompt else ""
            return f"{update.scenario_name}: {update.criteria_count} criteria, {update.character_count} people{prompt}"
        case messages.TurnStarted():
            return f"turn {update.turn_number}, {update.current_time:%a %d %b %H:%M}"
        case messages.ActionObserved():
            return f"  {update.action}" + ("" if update.success else f" failed: {update.error_message}")
        case messages.TurnCompleted():
            ending = (
                ", and nothing more to do" if update.early_completion_requested else f", then {update.time_advanced}"
            )
            return f"  {update.actions_taken} actions{ending}"
        case messages.EvaluationStarted():
            return f"judging {update.criteria_count} criteria"
        case messages.ErrorOccurred():
            return f"  {update.error_type.replace('_', ' ')}: {update.error_message}"
        case messages.AssessmentCompleted():
            return f"ended: {update.reason.replace('_', ' ')}"
        case _:
            return ""


RESULTS_FOLDER = Path(".purple") / "assessments"
assess = typer.Typer()


@assess.callback(invoke_without_command=True)
def measure_agent(
    context: typer.Context,
    scenario: Annotated[str, typer.Option(help="Which scenario; the assessor's card lists them.")] = "",
    agent: Annotated[str, typer.Option(help="The agent's address; it speaks A2A.", metavar="URL")] = "",
    agent_key: Annotated[
        str,
        typer.Option(
            help="The key that the agent wants; on a command line others see it.",
            envvar=AGENT_KEY_VARIABLE,
            metavar="KEY",
        ),
    ] = "",
    runs: Annotated[int, typer.Option(help="How often, one after the other.", min=1, max=100)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of progress and table.")] = False,
    assessor: Annotated[
        str, typer.Option(help="A running assessor, instead of one that is started for this.", metavar="URL")
    ] = "",
    scenarios_dir: Annotated[
        Path | None,
        typer.Option(
            help="Scenarios of your own, for the assessor that is started.",
            metavar="FOLDER",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    max_turns: Annotated[int | None, typer.Option(help="At most that many turns.", min=1)] = None,
    turn_timeout: Annotated[float | None, typer.Option(help="Seconds for each turn.", min=0.1)] = None,
    seed: Annotated[int | None, typer.Option(help="What chance is settled by.")] = None,
    folder: Annotated[Path, typer.Option("--dir", help="Where results are kept.")] = RESULTS_FOLDER,
    keep_at: Annotated[
        str, typer.Option(help="A gateway that keeps the results too, for its console.", metavar="URL")
    ] = "",
) -> None:
    """Measure an agent in a simulated world. Exit code 0 if every run was completed, whatever its points.

    Keys are sent if they are set: ASSESSOR_API_KEY to a running assessor, PURPLE_API_KEY to the gateway of --keep-at,
    and AGENT_API_KEY to the agent, by the assessor, and only to the origin of the agent's address.

    Examples:

      purple assess --scenario inbox_triage --agent http://127.0.0.1:9010

      purple assess --scenario inbox_triage --agent http://127.0.0.1:9010 --runs 3 --json

      purple assess compare inbox_triage-20260302-090000 inbox_triage-20260303-090000
    """
    if context.invoked_subcommand is not None:
        return
    if not scenario or not agent:
        raise typer.BadParameter("--scenario and --agent are both needed")
    parameters = RunParameters(scenario, agent, max_turns, turn_timeout, seed)
    try:
        sent_key = checked_key(agent_key) if agent_key else ""
    except ValueError as error:
        raise typer.BadParameter(f"{error} ({AGENT_KEY_VARIABLE}, or --agent-key)") from None
    began = datetime.now(UTC)
    try:
        repeated_runs = _run_repeatedly(parameters, runs, assessor, scenarios_dir, sent_key, is_quiet=as_json)
        finished_runs, failure = asyncio.run(repeated_runs)
        assessment, path = save_assessment(folder, scenario, agent, began, finished_runs)
    except asyncio.CancelledError:  # a signal asked for the end, and everything is stopped by now
        raise CommandError("Stopped before the end.") from None
    page_url = ""
    try:
        page_url = asyncio.run(upload_assessment(keep_at, assessment)) if keep_at else ""
    except CommandError as refused:  # the results are shown in any case
        failure = failure or refused
    _print_assessment(assessment, path, page_url, as_json)
    if failure:
        raise failure
    raise typer.Exit(int(any(run.results.status != "completed" for run in assessment.runs)))


@assess.command("new")
def create_new_scenario(
    name: Annotated[str, typer.Argument(help="The scenario's id: small letters, digits and _.")],
    scenarios_dir: Annotated[
        Path, typer.Option(help="The folder of your scenarios.", metavar="FOLDER", file_okay=False)
    ] = Path("scenarios"),
) -> None:
    """Create a working scenario to edit: a morning of mail, its criteria, one correct and three wrong solutions.

    Example: purple assess new my_day --scenarios-dir scenarios
    """
    scenario_folder = create_scenario(scenarios_dir, name)
    out.print(f"Written to {scenario_folder}.", soft_wrap=True)
    out.print(f"Next: purple assess check {name} --scenarios-dir {scenarios_dir}", soft_wrap=True)


@assess.command("check")
def check_scenarios(
    names: Annotated[list[str] | None, typer.Argument(help="Which scenarios; all of the folder without any.")] = None,
    scenarios_dir: Annotated[
        Path | None,
        typer.Option(help="Scenarios of your own.", metavar="FOLDER", exists=True, file_okay=False),
    ] = None,
) -> None:
    """Check scenarios: parse them, run each in a simulated world to the end of its day, and play its example solutions.

    Errors are printed with file and field. Each file in a scenario's folder `played` is a list of actions to carry out:
    `gold` has to earn 95 % of the points, every other one less than half. Exit code 1 if a scenario cannot be used. The
    assessor's environment variables apply, such as SIMULATOR_URL.

    Example: purple assess check my_day --scenarios-dir scenarios
    """
    folder_arguments = ("--scenarios-dir", str(scenarios_dir)) if scenarios_dir else ()
    raise typer.Exit(_run_assessor_command("check", (*(names or ()), *folder_arguments)))


@assess.command("days")
def generate_days(
    seed: Annotated[str, typer.Option(help="The same seed makes the same days.")],
    scenarios_dir: Annotated[
        Path, typer.Option(help="Where they are written.", metavar="FOLDER", file_okay=False)
    ] = Path("scenarios"),
    count: Annotated[int, typer.Option(help="How many.", min=1, max=1000)] = 3,
) -> None:
    """Generate scenarios from a seed, easy, middle and hard ones in turn; each is one day with people, mails and tasks.

    Each comes with one correct and three wrong solutions: `purple assess check --scenarios-dir FOLDER` plays them.

    Example: purple assess days --seed 4f2a --count 6 --scenarios-dir scenarios
    """
    arguments = ("--seed", seed, "--count", str(count), "--scenarios-dir", str(scenarios_dir))
    raise typer.Exit(_run_assessor_command("days", arguments))


@assess.command("keep")
def keep_at_gateway(
    name: Annotated[str, typer.Argument(help="An assessment's name, or the path of its file.")],
    keep_at: Annotated[str, typer.Option("--at", help="The gateway.", metavar="URL")] = "",
    folder: Annotated[Path, typer.Option("--dir", help="Where results are kept.")] = RESULTS_FOLDER,
) -> None:
    """Upload saved results to a gateway, so that its console shows them and replays each run.

    Example: purple assess keep inbox_triage-20260302-090000 --at http://127.0.0.1:9010
    """
    page_url = asyncio.run(upload_assessment(keep_at, load_assessment(folder, name)))
    out.print(page_url, soft_wrap=True)


@assess.command("compare")
def compare_assessments(
    before: Annotated[str, typer.Argument(help="An assessment's name, or the path of its file.")],
    after: Annotated[str, typer.Argument(help="The other one.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of the table.")] = False,
    folder: Annotated[Path, typer.Option("--dir", help="Where results are kept.")] = RESULTS_FOLDER,
) -> None:
    """Compare two assessments of the same scenario: points by dimension and criterion, and their changes.

    Examples:

      purple assess compare inbox_triage-20260302-090000 inbox_triage-20260303-090000

      purple assess compare before.json after.json --json
    """
    figures = report.compare_points(load_assessment(folder, before), load_assessment(folder, after))
    if as_json:
        print_json(json.dumps(figures))
    else:
        out.print(report.build_comparison_table(figures, (Path(before).stem, Path(after).stem)))


@assess.command("schema")
def show_schema() -> None:
    """Print the JSON Schema of the files in which results are saved.

    Example: purple assess schema
    """
    print_json(json.dumps(Assessment.model_json_schema(mode="serialization")))


async def _run_repeatedly(
    parameters: RunParameters, count: int, url: str, scenarios: Path | None, agent_key: str, *, is_quiet: bool
) -> tuple[tuple[Run, ...], CommandError | None]:
    """Run an assessment ``count`` times; returns the completed runs, and the error that stopped them, if any.

    Raises the ``CommandError`` if no run was completed.
    """
    stop_on_signals()
    finished_runs: list[Run] = []
    async with connect_assessor(url, scenarios, agent_key) as (assessor, http):
        for number in range(1, count + 1):
            progress = AssessProgress(err, f"run {number} of {count}: " if count > 1 else "", is_quiet)
            try:
                results = await run_assessment(assessor, http, parameters, progress)
            except CommandError as complaint:
                if not finished_runs:
                    raise
                return tuple(finished_runs), complaint
            finished_runs.append(Run(results=results, updates=tuple(update.to_json() for update in progress.updates)))
    return tuple(finished_runs), None


def _print_assessment(assessment: Assessment, path: Path, page_url: str, as_json: bool) -> None:
    if as_json:
        figures = {name: getattr(assessment, name) for name in ("pass_hat", "pass_interval", "points_interval")}
        places = {"kept_in": str(path), **({"page": page_url} if page_url else {})}
        print_json(json.dumps({**assessment.model_dump(mode="json"), **figures, **places}))
        return
    out.print(report.build_assessment_table(assessment))
    for sentence in report.write_summary_sentences(assessment):
        out.print(sentence, soft_wrap=True)
    out.print(f"Kept as {assessment.name} in {path.parent}.", soft_wrap=True)
    if page_url:
        out.print(f"Its runs, turn by turn: {page_url}", soft_wrap=True)


async def upload_assessment(url: str, assessment: Assessment) -> str:
    """Store an assessment at a gateway, with the key in PURPLE_API_KEY; returns the URL of its page.

    Raises ``CommandError``.
    """
    async with connect_gateway(url) as gateway:
        answer = await gateway.request_json(
            "POST", "/assessments", {"assessment": loads_object(assessment.model_dump_json())}
        )
    page = answer.get("page")
    if not isinstance(page, str):
        raise CommandError(f"The gateway at {gateway.url} did not say where the assessment is to be seen.")
    return f"{gateway.url}{page}"


_SCENARIO_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,99}")
_STARTER_FOLDER = "starter"
_TEMPLATE_SUFFIX = ".txt"  # so that a template of Python is not taken for a module of ours


def create_scenario(folder: Path, name: str) -> Path:
    """Copy the starter scenario into ``folder`` under that name; returns its path. Raises ``CommandError``."""
    if not _SCENARIO_NAME_PATTERN.fullmatch(name):
        raise CommandError(f"{name!r} is no scenario's name: small letters, digits and _, a letter first.")
    scenario_folder = folder / name
    if scenario_folder.exists():
        raise CommandError(f"There is {scenario_folder} already.")
    try:
        with as_file(files("cli.assess") / _STARTER_FOLDER) as starter:
            for source in sorted(path for path in starter.rglob("*") if path.is_file()):
                target = scenario_folder / str(source.relative_to(starter)).removesuffix(_TEMPLATE_SUFFIX)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(source.read_text(encoding="utf-8").replace('"NAME"', f'"{name}"'), encoding="utf-8")
    except OSError as error:
        raise CommandError(f"The scenario cannot be written to {scenario_folder}: {error.strerror}.") from error
    return scenario_folder


def _run_assessor_command(command: str, arguments: Sequence[str]) -> int:
    """Run a command of the assessor in its own process, which prints its output; returns its exit code."""
    return subprocess.run((sys.executable, "-m", "services.assessor", command, *arguments), check=False).returncode  # noqa: S603  our own interpreter
