"""Every Redis key of the product: its name, who writes it, how long it lives, and why it is there.

The learner empties what it has learned of a tenant that is to be forgotten, with what the executor has found for it.

All keys of one session, and of its tasks, carry the hash tag of the session's partition, so that one Lua step touches
one slot. Names are percent-quoted, so that a client's ``:`` or ``{`` cannot forge another key.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from typing import NamedTuple
from urllib.parse import quote, unquote

from shared.domain.partition import PARTITIONS, partition_of

DAY = 24 * 3600

DEDUPE_SECONDS = DAY  # how long a resent message still finds its first task
LIFTED_SECONDS = DAY  # how long it is remembered that a tenant's stop was lifted, against a late echo of the stop
SPEND_SECONDS = 62 * DAY  # how long a day's spending stays in Redis
TASK_RETENTION_SECONDS = 7 * DAY  # how long an ended task's record stays in Redis once the task is archived
DETAIL_SECONDS = 3600  # how long its ledger, approvals and events stay then; its journal leaves at once
SESSION_RETENTION_SECONDS = 30 * DAY  # how long a session without an open task stays in Redis
SHARED_SECONDS = 30 * DAY  # how long a text that journals name is kept after a process last stored it
THREAD_SECONDS = 30 * DAY  # how long a client's own task id leads to its newest task after its last use
APPLIED_SECONDS = TASK_RETENTION_SECONDS + DAY  # how long an applied outcome is known; its task has left by then
TRANSLATED_SECONDS = 30 * DAY  # how long a translated policy is kept after its last use
FAILING_SECONDS = 30 * DAY  # how long it is shown that a tenant's webhook failed, after its last failure
RPC_REPLY_SECONDS = 300  # how long the answer to a request between services is kept for whoever asked
CONSOLE_SECONDS = 12 * 3600  # how long somebody stays signed in to the console
ASSESSMENT_SECONDS = 90 * DAY  # how long an assessment is kept for the console
REFUSED_SECONDS = 300  # how long refused sign-ins of an address are counted
DEAD_KEY_SECONDS = 90 * DAY  # how long a revoked or expired API key is still shown to operators
PARTICIPATION_SECONDS = DAY  # how long an assessment that we take part in is kept after its last turn
EVENTS_KEPT = 2000  # events of one task, roughly; the journal holds what must not be lost

OUTCOME_GROUP = "learner"  # the consumer group on every partition's outcomes
MEMORY_GROUP = "memory"  # the group of those who find facts and entities in the same outcomes, at their own pace
OUTCOME_READER = "reader"  # its one consumer: which process that is, the partition's ``reader`` key says

MADE_TOOLS_SWITCH = "made_tools"  # its field in a tenant's switches

LIVE_CHANNEL = "pa:live"  # keeps the shared subscription open; nothing is published to it
NOTICES_CHANNEL = "pa:notices"  # something was published here: somebody is to be told of an approval
DELIVERIES_CHANNEL = "pa:deliveries"  # something was published here: some webhook is to be called
QUEUE = "pa:queue:wakes"
PLACES = "pa:queue:places"
TAKEN = "pa:queue:taken"
BELL = "pa:queue:bell"
HEALTH = "pa:queue:health"
LEARNERS = "pa:learners:alive"
MENDED = "pa:upkeep:mended"
SERVER = "pa:server:line"
PROBE = "pa:probe:write"
ADMITTING = "pa:admitting:line"
STOPS = "pa:tenants:stops"
FORGETTING = "pa:forgetting:open"
FACT_FINDING = "pa:fact_finding:open"


class KeyKind(NamedTuple):
    """One row of the table of keys. ``lifetime`` can be checked by a test: see ``Lifetime``."""

    suffix: str
    writers: str
    lifetime: str
    reason: str


# Lifetimes: "open" lives while its task or session is open and then for the stated retention; "empty" vanishes by
# itself when its last member goes; "kept" lives for good; "short" always carries a time to live.
SESSION_KINDS = (
    KeyKind("inbox", "gateway, executor", "empty", "list of turn ids: messages, first come first served"),
    KeyKind(
        "signals", "gateway, executor", "empty", "list of turn ids that go before the inbox: decision, cancel, deadline"
    ),
    KeyKind("turns", "gateway, executor", "empty", "hash turn id -> turn, until the turn is finished"),
    KeyKind(
        "begun",
        "executor",
        "empty",
        "hash turn id -> times begun; 'turn id:at' -> microsecond of acceptance; 'turn id:error' -> what broke it; "
        "'turn id:waits' -> a signal that waits while its tenant is stopped; "
        "'turn id:of' -> what the names of its task's keys begin with; "
        "'now' -> fence and turn",
    ),
    KeyKind(
        "session",
        "gateway, executor",
        "open",
        "hash: owner (principal's id), state (what the session remembers), last (its newest ended or waiting task), "
        "evicted (ms: what it remembers is in the archive)",
    ),
    KeyKind("lease", "executor", "open", "hash: owner, until (ms), fence; the fence outlives the lease"),
    KeyKind("open", "gateway, executor", "empty", "set of task ids that have not ended"),
)
TASK_KINDS = (
    KeyKind(
        "record",
        "gateway, executor",
        "open",
        "hash: json, version, state, ended, outcome (event id once counted), buried (turn given up), listed "
        "(where it is listed)",
    ),
    KeyKind("journal", "executor", "open", "stream of finished steps"),
    KeyKind("ledger", "executor", "open", "hash write key -> status, newline, entry"),
    KeyKind(
        "events", "gateway, executor", "open", "stream of the task's live story, capped; its name is also the channel"
    ),
    KeyKind("approvals", "executor", "open", "hash approval id -> approval; 'latest' -> id"),
    KeyKind(
        "push",
        "gateway",
        "open",
        "hash member of 'deliveries' -> a client's webhook: on or off, newline, how far it was told, newline, "
        "what it was set to (encrypted)",
    ),
)
PARTITION_KINDS = (
    KeyKind(
        "waiting",
        "gateway, executor",
        "empty",
        "sorted set of sessions with work and no lease; score: when to look after it (ms)",
    ),
    KeyKind("leased", "executor", "empty", "sorted set of sessions with a lease; score: its end (ms)"),
    KeyKind("timers", "executor", "empty", "sorted set of deadlines; score: due (ms)"),
    KeyKind("outcomes", "executor", "kept", "stream of ended tasks; the learner trims what it has applied"),
    KeyKind(
        "unarchived", "executor", "empty", "sorted set of ended tasks not archived yet; score: when to look next (ms)"
    ),
    KeyKind("idle", "executor", "short", "sorted set of sessions without work; score: since when (ms)"),
    KeyKind("reaper", "executor", "short", "the short lock of one partition's upkeep"),
    KeyKind("reader", "learner", "short", "which learner reads the partition's outcomes now"),
    KeyKind("rememberer", "learner", "short", "which learner finds facts in the partition's outcomes now"),
    KeyKind("dead", "learner", "kept", "stream of outcomes that could not be applied, with tries and error"),
    KeyKind("dead_turns", "executor", "kept", "stream of turns that were given up, until an operator takes them out"),
    KeyKind(
        "deliveries",
        "gateway, executor",
        "empty",
        "sorted set of webhooks that are to be called; score: when, or the end of a claim (ms)",
    ),
    KeyKind(
        "notices",
        "gateway, executor",
        "empty",
        "sorted set of what a tenant's targets are to be told of its approvals; score: when to look next (ms)",
    ),
    KeyKind("posts", "gateway", "empty", "hash member of 'deliveries' -> a notice, as in 'push', until delivered"),
    KeyKind("doubting", "executor", "empty", "sorted set of tasks that wait for an operator's word; score: since (ms)"),
    KeyKind("asking", "executor", "empty", "sorted set of all tenants' approvals that wait; score: asked at (ms)"),
)
LEARNED_KINDS = (
    KeyKind("applied", "learner", "kept", "sorted set of applied event ids; score: when (ms); older ones are trimmed"),
    KeyKind("arms", "learner", "kept", "hash 'process type:strategy:n' -> pulls, '...:units' -> sum of rewards"),
    KeyKind("cases", "learner", "kept", "list of case entries, newest first, capped"),
    KeyKind("counts", "learner", "kept", "hash: events, success, partial, failure, quality_units"),
    KeyKind(
        "trends",
        "learner",
        "kept",
        "hash 'quality' or 'arm:process type:strategy' -> points 'n:sum of rewards:when (ms)', spaces between, capped",
    ),
    KeyKind("days", "learner", "kept", "hash 'day:count' -> as in 'counts', of one day (UTC), the last 400 days"),
    KeyKind("tools", "executor", "kept", "set of the names of the tools that discovery has found, capped"),
    KeyKind("knowledge", "learner", "kept", "list of reusable facts, newest first, capped"),
    KeyKind("entities", "learner", "kept", "hash kind, colon, value -> entity that tasks named, capped"),
    KeyKind("entity_links", "learner", "kept", "hash field of 'entities' -> what it stood with, and its last tasks"),
    KeyKind("entity_ages", "learner", "kept", "sorted set of the fields of 'entities'; score: last seen (ms)"),
    KeyKind("accuracy", "learner", "kept", "hash 'process type:kind of threshold' -> how often predictions held"),
    KeyKind("remembered", "learner", "kept", "sorted set of ids of events whose facts are kept; like 'applied'"),
    KeyKind("fact_todos", "learner", "empty", "hash event id -> what facts are still to be found in, capped"),
    KeyKind(
        "memory",
        "learner",
        "kept",
        "hash: version (of facts, entities, accuracy), change (the last that a file or a request made), facts' cost",
    ),
    KeyKind(
        "forgets", "gateway, learner", "kept", "hash request id -> what is to be forgotten, and how far it is; capped"
    ),
    KeyKind("seeded", "learner", "kept", "hash object of training rows -> its version, newline, what came of it"),
    KeyKind("seeding", "learner", "short", "which learner loads training rows now"),
    KeyKind("synthesized", "executor", "kept", "hash process type -> synthesized process"),
    KeyKind(
        "made",
        "executor, gateway",
        "kept",
        "hash name@version -> made tool; the executor only adds fields, the gateway only marks one as removed",
    ),
    KeyKind("switches", "gateway", "kept", "hash switch -> on or off, in place of what the tenant's record says"),
)
OTHER_KINDS = (
    KeyKind("dedupe", "gateway", "short", "message of a caller -> task id, newline, turn id"),
    KeyKind(
        "thread", "gateway", "short", "hash of a client's own task id: its newest task, decisions and answers given"
    ),
    KeyKind("alias", "gateway, executor", "open", "a task id that a client knows -> task id, newline, session id"),
    KeyKind(
        "listed",
        "gateway, executor",
        "open",
        "sorted set of tasks in one state, of an owner, a tenant or a session; score: last change (us)",
    ),
    KeyKind("asked", "executor", "empty", "sorted set of a tenant's approvals that wait; score: their deadline (ms)"),
    KeyKind("approval", "executor", "open", "the id of an approval -> its task, as 'unarchived' names it"),
    KeyKind("key", "gateway", "open", "hash of an API key: json (secret as a digest), revoked_at, limits, used_at (s)"),
    KeyKind("keys", "gateway", "kept", "set of the ids of a tenant's API keys"),
    KeyKind(
        "participation",
        "gateway, learner",
        "short",
        "hash of a session in which this worker is measured: assessment, caller, turns, json (the world's key sealed)",
    ),
    KeyKind("participant", "gateway", "short", "the session in which a caller has last begun to measure this worker"),
    KeyKind("rate", "gateway", "short", "of a caller's requests or messages: when all of its allowance is back (us)"),
    KeyKind("quota", "gateway", "short", "day, colon, how many messages a caller has sent on it"),
    KeyKind("failing", "gateway", "short", "hash of a tenant: member of 'deliveries' -> a webhook that fails"),
    KeyKind("console", "gateway", "short", "a sign-in to the console, sealed with a key that only its cookie holds"),
    KeyKind(
        "assessments",
        "gateway",
        "short",
        "kept assessments of a tenant: order (sorted set of ids; score: since when, ms), hashes cards, bodies; capped",
    ),
    KeyKind("console_refused", "gateway", "short", "how often an address was lately refused at the console's sign-in"),
    KeyKind(
        "tenant_record",
        "gateway",
        "kept",
        "hash of a tenant's record: latest (its version now), and version -> what it said, who wrote it, when; capped",
    ),
    KeyKind("upkeep", "executor", "kept", "hash kind of fault -> how often executors have found and mended it"),
    KeyKind("tenants", "gateway", "kept", "hash tenant -> version, newline, why it is stopped (empty: it is not)"),
    KeyKind(
        "stopped",
        "gateway, executor",
        "kept",
        "the tenant's row of 'tenants', spread to each partition; once lifted it goes after a day",
    ),
    KeyKind(
        "spend",
        "executor, learner",
        "short",
        "hash of a tenant's day: tokens, nanos, calls; reserved_tokens, reserved_nanos and 'r:call' -> set aside",
    ),
    KeyKind(
        "seats",
        "executor",
        "short",
        "of a tenant with a cap, sorted sets of sessions: running (score: end of the slot, ms), queue (since when)",
    ),
    KeyKind("translated", "executor", "short", "a prose policy as rules, by the hash of its text and tools"),
    KeyKind(
        "fact_finding",
        "learner",
        "empty",
        "sorted set of events whose facts are to be found; score: when, or the end of a claim (ms)",
    ),
    KeyKind(
        "forgetting",
        "gateway, learner",
        "empty",
        "sorted set of requests to forget that are open; score: when to look at it next (ms)",
    ),
    KeyKind("errands", "gateway, learner", "short", "list of what a service is asked to do: id, newline, what"),
    KeyKind("errand", "executor, learner", "short", "the answer to a request between services"),
    KeyKind("executors", "executor", "short", "set of the executors of one machine: who finds that another died"),
    KeyKind("learners", "learner", "short", "sorted set of the learners that live; score: last sign of life (ms)"),
    KeyKind(
        "admitting",
        "gateway",
        "short",
        "on a cluster, sorted set of those who are about to store a message; score: until when (us), in their order",
    ),
    KeyKind("probe", "all", "short", "written by whoever asks whether the server takes writes"),
    KeyKind(
        "server",
        "all",
        "kept",
        "hash of the state's line of servers: id, stopped, failed_over, restored, crashed (us); see lineage.lua",
    ),
)
QUEUE_KEYS = (
    KeyKind(
        QUEUE,
        "gateway, executor",
        "empty",
        "arq's queue of wakes: sorted set of sessions; score: place, see queue_wakes.lua; may be lost without harm",
    ),
    KeyKind(PLACES, "gateway, executor", "short", "sorted set of tenants; score: the last place given to one"),
    KeyKind(
        TAKEN, "executor", "short", "sorted set of sessions just taken; score: until when nobody else is told (ms)"
    ),
    KeyKind(BELL, "gateway, executor", "empty", "list, trimmed: rings an executor out of its poll"),
    KeyKind(HEALTH, "executor", "short", "arq's own health record"),
    KeyKind("arq:job:", "gateway, executor", "short", "the wake of one session"),
    KeyKind("arq:retry:", "executor", "short", "arq's count of tries"),
    KeyKind("arq:in-progress:", "executor", "short", "arq's lock of one wake"),
)


@dataclass(frozen=True, slots=True)
class SessionKeys:
    inbox: str
    signals: str
    turns: str
    begun: str
    session: str
    lease: str
    open: str


@dataclass(frozen=True, slots=True)
class TaskKeys:
    record: str
    journal: str
    ledger: str
    events: str
    approvals: str
    push: str


@dataclass(frozen=True, slots=True)
class PartitionKeys:
    waiting: str
    leased: str
    timers: str
    outcomes: str
    unarchived: str
    idle: str
    reaper: str
    reader: str
    rememberer: str
    dead: str
    dead_turns: str
    deliveries: str
    posts: str
    notices: str
    asking: str
    doubting: str


@dataclass(frozen=True, slots=True)
class LearnedKeys:
    applied: str
    arms: str
    cases: str
    counts: str
    trends: str
    days: str
    tools: str
    knowledge: str
    entities: str
    entity_links: str
    entity_ages: str
    accuracy: str
    remembered: str
    fact_todos: str
    memory: str
    forgets: str
    seeded: str
    seeding: str
    synthesized: str
    made: str
    switches: str


def session_keys(tenant: str, session_id: str) -> SessionKeys:
    stem = f"{_tag(partition_of(tenant, session_id))}:s:{_q(tenant)}:{_q(session_id)}"
    return SessionKeys(*(f"{stem}:{field.name}" for field in fields(SessionKeys)))


def task_keys(tenant: str, session_id: str, task_id: str) -> TaskKeys:
    stem = f"{_tag(partition_of(tenant, session_id))}:t:{_q(tenant)}:{_q(task_id)}"
    return TaskKeys(*(f"{stem}:{field.name}" for field in fields(TaskKeys)))


class ListStems(NamedTuple):
    """How the names of a task's lists begin: the owner's, the tenant's and the session's. A state's name follows."""

    owner: str
    tenant: str
    session: str


