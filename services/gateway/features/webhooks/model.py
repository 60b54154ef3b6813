"""Webhooks of tasks: where a client wants its updates, and how far they were delivered."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from services.gateway.edge.errors import InvalidField
from services.gateway.edge.fields import id_at, json_type_name, list_at, object_at, text_at
from shared.contracts.base import Contract
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import JsonObject
from shared.domain.words import Dialect


class TaskWebhook(Contract):
    """Where a client wants its task's updates, and in which protocol.

    ``token`` and ``credentials`` are secrets: stored encrypted, sent to ``url`` and shown to nobody. ``shown_id``: the
    task's id as that client knows it, if it differs.
    """

    config_id: str
    url: str
    dialect: Dialect
    token: str = ""
    scheme: str = ""
    credentials: str = ""
    shown_id: str = ""


class DeliveryProgress(Contract):
    """How far a webhook was told. ``cursor``: the last event of which everything was delivered.

    ``part``: the last delivered part of the next event. ``state``: the task's state as last told. ``tries``: failures
    in a row; ``error``: that of the last one.
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
    webhook: TaskWebhook
    progress: DeliveryProgress = DeliveryProgress()


class FailingDelivery(Contract):
    """A tenant's webhook or notice that fails, or was given up. ``subject``: its task, or what it is about."""

    subject: str
    config_id: str
    host: str
    error: str
    tries: int
    disabled: bool
    at: datetime | None = None


class TooManyWebhooks(Exception):
    """The task has as many webhooks as it may have; nothing was stored."""


class WebhookStore(Protocol):
    """The webhooks of tasks. All methods may raise ``StoreUnavailable`` and may be repeated."""

    async def put(self, record: TaskRecord, webhook: TaskWebhook, *, from_start: bool, most: int) -> None:
        """Register a webhook for updates from now on, or if ``from_start`` for all updates so far.

        It replaces one with the same id and goes on where that was, unless that was given up. An ended task's webhook
        is told its end. Raises ``TooManyWebhooks``.
        """

    async def webhooks_of(self, record: TaskRecord) -> Sequence[RegisteredWebhook]: ...

    async def drop(self, record: TaskRecord, config_id: str) -> None:
        """Remove a webhook, if it exists."""

    async def failing(self, tenant: str) -> Sequence[FailingDelivery]: ...


class SignedPost(Contract):
    """One signed POST, tried until it is accepted. A ``delivery_id`` is enqueued only once.

    ``subject``: what it is about, in a word or two for people. ``secret``: signs in place of the tenant's own
    (``whsec_`` and base64).
    """

    tenant: str
    delivery_id: str
    subject: str
    url: str
    body: str
    headers: Mapping[str, str] = {}
    secret: str = ""


LONGEST = 4096
_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")


def header_value(text: str, path: str) -> str:
    """Returns the text if it can be a header's value; else raises ``InvalidField``.

    A value is visible ASCII, with spaces only inside.
    """
    if text and (len(text) > LONGEST or not _VALUE.fullmatch(text)):
        raise InvalidField(path, f"must be at most {LONGEST} visible ASCII characters")
    return text


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers, if their names and values are valid; raises ``InvalidField``, which repeats no value."""
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise InvalidField("headers", "a header's name is one word")
        header_value(value, f"headers.{name}")
    return dict(headers)


_LONGEST_URL = 2048
_IN_SEND = {
    Dialect.LEGACY: ("pushNotification",),
    Dialect.A2A_0_3: ("pushNotificationConfig", "pushNotification"),  # over JSON-RPC, and over REST
    Dialect.A2A_1_0: ("taskPushNotificationConfig",),
}


def webhook_in_send(params: JsonObject, dialect: Dialect) -> TaskWebhook | None:
    """The webhook that comes with a message; None if none does. Raises ``InvalidField``."""
    is_early = dialect is Dialect.LEGACY
    place = "params" if is_early else "configuration"
    source = params if is_early else object_at(params, place, place)
    shown_id = id_at(params, "id", "params.id") if is_early else None
    paths = {name: f"{place}.{name}" for name in _IN_SEND[dialect] if source.get(name) is not None}
    given = [read_webhook(object_at(source, name, path), path, dialect, shown_id) for name, path in paths.items()]
    return given[0] if given else None


def read_webhook(config: JsonObject, path: str, dialect: Dialect, shown_id: str | None = None) -> TaskWebhook:
    """Parse a webhook; raises ``InvalidField``.

    One without an id is named after its URL, so that a repeat is the same; in 0.3 it gets its task's id later.
    """
    url = text_at(config, "url", f"{path}.url") or ""
    if not url:
        raise InvalidField(f"{path}.url", "is required and must not be empty")
    if len(url) > _LONGEST_URL:
        raise InvalidField(f"{path}.url", f"must have at most {_LONGEST_URL} characters")
    scheme, credentials = _read_authentication(config, f"{path}.authentication")
    return TaskWebhook(
        config_id=id_at(config, "id", f"{path}.id") or ("" if dialect is Dialect.A2A_0_3 else _name_of(url)),
        url=url,
        dialect=dialect,
        token=header_value(text_at(config, "token", f"{path}.token") or "", f"{path}.token"),
        scheme=scheme,
        credentials=credentials,
        shown_id=shown_id or "",
    )


def _name_of(url: str) -> str:
    return f"webhook-{hashlib.sha256(url.encode()).hexdigest()[:12]}"


def legacy_shape(webhook: TaskWebhook) -> dict[str, JsonValue]:
    """The webhook as the early protocol and 0.3 show it, without secrets."""
    view: dict[str, JsonValue] = {"url": webhook.url}
    return {**view, "authentication": {"schemes": [webhook.scheme]}} if webhook.scheme else view


def shape_of_1_0(webhook: TaskWebhook, task_id: str) -> dict[str, JsonValue]:
    view: dict[str, JsonValue] = {"id": webhook.config_id, "taskId": task_id, "url": webhook.url}
    return {**view, "authentication": {"scheme": webhook.scheme}} if webhook.scheme else view


def state_of(registered: RegisteredWebhook) -> str:
    if registered.progress.disabled:
        return "disabled"
    return "failing" if registered.progress.tries else "active"


def _read_authentication(config: JsonObject, path: str) -> tuple[str, str]:
    """Scheme and credentials: 1.0 names one scheme, older protocols a list, whose first is used."""
    given = object_at(config, "authentication", path)
    scheme = text_at(given, "scheme", f"{path}.scheme") or _first_scheme(given, path)
    credentials = text_at(given, "credentials", f"{path}.credentials") or ""
    if credentials and not scheme:
        raise InvalidField(f"{path}.scheme", "is required with credentials")
    if scheme and not _NAME.fullmatch(scheme):
        raise InvalidField(f"{path}.scheme", "must be the name of an HTTP authentication scheme, such as Bearer")
    return scheme, header_value(credentials, f"{path}.credentials")


def _first_scheme(given: JsonObject, path: str) -> str:
    if given.get("schemes") is None:
        return ""
    first = next(iter(list_at(given, "schemes", f"{path}.schemes")), "")
    if not isinstance(first, str):
        raise InvalidField(f"{path}.schemes[0]", f"must be a string, not {json_type_name(first)}")
    return first
