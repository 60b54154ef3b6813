"""Webhooks and notices as they are kept: on or off, how far they were told, and the rest sealed, a line each."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from services.gateway.ports.push import Delivery, Told, Webhook
from shared.contracts.base import Contract
from shared.domain.words import Dialect
from shared.infra.sealed import Seal


class _ToldRow(Contract):
    part: int = 0
    state: str = ""
    tries: int = 0
    delivered: int = 0
    error: str = ""
    at: datetime | None = None


class _HookRow(Contract):
    config_id: str
    url: str
    dialect: Dialect
    token: str = ""
    scheme: str = ""
    credentials: str = ""
    shown_id: str = ""


class _PostRow(Contract):
    tenant: str
    delivery_id: str
    subject: str
    url: str
    body: str
    headers: Mapping[str, str] = {}
    secret: str = ""


class Row(NamedTuple):
    """What stands in Redis, with its sealed part still closed."""

    told: Told
    sealed: str


def read_row(text: str) -> Row:
    flag, cursor, told, sealed = text.split("\n", 3)
    known = _ToldRow.model_validate_json(told).model_dump(exclude={"v"})
    return Row(Told(cursor=cursor, disabled=flag != "on", **known), sealed)


def told_line(told: Told) -> str:
    kept = told._asdict()
    del kept["cursor"], kept["disabled"]
    return _ToldRow.model_validate(kept).model_dump_json()


def close_webhook(seal: Seal, webhook: Webhook) -> str:
    return seal.close(_HookRow.model_validate(webhook._asdict()).model_dump_json())


def open_webhook(seal: Seal, sealed: str) -> Webhook:
    return Webhook(**_HookRow.model_validate_json(seal.open(sealed)).model_dump(exclude={"v"}))


def close_delivery(seal: Seal, delivery: Delivery) -> str:
    return seal.close(_PostRow.model_validate(delivery._asdict()).model_dump_json())


def open_delivery(seal: Seal, sealed: str) -> Delivery:
    return Delivery(**_PostRow.model_validate_json(seal.open(sealed)).model_dump(exclude={"v"}))
