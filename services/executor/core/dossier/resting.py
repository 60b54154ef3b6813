"""The timer that ends a task's wait for a time of its own."""

from shared.contracts.task import Turn, TurnKind

SUBJECT = "quiet:"  # begins the subject of such a timer


def ends_rest(turn: Turn) -> bool:
    """Whether a turn is such a timer that came due."""
    return turn.kind is TurnKind.DEADLINE and str(turn.data.get("subject", "")).startswith(SUBJECT)
