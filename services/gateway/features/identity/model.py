"""Callers: how they are identified, what they may do, and their rate limits."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from services.gateway.edge import errors
from services.gateway.edge.fields import list_at, object_at, require_type, required_id_at
from shared.contracts.task import Principal, TaskRecord
from shared.domain.exact_json import JsonObject
from shared.domain.words import EscalationLevel, Role


class Caller(NamedTuple):
    """Who sent a request: a principal of a tenant."""

    tenant: str
    principal: Principal


class LimitUse(StrEnum):
    """What a request counts as against rate limits: nothing, a request, a message, or both."""

    UNCOUNTED = "uncounted"
    REQUEST = "request"
    MESSAGE = "message"
    REQUEST_AND_MESSAGE = "request_and_message"


class Identity(Protocol):
    async def admit(self, headers: Mapping[str, str], use: LimitUse) -> "AdmittedCaller":
        """Identify the caller by the headers, and count the request against its rate limits.

        Raises ``Unauthenticated`` and ``TooManyRequests``, and may raise ``StoreUnavailable``.
        """

    async def identify(self, headers: Mapping[str, str]) -> Caller | None:
        """The caller of a request, as by ``admit`` but without counting it against limits; None if there is no
        authentication.
        """
        return (await self.admit(headers, LimitUse.UNCOUNTED)).caller

    def caller_of(self, authenticated_caller: Caller | None, metadata: JsonObject) -> Caller:
        """The caller of a request. ``authenticated_caller``: from ``identify``; ``metadata``: the request's own claims.

        Raises ``Unauthenticated`` without a caller, ``InvalidField`` if the metadata claims another principal.
        """
        if authenticated_caller is None:
            raise errors.Unauthenticated("nobody checked who sends the request")
        claimed = object_at(metadata, "principal", _PRINCIPAL_FIELD_PATH).get("id")
        if claimed not in (None, authenticated_caller.principal.id):
            raise errors.InvalidField(
                f"{_PRINCIPAL_FIELD_PATH}.id", "is not whom the key that came with the request belongs to"
            )
        return authenticated_caller


_NO_RATE_LIMITS = errors.RateLimitStatus()


@dataclass
class AdmittedCaller:
    """An identified caller with its rate limits after the request. ``counter``: counts one message more."""

    caller: Caller | None
    rate_limits: errors.RateLimitStatus = _NO_RATE_LIMITS
    counter: Callable[[], Awaitable[errors.RateLimitStatus]] | None = None

    async def count_message(self) -> None:
        """Count a message; raises ``TooManyRequests``."""
        if self.counter is None:
            return
        try:
            self.rate_limits = await self.counter()
        except errors.TooManyRequests as fault:
            self.rate_limits = fault.rate_limits
            raise


ANONYMOUS = "anonymous"
_PRINCIPAL_FIELD_PATH = "metadata.principal"

_ANONYMOUS_PRINCIPAL = Principal(id=ANONYMOUS)


def parse_claimed_principal(metadata: JsonObject) -> Principal:
    """The unverified principal that ``metadata.principal`` claims; ``anonymous`` if it is absent.

    Raises ``InvalidField`` for a claim of a wrong form.
    """
    claim = object_at(metadata, "principal", _PRINCIPAL_FIELD_PATH)
    if not claim:
        return _ANONYMOUS_PRINCIPAL
    return Principal(
        id=required_id_at(claim, "id", f"{_PRINCIPAL_FIELD_PATH}.id"),
        roles=parse_roles(claim, _PRINCIPAL_FIELD_PATH),
        levels=parse_escalation_levels(claim, _PRINCIPAL_FIELD_PATH),
    )


def read_bearer_token(headers: Mapping[str, str]) -> str | None:
    """The token in ``Authorization: Bearer TOKEN``; None without this header, or for another scheme."""
    scheme, space, token = headers.get("authorization", "").partition(" ")
    return token.strip() if space and scheme.lower() == "bearer" else None


def require_client_role(caller: Caller) -> None:
    """Raises ``NotAClient`` for a verified caller without the role client, which sending tasks requires."""
    if caller.principal.verified and Role.CLIENT not in caller.principal.roles:
        raise errors.NotAClient("you do not have the role client, and may not send tasks")


def may_see_all_tasks(principal: Principal) -> bool:
    """Whether the principal may see all tasks of the tenant: approvers, operators, and unverified callers."""
    return not principal.verified or bool({Role.APPROVER, Role.OPERATOR} & {*principal.roles})


def may_read(principal: Principal, record: TaskRecord) -> bool:
    return may_see_all_tasks(principal) or principal.id == record.requester.id


def may_stop(principal: Principal, record: TaskRecord) -> bool:
    is_anonymous = principal.id == ANONYMOUS and not principal.verified
    return is_anonymous or _is_requester_or_operator(principal, record)


def may_set_webhooks(principal: Principal, record: TaskRecord) -> bool:
    """Whether the principal may have the task's updates sent to a URL: its requester, operators, unverified callers."""
    return not principal.verified or _is_requester_or_operator(principal, record)


def may_decide(principal: Principal, record: TaskRecord) -> bool:
    """Whether a decision by the principal is passed to the task; the executor judges whether it counts."""
    return principal.id == record.requester.id or Role.APPROVER in principal.roles


def _is_requester_or_operator(principal: Principal, record: TaskRecord) -> bool:
    return principal.id == record.requester.id or Role.OPERATOR in principal.roles


def parse_roles(claim: JsonObject, path: str) -> tuple[Role, ...]:
    """Parse the ``roles`` of an object at ``path``, by default the role client; raises ``InvalidField``."""
    if claim.get("roles") is None:
        return (Role.CLIENT,)
    role_names = ", ".join(role.value for role in Role)
    try:
        return tuple(Role(word) for word in _read_strings(claim, "roles", path))
    except ValueError:
        raise errors.InvalidField(f"{path}.roles", f"known roles are {role_names}") from None


def parse_escalation_levels(claim: JsonObject, path: str) -> tuple[str, ...]:
    """Parse the approval ``levels`` of an object at ``path``, by default none; raises ``InvalidField``."""
    if claim.get("levels") is None:
        return ()
    try:
        return tuple(EscalationLevel.parse(word).word for word in _read_strings(claim, "levels", path))
    except ValueError as error:
        raise errors.InvalidField(f"{path}.levels", str(error)) from None


def _read_strings(claim: JsonObject, key: str, path: str) -> tuple[str, ...]:
    words = enumerate(list_at(claim, key, f"{path}.{key}"))
    return tuple(require_type(word, str, f"{path}.{key}[{index}]") for index, word in words)


def require_operator_role(caller: Caller) -> None:
    """Raises ``NotAnOperator`` unless the caller has the role operator."""
    if Role.OPERATOR not in caller.principal.roles:
        raise errors.NotAnOperator("you do not have the role operator")
