"""All metrics of the product: name, kind, labels, buckets, meaning, and the services that expose them.

Labels are words of fixed sets, or names that an operator has configured, never ids; a metric has at most
``MOST_SERIES`` series.
"""

from enum import StrEnum
from typing import NamedTuple

MOST_SERIES = 200  # of one metric in one process; what goes beyond is counted under ``OTHER_SERIES_LABEL``
OTHER_SERIES_LABEL = "other"

_REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 90.0)  # seconds
_CALL_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_WORK_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_TASK_BUCKETS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 120.0, 600.0, 3600.0, 86_400.0)  # waiting for people included
_QUICK_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
_SCORE_BUCKETS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0)


class MetricKind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class MetricScope(StrEnum):
    """The services that expose a metric. ``STORE``: they read it from the shared store, so all report equal values."""

    EVERY_SERVICE = "every service"
    STORE = "gateway, executor"
    GATEWAY = "gateway"
    EXECUTOR = "executor"
    LEARNER = "learner"
    POLICY = "policy"
    MODELS = "executor, learner"
    HTTP = "gateway, policy, planner, simulator, assessor"

    def includes_service(self, service: str) -> bool:
        return self is MetricScope.EVERY_SERVICE or service in self.value.split(", ")

    def define_gauge(self, name: str, text: str, *labels: str) -> "Metric":
        return Metric(name, MetricKind.GAUGE, self, text, labels)

    def define_counter(self, name: str, text: str, *labels: str) -> "Metric":
        return Metric(name, MetricKind.COUNTER, self, text, labels)

    def define_histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> "Metric":
        return Metric(name, MetricKind.HISTOGRAM, self, text, labels, buckets)


class Metric(NamedTuple):
    """A metric. ``name``: as Prometheus shows it, with ``_total`` for a counter."""

    name: str
    kind: MetricKind
    scope: MetricScope
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


_STORE = MetricScope.STORE
_GATEWAY = MetricScope.GATEWAY
_EXECUTOR = MetricScope.EXECUTOR
_LEARNER = MetricScope.LEARNER
_POLICY = MetricScope.POLICY
_MODELS = MetricScope.MODELS
_HTTP = MetricScope.HTTP

# The installation as it stands in Redis. Every replica reads the same, so take max() and never sum().
SESSIONS_WAITING = _STORE.define_gauge(
    "purple_sessions_waiting", "Sessions with work that an executor may begin now, and that none holds."
)
SESSIONS_PUT_OFF = _STORE.define_gauge(
    "purple_sessions_put_off",
    "Sessions with work that waits for a later moment: a retry, a slot of their tenant, the end of a stop.",
)
OLDEST_WAITING = _STORE.define_gauge(
    "purple_oldest_waiting_seconds",
    "How long the oldest turn waits of the sessions that an executor may begin now; 0 if none waits.",
)
SESSIONS_HELD = _STORE.define_gauge("purple_sessions_held", "Sessions that some executor works on.")
APPROVALS_WAITING = _STORE.define_gauge("purple_approvals_waiting", "Approvals that wait for a person.")
OLDEST_APPROVAL = _STORE.define_gauge(
    "purple_oldest_approval_seconds", "How long the oldest approval waits; 0 if none waits."
)
TASKS_IN_DOUBT = _STORE.define_gauge(
    "purple_tasks_in_doubt", "Tasks that wait for an operator to say what became of a write."
)
DEADLINES_OVERDUE = _STORE.define_gauge(
    "purple_deadlines_overdue",
    "Deadlines of approvals, doubts and rests that passed over 30 seconds ago and have not been acted on.",
)
DEAD_LETTERS = _STORE.define_gauge(
    "purple_dead_letters", "What was given up and waits for an operator; kind: turn or outcome.", "kind"
)
OUTCOMES_BEHIND = _STORE.define_gauge(
    "purple_outcomes_behind", "Ended tasks that the learner has not applied yet, about."
)
LEARNERS_ALIVE = _STORE.define_gauge("purple_learners_alive", "Learners that have shown a sign of life of late.")
UNARCHIVED_TASKS = _STORE.define_gauge("purple_unarchived_tasks", "Ended tasks that are still to be archived.")
DELIVERIES_WAITING = _STORE.define_gauge("purple_deliveries_waiting", "Webhooks and notices that are to be called.")

