"""``statistics.json``: counts over all tasks, by day, how their mean came to be, and how predictions held."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from services.learner.core.files.arm_file import checked_trend
from services.learner.core.files.reading import BadEntry, BadFile, entries_of_object, read_all
from services.learner.ports.files import FileTotals
from shared.contracts.accuracy import Accuracy
from shared.domain.accuracy import WINDOW_KEPT
from shared.domain.bandit import REWARD_UNITS
from shared.domain.cases import CaseOutcome
from shared.domain.trend import DAYS_KEPT

_KINDS = tuple(outcome.value for outcome in CaseOutcome)
_COUNTS = ("events", *_KINDS, "quality_units")
_DAY = re.compile(rf"\d{{4}}-\d\d-\d\d:({'|'.join(_COUNTS)})")
_PREDICTION = re.compile(r"[^:]*:[^:]+")
_MOST = 10**12


class Statistics(NamedTuple):
    totals: FileTotals
    accuracy: Mapping[str, Accuracy]


def read_statistics(content: JsonValue) -> Statistics:
    """Raises ``BadFile``."""
    told = entries_of_object(content)
    counts = _numbers(told.get("counts", {}), "counts")
    days = _numbers(told.get("days", {}), "days")
    problems = [f"days {name}: it is no day and count" for name in days if not _DAY.fullmatch(name)]
    problems += [f"counts {name}: it is not known" for name in counts if name not in _COUNTS]
    if sum(counts.get(kind, 0) for kind in _KINDS) > counts.get("events", 0):
        problems.append("counts: more outcomes than events")
    if counts.get("quality_units", 0) > REWARD_UNITS * counts.get("events", 0):
        problems.append("counts quality_units: more than its events could have earned")
    if len({name.partition(":")[0] for name in days}) > DAYS_KEPT:
        problems.append(f"days: more than {DAYS_KEPT} days")
    if problems:
        raise BadFile(problems)
    trend = read_all([("quality_trend", told.get("quality_trend", ""))], _trend)[0]
    accuracy = entries_of_object(told.get("accuracy", {}))
    unknown = [name for name in accuracy if not _PREDICTION.fullmatch(name)]
    if unknown:
        raise BadFile([f"accuracy {name}: it is no process type and kind" for name in unknown])
    rows = read_all(((f"accuracy {name}", row) for name, row in accuracy.items()), _accuracy)
    return Statistics(FileTotals(counts, days, trend), dict(zip(accuracy, rows, strict=True)))


def _numbers(content: JsonValue, part: str) -> dict[str, int]:
    found = entries_of_object(content)
    numbers = read_all(((f"{part} {name}", number) for name, number in found.items()), _number)
    return dict(zip(found, numbers, strict=True))


def _number(entry: JsonValue) -> int:
    if isinstance(entry, bool) or not isinstance(entry, int) or not 0 <= entry <= _MOST:
        raise BadEntry("it is no count")
    return entry


def _trend(entry: JsonValue) -> str:
    if not isinstance(entry, str):
        raise BadEntry("it is no text")
    return checked_trend(entry)


def _accuracy(entry: JsonValue) -> Accuracy:
    read = Accuracy.model_validate(entry)
    if not 0 <= read.matches <= read.attempts <= _MOST or len(read.window) > WINDOW_KEPT:
        raise BadEntry("its numbers do not fit together")
    return read
