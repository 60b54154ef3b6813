"""Credentials of connections: each secret is read from its source (file, environment or AWS) when a call needs it.

Access tokens of the OAuth 2.0 client credentials grant (RFC 6749, 4.4) are kept until shortly before they expire.
"""

import asyncio
import math
import os
import re
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, Self, TypeAlias, cast
from urllib.parse import quote_plus
from weakref import WeakValueDictionary

import httpx
import structlog
from typing_extensions import override

from services.executor.ports.tools import CredentialHeader, Credentials, CredentialUnavailable
from shared.contracts.credential import (
    Credential,
    CredentialType,
    SecretReference,
    SecretSource,
    name_secrets_folder,
    why_not_own_secret,
)
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.lru_cache import LruCache
from shared.infra.guard import AddressGuard
from shared.infra.guarded_http import make_guarded_client
from shared.infra.tls import load_client_tls_context

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
    """An OAuth access token and when it expires."""

    value: str
    until: float


class _SharedRequest:
    """A request for one token that several callers wait for. ``failures``: why it failed."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.failures: list[str] = []


class AccessTokenCache:
    """Gets and caches access tokens, inside an async context. Callers that need the same token share one request, and
    its failure.

    ``guard`` decides which token endpoints a tenant's own operators may name; without one, any address is permitted.
    """

    def __init__(self, guard: AddressGuard | None = None) -> None:
        limit = httpx.Timeout(TOKEN_SECONDS, connect=5.0)
        tls = load_client_tls_context()
        self._client = httpx.AsyncClient(timeout=limit, follow_redirects=False, trust_env=False, verify=tls)
        self._guarded = make_guarded_client(guard, limit) if guard else self._client
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
        """An access token.

        A ``refused`` one is replaced once for all callers that hold it; one that was replaced a moment ago is returned
        again. Raises ``CredentialUnavailable``.
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
        except _OAuthClientRefused:
            fresh_secret = await secret(True)
            if fresh_secret == known_secret:
                raise
            return await self._request_token(client, credential, fresh_secret)

    async def _request_token(self, client: httpx.AsyncClient, credential: Credential, secret: str) -> AccessToken:
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(TOKEN_SECONDS):
                status, body = await _fetch_token_response(client, _build_request(client, credential, secret))
        except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError) as error:
            cause = f"its token endpoint does not answer ({type(error).__name__})"
            raise CredentialUnavailable(_describe_failure(credential, cause)) from None
        answer = _parse_object_or_empty(body)
        if status == 200 and answer:
            return _parse_token(credential, answer, began)
        error_code = str(answer.get("error", ""))
        code = f", {error_code}" if _ERROR_CODE_PATTERN.fullmatch(error_code) else ""
        sentence = _describe_failure(credential, f"its token endpoint refused with HTTP {status}{code}")
        raise (_OAuthClientRefused if status == 401 or error_code == "invalid_client" else CredentialUnavailable)(
            sentence
        )


class _OAuthClientRefused(CredentialUnavailable):
    """The token endpoint refused the client's id or secret."""


async def _fetch_token_response(client: httpx.AsyncClient, request: httpx.Request) -> tuple[int, bytes]:
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


def _parse_token(credential: Credential, answer: JsonObject, began: float) -> AccessToken:
    token = answer.get("access_token")
    token_type = answer.get("token_type", "bearer")
    life = answer.get("expires_in")
    if not isinstance(token, str) or not _TOKEN_PATTERN.fullmatch(token):
        cause = "its token endpoint answered without a usable access_token"
        raise CredentialUnavailable(_describe_failure(credential, cause))
    if str(token_type).lower() != "bearer":
        cause = "its token endpoint gave a token that is no bearer token"
        raise CredentialUnavailable(_describe_failure(credential, cause))
    seconds = parse_token_lifetime(life)
    return AccessToken(token, began + seconds - min(EXPIRY_MARGIN_SECONDS, seconds / 10))


def parse_token_lifetime(expires_in: object) -> float:
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


MAX_SECRET_BYTES = 16 * 1024
FILE_SECONDS, AWS_SECONDS = 5.0, 10.0
AWS_CACHE_SECONDS = 60.0  # how long a secret of AWS is taken to be what it was; a refusal asks anew
_AWS_LIMITS = {"connect_timeout": 3, "read_timeout": 5, "retries": {"max_attempts": 2, "mode": "standard"}}


