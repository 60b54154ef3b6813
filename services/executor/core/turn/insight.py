"""INSIGHT: what a run shows about its own course; no model is asked, and nothing of the task's content is in it."""

from pydantic import JsonValue

from services.executor.core.dossier.dossier import Progress


def with_insight(progress: Progress) -> Progress:
    """The progress with its insight: an event and a part of the outcome, stored with the end of the turn."""
    return progress.model_copy(update={"insight": {**progress.insight, **_insight_of(progress)}})


def _insight_of(progress: Progress) -> dict[str, JsonValue]:
    dossier = progress.dossier
    answered = dict.fromkeys(fact.tool for fact in dossier.facts if fact.ok)
    return {
        "strategy": progress.strategy.value,
        "parts": len(dossier.parts),
        "plans": len(dossier.every_plan),
        "reads": len(dossier.facts),
        "helpful_tools": list(answered),
        "unhelpful_tools": list(dict.fromkeys(fact.tool for fact in dossier.facts if fact.tool not in answered)),
        "figures": len(dossier.values),
        "writes": [call.tool for plan in dossier.every_plan for call in plan.calls],
        "model_calls": progress.model_calls,
    }