# Each executor tells of itself: take sum().
EXECUTOR_SESSIONS = _EXECUTOR.define_gauge("purple_executor_sessions", "Sessions that this executor works on.")
EXECUTOR_FREE = _EXECUTOR.define_gauge("purple_executor_free", "Sessions that this executor could still take.")
FAULTS_MENDED = _EXECUTOR.define_counter(
    "purple_faults_mended_total", "What crashes and lost wakes left behind and was put right.", "fault"
)
TOOL_CIRCUITS = _EXECUTOR.define_gauge(
    "purple_tool_circuits", "Tool servers, by how their circuit breakers stand.", "state"
)

# What turns came to.
ACCEPT_TO_START = _EXECUTOR.define_histogram(
    "purple_accept_to_start_seconds",
    "From the acceptance of a turn to its first beginning, by Redis time.",
    _CALL_BUCKETS,
    "kind",
)
TURN_SECONDS = _EXECUTOR.define_histogram(
    "purple_turn_seconds",
    "One attempt at a turn; outcome: the state in which it left its task, stopped, handed_over or broken.",
    _WORK_BUCKETS,
    "outcome",
)
PHASE_SECONDS = _EXECUTOR.define_histogram(
    "purple_phase_seconds",
    "One phase of a turn; outcome: as in purple_turn_seconds.",
    _WORK_BUCKETS,
    "phase",
    "outcome",
)
STATE_SECONDS = _EXECUTOR.define_histogram(
    "purple_state_seconds", "One state of a process, from entering to leaving it.", _WORK_BUCKETS, "state"
)
TASK_SECONDS = _EXECUTOR.define_histogram(
    "purple_task_seconds", "From the acceptance of a task to its end, waiting included.", _TASK_BUCKETS, "state"
)
TASKS_ENDED = _EXECUTOR.define_counter(
    "purple_tasks_ended_total", "Ended tasks, by state and by the strategy that was chosen.", "state", "strategy"
)
TASKS_FAILED = _EXECUTOR.define_counter(
    "purple_tasks_failed_total",
    "Failed tasks, by what did not work: model, tool_server, policy_service, "
    "worker where every attempt broke, or task where none of these is to blame.",
    "part",
)
TASK_QUALITY = _EXECUTOR.define_histogram(
    "purple_task_quality", "Quality of ended tasks, from 0 to 1; dry runs left out.", _SCORE_BUCKETS, "strategy"
)
STRATEGIES_CHOSEN = _EXECUTOR.define_counter("purple_strategies_chosen_total", "Choices of the bandit.", "strategy")
STRATEGIES_ABANDONED = _EXECUTOR.define_counter(
    "purple_strategies_left_total", "Strategies that could not be applied; fsm went on.", "strategy"
)
WRITES = _EXECUTOR.define_counter(
    "purple_writes_total",
    "Statuses that writes reached, in the ledger's words: verified, unverified, refused, absent, in_doubt ...; "
    "a notice, which nothing reads back, is sent.",
    "proof",
)
DOUBTS_SETTLED = _EXECUTOR.define_counter(
    "purple_doubts_settled_total", "Writes in doubt that an operator has spoken of.", "status"
)
APPROVALS_ASKED = _EXECUTOR.define_counter("purple_approvals_asked_total", "Approvals that were asked for.")
APPROVALS_ENDED = _EXECUTOR.define_counter(
    "purple_approvals_ended_total", "Approvals that were asked no more, by how they ended.", "status"
)

# What turns call.
MODEL_CALLS = _MODELS.define_counter(
    "purple_model_calls_total",
    "Calls of a tier and the model that answered them; outcome: answered, fallback, cut or unavailable.",
    "tier",
    "model",
    "outcome",
)
MODEL_SECONDS = _MODELS.define_histogram(
    "purple_model_seconds", "One call of a model, repetitions included.", _CALL_BUCKETS, "tier"
)
MODEL_TOKENS = _MODELS.define_counter(
    "purple_model_tokens_total",
    "Tokens as the API counted them; kind: input, output, cache_read, cache_write.",
    "tier",
    "model",
    "kind",
)
MODEL_MONEY = _EXECUTOR.define_counter(
    "purple_model_money_usd_total", "What the calls of tasks cost, by the price list.", "tier", "model"
)
TOOL_CALLS = _EXECUTOR.define_counter(
    "purple_tool_calls_total",
    "Calls of tool servers; kind: discover, read, recall, or call where something may change; outcome: ok, error, "
    "silent, unreachable, forbidden, or given_up where the turn ended first. Connections are the operator's names for "
    "them.",
    "connection",
    "kind",
    "outcome",
)
TOOL_SECONDS = _EXECUTOR.define_histogram(
    "purple_tool_seconds", "One call of a tool server, repetitions included.", _CALL_BUCKETS, "kind"
)
POLICY_ASKED = _EXECUTOR.define_counter(
    "purple_policy_asked_total",
    "Questions to the policy service; answer: what a verdict says (passed, approval, escalate, blocked, refused, "
    "indeterminate), answered, unavailable, or given_up where the turn ended first.",
    "question",
    "answer",
)
POLICY_SECONDS = _EXECUTOR.define_histogram(
    "purple_policy_seconds",
    "One question (verdict, allowances or prose) to the policy service, repetitions included.",
    _QUICK_BUCKETS,
    "question",
)

