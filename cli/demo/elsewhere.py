"""The demo's tasks on a stack that is up already, whoever started it."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

import typer

from cli.console import Complaint, err
from cli.demo.company import Company
from cli.demo.report import DemoResult, judge
from cli.demo.run import observe
from cli.demo.tasks import DemoTask
from cli.gateway.client import connect_gateway

_FAULTLESS = "{}"


class NotFresh(Complaint):
    """The company's books are not those with which the tasks have the outcome that is checked."""


@dataclass(frozen=True)
class ForeignStack:
    """A stack that somebody else started, by its gateway's URL, with the example company that its tasks act on."""

    url: str
    company: Company

    async def demo(self, tasks: tuple[DemoTask, ...], quiet: bool) -> tuple[list[DemoResult], str]:
        """The results, and what the stack says about its model. Raises ``Complaint``."""
        self._look()
        async with self.company.misbehaving(_FAULTLESS), connect_gateway(self.url) as client:
            if not quiet:
                err.print(f"At {self.url}, with the company at {self.company.url}.", style="dim")
            results = [judge(observed) async for observed in observe(tasks, client, self.company, quiet)]
        return results, str(results[0].observed.final.metadata.get("model_notice") or "")

    def _look(self) -> None:
        database = self.company.database
        try:
            written = len(self.company.books().writes)
        except sqlite3.Error as error:
            raise Complaint(f"{database} cannot be read as the company's database ({error}).") from error
        if written:
            raise NotFresh(
                f"{written} writes stand in {database} already: the demo's tasks need the company's books fresh."
            )


def find_foreign_stack(url: str, company: str, database: Path | None) -> ForeignStack | None:
    """Where the tasks are to go; None for a stack of the demo's own."""
    if not url and not company and database is None:
        return None
    if not (url and company and database):
        raise typer.BadParameter("goes with --company and --database, and they with it", param_hint="--url")
    return ForeignStack(url.rstrip("/"), Company(company.rstrip("/"), database))
