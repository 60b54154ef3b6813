"""Webhooks of tasks: their settings, the progress of their deliveries, and their JSON forms in all protocols."""

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from pydantic import JsonValue

from services.gateway.edge.errors import InvalidField
from services.gateway.edge.fields import id_at, list_at, object_at, require_type, text_at
from shared.contracts.base import Contract
from shared.domain.exact_json import JsonObject
from shared.domain.words import A2aVersion


class TaskWebhook(Contract):
    """A webhook: the URL to which a task's updates are posted, and the protocol of their bodies.

    ``token`` and ``credentials`` are secrets: stored encrypted, sent to ``url`` and shown to nobody. ``shown_id``: the
    task's id as the client knows it, if it differs.
    """

    config_id: str
    url: str
    dialect: A2aVersion
    token: str = ""
    scheme: str = ""
    credentials: str = ""
    shown_id: str = ""


class DeliveryProgress(Contract):
    """The progress of a webhook's deliveries. ``cursor``: the last event of which all updates were delivered.

    ``part``: the last delivered update of the event after that. ``state``: the task's state as last delivered.
    ``tries``: failures in a row; ``error``: of the last failure.
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
    """A webhook of a task, with the progress of its deliveries."""

    webhook: TaskWebhook
    progress: DeliveryProgress = DeliveryProgress()


class FailingDelivery(Contract):
    """A webhook or notice whose deliveries fail, or were given up. ``subject``: its task, or the notice's subject."""

    subject: str
    config_id: str
    host: str
    error: str
    tries: int
    disabled: bool
    at: datetime | None = None


class TooManyWebhooks(Exception):
    """The task already has as many webhooks as allowed; nothing was stored."""


class SignedPost(Contract):
    """A signed POST to deliver. Posts with the same ``delivery_id`` are queued only once.

    ``subject``: what it is about, in a few words for people. ``secret``: signs it in place of the tenant's secrets
    (``whsec_`` and base64).
    """

    tenant: str
    delivery_id: str
    subject: str
    url: str
    body: str
    secret: str = ""


LONGEST_HEADER_VALUE = 4096
_HEADER_VALUE_PATTERN = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_HEADER_NAME_PATTERN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")


def _check_header_value(text: str, path: str) -> str:
    """Returns the text if it is a valid header value: visible ASCII, with spaces only inside.

    Raises ``InvalidField`` otherwise.
    """
    if text and (len(text) > LONGEST_HEADER_VALUE or not _HEADER_VALUE_PATTERN.fullmatch(text)):
        raise InvalidField(path, f"must be at most {LONGEST_HEADER_VALUE} visible ASCII characters")
    return text


def require_valid_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers if their names and values are valid; raises ``InvalidField``, without the values."""
    for name, value in headers.items():
        if not _HEADER_NAME_PATTERN.fullmatch(name):
            raise InvalidField("headers", "a header's name is one word")
        _check_header_value(value, f"headers.{name}")
    return dict(headers)


_LONGEST_URL = 2048
_WEBHOOK_KEYS = {
    A2aVersion.LEGACY: ("pushNotification",),
    A2aVersion.A2A_0_3: ("pushNotificationConfig", "pushNotification"),  # over JSON-RPC, and over REST
    A2aVersion.A2A_1_0: ("taskPushNotificationConfig",),
}


def parse_webhook_of_message(params: JsonObject, dialect: A2aVersion) -> TaskWebhook | None:
    """Parse the webhook in a message's parameters; None if there is none. Raises ``InvalidField``."""
    is_early = dialect is A2aVersion.LEGACY
    member = "params" if is_early else "configuration"
    source = params if is_early else object_at(params, member, member)
    shown_id = id_at(params, "id", "params.id") if is_early else None
    paths = {name: f"{member}.{name}" for name in _WEBHOOK_KEYS[dialect] if source.get(name) is not None}
    webhooks = [parse_webhook(object_at(source, name, path), path, dialect, shown_id) for name, path in paths.items()]
    return webhooks[0] if webhooks else None


def parse_webhook(config: JsonObject, path: str, dialect: A2aVersion, shown_id: str | None = None) -> TaskWebhook:
    """Parse a webhook; raises ``InvalidField``.

    If it has no id, one is derived from its URL, so that a repeat is the same webhook; in 0.3 it is left empty, and
    replaced by the task's id later. ``shown_id``: the task's id as the client knows it.
    """
    url = text_at(config, "url", f"{path}.url") or ""
    if not url:
        raise InvalidField(f"{path}.url", "is required and must not be empty")
    if len(url) > _LONGEST_URL:
        raise InvalidField(f"{path}.url", f"must have at most {_LONGEST_URL} characters")
    scheme, credentials = _read_authentication(config, f"{path}.authentication")
    default_id = f"webhook-{hashlib.sha256(url.encode()).hexdigest()[:12]}"
    return TaskWebhook(
        config_id=id_at(config, "id", f"{path}.id") or ("" if dialect is A2aVersion.A2A_0_3 else default_id),
        url=url,
        dialect=dialect,
        token=_check_header_value(text_at(config, "token", f"{path}.token") or "", f"{path}.token"),
        scheme=scheme,
        credentials=credentials,
        shown_id=shown_id or "",
    )


def build_legacy_webhook_view(webhook: TaskWebhook) -> dict[str, JsonValue]:
    """The webhook as JSON of the early protocol and of 0.3, without secrets."""
    view: dict[str, JsonValue] = {"url": webhook.url}
    return {**view, "authentication": {"schemes": [webhook.scheme]}} if webhook.scheme else view


def build_webhook_view_1_0(webhook: TaskWebhook, task_id: str) -> dict[str, JsonValue]:
    view: dict[str, JsonValue] = {"id": webhook.config_id, "taskId": task_id, "url": webhook.url}
    return {**view, "authentication": {"scheme": webhook.scheme}} if webhook.scheme else view


def _read_authentication(config: JsonObject, path: str) -> tuple[str, str]:
    """Parse scheme and credentials; each is empty if absent. Raises ``InvalidField``.

    1.0 has one scheme; of the list in older protocols, the first is used.
    """
    authentication = object_at(config, "authentication", path)
    scheme = text_at(authentication, "scheme", f"{path}.scheme") or _choose_first_scheme(authentication, path)
    credentials = text_at(authentication, "credentials", f"{path}.credentials") or ""
    if credentials and not scheme:
        raise InvalidField(f"{path}.scheme", "is required with credentials")
    if scheme and not _HEADER_NAME_PATTERN.fullmatch(scheme):
        raise InvalidField(f"{path}.scheme", "must be the name of an HTTP authentication scheme, such as Bearer")
    return scheme, _check_header_value(credentials, f"{path}.credentials")


def _choose_first_scheme(authentication: JsonObject, path: str) -> str:
    if authentication.get("schemes") is None:
        return ""
    scheme = next(iter(list_at(authentication, "schemes", f"{path}.schemes")), "")
    return require_type(scheme, str, f"{path}.schemes[0]")
