"""Joins the service's ports and adapters."""

from fastapi import FastAPI

from services.policy.core.conditions import ConditionCache
from services.policy.entrypoints.http import application
from services.policy.settings import PolicySettings
from shared.ports.meter import NO_METER, Meter


def build(settings: PolicySettings, meter: Meter = NO_METER) -> FastAPI:
    """The application, with its own cache of parsed conditions."""
    return application(ConditionCache(), settings.max_body_bytes, meter)