def list_stems(partition: int, tenant: str, owner: str = "", session_id: str = "") -> ListStems:
    stem = f"{_tag(partition)}:listed:{_q(tenant)}"
    return ListStems(f"{stem}:of:{_q(owner)}:", f"{stem}:all:", f"{stem}:in:{_q(session_id)}:")


def listing_argument(tenant: str, owner: str, session_id: str, task_id: str) -> str:
    """The lists a task belongs to and its member in them, as one argument of the scripts."""
    stems = list_stems(partition_of(tenant, session_id), tenant, owner, session_id)
    return "\n".join((*stems, _q(task_id), str(TASK_RETENTION_SECONDS)))


def listed_record(partition: int, tenant: str, member: str) -> str:
    """The record key of a task that is a member of a partition's list. Older members also name tenant and session."""
    return f"{_tag(partition)}:t:{_q(tenant)}:{member.rpartition(':')[2]}:record"


@cache
def partition_keys(partition: int) -> PartitionKeys:
    return PartitionKeys(*(f"{_tag(partition)}:{field.name}" for field in fields(PartitionKeys)))


def partition_keys_of(tenant: str, session_id: str) -> PartitionKeys:
    return partition_keys(partition_of(tenant, session_id))


def all_partitions() -> Iterator[PartitionKeys]:
    return (partition_keys(number) for number in range(PARTITIONS))


