"""The public keys that verify an issuer's tokens (JWKS), fetched and cached."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

import httpx
import structlog
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK
from jwt.algorithms import AllowedPublicKeys
from jwt.exceptions import PyJWTError

from services.gateway.edge.errors import IssuerUnavailable
from shared.domain.exact_json import JsonObject, loads_object

_HTTPS_URL_PATTERN = re.compile(r"https://[^\s/?#@]+([/?]\S*)?")
_LOOPBACK_URL_PATTERN = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/\S*)?")


def discovery_url(issuer: str) -> str:
    """The URL of an issuer's discovery document (OpenID Connect)."""
    return issuer.rstrip("/") + "/.well-known/openid-configuration"


def may_fetch_keys_from(url: str) -> bool:
    """Whether keys may be fetched from a URL: over https, or over http from this machine."""
    return bool(_HTTPS_URL_PATTERN.fullmatch(url) or _LOOPBACK_URL_PATTERN.fullmatch(url))


log = structlog.get_logger()
_RSA_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_ALGORITHMS_BY_CURVE = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}
_RSA_BITS = 2048
_ALL_ALGORITHMS = frozenset((*_RSA_ALGORITHMS, *_ALGORITHMS_BY_CURVE.values()))
_MOST_KEYS = 100


class SigningKey(NamedTuple):
    """A public key, and the signature algorithms that it may be used with."""

    kid: str
    algorithms: Sequence[str]
    key: AllowedPublicKeys


RENEWAL_SECONDS = 300.0
_RETRY_SECONDS = 10.0  # between tries after a failure


class SigningKeys:
    """Caches the issuer's keys. If they cannot be renewed they expire, and then no token is accepted.

    ``fetch``: returns the JSON Web Keys that the issuer publishes now; raises ``IssuerUnavailable``. ``max_age``: the
    seconds until keys that cannot be renewed expire; ``interval``: between renewals.
    """

    def __init__(
        self,
        fetch: Callable[[], Awaitable[Sequence[JsonObject]]],
        clock: Callable[[], float],
        max_age: float = 3600,
        interval: float = RENEWAL_SECONDS,
    ) -> None:
        self._fetch_published = fetch
        self._clock = clock
        self._max_age = max_age
        self._interval = interval
        self._keys: Sequence[SigningKey] = ()
        self._renewed_at: float | None = None
        self._tried_at: float | None = None
        self._problem = "they were not fetched yet"
        self._fetch_lock = asyncio.Lock()

    async def find_key(self, kid: str | None, algorithm: str) -> SigningKey | None:
        """The key with that id and algorithm; an unknown one is fetched from the issuer. None if there is none.

        Without ``kid`` it is the only key for that algorithm, if there is just one. Raises ``IssuerUnavailable`` if the
        keys have expired, or an unknown key cannot be fetched.
        """
        if algorithm not in _ALL_ALGORITHMS:
            return None
        key = self._find_known_key(kid, algorithm) if self._are_fresh() else None
        if key is None:
            await self._renew_if_missing(kid, algorithm)
            key = self._find_known_key(kid, algorithm)
            if not self._are_fresh() or (key is None and self._problem):
                raise IssuerUnavailable("tokens cannot be verified for now: the issuer's keys cannot be had")
        return key

    async def keep_renewed(self) -> None:
        """Renew the keys regularly, for ever, so that no request has to wait for them."""
        while True:
            async with self._fetch_lock:
                await self._fetch_keys()
            await asyncio.sleep(self._interval if self._problem == "" else _RETRY_SECONDS)

    async def _renew_if_missing(self, kid: str | None, algorithm: str) -> None:
        """Fetch the keys if the key is still unknown: once for all waiting requests, and not before the retry pause."""
        async with self._fetch_lock:
            is_missing = not self._are_fresh() or self._find_known_key(kid, algorithm) is None
            if is_missing and (self._tried_at is None or self._clock() - self._tried_at >= _RETRY_SECONDS):
                await self._fetch_keys()

    async def _fetch_keys(self) -> None:
        self._tried_at = self._clock()
        try:
            self._keys = select_usable_keys(await self._fetch_published())
            self._renewed_at, self._problem = self._clock(), ""
        except IssuerUnavailable as error:
            self._problem = str(error)
            log.warning("signing_keys_not_renewed", error=self._problem, known=len(self._keys))

    def _find_known_key(self, kid: str | None, algorithm: str) -> SigningKey | None:
        matches = [key for key in self._keys if algorithm in key.algorithms and kid in (None, key.kid)]
        return matches[0] if len(matches) == 1 or (matches and kid) else None

    def _are_fresh(self) -> bool:
        return self._renewed_at is not None and self._clock() - self._renewed_at < self._max_age