# Requests.
HTTP_REQUESTS = _HTTP.define_counter(
    "purple_http_requests_total",
    "Requests that were answered, by the pattern of their route; none: refused before a route was found, or there is "
    "none. Probes are left out.",
    "route",
    "method",
    "code",
)
HTTP_SECONDS = _HTTP.define_histogram(
    "purple_http_request_seconds",
    "One request to its last byte; a stream to its first. message/send of a blocking client waits for its task.",
    _REQUEST_BUCKETS,
    "route",
)
HTTP_OPEN_REQUESTS = _HTTP.define_gauge(
    "purple_http_open_requests", "Requests that are being answered, streams included."
)
HTTP_OPEN_STREAMS = _HTTP.define_gauge("purple_http_open_streams", "Streams of events that are open.")

# The gateway's own.
TURNS_ACCEPTED = _GATEWAY.define_counter(
    "purple_turns_accepted_total",
    "Messages that were taken; fresh: yes, or no where they had been taken before and were sent again.",
    "dialect",
    "fresh",
)
TURNS_REFUSED = _GATEWAY.define_counter(
    "purple_turns_refused_total",
    "Messages that were not taken; why: shed (too much work waits), crowded (too many messages of one session wait), "
    "stopped, other_session, ended or store.",
    "why",
)
WEBHOOKS = _GATEWAY.define_counter(
    "purple_webhooks_total",
    "Deliveries to webhooks; outcome: delivered, refused by the receiver, or undelivered.",
    "outcome",
)
WEBHOOKS_DISABLED = _GATEWAY.define_counter(
    "purple_webhooks_disabled_total", "Webhooks that were given up after their last try."
)
WEBHOOK_SECONDS = _GATEWAY.define_histogram("purple_webhook_seconds", "One delivery to a webhook.", _CALL_BUCKETS)

# The policy service's own.
VERDICTS = _POLICY.define_counter(
    "purple_verdicts_total", "Verdicts by the strictest thing they say; binding: yes or no.", "verdict", "binding"
)
VERDICT_SECONDS = _POLICY.define_histogram("purple_verdict_seconds", "Deciding one request.", _QUICK_BUCKETS)

# The learner's own.
OUTCOMES_APPLIED = _LEARNER.define_counter(
    "purple_outcomes_applied_total",
    "Outcomes that were settled; result: learned, known (applied before) or dead.",
    "result",
)
LEARNER_PARTITIONS = _LEARNER.define_gauge(
    "purple_learner_partitions", "Partitions that this learner reads; over all learners 64."
)
MEMORY_CHANGES = _LEARNER.define_counter(
    "purple_memory_total", "What this learner has remembered, found and forgotten.", "what"
)

STORE_UP = _STORE.define_gauge(
    "purple_store_up", "Whether Redis answered at this scrape (1) or not (0); then what is read is absent."
)
STORE_ROUND_TRIP = _STORE.define_gauge("purple_store_round_trip_seconds", "What one PING of Redis took at this scrape.")
BUILD = MetricScope.EVERY_SERVICE.define_gauge("purple_build_info", "1; which version runs.", "version", "service")

# The labels of series that begin at 0, so that their first increment is not missed.
INITIAL_LABELS_BY_METRIC: dict[str, tuple[tuple[str, ...], ...]] = {
    TURN_SECONDS.name: (("broken",),),
    TASKS_FAILED.name: (("model",), ("tool_server",), ("policy_service",), ("task",)),
    WRITES.name: (("verified",), ("unverified",), ("refused",), ("absent",), ("in_doubt",)),
    POLICY_ASKED.name: (("verdict", "unavailable"),),
    TURNS_REFUSED.name: (("shed",), ("crowded",), ("stopped",), ("store",)),
    WEBHOOKS.name: (("delivered",), ("refused",), ("undelivered",)),
    OUTCOMES_APPLIED.name: (("learned",), ("known",), ("dead",)),
}
METRICS: tuple[Metric, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
