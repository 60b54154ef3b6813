"""What telling webhooks needs from outside: where they are kept, what is due, how a call is made."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.words import Dialect


class Webhook(NamedTuple):
    """Where a client wants to be told of its task, and in which dialect.

    ``token`` and ``credentials`` are secrets: kept encrypted, sent to ``url`` and shown to nobody. ``shown_id``: the
    task's id as that client knows it, where that is another.
    """

    config_id: str
    url: str
    dialect: Dialect
    token: str = ""
    scheme: str = ""
    credentials: str = ""
    shown_id: str = ""


class Told(NamedTuple):
    """How far a webhook was told. ``cursor`` is the last event of which everything was delivered.

    ``part``: the last part of the next event that was delivered.
    ``state``: the task's state as it was told last. ``tries``: failures in a row; ``error`` is the last one's.
    """

    cursor: str = "0"
    part: int = 0
    state: str = ""
    tries: int = 0
    delivered: int = 0
    error: str = ""
    disabled: bool = False
    at: datetime | None = None


class Registered(NamedTuple):
    webhook: Webhook
    told: Told = Told()


class Failing(NamedTuple):
    """A webhook or notice of a tenant that fails, or was given up. ``subject`` is its task, or what it is about."""

    subject: str
    config_id: str
    host: str
    error: str
    tries: int
    disabled: bool
    at: datetime | None


class TooManyWebhooks(Exception):
    """The task has as many as it may have; nothing was stored."""


class Webhooks(Protocol):
    """The webhooks of tasks. All may raise ``StoreUnavailable`` and may be repeated."""

    async def put(self, record: TaskRecord, webhook: Webhook, *, from_start: bool, most: int) -> None:
        """Tell it what happens from now on, and how the task ended if it has; ``from_start``: all that has happened.

        One of the same id is replaced: it goes on where that one was, unless it was given up.
        Raises ``TooManyWebhooks``.
        """
        ...

    async def of(self, record: TaskRecord) -> Sequence[Registered]: ...

    async def drop(self, record: TaskRecord, config_id: str) -> bool:
        """False if there was none."""
        ...

    async def failing(self, tenant: str) -> Sequence[Failing]: ...


class Delivery(NamedTuple):
    """One signed POST, made until it is taken. The same ``delivery_id`` is enqueued once.

    ``subject`` says in a word or two what it is about, for people. ``secret``: what it is signed with in place of the
    tenant's own secret (``whsec_`` and base64).
    """

    tenant: str
    delivery_id: str
    subject: str
    url: str
    body: str
    headers: Mapping[str, str] = {}
    secret: str = ""


class Posts(Protocol):
    async def enqueue(self, delivery: Delivery) -> None:
        """Keep it until it is delivered or given up. May raise ``StoreUnavailable`` and may be repeated."""
        ...


class UrlCheck(Protocol):
    def problem(self, url: str) -> str | None:
        """Why a URL may not be called, as the end of a sentence about it; None if it may, as far as its text tells."""
        ...


class Due(NamedTuple):
    """A line of deliveries that may be claimed: the member of its queue, whose it is, and since when (ms)."""

    member: str
    tenant: str
    score: str


class Look(NamedTuple):
    """What is due, and in how many seconds something else will be (None: nothing is)."""

    due: Sequence[Due]
    next_in: float | None


class Claim(NamedTuple):
    """A line that is this process's own until its lease ends. ``token`` changes with each lease."""

    member: str
    tenant: str
    token: str


class HookWork(NamedTuple):
    """A webhook, how far it was told, its task and the events after that."""

    webhook: Webhook
    told: Told
    record: TaskRecord
    events: Sequence[tuple[str, TaskEvent]]


class PostWork(NamedTuple):
    delivery: Delivery
    told: Told


class Closed(NamedTuple):
    """A line whose content no key here opens. ``subject`` and ``config_id``: as far as its name tells."""

    told: Told
    subject: str
    config_id: str


Work = HookWork | PostWork | Closed


class Step(StrEnum):
    """What becomes of a line."""

    HOLD = "hold"  # it is held for the next delivery
    DONE = "done"  # it rests until there is news
    RETRY = "retry"
    OFF = "off"  # it is told nothing more


class Lines(Protocol):
    """The durable queue of lines. All may raise ``StoreUnavailable``; a line is with one process at a time."""

    async def look(self, most: int, each: int) -> Look:
        """The lines that are due, the longest due first; of each partition at most so many, and of each tenant."""
        ...

    async def claim(self, due: Sequence[Due], seconds: float) -> Sequence[Claim]:
        """Those of them that nobody else was quicker to take, for so many seconds."""
        ...

    async def read(self, claim: Claim) -> Work | None:
        """What is to be delivered. None if there is nothing, and the line is gone; or another version wrote it."""
        ...

    async def settle(self, claim: Claim, work: Work, told: Told, step: Step, seconds: float) -> str:
        """Store how far it is told. ``seconds``: how long it is held, or until it is tried again.

        The token under which it is held; empty if another process has it by now, or it is gone.
        """
        ...


class Undelivered(Exception):
    """No answer came: the message says why, and names no secret and no address of a network."""


class Answered(NamedTuple):
    """``retry_after``: the header of that name, as the receiver wrote it."""

    status: int
    retry_after: str = ""


class Post(Protocol):
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answered:
        """What it answers; follows no redirect. Raises ``Undelivered``."""
        ...
