"""The process of a task: its kind, guessed from words, and what the loop says of it, such as whom to notify."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from services.planner.core.request import UNDERSTAND, Request, as_object, objects
from services.planner.core.words import stem
from shared.domain.exact_json import JsonObject


class Process(NamedTuple):
    """What is known of the task's process; fields are empty where the loop says nothing."""

    name: str = ""
    instruction: str = ""
    notice_to: str = ""
    outputs: tuple[str, ...] = ()
    routes: tuple[JsonObject, ...] = ()


def process_of(request: Request) -> Process:
    """The process from the result of ``understand``, or from the section that replaces it in a new history."""
    process = as_object(last_understand_result(request).get("process")) or as_object(request.section("process"))
    outputs = process.get("outputs")
    return Process(
        name=_text_or_empty(process.get("type")),
        instruction=_text_or_empty(process.get("instruction")),
        notice_to=_text_or_empty(process.get("notice_to")).replace("_", " "),
        outputs=tuple(map(str, outputs)) if isinstance(outputs, list) else (),
        routes=tuple(objects(process.get("routes"))),
    )


def last_understand_result(request: Request) -> JsonObject:
    """The last result of ``understand``; empty if there is none yet."""
    for call in reversed(request.calls):
        if call.tool == UNDERSTAND and not call.failed:
            return as_object(call.result)
    parts_section = request.section("parts")
    return {"parts": parts_section} if isinstance(parts_section, list) else as_object(parts_section)


def _text_or_empty(value: object) -> str:
    return value if isinstance(value, str) else ""


GENERAL = "general"
_WORDS: Mapping[str, tuple[str, ...]] = {
    "expense_approval": ("expense", "reimbursement", "spend", "receipt", "claim"),
    "procurement": ("vendor", "purchase order", "supplier", "rfp", "quote", "procurement"),
    "hr_offboarding": ("offboard", "offboarding", "termination", "access revocation", "last day"),
    "incident_response": ("incident", "outage", "breach", "p1", "p2", "emergency", "sev"),
    "invoice_reconciliation": ("invoice", "reconcile", "reconciliation", "accounts payable"),
    "customer_onboarding": ("onboard", "onboarding", "new customer", "new client", "provision"),
    "compliance_audit": ("compliance", "audit", "kyc", "gdpr", "pci", "sox", "regulatory"),
    "dispute_resolution": ("dispute", "chargeback", "complaint", "contested"),
    "order_management": ("order", "shipment", "delivery", "fulfillment", "cart", "refund"),
    "sla_breach": ("sla", "service level", "uptime", "downtime"),
    "month_end_close": ("month-end", "month end", "financial close", "p&l"),
    "ar_collections": ("accounts receivable", "aging", "overdue", "collection", "bad debt"),
    "subscription_migration": ("migrate", "migration", "downgrade", "upgrade", "plan change"),
    "payroll": ("payroll", "salary", "wages", "compensation", "pay run", "paye", "bacs"),
}
_NAMED_PATTERN = re.compile(r"\bprocess(?:[ _-]type)?\s*[:=]\s*[\"'`]?(?P<name>[a-z]+(?:_[a-z]+)+)\b", re.IGNORECASE)
_WORD_PATTERN = re.compile(r"[a-z0-9&]+", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[?!]|\.(?!\S)")
_MOVES_PATTERN = re.compile(r"\b(?:move|switch|change|transfer|put)\b", re.IGNORECASE)
_TO_PLAN = re.compile(r"\b(?:to|on|onto)\s+(?:the\s+|an?\s+)?[\w-]+\s+plan\b", re.IGNORECASE)


def process_name(task: str) -> str:
    """The kind of process that the task names, else the one whose words it uses most."""
    if named := _NAMED_PATTERN.search(task):
        return named["name"].lower()
    if any(map(_moves_to_plan, _SENTENCE_END.split(task))):
        return "subscription_migration"
    before_ids = " ".join(match[1] for match in _BEFORE_ID.finditer(task))
    counts, close = _count_words(task), _count_words(before_ids)  # "order X-1" is about an order
    best = max(counts, key=lambda kind: (counts[kind], close[kind]))
    return best if counts[best] else GENERAL


def _moves_to_plan(sentence: str) -> bool:
    moves = _MOVES_PATTERN.search(sentence)
    return moves is not None and _TO_PLAN.search(sentence, moves.end()) is not None


_BEFORE_ID = re.compile(r"(?<![a-z&])((?:[a-z&]+[ -]){0,2}[a-z&]+):? (?=[A-Z]{2,}-?\d)", re.IGNORECASE)


def _count_words(text: str) -> dict[str, int]:
    """How many different words of each kind are used; one that only stands inside a longer one does not count."""
    said = list(map(stem, _WORD_PATTERN.findall(text)))
    spans_by_kind = {kind: [_find_spans(said, word) for word in words] for kind, words in _WORDS.items()}
    every = [span for words in spans_by_kind.values() for spans in words for span in spans]
    alone = {span for span in every if not any(a <= span[0] and span[1] <= b and (a, b) != span for a, b in every)}
    return {kind: sum(not alone.isdisjoint(spans) for spans in words) for kind, words in spans_by_kind.items()}


def _find_spans(said: list[str], word: str) -> list[tuple[int, int]]:
    """Where each use of a word of one or more parts begins and ends."""
    wanted = list(map(stem, _WORD_PATTERN.findall(word)))
    ends = range(len(wanted), len(said) + 1)
    return [(end - len(wanted), end) for end in ends if said[end - len(wanted) : end] == wanted]
