"""From a verified token's claims to whom it speaks for."""

import pytest

from services.gateway.edge.errors import NotEntitled
from services.gateway.features.identity.signing_keys import may_be_asked
from services.gateway.features.identity.tokens import ClaimNames, caller_in
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import Role
from tests.each_row import each_row

GOOD: JsonObject = {"sub": "casey", "tenant": "acme", "roles": ["client"]}


def _with(**changes: Json) -> JsonObject:
    return {name: value for name, value in {**GOOD, **changes}.items() if value is not None}


def test_claims_name_tenant_principal_roles_and_levels() -> None:
    caller = caller_in(_with(roles="approver client openid", levels=["Manager", "cfo"]), ClaimNames())
    assert (caller.tenant, caller.principal.id, caller.principal.verified) == ("acme", "casey", True)
    assert caller.principal.roles == (Role.APPROVER, Role.CLIENT)
    assert caller.principal.levels == ("manager", "cfo")


def test_a_claim_may_be_an_address_or_a_path() -> None:
    names = ClaimNames(tenant="https://acme.example/tenant", roles="realm_access.roles", principal="preferred_username")
    claims: JsonObject = {"https://acme.example/tenant": "acme", "realm_access": {"roles": ["operator"]}}
    caller = caller_in({**claims, "preferred_username": "olga"}, names)
    assert (caller.tenant, caller.principal.id, caller.principal.roles) == ("acme", "olga", (Role.OPERATOR,))


def test_where_there_is_one_tenant_no_claim_names_another() -> None:
    assert caller_in(_with(tenant="globex"), ClaimNames(one_tenant="acme")).tenant == "acme"


@pytest.mark.promise("identity.claims")
@each_row(
    ("claims", "said"),
    [
        (_with(tenant=None), "tenant: its claim 'tenant' is missing"),
        (_with(tenant=""), "'tenant' must be"),
        (_with(tenant=["acme", "globex"]), "'tenant' must be"),
        (_with(tenant="a\nb"), "'tenant' must be"),
        (_with(tenant="x" * 257), "'tenant' must be"),
        (_with(sub=None), "principal: its claim 'sub' is missing"),
        (_with(sub={"id": "casey"}), "'sub' must be"),
        (_with(roles=None), "'roles' must name one of client, approver, operator"),
        (_with(roles=[]), "'roles' must name one of"),
        (_with(roles=["king"]), "'roles' must name one of"),
        (_with(roles=["client", 5]), "'roles' must be a list of texts"),
        (_with(roles={"client": True}), "'roles' must be a list of texts"),
        (_with(levels=["king"]), "'levels' cannot be used: unknown level 'king'"),
        (_with(levels=7), "'levels' must be a list of texts"),
    ],
)
def test_a_claim_that_is_missing_or_wrong_is_named(claims: JsonObject, said: str) -> None:
    with pytest.raises(NotEntitled) as refused:
        caller_in(claims, ClaimNames())
    assert said in str(refused.value)


@each_row(
    ("url", "may"),
    [
        ("https://issuer.example/jwks", True),
        ("https://issuer.example", True),
        ("http://localhost:8080/realms/a", True),
        ("http://127.0.0.1:8080", True),
        ("http://[::1]:8080/x", True),
        ("http://issuer.example/jwks", False),
        ("http://localhost.evil.example/", False),
        ("http://127.0.0.1.evil.example/", False),
        ("http://localhost:80@evil.example/", False),
        ("https://user@issuer.example/", False),
        ("file:///etc/passwd", False),
        ("", False),
    ],
)
def test_keys_come_over_tls_or_from_this_machine(url: str, may: bool) -> None:
    assert may_be_asked(url) is may
