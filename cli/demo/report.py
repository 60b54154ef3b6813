"""The demo's result, for people and for machines."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from cli.demo.checks import Observed, database_json, problems
from shared.domain.exact_json import Json, JsonObject


@dataclass(frozen=True)
class DemoResult:
    observed: Observed
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems

    def as_json(self) -> JsonObject:
        final = self.observed.final
        return {
            "name": self.observed.task.name,
            "ok": self.ok,
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


def judge(observed: Observed) -> DemoResult:
    return DemoResult(observed, problems(observed))


def demo_json(results: Sequence[DemoResult], notice: str, seconds: float) -> JsonObject:
    tasks: list[Json] = [result.as_json() for result in results]
    ok = all(result.ok for result in results)
    return {"ok": ok, "tasks": tasks, "model_notice": notice or None, "milliseconds": round(seconds * 1000)}


def demo_table(results: Sequence[DemoResult], notice: str, seconds: float) -> Table:
    title = f"Demo: {sum(r.ok for r in results)} of {len(results)} tasks held, {seconds:.1f} s"
    table = Table("", "task", "ended", "states", "calls", "writes", title=title, caption=notice or None)
    for result in results:
        table.add_row(*_row(result))
    return table


def demo_problems(results: Sequence[DemoResult]) -> list[str]:
    """One line for each thing that did not hold."""
    return [f"{result.observed.task.name}: {problem}" for result in results for problem in result.problems]


def _row(result: DemoResult) -> tuple[str, ...]:
    observed = result.observed
    return (
        "[green]ok[/]" if result.ok else "[red]no[/]",
        observed.task.name,
        f"{observed.final.state}, escalated" if observed.final.metadata.get("escalated") else observed.final.state,
        " > ".join(observed.states),
        str(observed.final.metadata.get("tool_calls", "?")),
        str(len(observed.after.writes_since(observed.before))),
    )
