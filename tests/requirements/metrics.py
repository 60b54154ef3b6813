"""Metrics, logs, dashboards and alerts."""

from tests.requirements.promise import Promise

PROMISES = (
    Promise(
        "metrics.queue",
        "Waiting sessions, their age, approvals and dead letters are read from Redis in one bounded look",
        "seed 000, Scalability",
    ),
)
