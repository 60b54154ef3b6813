"""A task's writes in the ledger (keys, doubts, reports for operators), and calls as rules about tools count them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import cast

from services.executor.core.session.values import Fact
from services.executor.core.states.machine import Escalated
from services.executor.ports.turns import SessionCall, Timer, TurnStore
from shared.contracts.ledger import EarlierAttempt, LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import CallOutcome, ContextValue, PastCall
from shared.domain.exact_json import Json, JsonObject, digest, dumps, loads, loads_object
from shared.domain.words import DOUBTFUL_STATUSES, SENDABLE_STATUSES, DoubtResolutionKind, WriteStatus


def compute_ledger_key(plan: WritePlan, call: PlannedCall) -> str:
    """The permanent ledger key of one planned write; every process and attempt computes the same."""
    return digest([plan.task_id, plan.round, plan.hash, call.call_id])[:32]


async def list_writes(store: TurnStore) -> tuple[LedgerEntry, ...]:
    """All ledger entries of the task."""
    return tuple((await store.read_ledger()).values())


def sort_by_sending_time(entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """The entries by the time at which they were sent; entries that were never sent come last. Entries of the same time
    come in the order of their calls: c2 before c10.
    """
    return sorted(
        entries,
        key=lambda entry: (entry.sending_at is None, entry.sending_at, len(entry.call.call_id), entry.call.call_id),
    )


def index_in_sending_order(entries: Iterable[LedgerEntry]) -> dict[str, LedgerEntry]:
    """The entries by key, sorted as ``sort_by_sending_time`` sorts them."""
    return {entry.key: entry for entry in sort_by_sending_time(entries)}


async def index_plan_entries(store: TurnStore, plan: WritePlan) -> dict[str, LedgerEntry]:
    """The ledger entries of a plan, by call id."""
    return {entry.call.call_id: entry for entry in await list_writes(store) if entry.plan_hash == plan.hash}


async def list_entries(store: TurnStore, plans: Iterable[WritePlan]) -> list[LedgerEntry]:
    """The ledger entries of several plans."""
    return [entry for plan in plans for entry in (await index_plan_entries(store, plan)).values()]


async def get_plan_results(store: TurnStore, plan: WritePlan) -> dict[str, Json]:
    """The tool servers' answers to the plan's calls, by call id."""
    entries = await index_plan_entries(store, plan)
    return {call_id: loads(entry.result_json) for call_id, entry in entries.items() if entry.result_json is not None}


def has_begun(entry: LedgerEntry) -> bool:
    """Whether a write counts as begun: not if it is unsent, or is to be sent again on an operator's word."""
    is_retried = _is_resolved_as(entry, DoubtResolutionKind.RETRY)
    return not (entry.status is WriteStatus.UNSENT or (entry.status in SENDABLE_STATUSES and is_retried))


def is_verified_or_declared_done(entry: LedgerEntry | None) -> bool:
    """Whether a write is verified, or unverified and an operator said that it was done; False without an entry."""
    if entry is None:
        return False
    is_said_done = entry.status is WriteStatus.UNVERIFIED and _is_resolved_as(entry, DoubtResolutionKind.DONE)
    return entry.status is WriteStatus.VERIFIED or is_said_done


def _is_resolved_as(entry: LedgerEntry, resolution: DoubtResolutionKind) -> bool:
    """Whether an operator decided on the write in this way."""
    return entry.operator_decision is not None and entry.operator_decision.resolution is resolution


DOUBT_TIMER_PREFIX = "doubt:"  # begins the subject of the timer that ends the wait for an operator
_LONGEST_JSON = 4000  # of what was read, in a task's metadata


class WaitsForPerson(Exception):
    """The run cannot go on before a person has said something."""


class WritesInDoubt(WaitsForPerson):
    """The run must wait for an operator to say whether a write was done."""


class GivenUp(Escalated):
    """An operator took the task over, or none decided in time."""


