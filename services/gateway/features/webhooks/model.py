"""Webhooks of tasks: where a client wants to be told, and how far it was told."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from shared.contracts.task import TaskRecord
from shared.domain.words import Dialect


class TaskHook(NamedTuple):
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


class HookState(NamedTuple):
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


class RegisteredWebhook(NamedTuple):
    webhook: TaskHook
    told: HookState = HookState()


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


class WebhookStore(Protocol):
    """The webhooks of tasks. All may raise ``StoreUnavailable`` and may be repeated."""

    async def put(self, record: TaskRecord, webhook: TaskHook, *, from_start: bool, most: int) -> None:
        """Tell it what happens from now on, and how the task ended if it has; ``from_start``: all that has happened.

        One of the same id is replaced: it goes on where that one was, unless it was given up.
        Raises ``TooManyWebhooks``.
        """
        ...

    async def webhooks_of(self, record: TaskRecord) -> Sequence[RegisteredWebhook]: ...

    async def drop(self, record: TaskRecord, config_id: str) -> bool:
        """False if there was none."""
        ...

    async def failing(self, tenant: str) -> Sequence[Failing]: ...


class SignedPost(NamedTuple):
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


class UrlCheck(Protocol):
    def problem(self, url: str) -> str | None:
        """Why a URL may not be called, as the end of a sentence about it; None if it may, as far as its text tells."""
        ...
