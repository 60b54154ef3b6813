"""Where the ports of the door and its adapters meet: who is let in, by the settings."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from time import monotonic

import httpx

from services.gateway.adapters.identity.either_identity import EitherIdentity
from services.gateway.adapters.identity.http_jwks import HttpJwks
from services.gateway.adapters.identity.jwt_identity import Expected, JwtIdentity
from services.gateway.adapters.identity.key_identity import KeyIdentity
from services.gateway.adapters.identity.signing_keys import Patience, SigningKeys
from services.gateway.adapters.identity.unverified_identity import UnverifiedIdentity
from services.gateway.core.identity.brake import Strictness
from services.gateway.core.identity.source_address import networks_in
from services.gateway.door_settings import DoorSettings
from services.gateway.entrypoints.edge.door import Watch
from services.gateway.ports.identity import Identity, Meter


class Doorway:
    """``identity`` and ``watch``, and what they need running beside the requests."""

    def __init__(self, settings: DoorSettings, meter: Meter, now: Callable[[], datetime]) -> None:
        self._http = httpx.AsyncClient(trust_env=True)  # a proxy on the way to the issuer is the operator's to name
        patience = Patience(settings.jwt_keys_renewed, settings.jwt_keys_again, settings.jwt_keys_stale)
        source = HttpJwks(self._http, settings.jwt_issuer, settings.jwt_jwks_url)
        self._keys = SigningKeys(source, monotonic, patience) if "jwt" in settings.ways else None
        self.identity = self._identity(settings, meter, now)
        self.watch = Watch(networks_in(settings.trusted_proxies), Strictness(settings.failures_a_minute))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """The issuer's keys are kept fresh from the first line of the context to its last."""
        async with self._http, asyncio.TaskGroup() as group:
            renewing = group.create_task(self._keys.renew_for_ever()) if self._keys else None
            yield
            if renewing:
                renewing.cancel()

    def _identity(self, settings: DoorSettings, meter: Meter, now: Callable[[], datetime]) -> Identity:
        by_key = KeyIdentity(meter, now, settings.allowance)
        if self._keys is None:
            return by_key if "keys" in settings.ways else UnverifiedIdentity()
        expected = Expected(settings.jwt_issuer, settings.jwt_audience, settings.jwt_leeway)
        by_token = JwtIdentity(self._keys, expected, settings.claim_names, meter, settings.allowance)
        return EitherIdentity(by_key, by_token) if "keys" in settings.ways else by_token
