"""Callers: who they are, what they may do, and how much they may ask for."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from services.gateway.edge.errors import (
    InvalidField,
    NotAClient,
    NotAnOperator,
    NotFound,
    RateLimitStatus,
    TooManyRequests,
    Unauthenticated,
)
from services.gateway.edge.fields import json_type_name, list_at, object_at, required_id_at
from shared.contracts.api_key import ApiKey
from shared.contracts.task import Principal, TaskRecord
from shared.domain.exact_json import JsonObject
from shared.domain.words import Level, Role


class Caller(NamedTuple):
    tenant: str
    principal: Principal


class RequestCost(StrEnum):
    """What a request counts as: nothing, a request, a message, or both."""

    LOOK = "look"
    REQUEST = "request"
    MESSAGE = "message"
    REQUEST_AND_MESSAGE = "request_and_message"


class Identity(Protocol):
    async def identify(self, headers: Mapping[str, str]) -> Caller | None:
        """The caller identified by the headers; None where nobody checks.

        Raises ``Unauthenticated``, and may raise ``StoreUnavailable``.
        """

    def caller_of(self, let_in: Caller | None, metadata: JsonObject) -> Caller:
        """The caller of an accepted request. ``metadata``: what it says of itself; raises ``InvalidField``."""
        if let_in is None:
            raise Unauthenticated("nobody checked who sends the request")
        check_claim(let_in.principal, metadata)
        return let_in

    async def admit(self, headers: Mapping[str, str], cost: RequestCost) -> "AdmittedCaller":  # noqa: ARG002  uncounted
        """Like ``identify``, and counts the request against the caller's limits, if there are any.

        Also raises ``TooManyRequests``.
        """
        return AdmittedCaller(await self.identify(headers))


class Allowance(NamedTuple):
    """How much a caller may ask for: requests and messages a minute, messages a day (UTC); 0 is no limit."""

    requests: int = 0
    messages: int = 0
    daily: int = 0


_UNLIMITED = RateLimitStatus()


@dataclass
class AdmittedCaller:
    """An identified caller, and their rate limits as they are counted. ``counter`` counts one message."""

    caller: Caller | None
    standing: RateLimitStatus = _UNLIMITED
    counter: Callable[[], Awaitable[RateLimitStatus]] | None = None

    async def count_message(self) -> None:
        """Count a message; raises ``TooManyRequests``."""
        if self.counter is None:
            return
        try:
            self.standing = await self.counter()
        except TooManyRequests as fault:
            self.standing = fault.standing
            raise


class RateMeter(Protocol):
    """Counts what callers asked for lately, over all replicas. Both methods may raise ``StoreUnavailable``."""

    async def of_key(
        self, key_id: str, digest: str, cost: RequestCost, usual: Allowance
    ) -> tuple[ApiKey | None, RateLimitStatus]:
        """A key, and its rate limits once the request is counted: by its own allowance, else the usual one.

        Counted only if the digest is that of the key's secret, so that nobody uses up another's allowance.
        """

    async def of_bearer(self, caller: Caller, cost: RequestCost, usual: Allowance) -> RateLimitStatus: ...


DEFAULT_TENANT = "default"
ANONYMOUS = "anonymous"
_PATH = "metadata.principal"

_NOBODY = Principal(id=ANONYMOUS)


def claimed_principal(metadata: JsonObject) -> Principal:
    """The principal that ``metadata.principal`` names, unverified; ``anonymous`` if it names none."""
    claim = object_at(metadata, "principal", _PATH)
    if not claim:
        return _NOBODY
    return Principal(
        id=required_id_at(claim, "id", f"{_PATH}.id"), roles=roles_in(claim, _PATH), levels=levels_in(claim, _PATH)
    )


def check_claim(principal: Principal, metadata: JsonObject) -> None:
    """Raises ``InvalidField`` if the request names another principal than its credential's."""
    claimed = object_at(metadata, "principal", _PATH).get("id")
    if claimed not in (None, principal.id):
        raise InvalidField(f"{_PATH}.id", "is not whom the key that came with the request belongs to")


def check_client(caller: Caller) -> None:
    """Raises ``NotAClient`` for a verified caller without the role client: approvers and operators give no tasks."""
    if caller.principal.verified and Role.CLIENT not in caller.principal.roles:
        raise NotAClient


def sees_all(principal: Principal) -> bool:
    """Whether the principal sees everybody's tasks: approvers, operators, and anybody who is unverified."""
    return not principal.verified or bool({Role.APPROVER, Role.OPERATOR} & {*principal.roles})


def may_read(principal: Principal, record: TaskRecord) -> bool:
    return sees_all(principal) or principal.id == record.requester.id


def may_stop(principal: Principal, record: TaskRecord) -> bool:
    nobody_in_particular = principal.id == ANONYMOUS and not principal.verified
    return nobody_in_particular or _is_owner(principal, record)


def may_have_told(principal: Principal, record: TaskRecord) -> bool:
    """Whether the principal may have the task's updates sent somewhere. Approvers may read it, but not that."""
    return not principal.verified or _is_owner(principal, record)


def may_decide(principal: Principal, record: TaskRecord) -> bool:
    """Whether a decision may be passed on; whether it counts is judged where the approval is stored."""
    return principal.id == record.requester.id or Role.APPROVER in principal.roles


def _is_owner(principal: Principal, record: TaskRecord) -> bool:
    return principal.id == record.requester.id or Role.OPERATOR in principal.roles


def roles_in(claim: JsonObject, path: str) -> tuple[Role, ...]:
    """The ``roles`` of an object at ``path``, by default a client's; raises ``InvalidField``."""
    if claim.get("roles") is None:
        return (Role.CLIENT,)
    known = ", ".join(role.value for role in Role)
    try:
        return tuple(Role(word) for word in _read_words(claim, "roles", path))
    except ValueError:
        raise InvalidField(f"{path}.roles", f"known roles are {known}") from None


def levels_in(claim: JsonObject, path: str) -> tuple[str, ...]:
    """The ``levels`` of an object at ``path``, normalised; raises ``InvalidField``."""
    if claim.get("levels") is None:
        return ()
    try:
        return tuple(Level.parse(word).word for word in _read_words(claim, "levels", path))
    except ValueError as error:
        raise InvalidField(f"{path}.levels", str(error)) from None


def _read_words(claim: JsonObject, key: str, path: str) -> tuple[str, ...]:
    words: list[str] = []
    for index, item in enumerate(list_at(claim, key, f"{path}.{key}")):
        if not isinstance(item, str):
            raise InvalidField(f"{path}.{key}[{index}]", f"must be a string, not {json_type_name(item)}")
        words.append(item)
    return tuple(words)


def check_operator(caller: Caller) -> None:
    """Raises ``NotAnOperator`` unless the caller has the role operator."""
    if Role.OPERATOR not in caller.principal.roles:
        raise NotAnOperator


def check_operator_of(tenant: str, caller: Caller) -> None:
    """An operator has to do with one tenant alone: raises ``NotAnOperator`` and ``NotFound``."""
    check_operator(caller)
    if tenant != caller.tenant:
        raise NotFound(f"tenant {tenant!r} that you may see")
