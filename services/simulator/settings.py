"""The service's settings, read once at its start."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import SettingsConfigDict

from shared.domain.address_ranges import is_loopback_host
from shared.infra.service_settings import HostList, ServiceSettings

_SHORTEST_KEY = 32


class SimulatorSettings(ServiceSettings):
    """Settings from environment variables of the same names in capitals; all of them are optional.

    Without ``UES_ADMIN_KEY`` an admin's key is made at each start: it goes into ``UES_ADMIN_KEY_FILE``, or is printed
    where no file is named.
    """

    model_config = SettingsConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    port: int = Field(default=9050, ge=0, le=65535, description="the port to bind")
    ues_admin_key: SecretStr | None = Field(
        default=None, description="the admin's key, at least 32 characters; without it one is made at each start"
    )
    ues_admin_key_file: Path | None = Field(
        default=None, description="where a made admin's key is written; without it, it is printed"
    )
    authentication: Literal["keys", "off"] = Field(
        default="keys", description="whether callers need a key; off is refused unless HOST is a loopback address"
    )
    webhook_allowed_hosts: HostList = Field(
        default=(), description="hosts and networks that webhooks may call beyond public addresses, commas between"
    )
    max_worlds: int = Field(default=1000, ge=1, description="how many worlds it holds at once")
    max_body_bytes: int = Field(default=32 * 1024 * 1024, ge=1024, description="the largest request that is read")
    unknown_fields: Literal["ignore", "refuse"] = Field(
        default="ignore", description="a body's field that no version of the interface has: passed over, or 422"
    )

    @property
    def on_loopback(self) -> bool:
        """Whether the service listens on a loopback address only."""
        return is_loopback_host(self.host)

    @field_validator("ues_admin_key", mode="before")
    @classmethod
    def _empty_to_none(cls, value: object) -> object:
        return value or None

    @model_validator(mode="after")
    def _check_authentication(self) -> Self:
        if self.ues_admin_key is not None and len(self.ues_admin_key.get_secret_value()) < _SHORTEST_KEY:
            raise _bad_setting(f"UES_ADMIN_KEY cannot be used: it needs at least {_SHORTEST_KEY} characters")
        if self.authentication == "off" and not self.on_loopback:
            raise _bad_setting("AUTHENTICATION cannot be off unless HOST is a loopback address")
        return self


def _bad_setting(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("settings", "{sentence}", {"sentence": sentence})
