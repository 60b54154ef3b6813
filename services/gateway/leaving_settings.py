"""The settings that say how long a replica takes to leave."""

from pydantic import Field
from pydantic_settings import BaseSettings


class LeavingSettings(BaseSettings):
    """``DRAIN_SECONDS``: how long requests are still taken after the signal, while ``/ready`` says no: longer than a
    load balancer takes to notice. ``GRACE_SECONDS``: what requests in hand then have.
    """

    drain_seconds: float = Field(
        default=3,
        ge=0,
        le=600,
        description="how long requests are still taken after SIGTERM; longer than a load balancer takes to notice",
    )
    grace_seconds: float = Field(default=10, ge=0, le=3600, description="what requests in hand then have")