def list_open_doubts(entries: Iterable[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """The writes that wait for an operator's decision, the oldest doubt first."""
    doubts = [entry for entry in entries if entry.status in DOUBTFUL_STATUSES and entry.operator_decision is None]
    return tuple(sorted(doubts, key=lambda entry: (entry.doubted_at is not None, entry.doubted_at, entry.key)))


def build_doubts_timer(doubts: Iterable[LedgerEntry]) -> Timer | None:
    """The timer for the deadline of the first of these doubts that has one; None if none has."""
    timers = (Timer(doubt.decide_by, f"{DOUBT_TIMER_PREFIX}{doubt.doubt_id}") for doubt in doubts if doubt.decide_by)
    return next(timers, None)


def find_write_taken_over(entries: Iterable[LedgerEntry]) -> LedgerEntry | None:
    """The write for which an operator took the task over; None if there is none."""
    doubts = (entry for entry in entries if entry.status in DOUBTFUL_STATUSES)
    return next((entry for entry in doubts if _is_resolved_as(entry, DoubtResolutionKind.TAKE_OVER)), None)


def move_attempt_to_earlier(entry: LedgerEntry, status: WriteStatus, note: str | None) -> LedgerEntry:
    """The entry with its current attempt, as ``status`` and ``note``, added to the earlier ones before a resending."""
    attempt = EarlierAttempt(number=entry.attempt, status=status, sending_at=entry.sending_at, note=note)
    return entry.model_copy(update={"earlier": (*entry.earlier, attempt)})


def describe_write(entry: LedgerEntry) -> JsonObject:
    """A write and its outcome, for people and programs."""
    return {
        "call_id": entry.call.call_id,
        "connection": entry.call.connection_id,
        "tool": entry.call.tool,
        "arguments": loads(entry.arguments_json),
        "status": entry.status.value,
        "note": entry.note,
        "attempt": entry.attempt,
    }


def describe_doubt(entry: LedgerEntry) -> JsonObject:
    """A write in doubt and what is known of it, for people and programs."""
    return {
        "doubt": entry.doubt_id,
        **describe_write(entry),
        "before": _load_or_cut_json(entry.before_json),
        "after": _load_or_cut_json(entry.proof_json),
        "answered": entry.refusal or _load_or_cut_json(entry.result_json),
        "sent": entry.sending_at.isoformat() if entry.sending_at else None,
        "waited_until": entry.open_until.isoformat() if entry.open_until else None,
        "since": entry.doubted_at.isoformat() if entry.doubted_at else None,
        "deadline": entry.decide_by.isoformat() if entry.decide_by else None,
    }


def list_operator_decisions(entries: Iterable[LedgerEntry]) -> list[Json]:
    """The operators' decisions on these writes, the oldest first."""
    decisions = [(entry, decision) for entry in entries for decision in entry.resolutions]
    return [
        {
            "doubt": decision.doubt,
            "call_id": entry.call.call_id,
            "resolution": decision.resolution.value,
            "by": decision.by.id,
            "verified": decision.by.verified,
            "comment": decision.comment,
            "at": decision.at.isoformat(),
        }
        for entry, decision in sorted(decisions, key=lambda pair: pair[1].at)
    ]


def write_operator_brief(doubts: Iterable[LedgerEntry]) -> str:
    """The text for an operator: each write in doubt, what was read before and after it, and the possible decisions."""
    entries = tuple(doubts)
    deadline = min((entry.decide_by for entry in entries if entry.decide_by), default=None)
    until = f" before {deadline:%Y-%m-%d %H:%M} UTC; after that the task ends as failed" if deadline else ""
    return "\n".join(
        [
            "A write is in doubt and was not repeated: an operator has to say what became of it.",
            *(line for entry in entries for line in _describe_doubt_in_lines(entry)),
            f"Say for each: retry, skip, done or take-over{until}.",
        ]
    )


def _describe_doubt_in_lines(entry: LedgerEntry) -> list[str]:
    since = f" since {entry.doubted_at:%Y-%m-%d %H:%M:%S} UTC" if entry.doubted_at else ""
    return [
        f"- {entry.call.call_id}: {entry.call.tool} {entry.arguments_json}: "
        f"{entry.status.value.replace('_', ' ')}{since} ({entry.note})",
        f"  {_describe_times(entry)}",
        f"  read before: {_shorten_text(entry.before_json)}",
        f"  read after: {_shorten_text(entry.proof_json)}",
    ]


def _describe_times(entry: LedgerEntry) -> str:
    """When the call was sent, with a warning that a server which did not answer may still carry it out."""
    if entry.sending_at is None or entry.open_until is None:
        return "nobody knows when it was sent"
    times = f"sent {entry.sending_at:%H:%M:%S}, waited for until {entry.open_until:%H:%M:%S} UTC"
    if entry.result_json is not None or entry.refusal:
        return times
    return f"{times}; without an answer the server may apply it later: look there before you say retry"


def _load_or_cut_json(text: str | None) -> Json:
    if text is None:
        return None
    return loads(text) if len(text) <= _LONGEST_JSON else f"{text[:_LONGEST_JSON]}…"


def _shorten_text(text: str | None) -> str:
    if text is None or text == dumps(None):
        return "nothing"
    return text if len(text) <= 300 else f"{text[:300]}…"


_MOST_CALLS = 500  # that a session remembers; only those of tools that a rule names are kept
_OUTCOME_BY_STATUS: Mapping[WriteStatus, CallOutcome] = {
    WriteStatus.SENT: CallOutcome.SUCCEEDED,
    WriteStatus.VERIFIED: CallOutcome.SUCCEEDED,
    WriteStatus.UNVERIFIED: CallOutcome.SUCCEEDED,
    WriteStatus.DENIED: CallOutcome.FAILED,
    WriteStatus.REFUSED: CallOutcome.FAILED,
    WriteStatus.UNSENT: CallOutcome.UNSENT,
    WriteStatus.RESEND: CallOutcome.UNSENT,
    WriteStatus.SKIPPED: CallOutcome.UNSENT,
}  # of any other status the outcome is unknown


def list_past_calls_of_session(calls: Iterable[SessionCall], task_id: str) -> tuple[PastCall, ...]:
    """The session's calls without those of this task, which its dossier and ledger have."""
    other_calls = (call for call in calls if call.open_task != task_id)
    return tuple(_build_past_call(call.tool, CallOutcome(call.outcome), call.fields_json) for call in other_calls)


def list_past_calls_of_facts(facts: Sequence[Fact]) -> tuple[PastCall, ...]:
    """The reads of this task as past calls. A read that the executor repeated counts once."""
    first_reads = {fact.call for fact in facts if not fact.again}
    reads = (fact for fact in facts if not (fact.again and fact.call in first_reads))
    return tuple(_build_past_call(fact.tool, classify_read_outcome(fact), fact.arguments_json) for fact in reads)


def classify_read_outcome(fact: Fact) -> CallOutcome:
    """The outcome that a read has for rules. A refusal counts as failed.

    Two kinds of read count against limits but satisfy no precondition: one whose answer speaks of an error, and one
    that the executor made by itself, since a rule "only after a read" wants whoever decides on the call to have read.
    """
    if not fact.ok:
        return CallOutcome.FAILED
    says_error = isinstance(fact.result, dict) and bool(fact.result.get("error"))
    return CallOutcome.UNKNOWN if says_error or fact.by_machine else CallOutcome.SUCCEEDED


def list_past_calls_of_writes(entries: Iterable[LedgerEntry]) -> tuple[PastCall, ...]:
    """The task's writes, whatever became of them, as calls for rules to look at; in the order in which they began."""
    writes = sort_by_sending_time(entries)
    return tuple(_build_past_call(write.call.tool, get_call_outcome(write), write.arguments_json) for write in writes)


def get_call_outcome(entry: LedgerEntry) -> CallOutcome:
    return _OUTCOME_BY_STATUS.get(entry.status, CallOutcome.UNKNOWN)


def select_calls_to_remember(
    calls: Sequence[SessionCall], task_calls: Iterable[PastCall], rules: Iterable[str], task_id: str, *, has_ended: bool
) -> tuple[SessionCall, ...]:
    """The calls that the session keeps after a turn of the task: its ``calls`` of before, and those of the
    ``task_calls`` whose tool a rule names. Of more than 500 only the newest are kept, up to equally many of each tool.

    ``task_calls``: all calls of the task so far. They replace those that its earlier turns stored. ``rules``: names of
    tools, or patterns of names. ``has_ended``: no later turn of the task will tell of its calls again.
    """
    patterns, open_task = tuple(rules), "" if has_ended else task_id
    kept_calls = [call for call in calls if call.open_task != task_id]
    for task_call in task_calls:
        if any(fnmatchcase(task_call.tool, pattern) for pattern in patterns):
            fields = dumps(cast(JsonObject, task_call.fields))
            kept_calls.append(SessionCall(task_call.tool, task_call.outcome.value, fields, open_task))
    return _select_newest_calls(kept_calls)


def _select_newest_calls(calls: Sequence[SessionCall]) -> tuple[SessionCall, ...]:
    """The newest calls, in order; if over 500, equally many of each tool, so that reads do not displace writes."""
    counts = Counter(call.tool for call in calls)
    most_of_a_tool = _MOST_CALLS
    while most_of_a_tool > 1 and sum(min(most_of_a_tool, count) for count in counts.values()) > _MOST_CALLS:
        most_of_a_tool -= 1
    calls_seen, newest = Counter[str](), list[SessionCall]()
    for call in reversed(calls):
        calls_seen[call.tool] += 1
        if calls_seen[call.tool] <= most_of_a_tool:
            newest.append(call)
    return tuple(reversed(newest))[-_MOST_CALLS:]


def select_rule_fields(fields: Mapping[str, Json]) -> dict[str, ContextValue]:
    """The fields that rules can refer to: scalars and lists of scalars."""
    return {key: cast(ContextValue, value) for key, value in fields.items() if is_rule_value(value)}


def _build_past_call(tool: str, outcome: CallOutcome, arguments_json: str) -> PastCall:
    return PastCall(tool=tool, outcome=outcome, fields=select_rule_fields(loads_object(arguments_json)))


def is_rule_value(value: Json) -> bool:
    """Whether rules can look at the value: a scalar, or a list of scalars."""
    if isinstance(value, list):
        return all(not isinstance(item, dict | list) for item in value)
    return not isinstance(value, dict)


def writes_as_json(written: Iterable[LedgerEntry]) -> list[Json]:
    """The ledger entries for prompts and metadata, in the order of their intents."""
    return [
        {
            "call_id": entry.call.call_id,
            "tool": entry.call.tool,
            "arguments": loads(entry.arguments_json),
            "status": entry.status.value,
            "result": loads(entry.result_json or "null"),
            "note": entry.note,
        }
        for entry in sort_by_sending_time(written)
    ]
