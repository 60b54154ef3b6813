"""All Redis keys of the product. ``docs/redis-keys.md`` says who writes each, how long it lives, and why.

All keys of a session and its tasks have the hash tag of the session's partition, so that a Lua script uses one cluster
slot. Names are percent-encoded, so that a client's ``:`` or ``{`` cannot form another key.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from typing import NamedTuple, TypeVar
from urllib.parse import quote, unquote

from shared.domain.partition import PARTITIONS, partition_of

ONE_DAY = 24 * 3600

DEDUPE_SECONDS = ONE_DAY  # how long a resent message still finds its first task
LIFTED_STOP_SECONDS = ONE_DAY  # how long it is known that a tenant's stop was lifted, against a late copy of the stop
SPEND_RETENTION_SECONDS = 62 * ONE_DAY  # how long a day's spending stays in Redis
TASK_RETENTION_SECONDS = 7 * ONE_DAY  # how long an ended task's record stays in Redis once the task is archived
TASK_DETAIL_RETENTION_SECONDS = 3600  # how long its ledger, approvals and events stay then; its journal leaves at once
SESSION_RETENTION_SECONDS = 30 * ONE_DAY  # how long a session without an open task stays in Redis
SHARED_TEXT_RETENTION_SECONDS = 30 * ONE_DAY  # how long a text that journals name is kept after its last storing
CLIENT_TASK_ID_SECONDS = 30 * ONE_DAY  # how long a client's own task id leads to its newest task after its last use
APPLIED_OUTCOME_SECONDS = TASK_RETENTION_SECONDS + ONE_DAY  # how long an applied outcome is known: beyond its task
TRANSLATED_POLICY_SECONDS = 30 * ONE_DAY  # how long a translated policy is kept after its last use
FAILING_WEBHOOK_SECONDS = 30 * ONE_DAY  # how long it is shown that a tenant's webhook failed, after its last failure
RPC_REPLY_SECONDS = 300  # how long the answer to a request between services is kept for the caller
CONSOLE_SESSION_SECONDS = 12 * 3600  # how long somebody stays signed in to the console
ASSESSMENT_SECONDS = 90 * ONE_DAY  # how long an assessment is kept for the console
REFUSED_SIGN_INS_SECONDS = 300  # how long refused sign-ins of an address are counted
REVOKED_KEY_SHOWN_SECONDS = 90 * ONE_DAY  # how long a revoked or expired API key is still shown to operators
PARTICIPATION_SECONDS = ONE_DAY  # how long an assessment that we take part in is kept after its last turn
EVENTS_KEPT = 2000  # events of one task, roughly; the journal holds what must not be lost

OUTCOME_GROUP = "learner"  # the consumer group on every partition's outcomes
MEMORY_GROUP = "memory"  # the group of those who find facts and entities in the same outcomes, at their own pace
OUTCOME_GROUPS = (OUTCOME_GROUP, MEMORY_GROUP)  # each reads all outcomes, whichever settles them first
OUTCOME_READER = "reader"  # its one consumer: which process that is, the partition's ``reader`` key says

MADE_TOOLS_SWITCH = "made_tools"  # its field in a tenant's switches

KEEP_OPEN_CHANNEL = "pa:live"  # keeps the shared subscription open; nothing is published to it
NOTICES_CHANNEL = "pa:notices"  # something was published here: somebody is to be told of an approval
DELIVERIES_CHANNEL = "pa:deliveries"  # something was published here: some webhook is to be called
QUEUE_KEY = "pa:queue:wakes"
QUEUE_PLACES_KEY = "pa:queue:places"
TAKEN_WAKES_KEY = "pa:queue:taken"
DOORBELL_KEY = "pa:queue:bell"
QUEUE_HEALTH_KEY = "pa:queue:health"
LIVE_LEARNERS_KEY = "pa:learners:alive"
UPKEEP_FAULTS_KEY = "pa:upkeep:mended"
SERVER_LINEAGE_KEY = "pa:server:line"
PROBE_KEY = "pa:probe:write"
ADMISSION_KEY = "pa:admitting:line"
TENANT_STOPS_KEY = "pa:tenants:stops"
OPEN_FORGET_REQUESTS = "pa:forgetting:open"
OPEN_FACT_SEARCHES = "pa:fact_finding:open"


@dataclass(frozen=True, slots=True)
class SessionKeys:
    """The Redis keys of one session, all in its partition's slot."""

    inbox: str
    signals: str
    turns: str
    begun: str
    session: str
    lease: str
    open: str


