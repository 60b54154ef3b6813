"""What a verified token says of its bearer: tenant, principal, roles and levels."""

from typing import NamedTuple

from services.gateway.core.errors import NotEntitled
from services.gateway.core.fields import MAX_ID
from services.gateway.ports.identity import Caller
from shared.contracts.task import Principal
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import Level, Role


class ClaimNames(NamedTuple):
    """Where an issuer writes what we need: a claim's name, or a path with dots into nested claims.

    ``one_tenant``: every bearer belongs to it, and no claim names a tenant. ``roles_prefix`` stands before our words
    among an issuer's other roles.
    """

    tenant: str = "tenant"
    principal: str = "sub"
    roles: str = "roles"
    levels: str = "levels"
    roles_prefix: str = ""
    one_tenant: str = ""


def caller_in(claims: JsonObject, names: ClaimNames) -> Caller:
    """Whom a token's claims speak for; raises ``NotEntitled`` with the claim that is missing or wrong."""
    tenant = names.one_tenant or _text(claims, names.tenant, "tenant")
    principal_id = _text(claims, names.principal, "principal")
    roles, levels = _roles(claims, names), _levels(claims, names)
    return Caller(tenant, Principal(id=principal_id, roles=roles, levels=levels, verified=True))


def _text(claims: JsonObject, name: str, meaning: str) -> str:
    value = _claim(claims, name)
    if isinstance(value, str) and 0 < len(value) <= MAX_ID and value.isprintable():
        return value
    problem = "is missing" if value is None else f"must be 1 to {MAX_ID} printable characters"
    raise NotEntitled(f"the token names no {meaning}: its claim {name!r} {problem}")


def _roles(claims: JsonObject, names: ClaimNames) -> tuple[Role, ...]:
    """Our roles among the issuer's; a token that names none of them opens nothing."""
    known = {f"{names.roles_prefix}{role.value}": role for role in Role}
    found = tuple(dict.fromkeys(known[word] for word in _words(claims, names.roles) if word in known))
    if not found:
        raise NotEntitled(
            f"the token gives no role here: its claim {names.roles!r} must name one of {', '.join(known)}"
        )
    return found


def _levels(claims: JsonObject, names: ClaimNames) -> tuple[str, ...]:
    try:
        return tuple(dict.fromkeys(Level.parse(word).word for word in _words(claims, names.levels)))
    except ValueError as error:
        raise NotEntitled(f"the token's claim {names.levels!r} cannot be used: {error}") from None


def _words(claims: JsonObject, name: str) -> list[str]:
    """A list of texts, or a text with blanks between, as scopes are written."""
    value = _claim(claims, name)
    if isinstance(value, str):
        return value.split()
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return [str(word) for word in value]
    if value is None:
        return []
    raise NotEntitled(f"the token's claim {name!r} must be a list of texts, or one text")


def _claim(claims: JsonObject, name: str) -> Json:
    """By its whole name first: an issuer's own claims are often URLs, with dots."""
    if name in claims:
        return claims[name]
    value: Json = claims
    for step in name.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value
