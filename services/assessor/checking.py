"""``check``: whether scenarios can be used, for whoever writes them."""

import sys
from collections.abc import Sequence
from pathlib import Path

from services.assessor.adapters.scenario_folder import BadScenario, ScenarioFolder


def check(root: Path, wanted: Sequence[str]) -> int:
    """One line a scenario and a warning, those named or all; the exit code is 1 if one cannot be used."""
    folder = ScenarioFolder(root)
    names = list(wanted) or folder.ids()
    if not names:
        sys.stdout.write(f"There is no scenario in {root}.\n")
        return 1
    return max([_checked(folder, name) for name in names])


def _checked(folder: ScenarioFolder, name: str) -> int:
    try:
        found = folder.load(name)
    except BadScenario as problem:
        sys.stdout.write(f"{name}: cannot be used: {problem}\n")
        return 1
    config = found.config
    points = sum(criterion.max_score for criterion in config.criteria)
    sys.stdout.write(f"{name}: {len(config.criteria)} criteria, {points} points, {len(config.characters)} people\n")
    for warning in found.warnings:
        sys.stdout.write(f"{name}: warning: {warning}\n")
    return 0
