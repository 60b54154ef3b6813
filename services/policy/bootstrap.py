"""Joins the service's parts."""

from fastapi import FastAPI

from services.policy.core.conditions import Conditions
from services.policy.entrypoints.http import application
from services.policy.settings import Settings


def build(settings: Settings) -> FastAPI:
    """The application, with a memory of parsed conditions of its own."""
    return application(Conditions(), settings.max_body_bytes)
