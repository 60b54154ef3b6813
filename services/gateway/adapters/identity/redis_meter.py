"""What callers have asked for lately, in state Redis: a key is found and its limits are counted in one step."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast

from redis.asyncio import Redis
from typing_extensions import override

from services.gateway.ports.identity import Allowance, Caller, Errand, Measure, Meter, Standing
from shared.contracts.api_key import ApiKey
from shared.infra import keys
from shared.infra.lua import Argument, Scripts

_USED_SECONDS = 60  # a key's last use is noted at most so often
_MINUTE, _DAY = 60, 86400
_REQUEST = (Errand.REQUEST, Errand.REQUEST_AND_MESSAGE)
_MESSAGE = (Errand.MESSAGE, Errand.REQUEST_AND_MESSAGE)
_MICRO = 1_000_000


class RedisMeter(Meter):
    def __init__(self, redis: Redis) -> None:
        self._scripts = Scripts(redis)

    @override
    async def of_key(
        self, key_id: str, digest: str, errand: Errand, usual: Allowance
    ) -> tuple[ApiKey | None, Standing]:
        names = [*keys.rate_keys_of_key(key_id), keys.api_key(key_id)]
        reply = await self._admit(names, errand, usual, digest)
        return read_key(reply[0], reply[1], reply[2]), _standing(reply[3:])

    @override
    async def of_bearer(self, caller: Caller, errand: Errand, usual: Allowance) -> Standing:
        names = keys.rate_keys_of_bearer(caller.tenant, caller.principal.id)
        return _standing((await self._admit(names, errand, usual, ""))[3:])

    async def _admit(self, names: Sequence[str], errand: Errand, usual: Allowance, digest: str) -> list[str]:
        wants: list[Argument] = [int(errand in _REQUEST), int(errand in _MESSAGE)]
        reply = await self._scripts.run("admit", names, [*wants, *usual, digest, _USED_SECONDS])
        return cast("list[str]", reply)


def read_key(json: str | None, revoked_at: str | None, used_at: str | None) -> ApiKey | None:
    """A key as its hash has it, with what has happened to it since it was made."""
    if not json:
        return None
    since = {
        "revoked_at": datetime.fromisoformat(revoked_at) if revoked_at else None,
        "last_used_at": datetime.fromtimestamp(int(used_at), UTC) if used_at else None,
    }
    return ApiKey.model_validate_json(json).model_copy(update=since)


def _standing(reply: Sequence[str]) -> Standing:
    """``reply`` is empty for a key that lets nobody in."""
    if not reply:
        return Standing()
    used_up, wait, *numbers = reply
    rows = (
        _measure("requests", _MINUTE, numbers[0:3]),
        _measure("messages", _MINUTE, numbers[3:6]),
        _measure("daily", _DAY, numbers[6:9]),
    )
    return Standing(tuple(row for row in rows if row.quota), used_up, int(wait) / _MICRO)


def _measure(name: str, window: int, numbers: Sequence[str]) -> Measure:
    quota, left, whole_in = map(int, numbers)
    return Measure(name, quota, window, left, whole_in / _MICRO)
