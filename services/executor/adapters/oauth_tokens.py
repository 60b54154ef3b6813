"""Access tokens of the OAuth 2.0 client credentials grant (RFC 6749, 4.4): kept until shortly before they expire."""

import asyncio
import math
import re
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Self, TypeAlias
from urllib.parse import quote_plus
from weakref import WeakValueDictionary

import httpx

from services.executor.ports.tools import CredentialUnavailable
from shared.contracts.credential import Credential
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.lru_cache import LruCache
from shared.infra.guard import Guard
from shared.infra.guarded_http import guarded_client
from shared.infra.tls import client_tls_context

TOKEN_SECONDS = 10.0
MAX_ANSWER_BYTES = 64 * 1024
DEFAULT_TOKEN_LIFETIME_SECONDS = 300  # seconds, where the answer does not say
EXPIRY_MARGIN_SECONDS = 30.0  # so long before its end a token is no longer used, or a tenth of its life if that is less
RENEWAL_PAUSE_SECONDS = 5.0  # a server that takes no token at all does not have us ask for one with each call
MOST_SECRETS_CACHED = 1024
_ERROR_CODE_PATTERN = re.compile(r"[a-z_]{1,40}")
_TOKEN_PATTERN = re.compile(r"[\x21-\x7e]{1,16384}")


SecretReader: TypeAlias = "Callable[[bool], Awaitable[str]]"  # with True: anew, not as it was kept


class AccessToken(NamedTuple):
    value: str
    until: float


class _SharedRequest:
    """The request for one token, as long as somebody makes it or waits for it. ``failures``: why it failed."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.failures: list[str] = []


class AccessTokenCache:
    """Gets and caches access tokens, inside an async context. Callers that need the same token share one request, and
    its failure.

    ``guard`` decides which token endpoints a tenant's own operators may name; without one, any address is permitted.
    """

    def __init__(self, guard: Guard | None = None) -> None:
        limit = httpx.Timeout(TOKEN_SECONDS, connect=5.0)
        tls = client_tls_context()
        self._client = httpx.AsyncClient(timeout=limit, follow_redirects=False, trust_env=False, verify=tls)
        self._guarded = guarded_client(guard, limit) if guard else self._client
        self._cached = LruCache[str, AccessToken](MOST_SECRETS_CACHED)
        self._requests = WeakValueDictionary[str, _SharedRequest]()
        self._renewed_at = LruCache[str, float](MOST_SECRETS_CACHED)  # when a refused token was last replaced

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()
        await self._guarded.aclose()

    def _find_cached_token(self, owner: str, credential: Credential, refused: str) -> str | None:
        """A cached token that has not expired and is not the ``refused`` one; None if there is none."""
        token = self._cached.get(_build_token_key(owner, credential))
        if token is None or token.value == refused or asyncio.get_running_loop().time() >= token.until:
            return None
        return token.value

    async def get_token(self, owner: str, credential: Credential, secret: SecretReader, refused: str = "") -> str:
        """An access token. A ``refused`` one is replaced once for all callers that hold it; one that was
        replaced a moment ago is returned again. Raises ``CredentialUnavailable``.
        """
        if token_value := self._find_cached_token(owner, credential, refused):
            return token_value
        name = _build_token_key(owner, credential)
        shared = self._requests.setdefault(name, _SharedRequest())
        failure_count = len(shared.failures)
        async with shared.lock:
            if token_value := self._find_cached_token(owner, credential, refused):
                return token_value
            now = asyncio.get_running_loop().time()
            if refused and now < self._renewed_at.get(name, -RENEWAL_PAUSE_SECONDS) + RENEWAL_PAUSE_SECONDS:
                return refused
            if new_failures := shared.failures[failure_count:]:
                raise CredentialUnavailable(new_failures[-1])
            try:
                client = self._guarded if owner else self._client
                token = await self._request_with_fresh_secret(client, credential, secret)
            except CredentialUnavailable as error:
                shared.failures.append(str(error))
                raise
            if refused:
                self._renewed_at.put(name, now)
            return self._cached.put(name, token).value

    async def _request_with_fresh_secret(
        self, client: httpx.AsyncClient, credential: Credential, secret: SecretReader
    ) -> AccessToken:
        """Requests a token. A secret that the endpoint refuses is read again and, if it differs, tried once more."""
        known_secret = await secret(False)
        try:
            return await self._request_token(client, credential, known_secret)
        except _ClientRefused:
            fresh_secret = await secret(True)
            if fresh_secret == known_secret:
                raise
            return await self._request_token(client, credential, fresh_secret)

    async def _request_token(self, client: httpx.AsyncClient, credential: Credential, secret: str) -> AccessToken:
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(TOKEN_SECONDS):
                status, body = await _read_token_answer(client, _build_request(client, credential, secret))
        except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError) as error:
            cause = f"its token endpoint does not answer ({type(error).__name__})"
            raise CredentialUnavailable(_describe_failure(credential, cause)) from None
        answer = _parse_object_or_empty(body)
        if status == 200 and answer:
            return _read_token(credential, answer, began)
        error_code = str(answer.get("error", ""))
        code = f", {error_code}" if _ERROR_CODE_PATTERN.fullmatch(error_code) else ""
        sentence = _describe_failure(credential, f"its token endpoint refused with HTTP {status}{code}")
        raise (_ClientRefused if status == 401 or error_code == "invalid_client" else CredentialUnavailable)(sentence)


class _ClientRefused(CredentialUnavailable):
    """The token endpoint refused the client's id or secret."""


