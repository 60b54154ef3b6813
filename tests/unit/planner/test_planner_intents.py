"""What a task's sentences ask for, forbid, and make depend on something."""

import pytest

from services.planner.core.intents import understand
from services.planner.core.mentions import MentionKind, find


def _verbs(text: str) -> list[str]:
    return [intent.verb for intent in understand(text).actions]


@pytest.mark.parametrize(
    ("text", "verbs"),
    [
        ("Approve the claim and notify the owner.", ["approve", "notify"]),
        ("Please cancel it, then refund the fee.", ["cancel", "refund"]),
        ("Could you please close case C-1?", ["close"]),
        ("Process the claim for X-1. Approve it if it is small.", ["approve"]),
        ("Process the refund for X-1.", ["refund"]),
        ("The claim X-1 should be rejected.", ["rejected"]),
        ("Which claims are approved?", []),
        ("Tell me the total of X-1.", []),
    ],
)
def test_imperatives_are_actions_and_questions_are_not(text: str, verbs: list[str]) -> None:
    """Polite forms count as imperatives; a general verb gives way to a particular one."""
    assert _verbs(text) == verbs


@pytest.mark.promise("planner.heeds_not")
@pytest.mark.parametrize(
    "text",
    [
        "Do not approve claim X-1.",
        "Don't cancel the order.",
        "Never delete it.",
        "Is the claim to be cancelled?",
        "Can a claim be cancelled?",
        "What would it cost to cancel the order?",
    ],
)
def test_what_is_forbidden_or_asked_is_no_action(text: str) -> None:
    """``do not`` and questions give nothing to do."""
    assert _verbs(text) == []


def test_shapes_are_found_and_made_canonical() -> None:
    """Identifiers, money, percentages, dates, addresses and quotations; nothing twice."""
    text = 'Pay 2,340.50 EUR (10%) for AB-12 by 3 March 2026, write "all done" to a.b@c.org or +1 555 0101, $3K, 7.'
    found = [(mention.kind, mention.value) for mention in find(text)]
    assert found == [
        (MentionKind.MONEY, "2340.50"),
        (MentionKind.PERCENT, "10"),
        (MentionKind.ID, "AB-12"),
        (MentionKind.DATE, "2026-03-03"),
        (MentionKind.QUOTE, "all done"),
        (MentionKind.EMAIL, "a.b@c.org"),
        (MentionKind.PHONE, "+1 555 0101"),
        (MentionKind.MONEY, "3000"),
        (MentionKind.NUMBER, "7"),
    ]
