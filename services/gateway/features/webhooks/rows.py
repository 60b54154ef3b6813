"""Webhooks as rows in Redis: encrypted, with how far each was told, and a list of those that fail."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, cast

from services.gateway.features.webhooks.model import Failing, HookState, SignedPost, TaskHook
from shared.contracts.base import Contract
from shared.domain.words import Dialect
from shared.infra import keys
from shared.infra.lua import Scripts
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


class LineRow(NamedTuple):
    """A row as it is in Redis, its encrypted part still closed."""

    told: HookState
    sealed: str


def read_row(text: str) -> LineRow:
    flag, cursor, told, sealed = text.split("\n", 3)
    known = _ToldRow.model_validate_json(told).model_dump(exclude={"v"})
    return LineRow(HookState(cursor=cursor, disabled=flag != "on", **known), sealed)


def told_line(told: HookState) -> str:
    kept = told._asdict()
    del kept["cursor"], kept["disabled"]
    return _ToldRow.model_validate(kept).model_dump_json()


def close_webhook(seal: Seal, webhook: TaskHook) -> str:
    return seal.close(_HookRow.model_validate(webhook._asdict()).model_dump_json())


def open_webhook(seal: Seal, sealed: str) -> TaskHook:
    return TaskHook(**_HookRow.model_validate_json(seal.open(sealed)).model_dump(exclude={"v"}))


def close_delivery(seal: Seal, delivery: SignedPost) -> str:
    return seal.close(_PostRow.model_validate(delivery._asdict()).model_dump_json())


def open_delivery(seal: Seal, sealed: str) -> SignedPost:
    return SignedPost(**_PostRow.model_validate_json(seal.open(sealed)).model_dump(exclude={"v"}))


_MOST = 1000  # of one tenant


class _FailingRow(Contract):
    subject: str
    config_id: str
    host: str
    error: str
    tries: int
    disabled: bool
    at: datetime | None = None


class FailingWebhooks:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def failing_of(self, tenant: str) -> Sequence[Failing]:
        """The tenant's failing webhooks, newest first."""
        rows = cast("dict[str, str]", await self._scripts.command("HGETALL", keys.failing_key(tenant)))
        read = (_FailingRow.model_validate_json(text).model_dump(exclude={"v"}) for text in rows.values())
        found = [Failing(**row) for row in read]
        return sorted(found, key=lambda one: (str(one.at), one.subject), reverse=True)

    async def note(self, tenant: str, member: str, failing: Failing) -> None:
        """Note a failing webhook, unless the tenant's list is full."""
        key, row = keys.failing_key(tenant), _FailingRow.model_validate(failing._asdict()).model_dump_json()
        known = await self._scripts.command("HEXISTS", key, member)
        if known or cast(int, await self._scripts.command("HLEN", key)) < _MOST:
            await self._scripts.command("HSET", key, member, row)
        await self._scripts.command("EXPIRE", key, keys.FAILING_SECONDS)

    async def forget(self, tenant: str, member: str) -> None:
        await self._scripts.command("HDEL", keys.failing_key(tenant), member)
