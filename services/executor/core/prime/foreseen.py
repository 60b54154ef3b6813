"""What a provisional verdict tells before any work is done."""

from typing import NamedTuple, cast

from pydantic import JsonValue

from shared.contracts.policy import Verdict


class Foreseen(NamedTuple):
    """``constraints`` are sentences for every prompt; ``text`` is what the text rules found, as clients see it."""

    constraints: tuple[str, ...] = ()
    text: dict[str, JsonValue] | None = None


def foreseen(verdict: Verdict) -> Foreseen:
    """Triggered rules, and violations as hard constraints (seed 001, Policy Enforcement)."""
    found = verdict.text
    rules = [f"{rule.action.value}: {rule.reason}" for rule in verdict.triggered_rules]
    if found is None:
        return Foreseen(tuple(rules))
    broken = [f"HARD CONSTRAINT, the task as written violates it: {violation}" for violation in found.violations]
    said = {**found.model_dump(mode="json", include={"compliant", "violations", "applied_rules"})}
    return Foreseen((*rules, *broken), cast("dict[str, JsonValue]", said))
