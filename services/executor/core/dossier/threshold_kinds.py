"""Which kind of threshold a field, a figure or a sentence speaks of."""

import re

from shared.contracts.threshold import ThresholdKind


def kind_of(name: str) -> ThresholdKind:
    """By its words: ``variance_percent`` is about a variance, ``sla_credit`` about a credit for a breach."""
    words = set(re.findall(r"[a-z]+", name.lower().replace("_", " ")))
    if "variance" in words:
        return ThresholdKind.VARIANCE
    return ThresholdKind.SLA_CREDIT if {"sla", "credit"} <= words else ThresholdKind.POLICY_LIMIT
