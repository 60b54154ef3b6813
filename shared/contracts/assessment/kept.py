"""An assessment as it is kept: the runs of one agent in one scenario."""

from pydantic import BaseModel, ConfigDict, Field

from shared.contracts.assessment.base import JsonObject, Moment
from shared.contracts.assessment.results import AssessmentResults, OverallScore
from shared.domain.intervals import Interval, chance_interval, mean_interval
from shared.domain.pass_hat import pass_hat

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
    """One command's runs: the same agent and scenario each. ``name`` is unique where it is kept."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    version: int = 1
    name: str = Field(min_length=1, max_length=200)
    scenario: str = Field(max_length=200)
    agent: str = Field(max_length=2000)
    began: Moment
    runs: tuple[Run, ...] = Field(min_length=1)

    @property
    def passed(self) -> int:
        return sum(run.passed for run in self.runs)

    @property
    def pass_interval(self) -> Interval:
        """Where the chance to pass truly lies, with 95 % confidence."""
        return chance_interval(self.passed, len(self.runs))

    @property
    def points_interval(self) -> Interval | None:
        """Where the mean share of the points truly lies, with 95 % confidence; ``None`` after a single run."""
        shares = [run.points.score / run.points.max_score if run.points.max_score else 0.0 for run in self.runs]
        found = mean_interval(shares)
        return None if found is None else Interval(max(0.0, found.low), min(1.0, found.high))

    @property
    def pass_hat(self) -> dict[int, float]:
        """For each k: how likely k of these runs all pass."""
        return pass_hat(self.passed, len(self.runs))
