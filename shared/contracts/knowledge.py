"""What a tenant's earlier tasks taught beyond their cases: reusable facts, and the things that tasks speak of."""

from datetime import datetime

from shared.contracts.base import Contract


class KnownFact(Contract):
    """One reusable fact. ``domain`` is the process type that it was learned in; ``task_id`` the task that taught it.

    It is text that a task left behind: whoever shows it to a model quotes it as data.
    """

    text: str
    domain: str
    keywords: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    quality: float  # of the task that taught it, 0 to 1
    task_id: str = ""
    at: datetime


class KnownEntity(Contract):
    """Something that tasks named: a vendor, a person, an amount, an id. ``seen`` counts the tasks that did."""

    kind: str
    value: str
    seen: int
    last_seen: datetime
