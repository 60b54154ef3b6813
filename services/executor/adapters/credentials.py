"""Credentials of connections: each secret is read from its source (file, environment or AWS) when a call needs it."""

import asyncio
import os
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, cast
from weakref import WeakValueDictionary

import structlog
from typing_extensions import override

from services.executor.adapters.oauth_tokens import MOST_SECRETS_CACHED, AccessTokenCache
from services.executor.ports.tools import CredentialHeader, Credentials, CredentialUnavailable
from shared.contracts.credential import (
    Credential,
    CredentialType,
    Reference,
    Scheme,
    secrets_folder_of,
    why_not_own_secret,
)
from shared.contracts.tenant import Connection
from shared.domain.exact_json import loads_object
from shared.domain.lru_cache import LruCache
from shared.infra.guard import Guard

MAX_SECRET_BYTES = 16 * 1024
FILE_SECONDS, AWS_SECONDS = 5.0, 10.0
AWS_CACHE_SECONDS = 60.0  # how long a secret of AWS is taken to be what it was; a refusal asks anew
_AWS_LIMITS = {"connect_timeout": 3, "read_timeout": 5, "retries": {"max_attempts": 2, "mode": "standard"}}


class _CachedSecret(NamedTuple):
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

    async def read(self, reference: Reference, owner: str, *, anew: bool = False) -> str:
        """The secret; raises ``CredentialUnavailable``. ``anew``: whether the server refused the cached one."""
        if owner and (reason := why_not_own_secret(reference, owner)):
            raise CredentialUnavailable(f"the credential {reference} may not be used: {reason}")
        secret = (await self._read_from_source(reference, owner, anew=anew)).strip()
        if not secret:
            raise CredentialUnavailable(f"the credential {reference} is empty")
        if not (secret.isascii() and secret.isprintable()) or len(secret) > MAX_SECRET_BYTES:
            raise CredentialUnavailable(f"the credential {reference} holds what no header can carry")
        return secret

    async def _read_from_source(self, reference: Reference, owner: str, *, anew: bool) -> str:
        """The secret from the place that its reference names; raises ``CredentialUnavailable``."""
        match reference.scheme:
            case Scheme.FILE:
                return await self._read_file(reference, owner)
            case Scheme.AWS:
                return await self._read_aws(reference, anew=anew)
            case Scheme.ENV:
                if reference.name in self._environ:
                    return self._environ[reference.name]
                raise CredentialUnavailable(f"the credential {reference} is not set in the executor's environment")

    async def _read_file(self, reference: Reference, owner: str) -> str:
        # An absolute name is that file itself.
        path = self._folder / (secrets_folder_of(owner) if owner else "") / reference.name
        try:
            async with asyncio.timeout(FILE_SECONDS):
                return await asyncio.to_thread(_read_text, path)
        except (OSError, UnicodeError, TimeoutError) as error:
            cause = getattr(error, "strerror", None) or type(error).__name__
            raise CredentialUnavailable(f"the credential {reference} cannot be read: {cause}") from None

    async def _read_aws(self, reference: Reference, *, anew: bool) -> str:
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


async def _request_from_aws(reference: Reference) -> str:
    try:
        async with asyncio.timeout(AWS_SECONDS):
            return await asyncio.to_thread(_fetch_aws_secret, reference)
    except TimeoutError:
        raise CredentialUnavailable(f"the credential {reference} cannot be had: AWS does not answer in time") from None


def _fetch_aws_secret(reference: Reference) -> str:
    import boto3  # a tenth of a second and 20 MB that only whoever names such a secret needs
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


def _select_secret_field(reference: Reference, text: str) -> str:
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
async def open_credentials(folder: Path, guard: Guard | None = None) -> AsyncIterator["ResolvedCredentials"]:
    """Yields the credentials of all connections. ``folder`` holds the secrets, with one subfolder for each tenant.
    ``guard`` decides which token endpoints a tenant's own operators may name.
    """
    async with AccessTokenCache(guard) as tokens:
        yield ResolvedCredentials(Secrets(folder), tokens)


class ResolvedCredentials(Credentials):
    def __init__(self, secrets: Secrets, tokens: AccessTokenCache) -> None:
        self._secrets, self._tokens = secrets, tokens
        # None is forgotten: it may yet be hidden in an answer, and there are no more than connections are set up.
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
            secret = await self._secrets.read(credential.reference, connection.author_tenant, anew=refused is not None)
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
            return await self._secrets.read(credential.reference, owner, anew=anew)

        return await self._tokens.get_token(owner, credential, read_secret, refused_token)


class NoCredentials(Credentials):
    """Credentials for servers that ask for none."""

    @override
    async def resolve_header(
        self, connection: Connection, refused_header: CredentialHeader | None = None
    ) -> CredentialHeader | None:
        return None
