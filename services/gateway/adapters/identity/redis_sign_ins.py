"""Who is signed in to the console, in state Redis.

The cookie holds a random secret. Redis holds the credential under a name and sealed with a key that are both derived
from it: neither what is in Redis nor what is in a log of its commands lets anybody in, and a sign-out is for good.
"""

import hmac
import json
from base64 import urlsafe_b64encode
from secrets import token_urlsafe

from cryptography.fernet import Fernet, InvalidToken
from redis.asyncio import Redis
from typing_extensions import override

from services.gateway.ports.identity import Credential, SignIns
from shared.infra import keys
from shared.infra.lua import Scripts


class RedisSignIns(SignIns):
    def __init__(self, redis: Redis) -> None:
        self._scripts = Scripts(redis)

    @override
    async def begin(self, credential: Credential) -> str:
        secret = token_urlsafe(32)
        sealed = _seal(secret).encrypt(json.dumps(credential._asdict()).encode()).decode()
        await self._scripts.command("SET", _name(secret), sealed, "EX", keys.CONSOLE_SECONDS)
        return secret

    @override
    async def find(self, secret: str) -> Credential | None:
        sealed = await self._scripts.command("GET", _name(secret))
        if sealed is None:
            return None
        try:
            return Credential(**json.loads(_seal(secret).decrypt(str(sealed).encode())))
        except (InvalidToken, TypeError, ValueError):  # written by another version: sign in anew
            return None

    @override
    async def end(self, secret: str) -> None:
        await self._scripts.command("DEL", _name(secret))

    @override
    async def refused(self, address: str) -> None:
        """Counted in a fixed window, which the first refusal opens."""
        name = keys.console_refused_key(address)
        await self._scripts.command("INCR", name)
        await self._scripts.command("EXPIRE", name, keys.REFUSED_SECONDS, "NX")

    @override
    async def refusals(self, address: str) -> int:
        return int(str(await self._scripts.command("GET", keys.console_refused_key(address)) or 0))


def _name(secret: str) -> str:
    return keys.console_key(_derived(secret, b"name").hex())


def _seal(secret: str) -> Fernet:
    return Fernet(urlsafe_b64encode(_derived(secret, b"seal")))


def _derived(secret: str, use: bytes) -> bytes:
    return hmac.digest(secret.encode(), b"purple console " + use, "sha256")
