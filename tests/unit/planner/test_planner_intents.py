"""What a task's sentences ask for, forbid, and make depend on something."""

import pytest

from services.planner.core.intents import understand


def _verbs(text: str) -> list[str]:
    return [intent.verb for intent in understand(text).actions]


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
