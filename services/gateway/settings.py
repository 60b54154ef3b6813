"""The gateway's settings, read once at its start."""

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import SettingsConfigDict

from services.gateway.card_settings import CardSettings
from services.gateway.core.abilities import Abilities
from services.gateway.door_settings import DoorSettings
from services.gateway.leaving_settings import LeavingSettings
from services.gateway.limit_settings import LimitSettings
from services.gateway.push_settings import PushSettings
from shared.domain.open_binding import why_not_open
from shared.infra.archive_open import ArchiveSettings
from shared.infra.assessment_key import AssessmentSettings
from shared.infra.host_list import HostList
from shared.infra.log_settings import LogSettings
from shared.infra.redis import QueueRedisUrl, RedisUrl, check_queue
from shared.infra.tracing_settings import TracingSettings


class Settings(
    CardSettings,
    DoorSettings,
    LimitSettings,
    PushSettings,
    ArchiveSettings,
    LeavingSettings,
    AssessmentSettings,
    TracingSettings,
    LogSettings,
):
    """Environment variables of the same names in capitals. Only ``REDIS_URL`` must be given; see ``AUTHENTICATION``.

    With ``ARCHIVE_URL`` the audit export also has the tasks that have left Redis.
    """

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    redis_url: RedisUrl = Field(
        description="the Redis of durable state: redis://, rediss://, unix://, redis+sentinel://, redis+cluster://"
    )
    queue_redis_url: QueueRedisUrl = Field(
        default="", description="the Redis of the queue, which may be lost; empty: REDIS_URL"
    )
    allow_volatile_redis: bool = Field(
        default=False,
        description="serve on a Redis that does not show that it is durable, or may not be asked for failovers",
    )
    profile: Literal["embedded", "production"] = Field(
        default="production",
        description="embedded believes names in requests and opens loopback; the launcher alone sets it",
    )
    host: str = Field(default="127.0.0.1", min_length=1, description="the address to bind; 0.0.0.0 in a container")
    allow_open: bool = Field(
        default=False,
        description="yes: in the embedded profile others than this machine are let in without a key",
    )
    port: int = Field(default=9010, ge=0, le=65535, description="the port to bind")
    metrics_port: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="the port of /metrics, which the operators' network alone may reach; 0: it is shown nowhere",
    )
    purple_agent_card_url: str = Field(
        default="",
        pattern=r"^(https?://\S+)?$",
        description="the address that the agent card names; empty: the address it binds",
    )
    policy_url: str = Field(
        default="",
        pattern=r"^(https?://\S+)?$",
        description="the policy service, which checks policies before they are stored; empty: unchecked",
    )
    blocking_limit: float = Field(
        default=85,
        gt=0,
        description="seconds for which an answer that blocks is waited for, below the load balancer's idle time-out",
    )
    tools_allowed_hosts: HostList = Field(
        default=(), description="hosts and networks that requests may name as tool servers, commas between"
    )
    model_notice: str = Field(default="", description="what is said about the model on the card and in answers")
    a2a_streaming: Literal["on", "off"] = Field(default="on", description="whether streams are offered")
    a2a_extended_card: Literal["on", "off"] = Field(default="on", description="whether the extended card is offered")

    @model_validator(mode="after")
    def _name_authentication(self) -> Self:
        if self.profile == "production" and not self.authentication:
            raise PydanticCustomError(
                "authentication",
                "AUTHENTICATION must be set: keys lets in who has an API key, jwt who has a token, and off opens the "
                "gateway to everybody.",
            )
        return self

    @model_validator(mode="after")
    def _is_open_by_name(self) -> Self:
        why = why_not_open(self.host, self.authentication, allow_open=self.allow_open)
        if self.profile == "embedded" and why:
            raise PydanticCustomError("open", "{why}", {"why": why})
        return self

    @model_validator(mode="after")
    def _shows_metrics_elsewhere(self) -> Self:
        if self.metrics_port and self.metrics_port == self.port:
            raise PydanticCustomError("metrics_port", "METRICS_PORT must be another port than PORT, or 0.")
        return self

    @model_validator(mode="after")
    def _has_a_queue(self) -> Self:
        check_queue(self.redis_url, self.queue_redis_url)
        return self

    @property
    def abilities(self) -> Abilities:
        on = (self.a2a_streaming == "on", self.push_offered, self.a2a_extended_card == "on")
        return Abilities(*on, self.ways, self.discovery)

    @property
    def card_url(self) -> str:
        """Where clients reach the gateway; the address it binds to if nothing else was said."""
        if self.purple_agent_card_url:
            return self.purple_agent_card_url
        host = "localhost" if self.host in {"0.0.0.0", "::"} else self.host  # noqa: S104 - shown, not bound
        return f"http://{host}:{self.port}/"