class _CachedSecret(NamedTuple):
    """A secret and when it was read."""

    until: float
    text: str


class Secrets:
    """Reads secrets from all sources. A reference in a tenant's own record finds only that tenant's own secrets."""

    def __init__(self, folder: Path, environ: Mapping[str, str] | None = None) -> None:
        """``folder`` has a subfolder for each tenant. Only the installation's own file may refer to files elsewhere."""
        self._environ = os.environ if environ is None else environ
        self._folder = folder
        self._aws_secrets = LruCache[str, _CachedSecret](MOST_SECRETS_CACHED)
        self._aws_locks = WeakValueDictionary[str, asyncio.Lock]()  # each as long as somebody holds it or waits for it

    async def read_secret(self, reference: SecretReference, owner: str, *, anew: bool = False) -> str:
        """The secret; raises ``CredentialUnavailable``. ``anew``: whether the server refused the cached one."""
        if owner and (reason := why_not_own_secret(reference, owner)):
            raise CredentialUnavailable(f"the credential {reference} may not be used: {reason}")
        secret = (await self._read_from_source(reference, owner, anew=anew)).strip()
        if not secret:
            raise CredentialUnavailable(f"the credential {reference} is empty")
        if not (secret.isascii() and secret.isprintable()) or len(secret) > MAX_SECRET_BYTES:
            raise CredentialUnavailable(f"the credential {reference} holds what no header can carry")
        return secret

    async def _read_from_source(self, reference: SecretReference, owner: str, *, anew: bool) -> str:
        """The secret from the place that its reference names; raises ``CredentialUnavailable``.

        ``anew``: as of ``read``.
        """
        match reference.scheme:
            case SecretSource.FILE:
                return await self._read_secret_file(reference, owner)
            case SecretSource.AWS:
                return await self._read_aws_secret(reference, anew=anew)
            case SecretSource.ENV:
                if reference.name in self._environ:
                    return self._environ[reference.name]
                raise CredentialUnavailable(f"the credential {reference} is not set in the executor's environment")

    async def _read_secret_file(self, reference: SecretReference, owner: str) -> str:
        # An absolute name is that file itself.
        path = self._folder / (name_secrets_folder(owner) if owner else "") / reference.name
        try:
            async with asyncio.timeout(FILE_SECONDS):
                return await asyncio.to_thread(_read_text, path)
        except (OSError, UnicodeError, TimeoutError) as error:
            cause = getattr(error, "strerror", None) or type(error).__name__
            raise CredentialUnavailable(f"the credential {reference} cannot be read: {cause}") from None

    async def _read_aws_secret(self, reference: SecretReference, *, anew: bool) -> str:
        """A secret from AWS Secrets Manager. Region, keys and endpoint come from the ``AWS_*`` variables."""
        asked_at = asyncio.get_running_loop().time()
        name = reference.name
        async with self._aws_locks.setdefault(name, asyncio.Lock()):
            secret, now = self._aws_secrets.look_up(name), asyncio.get_running_loop().time()
            if secret is None or now >= secret.until or (anew and secret.until - AWS_CACHE_SECONDS < asked_at):
                secret = _CachedSecret(now + AWS_CACHE_SECONDS, await _request_from_aws(reference))
                self._aws_secrets.put(name, secret)
        return _select_secret_field(reference, secret.text)


def _read_text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(MAX_SECRET_BYTES + 1).decode()


async def _request_from_aws(reference: SecretReference) -> str:
    try:
        async with asyncio.timeout(AWS_SECONDS):
            return await asyncio.to_thread(_fetch_aws_secret, reference)
    except TimeoutError:
        raise CredentialUnavailable(f"the credential {reference} cannot be had: AWS does not answer in time") from None


