"""Credentials of connections, resolved when a call is made (``Credentials``)."""

from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from typing_extensions import override

from services.executor.adapters.oauth_tokens import TokenEndpoints
from services.executor.adapters.secret_sources import Secrets, SecretSource
from services.executor.ports.credentials import Badge, Credentials
from shared.contracts.credential import Credential, CredentialType
from shared.contracts.tenant import Connection

_AUTHORIZATION = "authorization"
_REMEMBERED = 3  # secrets of one connection: the present one, and those that it replaced


@asynccontextmanager
async def open_credentials(folder: Path) -> AsyncIterator[Credentials]:
    """``folder``: where the files of tenants' secrets lie, in a folder for each tenant."""
    async with TokenEndpoints() as tokens:
        yield ResolvedCredentials(Secrets(folder), tokens)


class ResolvedCredentials(Credentials):
    def __init__(self, secrets: SecretSource, tokens: TokenEndpoints) -> None:
        self._secrets, self._tokens = secrets, tokens
        self._shown: defaultdict[str, deque[str]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))

    @override
    async def badge(self, connection: Connection, refused: Badge | None = None) -> Badge | None:
        credential = connection.credential
        if credential is None or connection.from_request:
            return None
        if credential.type is CredentialType.OAUTH:
            token = await self._token(connection.owner, credential, refused)
            return self._noted(connection, Badge(_AUTHORIZATION, f"Bearer {token}"), token)
        secret = await self._secrets.read(credential.reference, connection.owner, anew=refused is not None)
        bearer = credential.type is CredentialType.BEARER
        badge = Badge(_AUTHORIZATION, f"Bearer {secret}") if bearer else Badge(credential.header.lower(), secret)
        return self._noted(connection, badge, secret)

    @override
    def shown(self, connection: Connection) -> tuple[str, ...]:
        return tuple(self._shown.get(connection.line, ()))

    async def _token(self, owner: str, credential: Credential, refused: Badge | None) -> str:
        """The client's secret is read only when a token is asked for."""
        before = refused.value.removeprefix("Bearer ") if refused else ""
        if kept := self._tokens.kept(owner, credential, before):
            return kept

        async def secret(anew: bool) -> str:
            return await self._secrets.read(credential.reference, owner, anew=anew)

        return await self._tokens.token(owner, credential, secret, before)

    def _noted(self, connection: Connection, badge: Badge, secret: str) -> Badge:
        noted = self._shown[connection.line]
        if secret not in noted:
            noted.append(secret)
        return badge


class NoCredentials(Credentials):
    """For whoever calls servers that ask for none."""

    @override
    async def badge(self, connection: Connection, refused: Badge | None = None) -> Badge | None:
        return None

    @override
    def shown(self, connection: Connection) -> tuple[str, ...]:
        return ()
