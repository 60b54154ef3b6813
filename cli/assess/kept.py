"""Assessments on disk: one file each, so that two can be compared later."""

import math
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, count
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cli.console import Complaint
from shared.contracts.assessment.base import JsonObject
from shared.contracts.assessment.results import AssessmentResults, OverallScore

PASSES_AT = 0.95  # of the points that somebody could judge


class Run(BaseModel):
    """``updates``: what the assessor told on the way, in order."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    results: AssessmentResults
    updates: tuple[JsonObject, ...] = ()

    @property
    def points(self) -> OverallScore:
        """Without what nobody could judge."""
        return self.results.judged or self.results.scores.overall

    @property
    def passed(self) -> bool:
        enough = self.points.score >= PASSES_AT * self.points.max_score
        return self.results.status == "completed" and self.points.max_score > 0 and enough


class Assessment(BaseModel):
    """One command's runs: the same agent and scenario each."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    version: int = 1
    name: str
    scenario: str
    agent: str
    began: datetime
    runs: tuple[Run, ...] = Field(min_length=1)

    @property
    def pass_hat(self) -> dict[int, float]:
        """For each k: how likely k runs drawn from these all pass (pass^k, unbiased: C(passed, k) / C(runs, k))."""
        passed, all_of = sum(run.passed for run in self.runs), len(self.runs)
        return {k: math.comb(passed, k) / math.comb(all_of, k) for k in range(1, all_of + 1)}


def keep(folder: Path, scenario: str, agent: str, began: datetime, runs: tuple[Run, ...]) -> tuple[Assessment, Path]:
    """Writes a new file, whose name is the assessment's. Raises ``Complaint``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in _names(scenario, began):
            kept = Assessment(name=name, scenario=scenario, agent=agent, began=began, runs=runs)
            path = folder / f"{name}.json"
            try:
                with path.open("x", encoding="utf-8") as file:
                    file.write(kept.model_dump_json(indent=1) + "\n")
            except FileExistsError:
                continue
            return kept, path
    except OSError as error:
        raise Complaint(f"The results cannot be kept in {folder}: {error.strerror}.") from error
    raise AssertionError("names have no end")


def read(folder: Path, name: str) -> Assessment:
    """By its name, or by the path of its file. Raises ``Complaint``."""
    path = next((path for path in (folder / f"{name}.json", Path(name)) if path.is_file()), None)
    if path is None:
        raise Complaint(f"There is no assessment {name} in {folder}, nor a file of that name.")
    try:
        return Assessment.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        raise Complaint(f"{path} is no assessment that can be read ({type(error).__name__}).") from error


def _names(scenario: str, began: datetime) -> Iterator[str]:
    word = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in scenario)[:80]
    first = f"{word}-{began:%Y%m%d-%H%M%S}"
    return chain([first], (f"{first}-{number}" for number in count(2)))