@lru_cache(maxsize=1_024)
def learned_keys(tenant: str) -> LearnedKeys:
    """The keys of what is learned for a tenant, in one slot, so that one Lua step applies one outcome."""
    return LearnedKeys(*(f"pa:{{t:{_q(tenant)}}}:{field.name}" for field in fields(LearnedKeys)))


def shared_key(tenant: str, name: str) -> str:
    """The key of a text that the journals of the tenant's tasks refer to by ``name``."""
    return f"pa:{{t:{_q(tenant)}}}:shared:{name}"


def made_field(name: str, version: int) -> str:
    """The field of one version of a made tool in the tenant's hash of them."""
    return f"{_q(name)}@{version}"


class ArmFields(NamedTuple):
    """The fields of one arm in the hash of arms."""

    n: str
    units: str


def arm_fields(process_type: str, strategy: str) -> ArmFields:
    stem = f"{_q(process_type)}:{_q(strategy)}"
    return ArmFields(f"{stem}:n", f"{stem}:units")


def accuracy_field(process_type: str, kind: str) -> str:
    return f"{_q(process_type)}:{kind}"


def unpack_accuracy_field(field: str) -> tuple[str, str]:
    process_type, kind = field.split(":")
    return unquote(process_type), kind


QUALITY_TREND = "quality"


