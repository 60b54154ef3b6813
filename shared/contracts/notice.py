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

    ``secret``: a reference to the secret that signs, such as ``env:NAME`` or ``file:/path``; never the secret itself.
    """

    url: str = Field(pattern=r"^https?://\S+$")
    events: tuple[NoticeEvent, ...] = tuple(NoticeEvent)
    format: Literal["standard", "slack"] = "standard"
    secret: str = ""
