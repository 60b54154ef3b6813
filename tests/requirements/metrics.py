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
    Promise("metrics.requests", "Requests are counted by route, method and code, and never by an id", "I12"),
    Promise("metrics.shown", "Every service shows what it counts, in both of Prometheus's formats", "seed 000"),
    Promise("metrics.bounded", "No metric grows beyond a fixed number of series, whatever it is told", "bad input"),
    Promise("metrics.not_public", "The port that clients reach shows no metrics", "I12"),
)
