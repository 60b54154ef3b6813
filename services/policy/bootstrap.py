"""Joins the service's ports and adapters."""

from starlette.applications import Starlette

from services.policy.entrypoints.http import build_application
from services.policy.settings import PolicySettings
from shared.ports.meter import NO_METER, Meter


def build(settings: PolicySettings, meter: Meter = NO_METER) -> Starlette:
    """The policy service as an ASGI application."""
    return build_application(settings.max_body_bytes, meter)
