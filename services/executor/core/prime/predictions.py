"""Predicted limits as a prompt has them: with what earlier tasks say of their like, or a warning in their place."""

from collections.abc import Iterable, Mapping

from shared.contracts.accuracy import Accuracy
from shared.contracts.threshold import Threshold, ThresholdKind
from shared.domain.accuracy import Trust, recent, trust
from shared.domain.exact_json import Json, JsonObject

_UNKNOWN = Accuracy()


def shown(found: Iterable[Threshold], accuracy: Mapping[ThresholdKind, Accuracy]) -> list[Json]:
    """Each limit with its source. Where those of its kind did not hold lately, the value is not said at all."""
    return [_one(limit, accuracy.get(limit.kind, _UNKNOWN)) for limit in found]


def _one(limit: Threshold, known: Accuracy) -> JsonObject:
    about: JsonObject = {"kind": limit.kind.value, "about": limit.name}
    how = trust(known.attempts, known.matches, known.window)
    if how is Trust.DRIFT:
        return {**about, "drift": _warning(known), "source": limit.source}
    said: JsonObject = {**about, "limit": f"{limit.sign} {limit.value}".strip(), "source": limit.source}
    return {**said, **({"trust": how.value} if how is not Trust.NONE else {})}


def _warning(known: Accuracy) -> str:
    held, of = recent(known.window)
    return (
        f"limits of this kind held in only {held} of the last {of} tasks of this process: none is stated here; "
        "go by what the policy and the tools say now"
    )
