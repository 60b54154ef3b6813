"""What tasks have left, as operators look through it; and what a task's end rests on."""

from datetime import UTC, datetime, timedelta

import pytest

from services.gateway.features.console.views.evidence import policy, usage, writes
from services.gateway.features.console.views.memory import (
    SIZE,
    MemoryQuery,
    cases,
    entities,
    fact_note,
    facts,
    read_page,
    trust_badge,
)
from services.gateway.features.memory.service import Thing
from shared.contracts.knowledge import Accuracy, CaseEntry, EntityLinks, KnownEntity, KnownFact
from shared.contracts.task import TaskEvent
from shared.domain.cases import CaseOutcome
from shared.domain.exact_json import JsonObject
from shared.domain.words import Strategy
from tests.doubles.redis_tasks import a_record
from tests.each_row import each_row

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def a_case(number: int, outcome: CaseOutcome = CaseOutcome.SUCCESS) -> CaseEntry:
    return CaseEntry(
        case_id=f"c{number}",
        session_id="s",
        task_id=f"t{number}",
        summary=f"Approve claim {number}",
        keywords=("claim",),
        outcome=outcome,
        quality=0.5,
        tool_count=1,
        domain="expense_approval",
        strategy=Strategy.FSM,
        at=NOON,
    )


@pytest.mark.promise("console.memory")
def test_cases_are_found_by_words_and_outcome_page_by_page() -> None:
    entries = [a_case(n, CaseOutcome.FAILURE if n % 10 == 0 else CaseOutcome.SUCCESS) for n in range(60)]
    first = cases(entries, MemoryQuery())
    failures = cases(entries, MemoryQuery("approve CLAIM", "failure"))
    last = cases(entries, MemoryQuery(page=3))
    assert (len(first.rows), first.more, first.kept) == (SIZE, True, 60)
    assert [(one.text, one.number) for one in failures.kinds] == [("Success", 54), ("Failure", 6)]
    assert [row.task_id for row in failures.rows] == ["t0", "t10", "t20", "t30", "t40", "t50"]
    assert (len(last.rows), last.more) == (10, False)
    assert cases(entries, MemoryQuery("t59")).total == 1


@each_row("text", ["", "0", "-1", "x", "99999", "²", "1.5"])
def test_a_page_that_is_none_is_the_first(text: str) -> None:
    assert read_page(text) == 1


@pytest.mark.promise("console.memory")
def test_a_fact_that_was_contradicted_says_so() -> None:
    old = KnownFact(text="Terms are 30 days", domain="procurement", quality=0.7, at=NOON, superseded_at=NOON)
    new = KnownFact(text="Terms are 45 days", domain="procurement", quality=0.7, at=NOON, replaces="30 days")
    rows = facts([new, old], MemoryQuery(kind="procurement")).rows
    assert [fact_note(row) for row in rows] == ["before: 30 days", "a newer one says otherwise"]


@pytest.mark.promise("console.memory")
def test_entities_are_shown_with_what_they_stood_with_as_it_was_written() -> None:
    acme = Thing(
        KnownEntity(kind="vendor", value="Acme Ltd", seen=3, last_seen=NOON),
        EntityLinks(together=("reference:po-1", "amount:5 usd")),
    )
    order = Thing(KnownEntity(kind="reference", value="PO-1", seen=1, last_seen=NOON))
    found = entities([acme, order], MemoryQuery("po-1"))
    assert [(row.entity.value, row.links.together) for row in found.rows] == [
        ("Acme Ltd", ("PO-1", "5 usd")),
        ("PO-1", ()),
    ]


def test_a_prediction_that_drifts_says_so() -> None:
    row = Accuracy(attempts=5, matches=1, window=(True, False, False, False, False), drift_alerts=1)
    assert trust_badge(row).text == "Drifts"


@pytest.mark.promise("console.evidence")
def test_a_write_is_shown_with_the_origin_of_its_arguments_and_its_proof() -> None:
    row: JsonObject = {
        "call_id": "c1",
        "tool": "record_credit",
        "connection": "erp",
        "arguments": {"amount": "420.00"},
        "provenance": [{"argument": "amount", "source": "value", "ref": "share_of_fee"}],
        "status": "verified",
        "proof": {"note": "read back", "read_back": "list_credits", "shows": [{"id": "CRD-1"}]},
        "operators": [{"resolution": "done", "by": "olga", "comment": "seen"}],
        "sent_at": "2026-11-22T12:00:00+00:00",
    }
    (write,) = writes([row], None)
    assert write.arguments[0] == ("amount", "420.00", "worked out: share of fee")
    assert (write.status.text, write.note, write.read_back) == ("Verified", "read back", "list_credits")
    assert (write.shows, write.words, write.sent_at) == ((("id", "CRD-1"),), ("Done by olga seen",), NOON)


@pytest.mark.promise("console.evidence")
def test_the_verdict_says_which_rules_why_and_by_which_values() -> None:
    rule = {"ruleId": "LIMIT", "policyId": "p", "action": "escalate", "level": "legal", "reason": "too much",
            "values": {"amount": 900}}  # fmt: skip
    verdict = {"passed": False, "escalate": True, "triggeredRules": [rule], "indeterminate": ["OTHER"]}
    found = policy(a_record("s").model_copy(update={"metadata": {"verdict": verdict}}))
    assert found is not None
    assert (found.word.text, found.unknown) == ("Escalates", ("OTHER",))
    assert found.rules[0] == ("LIMIT", "p", "too much", "Escalate by legal", (("amount", "900"),))


@pytest.mark.promise("console.evidence")
def test_model_calls_are_summed_by_tier_with_their_price() -> None:
    calls = [
        ("haiku", {"input": 1000, "output": 20, "nanos": 1_500_000}),
        ("haiku", {"input": 500, "output": 5, "nanos": 500_000}),
        ("sonnet", {"output": 7}),
    ]
    told = [
        (f"{n}-0", TaskEvent(kind="model", at=NOON + timedelta(seconds=n), data={"tier": tier, **used}))
        for n, (tier, used) in enumerate(calls)
    ]
    assert usage(told) == (("Haiku", 2, "1,500", "25", "$0.0020"), ("Sonnet", 1, "", "7", ""))
