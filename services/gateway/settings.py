"""The gateway's settings, read once at its start."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from services.gateway.a2a.settings import URL_REGEX, A2aSettings
from services.gateway.edge.request_limits import RequestLimits
from shared.domain.address_ranges import why_open_host_refused
from shared.infra.archive_open import parse_encryption_keys
from shared.infra.parts import check_optional_parts
from shared.infra.redis import QueueSettings
from shared.infra.service_settings import HostList, SentFileSettings, Settings, WordList, make_validator


class AssessmentSettings(Settings):
    """Settings of assessments. ``assessment_key``: the Fernet keys that encrypt stored keys to assessed worlds."""

    assessment_key: Annotated[str, make_validator(parse_encryption_keys)] = Field(
        default="",
        repr=False,
        description="what the keys to assessed worlds are kept under: Fernet keys, "
        "the newest first, commas between; empty: no assessment is taken",
    )

    @property
    def world_sealing_keys(self) -> tuple[str, ...]:
        return parse_encryption_keys(self.assessment_key)


class ShutdownSettings(Settings):
    """Settings of a replica's shutdown. ``drain_seconds``: how long ``/ready`` says no before it stops serving."""

    drain_seconds: float = Field(
        default=3,
        ge=0,
        le=600,
        description="how long requests are still taken after SIGTERM; longer than a load balancer takes to notice",
    )
    grace_seconds: float = Field(default=10, ge=0, le=3600, description="what requests in hand then have")


class GatewaySettings(A2aSettings, SentFileSettings, ShutdownSettings, AssessmentSettings, QueueSettings):
    """All settings, from environment variables of the same names in capitals. Only ``REDIS_URL`` is required.

    With ``ARCHIVE_URL`` the audit export includes tasks that have left Redis.
    """

    profile: Literal["embedded", "production"] = Field(
        default="production",
        description="embedded believes names in requests and opens loopback; the launcher alone sets it",
    )
    allow_open: bool = Field(
        default=False, description="yes: in the embedded profile others than this machine are let in without a key"
    )
    metrics_port: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="the port of /metrics, which the operators' network alone may reach; 0: it is shown nowhere",
    )
    policy_url: str = Field(
        default="",
        pattern=URL_REGEX,
        description="the policy service, which checks policies before they are stored; empty: unchecked",
    )
    blocking_limit: float = Field(
        default=85,
        gt=0,
        description="seconds for which an answer that blocks is waited for; all but the solver endpoint's say "
        "something every 15 seconds meanwhile",
    )
    tools_allowed_hosts: HostList = Field(
        default=(), description="hosts and networks that requests may name as tool servers, commas between"
    )
    worlds_url: str = Field(
        default="",
        pattern=URL_REGEX,
        description="where executors reach this gateway, for the worlds of assessments; empty: HOST and PORT",
    )
    gateway_parts: WordList = Field(
        default=("console",),
        description="the optional parts that are loaded: console, mcp (tasks and approvals as tools over MCP, at "
        "/mcp), worlds (simulated worlds as MCP servers; ASSESSMENT_KEY brings it)",
    )

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts to load, each once."""
        return tuple(dict.fromkeys((*self.gateway_parts, *(("worlds",) if self.assessment_key else ()))))

    @property
    def worlds_base(self) -> str:
        """The base URL at which executors find the worlds of assessments."""
        return self.worlds_url or f"http://{self.host}:{self.port}"

    @field_validator("gateway_parts")
    @classmethod
    def _check_parts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return check_optional_parts("gateway", value)

    @model_validator(mode="after")
    def _set_default_authentication(self) -> Self:
        if self.profile == "production" and not self.authentication:
            raise PydanticCustomError(
                "authentication",
                "AUTHENTICATION must be set: keys lets in who has an API key, jwt who has a token, and off opens the "
                "gateway to everybody.",
            )
        return self

    @model_validator(mode="after")
    def _check_unauthenticated_host(self) -> Self:
        problem = why_open_host_refused(self.host, self.authentication, allow_open=self.allow_open)
        if self.profile == "embedded" and problem:
            raise PydanticCustomError("open", "{why}", {"why": problem})
        return self

    @model_validator(mode="after")
    def _check_metrics_port(self) -> Self:
        if self.metrics_port and self.metrics_port == self.port:
            raise PydanticCustomError("metrics_port", "METRICS_PORT must be another port than PORT, or 0.")
        return self

    @property
    def request_limits(self) -> RequestLimits:
        return RequestLimits(
            body_bytes=self.max_body_bytes,
            message_bytes=self.message_bytes,
            body_seconds=self.max_body_seconds,
            open_requests=self.max_open_requests,
        )
