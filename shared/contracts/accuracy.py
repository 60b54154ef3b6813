"""How often what was predicted for tasks of one process came true."""

from datetime import datetime

from shared.contracts.base import Contract


class Accuracy(Contract):
    """Of one process type and one kind of threshold, one sample a task. ``window`` has the last ones, newest last."""

    attempts: int = 0
    matches: int = 0
    window: tuple[bool, ...] = ()
    drift_alerts: int = 0  # how often it began to drift
    at: datetime | None = None
