"""Running assessments of this worker, in Redis; the keys to their worlds are encrypted."""

from collections.abc import Sequence
from typing import cast

from redis.asyncio import Redis

from services.gateway.features.participation.service import (
    BegunByAnotherCaller,
    Participation,
    Participations,
    UndecryptableKey,
)
from shared.infra.keys import PARTICIPATION_SECONDS, participant_key, participation_key
from shared.infra.lua import Scripts
from shared.infra.sealed import CannotDecrypt, SecretCipher


class RedisParticipations(Participations):
    """The running assessments in Redis. ``keys``: at least one Fernet key, the newest first."""

    def __init__(self, redis: Redis, keys: Sequence[str], seconds: int = PARTICIPATION_SECONDS) -> None:
        self._scripts, self._seal, self._seconds = Scripts(redis), SecretCipher(keys), seconds

    async def begin(self, tenant: str, begun: Participation, api_key: str) -> Participation:
        stored = begun.model_copy(update={"sealed_key": self._seal.encrypt(api_key)})
        if not await self._write_row(tenant, begun, json=stored.model_dump_json()):
            raise BegunByAnotherCaller
        pointer = participant_key(tenant, begun.caller)
        await self._scripts.execute("SET", pointer, begun.session_id, "EX", self._seconds)
        return stored

    async def find(self, tenant: str, session_id: str) -> Participation | None:
        name = participation_key(tenant, session_id)
        reply = await self._scripts.execute("HMGET", name, "json", "turns")
        text, turns = cast("list[str | None]", reply)
        if text is None:
            return None
        return Participation.model_validate_json(text).model_copy(update={"turns": int(turns or 0)})

    async def find_latest(self, tenant: str, caller: str) -> Participation | None:
        session_id = cast("str | None", await self._scripts.execute("GET", participant_key(tenant, caller)))
        found = await self.find(tenant, session_id) if session_id else None
        return found if found and found.caller == caller else None

    async def renew(self, tenant: str, participation: Participation, turn_number: int) -> bool:
        if not await self._write_row(tenant, participation, turn_number=turn_number):
            return False
        await self._scripts.execute("EXPIRE", participant_key(tenant, participation.caller), self._seconds)
        return True

    async def _write_row(self, tenant: str, kept: Participation, json: str = "", turn_number: int = 0) -> bool:
        names = [participation_key(tenant, kept.session_id)]
        arguments = (kept.assessment, kept.caller, json, turn_number, self._seconds)
        return await self._scripts.run("keep_participation", names, arguments) == 1

    async def delete(self, tenant: str, participation: Participation) -> None:
        names = [participation_key(tenant, participation.session_id)]
        await self._scripts.run("let_go", names, [participation.assessment, 0, "assessment"])

    def decrypt_key(self, participation: Participation) -> str:
        try:
            return self._seal.decrypt(participation.sealed_key)
        except CannotDecrypt as error:
            raise UndecryptableKey("no key of ASSESSMENT_KEY opens the key to the assessed world") from error
