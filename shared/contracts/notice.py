"""Who is told of a tenant's approvals, and how."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from shared.contracts.base import Contract


class NoticeEvent(StrEnum):
    """What may be told of an approval."""

    WAITING = "approval_waiting"
    ESCALATED = "approval_escalated"
    DECIDED = "approval_decided"
    EXPIRED = "approval_expired"


class NoticeTarget(Contract):
    """A webhook. ``standard``: a signed JSON event (Standard Webhooks). ``slack``: a body that Slack and its like show.

    ``url`` and ``secret`` may refer to a variable of the gateway (``env:NAME``): a Slack URL is a secret by itself.
    ``secret`` (``whsec_`` and base64) signs in place of the tenant's own.
    """

    url: str = Field(pattern=r"^(https?://\S+|env:[A-Za-z_][A-Za-z0-9_]*)$")
    events: tuple[NoticeEvent, ...] = tuple(NoticeEvent)
    format: Literal["standard", "slack"] = "standard"
    secret: str = Field(default="", pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*)?$")
