"""Metrics, logs, dashboards and alerts."""

from tests.requirements.promise import Promise

PROMISES = (
    Promise(
        "metrics.queue",
        "Waiting sessions, their age, approvals and dead letters are read from Redis in one bounded look",
        "seed 000, Scalability",
    ),
    Promise(
        "metrics.turns", "Tasks, phases, writes, approvals and choices are counted once, when they are stored", "I5"
    ),
    Promise("metrics.models", "Calls, stand-ins and failures of models are counted by tier and model", "seed 000"),
)
