"""A tenant's case log on Redis, for cases that no event brought: merged outside, replaced in one step if unchanged."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha1
from typing import cast

from pydantic import ValidationError
from redis.asyncio import Redis
from typing_extensions import override

from services.learner.ports.outcomes import CaseRepository, LoadedRows, Shelved
from shared.contracts.case import CaseEntry
from shared.infra import keys
from shared.infra.lua import Scripts
from shared.ports.store import StoreUnavailable

_LEASE_SECONDS = 120.0  # how long an object may take to load before another learner begins to look, too
_TRIES = 100  # every other learner's step may change the log in between


class RedisCaseRepository(CaseRepository):
    """``owner`` names this process and no other, ever."""

    def __init__(self, redis: Redis, owner: str, lease_seconds: float = _LEASE_SECONDS) -> None:
        self._scripts = Scripts(redis)
        self._owner = owner
        self._lease_ms = int(lease_seconds * 1000)

    @override
    async def begin(self, tenant: str) -> bool:
        """A lock that runs out beneath this costs no more than a merge in vain: see ``keep``."""
        key = keys.learned_keys(tenant).seeding
        taken, holder = await self._scripts.commands(
            ("SET", key, self._owner, "NX", "PX", self._lease_ms), ("GET", key)
        )
        if not taken and holder == self._owner:
            await self._scripts.command("PEXPIRE", key, self._lease_ms)
        return holder == self._owner

    @override
    async def end(self, tenant: str) -> None:
        await self._scripts.run("let_go", [keys.learned_keys(tenant).seeding], [self._owner, 0])

    @override
    async def versions_loaded(self, tenant: str) -> Mapping[str, str]:
        found = cast("dict[str, str]", await self._scripts.command("HGETALL", keys.learned_keys(tenant).seeded))
        return {name: told.partition("\n")[0] for name, told in found.items()}

    @override
    async def keep(
        self, tenant: str, merge: Callable[[Sequence[Shelved]], Sequence[Shelved]], loaded: LoadedRows
    ) -> Sequence[Shelved] | None:
        names = keys.learned_keys(tenant)
        for _ in range(_TRIES):
            rows = cast("list[str]", await self._scripts.command("LRANGE", names.cases, 0, -1))
            log = merge(read_case_log(rows))
            arguments = [digest_of_log(rows), loaded.name, loaded.version, _as_json(loaded), *(one.text for one in log)]
            reply = await self._scripts.run("merge_cases", [names.cases, names.seeded], arguments)
            if reply != "changed":
                return log if reply == "kept" else None
        raise StoreUnavailable(f"the case log of {tenant} changed at each of {_TRIES} tries")


def read_case_log(rows: Iterable[str]) -> list[Shelved]:
    return [Shelved(text, _case(text)) for text in rows]


def digest_of_log(rows: Iterable[str]) -> str:
    """As the scripts compute it: to see a change, not to withstand anybody."""
    return sha1("\n".join(rows).encode(), usedforsecurity=False).hexdigest()


def _case(text: str) -> CaseEntry | None:
    try:
        return CaseEntry.model_validate_json(text)
    except ValidationError:
        return None


def _as_json(loaded: LoadedRows) -> str:
    return json.dumps(
        {"rows": loaded.rows, "bad": loaded.bad, "first_bad": loaded.first_bad, "at": loaded.at.isoformat()}
    )
