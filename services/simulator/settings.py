"""The service's settings, read once at its start."""

from ipaddress import ip_address
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.infra.host_list import HostList

_SHORTEST_KEY = 32


class Settings(BaseSettings):
    """Environment variables of the same names in capitals; there is nothing that must be given.

    Without ``UES_ADMIN_KEY`` an admin's key is made at each start: it goes into ``UES_ADMIN_KEY_FILE``, or is printed
    where no file is named.
    """

    model_config = SettingsConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    host: str = Field(default="127.0.0.1", min_length=1)
    port: int = Field(default=9050, ge=0, le=65535)
    ues_admin_key: SecretStr | None = None
    ues_admin_key_file: Path | None = None
    authentication: Literal["keys", "off"] = "keys"  # off: for development, on loopback only
    webhook_allowed_hosts: HostList = ()  # beyond public addresses, and this machine's own if it serves only itself
    max_worlds: int = Field(default=1000, ge=1)
    max_body_bytes: int = Field(default=32 * 1024 * 1024, ge=1024)

    @property
    def on_loopback(self) -> bool:
        """It serves this machine alone."""
        return _is_loopback(self.host)

    @field_validator("ues_admin_key", mode="before")
    @classmethod
    def _empty_is_none(cls, value: object) -> object:
        return value or None

    @model_validator(mode="after")
    def _is_guarded(self) -> Self:
        if self.ues_admin_key is not None and len(self.ues_admin_key.get_secret_value()) < _SHORTEST_KEY:
            raise _wrong(f"UES_ADMIN_KEY cannot be used: it needs at least {_SHORTEST_KEY} characters")
        if self.authentication == "off" and not self.on_loopback:
            raise _wrong("AUTHENTICATION cannot be off unless HOST is a loopback address")
        return self


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _wrong(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("settings", "{sentence}", {"sentence": sentence})
