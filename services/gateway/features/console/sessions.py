"""Sign-in to the console: sessions in Redis, and tokens against cross-site form requests.

A session holds the visitor's credential, encrypted with the cookie's secret; the credential is checked at each request.
"""

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
from shared.domain.words import EscalationLevel, Role
from shared.infra import keys
from shared.infra.lua import ScriptedStore, bounded_redis_calls


def derive_form_token(secret: str) -> str:
    """The anti-forgery token for forms of the session with that secret."""
    return hmac.digest(secret.encode(), b"purple console form", "sha256").hex()


def is_form_token_of(secret: str, token: str) -> bool:
    return bool(secret) and hmac.compare_digest(derive_form_token(secret).encode(), token.encode())


def choose_safe_destination(path: str) -> str:
    """The path to redirect to: ``path`` itself if it is a page of the console, else the console's start page."""
    is_plain = path.isprintable() and "\\" not in path and "//" not in path
    return path if is_plain and path.startswith("/console/") else "/console/"


_MOST_FIELDS, _MOST_BYTES = 20, 64 * 1024


class BadForm(Exception):
    """A form was refused; the message says what the visitor can do."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


async def read_verified_form(request: Request, *secrets: str) -> dict[str, str]:
    """The form's fields; raises ``BadForm`` unless it has the anti-forgery token of one of the session secrets."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise BadForm("The page did not send a form. Go back and try again.", 415)
    form = await request.form(max_fields=_MOST_FIELDS, max_part_size=_MOST_BYTES)
    fields = {name: value for name, value in form.items() if isinstance(value, str)}
    if not any(is_form_token_of(secret, fields.get("form", "")) for secret in secrets):
        raise BadForm("This page was open for too long, or in another sign-in. Nothing was done. Try again.", 403)
    return fields


SESSION_COOKIE = "purple_console"
MOST_REFUSED_SIGN_INS = 10


class Visitor(NamedTuple):
    """A signed-in visitor, with the request to answer. ``secret``: the session's, as in the cookie."""

    caller: Caller
    secret: str
    request: Request

    def has_any_role(self, *roles: Role) -> bool:
        """Whether the visitor has one of the roles. Without authentication, every visitor has all roles."""
        return bool({*roles} & {*self.caller.principal.roles})


class SignInCredential(NamedTuple):
    """What a visitor signs in with: an API key or token or, without authentication, a name."""

    token: str = ""
    name: str = ""


def _build_session_key(secret: str) -> str:
    return keys.console_session_key(_derive_key(secret, b"name").hex())


def _build_session_cipher(secret: str) -> Fernet:
    return Fernet(urlsafe_b64encode(_derive_key(secret, b"seal")))


def _derive_key(secret: str, use: bytes) -> bytes:
    return hmac.digest(secret.encode(), b"purple console " + use, "sha256")


class ConsoleSessions(ScriptedStore):
    """The console's sessions, shared by all replicas, and counts of refused sign-ins. May raise ``StoreUnavailable``.

    The credential of a session is checked at each request, so a revoked or expired key ends the session at once.
    """

    def __init__(self, redis: Redis, identity: Identity) -> None:
        super().__init__(redis)
        self._identity = identity

    async def find_visitor(self, request: Request) -> Visitor | None:
        """The request's visitor; None without a session, or if its credential is no longer valid.

        Also raises ``IssuerUnavailable``.
        """
        secret = request.cookies.get(SESSION_COOKIE, "")
        credential = await self._find_credential(secret) if secret else None
        if credential is None:
            return None
        try:
            return Visitor(await self._find_caller(credential), secret, request)
        except (Unauthenticated, NotEntitled):
            return None

    async def requires_credentials(self) -> bool:
        """Whether this gateway requires credentials."""
        try:
            return await self._identity.identify({}) is not None
        except (Unauthenticated, NotEntitled, IssuerUnavailable):
            return True

    async def sign_in(self, credential: SignInCredential) -> str:
        """Begin a session with a credential; returns its secret, for the browser's cookie.

        Raises ``Unauthenticated``, ``InvalidField``, and for a token ``NotEntitled`` and ``IssuerUnavailable``.
        """
        await self._find_caller(credential)
        secret = token_urlsafe(32)
        sealed = _build_session_cipher(secret).encrypt(json.dumps(credential._asdict()).encode()).decode()
        await self._scripts.execute("SET", _build_session_key(secret), sealed, "EX", keys.CONSOLE_SESSION_SECONDS)
        return secret

    async def sign_out(self, secret: str) -> None:
        await self._scripts.execute("DEL", _build_session_key(secret))

    async def is_throttled(self, address: str) -> bool:
        """Whether too many sign-ins from the address were refused lately; False for an unknown (empty) address."""
        refused = await self._scripts.execute("GET", keys.refused_sign_ins_key(address)) if address else None
        return int(str(refused or 0)) >= MOST_REFUSED_SIGN_INS

    async def count_refusal(self, address: str) -> None:
        """Count a refused sign-in from the address, in a fixed window that begins with the first refusal."""
        if address:
            name = keys.refused_sign_ins_key(address)
            async with bounded_redis_calls(), self._redis.pipeline(transaction=False) as pipe:
                pipe.incr(name)
                pipe.expire(name, keys.REFUSED_SIGN_INS_SECONDS, nx=True)
                await pipe.execute()

    async def _find_caller(self, credential: SignInCredential) -> Caller:
        headers = {"authorization": f"Bearer {credential.token}"} if credential.token else {}
        authenticated = await self._identity.identify(headers)
        return self._identity.caller_of(
            authenticated, {} if authenticated else {"principal": _build_claim_of_all_roles(credential.name)}
        )

    async def _find_credential(self, secret: str) -> SignInCredential | None:
        sealed = await self._scripts.execute("GET", _build_session_key(secret))
        if sealed is None:
            return None
        try:
            return SignInCredential(**json.loads(_build_session_cipher(secret).decrypt(str(sealed).encode())))
        except (InvalidToken, TypeError, ValueError):  # written by another version: sign in anew
            return None


def _build_claim_of_all_roles(name: str) -> dict[str, Json]:
    """The claim of a principal of that name with all roles and levels, for a gateway without authentication."""
    roles: list[Json] = [role.value for role in Role]
    levels: list[Json] = [level.word for level in EscalationLevel]
    return {"id": name, "roles": roles, "levels": levels}
