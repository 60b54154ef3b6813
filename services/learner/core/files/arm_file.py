"""``strategy_bandit.json``: process type -> strategy -> pulls and mean reward."""

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue

from services.learner.core.files.reading import BadEntry, entries_of_object, read_all
from services.learner.ports.files import ArmRecord
from shared.domain.bandit import REWARD_UNITS, Arm
from shared.domain.trend import POINTS_KEPT, read_points
from shared.domain.words import Strategy

_MOST_PULLS = 10**9


class _Arm(BaseModel):
    """``units`` is the exact sum of rewards in ten-thousandths; without it the mean says it."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    n: int = Field(ge=0, le=_MOST_PULLS, validation_alias=AliasChoices("n", "pulls", "count"))
    q: float = Field(default=0.0, ge=0, le=1, allow_inf_nan=False, validation_alias=AliasChoices("q", "mean", "value"))
    units: int | None = Field(default=None, ge=0)
    trend: str = ""


def read_arms(content: JsonValue) -> list[ArmRecord]:
    """The arms of a file; raises ``BadFile``. An arm without a pull says nothing, and is none."""
    found = entries_of_object(content, "arms", "bandit")
    entries = ((f"{kind}", arms) for kind, arms in found.items())
    kinds = read_all(entries, _object)
    named = (
        (f"{kind} {strategy}", {"kind": kind, "strategy": strategy, "arm": arm})
        for kind, arms in zip(found, kinds, strict=True)
        for strategy, arm in arms.items()
    )
    return [record for record in read_all(named, _read) if record.arm.n]


def checked_trend(text: str) -> str:
    """The text, if it is a trend as it is kept. Raises ``BadEntry``."""
    try:
        points = read_points(text)
    except ValueError as error:
        raise BadEntry("trend: its points are not n:units:at") from error
    if len(points) > POINTS_KEPT:
        raise BadEntry(f"trend: it has more than {POINTS_KEPT} points")
    return text


def _object(entry: JsonValue) -> dict[str, JsonValue]:
    if not isinstance(entry, dict):
        raise BadEntry("it is no object of strategies")
    return entry


def _read(entry: JsonValue) -> ArmRecord:
    told = _object(entry)
    try:
        strategy = Strategy(str(told["strategy"]))
    except ValueError:
        raise BadEntry(f"a strategy is one of {', '.join(Strategy)}") from None
    arm = _Arm.model_validate(_object(told["arm"]))
    units = round(arm.q * arm.n * REWARD_UNITS) if arm.units is None else arm.units
    if units > arm.n * REWARD_UNITS:
        raise BadEntry("units: more than its pulls could have earned")
    return ArmRecord((str(told["kind"]), strategy.value), Arm(arm.n, units), checked_trend(arm.trend))
