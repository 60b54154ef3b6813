"""Joins the service's parts."""

from fastapi import FastAPI

from services.policy.core.conditions import Conditions
from services.policy.entrypoints.http import application
from services.policy.settings import Settings
from shared.ports.meter import Meter, NoMeter

_NOBODY = NoMeter()


def build(settings: Settings, meter: Meter = _NOBODY) -> FastAPI:
    """The application, with a memory of parsed conditions of its own."""
    return application(Conditions(), settings.max_body_bytes, meter)
