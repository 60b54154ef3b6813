"""``days``: scenarios from a seed, written as folders."""

import json
import sys
from pathlib import Path

from services.assessor.adapters.played_participant import FOLDER
from services.assessor.core.days.generation import EVALUATORS, Difficulty, GeneratedDay, generate_day
from shared.contracts.assessment.messages import JsonObject


def write_days(root: Path, seed: str, count: int, difficulty: Difficulty | None = None) -> int:
    """Writes generated days as scenarios below ``root``, and prints a line for each; returns the exit code 0.

    ``difficulty``: of all days; they take turns if it is None. Raises ``OSError``, and ``FileExistsError`` for a day
    that is there already.
    """
    for number in range(count):
        day = generate_day(seed, number, difficulty)
        write_day(root / day.scenario_id, day)
        sys.stdout.write(f"{day.scenario_id}: {day.scenario['description']}\n")
    return 0


def write_day(folder: Path, day: GeneratedDay) -> None:
    """Writes a day's scenario into a new folder; raises ``OSError``."""
    (folder / FOLDER).mkdir(parents=True)
    _write(folder / "scenario.json", day.scenario)
    _write(folder / "initial_state.json", day.state)
    (folder / "evaluators.py").write_text(EVALUATORS, encoding="utf-8")
    for name, script in day.scripts.items():
        _write(folder / FOLDER / f"{name}.json", script)


def _write(path: Path, value: JsonObject) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