async def _read_token_answer(client: httpx.AsyncClient, request: httpx.Request) -> tuple[int, bytes]:
    response = await client.send(request, stream=True)
    try:
        body = bytearray()
        async for chunk in response.aiter_raw():  # none asks for a compressed answer
            body += chunk
            if len(body) > MAX_ANSWER_BYTES:
                return response.status_code, b""
    finally:
        await response.aclose()
    return response.status_code, bytes(body)


def _build_request(client: httpx.AsyncClient, credential: Credential, secret: str) -> httpx.Request:
    form = {"grant_type": "client_credentials", "scope": credential.scope, "audience": credential.audience}
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    if credential.client_auth == "post":
        form |= {"client_id": credential.client_id, "client_secret": secret}
    else:  # both halves are form-encoded first (RFC 6749, 2.3.1)
        basic = httpx.BasicAuth(quote_plus(credential.client_id), quote_plus(secret))
        headers["authorization"] = next(basic.auth_flow(httpx.Request("POST", "http://x"))).headers["authorization"]
    fields = {name: value for name, value in form.items() if value}
    return client.build_request("POST", credential.token_url, data=fields, headers=headers)


def _read_token(credential: Credential, answer: JsonObject, began: float) -> AccessToken:
    token, token_type, life = answer.get("access_token"), answer.get("token_type", "bearer"), answer.get("expires_in")
    if not isinstance(token, str) or not _TOKEN_PATTERN.fullmatch(token):
        cause = "its token endpoint answered without a usable access_token"
        raise CredentialUnavailable(_describe_failure(credential, cause))
    if str(token_type).lower() != "bearer":
        cause = "its token endpoint gave a token that is no bearer token"
        raise CredentialUnavailable(_describe_failure(credential, cause))
    seconds = read_lifetime(life)
    return AccessToken(token, began + seconds - min(EXPIRY_MARGIN_SECONDS, seconds / 10))


def read_lifetime(expires_in: object) -> float:
    """A token's ``expires_in`` in seconds, between one second and a day; the default if missing or unusable."""
    try:
        seconds = float(str(expires_in)) if expires_in is not None else DEFAULT_TOKEN_LIFETIME_SECONDS
    except ValueError:
        return DEFAULT_TOKEN_LIFETIME_SECONDS
    return DEFAULT_TOKEN_LIFETIME_SECONDS if math.isnan(seconds) else min(max(seconds, 1.0), 86_400.0)


def _parse_object_or_empty(body: bytes) -> JsonObject:
    """The body as a JSON object; empty if it is none."""
    try:
        return loads_object(body)
    except ValueError:
        return {}


def _describe_failure(credential: Credential, cause: str) -> str:
    return f"no token for the credential {credential.reference}: {cause} ({credential.token_url})"


def _build_token_key(owner: str, credential: Credential) -> str:
    return f"{owner} {credential.model_dump_json()}"
