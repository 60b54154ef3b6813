"""The service's settings, read once at its start."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from shared.infra.service_settings import LogSettings, TracingSettings


class PolicySettings(TracingSettings, LogSettings):
    """The service's settings, from environment variables of the same names in capitals. None is required."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    host: str = Field(default="127.0.0.1", min_length=1, description="the address to bind; 0.0.0.0 in a container")
    port: int = Field(default=9020, ge=0, le=65535, description="the port to bind")
    max_body_bytes: int = Field(default=1024 * 1024, ge=1024, description="the largest request that is read")
