"""The gateway's settings, read once at its start."""

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import SettingsConfigDict

from services.gateway.core.abilities import Abilities
from services.gateway.door_settings import DoorSettings
from services.gateway.leaving_settings import LeavingSettings
from services.gateway.limit_settings import LimitSettings
from services.gateway.push_settings import PushSettings
from shared.infra.archive_open import ArchiveSettings
from shared.infra.host_list import HostList
from shared.infra.redis import QueueRedisUrl, RedisUrl, check_queue


class Settings(DoorSettings, LimitSettings, PushSettings, ArchiveSettings, LeavingSettings):
    """Environment variables of the same names in capitals. Only ``REDIS_URL`` must be given; see ``AUTHENTICATION``.

    With ``ARCHIVE_URL`` the audit export also has the tasks that have left Redis.
    """

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    redis_url: RedisUrl
    queue_redis_url: QueueRedisUrl = ""
    allow_volatile_redis: bool = False
    profile: Literal["embedded", "production"] = "production"
    host: str = Field(default="127.0.0.1", min_length=1)
    port: int = Field(default=9010, ge=0, le=65535)
    purple_agent_card_url: str = Field(default="", pattern=r"^(https?://\S+)?$")
    policy_url: str = Field(default="", pattern=r"^(https?://\S+)?$")
    blocking_limit: float = Field(default=85, gt=0)
    tools_allowed_hosts: HostList = ()
    model_notice: str = ""
    a2a_streaming: Literal["on", "off"] = "on"
    a2a_extended_card: Literal["on", "off"] = "on"

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
