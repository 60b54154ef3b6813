"""A tenant's memory as operators read it."""

from collections.abc import Sequence

from pydantic import JsonValue

from services.gateway.ports.memory import Remembered, Thing
from shared.contracts.accuracy import Accuracy
from shared.contracts.case import CaseEntry
from shared.contracts.forget import ForgetRequest
from shared.contracts.knowledge import KnownFact
from shared.domain.accuracy import confidence, recent, trust


def cases_view(cases: Sequence[CaseEntry]) -> dict[str, JsonValue]:
    return {"cases": [case.model_dump(mode="json", exclude={"v"}) for case in cases]}


def facts_view(remembered: Remembered) -> dict[str, JsonValue]:
    """``holds`` is false of a fact that a newer one contradicts. ``finding`` says what finding them took."""
    finding: dict[str, JsonValue] = {name: count for name, count in remembered.finding.items() if name != "version"}
    return {"facts": [_fact(fact) for fact in remembered.facts], "finding": finding}


def entities_view(remembered: Remembered) -> dict[str, JsonValue]:
    return {"entities": [_thing(thing) for thing in remembered.things]}


def accuracy_view(remembered: Remembered) -> dict[str, JsonValue]:
    """``trust`` is what tasks are told: trust, verify, drift, or nothing yet."""
    rows = sorted(remembered.accuracy.items())
    return {"accuracy": [_accuracy(process, kind, row) for (process, kind), row in rows]}


def forget_view(request: ForgetRequest) -> dict[str, JsonValue]:
    said: dict[str, JsonValue] = request.model_dump(mode="json", exclude={"v", "tenant"})
    return said


def _fact(fact: KnownFact) -> JsonValue:
    said: dict[str, JsonValue] = fact.model_dump(mode="json", exclude={"v"})
    return {**said, "holds": fact.superseded_at is None}


def _thing(thing: Thing) -> JsonValue:
    said: dict[str, JsonValue] = thing.entity.model_dump(mode="json", exclude={"v"})
    tasks: list[JsonValue] = [task.model_dump(mode="json", exclude={"v"}) for task in thing.links.tasks]
    return {**said, "together": list(thing.links.together), "tasks": tasks}


def _accuracy(process_type: str, kind: str, row: Accuracy) -> JsonValue:
    held, of = recent(row.window)
    return {
        "process_type": process_type,
        "kind": kind,
        "attempts": row.attempts,
        "matches": row.matches,
        "confidence": round(confidence(row.attempts, row.matches), 4),
        "recent_matches": held,
        "recent": of,
        "trust": trust(row.attempts, row.matches, row.window).value,
        "drift_alerts": row.drift_alerts,
        "at": row.at.isoformat() if row.at else None,
    }
