"""What calls that were made count for in rules about tools, and what a session remembers of them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import cast

from services.executor.core.session.values import Fact
from services.executor.ports.turns import SessionCall
from shared.contracts.ledger import LedgerEntry
from shared.contracts.policy import CallOutcome, ContextValue, PastCall, Policy
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.words import WriteStatus

_ONE_TOOL = re.compile(r"\s*tool\s*==\s*[\"'](?P<tool>[\w.-]+)[\"']\s*(?:&&|$)")
_OR = "||"
_REMEMBERED = 500  # calls of a session; only those of tools that a rule names are kept
_OUTCOMES: Mapping[WriteStatus, CallOutcome] = {
    WriteStatus.SENT: CallOutcome.SUCCEEDED,
    WriteStatus.VERIFIED: CallOutcome.SUCCEEDED,
    WriteStatus.UNVERIFIED: CallOutcome.SUCCEEDED,
    WriteStatus.DENIED: CallOutcome.FAILED,
    WriteStatus.REFUSED: CallOutcome.FAILED,
    WriteStatus.UNSENT: CallOutcome.UNSENT,
    WriteStatus.RESEND: CallOutcome.UNSENT,
    WriteStatus.SKIPPED: CallOutcome.UNSENT,
}  # of any other nobody knows what came


def past_calls_of_session(calls: Iterable[SessionCall], task_id: str) -> tuple[PastCall, ...]:
    """The calls of other tasks of the session, ended or open; the task's own stand in its dossier and its ledger."""
    others = (call for call in calls if call.open_task != task_id)
    return tuple(_past(call.tool, CallOutcome(call.outcome), loads_object(call.fields_json)) for call in others)


def past_calls_of_facts(facts: Iterable[Fact]) -> tuple[PastCall, ...]:
    """The reads of this task as past calls."""
    return tuple(_past(fact.tool, read_outcome(fact), loads_object(fact.arguments_json)) for fact in facts)


def read_outcome(fact: Fact) -> CallOutcome:
    """What a read counts for in rules. A refusal counts as failed.

    An answer that itself speaks of an error counts against limits and satisfies no rule; so does a read that the
    machine made by itself: "only after it was looked at" is about whoever decides on the call.
    """
    if not fact.ok:
        return CallOutcome.FAILED
    says_error = isinstance(fact.result, dict) and bool(fact.result.get("error"))
    return CallOutcome.UNKNOWN if says_error or fact.by_machine else CallOutcome.SUCCEEDED


def past_calls_of_writes(entries: Iterable[LedgerEntry]) -> tuple[PastCall, ...]:
    """The writes of this task as past calls, in the order of their intents."""
    ordered = sorted(entries, key=lambda entry: (entry.sending_at is None, entry.sending_at))
    return tuple(_past(entry.call.tool, outcome_of(entry), loads_object(entry.arguments_json)) for entry in ordered)


def outcome_of(entry: LedgerEntry) -> CallOutcome:
    return _OUTCOMES.get(entry.status, CallOutcome.UNKNOWN)


def remember_calls(
    known: Sequence[SessionCall], new: Iterable[PastCall], rules: Iterable[str], task_id: str, *, ended: bool
) -> tuple[SessionCall, ...]:
    """The calls that the session keeps: those of tools that one of the ``rules`` names, the newest of each tool.

    ``new`` are all calls of the task so far; they replace those that an earlier turn of it left.
    """
    names, open_task = tuple(rules), "" if ended else task_id
    counted = (call for call in new if any(fnmatchcase(call.tool, name) for name in names))
    kept = [
        SessionCall(call.tool, call.outcome.value, dumps(cast(JsonObject, call.fields)), open_task) for call in counted
    ]
    return _newest_calls((*(call for call in known if call.open_task != task_id), *kept))


def _newest_calls(calls: tuple[SessionCall, ...]) -> tuple[SessionCall, ...]:
    """The newest calls of each tool, equally many for each: many reads do not make a write be forgotten."""
    counts = Counter(call.tool for call in calls)
    fitting = (n for n in range(_REMEMBERED, 1, -1) if sum(min(n, count) for count in counts.values()) <= _REMEMBERED)
    share, seen, kept = next(fitting, 1), Counter[str](), list[SessionCall]()
    for call in reversed(calls):
        seen[call.tool] += 1
        if seen[call.tool] <= share:
            kept.append(call)
    return tuple(reversed(kept))[-_REMEMBERED:]


def named_by_rules(policies: Iterable[Policy]) -> tuple[str, ...]:
    """The tools, or patterns of tools, that the policies' rules name."""
    rules = [rule for policy in policies for rule in policy.tool_rules]
    return tuple(dict.fromkeys(name for rule in rules for name in (rule.tool, *rule.after)))


def rules_about_nothing(policies: Iterable[Policy], offered: Iterable[str]) -> list[str]:
    """A sentence for each rule whose tool is not offered: a misspelt name would silently forbid nothing."""
    names = tuple(offered)
    rules = [(policy.id, rule) for policy in policies for rule in policy.tool_rules]
    return [
        f"rule {rule.id} of {policy_id} is about {rule.tool!r}, and no such tool is offered"
        for policy_id, rule in rules
        if not any(fnmatchcase(name, rule.tool.strip()) for name in names)
    ]


def tool_of_condition(condition: str) -> str:
    """The only tool that a rule with this condition can concern; empty if it may concern several."""
    named = _ONE_TOOL.match(condition)
    return named["tool"] if named and _OR not in condition else ""


def has_tool_rules(policies: Iterable[Policy]) -> bool:
    return any(policy.tool_rules or policy.tool_default != "allow" for policy in policies)


def sayable(fields: Mapping[str, Json]) -> dict[str, ContextValue]:
    """The fields that a rule can speak about: scalars and lists of scalars."""
    return {key: cast(ContextValue, value) for key, value in fields.items() if is_sayable(value)}


def _past(tool: str, outcome: CallOutcome, arguments: JsonObject) -> PastCall:
    return PastCall(tool=tool, outcome=outcome, fields=sayable(arguments))


def is_sayable(value: Json) -> bool:
    if isinstance(value, list):
        return all(not isinstance(item, dict | list) for item in value)
    return not isinstance(value, dict)