@dataclass(frozen=True, slots=True)
class TaskKeys:
    """The Redis keys of one task, all in its session's slot."""

    record: str
    journal: str
    ledger: str
    events: str
    approvals: str
    push: str


@dataclass(frozen=True, slots=True)
class PartitionKeys:
    """The Redis keys that the sessions of one partition share."""

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
    """The Redis keys of what is learned of one tenant."""

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
    synthesized: str
    made: str
    switches: str


# What leaves when a tenant is forgotten. Not the ids of what was applied and remembered: without them an outcome of
# before could be counted anew.
FORGOTTEN_OF_TENANT = (
    *("arms", "cases", "counts", "trends", "days", "knowledge", "entities", "entity_links", "entity_ages"),
    *("accuracy", "fact_todos", "tools", "synthesized"),
)


def session_keys(tenant: str, session_id: str) -> SessionKeys:
    stem = f"{_partition_prefix(partition_of(tenant, session_id))}:s:{_escape_part(tenant)}:{_escape_part(session_id)}"
    return SessionKeys(*(f"{stem}:{field.name}" for field in fields(SessionKeys)))


def task_keys(tenant: str, session_id: str, task_id: str) -> TaskKeys:
    stem = f"{_partition_prefix(partition_of(tenant, session_id))}:t:{_escape_part(tenant)}:{_escape_part(task_id)}"
    return TaskKeys(*(f"{stem}:{field.name}" for field in fields(TaskKeys)))


class TaskListPrefixes(NamedTuple):
    """How the keys of a task's lists begin: its owner's, its tenant's and its session's. A state's name is appended."""

    owner: str
    tenant: str
    session: str


def task_list_prefixes(partition: int, tenant: str, owner: str = "", session_id: str = "") -> TaskListPrefixes:
    stem = f"{_partition_prefix(partition)}:listed:{_escape_part(tenant)}"
    return TaskListPrefixes(
        f"{stem}:of:{_escape_part(owner)}:", f"{stem}:all:", f"{stem}:in:{_escape_part(session_id)}:"
    )


def build_task_lists_argument(tenant: str, owner: str, session_id: str, task_id: str) -> str:
    """The lists that a task belongs to and its member in them, as one script argument."""
    stems = task_list_prefixes(partition_of(tenant, session_id), tenant, owner, session_id)
    return "\n".join((*stems, _escape_part(task_id), str(TASK_RETENTION_SECONDS)))


def task_record_key_of_list_member(partition: int, tenant: str, member: str) -> str:
    """The record key of a task in a partition's list. Members of older releases also name tenant and session."""
    return f"{_partition_prefix(partition)}:t:{_escape_part(tenant)}:{member.rpartition(':')[2]}:record"


@cache
def partition_keys(partition: int) -> PartitionKeys:
    return PartitionKeys(*(f"{_partition_prefix(partition)}:{field.name}" for field in fields(PartitionKeys)))


def partition_keys_of(tenant: str, session_id: str) -> PartitionKeys:
    return partition_keys(partition_of(tenant, session_id))


def all_partitions() -> Iterator[PartitionKeys]:
    return (partition_keys(number) for number in range(PARTITIONS))


@lru_cache(maxsize=1_024)
def learned_keys(tenant: str) -> LearnedKeys:
    """The keys of what is learned for a tenant, in one slot, so that one script applies an outcome."""
    return LearnedKeys(*(f"pa:{{t:{_escape_part(tenant)}}}:{field.name}" for field in fields(LearnedKeys)))


def shared_text_key(tenant: str, name: str) -> str:
    """The key of a shared text that the tenant's journals refer to by ``name``."""
    return f"pa:{{t:{_escape_part(tenant)}}}:shared:{name}"


def made_tool_field(name: str, version: int) -> str:
    """The hash field of one version of a made tool."""
    return f"{_escape_part(name)}@{version}"


class ArmFields(NamedTuple):
    """The fields of one arm in the hash of arms."""

    n: str
    units: str


def arm_fields(process_type: str, strategy: str) -> ArmFields:
    stem = f"{_escape_part(process_type)}:{_escape_part(strategy)}"
    return ArmFields(f"{stem}:n", f"{stem}:units")


