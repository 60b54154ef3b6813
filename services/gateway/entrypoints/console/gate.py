"""Who looks at a page: the credential behind the cookie, checked anew with each request."""

from typing import NamedTuple

from starlette.requests import Request

from services.gateway.core.errors import IssuerUnavailable, NotEntitled, Unauthenticated
from services.gateway.ports.identity import Caller, Credential, Identity, SignIns
from shared.domain.exact_json import Json
from shared.domain.words import Level, Role

COOKIE = "purple_console"
MOST_REFUSALS = 10


class Visitor(NamedTuple):
    """Somebody who is signed in. ``secret`` is the cookie's: the tokens of their forms are made with it."""

    caller: Caller
    secret: str

    def has(self, *roles: Role) -> bool:
        """Whether they have one of the roles; where nobody checks keys, whoever looks has them all."""
        return bool({*roles} & {*self.caller.principal.roles})


class Gate:
    """A revoked or expired key is out with its next request: nothing but the credential itself is remembered."""

    def __init__(self, identity: Identity, sign_ins: SignIns) -> None:
        self._identity, self._sign_ins = identity, sign_ins

    async def visitor(self, request: Request) -> Visitor | None:
        """Raises ``StoreUnavailable`` and ``IssuerUnavailable``."""
        secret = request.cookies.get(COOKIE, "")
        credential = await self._sign_ins.find(secret) if secret else None
        if credential is None:
            return None
        try:
            return Visitor(await self.caller_of(credential), secret)
        except (Unauthenticated, NotEntitled):
            return None

    async def caller_of(self, credential: Credential) -> Caller:
        """Raises ``Unauthenticated``, ``InvalidField`` and ``StoreUnavailable``."""
        headers = {"authorization": f"Bearer {credential.token}"} if credential.token else {}
        let_in = await self._identity.at_the_door(headers)
        return self._identity.caller_of(let_in, {} if let_in else {"principal": _all_of(credential.name)})

    async def checks_keys(self) -> bool:
        """Whether anybody is asked for a key here."""
        try:
            return await self._identity.at_the_door({}) is not None
        except (Unauthenticated, NotEntitled, IssuerUnavailable):
            return True

    async def sign_in(self, credential: Credential) -> str:
        """The cookie's secret; raises ``Unauthenticated`` and ``InvalidField``."""
        await self.caller_of(credential)
        return await self._sign_ins.begin(credential)

    async def sign_out(self, secret: str) -> None:
        await self._sign_ins.end(secret)

    async def is_braked(self, address: str) -> bool:
        """Nobody is, whose address cannot be told: whoever guesses would shut all others out."""
        return bool(address) and await self._sign_ins.refusals(address) >= MOST_REFUSALS

    async def refused(self, address: str) -> None:
        if address:
            await self._sign_ins.refused(address)


def _all_of(name: str) -> dict[str, Json]:
    """Where nobody checks: the name that was given, which may do everything."""
    roles: list[Json] = [role.value for role in Role]
    levels: list[Json] = [level.word for level in Level]
    return {"id": name, "roles": roles, "levels": levels}
