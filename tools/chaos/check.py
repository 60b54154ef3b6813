"""`purple chaos --check`: several seeds one after another, each in a process of its own, with every figure at the end.

A run that hangs, crashes or is killed takes nothing with it: it counts as broken, and the next seed is run.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType

from rich.table import Table
from rich.text import Text

from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.infra.process import make_parent_death_hook
from tools.chaos.evidence import harms_of
from tools.chaos.judgement import ExitCode, worst_of
from tools.chaos.strikes import LEAST_STRIKES

ALL_SECONDS = 29 * 60.0  # for all seeds together
_MOST_OF_ONE = 15 * 60.0
_LEAVING_SECONDS = 40.0  # after a SIGTERM, for its processes to end


@dataclass(frozen=True)
class CheckedSeed:
    """What came of one seed. ``report``: as the run wrote it; empty where there is none, and ``problem`` says why."""

    seed: int
    code: ExitCode
    report: JsonObject
    problem: str = ""

    def as_json(self) -> JsonObject:
        told: JsonObject = {"seed": self.seed, "exit_code": int(self.code)}
        return {**told, **self.report, **({"problem": self.problem} if self.problem else {})}


def check_seeds(
    seeds: Sequence[int], words: Sequence[str], folder: Path, tell: Callable[[CheckedSeed], None]
) -> tuple[CheckedSeed, ...]:
    """Each seed's run to its end, or to the end of its time. ``words``: further arguments of each run."""
    began, done = time.monotonic(), list[CheckedSeed]()
    for number, seed in enumerate(seeds):
        left = ALL_SECONDS - (time.monotonic() - began)
        done.append(_check_seed(seed, words, folder, min(_MOST_OF_ONE, left / (len(seeds) - number))))
        tell(done[-1])
    return tuple(done)


def _check_seed(seed: int, words: Sequence[str], folder: Path, seconds: float) -> CheckedSeed:
    kept = folder / f"seed-{seed}.json"
    command = [sys.executable, "-m", "cli.main", "chaos", "--seed", str(seed), "--report", str(kept), *words]
    command += ["--dir", str(folder / f"seed-{seed}")]
    said = subprocess.DEVNULL if "--json" in words else None  # its report is in the file
    process = subprocess.Popen(command, stdout=said, preexec_fn=make_parent_death_hook())  # noqa: S603, PLW1509  # our words
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        return CheckedSeed(seed, ExitCode.BROKEN, {}, f"it was not over within {seconds:.0f} s")
    except BaseException:
        _end(process)
        raise
    try:
        return CheckedSeed(seed, ExitCode(code), loads_object(kept.read_text("utf-8")))
    except (OSError, ValueError) as error:
        return CheckedSeed(seed, ExitCode.BROKEN, {}, f"it ended with exit code {code} and no report: {error}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_LEAVING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def exit_code_of(seeds: Sequence[CheckedSeed]) -> ExitCode:
    return worst_of([one.code for one in seeds])


def check_json(seeds: Sequence[CheckedSeed], seconds: float) -> JsonObject:
    """All seeds as one object."""
    code = exit_code_of(seeds)
    return {
        "ok": code is ExitCode.HELD,
        "judged": all(one.code is not ExitCode.NOT_JUDGED for one in seeds),
        "exit_code": int(code),
        "seconds": Decimal(f"{seconds:.1f}"),
        "seeds": [one.as_json() for one in seeds],
    }


def write_check(seeds: Sequence[CheckedSeed], seconds: float, file: Path) -> None:
    file.write_text(dumps(check_json(seeds, seconds)) + "\n", "utf-8")


_TITLES: Mapping[ExitCode, str] = MappingProxyType(
    {ExitCode.HELD: "held", ExitCode.BROKEN: "BROKEN", ExitCode.NOT_JUDGED: "not judged"}
)
_FIGURES: Mapping[str, str] = MappingProxyType(
    {
        "undisturbed_task_seconds": "a task alone, undisturbed, s",
        "carried_undisturbed": "carried undisturbed, tasks/s",
        "stated_rate": "stated rate, tasks/s",
        "planned": "tasks of the stated rate",
        "sent": "  sent",
        "ended_as_asked": "  ended as asked",
        "states": "all tasks, by state",
        "kills_by_victim": "kills (SIGKILL)",
        "strikes": "strikes",
        "strikes_that_met_nobody": "  that met nobody",
        "faults_not_tried": "  not tried here",
        "recovery_bound": "recovery within, s",
        "doubts_resolved": "doubts that an operator settled",
        "doublings_reported": "doublings by a server that were reported",
        "writes_not_told": "writes that took hold and were not told",
        "lost_with_a_tail": "accepts that lay in a cut tail, and were sent again",
        "repeated_with_a_tail": "notices whose intent lay in a cut tail, and that were made twice",
        "ended_by_themselves": "ends of processes that nobody struck",
        "seconds": "seconds altogether",
    }
)


def check_table(seeds: Sequence[CheckedSeed], *, rolling: bool = False) -> Table:
    """A row for each figure, a column for each seed."""
    table = Table("", *(f"seed {one.seed}" for one in seeds), title=f"chaos: {_TITLES[exit_code_of(seeds)]}")
    table.add_row(Text("all in all", "bold"), *(_TITLES[one.code] for one in seeds))
    for name, value in _rows(seeds, rolling=rolling):
        table.add_row(name, *value)
    return table


def _rows(seeds: Sequence[CheckedSeed], *, rolling: bool) -> Iterator[tuple[str, list[str]]]:
    for harm in harms_of(rolling=rolling):
        yield harm.value, [_figure(one.report.get(harm.name.lower())) for one in seeds]
    for key, title in _FIGURES.items():
        yield title, [_figure(one.report.get(key)) for one in seeds]
    for key, title in _RECOVERIES.items():
        yield title, [_recovery(one.report, key) for one in seeds]
    if rolling:
        yield "restarted with care", [_figure(one.report.get("rolling")) for one in seeds]
    yield "faults that struck fewer than twice", [_rare_faults(one.report) for one in seeds]
    yield "rules that were not met", [_shortfalls(one) for one in seeds]


_RECOVERIES: Mapping[str, str] = MappingProxyType(
    {
        "": "recovery of killed turns, p95 and most, s",
        "with_a_write_in_doubt": "  with a write in doubt",
        "after_every_executor_died": "  after every executor had died",
    }
)


def _figure(value: Json) -> str:
    """A list by its length, a table by what it counts."""
    if isinstance(value, dict):
        return ", ".join(f"{_figure(count)} {name}" for name, count in value.items() if count) or "none"
    return "-" if value is None else str(len(value)) if isinstance(value, list) else str(value)


def _recovery(report: JsonObject, kind: str) -> str:
    found = report.get("recovery_of_a_killed_executors_turns")
    found = found.get(kind) if kind and isinstance(found, dict) else found
    return f"{_figure(found.get('p95'))}, {_figure(found.get('most'))}" if isinstance(found, dict) else "-"


def _rare_faults(report: JsonObject) -> str:
    struck = report.get("strikes")
    counts = struck.items() if isinstance(struck, dict) else ()
    return ", ".join(name for name, times in counts if isinstance(times, int) and times < LEAST_STRIKES) or "none"


def _shortfalls(one: CheckedSeed) -> str:
    if one.problem:
        return one.problem
    listed = one.report.get("shortfalls")
    found = [str(item.get("rule")) for item in (listed if isinstance(listed, list) else []) if isinstance(item, dict)]
    return ", ".join(sorted(set(found))) or "none"
