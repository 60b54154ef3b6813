"""An assessment as it goes on, one line a turn and an action."""

from rich.console import Console

from cli.assess.report import printable
from shared.contracts.assessment.updates import (
    ActionObserved,
    AssessmentCompleted,
    AssessmentQueued,
    ErrorOccurred,
    EvaluationStarted,
    ScenarioLoaded,
    TurnCompleted,
    TurnStarted,
    Update,
)


class AssessProgress:
    """Called with each update; keeps them all but the actions, which the results have. ``prefix``: which run it is."""

    def __init__(self, console: Console, prefix: str = "", quiet: bool = False) -> None:
        self.updates: list[Update] = []
        self._console = console
        self._prefix = prefix
        self._quiet = quiet

    def __call__(self, update: Update) -> None:
        if not isinstance(update, ActionObserved):
            self.updates.append(update)
        sentence = sentence_of(update)
        if sentence and not self._quiet:
            style = "red" if isinstance(update, ErrorOccurred) else "dim"
            self._console.print(printable(f"{self._prefix}{sentence}"), style=style, soft_wrap=True)


def sentence_of(update: Update) -> str:
    """Empty for what nobody waits to hear."""
    match update:
        case AssessmentQueued():
            return f"waits for its turn: {update.position - 1} before it, {update.running} running"
        case ScenarioLoaded():
            wish = f"\n  {update.user_prompt}" if update.user_prompt else ""
            return f"{update.scenario_name}: {update.criteria_count} criteria, {update.character_count} people{wish}"
        case TurnStarted():
            return f"turn {update.turn_number}, {update.current_time:%a %d %b %H:%M}"
        case ActionObserved():
            return f"  {update.action}" + ("" if update.success else f" failed: {update.error_message}")
        case TurnCompleted():
            done = ", and nothing more to do" if update.early_completion_requested else f", then {update.time_advanced}"
            return f"  {update.actions_taken} actions{done}"
        case EvaluationStarted():
            return f"judging {update.criteria_count} criteria"
        case ErrorOccurred():
            return f"  {update.error_type.replace('_', ' ')}: {update.error_message}"
        case AssessmentCompleted():
            return f"ended: {update.reason.replace('_', ' ')}"
        case _:
            return ""
