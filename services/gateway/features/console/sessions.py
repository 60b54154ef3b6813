"""Signed-in visitors of the console: the credential behind the cookie is checked at each request."""

import hmac
import json
from base64 import urlsafe_b64encode
from secrets import token_urlsafe
from typing import NamedTuple

from cryptography.fernet import Fernet, InvalidToken
from redis.asyncio import Redis
from starlette.requests import Request

from services.gateway.edge.errors import IssuerUnavailable, NotEntitled, Unauthenticated
from services.gateway.features.identity.model import Caller, Identity
from shared.domain.exact_json import Json
from shared.domain.words import Level, Role
from shared.infra import keys
from shared.infra.lua import ScriptedStore


def form_token(secret: str) -> str:
    """The token in every form of the holder of ``secret``."""
    return hmac.digest(secret.encode(), b"purple console form", "sha256").hex()


def is_form_of(secret: str, token: str) -> bool:
    return bool(secret) and hmac.compare_digest(form_token(secret).encode(), token.encode())


def place_after(wanted: str) -> str:
    """Where to go after a form: ``wanted`` if it is a page of the console, else its start page."""
    plain = wanted.isprintable() and "\\" not in wanted and "//" not in wanted
    return wanted if plain and wanted.startswith("/console/") else "/console/"


_MOST_FIELDS, _MOST_BYTES = 20, 64 * 1024


class BadForm(Exception):
    """A refused form; the message says what to do."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


async def read_form(request: Request, *secrets: str) -> dict[str, str]:
    """The form's fields; raises ``BadForm`` unless a page gave the form to the holder of one of ``secrets``."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise BadForm("The page did not send a form. Go back and try again.", 415)
    form = await request.form(max_fields=_MOST_FIELDS, max_part_size=_MOST_BYTES)
    fields = {name: value for name, value in form.items() if isinstance(value, str)}
    if not any(is_form_of(secret, fields.get("form", "")) for secret in secrets):
        raise BadForm("This page was open for too long, or in another sign-in. Nothing was done. Try again.", 403)
    return fields


COOKIE = "purple_console"
MOST_REFUSALS = 10


class Visitor(NamedTuple):
    """A signed-in person. ``secret``: the cookie's, from which the tokens of their forms are made."""

    caller: Caller
    secret: str

    def has(self, *roles: Role) -> bool:
        """Whether the visitor has one of the roles. Where nobody checks keys, every visitor has all roles."""
        return bool({*roles} & {*self.caller.principal.roles})


class SignInCredential(NamedTuple):
    """What somebody signed in to the console with: a key or token or, where nobody checks, a name."""

    token: str = ""
    name: str = ""


def _cookie_key(secret: str) -> str:
    return keys.console_key(_derive_key(secret, b"name").hex())


def _seal(secret: str) -> Fernet:
    return Fernet(urlsafe_b64encode(_derive_key(secret, b"seal")))


def _derive_key(secret: str, use: bytes) -> bytes:
    return hmac.digest(secret.encode(), b"purple console " + use, "sha256")


class ConsoleSessions(ScriptedStore):
    """Who is signed in to the console, for all replicas, and who was refused. May raise ``StoreUnavailable``.

    The key behind a cookie is checked anew at each request, so a revoked or expired one is refused at once.
    """

    def __init__(self, redis: Redis, identity: Identity) -> None:
        super().__init__(redis)
        self._identity = identity

    async def visitor(self, request: Request) -> Visitor | None:
        """Who is signed in; None for nobody, or for a key that no longer holds. Also raises ``IssuerUnavailable``."""
        secret = request.cookies.get(COOKIE, "")
        credential = await self._find_credential(secret) if secret else None
        if credential is None:
            return None
        try:
            return Visitor(await self._find_caller(credential), secret)
        except (Unauthenticated, NotEntitled):
            return None

    async def checks_keys(self) -> bool:
        """Whether this gateway requires credentials."""
        try:
            return await self._identity.identify({}) is not None
        except (Unauthenticated, NotEntitled, IssuerUnavailable):
            return True

    async def sign_in(self, credential: SignInCredential) -> str:
        """Sign in with a credential; returns the secret for the browser's cookie, which expires or is ended.

        Raises ``Unauthenticated`` and ``InvalidField``.
        """
        await self._find_caller(credential)
        secret = token_urlsafe(32)
        sealed = _seal(secret).encrypt(json.dumps(credential._asdict()).encode()).decode()
        await self._scripts.command("SET", _cookie_key(secret), sealed, "EX", keys.CONSOLE_SECONDS)
        return secret

    async def sign_out(self, secret: str) -> None:
        await self._scripts.command("DEL", _cookie_key(secret))

    async def is_braked(self, address: str) -> bool:
        """Whether an address has failed to sign in too often. False for an unknown address, which all might share."""
        refused = await self._scripts.command("GET", keys.console_refused_key(address)) if address else None
        return int(str(refused or 0)) >= MOST_REFUSALS

    async def count_refusal(self, address: str) -> None:
        """Count a refused sign-in in a fixed window, which the first refusal opens."""
        if address:
            name = keys.console_refused_key(address)
            await self._scripts.command("INCR", name)
            await self._scripts.command("EXPIRE", name, keys.REFUSED_SECONDS, "NX")

    async def _find_caller(self, credential: SignInCredential) -> Caller:
        headers = {"authorization": f"Bearer {credential.token}"} if credential.token else {}
        authenticated = await self._identity.identify(headers)
        return self._identity.caller_of(authenticated, {} if authenticated else {"principal": _all_of(credential.name)})

    async def _find_credential(self, secret: str) -> SignInCredential | None:
        sealed = await self._scripts.command("GET", _cookie_key(secret))
        if sealed is None:
            return None
        try:
            return SignInCredential(**json.loads(_seal(secret).decrypt(str(sealed).encode())))
        except (InvalidToken, TypeError, ValueError):  # written by another version: sign in anew
            return None


def _all_of(name: str) -> dict[str, Json]:
    """The principal of a given name with every role and level, for a gateway where nobody checks."""
    roles: list[Json] = [role.value for role in Role]
    levels: list[Json] = [level.word for level in Level]
    return {"id": name, "roles": roles, "levels": levels}
