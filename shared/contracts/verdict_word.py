"""A verdict in one word, for whoever counts them."""

from shared.contracts.policy import Verdict


def verdict_word(verdict: Verdict) -> str:
    """The strictest thing that it says: blocked, refused, broken, escalate, approval, indeterminate or passed."""
    said = {
        "blocked": verdict.blocked,
        "refused": bool(verdict.refusals),
        "broken": bool(verdict.problems),
        "escalate": verdict.escalate,
        "approval": verdict.requires_approval,
        "indeterminate": bool(verdict.indeterminate) and verdict.passed,
    }
    return next((word for word, is_so in said.items() if is_so), "passed" if verdict.passed else "not_passed")
