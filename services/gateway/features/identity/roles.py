"""What the roles of a principal allow."""

from services.gateway.edge.errors import InvalidField, NotAClient, NotAnOperator
from services.gateway.edge.fields import kind_of, list_at, object_at, required_id
from services.gateway.features.identity.model import Caller
from shared.contracts.task import Principal, TaskRecord
from shared.domain.exact_json import JsonObject
from shared.domain.words import Level, Role

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
        id=required_id(claim, "id", f"{_PATH}.id"), roles=roles_in(claim, _PATH), levels=levels_in(claim, _PATH)
    )


def check_claim(principal: Principal, metadata: JsonObject) -> None:
    """A request that its sender is known by may name nobody else; raises ``InvalidField``."""
    claimed = object_at(metadata, "principal", _PATH).get("id")
    if claimed not in (None, principal.id):
        raise InvalidField(f"{_PATH}.id", "is not whom the key that came with the request belongs to")


def check_client(caller: Caller) -> None:
    """Who approves or operates does not by that give the worker tasks; of names that nobody verified all may."""
    if caller.principal.verified and Role.CLIENT not in caller.principal.roles:
        raise NotAClient


def may_read(principal: Principal, record: TaskRecord) -> bool:
    """Names that nobody verified wall nothing off; otherwise the requester, approvers and operators may read."""
    return not principal.verified or _is_owner(principal, record) or Role.APPROVER in principal.roles


def may_stop(principal: Principal, record: TaskRecord) -> bool:
    nobody_in_particular = principal.id == ANONYMOUS and not principal.verified
    return nobody_in_particular or _is_owner(principal, record)


def may_have_told(principal: Principal, record: TaskRecord) -> bool:
    """Whether somebody may have the task's story sent somewhere: an approver, who may look, may not."""
    return not principal.verified or _is_owner(principal, record)


def may_decide(principal: Principal, record: TaskRecord) -> bool:
    """Whether a decision may be handed on; whether it counts is judged where the approval is kept."""
    return principal.id == record.requester.id or Role.APPROVER in principal.roles


def _is_owner(principal: Principal, record: TaskRecord) -> bool:
    return principal.id == record.requester.id or Role.OPERATOR in principal.roles


def roles_in(claim: JsonObject, path: str) -> tuple[Role, ...]:
    """The ``roles`` of an object at ``path``, a client's if there are none; raises ``InvalidField``."""
    if claim.get("roles") is None:
        return (Role.CLIENT,)
    known = ", ".join(role.value for role in Role)
    try:
        return tuple(Role(word) for word in _words(claim, "roles", path))
    except ValueError:
        raise InvalidField(f"{path}.roles", f"known roles are {known}") from None


def levels_in(claim: JsonObject, path: str) -> tuple[str, ...]:
    """The ``levels`` of an object at ``path``, by their own words; raises ``InvalidField``."""
    if claim.get("levels") is None:
        return ()
    try:
        return tuple(Level.parse(word).word for word in _words(claim, "levels", path))
    except ValueError as error:
        raise InvalidField(f"{path}.levels", str(error)) from None


def _words(claim: JsonObject, key: str, path: str) -> tuple[str, ...]:
    words: list[str] = []
    for index, item in enumerate(list_at(claim, key, f"{path}.{key}")):
        if not isinstance(item, str):
            raise InvalidField(f"{path}.{key}[{index}]", f"must be a string, not {kind_of(item)}")
        words.append(item)
    return tuple(words)


def check_operator(caller: Caller) -> None:
    """Raises ``NotAnOperator``."""
    if Role.OPERATOR not in caller.principal.roles:
        raise NotAnOperator
