"""Credentials of connections, resolved when a call is made (``Credentials``)."""

from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import structlog
from typing_extensions import override

from services.executor.adapters.oauth_tokens import TokenEndpoints
from services.executor.adapters.secret_sources import Secrets, SecretSource
from services.executor.ports.credentials import CredentialHeader, Credentials, CredentialUnavailable
from shared.contracts.credential import Credential, CredentialType
from shared.contracts.tenant import Connection
from shared.infra.guard import Guard

log = structlog.get_logger()

_AUTHORIZATION = "authorization"
_REMEMBERED = 3  # secrets of one connection: the present one, and those that it replaced


@asynccontextmanager
async def open_credentials(folder: Path, guard: Guard | None = None) -> AsyncIterator["ResolvedCredentials"]:
    """``folder``: where the files of tenants' secrets lie, in a folder for each tenant.

    ``guard``: where the token endpoints may be that a tenant's own operators named.
    """
    async with TokenEndpoints(guard) as tokens:
        yield ResolvedCredentials(Secrets(folder), tokens)


class ResolvedCredentials(Credentials):
    def __init__(self, secrets: SecretSource, tokens: TokenEndpoints) -> None:
        self._secrets, self._tokens = secrets, tokens
        self._shown: defaultdict[str, deque[str]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))
        self._lacking: set[str] = set()

    @property
    def lacking(self) -> int:
        """How many connections had no credential to show when they were last used."""
        return len(self._lacking)

    @override
    async def badge(self, connection: Connection, refused: CredentialHeader | None = None) -> CredentialHeader | None:
        credential = connection.credential
        if credential is None or connection.from_request:
            return None
        try:
            badge = await self._resolve_badge(connection, credential, refused)
        except CredentialUnavailable as error:
            if connection.line not in self._lacking:
                log.warning("credential_unavailable", connection=connection.id, problem=str(error))
            self._lacking.add(connection.line)
            raise
        self._lacking.discard(connection.line)
        return badge

    async def _resolve_badge(
        self, connection: Connection, credential: Credential, refused: CredentialHeader | None
    ) -> CredentialHeader:
        if credential.type is CredentialType.OAUTH:
            token = await self._token(connection.owner, credential, refused)
            return self._note_secret(connection, CredentialHeader(_AUTHORIZATION, f"Bearer {token}"), token)
        secret = await self._secrets.read(credential.reference, connection.owner, anew=refused is not None)
        bearer = credential.type is CredentialType.BEARER
        badge = (
            CredentialHeader(_AUTHORIZATION, f"Bearer {secret}")
            if bearer
            else CredentialHeader(credential.header.lower(), secret)
        )
        return self._note_secret(connection, badge, secret)

    @override
    def shown_secrets(self, connection: Connection) -> tuple[str, ...]:
        return tuple(self._shown.get(connection.line, ()))

    async def _token(self, owner: str, credential: Credential, refused: CredentialHeader | None) -> str:
        """The client's secret is read only when a token is asked for."""
        before = refused.value.removeprefix("Bearer ") if refused else ""
        if kept := self._tokens.cached_token(owner, credential, before):
            return kept

        async def secret(anew: bool) -> str:
            return await self._secrets.read(credential.reference, owner, anew=anew)

        return await self._tokens.token(owner, credential, secret, before)

    def _note_secret(self, connection: Connection, badge: CredentialHeader, secret: str) -> CredentialHeader:
        noted = self._shown[connection.line]
        if secret not in noted:
            noted.append(secret)
        return badge


class NoCredentials(Credentials):
    """For whoever calls servers that ask for none."""

    @override
    async def badge(self, connection: Connection, refused: CredentialHeader | None = None) -> CredentialHeader | None:
        return None

    @override
    def shown_secrets(self, connection: Connection) -> tuple[str, ...]:
        return ()