def arm_trend(process_type: str, strategy: str) -> str:
    """The field of an arm in the hash of trends."""
    return f"arm:{_q(process_type)}:{_q(strategy)}"


def unpack_arm_trend(field: str) -> tuple[str, str] | None:
    """Process type and strategy of a trend's field; None for a trend that is not an arm's."""
    kind, *names = map(unquote, field.split(":"))
    return (names[0], names[1]) if kind == "arm" and len(names) == 2 else None


def day_field(day: str, count: str) -> str:
    """The field of one count of one day (YYYY-MM-DD, UTC) in the hash of days."""
    return f"{day}:{count}"


def unpack_arm_field(field: str) -> tuple[str, str, str]:
    """Process type, strategy, and which of the arm's two numbers the field is."""
    process_type, strategy, number = map(unquote, field.split(":"))
    return process_type, strategy, number


def dedupe_key(tenant: str, session_id: str, principal_id: str, message: str) -> str:
    """The key that recognises a message sent again. In the session's slot: only resends within a session are found."""
    return f"{_tag(partition_of(tenant, session_id))}:dedupe:{_q(tenant)}:{_q(principal_id)}:{_q(message)}"


def alias_key(tenant: str, task_id: str) -> str:
    """The key that leads from a task's id to the task. In a slot of its own: who asks may know nothing but the id."""
    return f"pa:alias:{_q(tenant)}:{_q(task_id)}"


