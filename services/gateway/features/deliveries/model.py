"""What delivering needs from outside: what is due, and how a call is made."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from services.gateway.features.webhooks.model import HookState, SignedPost, TaskHook
from shared.contracts.task import TaskEvent, TaskRecord


class Posts(Protocol):
    async def enqueue(self, delivery: SignedPost) -> None:
        """Keep it until it is delivered or given up. May raise ``StoreUnavailable`` and may be repeated."""
        ...


class DueLine(NamedTuple):
    """A line of deliveries that may be claimed: the member of its queue, whose it is, and since when (ms)."""

    member: str
    tenant: str
    score: str


class Look(NamedTuple):
    """What is due, and in how many seconds something else will be (None: nothing is)."""

    due: Sequence[DueLine]
    next_in: float | None


class ClaimedLine(NamedTuple):
    """A line that is this process's own until its lease ends. ``token`` changes with each lease."""

    member: str
    tenant: str
    token: str


class HookWork(NamedTuple):
    """A webhook, how far it was told, its task and the events after that."""

    webhook: TaskHook
    told: HookState
    record: TaskRecord
    events: Sequence[tuple[str, TaskEvent]]


class SignedPostWork(NamedTuple):
    """A notice that is signed already and only has to be posted, and how far it was."""

    delivery: SignedPost
    told: HookState


class UnreadableLine(NamedTuple):
    """A line whose content no key here opens. ``subject`` and ``config_id``: as far as its name tells."""

    told: HookState
    subject: str
    config_id: str


Work = HookWork | SignedPostWork | UnreadableLine


class LineStep(StrEnum):
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

    async def claim(self, due: Sequence[DueLine], seconds: float) -> Sequence[ClaimedLine]:
        """Those of them that nobody else was quicker to take, for so many seconds."""
        ...

    async def read(self, claim: ClaimedLine) -> Work | None:
        """What is to be delivered. None if there is nothing, and the line is gone; or another version wrote it."""
        ...

    async def settle(self, claim: ClaimedLine, work: Work, told: HookState, step: LineStep, seconds: float) -> str:
        """Store how far it is told. ``seconds``: how long it is held, or until it is tried again.

        The token under which it is held; empty if another process has it by now, or it is gone.
        """
        ...


class Undelivered(Exception):
    """No answer came: the message says why, and names no secret and no address of a network."""


class ReceiverAnswer(NamedTuple):
    """``retry_after``: the header of that name, as the receiver wrote it."""

    status: int
    retry_after: str = ""


class Post(Protocol):
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverAnswer:
        """What it answers; follows no redirect. Raises ``Undelivered``."""
        ...
