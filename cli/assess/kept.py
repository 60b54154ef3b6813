"""Assessments on disk: one file each, so that two can be compared later."""

from collections.abc import Iterator
from datetime import datetime
from itertools import chain, count
from pathlib import Path

from pydantic import ValidationError

from cli.console import Complaint
from shared.contracts.assessment.kept import Assessment, Run


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