def accuracy_field(process_type: str, kind: str) -> str:
    return f"{_escape_part(process_type)}:{kind}"


def unpack_accuracy_field(field: str) -> tuple[str, str]:
    """The process type and kind in a field of ``accuracy_field``."""
    process_type, kind = field.split(":")
    return unquote(process_type), kind


QUALITY_TREND = "quality"


def trend_field(process_type: str, strategy: str) -> str:
    """The hash field of an arm's trend."""
    return f"arm:{_escape_part(process_type)}:{_escape_part(strategy)}"


def unpack_trend_field(field: str) -> tuple[str, str] | None:
    """Process type and strategy in a trend's field; None for other trends."""
    kind, *names = map(unquote, field.split(":"))
    return (names[0], names[1]) if kind == "arm" and len(names) == 2 else None


def unpack_arm_field(field: str) -> tuple[str, str, str]:
    """Process type, strategy, and which of the arm's two numbers the field holds."""
    process_type, strategy, number = map(unquote, field.split(":"))
    return process_type, strategy, number


def dedupe_key(tenant: str, session_id: str, principal_id: str, message: str) -> str:
    """The key by which a repeated message is recognised, within its session."""
    names = ":".join(map(_escape_part, (tenant, session_id, principal_id, message)))
    return f"{_partition_prefix(partition_of(tenant, session_id))}:dedupe:{names}"


def task_location_key(tenant: str, task_id: str) -> str:
    """The key that leads from a task's id to its session, in its own slot, because a caller may know only the id."""
    return f"pa:alias:{_escape_part(tenant)}:{_escape_part(task_id)}"


def client_task_key(tenant: str, alias: str) -> str:
    """The key of what is stored under a client's own task id, in its own slot, because the session is not known yet."""
    return f"pa:thread:{_escape_part(tenant)}:{_escape_part(alias)}"


def participation_key(tenant: str, session_id: str) -> str:
    """The key of a session's participation in an assessment, in the session's slot."""
    prefix = _partition_prefix(partition_of(tenant, session_id))
    return f"{prefix}:participation:{_escape_part(tenant)}:{_escape_part(session_id)}"


def participant_key(tenant: str, principal_id: str) -> str:
    """The key of an assessment's participant, in its own slot, because it is read before the session is known."""
    return f"pa:participant:{_escape_part(tenant)}:{_escape_part(principal_id)}"


def tenant_stop_key(tenant: str, session_id: str) -> str:
    """The key of the copy of the tenant's stop in the session's slot."""
    return tenant_stop_key_in(partition_of(tenant, session_id), tenant)


def tenant_stop_key_in(partition: int, tenant: str) -> str:
    return f"{_partition_prefix(partition)}:stopped:{_escape_part(tenant)}"


def waiting_approvals_key(partition: int, tenant: str) -> str:
    return f"{_partition_prefix(partition)}:asked:{_escape_part(tenant)}"


def approval_key(partition: int, tenant: str, approval_id: str) -> str:
    return f"{_partition_prefix(partition)}:approval:{_escape_part(tenant)}:{_escape_part(approval_id)}"


def _make_key_builder(kind: str) -> Callable[[str], str]:
    """Returns a function that builds keys of this kind, each in a slot of its own."""
    return lambda text: f"pa:{kind}:{_escape_part(text)}"


api_key = _make_key_builder("key")  # the record of an API key: who sends one names no tenant
tenant_api_keys_key = _make_key_builder("keys")
rpc_queue_key = _make_key_builder("errands")
rpc_reply_key = _make_key_builder("errand")
failing_webhooks_key = _make_key_builder("failing")
console_session_key = _make_key_builder("console")
refused_sign_ins_key = _make_key_builder("console_refused")
tenant_record_key = _make_key_builder("tenant_record")


class RateKeys(NamedTuple):
    """The Redis keys that count a caller's requests, messages and daily use."""

    requests: str
    messages: str
    daily: str


def rate_keys_of_api_key(key_id: str) -> RateKeys:
    """The keys that count an API key's requests, in the slot of its record, so that one script reads and counts."""
    return _rate_keys(api_key(key_id))


def rate_keys_of_bearer(tenant: str, principal_id: str) -> RateKeys:
    return _rate_keys(f"pa:bearer:{_escape_part(tenant)}:{_escape_part(principal_id)}")


