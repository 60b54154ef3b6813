"""A tenant's webhooks that fail, for people to see: no more than a note beside the truth, which the lines hold."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from services.gateway.ports.push import Failing
from shared.contracts.base import Contract
from shared.infra import keys
from shared.infra.lua import Scripts

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

    async def of(self, tenant: str) -> Sequence[Failing]:
        """The newest first."""
        rows = cast("dict[str, str]", await self._scripts.command("HGETALL", keys.failing_key(tenant)))
        read = (_FailingRow.model_validate_json(text).model_dump(exclude={"v"}) for text in rows.values())
        found = [Failing(**row) for row in read]
        return sorted(found, key=lambda one: (str(one.at), one.subject), reverse=True)

    async def note(self, tenant: str, member: str, failing: Failing) -> None:
        """Of a tenant with so many that nobody reads them all, no further ones are noted."""
        key, row = keys.failing_key(tenant), _FailingRow.model_validate(failing._asdict()).model_dump_json()
        known = await self._scripts.command("HEXISTS", key, member)
        if known or cast(int, await self._scripts.command("HLEN", key)) < _MOST:
            await self._scripts.command("HSET", key, member, row)
        await self._scripts.command("EXPIRE", key, keys.FAILING_SECONDS)

    async def mended(self, tenant: str, member: str) -> None:
        await self._scripts.command("HDEL", keys.failing_key(tenant), member)
