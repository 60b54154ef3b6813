"""``check``: whether scenarios can be used, for whoever writes them: read, booted in a real world, and played."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from services.assessor.adapters.played_participant import (
    FOLDER,
    BadScript,
    PlayedParticipant,
    PlayedScript,
    load_scripts,
)
from services.assessor.adapters.scenario_folder import BadScenario, LoadedScenario, ScenarioFolder
from services.assessor.core.assessment import Models
from services.assessor.core.judge import sum_judged
from services.assessor.hosting import GreenAgent
from services.assessor.ports.participants import Emitter
from services.assessor.settings import GreenAgentConfig
from shared.contracts.assessment.messages import Update
from shared.ports.simulator import SimulatorFailed

GOLD = "gold"
GOLD_EARNS, WRONG_EARNS = 0.95, 0.5  # of the points that somebody could judge: at least, and less than


class SilentEmitter(Emitter):
    """An emitter that drops every update, for checks that nobody follows."""

    async def emit(self, update: Update) -> None:
        """Ignores the update."""


class ScenarioReport(NamedTuple):
    """The findings on a scenario, and whether it can be used."""

    lines: tuple[str, ...]
    is_sound: bool


async def check_scenarios(config: GreenAgentConfig, scenario_names: Sequence[str]) -> int:
    """One line a scenario, a warning and a played script, those named or all; 1 if one of them cannot be used.

    All settings of an assessor hold. Raises ``SimulatorFailed`` if no simulator can be had.
    """
    folder = ScenarioFolder(config.scenarios_dir)
    names = list(scenario_names) or folder.list_ids()
    if not names:
        sys.stdout.write(f"There is no scenario in {config.scenarios_dir}.\n")
        return 1
    reports = []
    async with GreenAgent(config.ues_base_port, config, Models()) as agent:
        for name in names:
            report = await _report_on(agent, folder, config.scenarios_dir / name, name)
            reports.append(report)
            sys.stdout.writelines(f"{name}: {line}\n" for line in report.lines)
    return 0 if all(report.is_sound for report in reports) else 1


async def _report_on(agent: GreenAgent, folder: ScenarioFolder, path: Path, name: str) -> ScenarioReport:
    try:
        scenario, scripts = folder.load(name), load_scripts(path)
    except (BadScenario, BadScript) as problem:
        return ScenarioReport((f"cannot be used: {problem}",), is_sound=False)
    problems, odd = await agent.rehearse(scenario.config)
    if problems:
        return ScenarioReport(tuple(f"cannot be used: {problem}" for problem in problems), is_sound=False)
    played = [await _play_script(agent, scenario, script, scripts[script]) for script in scripts]
    lines = (_summarize(scenario), *(f"warning: {warning}" for warning in (*scenario.warnings, *odd)))
    return ScenarioReport(
        (*lines, *(line for played_course in played for line in played_course.lines)),
        all(played_course.is_sound for played_course in played),
    )


async def _play_script(agent: GreenAgent, scenario: LoadedScenario, name: str, script: PlayedScript) -> ScenarioReport:
    """The script as an assessment, without any model."""
    participant = PlayedParticipant(script)
    most = {"max_turns": len(script.turns) + 1}
    try:
        results = await agent.run(name, SilentEmitter(), scenario.config, scenario.evaluators, participant, most)
    except SimulatorFailed as problem:
        return ScenarioReport((f"{FOLDER}/{name}.json cannot be played: {problem}",), is_sound=False)
    points = sum_judged(results.criteria_results).judged
    share = points.score / points.max_score if points.max_score else 0.0
    is_sound = share >= GOLD_EARNS if name == GOLD else share < WRONG_EARNS
    bound = f"at least {GOLD_EARNS:.0%}" if name == GOLD else f"less than {WRONG_EARNS:.0%}"
    line = f"{name} earns {points.score:g} of {points.max_score:g} points{'' if is_sound else f', {bound} is expected'}"
    missed = [
        f"  {criteria_result.name}: {criteria_result.explanation}"
        for criteria_result in results.criteria_results
        if criteria_result.score < criteria_result.max_score
    ]
    refused = [f"  refused: {refusal}" for refusal in participant.refused] if name == GOLD else []
    return ScenarioReport((line, *([] if is_sound else [*refused, *missed])), is_sound)


def _summarize(scenario: LoadedScenario) -> str:
    config = scenario.config
    points = sum(criterion.max_score for criterion in config.criteria)
    return f"{len(config.criteria)} criteria, {points} points, {len(config.characters)} people"
