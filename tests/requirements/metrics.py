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
    Promise("logs.one_pipeline", "Every service logs alike, at the level and in the form that are set", "seed 000"),
    Promise("logs.no_secret", "What has the shape of a credential stands in no log line, whoever brought it", "I12"),
    Promise("logs.whose", "Lines name the request, or the session, task and turn, that they belong to", "seed 000"),
    Promise("metrics.documented", "The page of metrics is made from their module, and each is looked at", "seed 000"),
    Promise("alerts.real_metrics", "Rules and dashboards name only metrics, labels and words that exist", "seed 000"),
    Promise("alerts.page", "Every alert says how bad it is and leads to a section that says what to do", "seed 000"),
    Promise("alerts.evaluated", "Alerts fire on series on which they should, and on no others", "seed 000"),
    Promise("dashboards.whole", "Every dashboard can be provisioned, and each panel says what it shows", "seed 000"),
)
