"""A tenant's case log on Redis, for cases that no event brought: merged outside, replaced in one step if unchanged."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from pydantic import ValidationError
from redis.asyncio import Redis
from typing_extensions import override

from services.learner.adapters.learned_changes import LearnedCommand, change_learned, digest_of_list
from services.learner.ports.files import Versions
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
        return {name: _version(told) for name, told in found.items()}

    @override
    async def keep(
        self, tenant: str, merge: Callable[[Sequence[Shelved]], Sequence[Shelved]], loaded: LoadedRows
    ) -> Sequence[Shelved] | None:
        names = keys.learned_keys(tenant)
        for _ in range(_TRIES):
            asked = (("HGET", names.seeded, loaded.name), ("LRANGE", names.cases, 0, -1))
            known, rows = cast("tuple[str | None, list[str]]", await self._scripts.commands(*asked))
            if known is not None and _version(known) == loaded.version:
                return None
            log = merge(read_case_log(rows))
            commands: list[LearnedCommand] = [
                ("HSET", names.seeded, (loaded.name, f"{loaded.version}\n{_as_json(loaded)}")),
                ("DEL", names.cases, ()),
                ("RPUSH", names.cases, [one.text for one in log]),
            ]
            if await change_learned(self._scripts, tenant, commands, Versions(cases=digest_of_list(rows))):
                return log
        raise StoreUnavailable(f"the case log of {tenant} changed at each of {_TRIES} tries")


def read_case_log(rows: Iterable[str]) -> list[Shelved]:
    return [Shelved(text, _case(text)) for text in rows]


def _version(told: str) -> str:
    """Of an object that was loaded: what came of it follows."""
    return told.partition("\n")[0]


def _case(text: str) -> CaseEntry | None:
    try:
        return CaseEntry.model_validate_json(text)
    except ValidationError:
        return None


def _as_json(loaded: LoadedRows) -> str:
    return json.dumps(
        {"rows": loaded.rows, "bad": loaded.bad, "first_bad": loaded.first_bad, "at": loaded.at.isoformat()}
    )