def thread_key(tenant: str, client_id: str) -> str:
    """The key of a thread of a client. In a slot of its own: it is read before the session is known."""
    return f"pa:thread:{_q(tenant)}:{_q(client_id)}"


def participation_key(tenant: str, session_id: str) -> str:
    """The key of a session's participation, in the session's slot so that both are forgotten together."""
    return f"{_tag(partition_of(tenant, session_id))}:participation:{_q(tenant)}:{_q(session_id)}"


def participant_key(tenant: str, principal_id: str) -> str:
    """The key of a participant. In a slot of its own: it is read before the session is known."""
    return f"pa:participant:{_q(tenant)}:{_q(principal_id)}"


def stopped_key(tenant: str, session_id: str) -> str:
    """The key that says whether the session's tenant is stopped, in the session's slot."""
    return stopped_key_in(partition_of(tenant, session_id), tenant)


def stopped_key_in(partition: int, tenant: str) -> str:
    return f"{_tag(partition)}:stopped:{_q(tenant)}"


def asked_key(partition: int, tenant: str) -> str:
    return f"{_tag(partition)}:asked:{_q(tenant)}"


def approval_key(partition: int, tenant: str, approval_id: str) -> str:
    return f"{_tag(partition)}:approval:{_q(tenant)}:{_q(approval_id)}"


