"""Settings of authentication."""

from typing import Annotated, NamedTuple, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from services.gateway.features.identity.signing_keys import discovery_url, may_fetch_keys_from
from services.gateway.features.identity.throttle import parse_networks
from shared.infra.service_settings import Settings, WordList, make_validator

_AUTHENTICATION_METHODS = ("keys", "jwt")


class RateAllowance(NamedTuple):
    """A caller's rate limits: requests and messages a minute, messages a day (UTC); 0 is without limit."""

    requests: int = 0
    messages: int = 0
    daily: int = 0


class IdentitySettings(Settings):
    """Settings of authentication. ``AUTHENTICATION`` is ``keys``, ``jwt``, both with a comma, or ``off``."""

    authentication: str = Field(
        default="",
        description="who is let in: keys, jwt, both with a comma, or off",
        json_schema_extra={"needed": "PROFILE is production"},
    )
    jwt_issuer: str = Field(
        default="",
        description="the one issuer whose tokens are believed",
        json_schema_extra={"needed": "AUTHENTICATION names jwt"},
    )
    jwt_audience: WordList = Field(
        default=(),
        description="audiences that a token may be meant for, commas between",
        json_schema_extra={"needed": "AUTHENTICATION names jwt"},
    )
    jwt_jwks_url: str = Field(
        default="", description="where the issuer's keys are; empty: where its discovery document says"
    )
    jwt_tenant_claim: str = Field(default="tenant", min_length=1, description="the claim that names the tenant")
    jwt_tenant: str = Field(default="", description="the tenant of all bearers, where tokens name none")
    jwt_principal_claim: str = Field(default="sub", min_length=1, description="the claim that names the principal")
    jwt_roles_claim: str = Field(default="roles", min_length=1, description="the claim that lists roles")
    jwt_roles_prefix: str = Field(default="", description="what stands before our roles in that claim")
    jwt_levels_claim: str = Field(
        default="levels", min_length=1, description="the claim that lists an approver's levels"
    )
    jwt_leeway: float = Field(default=30, ge=0, le=300, description="seconds by which clocks may differ")
    jwt_keys_stale: float = Field(
        default=3600, ge=1, description="seconds for which keys count while none can be fetched"
    )
    rate_requests: int = Field(
        default=1200, ge=0, description="requests a minute for each key or bearer; 0 is without limit"
    )
    rate_messages: int = Field(
        default=300, ge=0, description="messages a minute for each key or bearer; 0 is without limit"
    )
    quota_messages: int = Field(
        default=0, ge=0, description="messages a day (UTC) for each key or bearer; 0 is without limit"
    )
    failures_a_minute: int = Field(
        default=20,
        ge=0,
        description="refused credentials a minute from one address before it is turned away; 0 is without a brake",
    )
    trusted_proxies: Annotated[WordList, make_validator(parse_networks)] = Field(
        default=(), description="addresses and networks whose X-Forwarded-For is believed, commas between"
    )

    @field_validator("authentication")
    @classmethod
    def _check_methods(cls, value: str) -> str:
        auth_methods = [method.strip() for method in value.split(",")]
        if auth_methods not in ([""], ["off"]) and not (
            set(auth_methods) <= set(_AUTHENTICATION_METHODS) and len(set(auth_methods)) == len(auth_methods)
        ):
            raise ValueError("it is keys, jwt, keys,jwt or off")
        return ",".join(auth_methods)

    @model_validator(mode="after")
    def _check_jwt(self) -> Self:
        if "jwt" not in self.auth_methods:
            return self
        if not self.jwt_issuer:
            raise _build_setting_error(
                "JWT_ISSUER must be set: AUTHENTICATION names jwt, and tokens are believed of one issuer."
            )
        if not self.jwt_audience:
            raise _build_setting_error(
                "JWT_AUDIENCE must be set: a token that is meant for another service opens nothing here."
            )
        name, url = ("JWT_JWKS_URL", self.jwt_jwks_url) if self.jwt_jwks_url else ("JWT_ISSUER", self.jwt_issuer)
        if not may_fetch_keys_from(url):
            raise _build_setting_error(f"{name} must be an https address; http is for this machine only.")
        return self

    @property
    def auth_methods(self) -> tuple[str, ...]:
        """How callers may authenticate (``keys``, ``jwt``); empty without authentication."""
        return tuple(method for method in self.authentication.split(",") if method in _AUTHENTICATION_METHODS)

    @property
    def discovery_url(self) -> str:
        """The URL of the issuer's discovery document (OpenID Connect); empty if the URL of its keys is configured."""
        return discovery_url(self.jwt_issuer) if "jwt" in self.auth_methods and not self.jwt_jwks_url else ""

    @property
    def allowance(self) -> RateAllowance:
        return RateAllowance(self.rate_requests, self.rate_messages, self.quota_messages)


def _build_setting_error(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("authentication", "{sentence}", {"sentence": sentence})