def _fetch_aws_secret(reference: SecretReference) -> str:
    import boto3  # takes a tenth of a second and 20 MB, and only such secrets need it
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    region = reference.name.split(":")[3] if reference.name.startswith("arn:") else None
    try:
        client = boto3.client("secretsmanager", region_name=region, config=Config(**_AWS_LIMITS))
        answer = cast("Mapping[str, object]", client.get_secret_value(SecretId=reference.name))
    except (BotoCoreError, ClientError) as error:  # their sentences may hold anything
        code = error.response.get("Error", {}).get("Code") if isinstance(error, ClientError) else None
        cause = code or type(error).__name__
        raise CredentialUnavailable(f"the credential {reference} cannot be had: {cause}") from None
    return str(answer.get("SecretString", ""))


def _select_secret_field(reference: SecretReference, text: str) -> str:
    """The field that the reference names in a JSON secret, or the whole text; raises ``CredentialUnavailable``."""
    if not reference.key:
        return text
    try:
        field = loads_object(text).get(reference.key)
    except ValueError:
        raise CredentialUnavailable(f"the credential {reference} names a key, and the secret is no JSON") from None
    if not isinstance(field, str):
        raise CredentialUnavailable(f"the credential {reference} names a key that the secret has not as a text")
    return field


log = structlog.get_logger()

_MOST_SECRETS_OF_CONNECTION = 3  # secrets of one connection: the present one, and those that it replaced


@asynccontextmanager
async def open_credentials(folder: Path, guard: AddressGuard | None = None) -> AsyncIterator["CredentialResolver"]:
    """Yields the credentials of all connections.

    ``folder`` holds the secrets, with one subfolder for each tenant. ``guard`` decides which token endpoints a tenant's
    own operators may name.
    """
    async with AccessTokenCache(guard) as tokens:
        yield CredentialResolver(Secrets(folder), tokens)


class CredentialResolver(Credentials):
    """Resolves connections' credentials to header values; for OAuth this requests an access token if need be."""

    def __init__(self, secrets: Secrets, tokens: AccessTokenCache) -> None:
        self._secrets, self._tokens = secrets, tokens
        # No secret is ever removed: a later answer may contain it, and there are only as many as connections.
        self._sent_secrets: defaultdict[str, deque[str]] = defaultdict(
            lambda: deque(maxlen=_MOST_SECRETS_OF_CONNECTION)
        )
        self._without_credential: set[str] = set()

    @property
    @override
    def missing_count(self) -> int:
        return len(self._without_credential)

    async def resolve_header(
        self, connection: Connection, refused_header: CredentialHeader | None = None
    ) -> CredentialHeader | None:
        credential = connection.credential
        if credential is None or connection.from_request:
            return None
        try:
            header = await self._resolve_header(connection, credential, refused_header)
        except CredentialUnavailable as error:
            if connection.server_key not in self._without_credential:
                log.warning("credential_unavailable", connection=connection.id, problem=str(error))
            self._without_credential.add(connection.server_key)
            raise
        self._without_credential.discard(connection.server_key)
        return header

    async def _resolve_header(
        self, connection: Connection, credential: Credential, refused: CredentialHeader | None
    ) -> CredentialHeader:
        if credential.type is CredentialType.OAUTH:
            secret = await self._get_token(connection.author_tenant, credential, refused)
        else:
            secret = await self._secrets.read_secret(
                credential.reference, connection.author_tenant, anew=refused is not None
            )
        sent_secrets = self._sent_secrets[connection.server_key]
        if secret not in sent_secrets:
            sent_secrets.append(secret)
        if credential.type is CredentialType.HEADER:
            return CredentialHeader(credential.header.lower(), secret)
        return CredentialHeader("authorization", f"Bearer {secret}")

    @override
    def list_recently_sent_secrets(self, connection: Connection) -> tuple[str, ...]:
        return tuple(self._sent_secrets.get(connection.server_key, ()))

    async def _get_token(self, owner: str, credential: Credential, refused: CredentialHeader | None) -> str:
        """An access token. The OAuth client's secret is read only if a new token has to be requested."""
        refused_token = refused.value.removeprefix("Bearer ") if refused else ""

        async def read_secret(anew: bool) -> str:
            return await self._secrets.read_secret(credential.reference, owner, anew=anew)

        return await self._tokens.get_token(owner, credential, read_secret, refused_token)


class NoCredentials(Credentials):
    """Credentials for servers that ask for none."""

    @override
    async def resolve_header(
        self, connection: Connection, refused_header: CredentialHeader | None = None
    ) -> CredentialHeader | None:
        return None