def api_key(key_id: str) -> str:
    """The key of an API key's record. In a slot of its own: who sends a key names no tenant."""
    return f"pa:key:{_q(key_id)}"


class RateKeys(NamedTuple):
    requests: str
    messages: str
    daily: str


def rate_keys_of_key(key_id: str) -> RateKeys:
    """The keys that count an API key's requests, in the slot of its record so that one step reads and counts."""
    return _rate_keys(api_key(key_id))


def rate_keys_of_bearer(tenant: str, principal_id: str) -> RateKeys:
    return _rate_keys(f"pa:bearer:{_q(tenant)}:{_q(principal_id)}")


def _rate_keys(subject: str) -> RateKeys:
    return RateKeys(f"pa:rate:{{{subject}}}:requests", f"pa:rate:{{{subject}}}:messages", f"pa:quota:{{{subject}}}")


def api_keys_of(tenant: str) -> str:
    return f"pa:keys:{_q(tenant)}"


def rpc_queue_key(doer: str) -> str:
    return f"pa:errands:{_q(doer)}"


def rpc_reply_key(request_id: str) -> str:
    return f"pa:errand:{_q(request_id)}"


def failing_key(tenant: str) -> str:
    return f"pa:failing:{_q(tenant)}"


def console_key(name: str) -> str:
    return f"pa:console:{_q(name)}"


def console_refused_key(address: str) -> str:
    return f"pa:console_refused:{_q(address)}"


class AssessmentKeys(NamedTuple):
    order: str
    cards: str
    bodies: str


def assessment_keys(tenant: str) -> AssessmentKeys:
    """The keys of a tenant's assessments, in one slot so that one step adds one and drops the oldest."""
    return AssessmentKeys(*(f"pa:assessments:{{{_q(tenant)}}}:{name}" for name in AssessmentKeys._fields))


def tenant_record_key(tenant: str) -> str:
    return f"pa:tenant_record:{_q(tenant)}"


def members_of(tenant: str) -> str:
    """How the members of a tenant's sessions begin in a partition's sets."""
    return f"{_q(tenant)}:"


def spend_key(tenant: str, day: str) -> str:
    """The key of what a tenant spent on one day (YYYY-MM-DD by the tenant's calendar)."""
    return f"pa:spend:{_q(tenant)}:{day}"