def _rate_keys(subject: str) -> RateKeys:
    return RateKeys(f"pa:rate:{{{subject}}}:requests", f"pa:rate:{{{subject}}}:messages", f"pa:quota:{{{subject}}}")


class AssessmentKeys(NamedTuple):
    """The Redis keys of a tenant's stored assessments: their order, summaries and contents."""

    order: str
    cards: str
    bodies: str


def assessment_keys(tenant: str) -> AssessmentKeys:
    """The keys of a tenant's assessments, in one slot, so that one script adds one and drops the oldest."""
    return AssessmentKeys(*(f"pa:assessments:{{{_escape_part(tenant)}}}:{name}" for name in AssessmentKeys._fields))


def tenant_member_prefix(tenant: str) -> str:
    """The prefix of the members for a tenant's sessions in a partition's sets."""
    return f"{_escape_part(tenant)}:"


def spend_key(tenant: str, day: str) -> str:
    """The key of what a tenant spent on one day (YYYY-MM-DD by the tenant's calendar)."""
    return f"pa:spend:{_escape_part(tenant)}:{day}"


class SlotKeys(NamedTuple):
    """The Redis keys of a tenant's share of executors: sessions that run, and sessions that wait for a slot."""

    running: str
    queue: str


def slot_keys(tenant: str) -> SlotKeys:
    """The keys of a tenant's running sessions and of those that wait for a slot, in one cluster slot."""
    stem = f"pa:seats:{{{_escape_part(tenant)}}}"
    return SlotKeys(f"{stem}:running", f"{stem}:queue")


def prose_translation_key(tenant: str, key: str) -> str:
    return f"pa:translated:{_escape_part(tenant)}:{_escape_part(key)}"


class SessionMember(NamedTuple):
    """A session, as a member of a partition's sets."""

    tenant: str
    session_id: str


class TimerMember(NamedTuple):
    """A deadline, as a member of a partition's timers."""

    tenant: str
    session_id: str
    task_id: str
    subject: str


class WebhookMember(NamedTuple):
    """A client's webhook, as a member of a partition's deliveries. It receives a task's events in order."""

    tenant: str
    session_id: str
    task_id: str
    config_id: str


class NoticeDeliveryMember(NamedTuple):
    """A single notice to deliver, as a member of a partition's deliveries."""

    tenant: str
    post_id: str


class WaitingApprovalMember(NamedTuple):
    """A waiting approval, as a member of its tenant's set."""

    approval_id: str
    tenant: str
    session_id: str
    task_id: str


class NoticeMember(NamedTuple):
    """A notice about an approval that is still to be sent; ``step``: how many levels the approval has passed."""

    event: str
    step: str
    approval_id: str
    tenant: str
    session_id: str
    task_id: str


class FactSearchMember(NamedTuple):
    """An ended task, by its outcome's event id, that is still to be searched for facts."""

    tenant: str
    event_id: str


class ForgetRequestMember(NamedTuple):
    """An open request to forget, as a member of their set."""

    tenant: str
    request_id: str


class EndedTaskMember(NamedTuple):
    """An ended task that is still to be archived, as a member of a partition's set."""

    tenant: str
    session_id: str
    task_id: str


M = TypeVar("M")


def pack_member(parts: tuple[str, ...]) -> str:
    """One of the ``...Member`` tuples as the text that is a member of its Redis set."""
    return ":".join(map(_escape_part, parts))


def pack_session(tenant: str, session_id: str) -> str:
    """A session as a member of a partition's sets."""
    return pack_member(SessionMember(tenant, session_id))


def unpack_member(kind: Callable[..., M], member: str) -> M:
    """The tuple of that kind from a member that ``pack_member`` made."""
    return kind(*map(unquote, member.split(":")))


def unpack_delivery(member: str) -> WebhookMember | NoticeDeliveryMember:
    return (
        unpack_member(NoticeDeliveryMember, member) if member.count(":") == 1 else unpack_member(WebhookMember, member)
    )


def _partition_prefix(partition: int) -> str:
    return f"pa:{{p{partition:02d}}}"


@lru_cache(maxsize=8_192)  # a name is quoted for each key that it stands in
def _escape_part(part: str) -> str:
    return part if _UNESCAPED_TEXT_PATTERN.fullmatch(part) else quote(part, safe="")


_UNESCAPED_TEXT_PATTERN = re.compile(r"[A-Za-z0-9_.~-]*")  # what ``quote`` leaves as it is, as most names are
