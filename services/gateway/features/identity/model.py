"""Who calls, who is let in, and how much each may ask for."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from services.gateway.edge.errors import RateStanding
from services.gateway.edge.limits import RequestCost
from shared.contracts.api_key import ApiKey
from shared.contracts.task import Principal
from shared.domain.exact_json import JsonObject


class Caller(NamedTuple):
    tenant: str
    principal: Principal


class Identity(Protocol):
    async def identify(self, headers: Mapping[str, str]) -> Caller | None:
        """Who is let in by what came in the headers; None where nobody checks.

        Raises ``Unauthenticated``, and may raise ``StoreUnavailable``.
        """
        ...

    def caller_of(self, let_in: Caller | None, metadata: JsonObject) -> Caller:
        """Who sends a request that was let in. ``metadata`` is what it says of itself; raises ``InvalidField``."""
        ...

    async def admit(self, headers: Mapping[str, str], cost: "RequestCost") -> "AdmittedCaller":  # noqa: ARG002  uncounted
        """Like ``identify``, and what the request costs is counted, where anything is.

        Also raises ``TooManyRequests``.
        """
        return AdmittedCaller(await self.identify(headers))


class Allowance(NamedTuple):
    """How much a caller may ask for: requests and messages a minute, messages a day (UTC); 0 is without limit."""

    requests: int = 0
    messages: int = 0
    daily: int = 0


class AdmittedCaller(NamedTuple):
    """Who was let in, where they stand, and what counts one message of theirs (raises ``TooManyRequests``)."""

    caller: Caller | None
    standing: RateStanding = RateStanding()
    count_message: Callable[[], Awaitable[RateStanding]] | None = None


class RateMeter(Protocol):
    """What callers have asked for lately, over all replicas. Both may raise ``StoreUnavailable``."""

    async def of_key(
        self, key_id: str, digest: str, cost: RequestCost, usual: Allowance
    ) -> tuple[ApiKey | None, RateStanding]:
        """A key, and its standing once the errand is counted: by its own allowance, else by the usual one.

        Counted only where the digest is that of the key's secret, so that nobody uses up another's allowance.
        """
        ...

    async def of_bearer(self, caller: Caller, cost: RequestCost, usual: Allowance) -> RateStanding: ...


class Keyring(Protocol):
    """The API keys. All may raise ``StoreUnavailable`` and may be repeated."""

    async def find(self, key_id: str) -> ApiKey | None: ...

    async def keys_of(self, tenant: str) -> Sequence[ApiKey]: ...

    async def add(self, key: ApiKey) -> None: ...

    async def revoke(self, key: ApiKey, at: datetime) -> None:
        """The first time counts."""
        ...


class SignInCredential(NamedTuple):
    """What somebody signed in to the console with: a key or token, or, where nobody checks, a name alone."""

    token: str = ""
    name: str = ""


class SignIns(Protocol):
    """Who is signed in to the console, the same for every replica. All may raise ``StoreUnavailable``."""

    async def begin(self, credential: SignInCredential) -> str:
        """A secret that stands for the credential until it is ended or too old: what the browser's cookie holds."""
        ...

    async def find(self, secret: str) -> SignInCredential | None: ...

    async def end(self, secret: str) -> None: ...

    async def count_refusal(self, address: str) -> None:
        """Count one sign-in that was refused."""
        ...

    async def refusals(self, address: str) -> int:
        """How many there were lately."""
        ...