class SlotKeys(NamedTuple):
    running: str
    queue: str


def slot_keys(tenant: str) -> SlotKeys:
    """The keys of a tenant's sessions that run and of those that wait for an executor, in one slot of Redis."""
    stem = f"pa:seats:{{{_q(tenant)}}}"
    return SlotKeys(f"{stem}:running", f"{stem}:queue")


def executors_key(machine: str) -> str:
    """The key of the set of executors on one machine."""
    return f"pa:executors:{machine}"


def translated_key(tenant: str, key: str) -> str:
    return f"pa:translated:{_q(tenant)}:{_q(key)}"


class Member(NamedTuple):
    """A session as the partition's sets name it."""

    tenant: str
    session_id: str


class TimerMember(NamedTuple):
    """A deadline as the partition's timer set names it."""

    tenant: str
    session_id: str
    task_id: str
    subject: str


class WebhookMember(NamedTuple):
    """A client's webhook as a partition's deliveries name it. It receives a task's events in order."""

    tenant: str
    session_id: str
    task_id: str
    config_id: str


class PostMember(NamedTuple):
    """A notice that is delivered once, as a partition's deliveries name it."""

    tenant: str
    post_id: str


class AskedMember(NamedTuple):
    """An approval that waits, as its tenant's set of them names it."""

    approval_id: str
    tenant: str
    session_id: str
    task_id: str


class NoticeMember(NamedTuple):
    """A notice about an approval that is still to be sent; ``step`` counts the levels already passed."""

    event: str
    step: str
    approval_id: str
    tenant: str
    session_id: str
    task_id: str


class FactMember(NamedTuple):
    """An event whose facts are still to be extracted."""

    tenant: str
    event_id: str


class ForgetMember(NamedTuple):
    """A request to forget, as the set of open ones names it."""

    tenant: str
    request_id: str


class EndedMember(NamedTuple):
    """An ended task as the partition's set of those not archived names it."""

    tenant: str
    session_id: str
    task_id: str


def pack(
    parts: Member
    | TimerMember
    | EndedMember
    | WebhookMember
    | PostMember
    | AskedMember
    | NoticeMember
    | ForgetMember
    | FactMember,
) -> str:
    return ":".join(_q(part) for part in parts)


def unpack_member(text: str) -> Member:
    tenant, session_id = map(unquote, text.split(":"))
    return Member(tenant, session_id)


def tenant_of(member: str) -> str:
    """The tenant of a session, from a member of any of the sets."""
    return unquote(member.partition(":")[0])


def unpack_fact(text: str) -> FactMember:
    tenant, event_id = map(unquote, text.split(":"))
    return FactMember(tenant, event_id)


def unpack_forget(text: str) -> ForgetMember:
    tenant, request_id = map(unquote, text.split(":"))
    return ForgetMember(tenant, request_id)


def unpack_ended(text: str) -> EndedMember:
    tenant, session_id, task_id = map(unquote, text.split(":"))
    return EndedMember(tenant, session_id, task_id)


def unpack_delivery(text: str) -> WebhookMember | PostMember:
    parts = tuple(map(unquote, text.split(":")))
    return PostMember(*parts) if len(parts) == len(PostMember._fields) else WebhookMember(*parts)


def unpack_asked(text: str) -> AskedMember:
    return AskedMember(*map(unquote, text.split(":")))


def unpack_notice(text: str) -> NoticeMember:
    return NoticeMember(*map(unquote, text.split(":")))


def unpack_timer(text: str) -> TimerMember:
    tenant, session_id, task_id, subject = map(unquote, text.split(":"))
    return TimerMember(tenant, session_id, task_id, subject)


def _tag(partition: int) -> str:
    return f"pa:{{p{partition:02d}}}"


@lru_cache(maxsize=8_192)  # a name is quoted for each key that it stands in
def _q(part: str) -> str:
    return part if _NEEDS_NO_QUOTES.fullmatch(part) else quote(part, safe="")


_NEEDS_NO_QUOTES = re.compile(r"[A-Za-z0-9_.~-]*")  # what ``quote`` leaves as it is, as most names are
