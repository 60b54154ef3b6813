"""The keys by which an issuer's tokens are verified: fetched once, kept, renewed beside the requests."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import structlog
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK
from jwt.algorithms import AllowedPublicKeys
from jwt.exceptions import PyJWTError

from services.gateway.core.errors import IssuerUnavailable
from shared.domain.exact_json import JsonObject

log = structlog.get_logger()
_OF_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_OF_CURVE = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}
_RSA_BITS = 2048
_ALL = frozenset((*_OF_RSA, *_OF_CURVE.values()))
_MOST_KEYS = 100


class SigningKey(NamedTuple):
    """A public key, and the algorithms that its kind permits: none that shares a secret, and not none at all."""

    kid: str
    algorithms: Sequence[str]
    key: AllowedPublicKeys


class KeySource(Protocol):
    async def fetch(self) -> Sequence[JsonObject]:
        """The JSON Web Keys that are published now; raises ``IssuerUnavailable``."""
        ...


class Patience(NamedTuple):
    """Seconds: between two renewals, at least between two tries, and how long old keys count when none can be had."""

    renew: float = 300
    again: float = 10
    stale: float = 3600


class SigningKeys:
    """Known keys go on counting for a stated time while the issuer is away; then nobody is let in by a token."""

    def __init__(self, source: KeySource, clock: Callable[[], float], patience: Patience) -> None:
        self._source, self._clock, self._patience = source, clock, patience
        self._keys: Sequence[SigningKey] = ()
        self._had_at: float | None = None
        self._tried_at: float | None = None
        self._problem = "they were not fetched yet"
        self._turn = asyncio.Lock()

    async def find(self, kid: str | None, algorithm: str) -> SigningKey | None:
        """The key of that id for that algorithm, asking the issuer once if it is not known.

        A token may leave the id out where the issuer has one such key. Raises ``IssuerUnavailable``, also where a new
        key could not be asked for.
        """
        if algorithm not in _ALL:
            return None
        found = self._known(kid, algorithm) if self._are_good() else None
        if found is None:
            await self._renew_for(kid, algorithm)
            found = self._known(kid, algorithm)
            self._check_good(missed=found is None)
        return found

    async def renew_for_ever(self) -> None:
        """Keep the keys fresh, so that no request waits for it."""
        while True:
            await self._renew()
            await asyncio.sleep(self._patience.renew if self._problem == "" else self._patience.again)

    async def _renew_for(self, kid: str | None, algorithm: str) -> None:
        """Many that miss a key ask once, and strangers' ids make nobody ask more often than the pause allows."""
        async with self._turn:
            missed = not self._are_good() or self._known(kid, algorithm) is None
            if missed and (self._tried_at is None or self._clock() - self._tried_at >= self._patience.again):
                await self._fetch()

    async def _renew(self) -> None:
        async with self._turn:
            await self._fetch()

    async def _fetch(self) -> None:
        self._tried_at = self._clock()
        try:
            self._keys = usable(await self._source.fetch())
            self._had_at, self._problem = self._clock(), ""
        except IssuerUnavailable as error:
            self._problem = str(error)
            log.warning("signing_keys_not_renewed", error=self._problem, known=len(self._keys))

    def _known(self, kid: str | None, algorithm: str) -> SigningKey | None:
        fitting = [key for key in self._keys if algorithm in key.algorithms and kid in (None, key.kid)]
        return fitting[0] if len(fitting) == 1 or (fitting and kid) else None

    def _are_good(self) -> bool:
        return self._had_at is not None and self._clock() - self._had_at < self._patience.stale

    def _check_good(self, *, missed: bool) -> None:
        if not self._are_good() or (missed and self._problem):
            raise IssuerUnavailable("tokens cannot be verified for now: the issuer's keys cannot be had")


def usable(published: Sequence[JsonObject]) -> tuple[SigningKey, ...]:
    """Those that verify signatures by a public key that is long enough; the others are left out."""
    return tuple(filter(None, (_usable(jwk) for jwk in published[:_MOST_KEYS])))


def _usable(jwk: Mapping[str, object]) -> SigningKey | None:
    algorithms = _algorithms(jwk)
    if not algorithms or "d" in jwk or jwk.get("use", "sig") != "sig" or not _verifies(jwk.get("key_ops")):
        return None
    try:
        key = PyJWK(dict(jwk), algorithms[0]).key
    except PyJWTError as error:
        log.warning("signing_key_unusable", kid=str(jwk.get("kid")), error=type(error).__name__)
        return None
    if isinstance(key, RSAPublicKey) and key.key_size < _RSA_BITS:
        log.warning("signing_key_too_short", kid=str(jwk.get("kid")), bits=key.key_size)
        return None
    return SigningKey(str(jwk.get("kid") or ""), algorithms, key)


def _algorithms(jwk: Mapping[str, object]) -> Sequence[str]:
    permitted: Sequence[str] = ()
    if jwk.get("kty") == "RSA":
        permitted = _OF_RSA
    elif jwk.get("kty") in ("EC", "OKP"):
        permitted = tuple(filter(None, (_OF_CURVE.get(str(jwk.get("crv"))),)))
    return permitted if jwk.get("alg") is None else tuple(name for name in permitted if name == jwk["alg"])


def _verifies(operations: object) -> bool:
    return operations is None or (isinstance(operations, list) and "verify" in operations)