def select_usable_keys(published: Sequence[JsonObject]) -> tuple[SigningKey, ...]:
    """The published keys that are public, meant for signatures, and long enough."""
    return tuple(filter(None, (_parse_jwk(jwk) for jwk in published[:_MOST_KEYS])))


def _parse_jwk(jwk: Mapping[str, object]) -> SigningKey | None:
    algorithms, operations = _list_permitted_algorithms(jwk), jwk.get("key_ops")
    may_verify = operations is None or (isinstance(operations, list) and "verify" in operations)
    if not algorithms or "d" in jwk or jwk.get("use", "sig") != "sig" or not may_verify:
        return None
    try:
        key = PyJWK(dict(jwk), algorithms[0]).key
    except PyJWTError as error:
        log.warning("signing_key_unusable", kid=str(jwk.get("kid")), error=type(error).__name__)
        return None
    if isinstance(key, RSAPublicKey) and key.key_size < _RSA_BITS:
        log.warning("signing_key_unusable", kid=str(jwk.get("kid")), error=f"{key.key_size} bits are too few")
        return None
    return SigningKey(str(jwk.get("kid") or ""), algorithms, key)


def _list_permitted_algorithms(jwk: Mapping[str, object]) -> Sequence[str]:
    permitted: Sequence[str] = ()
    if jwk.get("kty") == "RSA":
        permitted = _RSA_ALGORITHMS
    elif jwk.get("kty") in ("EC", "OKP"):
        permitted = tuple(filter(None, (_ALGORITHMS_BY_CURVE.get(str(jwk.get("crv"))),)))
    return permitted if jwk.get("alg") is None else tuple(name for name in permitted if name == jwk["alg"])


_MOST_BYTES = 512 * 1024
_TIMEOUT = httpx.Timeout(5.0, connect=3.0)


class HttpJwks:
    """Fetches the issuer's keys over HTTP, from the configured URL or the discovery document's; no redirects."""

    def __init__(self, http: httpx.AsyncClient, issuer: str, url: str = "") -> None:
        self._http = http
        self._issuer = issuer
        self._url = url

    async def fetch_keys(self) -> list[JsonObject]:
        published = await self._fetch_object(self._url or await self._discover_keys_url())
        keys = published.get("keys")
        if not isinstance(keys, list):
            raise IssuerUnavailable("what the issuer publishes is no key set: it has no list of keys")
        return [key for key in keys if isinstance(key, dict)]

    async def _discover_keys_url(self) -> str:
        document = await self._fetch_object(discovery_url(self._issuer))
        issuer, url = document.get("issuer"), document.get("jwks_uri")
        if issuer != self._issuer:
            raise IssuerUnavailable(f"the discovery document is that of issuer {issuer!r}, not of {self._issuer!r}")
        if not isinstance(url, str) or not may_fetch_keys_from(url):
            raise IssuerUnavailable("the discovery document names no https address in jwks_uri")
        return url

    async def _fetch_object(self, url: str) -> JsonObject:
        try:
            async with self._http.stream("GET", url, timeout=_TIMEOUT, follow_redirects=False) as response:
                if response.status_code != 200:
                    raise IssuerUnavailable(f"{url} answered {response.status_code}")
                return loads_object(await _read_limited_text(response, url))
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise IssuerUnavailable(f"{url} does not answer: {type(error).__name__}") from error
        except (ValueError, RecursionError) as error:
            raise IssuerUnavailable(f"{url} did not answer with a JSON object") from error


async def _read_limited_text(response: httpx.Response, url: str) -> str:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _MOST_BYTES:
            raise IssuerUnavailable(f"{url} answered with more than {_MOST_BYTES} bytes")
    return body.decode()
