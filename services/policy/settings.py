"""The service's settings, read once at its start."""

from pydantic import Field

from shared.infra.service_settings import ServiceSettings


class PolicySettings(ServiceSettings):
    """The service's settings, from environment variables of the same names in capitals. None is required."""

    port: int = Field(default=9020, ge=0, le=65535, description="the port to bind")
    max_body_bytes: int = Field(default=1024 * 1024, ge=1024, description="the largest request that is read")
