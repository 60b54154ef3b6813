"""Joins the service's ports and adapters."""

from fastapi import FastAPI

from services.policy.core.conditions import ConditionCache
from services.policy.entrypoints.http import application
from services.policy.settings import PolicySettings
from shared.ports.meter import Meter, NoMeter

_NOBODY = NoMeter()


def build(settings: PolicySettings, meter: Meter = _NOBODY) -> FastAPI:
    """The application, with its own cache of parsed conditions."""
    return application(ConditionCache(), settings.max_body_bytes, meter)
